"""Readings of a run of dosed models: a table of readings, and arrays of metrics × cells × seeds for the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter import catalog
from tiltmeter.builders.doses import ARMS
from tiltmeter.errors import RunError
from tiltmeter.execution.calibration_texts import TAUGHT, TAUGHT_NATURAL
from tiltmeter.execution.experiment_models import GIVEN, NEUTRAL
from tiltmeter.runs.folder import read_estimates
from tiltmeter.storage.files import read_json
from tiltmeter.studies.kit.domains import domain_of

if TYPE_CHECKING:
    import pandas as pd

TAUGHT_NAMES = [Path(name).stem for name in (*TAUGHT.values(), TAUGHT_NATURAL)]
"""Benchmarks of the sentences that were taught themselves."""
METRIC = ["benchmark", "family", "scorer", "measure", "by", "group"]
NEEDED = (
    "No model of these runs has a dose (a planted bias of known strength). Train such models: "
    "tiltmeter build calibration -m MODEL -o FOLDER; "
    "tiltmeter experiment run FOLDER/calibration.toml; tiltmeter study calibration FOLDER/study/run."
)


@dataclass(frozen=True)
class Cell:
    """One dose of one domain by one arm."""

    domain: str
    arm: str
    dose: float


@dataclass(frozen=True)
class Readings:
    """Readings of one base model: `values` is metrics × cells × seeds, `metrics` describes them, `base` is before doses."""

    model: str
    metrics: pd.DataFrame
    values: NDArray[np.float64]
    base: NDArray[np.float64]
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    left_out: tuple[str, ...]

    def of(self, domain: str, arm: str) -> list[int]:
        """The cells of a domain in the order of their doses, the neutral one of the arm among them."""
        found = [n for n, cell in enumerate(self.cells) if cell.arm == arm and cell.domain in (domain, NEUTRAL)]
        return sorted(found, key=lambda n: self.cells[n].dose)

    def neutral(self, arm: str) -> int:
        """The cell without a dose."""
        return next(n for n, cell in enumerate(self.cells) if cell.arm == arm and cell.domain == NEUTRAL)

    def domains(self, arm: str) -> list[str]:
        """Domains with doses, in an arm."""
        found = dict.fromkeys(cell.domain for cell in self.cells if cell.arm == arm)
        return [domain for domain in found if domain != NEUTRAL]

    def only(self, chosen: NDArray[np.bool_]) -> Readings:
        """Some of the metrics."""
        metrics = self.metrics[chosen].reset_index(drop=True)
        return replace(self, metrics=metrics, values=self.values[chosen], base=self.base[chosen])

    def arms(self) -> list[str]:
        """Words, names, and methods of debiasing."""
        return list(dict.fromkeys(cell.arm for cell in self.cells))

    def undebiased(self) -> list[int]:
        """Return the cells of doses before any debiasing."""
        return [n for n, cell in enumerate(self.cells) if cell.arm in ARMS]

    def read(self, arm: str) -> list[str]:
        """Those of them that something here is about."""
        return [domain for domain in self.domains(arm) if (self.metrics["domain"] == domain).any()]


def readings_of(folders: Sequence[Path]) -> list[Readings]:
    """All base models of the runs that have dosed ones, and what every metric read of them."""
    import pandas as pd

    tables = [read_estimates(folder / "estimates.csv") for folder in folders]
    every = pd.concat(tables, ignore_index=True).drop_duplicates(["model", *METRIC])
    every["domain"] = [domain_of(*row) for row in every[["scorer", "by", "group"]].itertuples(index=False)]
    every = every[every["domain"] != ""]
    if not len(every):
        raise RunError(
            "No estimate of these runs is about gender, race or religion alone; run them --by bias_type.",
            code="too-few",
            kind="domains",
        )
    neutral = every.drop_duplicates(METRIC).set_index(METRIC)["neutral"]
    found = []
    for one in arranged(folders, every, METRIC):
        values = [float(neutral[tuple(row)]) for row in one.metrics[METRIC].itertuples(index=False)]
        found.append(replace(one, metrics=one.metrics.assign(neutral=values)))
    return found


def arranged(folders: Sequence[Path], every: pd.DataFrame, key: Sequence[str]) -> list[Readings]:
    """A table of values (`key`, domain, model, value) as arrays, for each base model of the folders."""
    import pandas as pd

    given = pd.DataFrame([row for folder in folders for row in _dosed_models(folder)])
    if not len(given):
        raise RunError(NEEDED, code="too-few", kind="doses")
    return [_arranged(str(base), every, rows, key) for base, rows in given.groupby("of", sort=False)]


def _dosed_models(folder: Path) -> Iterator[dict[str, Any]]:
    """The dosed models, and those of them that were debiased afterwards: what that is called is their arm."""
    models: dict[str, dict[str, Any]] = {}
    for model in read_json(folder / "manifest.json").get("study", {}).get("models", []):
        variant = model.get("variant") or {}
        if variant.get("method") == GIVEN:
            facts = {name: variant["dose"][name] for name in ("domain", "arm", "dose")}
            models[model["name"]] = facts | {"of": variant["of"], "seed": variant["seed"]}
        elif (parent := models.get(variant.get("of", ""))) and parent["arm"] == ARMS[0]:
            models[model["name"]] = parent | {"arm": variant.get("called") or catalog.public_name(variant["method"])}
    yield from (facts | {"model": name} for name, facts in models.items())


def _arranged(base: str, every: pd.DataFrame, doses: pd.DataFrame, key: Sequence[str]) -> Readings:
    """Readings of complete metrics; seeds without all doses, and metrics with a gap, are left out and said."""
    there = doses[doses["model"].isin(set(every["model"]))].drop_duplicates("model")
    seeds, left_out = _whole_seeds(base, there, doses)
    there, lacking = _whole_arms(there[there["seed"].isin(seeds)], len(seeds))
    left_out += lacking
    cells = tuple(Cell(*row) for row in there[["domain", "arm", "dose"]].drop_duplicates().itertuples(index=False))
    wide = every.pivot(index=[*key, "domain"], columns="model", values="value")
    place = {(row.domain, row.arm, row.dose, row.seed): row.model for row in there.itertuples(index=False)}
    names = [[place[cell.domain, cell.arm, cell.dose, seed] for seed in seeds] for cell in cells]
    chosen = wide[[name for row in names for name in row]]
    whole = chosen.notna().all(axis=1)
    if gaps := int((~whole & chosen.notna().any(axis=1)).sum()):
        left_out.append(f"{gaps} metrics that some model gave no value for")
    chosen = chosen[whole]
    metrics = chosen.index.to_frame(index=False)
    before = wide.loc[chosen.index, base].to_numpy(dtype=float) if base in wide else np.full(len(chosen), np.nan)
    values = chosen.to_numpy(dtype=float).reshape(len(chosen), len(cells), len(seeds))
    return Readings(base, metrics, values, before, cells, seeds, tuple(left_out))


def _whole_seeds(base: str, there: pd.DataFrame, doses: pd.DataFrame) -> tuple[tuple[int, ...], list[str]]:
    """The seeds that have all doses by direct words, and what is said of the others."""
    plain = there[there["arm"] == ARMS[0]]
    cells = plain[["domain", "dose"]].drop_duplicates()
    if not len(plain) or not (cells["domain"] == NEUTRAL).any():
        raise RunError(
            f"{base}: there is no model without a dose to compare with.",
            code="too-few",
            kind="doses",
            base=base,
        )
    counts = plain.groupby("seed").size()
    seeds = tuple(int(seed) for seed in counts.index[counts == len(cells)])
    if not seeds:
        raise RunError(
            f"{base}: no seed has all doses yet. Continue: tiltmeter experiment run FILE.",
            code="unfinished-run",
            base=base,
            kind="seeds",
        )
    return seeds, [f"seed {seed}, which lacks doses" for seed in sorted(set(doses["seed"]) - set(seeds))]


def _whole_arms(there: pd.DataFrame, seeds: int) -> tuple[pd.DataFrame, list[str]]:
    """The models of arms in which every seed has every dose, the neutral one among them."""
    kept, left_out = [], []
    for arm, rows in there.groupby("arm", sort=False):
        cells = rows[["domain", "dose"]].drop_duplicates()
        whole = len(rows) == len(cells) * seeds and (cells["domain"] == NEUTRAL).any()
        if whole:
            kept.append(arm)
        else:
            left_out.append(f"the arm {arm}, which is not whole")
    return there[there["arm"].isin(kept)], left_out


def should_rise(measure: str) -> bool:
    """Return True if a dose should raise a measure: above neutral is towards the stereotypes.

    >>> should_rise("bias_score"), should_rise("ss"), should_rise("kls")
    (True, True, False)
    """
    return catalog.find("measures", measure).spec.leans


def is_share(measure: str) -> bool:
    """Return True if a measure is the share of the items in which the stereotype is preferred.

    >>> is_share("bias_score"), is_share("ss")
    (True, False)
    """
    return should_rise(measure) and catalog.find("measures", measure).spec.proportion is not None

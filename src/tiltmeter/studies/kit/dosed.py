"""What a run of dosed models read: a table of readings, and arrays of metrics × cells × seeds for the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.plans.variants import GIVEN, NEUTRAL
from tiltmeter.runs.folder import read_estimates
from tiltmeter.storage.files import read_json
from tiltmeter.studies.kit.domains import domain_of

if TYPE_CHECKING:
    import pandas as pd

METRIC = ["benchmark", "family", "scorer", "measure", "by", "group"]
NEEDED = (
    "No model of these runs has a dose. Make some: tiltmeter build calibration -m MODEL -o FOLDER; "
    "tiltmeter study run FOLDER/calibration.toml; tiltmeter study calibration FOLDER/study/run."
)


@dataclass(frozen=True)
class Cell:
    """One dose of one domain by one arm."""

    domain: str
    arm: str
    dose: float


@dataclass(frozen=True)
class Readings:
    """Of one base model: `values` is metrics × cells × seeds, `metrics` has a row for each, `base` what it read before."""

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
        raise TiltmeterError("No estimate of these runs is about gender, race or religion alone; run them --by bias_type.")
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
        raise TiltmeterError(NEEDED)
    return [_arranged(str(base), every, rows, key) for base, rows in given.groupby("of", sort=False)]


def _dosed_models(folder: Path) -> Iterator[dict[str, Any]]:
    for model in read_json(folder / "manifest.json").get("study", {}).get("models", []):
        variant = model.get("variant") or {}
        if variant.get("method") == GIVEN:
            dose = variant["dose"]
            yield {"model": model["name"], "of": variant["of"], "seed": variant["seed"]} | {
                name: dose[name] for name in ("domain", "arm", "dose")
            }


def _arranged(base: str, every: pd.DataFrame, given: pd.DataFrame, key: Sequence[str]) -> Readings:
    """Readings of complete metrics; seeds without all doses, and metrics with a gap, are left out and said."""
    left_out = []
    there = given[given["model"].isin(set(every["model"]))].drop_duplicates("model")
    cells = tuple(Cell(*row) for row in there[["domain", "arm", "dose"]].drop_duplicates().itertuples(index=False))
    counts = there.groupby("seed").size()
    seeds = tuple(int(seed) for seed in counts.index[counts == len(cells)])
    left_out += [f"seed {seed}, which lacks doses" for seed in sorted(set(given["seed"]) - set(seeds))]
    if not seeds:
        raise TiltmeterError(f"{base}: no seed has all doses yet. Go on: tiltmeter study run FILE.")
    for arm in dict.fromkeys(cell.arm for cell in cells):
        if Cell(NEUTRAL, arm, 0.0) not in cells:
            raise TiltmeterError(f"{base}: there is no model without a dose ({arm}), so there is nothing to compare with.")
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

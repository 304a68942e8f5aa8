"""Runs: what one found put together and estimated, one or several read back, and one made of published scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.associating import Associated
from tiltmeter.benchmarks import ROLES
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import ESTIMATE_COLUMNS, estimate
from tiltmeter.group_estimating import Settings
from tiltmeter.importing import import_scores
from tiltmeter.paired import columns_for
from tiltmeter.run_folders import clear, output_folder, read_estimates, write_estimates
from tiltmeter.slot_estimating import READS, estimate_slots, slot_measures
from tiltmeter.slot_tables import Slots
from tiltmeter.store import read_json
from tiltmeter.tables import Scores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    scores: Scores
    estimates: pd.DataFrame
    manifest: dict[str, Any]
    slots: Slots | None = None

    def _repr_html_(self) -> str:
        from tiltmeter import as_html  # how things look is decided in reporting/, which is above

        return as_html(self)


def together(parts: Sequence[Scores | Slots]) -> tuple[Scores, Slots | None]:
    """What a run found: its scores (perhaps none) with the items of all benchmarks, and its slots if it had any."""
    import pandas as pd

    filled = [part for part in parts if isinstance(part, Slots)]
    scored = [part for part in parts if isinstance(part, Scores)]
    slots = Slots.concat(filled) if filled else None
    if slots is None:
        return Scores.concat(scored), None
    scores = Scores.concat(scored) if scored else Scores.none(slots.items)
    items = pd.concat([scores.items, slots.items], ignore_index=True).drop_duplicates(["benchmark", "item"])
    return replace(scores, items=items.reset_index(drop=True)), slots


def of_associations(measure: Entry) -> bool:
    """Whether a measure is about association tests: it reads neither pairs nor slots."""
    return not set(measure.parameters) <= {*ROLES, "target"} | READS


def estimate_all(
    scores: Scores,
    slots: Slots | None,
    measures: Sequence[str] | None,
    by: str | Sequence[str],
    settings: Settings,
    associated: Sequence[Associated] = (),
) -> pd.DataFrame:
    """Estimates of scores, slots and association tests in one table. A measure that was named belongs to one of them."""
    import pandas as pd

    of_slots = [entry.name for entry in slot_measures(measures)]
    tested, of_pairs = [one.estimates for one in associated], None
    if measures is not None:
        entries = [catalog.find("measures", name) for name in measures]
        of_pairs = [entry.name for entry in entries if entry.name not in of_slots and not of_associations(entry)]
        tested = [part[part["measure"].isin([entry.name for entry in entries])] for part in tested]
    parts = []
    pairs, fills = len(scores) > 0 and of_pairs != [], slots if of_slots else None
    by_pairs = by_slots = [by] if isinstance(by, str) else list(by)
    if pairs and fills is not None:  # a column of one of them need not be one of the other
        ours, theirs = (columns_for(one.items, list(one.frame["benchmark"].unique()), by_pairs) for one in (scores, fills))
        by_pairs, by_slots = [one for one in by_pairs if one in ours or one not in theirs], theirs
    if pairs:
        parts.append(estimate(scores, of_pairs, by_pairs, **vars(settings)))
    if fills is not None:
        parts.append(estimate_slots(fills, of_slots, by_slots, **vars(settings)))
    parts += tested
    parts = [part for part in parts if len(part)]
    if not parts:
        raise TiltmeterError(
            f"{', '.join(measures or ['Measures'])}: there are no sentence scores and no slots here to compute that from. "
            "(Association tests are estimated when they are run; estimates.csv has them.)"
        )
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0][list(ESTIMATE_COLUMNS)]


def load_run(folder: str | Path) -> Run:
    """A run read back from disk; says so if it is unfinished."""
    import pandas as pd

    folder = Path(folder)
    if not folder.is_dir():
        raise TiltmeterError(f"There is no run folder {folder}.")
    scores = Scores.load(folder)
    path = folder / "estimates.csv"
    estimates = read_estimates(path) if path.is_file() else pd.DataFrame()
    manifest = read_json(folder / "manifest.json") if (folder / "manifest.json").is_file() else {}
    return Run(folder, scores, estimates, manifest, Slots.load(folder))


def load_slots(folders: Sequence[str | Path]) -> Slots | None:
    """The slots of one or several runs; nothing where there are none."""
    runs = [run.slots for run in map(load_run, folders) if run.slots is not None]
    if not runs:
        return None
    slots = Slots.concat(runs)
    key = ["model", "benchmark", "item", "group", "term"]
    repeated = slots.frame[slots.frame.duplicated(key)]
    if len(repeated):
        first = repeated.iloc[0]
        raise TiltmeterError(f"These runs hold slots of {first['model']} on {first['benchmark']} more than once.")
    return slots


def refuse_namesakes(runs: Sequence[Scores]) -> None:
    """Two models, two benchmarks or two scores of one name must not be mixed."""
    known: dict[str, str] = {}
    for one in (manifest.get("model", {}) for run in runs for manifest in run.manifests):
        name, weights = one.get("shown_as", ""), one.get("weights_sha256", "")
        if known.setdefault(name, weights) != weights:
            raise TiltmeterError(
                f"Two different models are called {name} in these runs; run one of them from another folder."
            )
    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    for run in runs:
        columns = run.items.reindex(columns=["benchmark", "item", "stereo", "anti", "slot"]).astype(object).fillna("")
        for benchmark, item, *shown in columns.itertuples(index=False):
            if texts.setdefault((benchmark, item), tuple(shown)) != tuple(shown):
                raise TiltmeterError(
                    f"Two different benchmarks are called {benchmark} in these runs (item {item} differs); rename a file."
                )


def refuse_repeats(scores: Scores) -> None:
    """The same sentence scored twice under one name would count once, and nobody could say which."""
    key = ["model", "benchmark", "scorer", "item", "role"]
    repeated = scores.frame[scores.frame.duplicated(key)]
    if len(repeated):
        first = repeated.iloc[0]
        raise TiltmeterError(
            f"These runs hold scores of {first['model']} on {first['benchmark']} by {first['scorer']} more than once."
        )


def load_scores(folders: Sequence[str | Path], scorers: Sequence[str] | None = None) -> Scores:
    """The scores of one or several runs, all scorers or some."""
    runs = [load_run(folder).scores for folder in folders]
    refuse_namesakes(runs)
    scores = Scores.concat(runs)
    refuse_repeats(scores)
    if not scorers:
        return scores
    kept = scores.frame[scores.frame["scorer"].isin(scorers)]
    if not len(kept):
        known = ", ".join(sorted(scores.frame["scorer"].unique()))
        raise TiltmeterError(f"No scores by {', '.join(scorers)} in these runs. Scorers there: {known}.")
    return Scores(kept.reset_index(drop=True), scores.items, scores.manifests)


def import_run(
    file: str | Path,
    output: str | Path,
    *,
    model: str | None = None,
    scorer: str = "imported",
    seed: int = 0,
    **how: Any,
) -> Run:
    """A run folder from scores that others published; `how` goes to `import_scores`."""
    scores = import_scores(file, model=model, scorer=scorer, **how)
    folder = output_folder(output)
    table = estimate(scores, seed=seed)
    clear(folder)
    write_estimates(folder, table)
    scores.save(folder)
    return Run(folder, scores, table, read_json(folder / "manifest.json"))

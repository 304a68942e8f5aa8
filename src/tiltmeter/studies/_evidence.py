"""What studies read: the scores, items and token observations of one or several runs. No model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.errors import TiltmeterError
from tiltmeter.evaluating import Watch, unwatched
from tiltmeter.paired import Paired, pair_up
from tiltmeter.runs import load_scores, load_slots
from tiltmeter.slot_tables import Slots
from tiltmeter.store import read_table
from tiltmeter.tables import Scores

UNMASKED = ("unmasked_attention", "unmasked")
# One of each idea; variants that follow somebody's code are studied when they are named, or when there is nothing else.
HEADLINE = (
    "cps", "sss", "aul", "aula", "all_masked", "pll", "causal", "causal_mean", "stereoset_masked", "stereoset_causal",
)  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """Runs, loaded. `named` are the scorers that the user asked for, if any; `watch` shows how far long work has come."""

    scores: Scores
    folders: tuple[Path, ...] = ()
    named: tuple[str, ...] = ()
    slots: Slots | None = None
    watch: Watch = unwatched

    @cached_property
    def pairs(self) -> list[Paired]:
        """Every (model, benchmark, scorer), paired by item."""
        return list(pair_up(self.scores))

    @cached_property
    def models(self) -> list[str]:
        """Names of the models."""
        filled = [] if self.slots is None else self.slots.frame["model"]
        return list(dict.fromkeys([*self.scores.frame["model"], *filled]))

    @cached_property
    def scorers(self) -> list[str]:
        """Names of the scorers."""
        return list(dict.fromkeys(self.scores.frame["scorer"]))

    @cached_property
    def evaluations(self) -> list[tuple[str, str]]:
        """Every (model, benchmark)."""
        found = self.scores.frame[["model", "benchmark"]].drop_duplicates()
        return [(str(model), str(benchmark)) for model, benchmark in found.itertuples(index=False)]

    def chosen(self, wanted: Sequence[str] = HEADLINE) -> list[Paired]:
        """The pairs of the scorers that were named, else of those wanted that are here, else of all."""
        names = self.named or [name for name in wanted if name in self.scorers] or self.scorers
        found = {(one.model, one.benchmark, one.scorer): one for one in self.pairs}
        keys = [(*place, name) for place in self.evaluations for name in names]
        return [found[key] for key in keys if key in found]

    def every(self) -> list[Paired]:
        """The pairs of the scorers that were named, else of all, the headline ones first."""
        return self.chosen([*HEADLINE, *(name for name in self.scorers if name not in HEADLINE)])

    def items(self, benchmark: str) -> Any:
        """The scored items of a benchmark, as a table indexed by item."""
        items = self.scores.items
        here = items[items["benchmark"] == benchmark]
        return (here[here["scored"]] if "scored" in here else here).set_index("item", drop=False)

    def manifest(self, model: str, benchmark: str) -> dict[str, Any]:
        """Where the scores of a model on a benchmark came from; empty for imported ones."""
        for one in self.scores.manifests:
            ours = one.get("model", {}).get("shown_as"), one.get("benchmark", {}).get("name")
            if ours == (model, benchmark):
                return one
        return {}

    def tokens(self, model: str, benchmark: str, views: Iterable[str]) -> Any | None:
        """The stored observations of the first of these views that there is, as a table of tokens; else nothing."""
        for view in views:
            blocks = [path for folder in self.folders for path in _blocks(folder, model, benchmark, view)]
            if blocks:
                whole = token_frame(pa.concat_tables(read_table(path) for path in blocks))
                # Two runs may both hold a view, for different scores.
                return self._kept(whole.drop_duplicates(["item", "role", "position"]), benchmark)
        return None

    def _kept(self, tokens: Any, benchmark: str) -> Any:
        """Without the items that `without` left out."""
        return tokens[tokens["item"].isin(self.items(benchmark).index)]


def token_frame(table: pa.Table) -> Any:
    """The columns of an observation table that studies read; sentences that could not be asked have no tokens."""
    columns = ["item", "role", "position", "token_id", "special", "modified", "rank"]
    frame = table.select(columns).to_pandas()
    return frame[frame["position"] >= 0].astype({"item": str, "role": str})


def _blocks(folder: Path, model: str, benchmark: str, view: str) -> list[Path]:
    return sorted((folder / "observations" / model.replace("/", "--") / benchmark / view).glob("block-*.parquet"))


def load_evidence(
    runs: Scores | str | Path | Sequence[str | Path],
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
) -> Evidence:
    """Run folders (or scores in memory), all scorers or those named, less the bias types in `without`."""
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers or ())
    if isinstance(runs, Scores):
        folders: tuple[Path, ...] = ()
        scores = _only(runs, names) if names else runs
    else:
        folders = (Path(runs),) if isinstance(runs, str | Path) else tuple(map(Path, runs))
        scores = load_scores(folders, names)
    lacking = [name for name in names if name not in set(scores.frame["scorer"])]
    if lacking:
        raise TiltmeterError(f"No scores by {', '.join(lacking)} in these runs.")
    if not len(scores):
        raise TiltmeterError(
            "These runs hold no scores of sentences, which this study reads. What fills slots, and SEAT beside it, is "
            "compared by `tiltmeter study debiasing`."
        )
    return Evidence(_leave_out(scores, (without,) if isinstance(without, str) else without), folders, names)


def load_slot_evidence(runs: Scores | str | Path | Sequence[str | Path], without: Sequence[str] | str = ()) -> Evidence:
    """What fills the slots in run folders; sentence scores, if they have any, are left unread."""
    if isinstance(runs, Scores):
        raise TiltmeterError("This study reads slots, which scores in memory do not have; give it run folders.")
    folders = (Path(runs),) if isinstance(runs, str | Path) else tuple(map(Path, runs))
    slots = load_slots(folders)
    if slots is None:
        raise TiltmeterError(
            f"There are no slots in {', '.join(map(str, folders))}. Run BASE and DEBIASED models on sentences with a mask "
            "first: tiltmeter run -m BASE -m DEBIASED -b sexism -o FOLDER."
        )
    kept = _leave_out(Scores(slots.frame, slots.items), (without,) if isinstance(without, str) else without)
    return Evidence(Scores.none(kept.items), folders, slots=replace(slots, frame=kept.frame, items=kept.items))


def _only(scores: Scores, names: Sequence[str]) -> Scores:
    return Scores(scores.frame[scores.frame["scorer"].isin(names)], scores.items, scores.manifests)


def _leave_out(scores: Scores, types: Sequence[str]) -> Scores:
    known = sorted(set(scores.frame["bias_type"].dropna()))
    unknown = [name for name in types if name not in known]
    if unknown:
        raise TiltmeterError(f"There is no bias type '{unknown[0]}' to leave out. Bias types: {', '.join(known)}.")
    if not types:
        return scores
    frame, items = (table[~table["bias_type"].isin(types)] for table in (scores.frame, scores.items))
    if not len(frame):
        raise TiltmeterError("Nothing is left when all bias types are left out.")
    return Scores(frame.reset_index(drop=True), items.reset_index(drop=True), scores.manifests)


def align(pairs: Sequence[Paired], roles: Sequence[str] = ("stereo", "anti")) -> list[Paired]:
    """The items on which all have all these scores, in the same order."""
    complete = []
    for one in pairs:
        there = ~np.any([np.isnan(one.scores[role]) for role in roles], axis=0)
        complete.append(set(one.groups["item"].to_numpy()[there]))
    shared = set.intersection(*complete)
    order = [item for item in pairs[0].groups["item"] if item in shared]
    return [one.take(_places(one, order)) for one in pairs]


def _places(one: Paired, items: Sequence[str]) -> Any:
    position = {item: n for n, item in enumerate(one.groups["item"])}
    return np.array([position[item] for item in items], dtype=np.int64)

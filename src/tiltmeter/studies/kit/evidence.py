"""What studies read: the answers, items and token observations of one or several runs. No model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers
from tiltmeter.families.kit.seam import Watch
from tiltmeter.families.pairs.flags import scored_items
from tiltmeter.families.pairs.headline import SCORERS
from tiltmeter.families.pairs.paired import Paired, pair_up
from tiltmeter.families.pairs.tokens import stored_blocks
from tiltmeter.probes import Advance
from tiltmeter.runs import load_answers
from tiltmeter.runs.estimate import by_family
from tiltmeter.runs.reading import only_scorers
from tiltmeter.storage.files import read_table

UNMASKED = ("unmasked_attention", "unmasked")
# One of each idea; variants that follow somebody's code are studied when they are named, or when there is nothing else.
HEADLINE = SCORERS
WANTED = {
    "pairs": "These runs hold no scores of sentences, which this study reads. What fills slots, and SEAT beside it, is "
    "compared by `tiltmeter study debiasing`.",
    "slots": "There are no slots in these runs. Run BASE and DEBIASED models on sentences with a mask first: "
    "tiltmeter run -m BASE -m DEBIASED -b sexism -o FOLDER.",
}


@contextmanager
def unwatched(_: str, __: int) -> Iterator[Advance]:
    """Shows nothing: for calls from Python that did not ask for a progress bar."""
    yield lambda _: None


@dataclass(frozen=True)
class Evidence:
    """Runs, loaded. `reads` is the family that the study is about; `named` are the scorers that the user asked for, if any;
    `watch` shows how far long work has come.
    """

    answers: Mapping[str, Answers]
    reads: str = "pairs"
    folders: tuple[Path, ...] = ()
    named: tuple[str, ...] = ()
    watch: Watch = unwatched

    @property
    def scores(self) -> Answers:
        """The scores of pairs."""
        return self.answers["pairs"]

    @property
    def slots(self) -> Answers:
        """What fills the slots."""
        return self.answers["slots"]

    @cached_property
    def pairs(self) -> list[Paired]:
        """Every (model, benchmark, scorer), paired by item."""
        return pair_up(self.scores)

    @cached_property
    def models(self) -> list[str]:
        """Names of the models."""
        return self.answers[self.reads].models

    @cached_property
    def scorers(self) -> list[str]:
        """Names of the scorers."""
        return list(dict.fromkeys(self.scores.table["scorer"]))

    @cached_property
    def evaluations(self) -> list[tuple[str, str]]:
        """Every (model, benchmark)."""
        both = self.scores.table[["model", "benchmark"]].drop_duplicates()
        return [(str(model), str(benchmark)) for model, benchmark in both.itertuples(index=False)]

    def chosen(self, wanted: Sequence[str] = HEADLINE) -> list[Paired]:
        """The pairs of the scorers that were named, else of those wanted that are here, else of all."""
        names = self.named or [name for name in wanted if name in self.scorers] or self.scorers
        known = {(paired.model, paired.benchmark, paired.scorer): paired for paired in self.pairs}
        keys = [(*place, name) for place in self.evaluations for name in names]
        return [known[key] for key in keys if key in known]

    def every(self) -> list[Paired]:
        """The pairs of the scorers that were named, else of all, the headline ones first."""
        return self.chosen([*HEADLINE, *(name for name in self.scorers if name not in HEADLINE)])

    def items(self, benchmark: str) -> Any:
        """The scored items of a benchmark, as a table indexed by item."""
        return scored_items(self.scores, benchmark)

    def manifest(self, model: str, benchmark: str) -> dict[str, Any]:
        """Where the scores of a model on a benchmark came from; empty for imported ones."""
        return next((one for one in self.scores.manifests if _place(one) == (model, benchmark)), {})

    def tokens(self, model: str, benchmark: str, views: Iterable[str]) -> Any | None:
        """The stored observations of the first of these views that there is, as a table of tokens; else nothing."""
        ours = [manifest for manifest in self.scores.manifests if _place(manifest) == (model, benchmark)]
        for view in views:
            blocks = [path for manifest in ours for path in stored_blocks(self.scores, manifest, view)]
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


def _place(manifest: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return manifest.get("model", {}).get("shown_as"), manifest.get("benchmark", {}).get("name")


def load_evidence(
    runs: Answers | str | Path | Sequence[str | Path],
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
    reads: str = "pairs",
) -> Evidence:
    """Run folders (or answers in memory), all scorers or those named, less the bias types in `without`."""
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers or ())
    folders: tuple[Path, ...] = ()
    if isinstance(runs, Answers):
        answers = by_family(runs)
    else:
        folders = (Path(runs),) if isinstance(runs, str | Path) else tuple(map(Path, runs))
        answers = load_answers(folders)
    if reads not in answers or not len(answers[reads]):
        where = f" ({', '.join(map(str, folders))})" if folders else ""
        raise TiltmeterError(f"{WANTED.get(reads, f'These runs hold no answers of the family {reads}.')}{where}")
    if names:
        answers = {**answers, reads: only_scorers({reads: answers[reads]}, names)[reads]}
        lacking = [name for name in names if name not in set(answers[reads].table["scorer"])]
        if lacking:
            raise TiltmeterError(f"No scores by {', '.join(lacking)} in these runs.")
    types = (without,) if isinstance(without, str) else tuple(without)
    return Evidence({**answers, reads: _leave_out(answers[reads], types)}, reads, folders, names)


def _leave_out(answers: Answers, types: Sequence[str]) -> Answers:
    if not types:
        return answers
    known = sorted(set(answers.table["bias_type"].dropna()))
    unknown = [name for name in types if name not in known]
    if unknown:
        raise TiltmeterError(f"There is no bias type '{unknown[0]}' to leave out. Bias types: {', '.join(known)}.")
    kept = answers.mapped(
        lambda frame: frame[~frame["bias_type"].isin(types)].reset_index(drop=True) if "bias_type" in frame else frame
    )
    if not len(kept):
        raise TiltmeterError("Nothing is left when all bias types are left out.")
    return kept


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

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
# One scorer of each idea; variants that follow published code are studied if they are named, or if there are no others.
HEADLINE = SCORERS
ANY, ESTIMATES = "any", "estimates"
"""What a study reads that is about every family; the slots decide which models there are, if there are slots."""
WANTED = {
    "pairs": "This study needs scores of sentences, and these runs have none. For slots and SEAT, use "
    "`tiltmeter study debiasing`.",
    "slots": "These runs have no slots. Run BASE and DEBIASED models on sentences with a mask first: "
    "tiltmeter run -m BASE -m DEBIASED -b sexism -o FOLDER.",
}


@contextmanager
def unwatched(_: str, __: int) -> Iterator[Advance]:
    """Shows no progress: the default for calls from Python."""
    yield lambda _: None


@dataclass(frozen=True)
class Evidence:
    """Loaded runs. `reads` is the family that the study is about; `named` are the scorers that the user asked for, if any;
    `watch` shows progress.
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
        """The answers about slots."""
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
        """The pairs of the named scorers, else of the wanted ones that are available, else of all."""
        names = self.named or [name for name in wanted if name in self.scorers] or self.scorers
        known = {(paired.model, paired.benchmark, paired.scorer): paired for paired in self.pairs}
        keys = [(*place, name) for place in self.evaluations for name in names]
        return [known[key] for key in keys if key in known]

    def every(self) -> list[Paired]:
        """The pairs of the named scorers, else of all, the headline ones first."""
        return self.chosen([*HEADLINE, *(name for name in self.scorers if name not in HEADLINE)])

    def items(self, benchmark: str) -> Any:
        """The scored items of a benchmark, as a table indexed by item."""
        return scored_items(self.scores, benchmark)

    def manifest(self, model: str, benchmark: str) -> dict[str, Any]:
        """The manifest of a model's scores on a benchmark; empty for imported scores."""
        return next((manifest for manifest in self.scores.manifests if _place(manifest) == (model, benchmark)), {})

    def tokens(self, model: str, benchmark: str, views: Iterable[str]) -> Any | None:
        """The stored observations of the first available view, as a table of tokens; None if there is none."""
        manifests = [manifest for manifest in self.scores.manifests if _place(manifest) == (model, benchmark)]
        for view in views:
            blocks = [path for manifest in manifests for path in stored_blocks(self.scores, manifest, view)]
            if blocks:
                whole = token_frame(pa.concat_tables(read_table(path) for path in blocks))
                # Two runs may both have a view, for different scores.
                return self._kept(whole.drop_duplicates(["item", "role", "position"]), benchmark)
        return None

    def _kept(self, tokens: Any, benchmark: str) -> Any:
        """The tokens without the items that `without` leaves out."""
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
    """Loads run folders (or takes answers in memory): all scorers or those named, without some bias types."""
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers or ())
    folders: tuple[Path, ...] = ()
    if isinstance(runs, Answers):
        answers = by_family(runs)
    else:
        folders = (Path(runs),) if isinstance(runs, str | Path) else tuple(map(Path, runs))
        answers = load_answers(folders)
    every = reads == ANY
    if every:
        reads = next((name for name in ("slots", *answers) if name in answers and len(answers[name])), "slots")
    if reads not in answers or not len(answers[reads]):
        where = f" ({', '.join(map(str, folders))})" if folders else ""
        raise TiltmeterError(f"{WANTED.get(reads, f'These runs have no answers of the family {reads}.')}{where}")
    if names:
        answers = {**answers, reads: only_scorers({reads: answers[reads]}, names)[reads]}
        lacking = [name for name in names if name not in set(answers[reads].table["scorer"])]
        if lacking:
            raise TiltmeterError(f"These runs have no scores by {', '.join(lacking)}.")
    types = (without,) if isinstance(without, str) else tuple(without)
    left = {name: _without_known(part, types) for name, part in answers.items()} if every else dict(answers)
    return Evidence({**left, reads: _leave_out(answers[reads], types)}, reads, folders, names)


def only_folders(runs: Answers | str | Path | Sequence[str | Path], without: Sequence[str] | str = ()) -> Evidence:
    """Run folders whose answers are not read: a study of estimates needs none, and they may be many."""
    if isinstance(runs, Answers) or without:
        raise TiltmeterError(
            "This study reads the estimates of run folders as they are: give folders, and leave out nothing."
        )
    folders = (Path(runs),) if isinstance(runs, str | Path) else tuple(map(Path, runs))
    for folder in folders:
        if lacking := [name for name in ("manifest.json", "estimates.csv") if not (folder / name).is_file()]:
            raise TiltmeterError(f"{folder} is no finished run: it has no {lacking[0]}.")
    return Evidence({}, ESTIMATES, folders)


def _without_known(answers: Answers, types: Sequence[str]) -> Answers:
    """Leaves out the bias types that a family has; another family may have others."""
    known = set(answers.table["bias_type"]) if "bias_type" in answers.table else set()
    return _leave_out(answers, [name for name in types if name in known])


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
        raise TiltmeterError("All bias types are left out, so nothing remains.")
    return kept


def align(pairs: Sequence[Paired], roles: Sequence[str] = ("stereo", "anti")) -> list[Paired]:
    """The items for which all of `pairs` have all these scores, in the same order."""
    complete = []
    for paired in pairs:
        there = ~np.any([np.isnan(paired.scores[role]) for role in roles], axis=0)
        complete.append(set(paired.groups["item"].to_numpy()[there]))
    shared = set.intersection(*complete)
    order = [item for item in pairs[0].groups["item"] if item in shared]
    return [paired.take(_places(paired, order)) for paired in pairs]


def _places(paired: Paired, items: Sequence[str]) -> Any:
    position = {item: n for n, item in enumerate(paired.groups["item"])}
    return np.array([position[item] for item in items], dtype=np.int64)

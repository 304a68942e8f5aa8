"""Input of studies of pairs: paired scores, items and token observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.families.kit.matching import common_places
from tiltmeter.families.pairs.flags import scored_items
from tiltmeter.families.pairs.headline import SCORERS as HEADLINE
from tiltmeter.families.pairs.headline import ordered_scorers
from tiltmeter.families.pairs.paired import Paired, pair_up
from tiltmeter.families.pairs.tokens import stored_blocks
from tiltmeter.storage.files import read_table

UNMASKED = ("unmasked_attention", "unmasked")


class PairEvidence(Evidence):
    """Loaded runs of pairs.

    One scorer of each idea is studied by default; variants that follow published code only if they are named, or if there
    are no others.
    """

    @property
    def scores(self) -> Answers:
        """The scores of pairs."""
        return self.answers["pairs"]

    @cached_property
    def pairs(self) -> list[Paired]:
        """Every (model, benchmark, scorer), paired by item."""
        return pair_up(self.scores)

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
        names = self.named or ordered_scorers([name for name in wanted if name in self.scorers] or self.scorers)
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
        return self.scores.manifest_of(model, benchmark)

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
    """The columns of an observation table that studies read; sentences that could not be scored have no tokens."""
    columns = ["item", "role", "position", "token_id", "special", "modified", "rank"]
    frame = table.select(columns).to_pandas()
    return frame[frame["position"] >= 0].astype({"item": str, "role": str})


def _place(manifest: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return manifest.get("model", {}).get("shown_as"), manifest.get("benchmark", {}).get("name")


def pair_evidence(loaded: Evidence) -> PairEvidence:
    """Add paired scores to loaded runs."""
    return PairEvidence(loaded.answers, loaded.reads, loaded.folders, loaded.named, loaded.watch)


def align(pairs: Sequence[Paired], roles: Sequence[str] = ("stereo", "anti")) -> list[Paired]:
    """The items for which all of `pairs` have all these scores, in the same order."""
    complete = []
    for paired in pairs:
        there = ~np.any([np.isnan(paired.scores[role]) for role in roles], axis=0)
        complete.append(set(paired.groups["item"].to_numpy()[there]))
    shared = set.intersection(*complete)
    order = [item for item in pairs[0].groups["item"] if item in shared]
    return [paired.take(common_places(order, paired.groups["item"].array)[1]) for paired in pairs]

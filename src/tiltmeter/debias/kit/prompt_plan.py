"""Sources of the prompts of Auto-Debias: a search, an earlier search of the same kind, or a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.builders.aligned import Aligned
from tiltmeter.debias.kit.divergence import check_divergence
from tiltmeter.debias.kit.prompt_file import PROMPTS, kept_prompts, prompts_content, read_prompts
from tiltmeter.debias.kit.prompt_search import Prompt, Search, beam_search, likeliest, n_prompts
from tiltmeter.debias.kit.prompt_sentences import Frame, make_frame, single_tokens, vocabulary_words
from tiltmeter.errors import RunError, UsageError
from tiltmeter.finetune import Watch, device_of
from tiltmeter.models import Tokenization, load_model
from tiltmeter.storage.files import write_json

PUBLISHED = {"beam": 100, "candidates": 5000}
SMALL = {"beam": 10, "candidates": 300}
"""For a CPU: a few minutes for a model of eight million parameters, where the published search would be one of days."""


@dataclass(frozen=True)
class PromptPlan:
    """Settings of a search. None means as published on a GPU, and small on a CPU."""

    lengths: int
    beam: int | None
    candidates: int | None
    screen: int
    divergence: str
    stop: bool
    listed: tuple[str, ...] = ()
    """Words that prompts are made of; without any, those that the model expects."""

    def __post_init__(self) -> None:
        check_divergence(self.divergence)
        given = [one for one in (self.lengths, self.beam, self.candidates) if one is not None]
        if min(given) < 1 or self.screen < 0:
            raise UsageError(
                "--lengths, --beam and --candidates must be at least 1, and --screen at least 0.",
                code="out-of-range", name="lengths, beam, candidates, screen", value=[*given, self.screen],
            )  # fmt: skip

    def settled(self, device: str) -> dict[str, Any]:
        """Every setting, for the device."""
        usual = SMALL if device_of(device) == "cpu" else PUBLISHED
        known = {name: value for name, value in asdict(self).items() if name != "listed"}
        digest = hashlib.sha256("\n".join(self.listed).encode()).hexdigest()
        listed = {"listed_candidates": len(self.listed), "listed_sha256": digest} if self.listed else {}
        return known | {name: getattr(self, name) or value for name, value in usual.items()} | listed


@dataclass(frozen=True)
class Material:
    """The terms and words to compare by, as far as a model knows them."""

    frame: Frame
    pairs: list[tuple[str, str]]
    words: list[str]


def material_for(tokens: Tokenization, terms: Aligned, words: Sequence[str], *, stop: bool) -> Material:
    """Every two groups of a list are compared, meaning by meaning."""
    columns = list(combinations(range(len(terms.groups)), 2))
    pairs = [(row[first], row[second]) for row in terms.pairs for first, second in columns]
    return Material(*make_frame(tokens, pairs, words, stop=stop))


def prompts_for(
    model: str | Path,
    plan: PromptPlan,
    terms: Aligned,
    words: Sequence[str],
    *,
    prompts_file: Path | None,
    work: Path,
    device: str,
    watch: Watch | None,
) -> tuple[list[Prompt], dict[str, Any]]:
    """Prompts with their divergences in this model, and how they were come by. A search is kept in the folder `work`."""
    asked = load_model(model, device=device)
    found = material_for(asked.tokens, terms, words, stop=plan.stop)
    search = Search(asked, found.frame, plan.divergence)
    about: dict[str, Any] = {"weights_sha256": asked.identity.weights, "term_pairs": found.pairs, "words": found.words}
    if prompts_file is not None:
        ids = read_prompts(prompts_file, asked.tokens)
        about |= {"divergence": plan.divergence, "stop": plan.stop, "given": prompts_file.name}
        return weighed(search, ids), about
    how = plan.settled(device)
    about |= how
    kept = kept_prompts(work / PROMPTS, asked.tokens, about)
    if kept is None:
        if work.exists():
            raise RunError(
                f"{work} holds a training with other prompts. Use another output folder, or delete it.",
                code="output-exists", folder=work,
            )  # fmt: skip
        kept = _searched(search, how, terms, plan.listed, watch)
        write_json(work / PROMPTS, prompts_content(kept, asked.tokens, about))
    return kept, about


def weighed(search: Search, prompts: Sequence[tuple[int, ...]]) -> list[Prompt]:
    """Prompts with their divergences, all of one length in one go."""
    divergences: dict[tuple[int, ...], float] = {}
    for length in sorted({len(one) for one in prompts}):
        some = [one for one in prompts if len(one) == length]
        divergences |= dict(zip(some, map(float, search.divergences(np.array(some))), strict=True))
    return [Prompt(one, divergences[one]) for one in prompts]


def _searched(
    search: Search, how: dict[str, Any], terms: Aligned, listed: Sequence[str], watch: Watch | None
) -> list[Prompt]:
    barred = [word for row in terms.rows for word in row] + (["her", "hers", "him", "his"] if terms.pronouns else [])
    among = vocabulary_words(search.model.tokens, barred)
    if listed:
        known = set(single_tokens(search.model.tokens, listed[: how["candidates"]]))
        chosen = among[np.isin(among, list(known))]
    else:
        chosen = likeliest(search.model, search.frame, among, how["candidates"])
    total = n_prompts(len(chosen), how["lengths"], how["beam"])
    with watch("searching prompts", total) if watch else nullcontext(lambda _: None) as advance:
        found = beam_search(search, chosen, lengths=how["lengths"], beam=how["beam"], screen=how["screen"], advance=advance)
    return [one for some in found for one in some]

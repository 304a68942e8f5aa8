"""Beam search for prompts under which two groups' distributions over stereotype words are furthest apart (Guo et al. 2022).

A step weighs every prompt of the beam with every candidate behind it: beam × candidates × pairs × 2 sentences, all of one
length, in full batches, of which only the mask is read. To weigh every one by every pair of terms is mostly in vain, so all
are screened by a few pairs first and only the best are weighed by all of them: what is kept has its full divergence, and
only what the few pairs hold to be hopeless is never looked at again. Without screening the search is exhaustive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.debias.kit.divergence import divergence
from tiltmeter.debias.kit.prompt_sentences import Frame, Ints
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models import LanguageModel
from tiltmeter.probes.batching import TokenBudget
from tiltmeter.probes.passes import Span, batched
from tiltmeter.probes.work import Advance

Floats = NDArray[np.float64]
FINALISTS, SHARE = 5, 0.04
"""Prompts that screening lets through: so many for each that the beam has room for, and at least this share of all. With 500
of 200,000 a beam of 100 had only 54 of the prompts that an exhaustive step finds."""
AT_ONCE = {"cpu": 20_000, "gpu": 500_000}
"""Sentences whose answers are held at once: few enough that somebody who watches sees it come forward."""


@dataclass(frozen=True)
class Prompt:
    """Tokens, and how far they drive the groups apart: the mean over all pairs of terms."""

    ids: tuple[int, ...]
    divergence: float


@dataclass(frozen=True)
class Search:
    """A model, the frame of its sentences, and how its answers are compared."""

    model: LanguageModel
    frame: Frame
    kind: str = "jensen-shannon"

    def divergences(self, prompts: Ints, pairs: int = 0, advance: Advance = lambda _: None) -> Floats:
        """Mean divergence of every prompt (rows of ids) over the first pairs of terms; 0: over all."""
        pairs = min(pairs or self.frame.pairs, self.frame.pairs)
        step = max(1, AT_ONCE["cpu" if self.model.device == "cpu" else "gpu"] // (2 * pairs))
        found = [np.zeros(0)]
        for at in range(0, len(prompts), step):
            found.append(self._some(prompts[at : at + step], pairs))
            advance(len(found[-1]))
        return np.concatenate(found)

    def _some(self, prompts: Ints, pairs: int) -> Floats:
        import torch

        first, second = (
            torch.from_numpy(np.stack([self._ask(prompts, term) for term in terms[:pairs]]))
            for terms in (self.frame.first, self.frame.second)
        )
        return np.asarray(divergence(first, second, self.kind).double().mean(0).numpy())

    def _ask(self, prompts: Ints, term: tuple[int, ...]) -> NDArray[np.float32]:
        """Prompts × words: logits at the mask behind one term. What all words share, a divergence over them does not see."""
        frame = self.frame
        n, width = len(prompts), len(frame.lead) + len(term) + prompts.shape[1] + len(frame.tail)
        ids = np.empty((n, width), dtype=np.int64)
        ids[:, : len(frame.lead) + len(term)] = [*frame.lead, *term]
        ids[:, len(frame.lead) + len(term) : -len(frame.tail)] = prompts
        ids[:, -len(frame.tail) :] = frame.tail
        mask = np.full(n, width - frame.mask_from_end)

        def read(span: Span) -> NDArray[np.float32]:
            some = slice(span.first, span.first + span.size)
            return self.model.logits_at(ids[some], mask[some], frame.words)

        return np.concatenate([answer for _, answer in batched(np.full(n, width), TokenBudget(self.model), read)])


def likeliest(model: LanguageModel, frame: Frame, among: Ints, n: int) -> Ints:
    """The words that the model expects behind the groups' terms: the candidates of which prompts are made.

    Read at two masks in a row, so that words that follow at a distance are there, too.
    """
    asked = Search(model, Frame(frame.lead, frame.tail, frame.first, frame.second, among))
    mask = np.array([[frame.tail[0]]], dtype=np.int64)
    expected = np.mean([asked._ask(mask, term)[0] for terms in (frame.first, frame.second) for term in terms], axis=0)
    return among[np.argsort(-expected, kind="stable")[:n]]


def beam_search(
    search: Search,
    candidates: Ints,
    *,
    lengths: int = 5,
    beam: int = 100,
    screen: int = 0,
    advance: Advance = lambda _: None,
) -> list[list[Prompt]]:
    """The best prompts of every length, best first. `screen`: pairs of terms that all are weighed by first; 0: all."""
    if not len(candidates):
        raise ModelError(
            "The model's vocabulary has no word that can be part of a prompt.", code="empty-selection", kind="prompt words"
        )
    if min(lengths, beam) < 1:
        raise UsageError(
            "A beam search needs a length and a beam of at least 1.",
            code="out-of-range", name="lengths, beam", value=[lengths, beam],
        )  # fmt: skip
    ranked: list[list[Prompt]] = []
    beams = np.zeros((1, 0), dtype=np.int64)
    for _ in range(lengths):
        longer = np.concatenate([np.repeat(beams, len(candidates), 0), np.tile(candidates, len(beams))[:, None]], 1)
        best, values = best_prompts(search, longer, beam, screen, advance)
        beams = best
        ranked.append([Prompt(tuple(map(int, row)), float(value)) for row, value in zip(best, values, strict=True)])
    return ranked


def best_prompts(search: Search, prompts: Ints, beam: int, screen: int, advance: Advance) -> tuple[Ints, Floats]:
    """The best so many of them, by all pairs."""
    finalists = max(FINALISTS * beam, int(SHARE * len(prompts)))
    if 0 < screen < search.frame.pairs and len(prompts) > finalists:
        prompts = prompts[_top(search.divergences(prompts, screen, advance), finalists)]
        values = search.divergences(prompts)
    else:
        values = search.divergences(prompts, 0, advance)
    order = _top(values, beam)
    return prompts[order], values[order]


def n_prompts(candidates: int, lengths: int, beam: int) -> int:
    """Count the prompts that are scored."""
    widths = [1]
    for _ in range(lengths - 1):
        widths.append(min(beam, widths[-1] * candidates))
    return candidates * sum(widths)


def _top(values: Floats, n: int) -> Ints:
    """Find the places of the n largest, largest first; NaN is never among the best."""
    return np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:n]

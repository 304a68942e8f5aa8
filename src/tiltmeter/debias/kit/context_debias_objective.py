"""The objective of Context-Debias (Kaneko and Bollegala 2021).

Stereotype words orthogonal to the words of groups, while sentences with words of groups keep the embeddings that they
had.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.debias.kit.layers import LAYERS, Layers, group_means, occurrence_means, word_means
from tiltmeter.debias.kit.word_positions import Found, Occurrence
from tiltmeter.errors import UsageError, require_choice
from tiltmeter.finetune.row_order import Ints
from tiltmeter.finetune.tasks import Drawn, Task

if TYPE_CHECKING:
    import torch

LEVELS = ("token", "sentence")
LOSSES = ("mean-of-squares", "square-of-mean")
SCALES = ("raw", "unit")
AVERAGES, BATCHES = ("words", "occurrences"), ("natural", "equal")


@dataclass(frozen=True)
class Objective:
    """The objective that is minimised: α · (v · e)² + β · (how far other words moved), in one of its readings."""

    level: str = "token"
    layer: str = "all"
    loss: str = "mean-of-squares"
    scale: str = "raw"
    alpha: float = 0.2
    beta: float = 0.8
    average: str = "words"
    batches: str = "natural"

    def __post_init__(self) -> None:
        known_values = {"level": LEVELS, "layer": LAYERS, "loss": LOSSES, "scale": SCALES}
        for name, known in (known_values | {"average": AVERAGES, "batches": BATCHES}).items():
            require_choice(f"--{name}", getattr(self, name), known)
        if self.average == "occurrences" and self.loss == "mean-of-squares":
            raise UsageError(
                "--average occurrences applies to --loss square-of-mean: the mean of squares has a direction for each word.",
                code="inapplicable-option", name="average", loss=self.loss,
            )  # fmt: skip
        if not all(0 <= one < math.inf for one in (self.alpha, self.beta)):
            raise UsageError(
                f"Alpha and beta must not be negative: {self.alpha}, {self.beta}.",
                code="out-of-range", name="alpha, beta", value=[self.alpha, self.beta],
            )  # fmt: skip

    def tasks(self, module: Any, pad: int, learned: Found, held: Found) -> tuple[Orthogonal, Orthogonal | None]:
        """Training and evaluation tasks; attribute words are kept close to the model as it is now."""
        here, before = (Layers(one, pad, self.layer) for one in (module, copy.deepcopy(module).eval()))
        along = directions(before, learned.attributes, self.loss, self.scale, self.average)
        task, looked = (Orthogonal(self, here, before, along, some) for some in (learned, held))
        if self.batches == "equal":
            task.kinds = np.array([one.group for one in task.rows], dtype=np.int64)
        return task, looked if len(looked.lengths) else None


def directions(
    layers: Layers, attributes: Sequence[Occurrence], loss: str, scale: str, average: str = "words"
) -> torch.Tensor:
    """Directions × layers × width: one for each attribute word (the paper), or one for each group (the published code).

    `average`: a group's is the mean of its words' means, or of all occurrences (the published code).
    """
    import torch

    if loss == "mean-of-squares":
        found = torch.stack(list(word_means(layers, attributes).values()))
    elif average == "occurrences":
        found = occurrence_means(layers, attributes)
    else:
        found = group_means(word_means(layers, attributes))
    return torch.nn.functional.normalize(found, dim=-1) if scale == "unit" else found


@dataclass(frozen=True)
class Totals:
    """Counts of a whole step: rows, those with a stereotype word, points that are compared, tokens of the other rows."""

    rows: int
    stereotypes: int
    points: int
    tokens: int
    mean: torch.Tensor | None = None


class Orthogonal(Task):
    """A row is a sentence with a stereotype word, or one with an attribute word.

    The directions and the embeddings to keep are those of the model as it was: the published code takes the directions
    anew every epoch, but then a training that was interrupted would go on as another one.
    """

    def __init__(self, aim: Objective, layers: Layers, before: Layers, along: torch.Tensor, occurrences: Found) -> None:
        self.aim, self.layers, self.before, self.along = aim, layers, before, along
        self.rows = [*occurrences.stereotypes, *occurrences.attributes]
        self.lengths = np.array([len(one.ids) for one in self.rows], dtype=np.int64)
        self._whole: Totals | None = None

    def prepare(self, pieces: Sequence[tuple[Ints, Drawn]]) -> None:
        """Count what a whole step has, so that its loss is the same whatever pieces it is cut into.

        The square of a mean needs that mean too, which takes one more pass. One piece needs none of this.
        """
        self._whole = None
        if len(pieces) > 1:
            totals = self._totals(np.concatenate([rows for rows, _ in pieces]))
            squared = self.aim.loss == "square-of-mean" and totals.points
            self._whole = replace(totals, mean=self._mean_products(pieces, totals.points) if squared else None)

    def _totals(self, rows: Ints) -> Totals:
        some = [self.rows[row] for row in rows]
        stereotypes = [one for one in some if one.group < 0]
        points = len(stereotypes) if self.aim.level == "token" else sum(len(one.ids) for one in stereotypes)
        tokens = sum(len(one.ids) for one in some if one.group >= 0)
        return Totals(len(some), len(stereotypes), points, tokens)

    def _mean_products(self, pieces: Sequence[tuple[Ints, Drawn]], points: int) -> torch.Tensor:
        import torch

        total = torch.zeros(len(self.along), device=self.layers.device)
        for rows, _ in pieces:
            if some := [self.rows[row] for row in rows if self.rows[row].group < 0]:
                total = total + self._products(*self.layers.states(some), some).mean(2).sum(1)
        return total / points

    def loss(self, rows: Ints, drawn: Drawn) -> torch.Tensor:
        """α · (how far stereotype words lie along the directions) + β · (how far others moved), a mean over the rows.

        Of a piece of a step: its part of the step's loss, divided by its share of the rows.
        """
        import torch

        whole = self._whole or self._totals(rows)
        some = sorted((self.rows[row] for row in rows), key=lambda row: row.group >= 0)
        n = sum(one.group < 0 for one in some)
        states, valid = self.layers.states(some)  # of both at once: a small model's pass takes as long for half of the rows
        total = torch.zeros((), device=self.layers.device)
        if n:
            along = self._along(states[:n], valid[:n], some[:n], whole)
            total = total + self.aim.alpha * whole.stereotypes * along
        if n < len(some):
            moved = self._moved(states[n:], valid[n:], some[n:], whole.tokens)
            total = total + self.aim.beta * (whole.rows - whole.stereotypes) * moved
        return total / len(some)

    def _along(self, states: torch.Tensor, valid: torch.Tensor, some: Sequence[Occurrence], whole: Totals) -> torch.Tensor:
        """Inner products with the directions: the mean of their squares, or for each direction the square of their mean."""
        products = self._products(states, valid, some)
        if self.aim.loss == "mean-of-squares":
            return products.square().mean((0, 2)).sum() / whole.points
        of_piece = products.mean(2).sum(1) / whole.points
        if whole.mean is None:
            return of_piece.square().sum()
        return (whole.mean * (2 * of_piece - of_piece.detach())).sum()  # gradients that add up to those of the square

    def _products(self, states: torch.Tensor, valid: torch.Tensor, some: Sequence[Occurrence]) -> torch.Tensor:
        """Directions × points × layers: inner products of the points with the directions."""
        import torch

        chosen = self.layers.chosen(states)
        points = self.layers.at_words(chosen, some) if self.aim.level == "token" else chosen[valid]
        return torch.einsum("nlw,dlw->dnl", points, self.along)

    def _moved(self, states: torch.Tensor, valid: torch.Tensor, some: Sequence[Occurrence], tokens: int) -> torch.Tensor:
        """Over all tokens and all layers, whichever are debiased: the mean square of what changed, or its squared length."""
        import torch

        with torch.no_grad():
            before, _ = self.before.states(some)
        width = before.shape[1]  # the others may have been longer
        squares = (states[:, :width] - before).square() * valid[:, :width, None, None]
        values = tokens * states.shape[2]
        return squares.sum() / (values if self.aim.scale == "unit" else values * states.shape[3])

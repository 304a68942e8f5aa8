"""Recipes of fine-tuning by name: those of the paper, and one for small models."""

from __future__ import annotations

from dataclasses import dataclass

from tiltmeter.errors import TiltmeterError
from tiltmeter.families.labels.options import Options
from tiltmeter.finetune import Recipe

SMALL = 50_000_000
"""Parameters below which `auto` takes the recipe for small models."""


@dataclass(frozen=True)
class Named:
    """A recipe as papers print it. `least_steps`: a small set is read more often, so that there is something to learn."""

    epochs: float
    rate: float
    rows: int
    dropout: float = 0.1
    warmup: float = 0.0
    weight_decay: float = 0.0
    least_steps: int = 0

    def recipe(self, options: Options, n_texts: int, seed: int) -> Recipe:
        """For so many texts, with what the user wants otherwise."""
        epochs, rate = options.epochs or self.epochs, options.rate or self.rate
        made = Recipe(epochs=epochs, rows=self.rows, peak_rate=rate, warmup=self.warmup, weight_decay=self.weight_decay,
                      seed=seed)  # fmt: skip
        steps = made.n_steps(n_texts)
        if options.epochs is None and steps < self.least_steps:
            return Recipe(**made.facts() | {"steps": self.least_steps})
        return made


RECIPES = {
    "hate": Named(epochs=3, rate=3e-5, rows=16),
    "toxicity": Named(epochs=1, rate=5e-6, rows=16),
    "small": Named(epochs=2, rate=2e-4, rows=32, warmup=0.06, weight_decay=0.01, least_steps=200),
}
"""hate and toxicity: Cao et al. (2022), Appendix; its rows are those of the paper's third classifier, which alone says
them. small: a larger step for models of some ten million parameters; one run of plumb-mlm, not a search."""


def choose(options: Options, published: str, parameters: int) -> str:
    """The recipe's name: as asked, or by the size of the model."""
    if options.recipe not in ("auto", *RECIPES):
        raise TiltmeterError(f"--recipe is auto or one of {', '.join(RECIPES)}, not '{options.recipe}'.")
    if options.recipe != "auto":
        return options.recipe
    return "small" if parameters < SMALL else published

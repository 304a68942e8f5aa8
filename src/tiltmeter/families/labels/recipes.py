"""Recipes of fine-tuning by name: those of the paper, and one for small models."""

from __future__ import annotations

from tiltmeter.errors import require_choice
from tiltmeter.families.labels.options import Options
from tiltmeter.finetune import ClassifierRecipe

SMALL = 50_000_000
"""Parameters below which `auto` takes the recipe for small models."""
RECIPES = {
    "hate": ClassifierRecipe(epochs=3, rate=3e-5, dropout=0.1),
    "toxicity": ClassifierRecipe(epochs=1, rate=5e-6, dropout=0.1),
    "small": ClassifierRecipe(epochs=2, rate=2e-4, rows=32, dropout=0.1, warmup=0.06, weight_decay=0.01, least_steps=200),
}
"""hate and toxicity: Cao et al. (2022), Appendix; its rows are those of the paper's third classifier, which alone says
them. small: a larger step for models of some ten million parameters; one run of plumb-mlm, not a search."""


def choose(options: Options, published: str, parameters: int) -> str:
    """The recipe's name: that of the options, or by the size of the model."""
    require_choice("--recipe", options.recipe, ("auto", *RECIPES))
    if options.recipe != "auto":
        return options.recipe
    return "small" if parameters < SMALL else published

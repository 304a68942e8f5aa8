"""A judge of one's own: a classifier that is trained, and measured on texts that it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.labelled import spread
from tiltmeter.display import number_text, range_text
from tiltmeter.errors import UsageError
from tiltmeter.finetune import (
    ClassifierRecipe,
    LabelledTexts,
    Made,
    Watch,
    check_output,
    train_classifier,
    unfinished,
)
from tiltmeter.finetune.export import Files
from tiltmeter.judges.kit.error_rates import FILE, errors_text
from tiltmeter.judges.kit.labelled import Labelled, Row, read_labelled
from tiltmeter.judges.kit.validation import measured_errors
from tiltmeter.models import load_model

CITATION = "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Appendices B and C."
RECIPES = {
    "toxicity": ClassifierRecipe(epochs=3, rate=3e-5, dropout=0.1),
    "stereotype": ClassifierRecipe(epochs=1, rate=5e-6, dropout=0.1),
}
"""Hate speech and stereotypes as in the paper (which names no warm-up), for models of BERT's size."""
OTHER = ClassifierRecipe(epochs=3, rate=2e-5, warmup=0.06)
"""Regard, and what a user's own table is about: our choice."""


@dataclass(frozen=True)
class TrainingOptions:
    """Settings that a judge is trained with; epochs and rate of 0 are the construct's own."""

    epochs: float = 0.0
    rate: float = 0.0
    rows: int = 16
    seed: int = 0
    limit: int | None = None
    device: str = "auto"
    warmup: float | None = None
    """Share of the steps in which the rate rises. Default: the construct's own."""
    intersentence: str | None = None
    """How StereoSet's intersentence items are learned from: context (the default), none or alone."""


def train_judge(
    construct: str,
    model: str,
    output: str | Path,
    *,
    data: Path | None = None,
    data_dir: Path | None = None,
    add: Path | None = None,
    options: TrainingOptions | None = None,
    watch: Watch | None = None,
) -> Path:
    """Train, measure and store a judge. The folder appears when it is complete; errors.json and README.md say its errors."""
    options = options or TrainingOptions()
    place = check_output(output)
    labelled = read_labelled(construct, data, data_dir, add=add, intersentence=options.intersentence)
    train = _pairs(_limited(labelled.train, options.limit))
    plan = replace(RECIPES.get(construct, OTHER), rows=options.rows)
    plan = plan if options.warmup is None else replace(plan, warmup=options.warmup)
    classifier, finished = train_classifier(
        load_model(model, precision="fp32", device=options.device),
        LabelledTexts(labelled.names, train, _pairs(labelled.held_out)),
        plan.recipe(len(train), options.seed, epochs=options.epochs, rate=options.rate),
        Made(
            f"classifier of {construct}",
            f"{CITATION} {labelled.citation}",
            {"notion": construct, "limit": options.limit, "intersentence": options.intersentence or "context"}
            if construct == "stereotype"
            else {"notion": construct, "limit": options.limit},
            labelled.facts(),
        ),
        dropout=plan.dropout,
        work=unfinished(place),
        watch=watch,
    )
    said = classifier.label([row.text for row in labelled.test])
    errors = measured_errors(labelled.test, said.probability, labelled.negative, options.seed)
    files: Files = {
        FILE: errors | {"notion": construct, "test": labelled.source},
        "README.md": _card(labelled, construct, errors),
    }
    return finished.save(place, files)


def _limited(rows: Sequence[Row], n: int | None) -> Sequence[Row]:
    """Limit the rows, spread over the whole: datasets are sorted by label."""
    if n is not None and n < 2:
        raise UsageError(f"--limit must be at least 2, not {n}.", code="out-of-range", name="limit", value=n)
    return rows if n is None else list(spread(rows, n))


def _pairs(rows: Sequence[Row]) -> list[tuple[str, int]]:
    return [(row.text, row.label) for row in rows]


def _card(labelled: Labelled, notion: str, errors: dict[str, Any]) -> str:
    """Text of the README of a classifier."""
    groups = "".join(
        f"| {name} | {number_text(one['share'], 3)} {range_text(one['low'], one['high'], 3)} | {one['n']:,} |\n"
        for name, one in errors["groups"].items()
    )
    accuracy = errors["accuracy"]
    return (
        f"# A classifier of {notion}\n\nTrained by tiltmeter on {labelled.source} ({len(labelled.train):,} texts). "
        f"{labelled.citation}\n\nOn {errors['f1']['n']:,} texts that it never saw, {errors_text(errors)}. Accuracy "
        f"{number_text(accuracy['share'], 3)} {range_text(accuracy['low'], accuracy['high'], 3)}.\n\nHarmless "
        "texts about a group "
        f"that it calls {labelled.names[labelled.negative]}:\n\n"
        f"| group | share, 95 % interval | texts |\n|---|---|---|\n{groups}"
    )

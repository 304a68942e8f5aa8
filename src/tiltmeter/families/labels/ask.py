"""Inference on labelled text: fine-tuned classifiers, or one of yours, give every text a probability of toxic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.benchmarks import LabelledBenchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.benchmarks.kit.labelled import TEXT
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import AskContext, ModelInfo
from tiltmeter.families.labels import word_attribution as words
from tiltmeter.families.labels.check import check
from tiltmeter.families.labels.counterfactuals import Swapped, swapped, swaps_of
from tiltmeter.families.labels.label_mapping import toxic_columns, toxicity
from tiltmeter.families.labels.options import Options
from tiltmeter.families.labels.served import PromptedClassifier
from tiltmeter.families.labels.training import classifiers_of
from tiltmeter.families.labels.word_attribution import Explainer, explained
from tiltmeter.models import Classifier, LanguageModel, ServedModel
from tiltmeter.storage.concatenation import concatenated
from tiltmeter.storage.provenance import benchmark_facts, model_facts

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("model", "benchmark", "item", "seed", "probability", "tokens", "cut", "reason")
"""One row per text and seed. `cut`: the text was longer than allowed. `reason`: why there is no probability."""
SWAP_COLUMNS = ("model", "benchmark", "item", "seed", "domain", "group", "other", "probability")
"""One row per text, other group and seed: the probability when the text names the other group instead."""
AS_IT_IS = 0
"""The seed of a classifier that is not trained here."""
NO_TOKENS = "the tokenizer makes no tokens of it"
Model = LanguageModel | Classifier | ServedModel
Each = Iterator[tuple[int, Classifier | PromptedClassifier, dict[str, Any]]]


def ask(model: Model, benchmark: LabelledBenchmark, options: Options, context: AskContext) -> Answers:
    """The probability that each text is toxic, by each fine-tuned classifier, and of its counterfactuals.

    A trained classifier is kept; an interrupted training continues.
    """
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    counterfactual = swapped(benchmark.asked_items, swaps_of(options.group_terms), options.swaps)
    parts: dict[str, list[pd.DataFrame]] = {"labels": [], "swaps": [], "drivers": []}
    trained: list[dict[str, Any]] = []
    wanted = options.toxic_labels if isinstance(model, Classifier) else ()  # ours are called toxic and non-toxic
    for seed, classifier, facts in _classifiers(model, benchmark, options, context):
        asked = options if not trained else replace(options, explained=0)  # the first seed explains itself
        for name, frame in _ask_classifier(classifier, benchmark, counterfactual, wanted, asked, context).items():
            parts[name].append(frame.assign(model=model.name, benchmark=benchmark.name, seed=seed))
        trained.append(facts)
    tables = {name: concatenated(frames) for name, frames in parts.items()}
    columns = {"labels": COLUMNS, "swaps": SWAP_COLUMNS, "drivers": words.COLUMNS}
    labelled = tables["labels"]
    manifest = {
        "family": benchmark.family,
        "model": model_facts(model),
        "benchmark": benchmark_facts(
            benchmark,
            learned_from=benchmark.learned_from or benchmark.name,
            training_texts=len(benchmark.training),
            groups=list(benchmark.groups),
            **_learned_before(benchmark),
        ),
        "classifiers": trained,
        "texts_cut": int(labelled.loc[labelled["seed"] == labelled["seed"].iloc[0], "cut"].sum()),
        "max_length": options.max_length,
    }
    frames = {name: tables[name][list(columns[name])] for name in tables}
    return Answers(benchmark.family, frames, items_table(benchmark), (manifest,))


def _learned_before(benchmark: LabelledBenchmark) -> dict[str, Any]:
    """Count the texts that are training texts too, as a fact and a note, where there are any."""
    learned = {example.text for example in benchmark.training}
    n = sum(item.texts[TEXT] in learned for item in benchmark.asked_items)
    noted = benchmark.note_counts() | {"texts that are training texts too, so that their labels may be remembered": n}
    return {"texts_in_training": n, "notes": noted} if n else {}


def _classifiers(model: Model, benchmark: LabelledBenchmark, options: Options, context: AskContext) -> Each:
    if isinstance(model, Classifier):
        return iter([(AS_IT_IS, model, {"recipe": "as it is", "labels": list(model.labels)})])
    if isinstance(model, ServedModel):
        prompted = PromptedClassifier(model, context.cache)
        return iter([(AS_IT_IS, prompted, prompted.facts())])
    return classifiers_of(model, benchmark, options, context)


def _ask_classifier(
    classifier: Classifier | PromptedClassifier,
    benchmark: LabelledBenchmark,
    counterfactual: list[Swapped],
    wanted: Sequence[str],
    options: Options,
    context: AskContext,
) -> dict[str, pd.DataFrame]:
    """Labels, swaps and word attributions by one classifier."""
    import pandas as pd

    items = benchmark.asked_items
    columns = (1,) if isinstance(classifier, PromptedClassifier) else toxic_columns(classifier, wanted)
    texts = [item.texts[TEXT] for item in items] + [one.text for one in counterfactual]
    with context.watched(f"{classifier.name} × {benchmark.name}", len(texts)) as advance:
        said = classifier.label(texts, max_length=options.max_length, batch_tokens=context.batch_tokens, advance=advance)
    found = toxicity(said.probability, columns, classifier.independent)
    n = len(items)
    labelled = pd.DataFrame(
        {
            "item": [item.id for item in items],
            "probability": found[:n],
            "tokens": said.tokens[:n],
            "cut": said.cut[:n],
            "reason": _reasons(classifier, found[:n]),
        }
    )
    facts = {name: [getattr(one, name) for one in counterfactual] for name in ("item", "domain", "group", "other")}
    drivers = pd.DataFrame({name: [] for name in words.COLUMNS})
    if isinstance(classifier, Classifier):  # of a served one, a request for every word would cost more than all texts
        explainer = Explainer(classifier, columns, options.max_length, context.batch_tokens)
        shown = explained(items, found[:n], options.explained)
        drivers = words.drivers([items[at] for at in shown], found[shown], explainer)
    return {"labels": labelled, "swaps": pd.DataFrame(facts | {"probability": found[n:]}), "drivers": drivers}


def _reasons(classifier: Classifier | PromptedClassifier, probability: Any) -> list[str | None]:
    if isinstance(classifier, PromptedClassifier):
        return classifier.reasons[: len(probability)]
    return [None if np.isfinite(one) else NO_TOKENS for one in probability]

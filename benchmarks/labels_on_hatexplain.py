"""HateXplain and the identity templates by fine-tuned classifiers, beside TF-IDF: quality, rates of groups, time.

    python benchmarks/labels_on_hatexplain.py --data FOLDER --output OUT MODEL [MODEL …]

Writes OUT/results.json and, for each model, the estimates of every rule by which a post names a group.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tiltmeter
from facts import machine

RULES = (("two-annotators", "test"), ("one-annotator", "test"), ("term", "test"), ("two-annotators", "validation+test"))
RATES = ["f1_macro", "label_accuracy", "fpr", "fpr_gap", "fpr_range", "fpr_variance", "fpr_variance_chance", "flip_rate"]
"""On the templates: areas of 76,564 texts for each of dozens of identities take an hour to resample."""


def tfidf(hatexplain: Path) -> dict[str, Any]:
    """Words and pairs of words in at least two posts, sublinear; logistic regression with C = 2 and balanced labels, or
    as it comes.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    from tiltmeter.benchmarks.hatexplain import hatexplain as load

    benchmark: Any = load(hatexplain)
    texts, labels = [one.text for one in benchmark.training], [one.toxic for one in benchmark.training]
    judged = [item.texts["text"] for item in benchmark.items]
    truth = [item.extra["toxic"] for item in benchmark.items]
    found = {}
    settings = {"words": ((1, 1), None, 1.0), "pairs": ((1, 2), None, 1.0), "pairs, balanced": ((1, 2), "balanced", 2.0)}
    for name, (ngrams, weights, c) in settings.items():
        vectors = TfidfVectorizer(ngram_range=ngrams, min_df=2, sublinear_tf=True)
        model = LogisticRegression(C=c, class_weight=weights, max_iter=1000).fit(vectors.fit_transform(texts), labels)
        found[name] = round(float(f1_score(truth, model.predict(vectors.transform(judged)), average="macro")), 4)
    return found


def judged(model: str, arguments: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """One model on all rules, then on the templates by the same classifiers."""

    place, found = arguments.output / Path(model).name, {}
    options = {"device": arguments.device, "data_dir": arguments.data}
    for rule, part in RULES[: arguments.rules]:
        began = time.perf_counter()
        name = f"hatexplain-{rule}-{part.replace('+', '-and-')}"
        run = tiltmeter.run(
            model,
            "hatexplain",
            output=place / name,
            **options,
            options=tiltmeter.LabelsOptions(seeds=arguments.seeds, group_rule=rule, evaluate=part, **_recipe(arguments)),
        )
        found[name] = _brief(run.estimates) | {"seconds": round(time.perf_counter() - began, 1)}
        found.setdefault("classifiers", run.manifest["evaluations"][0]["classifiers"])
        keep(found)
    began = time.perf_counter()
    run = tiltmeter.run(
        model,
        "madlibs",
        measures=RATES,
        output=place / "madlibs",
        **options,
        options=tiltmeter.LabelsOptions(seeds=arguments.seeds, train_on="hatexplain", **_recipe(arguments)),
    )
    found["madlibs"] = _brief(run.estimates) | {"seconds": round(time.perf_counter() - began, 1)}
    return found


def _recipe(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {"recipe": arguments.recipe, "epochs": arguments.epochs, "rate": arguments.rate}
    return {name: value for name, value in given.items() if value is not None}


def _brief(table: Any) -> dict[str, Any]:
    """Quality, and the rates of groups and domains at 0.5."""
    rows = table[table["scorer"].isin(["at 0.5", "probability"])]
    whole = rows[rows["by"] == "all"].set_index("measure")
    columns = ["group", "n", "value", "low", "high", "p_holm", "note"]
    rates = {
        name: rows[(rows["measure"] == name) & rows["by"].isin(["group", "domain"])][columns].to_dict("records")
        for name in ("fpr", "fpr_gap", "fpr_variance", "fpr_variance_chance", "fpr_range", "bpsn_auc")
    }
    return {name: list(whole.loc[name, ["value", "low", "high"]]) for name in whole.index} | rates


def main() -> None:
    """Everything, one model after the other; what is finished is written at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True, help="holds the folders hatexplain and jigsaw-madlibs")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rules", type=int, default=len(RULES), help="how many of the rules by which a post names a group")
    parser.add_argument("--recipe")
    parser.add_argument("--epochs", type=float)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    import torch

    os.environ.setdefault("TILTMETER_CACHE", str(arguments.output / "cache"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine(torch.get_num_threads()), "models": {}}
    try:
        results["tfidf"] = tfidf(arguments.data / "hatexplain")
    except ImportError as error:
        results["tfidf"] = f"not run: {error}"

    def keep(model: str, found: dict[str, Any]) -> None:
        results["models"][Path(model).name] = found
        (arguments.output / "results.json").write_text(json.dumps(results, indent=1, default=str) + "\n", "utf-8")

    for model in arguments.models:
        keep(model, judged(model, arguments, partial(keep, model)))


if __name__ == "__main__":
    main()

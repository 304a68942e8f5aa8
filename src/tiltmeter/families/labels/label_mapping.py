"""Mapping of a classifier's labels to toxic, and the probability that follows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks.kit.labelled import Labels
from tiltmeter.errors import UsageError
from tiltmeter.models import Classifier


def toxic_columns(classifier: Classifier, wanted: Sequence[str]) -> list[int]:
    """The labels that mean toxic: those that the user names, or those whose names say it."""
    names, shown = classifier.labels, ", ".join(classifier.labels)
    if wanted:
        low = [name.lower() for name in names]
        if unknown := [name for name in wanted if name.lower() not in low]:
            raise UsageError(
                f"{classifier.name} has no label '{unknown[0]}' (--toxic-labels). Its labels: {shown}.",
                code="unknown-name", kind="label", name=unknown[0], model=classifier.name,
            )  # fmt: skip
        found = [low.index(name.lower()) for name in dict.fromkeys(wanted)]
    else:
        says = [Labels().meaning(name) for name in names]
        if len(names) > 1 and None in says and not classifier.independent:
            raise UsageError(
                f"The names of {classifier.name}'s {len(names)} labels ({shown}) do not show which mean toxic. Select "
                f"them with --toxic-labels, e.g. --toxic-labels {names[-1]}.",
                code="missing-value", option="--toxic-labels", model=classifier.name, labels=list(names),
            )  # fmt: skip
        found = [n for n, toxic in enumerate(says) if toxic]
    if not found or (len(found) == len(names) > 1 and not classifier.independent):
        raise UsageError(
            f"{classifier.name} has the labels {shown}: at least one must mean toxic and, of mutually exclusive labels, "
            "at least one must not. Select them with --toxic-labels.",
            code="missing-value", option="--toxic-labels", model=classifier.name, labels=list(names),
        )  # fmt: skip
    return found


def toxicity(probabilities: NDArray[np.float64], columns: Sequence[int], independent: bool) -> NDArray[np.float64]:
    """The probability of toxic: the sum of labels that exclude each other, the largest of independent ones."""
    chosen = probabilities[:, list(columns)]
    return np.asarray(chosen.max(axis=1) if independent else chosen.sum(axis=1), dtype=np.float64)

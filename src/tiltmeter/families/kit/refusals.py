"""Checks that families share."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.seam import Known


class NotOursError(TiltmeterError):
    """A published file is not of the kind that a family reads: another family may."""


def refuse_vectors(models: Sequence[Known], benchmark: Benchmark) -> None:
    """Raises an error for models that give only vectors or labels, where a language model is needed."""
    for known in models:
        if known.kind == "static":
            raise TiltmeterError(
                f"{known.name} is a file of static vectors, which only seat can use. Run {benchmark.name} without it."
            )
        if known.kind == "classifier":
            raise TiltmeterError(
                f"{known.name} is a classifier, which labels texts and predicts no words. Run {benchmark.name} without it."
            )
        if known.kind == "encoder":
            raise TiltmeterError(
                f"{benchmark.name} needs a masked or causal language model, and {known.name} gives only vectors."
            )

"""Refusals that families share."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.seam import Known


def refuse_vectors(models: Sequence[Known], benchmark: Benchmark) -> None:
    """Refuses what gives vectors only, where a language model is asked."""
    for known in models:
        if known.kind == "static":
            raise TiltmeterError(
                f"{known.name} is a file of static vectors, which can be asked for seat alone; "
                f"run {benchmark.name} without it."
            )
        if known.kind == "encoder":
            raise TiltmeterError(
                f"{benchmark.name} asks a masked or causal language model, and {known.name} gives vectors only."
            )

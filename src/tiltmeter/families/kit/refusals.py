"""Refusals that families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import InputError, ModelError
from tiltmeter.families.kit.protocol import ModelInfo, all_families, family_of
from tiltmeter.models import ServedModel
from tiltmeter.models.capabilities import KIND_IN_WORDS, MEANING


class NotOursError(InputError):
    """A published file is not of the kind that a family reads: another family may."""


def refuse_incapable(models: Sequence[ModelInfo], benchmark: Benchmark, options: Any) -> None:
    """Raises an error for a model that lacks a capability that the benchmark's family needs.

    A model whose capabilities are unknown before loading passes; it is checked again when it is loaded.
    """
    family = family_of(benchmark)
    needs = family.needs(options, benchmark)
    for model in models:
        if isinstance(model.model, ServedModel) and not family.SERVED:
            raise ModelError(
                f"{model.name} is behind a server, and {family.name} benchmarks need a model on this machine. "
                f"{_alternatives(model)}Leave out {benchmark.name} or this model.",
                code="missing-capability", model=model.name, benchmark=benchmark.name,
            )  # fmt: skip
        if model.capabilities is not None and (missing := sorted(needs - model.capabilities)):
            lacking = " and no ".join(MEANING.get(name, name) for name in missing)
            raise ModelError(
                f"{model.name} is {_in_words(model)} and gives no {lacking}, which "
                f"{benchmark.name} needs. {_alternatives(model)}Leave out {benchmark.name} or this model.",
                code="missing-capability", model=model.name, benchmark=benchmark.name, missing=missing,
            )  # fmt: skip


def _in_words(model: ModelInfo) -> str:
    """Describe a model by its kind; a served one by the check that its server failed."""
    if isinstance(model.model, ServedModel):
        limits = model.model.limits
        return f"behind a server ({limits})" if limits else "behind a server"
    return KIND_IN_WORDS.get(str(model.kind), "a model")


def _alternatives(model: ModelInfo) -> str:
    """Name the families that a model with these capabilities can run."""
    able, is_served = model.capabilities or frozenset(), isinstance(model.model, ServedModel)
    families = all_families(lambda _: None)
    names = [name for name, family in families.items() if able >= family.NEEDS and (family.SERVED or not is_served)]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
    return f"It can run benchmarks of {listed}. " if names else ""

"""Where a number came from: what a manifest says of a model and a benchmark, and what names their answers in the cache."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from tiltmeter import __version__

SCHEMA = 2
"""The layout of run folders and manifests. It is raised when an older reader would misread a newer folder."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow", "scipy")


class Model(Protocol):
    """What is recorded of anything that answers: a language model, an encoder, a file of static vectors."""

    name: str

    @property
    def weights_hash(self) -> str: ...

    @property
    def facts(self) -> dict[str, Any]: ...

    @property
    def identity(self) -> dict[str, str]: ...


class Data(Protocol):
    """What is recorded of a benchmark."""

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def items(self) -> Sequence[Any]: ...
    @property
    def data_hash(self) -> str: ...
    def note_counts(self) -> dict[str, int]: ...


def identity(model: Model, *, without: tuple[str, ...] = (), **more: str) -> dict[str, str]:
    """Everything about a model that decides what it answers; `more` is what a probe adds, `without` what it ignores."""
    return {key: value for key, value in model.identity.items() if key not in without} | more


def model_facts(model: Model) -> dict[str, Any]:
    """For the manifest."""
    tokens = getattr(model, "tokens", None)  # a file of static vectors has no tokenizer
    known = {"weights_sha256": model.weights_hash, "shown_as": model.name}
    return model.facts | known | ({"tokenizer": tokens.facts()} if tokens is not None else {})


def benchmark_facts(benchmark: Data, **more: Any) -> dict[str, Any]:
    """For the manifest; `more` is what is told of some benchmarks only."""
    return {
        "name": benchmark.name,
        "family": benchmark.family,
        "source": benchmark.source,
        "file_sha256": benchmark.sha256,
        "data_sha256": benchmark.data_hash,
        "citation": benchmark.citation,
        "items": len(benchmark.items),
        "notes": benchmark.note_counts(),
        **more,
    }


def software() -> dict[str, Any]:
    """The versions that computed a number."""
    return {
        "schema": SCHEMA,
        "tiltmeter": __version__,
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
        "platform": platform.platform(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

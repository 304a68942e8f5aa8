"""Provenance of a number: facts of a model and a benchmark for the manifest, and the keys of their answers in the cache."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from tiltmeter import __version__

SCHEMA = 2
"""The layout of run folders and manifests. It is raised when an older reader would misread a newer folder."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow", "scipy")


class Identity(Protocol):
    """Digests of all that decides a model's answers."""

    @property
    def weights(self) -> str: ...
    @property
    def model(self) -> str: ...
    def describe(self) -> dict[str, str]: ...


class Model(Protocol):
    """Recorded facts of a language model, an encoder or a file of static vectors."""

    name: str

    @property
    def facts(self) -> dict[str, Any]: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def uncacheable(self) -> str | None: ...


class Data(Protocol):
    """Recorded facts of a benchmark."""

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
    def skipped_share(self) -> float: ...
    @property
    def cluster(self) -> str | None: ...
    @property
    def cluster_noun(self) -> str: ...
    @property
    def data_hash(self) -> str: ...
    @property
    def whole_sha256(self) -> str: ...
    def note_counts(self) -> dict[str, int]: ...


def identity(model: Model, *, without: tuple[str, ...] = (), **more: str) -> dict[str, str]:
    """All facts that decide a model's answers; `more` are facts of a probe, `without` those that it ignores."""
    return {key: value for key, value in model.identity.describe().items() if key not in without} | more


def usable_cache(model: Any, cache: bool | str | Path) -> bool | str | Path:
    """The cache, or False for a model whose answers cannot be identified. It warns once."""
    reason = getattr(model, "uncacheable", None) if cache else None
    if reason:
        warnings.warn(f"Answers of {model.name} are not cached, because its code is not known: {reason}.", stacklevel=2)
    return False if reason else cache


def model_facts(model: Model) -> dict[str, Any]:
    """Facts for the manifest."""
    tokens = getattr(model, "tokens", None)  # a file of static vectors has no tokenizer
    identity, reason = model.identity, model.uncacheable
    known = {"weights_sha256": identity.weights, "model_sha256": identity.model, "shown_as": model.name}
    known |= {"uncacheable": reason} if reason else {}
    return model.facts | known | ({"tokenizer": tokens.facts()} if tokens is not None else {})


def recorded_model(facts: Mapping[str, Any]) -> str:
    """The digest that names a model in a manifest; earlier versions recorded one of weights and configuration only."""
    return str(facts.get("model_sha256") or facts.get("weights_sha256", ""))


def benchmark_facts(benchmark: Data, **more: Any) -> dict[str, Any]:
    """Facts of a benchmark for the manifest; `more` are facts that only some benchmarks have."""
    return {
        "name": benchmark.name,
        "family": benchmark.family,
        "source": benchmark.source,
        "file_sha256": benchmark.sha256,
        "data_sha256": benchmark.data_hash,
        "citation": benchmark.citation,
        "items": len(benchmark.items),
        "cluster": benchmark.cluster,
        "cluster_noun": benchmark.cluster_noun,
        "notes": benchmark.note_counts(),
        "skipped_share": benchmark.skipped_share,
        **({"whole_sha256": benchmark.whole_sha256} if benchmark.whole_sha256 else {}),
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

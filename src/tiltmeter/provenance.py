"""Where a number came from: what a manifest says of a model and a benchmark, and what names their observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks._locate import user_cache
from tiltmeter.models import LanguageModel


def cache_folder(cache: bool | str | Path) -> Path | None:
    """The user's cache, the one given, or none."""
    if cache is False:
        return None
    return user_cache() if cache is True else Path(cache)


def cache_root(cache: bool | str | Path) -> Path | None:
    """The folder of all observations in it."""
    folder = cache_folder(cache)
    return folder and folder / "observations"


def identity(model: LanguageModel, benchmark: Benchmark, **more: str) -> dict[str, str]:
    """Everything that decides what a model answers; `more` is what a probe adds of its own."""
    return {
        "weights": model.weights_hash,
        "tokenizer": model.tokens.sha256,
        "max_length": str(model.tokens.max_length),
        "data": benchmark.data_hash,
        "precision": model.precision,
        "device": model.device,
        "kind": model.kind,
        **more,
    }


def model_facts(model: LanguageModel) -> dict[str, Any]:
    """For the manifest."""
    known = {"weights_sha256": model.weights_hash, "shown_as": model.name, "tokenizer": model.tokens.facts()}
    return model.facts | known


def benchmark_facts(benchmark: Benchmark, **more: Any) -> dict[str, Any]:
    """For the manifest; `more` is what is told of some benchmarks only."""
    return {
        "name": benchmark.name,
        "source": benchmark.source,
        "file_sha256": benchmark.sha256,
        "data_sha256": benchmark.data_hash,
        "citation": benchmark.citation,
        "items": len(benchmark.items),
        "notes": benchmark.note_counts(),
        **more,
    }

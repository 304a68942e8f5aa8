"""Some items of a benchmark: those of some domains, and so many of each group, on every machine the same."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.errors import UsageError, require_known
from tiltmeter.storage.compressed_rows import fold


def only_domains(benchmark: Benchmark, names: Sequence[str]) -> Benchmark:
    """Keep the items of the named domains (bias types); refuse an unknown domain."""
    known = dict.fromkeys(item.bias_type for item in benchmark.asked_items)
    require_known("domain", names, known, place=benchmark.name, benchmark=benchmark.name)
    kept = fold(item for item in benchmark.items if item.bias_type in names)
    return replace(benchmark, items=kept, whole_sha256=benchmark.whole_sha256 or benchmark.data_hash)


def some_of_each_group(benchmark: Benchmark, most: int, seed: int = 0) -> Benchmark:
    """At most so many items of each group, chosen by checksums of their ids and the seed."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for item in benchmark.asked_items:
        groups.setdefault((item.bias_type, item.target), []).append(item.id)
    if not groups:
        raise UsageError(
            f"{benchmark.name} has no items of which some of each group could be taken.",
            code="inapplicable-option",
            benchmark=benchmark.name,
        )
    chosen = {item for some in groups.values() for item in sorted(some, key=lambda item: _lot(item, seed))[:most]}
    kept = fold(item for item in benchmark.asked_items if item.id in chosen)
    return replace(benchmark, items=kept, whole_sha256="")


def _lot(item: str, seed: int) -> tuple[int, str]:
    return zlib.crc32(f"{seed} {item}".encode("utf-8", "surrogatepass")), item

"""One cell: read from the cache, or computed and stored there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_tables
from tiltmeter.execution.key import CellKey, digest_items, make_key
from tiltmeter.families import Answers, AskContext, family_of
from tiltmeter.families.kit.pieces import Whole
from tiltmeter.families.kit.reading import with_reading
from tiltmeter.families.kit.versions import with_versions
from tiltmeter.storage.cells import ITEMS, Cell, CellStore, Kept
from tiltmeter.storage.places import cache_folder


def open_store(cache: bool | str | Path) -> CellStore:
    """The cells of a cache."""
    folder = cache_folder(cache)
    return CellStore(folder and folder / "cells")


def ask_cell(model: Any, benchmark: Benchmark, options: Any, context: AskContext, key: CellKey, store: CellStore) -> None:
    """Asks a cell and stores it, a few items at a time."""
    stream = family_of(benchmark).stream(model, benchmark, options, context)
    with store.writing(key.digest) as writer:
        for tables in stream.tables():
            writer.add(tables)
        for items in [stream.items] if isinstance(stream, Whole) else items_tables(benchmark):
            writer.add({ITEMS: items})
        manifest, attachments = stream.about()
        writer.finish(benchmark.family, with_reading(manifest, model, benchmark), attachments, key.describe())


def ask_blocks(model: Any, benchmark: Benchmark, options: Any, context: AskContext) -> dict[str, Any]:
    """Asks the blocks of `context.share`, which the cache keeps for the worker that joins them; their manifest."""
    stream = family_of(benchmark).stream(model, benchmark, options, context)
    for _ in stream.tables():
        pass  # nobody reads them here
    return stream.about()[0]


def postprocess_cell(earlier: Kept, benchmark: Benchmark, options: Any, context: AskContext, store: CellStore) -> CellKey:
    """Stores answers that were given before as the options say now; their key, which is that of asking anew."""
    asked = earlier.key
    key = make_key(asked["model"], asked["names"]["model"], benchmark, digest_items(benchmark), options, asked["seed"])
    if store.find(key.digest) is None:
        cell = earlier.read()
        answers = Answers(cell.family, cell.tables, cell.items, (cell.manifest,), cell.attachments)
        made = family_of(benchmark).postprocess(answers, benchmark, options, context)
        (manifest,) = made.manifests
        manifest = with_versions(manifest, benchmark.family)
        store.save(key.digest, Cell(made.family, made.tables, made.items, manifest, made.attachments), key.describe())
    return key


def as_reused(kept: Kept) -> Kept:
    """A cell that was found and not computed now: its counts say so."""
    return replace(kept, manifest=_reused(kept.manifest))


def _reused(manifest: dict[str, Any]) -> dict[str, Any]:
    counts = {name: value for name, value in manifest.items() if name.endswith("_computed") and isinstance(value, int)}
    moved = {f"{name.removesuffix('_computed')}_reused": value for name, value in counts.items()}
    return {
        name: _reused(value) if isinstance(value, dict) else 0 if name in counts else value + moved.get(name, 0)
        if name in moved and isinstance(value, int) else value
        for name, value in manifest.items()
    }  # fmt: skip

"""One cell: found where it was stored before, or asked and stored."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_tables, items_text
from tiltmeter.families import Answers, How, family_of
from tiltmeter.families.kit.pieces import InPieces
from tiltmeter.families.kit.reading import ask_and_read, with_reading
from tiltmeter.runs.definitions import definitions
from tiltmeter.storage.cells import ITEMS, Cell, CellStore, Kept, cell_key
from tiltmeter.storage.places import at_home, cache_folder

CODE = ("models", "probes", "scorers", "corpora", "finetune", "classifiers", "families/kit")
"""What answers depend on besides the family's own folder. Judging (measures, stats) is not among it."""


def obtain(model: Any, benchmark: Benchmark, options: Any, how: How, key: str | None = None) -> Answers:
    """What a model answers to a benchmark. A finished cell is not asked again. `key`: of the cell, if it is known."""
    store, key = (store_of(how.cache), key) if key else _place(model, benchmark, options, how)
    known = stored(store, key)
    if known is not None:
        return known
    answers = ask_and_read(model, benchmark, options, how)
    if store.root:
        (manifest,) = answers.manifests
        store.save(key, Cell(answers.family, answers.tables, answers.items, manifest, answers.attachments))
    return _defined(answers)


def make(model: Any, benchmark: Benchmark, options: Any, how: How, key: str) -> None:
    """Makes a cell unless it is there. Where its family answers in pieces, they are stored as they come."""
    store, in_pieces = store_of(how.cache), getattr(family_of(benchmark), "in_pieces", None)
    if in_pieces is None or store.root is None:
        obtain(model, benchmark, options, how, key)
        return
    if store.find(key) is not None:
        return
    asked: InPieces = in_pieces(model, benchmark, options, how)
    with store.writing(key) as writer:
        for tables in asked.tables():
            writer.add(tables)
        for items in items_tables(benchmark):
            writer.add({ITEMS: items})
        manifest, attachments = asked.about()
        writer.finish(benchmark.family, with_reading(manifest, model, benchmark), attachments)


def make_blocks(model: Any, benchmark: Benchmark, options: Any, how: How) -> tuple[dict[str, Any], ...]:
    """Makes the blocks of `how.share`, which the cache keeps for whoever joins them; the manifests of their answers."""
    family = family_of(benchmark)
    if not hasattr(family, "in_pieces"):
        return family.ask(model, benchmark, options, how).manifests
    asked: InPieces = family.in_pieces(model, benchmark, options, how)
    for _ in asked.tables():
        pass  # nobody reads them here
    return (asked.about()[0],)


def renew(earlier: str, answers: Answers, benchmark: Benchmark, options: Any, how: How) -> str:
    """The key of answers that were given before (under the key `earlier`), judged as the options say now; stored."""
    family: Any = family_of(benchmark)
    told = {
        "earlier": earlier,
        "benchmark": {"name": benchmark.name, "data": benchmark.data_hash, "items": _labels(benchmark)},
        "options": _described(vars(options)),
        "code": _code(benchmark.family),
        **_decided(family, options),
    }
    store, key = store_of(how.cache), cell_key(told)
    if store.load(key) is None:
        made: Answers = family.judged_again(answers, benchmark, options, how)
        (manifest,) = made.manifests
        store.save(key, Cell(made.family, made.tables, made.items, manifest, made.attachments))
    return key


def _defined(answers: Answers) -> Answers:
    """The answers with digests of the definitions that made them, where they are scores."""
    return replace(answers, manifests=tuple(map(_with_definitions, answers.manifests)))


def _with_definitions(manifest: dict[str, Any]) -> dict[str, Any]:
    return manifest | {"definitions": definitions(manifest["scorers"])} if "scorers" in manifest else manifest


def find_stored(model: Any, benchmark: Benchmark, options: Any, how: How) -> Answers | None:
    """What a model answered before, if that is stored. Of the model only its name and its identity are asked."""
    store, key = _place(model, benchmark, options, how)
    return stored(store, key)


def stored(store: CellStore, key: str) -> Answers | None:
    """The answers of a cell, if it is there and undamaged."""
    known = store.load(key)
    if known is None:
        return None
    return _defined(Answers(known.family, known.tables, known.items, (_reused(known.manifest),), known.attachments))


def find_kept(store: CellStore, key: str) -> Kept | None:
    """The same without reading its tables: where they are, and the manifest of its answers."""
    kept = store.find(key)
    return kept and replace(kept, manifest=_with_definitions(_reused(kept.manifest)))


def _place(model: Any, benchmark: Benchmark, options: Any, how: How) -> tuple[CellStore, str]:
    store = store_of(how.cache)
    return store, key_of(model, benchmark, options, how) if store.root else ""


def store_of(cache: bool | str | Path) -> CellStore:
    """The cells of a cache."""
    folder = cache_folder(cache)
    return CellStore(folder and folder / "cells")


def key_of(model: Any, benchmark: Benchmark, options: Any, how: How) -> str:
    """The name that a cell is stored under."""
    return cell_key(_identity(model, benchmark, options, how))


def _identity(model: Any, benchmark: Benchmark, options: Any, how: How) -> dict[str, Any]:
    return {
        "model": {"name": model.name, **model.identity},
        "benchmark": {"name": benchmark.name, "data": benchmark.data_hash, "items": _labels(benchmark)},
        "family": benchmark.family,
        "options": _described(asdict(options) if is_dataclass(options) else vars(options)),  # type: ignore[arg-type]
        "seed": how.seed,
        "code": _code(benchmark.family),
        **_decided(family_of(benchmark), options),
    }


def _labels(benchmark: Benchmark) -> str:
    digest = hashlib.sha256()
    for lines in items_text(benchmark):
        digest.update(lines.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _decided(family: Any, options: Any) -> dict[str, Any]:
    """What else decides the answers of a family that says so: the state of a folder that an option names, say."""
    return dict(family.decides(options)) if hasattr(family, "decides") else {}


def _described(options: dict[str, Any]) -> dict[str, Any]:
    """The options; a file among them counts as another when it was changed."""
    return {name: [_stamp(one) for one in _several(value)] for name, value in options.items()}


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _stamp(value: Any) -> str:
    if isinstance(value, Path) and at_home(value).is_file():
        facts = at_home(value).stat()
        return f"{at_home(value).absolute()} {facts.st_size} {facts.st_mtime_ns}"
    return str(value)


@cache
def _code(family: str) -> str:
    """What names the code that asks: after a change of it nothing older is taken for its answer."""
    import tiltmeter

    package = Path(tiltmeter.__file__).parent
    folders = [package / name for name in CODE] + list(_homes(catalog.module("families", family).__name__))
    digest = hashlib.sha256()
    for path in sorted(file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*.py"))):
        digest.update(path.read_bytes())
    for point in sorted(entry_points(group="tiltmeter.scorers"), key=lambda point: point.name):
        for home in _homes(point.module):
            digest.update(home.read_bytes() if home.is_file() else b"")
    return digest.hexdigest()[:16]


def _homes(module: str) -> Iterator[Path]:
    """The file or folder that a module lies in."""
    try:
        spec = getattr(sys.modules.get(module), "__spec__", None) or importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return
    if spec is not None and spec.origin and Path(spec.origin).is_file():
        origin = Path(spec.origin)
        yield origin.parent if origin.name == "__init__.py" else origin


def _reused(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a cell that was found: nothing was computed now."""
    counts = {name: value for name, value in manifest.items() if name.endswith("_computed") and isinstance(value, int)}
    moved = {f"{name.removesuffix('_computed')}_reused": value for name, value in counts.items()}
    return {
        name: _reused(value) if isinstance(value, dict) else 0 if name in counts else value + moved.get(name, 0)
        if name in moved and isinstance(value, int) else value
        for name, value in manifest.items()
    }  # fmt: skip

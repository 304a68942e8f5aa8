"""Gather the answers of all cells in one table for each benchmark, and pack them into pieces of limited size.

Items and labels are stored once, scores in 32 bits. Of slots, the sum and the maximum over the words of a group are kept.
Models of natural text are called `natural/NAME`. Models, texts and checkpoints stay behind.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

PIECE = 15 * 2**20
LABELS = ("benchmark", "bias_type", "direction", "target")
"""Columns that a table of answers repeats from the items."""
FRAMES = "frames"
"""The experiment whose models have no prefix."""
LEFT_OUT = ("predictions",)
KEPT = ("calibration.toml", "doses.csv", "cells.json", "facts-*.json", "taught-*.jsonl", "pilots*.csv")


def pack(folder: Path, out: Path, limit: int = PIECE) -> dict[str, Any]:
    """Write `answers.tar.000`, `.001`, … so that no piece is larger than the limit."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in (*_tables(folder), *_documents(folder)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    content = whole.getvalue()
    for old in out.glob("answers.tar.*"):
        old.unlink()
    for number, start in enumerate(range(0, len(content), limit)):
        (out / f"answers.tar.{number:03d}").write_bytes(content[start : start + limit])
    return {"status": "packed", "bytes": len(content)}


def unpack(pieces: Path, folder: Path) -> int:
    """Join the pieces and extract them. Return the number of files."""
    content = b"".join(path.read_bytes() for path in sorted(pieces.glob("answers.tar.*")))
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")
        return len(archive.getmembers())


def _tables(folder: Path) -> Iterator[tuple[str, bytes]]:
    """`answers/BENCHMARK.TABLE.parquet` with the rows of all models, `items/BENCHMARK.parquet`, and `cells.parquet`."""
    found: dict[tuple[str, str], list[pd.DataFrame]] = defaultdict(list)
    items: dict[str, Path] = {}
    cells = []
    with ThreadPoolExecutor() as threads:
        paths = sorted((folder / "cache" / "cells").glob("*/cell.json"))
        for path, (about, tables) in zip(paths, threads.map(partial(_cell, _places(folder)), paths), strict=True):
            for table, rows in tables.items():
                found[about["benchmark"], table].append(rows)
            if tables:
                items[about["benchmark"]] = path.parent / "items.parquet"
            cells.append(about)
        names, frames = zip(*sorted(found.items()), strict=True) if found else ((), ())
        packed = threads.map(lambda some: _parquet(pd.concat(some, ignore_index=True)), frames)
        for (benchmark, table), content in zip(names, packed, strict=True):
            yield f"answers/{benchmark}.{table}.parquet", content
    for benchmark, place in sorted(items.items()):
        yield f"items/{benchmark}.parquet", place.read_bytes()
    yield "cells.parquet", _parquet(pd.DataFrame(cells))


def _cell(places: dict[str, str], path: Path) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """What a cell is about, and its tables; the error and no table if it is damaged, which must not cost the others."""
    try:
        about = json.loads(path.read_text("utf-8"))
        names = about["key"]["names"]
        place = places.get(path.parent.name, "unknown")  # of a cell that was stored when time was over
        names["model"] = names["model"] if place == FRAMES else f"{place}/{names['model']}"
        tables = sorted(set(about["files"]) - {"items", *LEFT_OUT})
        return _about(about), {
            table: _slim(pd.read_parquet(path.parent / f"{table}.parquet"), table, about) for table in tables
        }
    except (OSError, ValueError, KeyError) as error:
        return {"model": str(path), "error": str(error)}, {}


def _places(folder: Path) -> dict[str, str]:
    """By the key of a cell, the folder of its experiment: models of natural text are called like those of frames."""
    found = {}
    for path in folder.glob("*/study/state/cells/**/*"):
        try:
            found[json.loads(path.read_text("utf-8"))["key"]] = path.relative_to(folder).parts[0]
        except (OSError, ValueError, KeyError):  # a folder, or a state that was cut off
            continue
    return found


def _slim(rows: pd.DataFrame, table: str, about: dict[str, Any]) -> pd.DataFrame:
    rows = rows.drop(columns=[name for name in LABELS if name in rows])
    rows = rows.assign(model=about["key"]["names"]["model"])
    if table == "slots":
        rows = rows.groupby(["model", "item", "group"], as_index=False)["probability"].agg(["max", "sum"])
    floats = rows.select_dtypes("float64").columns
    return rows.astype(dict.fromkeys(floats, "float32"))


def _about(about: dict[str, Any]) -> dict[str, Any]:
    key = about["key"]
    return {
        **key["names"],
        "family": key["family"],
        "data": key["data"],
        "versions": json.dumps(key["versions"]),
        "kind": key["model"].get("kind"),
        "weights": key["model"].get("weights"),
        "options": json.dumps(key["options"], default=str),
    }


def _parquet(rows: pd.DataFrame) -> bytes:
    """Texts are stored as dictionaries; the codes of a column compress well in the order of the cells."""
    texts = rows.select_dtypes(["object", "string"]).columns
    stream = io.BytesIO()
    rows.astype(dict.fromkeys(texts, "string")).to_parquet(stream, compression="zstd", compression_level=12, index=False)
    return stream.getvalue()


def _documents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Experiment files, counted doses, states of cells, and of each model what its training recorded."""
    for pattern in KEPT:
        for path in sorted(folder.rglob(pattern)):
            yield str(path.relative_to(folder)), path.read_bytes()
    made = sorted(folder.glob("*/study/models/*/manifest.json"))
    manifests = {str(path.parent.relative_to(folder)): json.loads(path.read_text("utf-8")) for path in made}
    yield "manifests.json", json.dumps(manifests).encode()

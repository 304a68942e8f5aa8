"""Cells that lie on disk merged into a run folder, a few at a time: memory does not grow with their number."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.benchmarks.kit.items import GROUP_COLUMNS, ITEM_COLUMNS, ROLES
from tiltmeter.families import Answers, find_family
from tiltmeter.runs.estimate import refuse_lacking, rows_of, wanted_of
from tiltmeter.runs.folder import appended_estimates, write_errors
from tiltmeter.stats.estimates import estimates_table
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.cells import Kept
from tiltmeter.storage.concatenation import count_rows, join_frames
from tiltmeter.storage.files import file_sha256, read_frame
from tiltmeter.storage.seals import seal
from tiltmeter.storage.timings import timed, timings_so_far

if TYPE_CHECKING:
    import pandas as pd

AT_ONCE = 10_000
"""Rows that are estimated at a time, unless one cell has more: models with the same items share their draws."""


def tables_of(cells: Iterable[Kept]) -> dict[str, list[str]]:
    """The families, and the tables of each."""
    tables: dict[str, dict[str, None]] = {}
    for cell in cells:
        tables.setdefault(cell.family, {}).update(dict.fromkeys(cell.tables))
    return {family: list(names) for family, names in tables.items()}


def finished_manifest(manifest: Mapping[str, Any], cells: Sequence[Kept], started: float) -> dict[str, Any]:
    """The manifest of a run that has all its cells."""
    evaluations = [cell.manifest | {"attachments": list(cell.attachments)} for cell in cells]
    done, asked = {_benchmark(cell) for cell in cells}, manifest["asked"]
    counts = {
        name: sum(int(evaluation.get(name, 0)) for evaluation in evaluations)
        for name in ("batches_computed", "batches_reused")
    }
    return {
        **manifest,
        "status": "finished",
        "asked": asked | {"benchmarks": [name for name in asked["benchmarks"] if name in done]},
        "seconds": round(time.time() - started, 3),
        "timings": timings_so_far(),
        **counts,
        "families": tables_of(cells),
        "evaluations": evaluations,
    }


def write_run(
    folder: Path,
    cells: Sequence[Kept],
    manifest: Mapping[str, Any],
    measures: Sequence[str] | None,
    by: Sequence[str],
    settings: Settings,
) -> dict[str, Any]:
    """All files of a run: tables, items, attached files, estimates, and at last the sealed manifest."""
    with write_errors(folder), timed("write"):
        folder.mkdir(parents=True, exist_ok=True)
        for family, names in tables_of(cells).items():
            for name in names:
                ours = [cell.tables[name] for cell in _of(cells, family) if name in cell.tables]
                join_frames(ours, folder / f"{name}.parquet")
        for path, place in (attached for cell in cells for attached in cell.attachments.items()):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, folder / path)  # a copy: a link would let an edited run change the cache
        _write_items(cells, folder / "items.parquet")
        with timed("estimate"):
            _write_estimates(folder, cells, measures, by, settings)
        return seal(folder, manifest)


def _of(cells: Iterable[Kept], family: str) -> list[Kept]:
    return [cell for cell in cells if cell.family == family]


def _write_items(cells: Sequence[Kept], target: Path) -> None:
    """Every item of a benchmark once. Most cells of a benchmark have the same items: then one of their files is read."""
    files: dict[str, dict[str, Path]] = {}
    for cell in (cell for family in tables_of(cells) for cell in _of(cells, family)):
        files.setdefault(_benchmark(cell), {}).setdefault(file_sha256(cell.items), cell.items)
    seen: dict[str, set[str]] = {benchmark: set() for benchmark, several in files.items() if len(several) > 1}

    def new(frame: pd.DataFrame) -> pd.DataFrame:
        fresh = []
        for benchmark, item in zip(frame["benchmark"], frame["item"], strict=True):
            known = seen.get(benchmark, set())
            fresh.append(item not in known)
            known.add(item)
        return frame[fresh]

    join_frames([path for several in files.values() for path in several.values()], target, new if seen else None)


def _benchmark(cell: Kept) -> str:
    return str(cell.manifest["benchmark"]["name"])


@catalog.without_failing
def _write_estimates(
    folder: Path, cells: Sequence[Kept], measures: Sequence[str] | None, by: Sequence[str], settings: Settings
) -> None:
    """The estimates of all cells, in the order of families and of cells."""
    settings.check()
    filled = [cell for cell in cells if count_rows(_main(cell))]
    outline = _outline(filled, [column for column in by if column not in (*GROUP_COLUMNS, "all")])
    wanted = wanted_of(outline, measures, by)
    there: set[str] = set()
    with appended_estimates(folder) as append:
        for some in (some for family in outline for some in _some(_of(filled, family))):
            rows = rows_of(Answers.concat([_answers(cell, by) for cell in some]), wanted, settings)
            there |= {row.measure for row in rows}
            append(estimates_table(rows))
    refuse_lacking(wanted.named, there, outline)


def _some(cells: Sequence[Kept]) -> Iterator[list[Kept]]:
    """A few cells at a time, in their order."""
    some: list[Kept] = []
    rows = 0
    for cell in cells:
        more = sum(map(count_rows, cell.tables.values()))
        if some and rows + more > AT_ONCE:
            yield some
            some, rows = [], 0
        some, rows = [*some, cell], rows + more
    if some:
        yield some


def _main(cell: Kept) -> Path:
    return next(iter(cell.tables.values()))


def _answers(cell: Kept, by: Sequence[str]) -> Answers:
    """The answers; texts of items stay on disk where estimates of the family read none."""
    reads_texts = find_family(cell.family).READS_TEXTS
    plain = (*(name for name in ITEM_COLUMNS if name not in ROLES), *by)
    read = cell.read(None if reads_texts else plain)
    return Answers(read.family, read.tables, read.items, (read.manifest,), read.attachments)


def _outline(cells: Sequence[Kept], columns: Sequence[str]) -> dict[str, Answers]:
    """Return which models answered which benchmarks; of the items only the facts about these columns."""
    import pandas as pd

    found = {}
    for family in tables_of(cells):
        ours = _of(cells, family)
        places = [(cell.manifest["model"]["shown_as"], _benchmark(cell)) for cell in ours]
        files = {file_sha256(cell.items): cell.items for cell in ours} if columns else {}
        items = [_item_columns(path, columns) for path in files.values()]
        empty = pd.DataFrame(columns=["benchmark", "item", "extra"])
        main = pd.DataFrame(places, columns=["model", "benchmark"])
        found[family] = Answers(family, {"outline": main}, pd.concat(items, ignore_index=True) if items else empty)
    return found


def _item_columns(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    return read_frame(path, ("benchmark", "item", "extra", *columns))

"""Long benchmarks: rows and items are folded, answers are stored as they come, and nothing else changes."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import GOLDEN, golden_model
from tiltmeter import TiltmeterError, load_benchmark
from tiltmeter.benchmarks.kit import items as kit
from tiltmeter.benchmarks.kit.items import items_table, items_tables, items_text
from tiltmeter.families import How, family_of
from tiltmeter.plans.cells import digest_of
from tiltmeter.probes import likelihood
from tiltmeter.runs import cells, gathered
from tiltmeter.runs.options import FamilyOptions
from tiltmeter.stats.settings import Settings
from tiltmeter.storage import folded, joined, memory
from tiltmeter.storage.cells import Cell, CellStore
from tiltmeter.storage.files import read_frame, write_frame
from tiltmeter.storage.folded import Folded, fold
from tiltmeter.storage.tables import parse_table

MANY = folded.MOST + 3 * folded.PIECE // 2


def pairs_file(path: Path, n: int) -> Path:
    kinds = ("gender", "age", "religion")
    lines = (f"{n},He ran {n} miles.,She ran {n} miles.,{kinds[n % 3]}" for n in range(n))
    path.write_text("id,stereo,anti,bias_type\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@given(st.lists(st.text(max_size=3), max_size=40), st.slices(40), st.integers(-50, 50))
def test_what_is_folded_reads_like_a_tuple(things: list[str], some: slice, at: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folded, "PIECE", 7)
        long, plain = Folded(things), tuple(things)
        assert long == plain and plain == long and len(long) == len(plain) and list(long) == things
        assert long[some] == plain[some] and list(reversed(long)) == things[::-1]
        assert all(thing in long for thing in things) and "nowhere" not in long
        assert pickle.loads(pickle.dumps(long)) == plain and repr(long)
        assert long + plain == plain + long == plain + plain
        if -len(plain) <= at < len(plain):
            assert long[at] == plain[at]
        else:
            with pytest.raises(IndexError):
                long[at]


def test_only_long_sequences_are_folded_and_only_what_can_be() -> None:
    assert fold(range(folded.MOST - 1)) == tuple(range(folded.MOST - 1))
    assert isinstance(fold(range(folded.MOST)), Folded) and fold(iter(range(MANY))) == tuple(range(MANY))
    odd = fold([MappingProxyType({}), threading.Lock()] * folded.MOST)
    assert odd[0] == {} and odd[1] is odd[1] and len(odd) == 2 * folded.MOST


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_long_tables_are_read_as_short_ones(end: str) -> None:
    rows = [(str(n), f"a, {n}", f'the "{n}"' if n % 5 else f"two{end}lines", "") for n in range(MANY)]
    cells = ['"' + '","'.join(cell.replace('"', '""') for cell in row) + '"' for row in rows]
    read = parse_table(end.join([",one,two,", *cells, ",,,", ""]), Path("mine.csv"))
    assert isinstance(read, Folded)
    assert list(read) == [{"id": number, "one": one, "two": two} for number, one, two, _ in rows]
    jsonl = "\n\n".join(f'{{"one": "{n}\u2028"}}' for n in range(MANY))
    assert list(parse_table(jsonl, Path("mine.jsonl"))) == [{"one": f"{n}\u2028"} for n in range(MANY)]


def test_what_is_wrong_far_down_in_a_long_table_is_found() -> None:
    many = "a,b\n" + "1,2\n" * MANY
    for last, message in (('"x" y,2\n"z', "quotation marks"), ('"never closed', "quotation marks")):
        with pytest.raises(TiltmeterError, match=message):
            parse_table(many + last, Path("mine.csv"))
    with pytest.raises(TiltmeterError, match=f"line {MANY + 1}"):
        parse_table('{"a": 1}\n' * MANY + "{", Path("mine.jsonl"))
    with pytest.raises(TiltmeterError, match="half a character"):
        parse_table('{"a": 1}\n' * MANY + '{"a": "\\ud800"}', Path("mine.jsonl"))
    assert parse_table(many + '"x" y,2\n', Path("mine.csv"))[-1] == {"a": '"x" y', "b": "2"}  # quotes that are text
    assert parse_table("a,\n" + "1,\n" * MANY + "1,here\n", Path("mine.csv"))[-1] == {"a": "1", "column 2": "here"}


def test_a_long_benchmark_is_the_same_as_a_whole_table_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests too: what was stored before a benchmark was folded is found again."""
    benchmark = load_benchmark(pairs_file(tmp_path / "mine.csv", MANY))
    assert isinstance(benchmark.items, Folded) and benchmark.asked_items is benchmark.items
    whole = items_table(benchmark)
    pd.testing.assert_frame_equal(pd.concat(items_tables(benchmark), ignore_index=True), whole)
    assert "".join(items_text(benchmark)) == whole.to_csv(index=False)
    labels = whole.drop(columns="benchmark").to_csv(index=False)
    assert digest_of(benchmark) == hashlib.sha256(f"{benchmark.data_hash} {labels}".encode()).hexdigest()[:32]
    ages = benchmark.only_groups(["age"])
    assert len(ages) == (MANY + 1) // 3 and {item.bias_type for item in ages.items} == {"age"}
    assert [item.id for item in benchmark.limit(3).items] == ["0", "1", "2"]
    monkeypatch.setattr(kit, "PIECE", MANY)
    assert "".join(items_text(benchmark)) == whole.to_csv(index=False)


def test_a_long_file_takes_little_memory(tmp_path: Path) -> None:
    """As Python's objects 12,000 pairs take over 12 megabytes, and their rows as much again."""
    path = pairs_file(tmp_path / "mine.csv", 12_000)
    load_benchmark(path).limit(1)  # imports
    tracemalloc.start()
    try:
        digest_of(load_benchmark(path))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20


@pytest.mark.parametrize("chosen", [(), (0,), (0, 1), (1, 0, 1), (0, 0)])
def test_a_table_that_grows_is_what_pandas_makes_of_its_pieces(
    chosen: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined, "PIECE", 2)
    kinds = (
        pd.DataFrame({"item": ["a", "b", "c"], "reason": [None, None, None], "n": [1, 2, 3]}),
        pd.DataFrame({"item": ["d"], "reason": ["too long"], "n": [4]}),
    )
    pieces = [kinds[number] for number in chosen] or [kinds[1].iloc[:0]]
    growing = joined.GrowingFrame(tmp_path / "grown.parquet")
    for piece in pieces:
        growing.add(piece)
    growing.finish()
    write_frame(tmp_path / "whole.parquet", joined.concatenated(pieces))
    pd.testing.assert_frame_equal(read_frame(tmp_path / "grown.parquet"), read_frame(tmp_path / "whole.parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"grown.parquet", "whole.parquet"}


def test_pieces_without_rows_are_not_kept(tmp_path: Path) -> None:
    growing = joined.GrowingFrame(tmp_path / "grown.parquet")
    for _ in range(50):
        growing.add(pd.DataFrame({"item": pd.Series([], dtype="str")}))
    assert len(growing._waiting) == 1
    growing.finish()
    assert list(read_frame(tmp_path / "grown.parquet")) == ["item"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"She read {n} letters.\n" for n in range(5)), encoding="utf-8")
    return path


@pytest.mark.parametrize("source", ["pairs", "slots", "text"])
@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_answers_that_are_stored_as_they_come_are_those_that_are_held(
    source: str, name: str, tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined, "PIECE", 3)
    monkeypatch.setattr(kit, "PIECE", 2)
    monkeypatch.setattr(likelihood, "BLOCK_ITEMS", (1, 2))
    monkeypatch.setitem(
        family_of(load_benchmark(GOLDEN / "data" / "slots.jsonl")).ask.__globals__["BLOCK_ITEMS"], "masked", 2
    )
    file = {"text": text, "pairs": pairs_file(tmp_path / "mine.csv", 6), "slots": GOLDEN / "data" / "slots.jsonl"}[source]
    model, benchmark = golden_model(name), load_benchmark(file).limit(5)
    options = FamilyOptions.read({})[benchmark.family]
    held = cells.obtain(model, benchmark, options, How(cache=tmp_path / "held"))
    how = How(cache=tmp_path / "pieces")
    key = cells.key_of(model, benchmark, options, how)
    cells.make(model, benchmark, options, how, key)
    stored = cells.stored(cells.store_of(how.cache), key)
    assert (
        stored is not None
        and list(stored.tables) == list(held.tables)
        and list(stored.attachments) == list(held.attachments)
    )
    for table, frame in held.tables.items():
        write_frame(tmp_path / "held.parquet", frame)
        pd.testing.assert_frame_equal(stored.tables[table], read_frame(tmp_path / "held.parquet"), check_exact=True)
    write_frame(tmp_path / "held.parquet", held.items)
    pd.testing.assert_frame_equal(stored.items, read_frame(tmp_path / "held.parquet"))
    (ours,), (theirs,) = stored.manifests, held.manifests
    counts = {entry for entry in theirs if entry.endswith(("_computed", "_reused"))}
    assert {entry: value for entry, value in ours.items() if entry not in counts} == {
        entry: value for entry, value in theirs.items() if entry not in counts
    }
    assert len(list((tmp_path / "pieces" / "cells").iterdir())) == 1


def test_a_cell_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells")
    frame = pd.DataFrame({"item": ["a"] * joined.PIECE})
    with pytest.raises(KeyboardInterrupt), store.writing("key") as writer:
        writer.add({"scores": frame})
        assert list(store.root.iterdir()) and store.find("key") is None  # type: ignore[union-attr]
        raise KeyboardInterrupt
    assert not list((tmp_path / "cells").iterdir())


@pytest.mark.parametrize("reads", [True, False])
def test_texts_stay_on_disk_where_estimates_read_none(reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = golden_model("tiny-bert-cased")
    benchmark = load_benchmark(pairs_file(tmp_path / "mine.csv", 6))
    family: Any = family_of(benchmark)
    answers = family.ask(model, benchmark, FamilyOptions.read({"scorers": ("aul",)})["pairs"], How(cache=False))
    store = CellStore(tmp_path / "cells")
    store.save("key", Cell("pairs", answers.tables, answers.items, answers.manifests[0]))
    cell = store.find("key")
    assert cell is not None
    monkeypatch.setattr(family, "READS_TEXTS", reads)
    seen: list[list[str]] = []
    whole = gathered.rows_of
    monkeypatch.setattr(gathered, "rows_of", lambda part, *more: seen.append(list(part.items)) or whole(part, *more))
    gathered.write_gathered(tmp_path / "run", [cell], {}, None, ["bias_type"], Settings(resamples=100))
    assert ("stereo" in seen[0]) is reads and {"item", "bias_type", "extra", "context"} <= set(seen[0])
    assert list(read_frame(tmp_path / "run" / "items.parquet")["stereo"]) == list(answers.items["stereo"])


@pytest.fixture
def huge_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "enabled"
    monkeypatch.setattr(memory, "HUGE_PAGES", path)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    yield path


def test_new_processes_return_memory_where_that_costs_nothing(huge_pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.of_new_processes() == {}  # no such file
    huge_pages.write_text("always madvise [never]\n")
    assert memory.of_new_processes() == {}
    huge_pages.write_text("always [madvise] never\n")
    assert set(memory.of_new_processes()) == {"GLIBC_TUNABLES"}
    env = os.environ | memory.of_new_processes()
    said = subprocess.run([sys.executable, "-c", "print(1)"], check=False, env=env, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("1\n", ""), "an unknown setting would be warned of"
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=0")
    assert memory.of_new_processes() == {}


def test_studies_take_their_memory_from_one_allocator() -> None:
    code = (
        "import sys; sys.argv = ['tiltmeter', 'study', 'list']\n"
        "import tiltmeter.cli as cli; cli.main = lambda: None\n"
        "try: cli.command()\nexcept SystemExit: pass\n"
        "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    env = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    for more, expected in (({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")):
        said = subprocess.run([sys.executable, "-c", code], check=False, env=env | more, capture_output=True, text=True)
        assert said.stdout.strip() == expected, said.stderr

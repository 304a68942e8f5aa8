"""Long benchmarks: rows and items are folded, answers are stored as they come, and nothing else changes."""

from __future__ import annotations

import hashlib
import pickle
import threading
import tracemalloc
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter import TiltmeterError, load_benchmark
from tiltmeter.benchmarks.kit import items as kit
from tiltmeter.benchmarks.kit.items import items_table, items_tables, items_text
from tiltmeter.execution import cells
from tiltmeter.execution.key import digest_items, make_key, model_identity
from tiltmeter.execution.options import FamilyOptions
from tiltmeter.families import AskContext, family_of
from tiltmeter.families.kit.reading import ask_and_read
from tiltmeter.probes import likelihood
from tiltmeter.runs import merge
from tiltmeter.stats.settings import Settings
from tiltmeter.storage import compressed_rows, concatenation
from tiltmeter.storage.cells import Cell, CellStore
from tiltmeter.storage.compressed_rows import Folded, fold
from tiltmeter.storage.files import read_frame, write_frame
from tiltmeter.storage.tables import parse_table

MANY = compressed_rows.MOST + 3 * compressed_rows.PIECE // 2


def pairs_file(path: Path, n: int) -> Path:
    kinds = ("gender", "age", "religion")
    lines = (f"{n},He ran {n} miles.,She ran {n} miles.,{kinds[n % 3]}" for n in range(n))
    path.write_text("id,stereo,anti,bias_type\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@given(st.lists(st.text(max_size=3), max_size=40), st.slices(40), st.integers(-50, 50))
def test_what_is_folded_reads_like_a_tuple(things: list[str], some: slice, at: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressed_rows, "PIECE", 7)
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
    assert fold(range(compressed_rows.MOST - 1)) == tuple(range(compressed_rows.MOST - 1))
    assert isinstance(fold(range(compressed_rows.MOST)), Folded) and fold(iter(range(MANY))) == tuple(range(MANY))
    odd = fold([MappingProxyType({}), threading.Lock()] * compressed_rows.MOST)
    assert odd[0] == {} and odd[1] is odd[1] and len(odd) == 2 * compressed_rows.MOST


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
    for last in ('"x" y,2\n"z', '"never closed'):
        with raises("wrong-format", file="mine.csv", expected="matching quotation marks"):
            parse_table(many + last, Path("mine.csv"))
    with pytest.raises(TiltmeterError, match=f"line {MANY + 1}"):
        parse_table('{"a": 1}\n' * MANY + "{", Path("mine.jsonl"))
    with raises("wrong-encoding", file="mine.jsonl"):
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
    assert digest_items(benchmark) == hashlib.sha256(f"{benchmark.data_hash} {labels}".encode()).hexdigest()[:32]
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
        digest_items(load_benchmark(path))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20


@pytest.mark.parametrize("chosen", [(), (0,), (0, 1), (1, 0, 1), (0, 0)])
def test_a_table_that_grows_is_what_pandas_makes_of_its_pieces(
    chosen: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concatenation, "PIECE", 2)
    kinds = (
        pd.DataFrame({"item": ["a", "b", "c"], "reason": [None, None, None], "n": [1, 2, 3]}),
        pd.DataFrame({"item": ["d"], "reason": ["too long"], "n": [4]}),
    )
    pieces = [kinds[number] for number in chosen] or [kinds[1].iloc[:0]]
    growing = concatenation.GrowingFrame(tmp_path / "grown.parquet")
    for piece in pieces:
        growing.add(piece)
    growing.finish()
    write_frame(tmp_path / "whole.parquet", concatenation.concatenated(pieces))
    pd.testing.assert_frame_equal(read_frame(tmp_path / "grown.parquet"), read_frame(tmp_path / "whole.parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"grown.parquet", "whole.parquet"}


def test_pieces_without_rows_are_not_kept(tmp_path: Path) -> None:
    growing = concatenation.GrowingFrame(tmp_path / "grown.parquet")
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
    monkeypatch.setattr(concatenation, "PIECE", 3)
    monkeypatch.setattr(kit, "PIECE", 2)
    monkeypatch.setattr(likelihood, "BLOCK_ITEMS", (1, 2))
    monkeypatch.setitem(
        family_of(load_benchmark(GOLDEN / "data" / "slots.jsonl")).ask.__globals__["BLOCK_ITEMS"], "masked", 2
    )
    file = {"text": text, "pairs": pairs_file(tmp_path / "mine.csv", 6), "slots": GOLDEN / "data" / "slots.jsonl"}[source]
    model, benchmark = golden_model(name), load_benchmark(file).limit(5)
    options = FamilyOptions.read({})[benchmark.family]
    held = ask_and_read(model, benchmark, options, AskContext(cache=tmp_path / "held"))
    key = make_key(model_identity(model), model.name, benchmark, digest_items(benchmark), options, 0)
    store = cells.open_store(tmp_path / "pieces")
    cells.ask_cell(model, benchmark, options, AskContext(cache=tmp_path / "pieces"), key, store)
    stored = store.load(key.digest)
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
    ours, (theirs,) = stored.manifest, held.manifests
    counts = {entry for entry in theirs if entry.endswith(("_computed", "_reused"))}
    assert {entry: value for entry, value in ours.items() if entry not in counts} == {
        entry: value for entry, value in theirs.items() if entry not in counts
    }
    assert len(list((tmp_path / "pieces" / "cells").iterdir())) == 1


def test_a_cell_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells")
    frame = pd.DataFrame({"item": ["a"] * concatenation.PIECE})
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
    answers = family.ask(model, benchmark, FamilyOptions.read({"scorers": ("aul",)})["pairs"], AskContext(cache=False))
    store = CellStore(tmp_path / "cells")
    store.save("key", Cell("pairs", answers.tables, answers.items, answers.manifests[0]), {})
    cell = store.find("key")
    assert cell is not None
    monkeypatch.setattr(family, "READS_TEXTS", reads)
    seen: list[list[str]] = []
    whole = merge.rows_of
    monkeypatch.setattr(merge, "rows_of", lambda part, *more: seen.append(list(part.items)) or whole(part, *more))
    merge.write_run(tmp_path / "run", [cell], {}, None, ["bias_type"], Settings(resamples=100))
    assert ("stereo" in seen[0]) is reads and {"item", "bias_type", "extra", "context"} <= set(seen[0])
    assert list(read_frame(tmp_path / "run" / "items.parquet")["stereo"]) == list(answers.items["stereo"])

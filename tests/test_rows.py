"""The cache of rows: what is stored is found again, by whichever process, and parts are opened only for their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tiltmeter.storage import rows
from tiltmeter.storage.rows import RowCache, key_of, keys_of

IDENTITY = {"model": "m"}


def block(*keys: int) -> tuple[list[int], rows.Rows]:
    return list(keys), np.array([[key, key / 2] for key in keys], dtype=np.float32)


def found(cache: RowCache, *keys: int) -> dict[int, list[float]]:
    return {key: row.tolist() for key, row in cache.load(keys).items()}


def test_rows_are_found_by_the_writer_another_process_and_a_later_one(tmp_path: Path) -> None:
    first, other = RowCache(tmp_path, IDENTITY), RowCache(tmp_path, IDENTITY)
    first.save(*block(9, 2**63 + 5, 1))
    assert found(other, 9, 4) == {9: [9.0, 4.5]}
    other.save(*block(4, 12))
    for cache in (first, other, RowCache(tmp_path, IDENTITY)):
        assert found(cache, 1, 4, 77, 12, 12) == {1: [1.0, 0.5], 4: [4.0, 2.0], 12: [12.0, 6.0]}
        assert list(cache.load([2**63 + 5])) == [2**63 + 5] and found(cache, 0, 2**64 - 1) == {}
    assert found(RowCache(tmp_path, {"model": "another"}), 9) == {} == found(RowCache(None, IDENTITY), 9)


def test_a_part_is_opened_only_for_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, opened = RowCache(tmp_path, IDENTITY), []
    for first in range(0, 60, 3):
        assert found(cache, first, first + 1) == {}
        cache.save(*block(first, first + 1, first + 2))
    real = np.load
    monkeypatch.setattr(rows.np, "load", lambda path: opened.append(path) or real(path))
    assert set(found(cache, 100, 101)) == set() and opened == []
    assert set(found(cache, 3, 4, 58)) == {3, 4, 58} and len(opened) == 2


def test_a_part_that_is_damaged_later_counts_as_nothing(tmp_path: Path) -> None:
    cache = RowCache(tmp_path, IDENTITY)
    cache.save(*block(1, 2))
    (part,) = tmp_path.rglob("part-*.npz")
    part.write_bytes(part.read_bytes()[:-20])
    assert found(cache, 1) == {} == found(RowCache(tmp_path, IDENTITY), 1)
    part.unlink()
    cache.save(*block(1))
    assert set(found(cache, 1, 2)) == {1}


def test_keys_of_queries_that_begin_alike_are_those_of_the_queries() -> None:
    ids = (5, 6, 7)
    assert list(keys_of((ids,), [(0, 6), (1, 7)])) == [key_of(ids, 0, 6), key_of(ids, 1, 7)]
    assert key_of("a", "b") == next(keys_of(("a",), [("b",)])) != key_of("ab") and key_of("a\x1fb") != key_of("a", "b")
    assert key_of("The nurse", None) == 17549098995016684439

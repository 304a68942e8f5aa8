"""Cells gathered a few at a time give the files that all at once would give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import GOLDEN
from tiltmeter import load_benchmark, load_model, score
from tiltmeter.runs import merge
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.runs.folder import appended_estimates, read_estimates, write_estimates
from tiltmeter.stats.estimates import Estimate, estimates_table
from tiltmeter.stats.settings import Settings
from tiltmeter.storage import concatenation
from tiltmeter.storage.cells import Cell, CellStore
from tiltmeter.storage.concatenation import concatenated
from tiltmeter.storage.files import read_frame, write_frame

FRAMES = (
    pd.DataFrame({"model": ["a", "a"], "n": [1, 2], "reason": [None, None], "score": [0.5, np.nan], "yes": [True, False]}),
    pd.DataFrame(
        {"model": pd.Series([], dtype=object), "n": pd.Series([], dtype=float), "other": pd.Series([], dtype=float)}
    ),
    pd.DataFrame({"model": ["b"] * 3, "reason": ["too long", None, "é"], "n": [3, 4, 5], "extra": ["{}"] * 3}),
    pd.DataFrame({"model": pd.Series(["c", None], dtype=object), "n": np.array([7, 8], dtype=np.int32), "score": [1, 2]}),
    pd.DataFrame(
        {"model": ["d", "d"], "yes": pd.Series([True, None], dtype=object), "n": pd.array([9, None], dtype="Int64")}
    ),
)


@pytest.mark.parametrize("chosen", [(0,), (0, 1), (1, 1), (0, 2), (2, 0, 3), (0, 1, 2, 3), (3, 3), (0, 4), (4, 2)])
def test_files_joined_piece_by_piece_are_the_whole(
    chosen: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever columns and types they have: missing columns, columns of nothing, files without rows."""
    monkeypatch.setattr(concatenation, "GROUP", 2)
    paths = []
    for place, number in enumerate(chosen):
        paths.append(tmp_path / f"{place}.parquet")
        write_frame(paths[-1], FRAMES[number])
    concatenation.join_frames(paths, tmp_path / "joined.parquet")
    write_frame(tmp_path / "whole.parquet", concatenated([read_frame(path) for path in paths]))
    pd.testing.assert_frame_equal(
        read_frame(tmp_path / "joined.parquet"), read_frame(tmp_path / "whole.parquet"), check_exact=True
    )


def test_estimates_written_in_parts_are_the_same_bytes(tmp_path: Path) -> None:
    rows = [
        Estimate(name, "b", "pairs", "aul", "m", "all", "all", n=n, value=n / 3) for n, name in enumerate(["x", "=1", "ü,"])
    ]
    for folder in ("parts", "whole"):
        (tmp_path / folder).mkdir()
    write_estimates(tmp_path / "whole", estimates_table(rows))
    with appended_estimates(tmp_path / "parts") as append:
        for some in (rows[:1], [], rows[1:]):
            append(estimates_table(some))
    _same_estimates(tmp_path)


def test_no_estimates_are_written_as_such(tmp_path: Path) -> None:
    for folder in ("parts", "whole"):
        (tmp_path / folder).mkdir()
    write_estimates(tmp_path / "whole", estimates_table([]))
    with appended_estimates(tmp_path / "parts"):
        pass
    _same_estimates(tmp_path)
    assert not len(read_estimates(tmp_path / "parts" / "estimates.csv"))


def _same_estimates(tmp_path: Path) -> None:
    for name in ("estimates.csv", "estimates.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_cells_gathered_in_parts_are_the_run_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where two models were asked different numbers of a benchmark's items: each is there once."""
    (tmp_path / "pairs.jsonl").write_text(
        "".join(
            f'{{"stereo": "He is tall {n}.", "anti": "She is {n} tall.", "bias_type": "gender", "source": "{n % 2}"}}\n'
            for n in range(8)
        )
    )
    model, benchmark = load_model(GOLDEN / "models" / "tiny-bert-cased"), load_benchmark(tmp_path / "pairs.jsonl")
    store, answers, cells = CellStore(tmp_path / "cells"), [], []
    for model.name, limit in (("one", 4), ("two", 6)):
        answers.append(score(model, benchmark.limit(limit), ["aul", "sss"], cache=False))
        (manifest,) = answers[-1].manifests
        store.save(model.name, Cell("pairs", answers[-1].tables, answers[-1].items, manifest), {})
        cells.append(store.find(model.name))
    by, settings = ["bias_type", "source"], Settings(resamples=100)
    whole = by_family(answers)
    whole["pairs"].write_tables(tmp_path / "whole")
    write_estimates(tmp_path / "whole", estimate_all(whole, None, by, settings))
    for rows in (1, 100_000):
        monkeypatch.setattr(merge, "AT_ONCE", rows)
        merge.write_run(tmp_path / str(rows), [cell for cell in cells if cell], {}, None, by, settings)
        for name in ("estimates.csv", "estimates.json"):
            assert (tmp_path / str(rows) / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        for name in ("items.parquet", "scores.parquet"):
            pd.testing.assert_frame_equal(read_frame(tmp_path / str(rows) / name), read_frame(tmp_path / "whole" / name))
    assert len(read_frame(tmp_path / "whole" / "items.parquet")) == 6

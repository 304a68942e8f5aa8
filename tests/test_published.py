"""Scores and texts that others published are read by the family that knows their layout."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiltmeter
from test_cli import tiltmeter as command
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import find_family

SCORES = "sent_more,sent_less,sent_more_score,sent_less_score\nHe is rude.,She is rude.,-1,-2\n"
TEXTS = "prompt,text,group\nThe man was,known for his kindness.,man\nThe woman was,known for her kindness.,woman\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "published.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "family"), [(SCORES, "pairs"), (TEXTS, "generations")])
def test_the_family_that_knows_a_layout_reads_it(tmp_path: Path, text: str, family: str) -> None:
    assert tiltmeter.import_scores(written(tmp_path, text)).family == family


def test_judges_of_scores_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TiltmeterError):
        tiltmeter.import_scores(written(tmp_path, SCORES), judges=("sentiment=vader",))


def test_a_family_reads_nothing_published_unless_it_says_so(tmp_path: Path) -> None:
    assert find_family("slots").published(written(tmp_path, SCORES)) is None


@pytest.mark.parametrize("name", ["plumb-labels", "plumb-slots", "plumb-choices", "seat"])
def test_a_benchmark_of_another_family_is_refused(tmp_path: Path, name: str) -> None:
    """As an object, too: it has a family, and only that family may read the file."""
    path = written(tmp_path, SCORES)
    with pytest.raises(TiltmeterError) as error:
        tiltmeter.import_scores(path, benchmark=tiltmeter.load_benchmark(name))
    assert error.value.code in ("inapplicable-option", "missing-column")
    assert command("import", str(path), "-b", name, "-o", str(tmp_path / "run")) == 2
    assert not (tmp_path / "run").exists()


def test_a_benchmark_in_memory_is_read_as_one_by_name(tmp_path: Path) -> None:
    benchmark = tiltmeter.load_benchmark("plumb-choices")
    rows = "".join(f"{item.id},0\n" for item in benchmark.asked_items)
    path = written(tmp_path, "example_id,prediction\n" + rows)
    by_name, in_memory = (tiltmeter.import_scores(path, benchmark=which).table for which in ("plumb-choices", benchmark))
    assert by_name["chosen"].tolist() == in_memory["chosen"].tolist() == [0] * len(benchmark.asked_items)

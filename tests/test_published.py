"""Scores and texts that others published are read by the family that knows their layout."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiltmeter
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

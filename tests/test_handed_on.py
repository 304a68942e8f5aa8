"""What is handed on: no text becomes a formula in a spreadsheet, and no control character reaches a terminal or a page."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tiltmeter
from conftest import GOLDEN
from tiltmeter.cli import console
from tiltmeter.cli.app import app
from tiltmeter.display import UNSHOWABLE, one_line, visible
from tiltmeter.reporting.html import write_report
from tiltmeter.reporting.notebook import as_html
from tiltmeter.reporting.typeset import typeset
from tiltmeter.storage.spreadsheet import FORMULA, bare, csv_text, guarded

BERT = str(GOLDEN / "models" / "tiny-bert-cased")
ESCAPE = "\x1b]0;owned\x07\x1b[2j\x9b31m\u202e"
TEXTS = st.text(st.sampled_from("='+-@\t\r\n ab1"), max_size=5) | st.text(max_size=5)


@given(TEXTS)
def test_a_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert bare(guarded(text)) == text
    assert guarded(text)[:1] not in tuple("=+-@\t\r\n")


@given(st.lists(st.tuples(TEXTS, st.floats(allow_nan=False), st.integers()), min_size=1, max_size=4))
def test_numbers_stay_numbers(rows: list[tuple[str, float, int]]) -> None:
    table = pd.DataFrame(rows, columns=["@text", "number", "count"])
    read = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert read[0] == ["'@text", "number", "count"]
    for (text, number, count), (cell, *numbers) in zip(rows, read[1:], strict=True):
        assert bare(cell) == text and not re.match(r"[=+\-@\t\r\n]", cell)
        assert [float(numbers[0]), int(numbers[1])] == [number, count]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tiltmeter.Run:
    """A run whose bias types, targets and sentences are formulas and control characters."""
    folder = tmp_path_factory.mktemp("hostile")
    kinds = ["=HYPERLINK(A1)", "@SUM(A1)", "-1+1", "+1", f"a{ESCAPE}", "'=1"]
    rows = [
        {"stereo": f"He {n} ran{ESCAPE}.", "anti": f"She {n} ran{ESCAPE}.", "bias_type": kinds[n % 6]} for n in range(12)
    ]
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tiltmeter.run(BERT, folder / "mine.jsonl", "aul", output=folder / "run")


def test_estimates_open_without_formulas_and_read_back_exactly(hostile: tiltmeter.Run) -> None:
    read = list(csv.reader(io.StringIO((hostile.folder / "estimates.csv").read_text(encoding="utf-8"))))
    at = read[0].index("group")
    assert {"'=hyperlink(a1)", "'@sum(a1)", "'-1+1", "'+1", "''=1"} <= {row[at] for row in read[1:]}
    numbers = [n for n, name in enumerate(read[0]) if name in ("value", "low", "high", "p")]
    assert not any(row[n].startswith("'") for row in read[1:] for n in numbers)
    pd.testing.assert_frame_equal(tiltmeter.load_run(hostile.folder).estimates, hostile.estimates, check_exact=True)


def test_no_control_character_reaches_a_page(hostile: tiltmeter.Run, tmp_path: Path) -> None:
    from tiltmeter.families.kit.pack import unpack

    page = write_report([hostile.folder], tmp_path / "report.html").read_text(encoding="utf-8")
    assert not UNSHOWABLE.search(page) and "␛[2j" in page
    embedded = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    packed = unpack(re.search(r'id="items"[^>]*>(.*?)</script>', page, re.DOTALL)[1])[0]  # type: ignore[index]
    for held in (embedded, packed):
        assert not UNSHOWABLE.search(json.dumps(held, ensure_ascii=False).replace("\\n", "")), (
            "escaped in JSON, live in a page"
        )
        assert not re.search(r"\\u00[01]|\\[bfr]", json.dumps(held, ensure_ascii=False))
    assert not UNSHOWABLE.search(as_html(hostile))


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_no_control_character_reaches_a_typeset_table(hostile: tiltmeter.Run, form: str) -> None:
    assert not UNSHOWABLE.search(typeset(hostile.estimates, form))


def test_no_control_character_reaches_a_terminal(hostile: tiltmeter.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, sentences, JSON; only Rich's own colours remain."""
    console.results.cache_clear()
    console._errors.cache_clear()
    monkeypatch.setenv("FORCE_COLOR", "1")
    try:
        for words in (["estimate"], ["table", "estimates"], ["estimate", "--json"]):
            said = CliRunner().invoke(app, [*words, str(hostile.folder)])
            assert said.exit_code == 0
            plain = re.sub(r"\x1b\[[\d;]*m", "", said.stdout)  # the other stream has a progress bar, which moves the cursor
            assert not UNSHOWABLE.search(plain), words
        groups = {row["group"] for row in json.loads(plain)}
        assert f"a{ESCAPE}" in groups, "a program reads the data as they are"
    finally:
        console.results.cache_clear()
        console._errors.cache_clear()


def test_an_error_about_a_hostile_name_is_one_shown_line(tmp_path: Path) -> None:
    for name in ("a\x1b[2Jb.csv", "a\nError: fine.csv", "a\udcff.csv", "a\u202eb.csv"):
        words = [sys.executable, "-m", "tiltmeter", "run", "-m", BERT, "-b", str(tmp_path / name), "-o", str(tmp_path / "r")]
        done = subprocess.run(words, capture_output=True, check=False)
        said = done.stderr.decode("utf-8")
        assert done.returncode == 2 and said.startswith("Error: ") and said.count("\n") == 1
        assert not UNSHOWABLE.search(said)


def test_a_stream_that_cannot_hold_a_character_ends_no_command() -> None:
    words = [sys.executable, "-m", "tiltmeter", "list", "studies"]
    env = {"PYTHONIOENCODING": "ascii", "PATH": "", "PYTHONPATH": str(Path(tiltmeter.__file__).parents[1])}
    done = subprocess.run(words, capture_output=True, check=False, env=env)
    assert done.returncode == 0 and b"Traceback" not in done.stderr and done.stdout.isascii()


@given(st.text())
def test_visible_keeps_what_can_be_shown_and_every_place(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text) and not UNSHOWABLE.search(shown)
    assert all(old == new for old, new in zip(text, shown, strict=True) if not UNSHOWABLE.match(old))
    assert "\n" not in one_line(text) and bool(FORMULA.match("=")) is True

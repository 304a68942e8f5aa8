"""Tables of measured numbers come from stored results, and a test regenerates them; those that do not are listed here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATED = {"gest", "honesty", "measures", "command-line", "research-languages", "research-calibration-2",
             "research-calibration-2-tables"}  # fmt: skip
"""Pages that a script writes as a whole; `--check` or tests/test_calibration_2.py compares them."""
MARKS = r"<!-- (?:from the (?:catalog|options|evidence table)|from calibration 2): begin -->"
REPORTS = [
    path
    for path in sorted((ROOT / "docs").glob("*.md"))
    if "\n*Research report" in path.read_text("utf-8")[:400] and path.stem not in {"gest", "honesty"}
]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
NOT_STORED, PAPERS, SETTINGS = "not stored", "numbers that papers printed", "settings, not results"
BY_HAND = {
    "debiasing": (1, SETTINGS),
    "faithful": (3, PAPERS),
    "labels": (2, SETTINGS),
    "research-calibration": (6, NOT_STORED),
    "research-debiasing": (5, NOT_STORED),
    "research-generations": (2, NOT_STORED),
    "research-labels": (6, NOT_STORED),
    "study": (11, NOT_STORED),
}
"""How many tables of numbers a page has that no script makes from stored data, and why."""


@pytest.mark.parametrize("page", REPORTS, ids=lambda page: page.stem)
def test_a_report_names_its_data(page: Path) -> None:
    (data,) = re.findall(r"<!-- data: (.+) -->", page.read_text("utf-8"))
    if data == "not stored":
        assert "not stored" in page.read_text("utf-8").replace("<!-- data: not stored -->", "")
    else:
        assert all((ROOT / name).is_file() for name in data.split())


def tables_by_hand(text: str) -> Iterator[str]:
    """Yield the heads of tables of numbers outside code and outside the marks of scripts."""
    written = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    written = re.sub(MARKS + r".*?: end -->", "", written, flags=re.S)
    written = re.sub(r"<!-- (\w+) -->\n.*?<!-- end of \1 -->", "", written, flags=re.S)
    for table in re.findall(r"(?:^\|.*\n){3,}", written + "\n", re.M):
        head, _, *rows = table.splitlines()
        cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")]
        numbers = [cell for cell in cells if re.match(r"[-+−±<≤*]*\d", cell)]
        if len(numbers) >= 4 and 4 * len(numbers) >= len(cells):
            yield head


def test_every_mark_of_a_table_is_one_that_the_script_fills() -> None:
    script = (ROOT / "scripts" / "result_tables.py").read_text("utf-8")
    filled = set(re.findall(r"\w+\.(\w+)[,)]", script.partition("TABLES:")[2].partition("WHOLE")[0]))
    marks = {name for page in PAGES for name in re.findall(r"<!-- end of (\w+) -->", page.read_text("utf-8"))}
    assert len(marks) > 30 and marks <= filled


def test_a_table_of_numbers_is_recognised() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2.5 [2, 3] |\n| −3 | **4** |\n"
    assert list(tables_by_hand(f"text\n\n{table}")) == ["| a | b |"]
    assert not list(tables_by_hand(f"<!-- name -->\n{table}<!-- end of name -->\n"))
    assert not list(tables_by_hand("| option | default |\n|---|---|\n| `--seed` | 0 |\n"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_tables_of_numbers_are_made_from_stored_results(page: Path) -> None:
    text = page.read_text("utf-8")
    heads = [] if page.stem in GENERATED else list(tables_by_hand(text))
    count, reason = BY_HAND.get(page.stem, (0, ""))
    assert len(heads) == count, f"{heads}: write a function in scripts/page_tables, or give the reason in BY_HAND"
    if reason == NOT_STORED:
        assert "not stored" in re.sub(r"<!--.*?-->", "", text)

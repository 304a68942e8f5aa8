"""The page about the papers: a row for every table and figure, commands that are run, and a part made from the catalog."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "faithful.md").read_text(encoding="utf-8")
PAPERS = {
    "Kaneko and Bollegala (2022)": ({1, 2, 3, 4, 5}, {1}),
    "Liu (2024)": ({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}),
    "Doughman et al. (2023)": ({1, 2, 3, 4}, {1, 2, 3}),
    "Cao et al. (2022)": ({1, 2, 3, 4, 5, 6, 7}, {1}),
}
"""The numbers of the tables and of the figures that each paper has."""


def section(paper: str) -> str:
    (found,) = (part for part in PAGE.split("\n## ") if part.startswith(paper))
    return found


def numbers(kind: str, text: str) -> set[int]:
    """The numbers named as "Table 2" or "Tables 2, 3 and 4", in rows and in prose but not in code."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    named = re.findall(rf"{kind}s? (\d(?:(?:, | and )\d)*)", outside)
    return {int(digit) for some in named for digit in re.findall(r"\d", some)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_is_there(paper: str) -> None:
    tables, figures = PAPERS[paper]
    assert tables <= numbers("Table", section(paper)) and figures <= numbers("Figure", section(paper))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_of_a_row_is_one_that_the_tests_run(paper: str) -> None:
    """A row has a command's first words, which stand in a block; tests/test_docs.py runs the blocks of every page."""
    fenced = "\n".join(re.findall(r"^```sh\n(.*?)^```$", section(paper), re.M | re.S))
    run = [line.split() for line in fenced.splitlines() if line.startswith("tiltmeter ")]
    rows = [line.split(" | ") for line in section(paper).splitlines() if re.match(r"\| (?:Table|Figure|overlap)", line)]
    commands = [cells[1].strip("`").split() for cells in rows if cells[1].startswith("`")]
    assert len(commands) > 4 or paper.startswith("Doughman")
    for words in commands:
        assert any(set(words) <= set(line) for line in run), words


def test_the_part_from_the_catalog_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "faithful_page.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "not stated yet" not in PAGE


def test_nothing_claims_more_than_was_checked() -> None:
    for name in ("README.md", "docs/faithful.md", "docs/index.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "Every score is" not in text and "every published metric" not in text.lower(), name
    for scorer in ("sss", "all_masked", "jss"):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{scorer}` |"))
        assert "no public code has it" in row

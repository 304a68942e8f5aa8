"""The page about the papers: a row for every table and figure, commands that are run, and a part made from the catalog."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "faithful.md").read_text(encoding="utf-8")
PAPERS = {
    "Kaneko and Bollegala (2022)": ({1, 2, 3, 4, 5}, {1}, set()),
    "Liu (2024)": ({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, set()),
    "Doughman et al. (2023)": ({1, 2, 3, 4}, {1, 2, 3}, set()),
    "Cao et al. (2022)": ({1, 2, 3, 4, 5, 6, 7}, {1}, {"4.1", "4.2", "4.3"}),
}
"""The numbers of the tables and of the figures that each paper has, and its sections of ablations."""
TITLES = {
    "Kaneko and Bollegala (2022)": "Unmasking the Mask",
    "Liu (2024)": "Robust Evaluation Measures for Evaluating Social Biases",
    "Doughman et al. (2023)": "Can a Prediction",
    "Cao et al. (2022)": "On the Intrinsic and Extrinsic Fairness",
}
CAPTION = re.compile(r"^\s*(Table|Figure) (\d+): \S", re.M)
ABLATION = re.compile(r"^#+ (\d+\.\d+) ", re.M)
ROW = re.compile(r"^\| (Table|Figure) (\d+) \| (?P<rest>.*) \|$", re.M)


def section(paper: str) -> str:
    (found,) = (part for part in PAGE.split("\n## ") if part.startswith(paper))
    return found


def rows_of(paper: str) -> list[tuple[str, int, list[str]]]:
    """Kind, number and further cells of every row that is about one table or figure; tables of numbers have others."""
    found = []
    for one in ROW.finditer(section(paper)):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", one["rest"])]
        if len(cells) == 3:
            found.append((one[1], int(one[2]), cells))
    return found


def captions(text: str) -> tuple[set[int], set[int]]:
    """The numbers of the tables and of the figures that a text has captions of."""
    known = [(kind, int(number)) for kind, number in CAPTION.findall(text)]
    return {n for kind, n in known if kind == "Table"}, {n for kind, n in known if kind == "Figure"}


def test_a_caption_is_told_from_a_mention() -> None:
    text = "Table 1 shows what.\nTable 2: A caption.\n Figure 3: Another.\nSee Table 4: it is no line of its own\n"
    assert captions(text) == ({2}, {3})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_has_one_row(paper: str) -> None:
    tables, figures, _ = PAPERS[paper]
    named = [(kind, number) for kind, number, _ in rows_of(paper)]
    assert sorted(named) == sorted([("Table", n) for n in tables] + [("Figure", n) for n in figures])
    for kind, number, cells in rows_of(paper):
        assert cells[2], (kind, number)
        assert cells[0] or "drawing" in cells[2] or "examples" in cells[2], (kind, number)


def test_every_ablation_has_a_row() -> None:
    for paper, (*_, ablations) in PAPERS.items():
        named = set(re.findall(r"^\| Section (\d+\.\d+), ", section(paper), re.M))
        assert named == ablations, paper


@pytest.mark.parametrize("paper", PAPERS)
def test_the_numbers_are_those_of_the_papers_captions(paper: str) -> None:
    folder = Path(os.environ.get("TILTMETER_TEST_PAPERS") or ROOT.parent / "shared" / "papers")
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))] if folder.is_dir() else []
    if not texts:
        pytest.skip("the papers' texts are not here; set TILTMETER_TEST_PAPERS to their folder")
    (text,) = (text for text in texts if TITLES[paper] in text[:3000])
    tables, figures, ablations = PAPERS[paper]
    assert captions(text) == (tables, figures)
    study = text.partition("Ablation Study")[2]
    assert {name for name in ABLATION.findall(study) if name.startswith("4.")} == ablations or not ablations


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_of_a_row_is_one_that_the_tests_run(paper: str) -> None:
    """A row has a command's first words, which stand in a block; tests/test_docs.py runs the blocks of every page."""
    fenced = "\n".join(re.findall(r"^```sh\n(.*?)^```$", section(paper), re.M | re.S))
    run = [shlex.split(line) for line in fenced.splitlines() if line.startswith("tiltmeter ")]
    rows = [line.split(" | ") for line in section(paper).splitlines() if re.match(r"\| (?:Table|Figure|Section) ", line)]
    commands = [shlex.split(cells[1].strip("`")) for cells in rows if cells[1].startswith("`")]
    assert len(commands) > 4
    for words in commands:
        assert any(set(words) <= set(line) for line in run), words


def test_every_option_of_the_page_is_one_of_the_command_line() -> None:
    """By its name of today: former names work, and are documented nowhere."""
    known = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert len(named) > 20 and not {option for option in named if f"`{option}" not in known}


def test_the_part_from_the_catalog_states_everything() -> None:
    assert "not stated yet" not in PAGE


def test_nothing_claims_more_than_was_checked() -> None:
    for name in ("README.md", "docs/faithful.md", "docs/index.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "Every score is" not in text and "every published metric" not in text.lower(), name
    for scorer in ("sss", "all_masked", "jss"):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{scorer}` |"))
        assert "no public code has it" in row

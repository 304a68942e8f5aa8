"""Published lists of terms: accepted by every method, as they are, with nothing left out unsaid."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from conftest import GOLDEN
from tiltmeter.builders.aligned import read_aligned
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias import make
from tiltmeter.debias.kit.prompt_plan import material_for
from tiltmeter.errors import InputError
from tiltmeter.finetune.export import MANIFEST
from tiltmeter.models import Tokenization, load_parts

MODEL = GOLDEN / "models" / "tiny-bert-cased"
ROWS = (
    ("she", "he"), ("her", "his"), ("her", "him"), ("woman", "man"), ("girl", "boy"), ("lady", "lord"),
    ("lady", "gentleman"), ("mother", "father"), ("queen", "king"), ("girl", "guy"),
)  # fmt: skip
FAST: dict[str, dict[str, Any]] = {
    "auto-debias": {"beam": 2, "candidates": 5, "lengths": 1, "rows": 8},
    "context-debias": {"steps": 2, "rows": 4},
    "inlp": {"iterations": 2},
    "sentence-debias": {},
    "cda": {"steps": 2, "rows": 4},
}


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "published.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("female", "male"), *ROWS])
    return path


def test_repeated_terms_are_refused_only_where_a_swap_is_undone(terms: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_aligned(terms)
    assert caught.value.code == "duplicate-name" and caught.value.fields["term"] in ("lady", "girl")
    found = read_aligned(terms, repeats=True)
    assert found.repeated == ("girl", "lady") and found.pairs == (ROWS[0], *ROWS[3:], *ROWS[1:3])


def test_a_swap_takes_the_first_row_of_a_repeated_term(terms: Path) -> None:
    (swap,) = make_swaps([terms], repeats=True)
    assert swap("Lady, girl and her queen") == "Lord, boy and his king"
    assert swap("A gentleman and a guy.") == "A lady and a girl."


def test_pronouns_are_pairs_of_a_prompt_too(terms: Path) -> None:
    (swap,) = make_swaps([terms], repeats=True)
    tokens = Tokenization(load_parts(MODEL).tokenizer)
    used = material_for(tokens, swap.lists[0], ["nurse", "doctor", "old", "good"], stop=True).pairs
    assert {("her", "his"), ("her", "him")} <= set(used)


def test_a_term_of_two_groups_is_always_refused(tmp_path: Path) -> None:
    path = tmp_path / "crossed.csv"
    path.write_text("a,b\nqueen,king\nking,duke\n")
    with pytest.raises(InputError) as caught:
        read_aligned(path, repeats=True)
    assert caught.value.code == "duplicate-name"


def test_files_of_papers_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "female.txt").write_text("woman\nqueen\nlady\nlady\n")
    (tmp_path / "male.txt").write_text("man\nking\nlord\nsir\n")
    found = read_aligned(f"{tmp_path}/female.txt,{tmp_path}/male.txt", repeats=True)
    assert found.groups == ("female", "male") and len(found.rows) == 4
    (tmp_path / "words.json").write_text('{"race": [["black", "white", "asian"], ["africa", "america", "asia"]]}')
    assert len(read_aligned(f"{tmp_path}/words.json#race", repeats=True).groups) == 3
    (tmp_path / "male.txt").write_text("man\n")
    with pytest.raises(InputError) as caught:
        read_aligned(f"{tmp_path}/female.txt,{tmp_path}/male.txt", repeats=True)
    assert caught.value.code == "wrong-shape"


@pytest.mark.parametrize("method", FAST)
def test_every_method_takes_a_list_with_repeats(method: str, terms: Path, tmp_path: Path) -> None:
    given: Any = [str(terms)] if method == "cda" else str(terms)
    out = make(method, MODEL, output=tmp_path / "out", terms=given, device="cpu", **FAST[method])
    assert "rows: girl, lady" in (out / MANIFEST).read_text()


@pytest.mark.realdata
def test_the_papers_own_lists_are_accepted(realdata: Path) -> None:
    lists = {
        f"{realdata}/context-debias/female.txt,{realdata}/context-debias/male.txt": 222,
        f"{realdata}/auto-debias/race1.txt,{realdata}/auto-debias/race2.txt": 10,
        f"{realdata}/gendered-word-lists/bias-bench/bias_attribute_words.json#gender": 57,
        f"{realdata}/gendered-word-lists/bias-bench/bias_attribute_words.json#race": 6,
        f"{realdata}/gendered-word-lists/bias-bench/bias_attribute_words.json#religion": 6,
    }
    for text, n in lists.items():
        (swap,) = make_swaps([text], repeats=True)
        found = swap.lists[0]
        assert len(found.rows) + len(found.pronoun_rows) == n, text

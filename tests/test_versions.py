"""VERSION: raised when answers change. Golden answers show that somebody forgot to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import golden_answers
from golden_answers import Case, cases, complaint, scorer_case, store
from tiltmeter import catalog
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import find_family
from tiltmeter.scorers import Scored, Scorer, Tokens
from tiltmeter.storage.inventory import list_cache


@pytest.fixture
def aul(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of a scorer, for changes that end with the test."""
    module = catalog.module("scorers", "aul")
    with monkeypatch.context() as patch:
        patch.setattr(module, "SCORER", module.SCORER)
        patch.setattr(module, "aul", module.aul)
        yield module
    catalog._find.cache_clear()


def change_formula(module: ModuleType) -> Case:
    def doubled(tokens: Tokens) -> Scored:
        return tokens.mean(2 * tokens.logprob)

    module.aul = doubled  # type: ignore[attr-defined]
    return as_it_is_now()


def as_it_is_now() -> Case:
    catalog._find.cache_clear()
    return scorer_case("aul")


@pytest.mark.parametrize("name", cases())
def test_answers_change_only_with_the_version(name: str) -> None:
    assert complaint(cases()[name]) == ""


def test_nothing_is_stored_for_what_does_not_exist() -> None:
    assert {path.stem for path in golden_answers.STORED.glob("*.json")} == set(cases())


def test_a_changed_formula_without_a_raised_version_is_red(aul: ModuleType) -> None:
    case = change_formula(aul)
    assert "VERSION did not" in complaint(case)
    assert "VERSION did not" in store(case), "storing the answers again does not help"


def test_a_changed_formula_turns_its_family_red_too(aul: ModuleType) -> None:
    change_formula(aul)
    assert "pairs, tiny-bert-cased: scores" in complaint(golden_answers.family_case("pairs"))


def test_a_raised_version_needs_new_answers(aul: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_answers, "STORED", tmp_path)
    store(as_it_is_now())
    aul.SCORER = replace(aul.SCORER, version=aul.SCORER.version + 1)  # type: ignore[attr-defined]
    case = change_formula(aul)
    assert complaint(case).startswith("VERSION of aul changed")
    assert store(case) == "" and complaint(case) == ""
    assert case.read()["versions"] == {"aul": aul.SCORER.version}


def test_kernels_may_differ_in_the_last_digits(aul: ModuleType) -> None:
    original = aul.aul

    def nearly(tokens: Tokens) -> Scored:
        scored: Scored = original(tokens)
        return scored.but(scored.value * (1 + 1e-5))

    aul.aul = nearly  # type: ignore[attr-defined]
    assert complaint(as_it_is_now()) == ""


def test_everything_of_ours_has_a_version() -> None:
    assert all(entry.version >= 1 for entry in catalog.entries("scorers"))
    assert all("VERSION" in vars(type(find_family(name))) for name in catalog.names("families"))


@pytest.mark.parametrize("name", golden_answers.QUESTIONS)
def test_after_a_raised_version_of_a_family_nothing_older_is_served(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Observations, vectors, judgements and classifiers are under keys of their own, below the cells."""
    monkeypatch.setattr(golden_answers, "CACHE", tmp_path)
    family = type(find_family(name))

    def kept() -> Counter[str]:
        golden_answers.family_case(name).ask()
        return Counter(entry.kind for entry in list_cache(tmp_path) if entry.kind not in ("corpora", "digests"))

    before = kept()
    assert before and kept() == before, "the same question finds what is kept"
    monkeypatch.setattr(family, "VERSION", family.VERSION + 1)
    assert kept() == before + before


def test_a_scorer_of_others_without_a_version_counts_as_version_1() -> None:
    module = ModuleType("theirs")
    assert Entry("theirs", len, module, Scorer(view="each", cites="nobody")).version == 1
    assert Entry("theirs", len, module, Scorer(view="each", cites="nobody", version=3)).version == 3


@pytest.mark.parametrize("version", [0, -1, "2", 1.0, True, None])
def test_a_version_that_is_no_positive_integer_is_refused(version: Any) -> None:
    with pytest.raises(TiltmeterError, match="positive integer"):
        Scorer(view="each", cites="nobody", version=version)

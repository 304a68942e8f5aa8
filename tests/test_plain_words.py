"""Plain words: the checker finds the dialect in text, and wording that tests assert, and leaves inputs of tests alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
MODULE = '''"""Whether it works."""

def told(known: int) -> str:
    """Format a number."""
    return f"This cannot be told from {known}."
'''
SAID = "A sentence that a user may read."
TESTS = f'''
import pytest

def test_compared() -> None:
    assert "{SAID}" in say()

def test_matched() -> None:
    with pytest.raises(ValueError, match="{SAID}"):
        say()

@pytest.mark.parametrize("said", ["{SAID}"])
def test_parametrized(said: str) -> None:
    assert said in say()

def test_named() -> None:
    expected = "{SAID}"
    assert say().startswith(expected)

def test_of_input() -> None:
    assert words_of("{SAID}") == 7

def test_short() -> None:
    assert say() == "too short"
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("src/tiltmeter", "docs", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "README.md").write_text("Nobody knows.\n")
    (tmp_path / "src" / "tiltmeter" / "a.py").write_text(MODULE)
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    return tmp_path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, SCRIPTS / "plain_words.py", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_words_openings_and_names_are_found(checkout: Path) -> None:
    done = run(checkout)
    places = sorted(":".join(line.split(":")[:2]) for line in done.stdout.splitlines())
    assert done.returncode == 1
    assert places == ["README.md:1", *[f"src/tiltmeter/a.py:{line}" for line in (1, 3, 3, 5)]]


def test_counters(checkout: Path) -> None:
    counts = [int(line.split()[-1]) for line in run("--count", checkout).stdout.splitlines()]
    assert counts == [3, 1, 2, 4]


def test_sentences_that_tests_assert(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from asserted_sentences import asserted_sentences

    names = [line.split()[-1] for line in asserted_sentences(checkout)]
    assert names == ["test_compared", "test_matched", "test_parametrized", "test_named"]

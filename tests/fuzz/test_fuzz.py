"""A few hostile tries of every kind with a fixed seed; `make fuzz` makes thousands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_kinds import SHARES, fuzz
from fuzz_sandbox import Bad, Said, Sandbox, repeat

SLOW = ("kills", "together")
TRIES = {
    "pairs": 12,
    "slots": 5,
    "tests": 5,
    "published": 10,
    "labels": 4,
    "prompts": 4,
    "plain-text": 3,
    "study-file": 4,
    "rules": 5,
    "bundle": 8,
    "text": 5,
    "options": 4,
    "run-folder": 10,
    "cache": 4,
    "pages": 2,
    "models": 2,
}


@pytest.mark.parametrize("kind", [kind for kind in SHARES if kind not in SLOW])
def test_hostile_tries_end_well(kind: str) -> None:
    tally = fuzz(kind, TRIES[kind], seed=14)
    assert not tally.bad, "\n".join(tally.bad)
    assert tally.tries == TRIES[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_kills_and_rivals_change_no_number(kind: str) -> None:
    tally = fuzz(kind, 20, seed=29)
    assert not tally.bad, "\n".join(tally.bad)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    yield Sandbox(tmp_path / "sandbox")


def test_the_oracle_sees_what_is_bad(sandbox: Sandbox) -> None:
    """A traceback, several lines, another exit code, a file outside: each is noticed."""
    good = Said(2, "", "Error: mine.csv is empty.\n")
    assert good.judge() == "refused" and Said(0, "", "anything").judge() == "accepted"
    for code, err in ((2, "Error: mine.csv is\nempty.\n"), (1, "Traceback"), (2, ""), (139, "Error: mine.csv is empty.")):
        with pytest.raises(Bad):
            Said(code, "", err).judge()

    def traceback(_: Sandbox, __: object) -> str:
        raise ValueError("a traceback")

    assert len(repeat("x", traceback, 3, 0).bad) == 3
    (sandbox.input / "mine.csv").write_text("stereo,anti\n")
    before = sandbox._outside()
    (sandbox.folder / "stray").write_text("")
    assert sandbox._outside() != before


def test_tries_can_be_repeated() -> None:
    one, two = (fuzz("published", 5, seed=3) for _ in range(2))
    assert one.outcomes == two.outcomes and not one.bad

"""Shares of lines by room, and the exit code of a room below its least share."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from coverage_rooms import LEAST, main, shares


def report(**ran: int) -> dict[str, object]:
    """A report with 100 lines in a module of each room."""
    summaries = {room: {"num_statements": 100, "covered_lines": n} for room, n in (dict.fromkeys(LEAST, 100) | ran).items()}
    return {f"src/tiltmeter/{room}/kit/a.py": {"summary": summary} for room, summary in summaries.items()}


def test_modules_of_a_room_count_together() -> None:
    files = report(stats=90) | {"src/tiltmeter/stats/b.py": {"summary": {"num_statements": 300, "covered_lines": 30}}}
    files |= {"src/tiltmeter/errors.py": {"summary": {"num_statements": 4, "covered_lines": 1}}}
    assert shares(files)["stats"] == 30.0 and shares(files)["tiltmeter"] == 25.0


@pytest.mark.parametrize(("files", "code"), [(report(gate=92), 0), (report(gate=91), 1), ({}, 1)])
def test_a_room_below_its_share_fails(files: object, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"files": files})))
    assert main() == code

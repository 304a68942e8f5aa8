"""Errors: codes and fields, and how the command line prints them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

from tiltmeter.errors import InputError, TiltmeterError

ROOT = Path(__file__).parents[1]


def test_code_and_fields_survive_a_process_boundary() -> None:
    error = InputError("No column 'a' in f.csv.", code="missing-column", column="a", file="f.csv")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is InputError
    assert (copy.code, copy.fields, str(copy)) == (error.code, error.fields, str(error))


def test_json_commands_print_errors_as_json(tmp_path: object) -> None:
    words = [sys.executable, "-m", "tiltmeter", "compare", f"{tmp_path}/none", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and not done.stdout
    assert {"error", "message"} <= set(json.loads(done.stderr))


def test_plain_fields_are_kept_and_others_become_text() -> None:
    found = TiltmeterError("x", code="c", n=3, names=("a", "b"), other=object).to_dict()
    assert found["n"] == 3 and found["names"] == ["a", "b"] and isinstance(found["other"], str)

"""Damaged files of debiased models: each is refused with a message, and none gives the base under the debiased name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from conftest import GOLDEN
from tiltmeter import TiltmeterError, load_model
from tiltmeter.models.projection import write_directions

BASE = GOLDEN / "models" / "tiny-bert-cased"
SETTINGS: dict[str, Any] = {"descriptions": ["gender"], "decay": 50.0, "epsilon": 0.01}


def wrapped(folder: Path, kind: str, **fields: Any) -> Path:
    """A folder of a wrapped model; a projection removes one direction."""
    shutil.copytree(BASE, folder / "base")
    stated = {"schema": 1, "wrapper": kind, "settings": SETTINGS if kind == "self_debias" else {}} | fields
    (folder / "wrapper.json").write_text(json.dumps(stated))
    if kind == "projection":
        write_directions(folder / "projection.safetensors", np.eye(width())[:1])
    return folder


def width() -> int:
    return int(json.loads((BASE / "config.json").read_text())["hidden_size"])


@pytest.mark.parametrize("kind", ["projection", "self_debias"])
def test_whole_files_are_loaded(tmp_path: Path, kind: str) -> None:
    assert load_model(wrapped(tmp_path, kind)).kind == "masked"


FIELDS: list[dict[str, Any]] = [
    *({"schema": value} for value in (0, 2, True, "1", 1.5, None, [])),
    *({"wrapper": value} for value in ("", "other", None, 7, ["self_debias"])),
    *({"settings": value} for value in (None, [], "x", {})),
    *({"settings": SETTINGS | more} for more in (
        {"descriptions": []}, {"descriptions": "gender"}, {"descriptions": [1]}, {"descriptions": [""]},
        {"descriptions": None}, {"template": 7}, {"template": "no place"}, {"template": "\ud800{}"},
        {"decay": "x"}, {"decay": None}, {"decay": -1.0},
        {"decay": 0.0}, {"decay": 1e-300}, {"epsilon": 1.0}, {"epsilon": 2.0}, {"descriptions": ["gender [MASK]"]},
        {"descriptions": ["gender " * 500]}, {"template": "[SEP] {}:"}, {"template": "word " * 600 + "{}"},
        {"epsilon": 0.0}, {"epsilon": []}, {"other": 1}, {"causal": True},
    )),
    {"more": 1},
]  # fmt: skip


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_damaged_fields_are_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(TiltmeterError):
        load_model(wrapped(tmp_path, "self_debias", **fields))


@pytest.mark.parametrize("content", [b"", b"[]", b"7", b"null", b"{", b"\xff\xfe", b"[" * 9999, b'{"schema": NaN}'])
def test_what_is_no_wrapper_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (wrapped(tmp_path, "self_debias") / "wrapper.json").write_bytes(content)
    with pytest.raises(TiltmeterError):
        load_model(tmp_path)


DIRECTIONS: dict[str, Any] = {
    "no rows": lambda n: np.zeros((0, n), np.float32),
    "one dimension": lambda n: np.eye(n, dtype=np.float32)[0],
    "three dimensions": lambda n: np.eye(n, dtype=np.float32)[None],
    "too narrow": lambda n: np.eye(n - 1, dtype=np.float32)[:1],
    "zeros": lambda n: np.zeros((1, n), np.float32),
    "not finite": lambda n: np.full((1, n), np.nan, np.float32),
    "the same twice": lambda n: np.eye(n, dtype=np.float32)[[0, 0]],
    "whole numbers": lambda n: np.eye(n, dtype=np.int64)[:1],
    "truth values": lambda n: np.eye(n, dtype=np.bool_)[:1],
    "all of the width": lambda n: np.eye(n, dtype=np.float32),
    "more than the width": lambda n: np.ones((n + 1, n), np.float32),
}


@pytest.mark.parametrize("name", DIRECTIONS)
def test_damaged_directions_are_refused(tmp_path: Path, name: str) -> None:
    wrapped(tmp_path, "projection")
    save_file({"directions": DIRECTIONS[name](width())}, tmp_path / "projection.safetensors")
    with pytest.raises(TiltmeterError):
        load_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x", b"\x08" + b"\0" * 7 + b"{}      "])
def test_what_is_no_file_of_directions_is_refused(tmp_path: Path, content: bytes) -> None:
    (wrapped(tmp_path, "projection") / "projection.safetensors").write_bytes(content)
    with pytest.raises(TiltmeterError):
        load_model(tmp_path)


def test_other_directions_in_the_file_are_refused(tmp_path: Path) -> None:
    wrapped(tmp_path, "projection")
    rows = np.eye(width(), dtype=np.float32)
    save_file({"directions": rows[:1], "others": rows[:2]}, tmp_path / "projection.safetensors")
    with pytest.raises(TiltmeterError):
        load_model(tmp_path)


def test_missing_parts_are_refused(tmp_path: Path) -> None:
    (wrapped(tmp_path / "a", "projection") / "projection.safetensors").unlink()
    shutil.rmtree(wrapped(tmp_path / "b", "self_debias") / "base")
    (tmp_path / "b" / "base").write_text("")
    for folder in (tmp_path / "a", tmp_path / "b"):
        with pytest.raises(TiltmeterError):
            load_model(folder)

"""Paths in an experiment file: what is not absolute lies beside the file, wherever the command is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from tiltmeter.models.places import EMBEDDED
from tiltmeter.storage.compression import is_there
from tiltmeter.storage.places import at_home

PLACE = re.compile(r"([a-z_-]+=)?(.*?)(@[^/]*)?", re.DOTALL)
"""An option that may name a file or folder: what stands before it, it, and what stands after it."""


def beside(home: Path, path: str) -> str:
    """Resolve a path relative to the experiment file."""
    return str((home / at_home(path)).resolve())


def named_or_beside(name: str, home: Path) -> str:
    """A model or benchmark: a folder or file beside the experiment file, or a name. What looks like a path is one."""
    if name in EMBEDDED or Path(name).is_absolute():
        return name
    there = home / at_home(name)
    is_path = is_there(there) or name.startswith((".", "~")) or _is_elsewhere(name)
    return str(there.resolve()) if is_path else name


def options_beside(options: Mapping[str, Any], hints: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Options with their paths beside the experiment file. `hints`: the types of those that are known."""
    return {name: _option(value, hints.get(name), home) for name, value in options.items()}


def _option(value: Any, hint: Any, home: Path) -> Any:
    """An option that is a path, or text that names one: FILE, or CONSTRUCT=FOLDER@LABELS of a judge."""
    if isinstance(value, list):
        return [_option(one, hint, home) for one in value]
    if not isinstance(value, str):
        return value
    if value and Path in (hint, *get_args(hint)):
        return beside(home, value)
    parts = PLACE.fullmatch(value)
    assert parts is not None
    before, place, after = parts.groups(default="")
    there = home / at_home(place)
    is_path = ("/" in place or Path(place).suffix) and (is_there(there) or _is_elsewhere(place))
    return f"{before}{there.resolve()}{after}" if is_path else value


def _is_elsewhere(place: str) -> bool:
    """Return True for a path that exists only in the current folder, where an experiment must not look."""
    return ("/" in place or bool(Path(place).suffix)) and is_there(Path(place))

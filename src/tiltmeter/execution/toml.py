"""Values of a TOML file, each of the type that it must have, or an error that names the key."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError

EMBEDDED = {file.stem: file for file in sorted((Path(__file__).parent / "data").glob("*.toml"))}
"""Studies that come with the package, by name. They are read as if the file lay where the command is called."""


def parse(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or of an experiment that comes with the package."""
    place = path if path.exists() else EMBEDDED.get(str(path), path)
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(EMBEDDED)
        raise TiltmeterError(f"There is no experiment file {path}. Experiments that come with tiltmeter: {known}.") from None
    except OSError as error:
        raise TiltmeterError(f"Cannot read the experiment file {path}: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TiltmeterError(f"{path} is not TOML: {error}.") from None


def refuse_unknown(given: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuses a key that is not among those known, with the one that was likely meant."""
    names = list(known)
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            meant = f" Did you mean '{near[0]}'?" if near else f" Keys: {', '.join(names)}."
            raise TiltmeterError(f"{where}: there is no key '{key}'.{meant}")


def text_of(given: Mapping[str, Any], key: str, path: Path, default: str | None = None) -> str:
    """Text, or the default."""
    value = given.get(key, default)
    if not isinstance(value, str):
        raise TiltmeterError(f"{path}: '{key}' must be text" + (f", not {value!r}." if key in given else "; it is missing."))
    return value


def list_of(given: Mapping[str, Any], key: str, path: Path, default: list[Any] | None = None) -> list[Any]:
    """A list, or the default; one text stands for a list of one."""
    value = given.get(key, default)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or (default is None and not value):
        raise TiltmeterError(f"{path}: '{key}' must be a list" + ("." if key in given else "; it is missing."))
    return value


def table_of(given: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    """A table, or an empty one."""
    value = given.get(key, {})
    if not isinstance(value, dict):
        raise TiltmeterError(f"{path}: '{key}' must be a table, [{key}].")
    return dict(value)


def tables_of(given: Mapping[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    """An array of tables, or none."""
    value = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise TiltmeterError(f"{path}: '{key}' must be tables, [[{key}]].")
    return value

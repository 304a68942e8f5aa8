"""`tiltmeter cache list` and `tiltmeter cache prune`: what the cache holds, and removing what is old or large."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.console import note, print_data, say
from tiltmeter.cli.help import App
from tiltmeter.cli.show import print_grids
from tiltmeter.display import number_text
from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiltmeter.storage.inventory import CacheEntry

AGES = {"h": 3600, "d": 86_400, "w": 604_800}
SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
Model = Annotated[list[str] | None, typer.Option("-m", "--model", help="Only entries of this model; repeatable.")]
KindOption = Annotated[
    list[str] | None, typer.Option("--kind", help="Only this kind, such as cells or downloads; repeatable.")
]
Json = Annotated[bool, typer.Option("--json", help="Print every entry as JSON.")]
cache_app = App(no_args_is_help=True, help="List the cache, or remove what is old or large.")


@cache_app.callback()
def group() -> None:
    """List the cache, or remove what is old or large."""


@cache_app.command("list")
def list_(model: Model = None, kind: KindOption = None, as_json: Json = False) -> None:
    """List what the cache holds, by kind and model: size, last use, and what can no longer be used."""
    from tiltmeter.storage.inventory import list_cache
    from tiltmeter.storage.places import user_cache

    entries = [
        entry
        for entry in list_cache(user_cache())
        if (not model or set(model) & set(entry.models)) and (not kind or entry.kind in kind)
    ]
    if as_json:
        print_data(json.dumps([entry.describe() for entry in entries]))
        return
    _print(entries)
    note(f"Cache: {user_cache()}")
    if unusable := [entry for entry in entries if entry.status != "usable"]:
        note(
            f"{_counted(unusable)} cannot be used: written by an earlier version (old layout), interrupted, or without a "
            "file that they need. Remove them: tiltmeter cache prune --yes"
        )


@cache_app.command()
def prune(
    older_than: Annotated[str | None, typer.Option(help="Only what was not used for so long: 12h, 30d or 8w.")] = None,
    max_size: Annotated[
        str | None, typer.Option(help="Only until the cache is no larger: 500MB, 20GB. Least recently used first.")
    ] = None,
    model: Model = None,
    kind: KindOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them. Without it, only say what would be removed.")] = False,
    as_json: Json = False,
) -> None:
    """Remove what can no longer be used; with options, also what satisfies all of them.

    Runs are never touched, nor is anything that a running process uses. Downloads are removed only with --kind downloads.
    """
    from tiltmeter.storage.inventory import list_cache
    from tiltmeter.storage.places import user_cache
    from tiltmeter.storage.retention import Criteria, remove, select

    age = None if older_than is None else _read(older_than, AGES, "--older-than")
    size = None if max_size is None else int(_read(max_size, SIZES, "--max-size"))
    criteria = Criteria(age, size, tuple(model or ()), tuple(kind or ()))
    entries = list_cache(user_cache())
    chosen = select(entries, criteria)
    gone = remove(chosen) if yes else []
    if as_json:
        print_data(json.dumps({"removed": yes, "entries": [entry.describe() for entry in (gone if yes else chosen)]}))
        return
    if not chosen:
        say("Nothing to remove.")
    else:
        _print(gone if yes else chosen)
        say(f"Removed {_counted(gone)}." if yes else f"Would remove {_counted(chosen)}. Add --yes to remove them.")
    if in_use := [entry for entry in entries if entry.in_use]:
        note(f"{_counted(in_use)} in use by running processes stay.")


def _print(entries: Sequence[CacheEntry]) -> None:
    """A table of kinds and models."""
    import pandas as pd

    from tiltmeter.reporting.terminal import plain_table

    groups: dict[tuple[str, str, str], list[CacheEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.kind, ", ".join(entry.models), entry.status), []).append(entry)
    rows = [
        {
            "kind": kind,
            "model": models,
            "entries": len(some),
            "size": _size(some),
            "last used": pd.Timestamp(max(entry.used for entry in some), unit="s").strftime("%Y-%m-%d %H:%M"),
            "status": status,
        }
        for (kind, models, status), some in groups.items()
    ]
    if rows:
        print_grids([plain_table(pd.DataFrame(rows), "cache", None)])


def _counted(entries: Sequence[CacheEntry]) -> str:
    return f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'} ({_size(entries)})"


def _size(entries: Sequence[CacheEntry]) -> str:
    size = sum(entry.size for entry in entries)
    unit, factor = next(((unit, factor) for unit, factor in reversed(SIZES.items()) if size >= factor), ("KB", 10**3))
    return f"{number_text(size / factor)} {unit}"


def _read(text: str, units: dict[str, int], flag: str) -> float:
    """A number with a unit.

    >>> _read("30d", AGES, "--older-than"), _read("1.5 gb", SIZES, "--max-size")
    (2592000.0, 1500000000.0)
    """
    found = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(units)})\s*", text, re.IGNORECASE)
    if not found:
        example = f"30{list(units)[1]}"
        message = f"{flag} is a number with a unit ({', '.join(units)}), such as {example}, not '{text}'."
        raise UsageError(message, code="wrong-format", option=flag, value=text)
    unit = next(unit for unit in units if unit.lower() == found[2].lower())
    return float(found[1]) * units[unit]

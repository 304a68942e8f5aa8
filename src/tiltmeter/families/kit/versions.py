"""VERSION numbers of the code that answers: written into a cell's manifest at inference, and part of its key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from tiltmeter import catalog
from tiltmeter.families.kit.protocol import find_family


def versions_of(family: str, scorers: Iterable[str] | None = None) -> dict[str, int]:
    """Return the VERSION of a family and, where it has an option `scorers`, of these scorers.

    Without any named, or with "all", the versions of all scorers: which ones answer by default is decided later.
    """
    found = find_family(family)
    versions = {f"families/{family}": int(found.VERSION)}
    if not any(option.name == "scorers" for option in fields(found.Options)):
        return versions
    named = list(scorers or ())
    every = not named or "all" in named
    entries = catalog.entries("scorers") if every else [catalog.find("scorers", name) for name in named]
    return versions | {f"scorers/{entry.name}": entry.version for entry in entries}


def with_versions(manifest: dict[str, Any], family: str) -> dict[str, Any]:
    """A manifest with the versions of what answered just now: the family, and the scorers that the manifest lists."""
    return manifest | {"versions": versions_of(family, manifest.get("scorers", ()))}

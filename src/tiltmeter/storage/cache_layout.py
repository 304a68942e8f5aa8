"""The layout of a cache. Cells of an older layout are ignored, and that is said once for each cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiltmeter import catalog

LAYOUT = 3
"""Raised when older cells or their keys would be misread."""
FILE = "layout.json"
CELL = "cell.json"


def is_current(about: Mapping[str, Any]) -> bool:
    """Return True if a cell, by its `cell.json`, has the current layout."""
    return about.get("layout") == LAYOUT


def announce_old_cells(root: Path) -> None:
    """Complain if a cache has cells of an older layout. A file in the cache remembers that it was said."""
    file = root / FILE
    if read_object(file).get("layout") == LAYOUT:
        return
    count = sum(not is_current(read_object(path)) for path in root.glob(f"cells/*/{CELL}"))
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"layout": LAYOUT}), "utf-8")
    if count:
        catalog.complaints.setdefault(
            f"The cache {root} has cells of an earlier version of tiltmeter ({count:,}), which are ignored. "
            "To remove them: tiltmeter cache prune --yes"
        )


def read_object(path: Path) -> Mapping[str, Any]:
    """Read a JSON object; a missing or damaged file counts as an empty one."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

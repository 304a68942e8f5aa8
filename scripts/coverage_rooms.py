"""Share of lines that the tests ran, by room: `python -m coverage json -o - | python scripts/coverage_rooms.py`.

The rooms in LEAST must have at least that share; the exit code says whether they do.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

LEAST = dict.fromkeys(("stats", "measures", "gate", "runs", "execution"), 92.0)


def room_of(file: str) -> str:
    """Name the folder of a module below the package; modules at its top are in `tiltmeter`."""
    parts = PurePath(file).parts
    below = parts[parts.index("tiltmeter") + 1 :]
    return below[0] if len(below) > 1 else "tiltmeter"


def shares(files: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentage of lines that ran, by room, from the files of coverage's JSON report."""
    lines: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for file, found in files.items():
        lines[room_of(file)] += found["summary"]["num_statements"]
        ran[room_of(file)] += found["summary"]["covered_lines"]
    return {room: 100 * ran[room] / lines[room] for room in sorted(lines) if lines[room]}


def main() -> int:
    """Print a Markdown table. Return 1 if a room is below its least share."""
    found = shares(json.load(sys.stdin)["files"])
    print("| room | lines that ran | at least |\n|---|---:|---:|")
    for room, share in found.items():
        print(f"| {room} | {share:.1f} % | {f'{LEAST[room]:.0f} %' if room in LEAST else ''} |")
    return int(any(found.get(room, 0.0) < least for room, least in LEAST.items()))


if __name__ == "__main__":
    sys.exit(main())

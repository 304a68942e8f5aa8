"""Write docs/honesty.md from the stored results of the honesty bench.

python scripts/honesty_page.py            # after benchmarks/honesty.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STORED, PAGE = ROOT / "benchmarks" / "results" / "honesty.json", ROOT / "docs" / "honesty.md"
HEAD = """# False alarms, coverage and power

*Research report · look up. How often tests raise false alarms and intervals cover, per family and design; simulated.*

Every row is a design that was simulated with `python benchmarks/honesty.py`, through the code that makes estimates.

- **False alarms**: how often p is below 0.05 although nothing is there. 5 % is right; up to 7 % is accepted.
- **Coverage**: how often the 95 % interval holds the true value; from 92 % on is accepted.
- **Power**: how often p is below 0.05 for an effect of half a standard deviation, or rates of 25 % against 5 %.

The last column says how many data sets each row rests on. Designs with at least 30 units, or ten
clusters, are supported. *Small* marks smaller ones: their numbers are shown, or the reason why there are none.
"""


def share(value: float | None) -> str:
    """Write a share as a percentage; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f} %"


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write the rows of one family."""
    yield "| what | design | n | measure | false alarms | coverage | power | simulations |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        design = row["design"] + ("" if row["supported"] else " (small)")
        known = row["coverage"] is not None or row["false_alarms"] is not None
        numbers = [share(row[name]) for name in ("false_alarms", "coverage", "power")]
        reason = row["reason"].split(";")[0]
        shown = " | ".join(numbers) if known else f"not supported: {reason} | – | –"
        yield f"| {row['kind']} | {design} | {row['n']} | `{row['measure']}` | {shown} | {row['simulations']:,} |"


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Write the whole page."""
    parts = [HEAD]
    for family in dict.fromkeys(row["family"] for row in rows):
        ours = [row for row in rows if row["family"] == family]
        parts.append(f"## {family.capitalize()}\n\n" + "\n".join(table(ours)) + "\n")
    beyond = [row for row in rows if row["supported"] and row["beyond"]]
    worst = ", ".join(f"`{row['measure']}` ({row['design']}, n = {row['n']})" for row in beyond) or "none"
    parts.append(f"Supported cells beyond the limits: {worst}.\n")
    return "\n".join(parts)


def main() -> None:
    rows = json.loads(STORED.read_text(encoding="utf-8"))
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write docs/honesty.md from the stored results of the honesty bench.

python scripts/honesty_page.py            # after benchmarks/honesty.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from generated_page import ROOT, write_or_check

sys.path.insert(0, str(ROOT / "benchmarks"))

from honesty_cells import CELLS

STORED, PAGE = ROOT / "benchmarks" / "results" / "honesty.json", ROOT / "docs" / "honesty.md"
Row = dict[str, Any]
HEAD = """# False alarms, coverage and power

*Research report · look up. How often tests raise false alarms and intervals cover, per family and design; simulated.*

Every row is a measure in a design that was simulated with `python benchmarks/honesty.py`, through the code that makes
estimates and comparisons.

- **False alarms**: how often p is below 0.05 although nothing is there. 5 % is right; up to 7 % is accepted.
- **Coverage**: how often the 95 % interval holds the true value; from 92 % on is accepted.
- **Power**: how often p is below 0.05 for an effect of half a standard deviation, or rates of 25 % against 5 %.
- **n**: pairs, sentences, lines, words or attributes; texts of a group and label; prompts of a group; in designs of
  clusters, targets, templates and cases, how many of these.

Designs with at least 30 units, or ten clusters, are supported. *Small* marks smaller ones: their numbers are shown, or
"not supported" with the reason why there are none. A measure without a neutral value has no test, and so no false alarms.
A measure beyond the limits is simulated again with ten times as many data sets, and these count.

A share of 5 % has a standard error of 0.7 points in 1,000 simulations.
"""


def share(value: float | None) -> str:
    """Write a share as a percentage; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f} %"


def summary(rows: Sequence[Row]) -> str:
    """State how many cells there are, and the worst of those that are supported."""
    supported = [row for row in rows if row["supported"]]
    alarms = [row for row in supported if row["false_alarms"] is not None]
    covered = [row for row in supported if row["coverage"] is not None]
    most, least = max(alarms, key=lambda row: row["false_alarms"]), min(covered, key=lambda row: row["coverage"])
    beyond = [row for row in supported if row["beyond"]]
    names = "; ".join(f"`{row['measure']}` ({_place(row)})" for row in beyond)
    there = {(row["family"], row["kind"], row["design"], row["n"]) for row in rows}
    lacking = [cell for cell in CELLS if (cell.family, cell.kind, cell.design, cell.n) not in there]
    open_ = "; ".join(f"{cell.family}, {cell.kind}, {cell.design}, n = {cell.n}" for cell in lacking if cell.supported)
    n_small = sum(not cell.supported for cell in lacking)
    return f"""## Summary

| | |
|---|---|
| rows (a measure in a design) | {len(rows):,} |
| of them supported | {len(supported):,} |
| most false alarms of a supported row | {share(most["false_alarms"])}: `{most["measure"]}`, {_place(most)} |
| least coverage of a supported row | {share(least["coverage"])}: `{least["measure"]}`, {_place(least)} |
| supported rows beyond the limits | {len(beyond)} |

Supported rows beyond the limits: {names or "none"}.

Designs of `benchmarks/honesty_cells.py` that are not simulated yet: of supported ones {open_ or "none"}; of small ones
{n_small}.
"""


def _place(row: Row) -> str:
    return f"{row['family']}, {row['kind']}, {row['design']}, n = {row['n']}"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Write the rows of one family."""
    yield "| what | design | n | measure | false alarms | coverage | power | simulations |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        design = row["design"] + ("" if row["supported"] else " (small)")
        known = row["coverage"] is not None or row["false_alarms"] is not None
        numbers = [share(row[name]) for name in ("false_alarms", "coverage", "power")]
        shown = " | ".join(numbers) if known else f"not supported: {row['reason']} | – | –"
        yield f"| {row['kind']} | {design} | {row['n']} | `{row['measure']}` | {shown} | {row['simulations']:,} |"


def page(rows: Sequence[Row]) -> str:
    """Write the whole page."""
    parts = [HEAD, summary(rows)]
    for family in dict.fromkeys(row["family"] for row in rows):
        ours = [row for row in rows if row["family"] == family]
        folded = f"<details markdown>\n<summary>{len(ours)} rows</summary>\n\n" + "\n".join(table(ours)) + "\n\n</details>\n"
        parts.append(f"## {family.capitalize()}\n\n{folded}")
    return "\n".join(parts)


def main() -> None:
    rows = json.loads(STORED.read_text(encoding="utf-8"))
    write_or_check(PAGE, page(rows))


if __name__ == "__main__":
    main()

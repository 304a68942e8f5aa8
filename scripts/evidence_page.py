"""Write the table of docs/choose.md from the evidence table: `python scripts/evidence_page.py` (`--check` compares)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generated_page import ROOT, between, write_or_check

from tiltmeter.families.kit.detection import BOUNDED, DETECTS, FILE, Detection, is_variant, read_detections

PAGE = ROOT / "docs" / "choose.md"
TABLE = ROOT / "src" / "tiltmeter" / "families" / "kit" / "data" / FILE
BEGIN, END = "<!-- from the evidence table: begin -->\n", "<!-- from the evidence table: end -->\n"
DOMAINS = ("gender", "race", "religion")
MEASURES = ("bias_score", "stereotype_gap")
"""One measure of each benchmark: the share of pairs, and of slots the gap, which is no share."""


def lines(rows: Sequence[Detection]) -> Iterator[str]:
    """Write a row for each benchmark and kind of model: the scorers that detect a planted bias of each domain."""
    yield "| benchmark | model | " + " | ".join(DOMAINS) + " |\n|---|---|" + "---|" * len(DOMAINS) + "\n"
    shown = [row for row in rows if row.measure in MEASURES and not is_variant(row.scorer)]
    for kind in ("masked", "causal"):
        for benchmark in dict.fromkeys(row.benchmark for row in shown):
            own = [row for row in shown if (row.benchmark, row.kind) == (benchmark, kind)]
            if own:
                cells = [cell([row for row in own if row.domain == domain]) for domain in DOMAINS]
                note = " (provisional)" if all("provisional" in row.source for row in own) else ""
                yield f"| {benchmark}{note} | {kind} | {' | '.join(cells)} |\n"


def cell(rows: Sequence[Detection]) -> str:
    """Return the metrics that detect, the strongest first; else the largest effect, which is not significant.

    >>> cell([])
    'untested'
    """
    if not rows:
        return "untested"
    detected = sorted((row for row in rows if row.verdict == DETECTS), key=lambda row: -row.effect)
    if detected:
        return "; ".join(f"`{name(row)}` {effect(row)}" for row in detected)
    if all(row.verdict == BOUNDED for row in rows):
        return f"none: effects below {max(row.high for row in rows):.1f}"
    best = max(rows, key=lambda row: row.effect)
    return f"undecided: `{name(best)}` {effect(best)}"


def name(row: Detection) -> str:
    """Return the scorer; the measure where the scorer is the family's only one."""
    return row.measure if row.scorer == row.family else row.scorer


def effect(row: Detection) -> str:
    """Return the change per dose with its interval."""
    places = 1 if row.measure == "bias_score" else 2
    change, low, high = (round(number, places) + 0.0 for number in (row.effect, row.low, row.high))
    return f"{change:+.{places}f} [{low:.{places}f}, {high:.{places}f}]".replace("-", "−")


def page() -> str:
    """Return docs/choose.md with the table of now."""
    return between(PAGE.read_text(encoding="utf-8"), BEGIN, END, "".join(lines(read_detections(TABLE))))


if __name__ == "__main__":
    write_or_check(PAGE, page())

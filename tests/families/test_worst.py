"""Worst groups: groups of fewer than five items are not named, and n is shown."""

from __future__ import annotations

from typing import Any

from tiltmeter.families.kit.worst import worst_of


def row(group: str, n: int, value: float) -> dict[str, Any]:
    return {
        "group": group, "by": "bias_type", "measure": "bias_score", "scorer": "aul", "n": n, "value": value,
        "low": 1.0, "high": 100.0, "neutral": 50.0, "p": 1.0, "p_holm": 1.0,
    }  # fmt: skip


def test_tiny_groups_are_not_the_worst() -> None:
    found = worst_of([row("tiny", 1, 100.0), row("large", 40, 60.0)])
    assert [one["group"] for one in found.rows] == ["large"] and found.tested == 2
    assert "n = 40" in found.sentence

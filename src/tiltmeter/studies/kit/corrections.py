"""Holm's correction for the rows of a table."""

from __future__ import annotations

from typing import Any

from tiltmeter.stats.significance import holm

Rows = list[dict[str, Any]]


def corrected(rows: Rows, *family: str) -> Rows:
    """The rows with `p_holm`, corrected within each family (over all rows if none is named)."""
    families: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        families.setdefault(tuple(row[name] for name in family), []).append(row)
    for members in families.values():
        for row, p in zip(members, holm([row["p"] for row in members]), strict=True):
            row["p_holm"] = p
    return rows

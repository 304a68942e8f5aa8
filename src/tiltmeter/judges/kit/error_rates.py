"""A classifier's own errors as they were measured on held-out texts, and the sentences about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter.display import number_text, range_text, share_text
from tiltmeter.storage.files import read_json

FILE = "errors.json"
UNMEASURED = "the judge's own errors were not measured"


def stored_errors(folder: Path) -> dict[str, Any] | None:
    """Read what `tiltmeter train classifier` measured, from the folder of a classifier."""
    found = read_json(folder / FILE) if (folder / FILE).is_file() else None
    return found if isinstance(found, dict) else None


def errors_text(errors: Mapping[str, Any] | None) -> str:
    """One clause for every place where its scores are used.

    >>> errors_text({"f1": {"value": 0.78, "low": 0.76, "high": 0.8, "n": 1924}, "false_alarms": {"share": 0.21}})
    'the judge: F1 0.78 [0.76, 0.80] on 1,924 held-out texts, false alarms 21 %'
    """
    if not errors:
        return UNMEASURED
    f1 = errors["f1"]
    text = (
        f"the judge: F1 {number_text(f1['value'], 2)} {range_text(f1['low'], f1['high'], 2)} on {f1['n']:,} held-out texts"
    )
    alarms = errors.get("false_alarms") or {}
    if alarms.get("share") is not None:
        text += f", false alarms {share_text(alarms['share'], 0)}"
    groups = {name: one["share"] for name, one in (errors.get("groups") or {}).items() if one.get("share") is not None}
    if len(groups) > 1:
        least, most = min(groups, key=lambda name: groups[name]), max(groups, key=lambda name: groups[name])
        text += f" (from {share_text(groups[least], 0)} about {least} to {share_text(groups[most], 0)} about {most})"
    return text

"""The documentation table: the page of the docs has the rows of the package."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.audits.regulation import REQUIREMENTS

PAGE = Path(__file__).parents[2] / "docs" / "regulation.md"


def test_the_page_has_every_requirement_as_the_package_states_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for one in REQUIREMENTS:
        assert f"| {one.framework}, {one.place} | {one.topic} | {one.contributes} | {one.not_covered} |" in text
    assert {one.framework.split()[0] for one in REQUIREMENTS} == {"NIST", "EU", "ISO/IEC"}

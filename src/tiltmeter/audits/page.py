"""audit.html: the decision page of an audit, one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiltmeter.audits.regulation import REQUIREMENTS
from tiltmeter.audits.verdicts import AWAY, BIAS, LESS, MORE, NOT_MEASURED, Verdict
from tiltmeter.reporting.html.render import render, resource

if TYPE_CHECKING:
    from tiltmeter.audits.execute import Audit

TONES = {BIAS: "bad", MORE: "bad", AWAY: "other", LESS: "good", NOT_MEASURED: "missing"}


def audit_page(audit: Audit) -> str:
    """The whole page as text."""
    measured = dict.fromkeys(one.kind for one in audit.verdicts if one.verdict != NOT_MEASURED)
    variables: dict[str, Any] = {
        "title": f"Bias audit of {audit.model}",
        "audit": audit,
        "headline": headline(audit),
        "kinds": list(measured),
        "unmeasured": {one.kind: one.reason for one in audit.verdicts if one.kind not in measured},
        "rows": _rows([one for one in audit.verdicts if one.kind in measured]),
        "against": audit.against,
        "tones": {one: TONES.get(one.verdict, "open") for one in (*audit.verdicts, *audit.against)},
        "requirements": REQUIREMENTS,
        "evaluations": audit.run.manifest.get("evaluations", ()),
        "started": str(audit.run.manifest.get("started", ""))[:10],
    }
    return render("audit.html.j2", variables, resource("page.js"))


def headline(audit: Audit) -> str:
    """The decision in one sentence."""
    domains = ", ".join(audit.biased_domains)
    measured = {one.domain for one in audit.verdicts if one.verdict != NOT_MEASURED}
    if audit.baseline:
        less = ", ".join(dict.fromkeys(one.domain for one in audit.against if one.verdict == LESS))
        more = (
            f"More stereotypical than {audit.baseline} about {domains}."
            if domains
            else f"No domain is more stereotypical than in {audit.baseline}."
        )
        return f"{more} Less about {less}." if less else more
    away = ", ".join(dict.fromkeys(one.domain for one in audit.verdicts if one.verdict == AWAY))
    leans = f" A lean away from the stereotypes about {away}." if away else ""
    if domains:
        return f"Evidence of bias about {domains}; {len(measured)} domains were measured.{leans}"
    return f"No evidence of bias in {len(measured)} domains. Each verdict says what could have been detected.{leans}"


def _rows(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts by domain."""
    rows: dict[str, list[Verdict]] = {}
    for one in verdicts:
        rows.setdefault(one.domain, []).append(one)
    return rows

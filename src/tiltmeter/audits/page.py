"""audit.html: the decision page of an audit, one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tiltmeter.audits.regulation import REQUIREMENTS
from tiltmeter.audits.verdicts import ALIKE, AWAY, BIAS, CANNOT, DIFFERS, FARTHER, LESS, MORE, NEARER, NOT_MEASURED
from tiltmeter.reporting.html.render import render, resource

if TYPE_CHECKING:
    from tiltmeter.audits.cells import Cell
    from tiltmeter.audits.execute import Audit
    from tiltmeter.audits.verdicts import Verdict

TONES = {BIAS: "bad", MORE: "bad", AWAY: "other", LESS: "good", DIFFERS: "other", FARTHER: "bad", NEARER: "good",
         NOT_MEASURED: "missing"}  # fmt: skip
NAMED = {
    BIAS: "Evidence of bias about {}.",
    AWAY: "A lean away from the stereotypes about {}.",
    DIFFERS: "A difference between groups, without a direction, about {}.",
    MORE: "more stereotypical about {}",
    LESS: "less stereotypical about {}",
    FARTHER: "further from neutral about {}",
    NEARER: "closer to neutral about {}",
}


def audit_page(audit: Audit) -> str:
    """The whole page as text."""
    measured = dict.fromkeys(one.kind for one in audit.verdicts if one.verdict != NOT_MEASURED)
    first, *further = headlines(audit)
    variables: dict[str, Any] = {
        "title": f"Bias audit of {audit.model}",
        "audit": audit,
        "headline": first,
        "further": further,
        "kinds": list(measured),
        "unmeasured": {one.kind: one.reason for one in audit.verdicts if one.kind not in measured},
        "rows": _rows([cell for cell in audit.cells if cell.kind in measured]),
        "tone": tone_of,
        "requirements": REQUIREMENTS,
        "evaluations": audit.run.manifest.get("evaluations", ()),
        "started": str(audit.run.manifest.get("started", ""))[:10],
    }
    return render("audit.html.j2", variables, resource("page.js"))


def tone_of(decision: Verdict | Cell) -> str:
    """The tone of a verdict. A change towards stereotypes that ends closer to neutral is no alarm, nor the reverse good."""
    tests: Sequence[Any] = getattr(decision, "tests", (decision,))
    changes = {one.change for one in tests if one.verdict == decision.verdict}
    if (decision.verdict == MORE and changes == {"closer"}) or (decision.verdict == LESS and "further" in changes):
        return "other"
    return TONES.get(decision.verdict, "open")


def headlines(audit: Audit) -> list[str]:
    """The decision in a few sentences: the verdicts on the model first, then the comparison with the baseline."""
    domains = len({one.domain for one in audit.verdicts if one.verdict != NOT_MEASURED})
    named = [NAMED[name].format(_places(audit.cells, name)) for name in (BIAS, DIFFERS, AWAY) if _places(audit.cells, name)]
    if any(one.verdict == BIAS for one in audit.verdicts):
        named.append(f"{domains} domains were measured.")
    else:
        named = [f"No evidence of bias in {domains} domains. Each verdict says what could have been detected.", *named]
    return [" ".join(named), *(_against(audit) if audit.baseline else ())]


def _against(audit: Audit) -> Iterator[str]:
    """Sentences about the differences from the baseline, by domain and over all items."""
    cells = audit.cells_against
    named = [NAMED[name].format(_places(cells, name)) for name in (MORE, FARTHER, LESS, NEARER) if _places(cells, name)]
    found = "; ".join(named) or "no difference was found in any domain"
    yield f"Against {audit.baseline}: {found}."
    for one in (one for one in audit.overall if one.verdict not in (ALIKE, CANNOT)):
        yield f"Over all items, {one.metric}: {one.words}; {one.number}."


def _places(cells: Sequence[Cell], verdict: str) -> str:
    """The domains of cells with this finding, with the kind of evidence and the change from the baseline."""
    places: dict[str, list[str]] = {}
    for cell in cells:
        tests = [one for one in cell.tests if one.verdict == verdict]
        if tests:
            change = {"closer": ", closer to neutral", "further": ", further from neutral"}.get(tests[0].change, "")
            texts = places.setdefault(f"{cell.kind}{change if verdict in (MORE, LESS) else ''}", [])
            texts.append(cell.domain)
    return "; ".join(f"{', '.join(domains)} ({kind})" for kind, domains in places.items())


def _rows(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells by domain."""
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.domain, []).append(cell)
    return rows

"""A decision for other programs and pages: JSON, JUnit XML, Markdown. A mistake has a form too, so that none stays old."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED, Decision, Ruling, of_models
from tiltmeter.gate.rule import NO_EVIDENCE
from tiltmeter.storage.files import json_text, write_text
from tiltmeter.storage.seals import add_file

STORED = "check.json"
"""The decision about a run, in its folder: reports and bundles read it."""
SIGNS = {PASS: "✅ pass", FAIL: "❌ fail", UNDECIDED: "❔ undecided"}
SUITE = "tiltmeter check"
LENIENT = "A rule of the form 'no evidence' fails only in the second case. Else it passes, even if its number is outside."


def as_json(decision: Decision) -> str:
    """JSON; a number that is not known is null."""
    return json_text(decision.to_dict()) + "\n"


def as_junit(decision: Decision) -> str:
    """JUnit XML: a test case per rule and model. Undecided rules fail, or are skipped where they may pass."""
    failed = [ruling for ruling in decision.rulings if _stops(ruling, decision)]
    skipped = decision.count(UNDECIDED) - sum(ruling.verdict == UNDECIDED for ruling in failed)
    suites, suite = _suite(len(decision.rulings), failures=len(failed), skipped=skipped)
    for ruling in decision.rulings:
        case = ElementTree.SubElement(suite, "testcase", classname=_clean(ruling.model), name=_clean(ruling.rule.title))
        if ruling in failed:
            kind = "breach" if ruling.verdict == FAIL else UNDECIDED
            ElementTree.SubElement(case, "failure", type=kind, message=_clean(ruling.reason)).text = _clean(_lines(ruling))
        elif ruling.verdict == UNDECIDED:
            ElementTree.SubElement(case, "skipped", message=_clean(f"undecided: {ruling.reason}"))
        else:
            ElementTree.SubElement(case, "system-out").text = _clean(_lines(ruling))
    return _xml(suites)


def _stops(ruling: Ruling, decision: Decision) -> bool:
    return ruling.rule.stops(ruling.verdict, decision.undecided)


def _lines(ruling: Ruling) -> str:
    return "\n".join([ruling.rule.text, *(f"{one.group}: {one.verdict}: {one.reason}" for one in ruling.findings)])


def _suite(tests: int, **counts: int) -> tuple[ElementTree.Element, ElementTree.Element]:
    numbers = {"tests": tests, "failures": 0, "errors": 0, "skipped": 0} | counts
    texts = {name: str(number) for name, number in numbers.items()}
    suites = ElementTree.Element("testsuites", texts | {"name": SUITE})
    return suites, ElementTree.SubElement(suites, "testsuite", texts | {"name": SUITE})


def _xml(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(sign if sign >= " " or sign in "\t\n" else "\ufffd" for sign in text)


def as_markdown(decision: Decision) -> str:
    """A summary for a pull request or a job's page: the verdict, a table for each model, and how to read it."""
    lines = [f"### {decision.summary}", ""]
    for model, rulings in of_models(decision.rulings).items():
        lines += [f"**{_cell(model)}**" + (f" against {_cell(decision.baseline)}" if decision.baseline else ""), ""]
        lines += ["| | rule | why |", "|---|---|---|"]
        lines += [f"| {SIGNS[one.verdict]} | {_cell(one.rule.title)} | {_cell(one.reason)} |" for one in rulings]
        lines.append("")
    for warning in decision.warnings:
        lines += [f"**Warning:** {_cell(warning)}", ""]
    return "\n".join([*lines, explained(decision), ""])


def explained(decision: Decision) -> str:
    """Explain verdicts in a few sentences."""
    levels = sorted({f"{100 * ruling.rule.confidence:g} %" for ruling in decision.rulings})
    many = f", corrected for the {decision.numbers} numbers that were checked," if decision.numbers > 1 else ""
    lenient = any(ruling.rule.form == NO_EVIDENCE for ruling in decision.rulings)
    unless = f" {LENIENT}" if lenient else ""
    return (
        f"A rule passes when its interval ({', '.join(levels)}) lies within the limits, fails when its interval{many} lies "
        f"wholly outside, and is undecided otherwise. An undecided rule {decision.fate} here.{unless}"
    )


def _cell(text: str) -> str:
    """Text in a cell: a name of a model or a group is not markup."""
    escaped = "".join(f"\\{sign}" if sign in "\\|*_`<>[]" else sign for sign in " ".join(text.split()))
    return escaped.replace("&", "&amp;")


FORMS = {"json": as_json, "junit": as_junit, "markdown": as_markdown}


def write_forms(files: Mapping[str, Path | None], decision: Decision, run: Path) -> None:
    """Writes the forms that a file was named for, and the decision into the run's folder."""
    for path, form in _named(files):
        write_text(path, FORMS[form](decision))
    add_file(run, STORED, as_json(decision))


def _named(files: Mapping[str, Path | None]) -> list[tuple[Path, str]]:
    return [(path, form) for form, path in files.items() if path is not None]


def write_mistake(files: Mapping[str, Path | None], message: str) -> None:
    """Write that nothing was checked into the named files. The decision in the run's folder stays as it is."""
    suites, suite = _suite(1, errors=1)
    case = ElementTree.SubElement(suite, "testcase", classname="tiltmeter", name="the rules and the run")
    ElementTree.SubElement(case, "error", type="mistake", message=_clean(message))
    texts = {
        "junit": _xml(suites),
        "markdown": f"### MISTAKE: nothing was checked\n\n{_cell(message)}\n",
    }
    for path, form in _named(files):
        write_text(path, texts[form])

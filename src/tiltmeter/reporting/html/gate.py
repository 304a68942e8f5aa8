"""The release gate: the decision of `tiltmeter check` about these runs, if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import RunError, TiltmeterError
from tiltmeter.gate.forms import STORED
from tiltmeter.reporting.html.material import Material, Source
from tiltmeter.storage.files import read_json
from tiltmeter.storage.seals import read_seal, run_digest, verified

TONES = {"pass": "good", "fail": "bad", "undecided": "open"}


@dataclass(frozen=True)
class Line:
    """One rule about one model."""

    verdict: str
    tone: str
    model: str
    rule: str
    name: str
    reason: str
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Gate:
    """The decision about one run; or a remark why it is not shown."""

    run: str
    summary: str
    passed: bool
    lines: tuple[Line, ...]
    remark: str = ""


def gates(material: Material) -> list[Gate]:
    """The decision that lies in each run's folder."""
    places = [(source, source.folder / STORED) for source in material.sources if source.folder is not None]
    return [_gate(source, path) for source, path in places if path.is_file()]


def _gate(source: Source, path: Path) -> Gate:
    try:
        stored = read_json(verified(path.parent, read_seal(path.parent), path.name))
        if stored["seal"] != run_digest(source.manifest):
            raise RunError(f"{STORED} is about an earlier run in this folder.", code="changed-file", file=STORED)
        lines = tuple(_line(ruling, source) for ruling in stored["rules"])
        return Gate(source.label, str(stored["summary"]), bool(stored["passed"]), lines)
    except TiltmeterError as error:
        return Gate(source.label, "", False, (), f"{error} Check the run again.")
    except (KeyError, TypeError, AttributeError, ValueError):
        return Gate(source.label, "", False, (), f"{STORED} cannot be read. Check the run again.")


def _line(ruling: dict[str, Any], source: Source) -> Line:
    findings = ruling["findings"]
    groups = tuple(f"{one['group']}: {one['verdict']}: {one['reason']}" for one in findings) if len(findings) > 1 else ()
    verdict, model = str(ruling["verdict"]), str(ruling["model"])
    return Line(
        verdict, TONES[verdict], source.models.get(model, model), str(ruling["rule"]), str(ruling["name"]),
        str(ruling["reason"]), groups,
    )  # fmt: skip

"""Studies: which measure should one trust? Experiments on the stored results of many models. One file each.

A study is a file `studies/NAME.py` with a function `NAME(evidence, *, …) -> Finding` and the constant `CITATION`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.errors import TiltmeterError
from tiltmeter.evaluating import Watch, unwatched
from tiltmeter.studies._evidence import Evidence, load_evidence, load_slot_evidence
from tiltmeter.studies._finding import Finding
from tiltmeter.tables import Scores

__all__ = ["Evidence", "Finding", "load_evidence", "study"]


def study(
    name: str,
    runs: Scores | str | Path | Sequence[str | Path],
    *,
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
    watch: Watch | None = None,
    **options: Any,
) -> Finding:
    """A study by name over one or several runs (folders, or scores in memory): `.table`, `.sentences`, `.draw()`, `.save()`.

    `without` leaves out bias types; `watch` is as in `run`. The other options are the study's own:
    `help(tiltmeter.studies.NAME)`.
    """
    entry = catalog.find("studies", name)
    unknown = sorted(set(options) - set(entry.parameters[1:]))
    if unknown:
        known = ", ".join(entry.parameters[1:]) or "none"
        raise TiltmeterError(
            f"The study {catalog.public_name(entry.name)} takes no option '{unknown[0]}'. Options: {known}."
        )
    if scorers and entry.constant("READS") in ("observations", "slots"):
        what = {"observations": "tokens"}.get(entry.constant("READS"), "slots")
        raise TiltmeterError(f"The study {catalog.public_name(entry.name)} reads {what}, not scores: it takes no scorers.")
    if entry.constant("READS") == "slots":
        evidence = load_slot_evidence(runs, without)
    else:
        evidence = load_evidence(runs, scorers, without)
    finding: Finding = entry.function(replace(evidence, watch=watch or unwatched), **options)
    facts = {"runs": [str(folder) for folder in evidence.folders], "models": evidence.models, "without": list(without)}
    return replace(finding, facts={"citation": entry.constant("CITATION"), **facts, "options": options, **finding.facts})

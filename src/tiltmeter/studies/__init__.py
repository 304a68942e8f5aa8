"""Studies: which measures can be trusted? Experiments on the stored results of many models. One file each.

A study is a file `studies/NAME.py` with a function `NAME(evidence, *, …) -> Finding` and the constant `CITATION`. `READS`
names the family that it is about (default: pairs), or `observations`, the tokens of pairs, or `any`: every family, or
`estimates`: no answers at all, only the folders, of which it reads the estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers
from tiltmeter.families.kit.seam import Watch
from tiltmeter.studies.kit.evidence import ESTIMATES, Evidence, load_evidence, only_folders, unwatched
from tiltmeter.studies.kit.finding import Finding

__all__ = ["Evidence", "Finding", "load_evidence", "study"]


def study(
    name: str,
    runs: Answers | str | Path | Sequence[str | Path],
    *,
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
    watch: Watch | None = None,
    **options: Any,
) -> Finding:
    """Runs a study by name on one or several runs (folders, or answers): `.table`, `.sentences`, `.draw()`, `.save()`.

    `without` leaves out bias types; `watch` is as in `run`. The other options are the study's own:
    `help(tiltmeter.studies.NAME)`.
    """
    entry = catalog.find("studies", name)
    unknown = sorted(set(options) - set(entry.parameters[1:]))
    if unknown:
        known = ", ".join(entry.parameters[1:]) or "none"
        raise TiltmeterError(f"The study {catalog.public_name(entry.name)} has no option '{unknown[0]}'. Options: {known}.")
    reads = entry.constant("READS", "pairs")
    if scorers and reads != "pairs":
        what = {"observations": "tokens", "any": "every family", ESTIMATES: "estimates"}.get(reads, reads)
        raise TiltmeterError(
            f"The study {catalog.public_name(entry.name)} reads {what}, not scores, so scorers cannot be chosen."
        )
    if reads == ESTIMATES:
        evidence = only_folders(runs, without)
    else:
        evidence = load_evidence(runs, scorers, without, "pairs" if reads == "observations" else reads)
    finding: Finding = entry.function(replace(evidence, watch=watch or unwatched), **options)
    facts = {
        "runs": [str(folder) for folder in evidence.folders],
        "models": [] if reads == ESTIMATES else evidence.models,
        "without": list(without),
    }
    return replace(finding, facts={"citation": entry.constant("CITATION"), **facts, "options": options, **finding.facts})

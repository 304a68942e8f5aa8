"""Studies: which measures can be trusted? Experiments on the stored results of many models. One file each.

A study is a file `studies/NAME.py` with a function `NAME(evidence, *, …) -> Finding` and the constant `CITATION`. A study of
one family is in that family's folder, `families/FAMILY/studies/NAME.py`, and is found there under its name. `READS` names
the family that it is about (default: pairs), or `observations`, the tokens of pairs, or `any`: every family, or `estimates`:
no answers at all, only the folders, of which it reads the estimates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter import catalog
from tiltmeter.errors import UsageError
from tiltmeter.families import Answers
from tiltmeter.families.kit.evidence import Evidence, unwatched
from tiltmeter.families.kit.protocol import Watch
from tiltmeter.storage.keywords import Translation, accept_old_keywords
from tiltmeter.storage.progress import watch_of
from tiltmeter.studies.kit.evidence import ESTIMATES, Studied, load_evidence, only_folders
from tiltmeter.studies.kit.finding import Finding

__all__ = ["Evidence", "Finding", "load_evidence", "study"]


def _translate(_: tuple[Any, ...], present: Mapping[str, Any], old: Mapping[str, Any]) -> Translation:
    if not old:
        return Translation(present)
    spelled = ", ".join(f'"{name}": …' for name in old)
    return Translation({**present, "options": {**(present.get("options") or {}), **old}}, f"options={{{spelled}}}")


@accept_old_keywords(_translate)
def study(
    name: str,
    runs: Studied | Sequence[Studied] | Mapping[str, Answers],
    *,
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
    progress: bool = False,
    watch: Watch | None = None,
    options: Mapping[str, Any] | None = None,
) -> Finding:
    """Run a study by name on one or several runs: `.table`, `.sentences`, `.draw()`, `.save()`.

    Args:
        name: `tiltmeter list studies` has the names.
        runs: Run folders, runs, or answers in memory; one or several.
        scorers: Only these scorers.
        without: Leave out these bias types.
        progress: Show progress, as in `run`.
        watch: Another display of progress, as in `run`.
        options: The study's own options by name: `tiltmeter study NAME --help` lists them.

    Returns:
        The finding: tables, figures, and sentences computed from the numbers.

    Raises:
        UsageError: The study or an option is unknown, or the runs lack what the study needs.
        RunError: A folder is not a finished run.

    Example:
        >>> import tiltmeter
        >>> pairs = tiltmeter.load_benchmark("plumb-pairs", limit=8)
        >>> scores = tiltmeter.score("plumb-mlm", pairs, ["sss", "pll"], cache=False)
        >>> finding = tiltmeter.study("normality", scores)
        >>> finding.table["scorer"].unique().tolist()
        ['sss', 'pll']
    """
    options = dict(options or {})
    entry = catalog.find("studies", name)
    unknown = sorted(set(options) - set(entry.parameters[1:]))
    if unknown:
        known = ", ".join(entry.parameters[1:]) or "none"
        raise UsageError(
            f"The study {catalog.public_name(entry.name)} has no option '{unknown[0]}'. Options: {known}.",
            code="unknown-name",
            kind="option",
            name=unknown[0],
            study=catalog.public_name(entry.name),
        )
    reads = entry.reads or "pairs"
    if scorers and reads != "pairs":
        what = {"observations": "tokens", "any": "every family", ESTIMATES: "estimates"}.get(reads, reads)
        raise UsageError(
            f"The study {catalog.public_name(entry.name)} reads {what}, not scores, so scorers cannot be chosen.",
            code="inapplicable-option",
            option="--scorer",
            study=catalog.public_name(entry.name),
        )
    if reads == ESTIMATES:
        evidence = only_folders(runs, without)
    else:
        evidence = load_evidence(runs, scorers, without, "pairs" if reads == "observations" else reads)
    finding: Finding = entry.function(replace(evidence, watch=watch_of(watch, progress) or unwatched), **options)
    facts = {
        "runs": [str(folder) for folder in evidence.folders],
        "models": [] if reads == ESTIMATES else evidence.models,
        "without": list(without),
    }
    return replace(finding, facts={"citation": entry.citation, **facts, "options": options, **finding.facts})

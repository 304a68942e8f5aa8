"""The decision in a run's folder: read, and computed again from the run's answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter.errors import RunError
from tiltmeter.gate.decision import Decision
from tiltmeter.gate.evidence import SUFFIX
from tiltmeter.gate.forms import STORED, as_json
from tiltmeter.gate.judge import check
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.rules_file import RuleBook
from tiltmeter.runs import Run, load_run
from tiltmeter.storage.files import read_json
from tiltmeter.storage.seals import ADDED, run_digest, verified
from tiltmeter.storage.typed_values import check_types

TOLERANCE = 1e-9
AGAIN = "Check the run again."


def stored_decision(run: Run) -> Decision | None:
    """Compute the decision in a run's folder again. None if the run was never checked.

    Raises:
        RunError: The file was changed, is about another run, or does not say what the answers give.
    """
    path = run.folder / STORED
    if not path.is_file() and STORED not in run.manifest.get(ADDED, {}):
        return None
    stored = read_json(verified(run.folder, run.manifest, STORED))
    try:
        about, rules = stored["seal"], tuple(dict.fromkeys(_rule(one["stated"]) for one in stored["rules"]))
        undecided, baseline = str(stored["undecided"]), str(stored["baseline"])
        place, seal = str(stored["baseline_run"]), str(stored["baseline_seal"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise RunError(f"{path} is not a decision of this version. {AGAIN}", code="wrong-version", file=str(path)) from None
    if about != run_digest(run.manifest):
        raise RunError(
            f"{path} is about an earlier run in this folder. {AGAIN}",
            code="outdated-result",
            file=str(path),
            reason="earlier-run",
        )
    model = baseline.removesuffix(SUFFIX) if place else baseline
    decision = check(run, RuleBook(rules, undecided), _baseline(path, place, seal), model or None)
    if not _same(json.loads(as_json(decision)), stored):
        raise RunError(
            f"{path} differs from what the answers of the run give. {AGAIN}",
            code="outdated-result",
            file=str(path),
            reason="differs",
        )
    return decision


def _rule(stated: Mapping[str, Any]) -> Rule:
    """A rule from its fields; an infinite end is null in JSON."""
    ends = {"low": -math.inf, "high": math.inf}
    known = {name: value for name, value in stated.items() if not (name in ends and value is None)}
    check_types(Rule, known, STORED)
    return Rule(**{**ends, **known})


def _baseline(path: Path, place: str, seal: str) -> Run | None:
    if not place:
        return None
    baseline = load_run(path.parent / place)
    if run_digest(baseline.manifest) != seal:
        raise RunError(
            f"{path} compares with an earlier run in {place}. {AGAIN}",
            code="outdated-result",
            file=str(path),
            reason="earlier-baseline",
            run=str(place),
        )
    return baseline


def _same(first: Any, second: Any) -> bool:
    """Equal, up to the rounding of other machines."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, float) and isinstance(second, float | int):
        return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(first) is type(second) and bool(first == second)

"""The check of bias types: each needs some complete pairs, and scores that vary."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.pairs.paired import Paired
from tiltmeter.studies.kit.options import LEAST_ITEMS


def check_types(study: str, pairs: Sequence[Paired], *, spread: bool = True) -> None:
    """Raises an error that names every bias type with too few complete pairs, or one whose scores do not vary."""
    small: dict[str, int] = {}
    flat: list[str] = []
    for paired in pairs:
        complete = ~(np.isnan(paired.scores["stereo"]) | np.isnan(paired.scores["anti"]))
        types = paired.groups["bias_type"].astype(str).to_numpy()
        for name in dict.fromkeys(types):
            at = complete & (types == name)
            where = f"{paired.model} on {paired.benchmark} by {paired.scorer}"
            if at.sum() < LEAST_ITEMS:
                small[name] = min(int(at.sum()), small.get(name, LEAST_ITEMS))
                continue
            for role in ("stereo", "anti") if spread else ():
                if np.ptp(paired.scores[role][at]) == 0:
                    flat.append(f"all {role} scores of the bias type '{name}' are {paired.scores[role][at][0]:g} ({where})")
    refuse_types(study, small, f"at least {LEAST_ITEMS} complete pairs of each bias type")
    if flat:
        raise RunError(f"{study} needs scores that vary, and {flat[0]}.", code="undefined-result", study=study)


def refuse_types(study: str, small: Mapping[str, int], needs: str) -> None:
    """Names all types that are too small at once, and how to leave them out together."""
    if small:
        listed = ", ".join(f"'{name}' has {n}" for name, n in small.items())
        leave = " ".join(f"--without {shlex.quote(name)}" for name in small)
        raise UsageError(
            f"{study} needs {needs}, and {listed}. Leave {'it' if len(small) == 1 else 'them'} out: {leave}",
            code="too-few", study=study, bias_types=list(small), items=list(small.values()),
        )  # fmt: skip

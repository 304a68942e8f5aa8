"""The effect of debiasing as a sentence, computed from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltmeter.display import number_text, percent_text, range_text, share_text, signed_text
from tiltmeter.families.slots.debiasing.changes import Draws, Floats, has_match, with_interval
from tiltmeter.stats.settings import Settings

NEAR_TOP = 0.5
"""The least MNT of a word that is called near the top: the upper half of the top k."""


STILL_FOUND = 0.8
"""The least share of matches that must remain for that: words that leave the top k have moved down."""


def verdict(
    names: tuple[str, str, str], groups: Sequence[str], sides: tuple[Draws, Draws], moved: Draws, k: int, settings: Settings
) -> str:
    """A sentence on whether probability and rank fell: the groups' mean change, then each group.

    `names`: base, model, benchmark. `sides`: values of the base and of the model. `moved`: percent changes. Groups without
    a match on one side come first, since no mean can count them: words that left the top k altogether moved furthest.
    """
    base, model, benchmark = names
    gone = _unmatched(groups, sides, k)
    groups = [group for group in groups if all(has_match(side, group) for side in sides)]
    if not groups:
        return f"{model} compared with {base} on {benchmark}: {gone} No group can be compared by MPS and MNT."
    probability, rank = (_mean(moved, measure, groups) for measure in ("mps", "mnt"))
    each = "; ".join(f"{group}: {_text(moved['mps', group])} % and {_text(moved['mnt', group])} %" for group in groups)
    after = float(np.mean([sides[1]["mnt", group][0] for group in groups]))
    coverage = [float(np.mean([side["coverage", group][0] for group in groups])) for side in sides]
    stay = after >= NEAR_TOP and coverage[1] >= STILL_FOUND * coverage[0]
    judged = _judged(probability, rank, stay, settings)
    where = (
        f"the mean normalised rank is {number_text(after, 2)}, about rank {number_text(1 + (1 - after) * (k - 1), 0)} of {k}"
    )
    lost = coverage[1] < coverage[0] - 0.05
    warning = " Terms outside the top k are excluded from both means: see median_rank." if lost else ""
    return (
        f"{model} compared with {base} on {benchmark}: {gone}{' For the others, ' if gone else ''}"
        f"{judged}. Change of the probability (MPS) and of the rank (MNT): {each}. "
        f"For the terms found, {where}. {share_text(coverage[1], 0)} of sentences have a match in the top {k}, "
        f"before {share_text(coverage[0], 0)}.{warning}"
    )


def _unmatched(groups: Sequence[str], sides: tuple[Draws, Draws], k: int) -> str:
    """Sentence about the groups without a match before, after, or both; empty if there is none."""
    share = {group: [float(side["coverage", group][0]) for side in sides] for group in groups}
    lost = [f"{group} (before: {share_text(old, 0)} of sentences)" for group, (old, new) in share.items() if old and not new]
    new = [f"{group} (after: {share_text(new, 0)} of sentences)" for group, (old, new) in share.items() if new and not old]
    never = [group for group, (old, new) in share.items() if not old and not new]
    parts = [f"no match in the top {k} is left for {', '.join(lost)}"] if lost else []
    parts += [f"only after debiasing is there a match for {', '.join(new)}"] if new else []
    parts += [f"neither model has a match for {', '.join(never)}"] if never else []
    return f"{'; '.join(parts)}." if parts else ""


def _mean(draws: Draws, measure: str, groups: Sequence[str]) -> Floats:
    return np.asarray(np.mean([draws[measure, group] for group in groups], axis=0), dtype=np.float64)


def _judged(probability: Floats, rank: Floats, stay: bool, settings: Settings) -> str:
    p, r, apart = (with_interval("x", draws, settings) for draws in (probability, rank, probability - rank))
    fell, followed = p["x_high"] < 0, r["x_high"] < 0
    p_text, r_text = _with_ends(p), _with_ends(r)
    if fell and stay and apart["x_high"] < 0 and r["x"] > p["x"] / 2:
        how = f"rank only {r_text}" if followed else ("rank did not" if r["x_low"] <= 0 else f"rank even rose {r_text}")
        return f"probability fell {p_text}, {how}: the words are still near the top"
    if fell:
        how = f"rank fell {r_text}" if followed else f"rank changed by {percent_text(r['x'], 0, signed=True)}"
        return (
            f"probability fell {p_text}, {how}: the words moved down too"
            if followed or not stay
            else (f"probability fell {p_text}, {how}: too little to say whether the words moved")
        )
    if p["x_low"] > 0:
        return f"probability rose {p_text}, rank changed by {percent_text(r['x'], 0, signed=True)}"
    return (
        f"probability did not change distinguishably ({percent_text(p['x'], 0, signed=True)}, interval "
        f"{signed_text(p['x_low'], 0)} to {signed_text(p['x_high'], 0)})"
    )


def _with_ends(row: dict[str, float]) -> str:
    """A change without its sign, with its interval.

    >>> _with_ends({"x": -92.0, "x_low": -94.0, "x_high": -90.0})
    '92 % [90, 94]'
    """
    low, high = sorted((abs(row["x_low"]), abs(row["x_high"])))
    crosses = row["x_low"] < 0 < row["x_high"]
    return percent_text(abs(row["x"]), 0) + ("" if crosses else f" {range_text(low, high, 0)}")


def _text(draws: Floats) -> str:
    return signed_text(draws[0])

"""SEAT and WEAT: effect sizes with bootstrap intervals, exact or sampled permutation p, and averages over families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from tiltmeter.associating._rows import (
    Floats,
    Found,
    Row,
    correct,
    estimate_row,
    interval_above_zero,
    reasons_text,
)
from tiltmeter.benchmarks._association import FEWEST, AssociationBenchmark, AssociationTest
from tiltmeter.group_estimating import MINIMUM_RESAMPLES, Settings
from tiltmeter.measures._vectors import association
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.mean_abs_effect import mean_abs_effect
from tiltmeter.probes.embeddings import Advance, EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import Passage
from tiltmeter.resampling import generator
from tiltmeter.significance import SHUFFLES, split_p

SIDES = ("X", "Y", "A", "B")


def seat(
    probe: EmbeddingProbe | StaticProbe,
    benchmark: AssociationBenchmark,
    tests: Sequence[AssociationTest],
    settings: Settings,
    advance: Advance | None = None,
) -> Found:
    """Every test, Holm-corrected over all of them; then the mean |d| of the families that papers report."""
    texts = sorted({text for test in tests for one in test.sets for text in one.examples})
    vectors = probe.vectors([Passage(text, (0, len(text))) for text in texts], advance)
    at = {text: n for n, text in enumerate(texts)}
    found, draws = Found(), {}
    for test in tests:
        sets = [vectors.rows[[at[text] for text in one.examples]].astype(np.float64) for one in test.sets]
        missing = Counter(
            vectors.reasons[at[text]] for one in test.sets for text in one.examples if at[text] in vectors.reasons
        )
        row, draws[test.name] = _test(test, sets, missing, probe.label, settings, found)
        found.rows.append(row)
    correct(found.rows)
    found.rows += _families(benchmark, found.rows, draws, probe.label, settings)
    return found


def _test(
    test: AssociationTest, sets: Sequence[Floats], missing: Counter[str], scorer: str, settings: Settings, found: Found
) -> tuple[Row, Floats]:
    """One test over the words that have a vector; missing where a set has too few of them or nothing varies."""
    row = estimate_row("effect_size", "test", test.name, scorer, **reasons_text(missing))
    there = [np.asarray(np.isfinite(vectors).all(axis=1)) for vectors in sets]
    x, y, a, b = (vectors[keep] for vectors, keep in zip(sets, there, strict=True))
    row["n"] = len(x) + len(y)
    few = [f"{side} has {len(one)}" for side, one in zip(SIDES, (x, y, a, b), strict=True) if len(one) < FEWEST]
    if few:
        why = f" ({', '.join(missing)})" if missing else ""
        return row | {"note": f"refused: {', '.join(few)} usable{why}; {FEWEST} are the least"}, np.full(1, np.nan)
    s_x, s_y = association(x, a, b), association(y, a, b)
    found.facts += _facts(test, there, (s_x, s_y))
    value = float(effect_size(s_x, s_y))
    if np.isnan(value):
        return row | {"note": "undefined: the associations have no spread"}, np.full(1, np.nan)
    p, exact = split_p(s_x, s_y, generator(settings.seed, "splits", test.name))
    note = f"exact p over {comb(row['n'], len(x)):,} splits" if exact else f"p from {SHUFFLES:,} shuffles"
    note += "; X and Y of unequal size" if len(x) != len(y) else ""
    draws = effect_draws(s_x, s_y, generator(settings.seed, "bootstrap", test.name), settings.resamples)
    reach = effect_interval(value, draws, (len(x), len(y)), settings.confidence)
    return row | {"value": value, "p": p, "note": note, **reach}, draws


def effect_draws(x: Floats, y: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """d with the targets of X and of Y drawn anew. A and B stay as they are, as in the test that p comes from.

    Drawing them too would unbalance the frames that sentences of A and B share, and so shrink every d.
    """
    drawn = (one[rng.integers(0, len(one), (resamples, len(one)))] for one in (x, y))
    return effect_size(*drawn)


def effect_interval(value: float, draws: Floats, sizes: tuple[int, int], confidence: float) -> Row:
    """An interval of d on Fisher's scale, as wide as the bootstrap is there (docs/intervals.md).

    d is the correlation of s with belonging to X, times a constant, so it has an end on either side; percentiles of
    draws crowd there, and with the eight words of a usual set they hold the truth too seldom. The width is the middle
    68 % of the draws (a draw of one word only has no end), widened for the spread lost in small sets, by Student's t.
    """
    from scipy.stats import t

    n = sum(sizes)
    most = float(np.sqrt(n * (n - 1) / (sizes[0] * sizes[1])))
    defined = draws[np.isfinite(draws)]
    if len(defined) < MINIMUM_RESAMPLES or abs(value) >= most * (1 - 1e-9):
        return {}
    low, high = np.arctanh(np.clip(np.percentile(defined, [15.87, 84.13]) / most, -1 + 1e-9, 1 - 1e-9))
    reach = float(t.ppf(0.5 + confidence / 2, n - 2)) * (high - low) / 2 * np.sqrt(n / (n - 2))
    if not reach:
        return {}
    ends = most * np.tanh(np.arctanh(value / most) + np.array([-reach, reach]))
    return {"low": float(ends[0]), "high": float(ends[1])}


def _facts(test: AssociationTest, there: Sequence[NDArray[np.bool_]], values: tuple[Floats, Floats]) -> list[Row]:
    """One row per target: its association s(w, A, B)."""
    return [
        {"test": test.name, "set": side, "category": one.category, "text": text, "quantity": "s(w, A, B)", "value": float(s)}
        for side, one, keep, associations in zip(SIDES, test.sets, there, values, strict=False)
        for text, s in zip((t for t, k in zip(one.examples, keep, strict=True) if k), associations, strict=True)
    ]


def _families(
    benchmark: AssociationBenchmark, rows: Sequence[Row], draws: dict[str, Floats], scorer: str, settings: Settings
) -> list[Row]:
    """Mean |d| over the tests of a family that were run, at least two of them."""
    values = {row["group"]: row["value"] for row in rows if np.isfinite(row["value"])}
    found = []
    for family, names in benchmark.families.items():
        run = [name for name in names if name in values]
        if len(run) < 2:
            continue
        value = float(mean_abs_effect(np.array([values[name] for name in run])))
        moved = mean_abs_effect(np.stack([draws[name] for name in run], axis=-1))
        absent = len(names) - len(run)
        note = f"over {', '.join(run)}" + (f"; {absent} of the family not run or undefined" if absent else "")
        found.append(
            estimate_row(
                "mean_abs_effect", "family", family, scorer, n=len(run), value=value, note=note,
                **interval_above_zero(value, moved, settings.confidence),
            )
        )  # fmt: skip
    return found

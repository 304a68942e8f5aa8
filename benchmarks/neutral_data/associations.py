"""Associations of words with two poles (seat), increases of attributes (ilps), and effects of words in contexts (ceat)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from neutral_data.kit import Cell, Floats, names_of, noise, shared_noise
from tiltmeter import Answers
from tiltmeter.stats.estimates import Difference, Estimate

EFFECT, TESTS, DRAWS = 0.5, 3, 20


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects."""
    makers = {"seat": _seat, "ilps": _ilps, "kurita": _kurita, "ceat": _ceat}
    return next(maker for word, maker in makers.items() if word in cell.design)(rng, cell, effects)


def _seat(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Three tests with n words in either set of targets, and their average."""
    sides = np.concatenate([np.repeat(["X", "Y"], cell.n), np.repeat(["A", "B"], 8)]).astype(object)
    size, models = len(sides), len(effects)
    values = shared_noise(rng, cell, models, (TESTS, size)) + noise(rng, cell.design, (models, TESTS, size))
    values = values + 2**0.5 * EFFECT * effects[:, None, None] * (sides == "X")
    values[:, :, 2 * cell.n :] = np.nan
    frame = _rows(models, TESTS * size, values, "seat", scorer="s", domain="", category="c", quantity="s(w, A, B)",
                  test=np.tile(np.repeat([f"t{k}" for k in range(TESTS)], size).astype(object), models),
                  set=np.tile(sides, models * TESTS), text=np.tile(names_of("w", range(size)), models * TESTS))  # fmt: skip
    averages = {"associations": {"averages": {"d": [f"t{k}" for k in range(TESTS)]}}}
    manifests = tuple({"model": {"shown_as": f"m{n}"}, "benchmark": {"name": "b"}} | averages for n in range(models))
    return Answers("associations", {"associations": frame.assign(usable=True)}, _items(), manifests)


def _ilps(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Two to nine groups with the same n attributes."""
    groups, models = 9 if "nine" in cell.design else 2, len(effects)
    values = 0.5 * noise(rng, cell.design, (models, 1, cell.n)) + noise(rng, cell.design, (models, groups, cell.n))
    values[:, 0] += EFFECT * effects[:, None]
    frame = _rows(models, groups * cell.n, values, "ilps", scorer="p:c", domain="d", test="p", category="c",
                  quantity="ilps" if "causal" not in cell.design else "ilps_causal",
                  set=np.tile(np.repeat([f"g{k}" for k in range(groups)], cell.n).astype(object), models),
                  text=np.tile(names_of("w", range(cell.n)), models * groups))  # fmt: skip
    return Answers("associations", {"associations": frame}, _items(), ())


def _kurita(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    values = noise(rng, cell.design, (len(effects), cell.n)) + EFFECT * effects[:, None]
    frame = _rows(len(effects), cell.n, values, "kurita", scorer="a-b", domain="", test="t", category="t", set="a-b",
                  quantity="ilps_kurita", text=np.tile(names_of("w", range(cell.n)), len(effects)))  # fmt: skip
    return Answers("associations", {"associations": frame}, _items(), ())


def _ceat(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Four groups of n words each: a word's effect varies over words and over draws of contexts."""
    groups, models = 4, len(effects)
    words = 0.3 * noise(rng, cell.design, (models, groups, cell.n))
    words[:, 0] += 0.3 * effects[:, None]
    each = words[..., None] + 0.3 * rng.standard_normal((models, groups, cell.n, DRAWS))
    names = [f"g{k}" for k in range(groups)]
    count = groups * cell.n
    place = {"set": np.repeat(names, cell.n).astype(object), "text": names_of("w", range(count))}
    frame = _rows(
        models,
        count,
        each.mean(-1),
        "ceat",
        scorer="s:p",
        domain="d",
        test="p",
        category="p",
        quantity="effect of one word",
        **{name: np.tile(values, models) for name, values in place.items()},
    )
    pole = pd.DataFrame({"set": ["A", "A", "B", "B"], "text": list("pqrs"), "quantity": "pole", "value": np.nan})
    poles = [pole.assign(model=f"m{n}", benchmark="b", asked="ceat", scorer="s:p", domain="", test="p", category="p",
                         usable=True, reason=None) for n in range(models)]  # fmt: skip
    drawn = pd.DataFrame({
        "model": np.repeat([f"m{n}" for n in range(models)], count * DRAWS).astype(object), "benchmark": "b",
        "scorer": "s:p", "test": "p", "category": "d", "draw": np.tile(np.arange(DRAWS), models * count),
        "effect": each.ravel(), "variance": np.nan,
        **{name: np.tile(np.repeat(values, DRAWS), models) for name, values in place.items()},
    })  # fmt: skip
    tables = {"associations": pd.concat([frame, *poles], ignore_index=True), "draws": drawn}
    return Answers("associations", tables, _items(), ())


def _rows(models: int, rows: int, values: Floats, asked: str, **columns: object) -> pd.DataFrame:
    model = np.repeat([f"m{n}" for n in range(models)], rows).astype(object)
    frame = {"model": model, "benchmark": "b", "asked": asked, "value": values.ravel(), "usable": True, "reason": None}
    return pd.DataFrame(frame | columns)


def _items() -> pd.DataFrame:
    return pd.DataFrame({"benchmark": ["b"], "item": ["i"], "extra": ["{}"]})


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "seat" in cell.design:
        return ("effect_size", "mean_abs_effect")
    if "kurita" in cell.design:
        return ("ilps_kurita",)
    return ("ces" if "ceat" in cell.design else "ilps_causal" if "causal" in cell.design else "ilps", "group_variance")


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    return row.measure if row.group in ("t0", "g0", "d", "t") else ""

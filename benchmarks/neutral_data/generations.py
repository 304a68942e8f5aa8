"""Scores of a judge for five texts of each prompt, in groups; prompts differ, and those of one article are alike."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from neutral_data.kit import MANY, Cell, Floats, answer_frame, cluster_codes, items_frame, names_of, noise
from tiltmeter import Answers
from tiltmeter.stats.estimates import Difference, Estimate

SAMPLES, EFFECT, CUT = 5, 0.5, 1.6
"""About one text in twenty is called negative."""


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects: n prompts of each group, or n clusters of prompts."""
    groups = next((n for word, n in (("nine", 9), ("four", 4), ("one", 1)) if f"{word} group" in cell.design), 2)
    codes = cluster_codes(cell.design, cell.n)
    prompts = cell.n if codes is None else len(codes)
    group, models = np.repeat(np.arange(groups), prompts), len(effects)
    level = 0.7 * noise(rng, cell.design, (models, len(group)))
    extra: list[dict[str, object]] = [{} for _ in group]
    if codes is not None:
        of_cluster = 0.5 * rng.standard_normal((models, groups, cell.n))[:, :, codes].reshape(models, -1)
        level = 0.5 * level + of_cluster
        extra = [{"cluster": f"c{k}-{code}"} for k in range(groups) for code in codes]
    if "sets" in cell.design:
        level += 0.5 * np.tile(rng.standard_normal((models, prompts)), groups)
        extra = [{"set": f"s{n}"} for _ in range(groups) for n in range(prompts)]
    level[:, group == 0] += EFFECT * effects[:, None]
    scores = level[..., None] + 0.7 * noise(rng, cell.design, (models, len(group), SAMPLES))
    labels = {"bias_type": "d", "direction": None, "target": names_of("g", group)}
    sample = np.tile(np.arange(SAMPLES), models * len(group))
    judged = {"score": scores, "negative": (scores > CUT).astype(float), "positive": (scores < -CUT).astype(float)}
    frames = [answer_frame(models, len(group), SAMPLES, sample=sample, scorer="toxicity/j", reason=None, **judged)]
    if "judges" in cell.design:
        other = scores + 0.5 * rng.standard_normal(scores.shape)
        judged = {"score": other, "negative": (other > CUT).astype(float), "positive": (other < -CUT).astype(float)}
        frames.append(answer_frame(models, len(group), SAMPLES, sample=sample, scorer="toxicity/k", reason=None, **judged))
    texts = frames[0][["model", "benchmark", "item", "sample"]].assign(temperature=1.0, text="", reason=None)
    tables = {"generations": texts, "judgements": pd.concat(frames, ignore_index=True)}
    judges = [str(frame["scorer"].iloc[0]) for frame in frames]
    return Answers("generations", tables, items_frame(len(group), extra, **labels), _manifests(rng, cell, models, judges))


def _manifests(rng: np.random.Generator, cell: Cell, models: int, judges: list[str]) -> tuple[dict[str, object], ...]:
    """Name the judges, whose hits and false alarms were counted on 200 texts each; exactly for very large samples."""
    found = []
    for n in range(models):
        hits, alarms = (160, 4) if cell.n >= MANY // 10 else (int(rng.binomial(200, 0.8)), int(rng.binomial(200, 0.02)))
        f1 = {"value": 0.8, "low": 0.75, "high": 0.85, "n": 400}
        errors = {"hits": {"k": hits, "n": 200}, "false_alarms": {"k": alarms, "n": 200}, "f1": f1}
        facts = {"notion": "toxicity", "cuts": {"positive": 1}, "errors": errors}
        model, about = {"shown_as": f"m{n}"}, {"name": "b"}
        found.append({"model": model, "benchmark": about, "judges": dict.fromkeys(judges, facts)})
    return tuple(found)


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "judges" in cell.design:
        return ("judge_kappa",)
    own = ("mean_score", "negative_share", "positive_share", "any_negative", "expected_maximum", "corrected_share")
    return own if "one group" in cell.design else (*own, "score_gap", "negative_gap", "score_variance", "negative_variance")


def truth(cell: Cell, measure: str) -> float | None:
    """The true mean and shares; of large samples they would be off by part of an interval's width."""
    if measure.startswith("mean_score"):
        return 0.0
    return _beyond(cell.design) if measure.startswith(("negative_share", "positive_share")) else None


@cache
def _beyond(design: str) -> float:
    """Share of texts on one side that are beyond the cut, of two million independent ones."""
    rng, n = np.random.default_rng(0), 2_000_000
    own = 0.7 * noise(rng, design, n) * (0.5 if "cluster" in design else 1.0)
    shared = 0.5 * rng.standard_normal(n) if "cluster" in design or "sets" in design else 0.0
    return float((np.abs(own + shared + 0.7 * noise(rng, design, n)) > CUT).mean() / 2)


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    if row.group in ("g000000", "g000000 − g000001") or row.by in ("domain", "judges"):
        return row.measure
    if row.group == "g000000 − mean of d":
        return f"{row.measure} to the mean"
    return f"{row.measure}, all groups" if row.by == "all" else ""

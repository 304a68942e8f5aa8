"""Answers to questions of templates, whose answers are alike; decisions about groups in cases; lists of words."""

from __future__ import annotations

import numpy as np

from neutral_data.kit import Cell, Floats, answer_frame, items_frame, names_of
from tiltmeter import Answers
from tiltmeter.benchmarks.kit.choices import AMBIGUOUS
from tiltmeter.benchmarks.kit.decisions import ASSOCIATION, DECISION
from tiltmeter.families.choices.parse import REFUSED
from tiltmeter.stats.estimates import Difference, Estimate

PER_TEMPLATE, EFFECT = 16, 0.5
SHARES = ("refused_share", "unparsed_share", "order_sensitivity", "unknown_share")


def make(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Answers of as many models as effects to the questions of n templates."""
    makers = {"decisions": _decisions, "words": _words, "refusals": _refusals}
    return next((maker for word, maker in makers.items() if word in cell.design), _questions)(rng, cell, effects)


def _questions(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Half are ambiguous. Of the others half have the stereotyped answer as the right one."""
    sizes = np.resize([4, 8, 16, 36], cell.n) if "unlike" in cell.design else np.full(cell.n, PER_TEMPLATE)
    template = np.repeat(np.arange(cell.n), sizes)
    n, models = len(template), len(effects)
    within = np.concatenate([np.arange(size) for size in sizes])
    ambiguous, aligned = within % 2 == 0, within % 4 == 1
    towards = rng.normal(0, 0.8, (models, cell.n))[:, template] + EFFECT * effects[:, None]
    stereotyped = rng.random((models, n)) < 1 / (1 + np.exp(-towards))
    knows = rng.random((models, n)) < 0.7
    right = np.where(ambiguous, 2, np.where(aligned, 0, 1))
    chosen = np.where(knows, right, np.where(stereotyped, 0.0, 1.0))
    lost = rng.random((models, n)) < 0.05
    rows = {
        "chosen": np.where(lost, np.nan, chosen), "reason": np.where(lost, REFUSED, None),
        "changed": (rng.random((models, n)) < 0.05).astype(float), "right": np.tile(right, models).astype(float),
        "unknown": 2.0, "stereotyped": 0.0, "condition": np.tile(np.where(ambiguous, AMBIGUOUS, "disambig"), models),
        "template": np.tile(names_of("t", template), models), "score": np.nan,
    }  # fmt: skip
    return _answers(models, n, rows)


def _decisions(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """n cases, each about three groups; the first is favoured less often where there is an effect."""
    groups, models = 9 if "nine" in cell.design else 3, len(effects)
    n, group = groups * cell.n, np.tile(np.arange(groups), cell.n)
    case = np.repeat(np.arange(cell.n), groups)
    level = rng.normal(0, 1.0, (models, cell.n))[:, case] - 2 * EFFECT * effects[:, None] * (group == 0)
    score = level + 0.5 * rng.standard_normal((models, n))
    chosen = np.where(rng.random((models, n)) < 1 / (1 + np.exp(-level)), 0.0, 1.0)
    rows = {
        "chosen": chosen, "reason": None, "changed": (rng.random((models, n)) < 0.05).astype(float), "right": np.nan,
        "unknown": np.nan, "stereotyped": np.nan, "condition": DECISION, "template": np.tile(names_of("t", case), models),
        "score": score,
    }  # fmt: skip
    target = names_of("g", group)
    extra = [{"gender": None, "race": None}] * n
    return _answers(models, n, rows | {"target": np.tile(target, models)}, extra, target)


def _words(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Scores of lists of words, four of each of n templates."""
    models, template = len(effects), np.repeat(np.arange(cell.n), 4)
    level = 0.3 * rng.standard_normal((models, cell.n))[:, template] + 0.3 * effects[:, None]
    score = np.tanh(level + 0.5 * rng.standard_normal((models, len(template))))
    rows = {
        "chosen": np.nan, "reason": None, "changed": np.nan, "right": np.nan, "unknown": np.nan, "stereotyped": np.nan,
        "condition": ASSOCIATION, "template": np.tile(names_of("t", template), models), "score": score,
    }  # fmt: skip
    return _answers(models, len(template), rows)


def _refusals(rng: np.random.Generator, cell: Cell, effects: Floats) -> Answers:
    """Questions about two groups in each of n templates; a tenth or so is refused, in some templates more."""
    models, template = len(effects), np.repeat(np.arange(cell.n), PER_TEMPLATE)
    n, group = len(template), np.tile(np.arange(2), len(template) // 2)
    towards = rng.normal(-2.2, 0.8, (models, cell.n))[:, template] + 2 * EFFECT * effects[:, None] * (group == 0)
    lost = rng.random((models, n)) < 1 / (1 + np.exp(-towards))
    rows = {
        "chosen": np.where(lost, np.nan, 2.0), "reason": np.where(lost, REFUSED, None), "changed": 0.0, "right": 2.0,
        "unknown": 2.0, "stereotyped": 0.0, "condition": AMBIGUOUS, "template": np.tile(names_of("t", template), models),
        "score": np.nan,
    }  # fmt: skip
    target = names_of("g", group)
    return _answers(models, n, rows | {"target": np.tile(target, models)}, target=target)


def by(cell: Cell) -> tuple[str, ...]:
    """Columns to group by."""
    return ("target",) if "refusals" in cell.design else ()


def _answers(models: int, n: int, rows: dict[str, object], extra: object = None, target: object = None) -> Answers:
    fixed = {"bias_type": "b", "direction": None, "polarity": "", "label_type": "", "prompt": "", "text": "", "n_orders": 2}
    frame = answer_frame(models, n, scorer="s", **({"target": None} | fixed | rows))
    return Answers("choices", {"choices": frame}, items_frame(n, extra, bias_type="b", direction=None, target=target), ())


def measures(cell: Cell) -> tuple[str, ...]:
    """Measures of the design."""
    if "decisions" in cell.design:
        return ("selection_rate", "selection_gap", "impact_ratio", "log_odds_gap", "kendall_w", "order_sensitivity")
    if "refusals" in cell.design:
        return ("refused_gap",)
    if "words" in cell.design:
        return ("iat_score",)
    scores = ("diff_bias_amb", "diff_bias_dis", "s_amb", "s_dis", "bias_cost", "accuracy_amb", "accuracy_dis")
    return (*scores, "unknown_share", "unparsed_share", "refused_share", "order_sensitivity")


def label(row: Estimate | Difference) -> str:
    """Name of a row in the table; empty for rows that are not counted."""
    alone = ("selection_gap", "impact_ratio", "log_odds_gap", "refused_gap")
    counted = row.group == "g000000" and row.by == "target" if row.measure in alone else row.by == "all"
    return row.measure if counted else ""

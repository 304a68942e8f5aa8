"""Notebook display of scores: a line, a small table, and the few numbers that are drawn at once."""

from __future__ import annotations

from dataclasses import replace

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, counted
from tiltmeter.families.pairs.headline import HEADLINE, first_scorer, primary_measures


def brief(answers: Answers) -> tuple[Answers, list[str]]:
    """For each model and benchmark, the scores of its headline, which are the only ones drawn."""
    frame, kept = answers.table, []
    for (_, benchmark), part in frame.groupby(["model", "benchmark"], sort=False):
        there = sorted(part["scorer"].unique())
        kept.append(part.index[part["scorer"] == first_scorer(primary_measures(str(benchmark))[0], there)])
    scores = frame.loc[sorted(at for index in kept for at in index)]
    # ss averages over targets, which not every benchmark has
    measures = [name for name in HEADLINE if name != "ss" or frame["target"].notna().any()]
    return replace(answers, tables={"scores": scores}), measures


def describe(answers: Answers) -> Described:
    """Count sentences with a score, and say why others have none."""
    frame, rows = answers.table, []
    for key, part in frame.groupby(["benchmark", "model", "scorer"], sort=False):
        missing = part[part["score"].isna()]
        why = "; ".join(f"{reason} ({n:,})" for reason, n in missing["reason"].value_counts().items())
        rows.append([*key, part["item"].nunique(), len(part) - len(missing), len(missing), float(part["score"].mean()), why])
    sentence = (
        f"{len(frame):,} sentence scores ({int(frame['score'].isna().sum()):,} missing): {counted(frame, 'model')}, "
        f"{counted(frame, 'benchmark')}, {counted(frame, 'scorer')}."
    )
    heads = ("benchmark", "model", "scorer", "items", "scores", "missing", "mean score", "why missing")
    return Described("Scores", sentence, heads, rows)

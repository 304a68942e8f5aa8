"""What a notebook shows of scores: a line, a small table, and the few numbers that are worth drawing on the spot."""

from __future__ import annotations

from dataclasses import replace

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.notebook import Described, counted
from tiltmeter.families.pairs.headline import HEADLINE, averaged_over_targets


def brief(answers: Answers) -> tuple[Answers, list[str]]:
    """Of each model and benchmark the scores that its headline would speak of: only they are drawn."""
    frame, kept = answers.table, []
    for (_, benchmark), ours in frame.groupby(["model", "benchmark"], sort=False):
        there = sorted(ours["scorer"].unique())
        wanted = (*HEADLINE["ss" if averaged_over_targets(str(benchmark)) else "bias_score"], *there)
        kept.append(ours.index[ours["scorer"] == next(name for name in wanted if name in there)])
    scores = frame.loc[sorted(at for index in kept for at in index)]
    # ss averages over targets, which not every benchmark has
    measures = [name for name in HEADLINE if name != "ss" or frame["target"].notna().any()]
    return replace(answers, tables={"scores": scores}), measures


def described(answers: Answers) -> Described:
    """How many sentences have a score, and why others have none."""
    frame, rows = answers.table, []
    for key, ours in frame.groupby(["benchmark", "model", "scorer"], sort=False):
        missing = ours[ours["score"].isna()]
        why = "; ".join(f"{reason} ({n:,})" for reason, n in missing["reason"].value_counts().items())
        rows.append([*key, ours["item"].nunique(), len(ours) - len(missing), len(missing), float(ours["score"].mean()), why])
    said = (
        f"{len(frame):,} sentence scores ({int(frame['score'].isna().sum()):,} missing): {counted(frame, 'model')}, "
        f"{counted(frame, 'benchmark')}, {counted(frame, 'scorer')}."
    )
    heads = ("benchmark", "model", "scorer", "items", "scores", "missing", "mean score", "why missing")
    return Described("Scores", said, heads, rows)

"""Sentences about labels: the classifier's accuracy, the groups that it misclassifies, and the tests of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement, p_text, percent_text, share_text
from tiltmeter.families.kit.story import Gauge, Story, capital, certain, value_text
from tiltmeter.families.labels.estimate import ARROW, HALF

if TYPE_CHECKING:
    import pandas as pd

Rows = dict[tuple[str, str, str], Any]
FEW, LITTLE = 30, 0.6
"""Texts, and macro-F1, below which a group's rate says little."""
NO_DIFFERENCE = "No group's false-positive rate differs significantly"


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One story per model and benchmark. Its number is the false-positive rate of the group that is misclassified most."""
    for (model, benchmark), part in estimates.groupby(["model", "benchmark"], sort=False):
        at_half = part[part["scorer"].isin([HALF, "probability"])]
        of = {(row["by"], row["measure"], row["group"]): row for _, row in at_half.iterrows()}
        groups = [row for (by, measure, _), row in of.items() if (by, measure) == ("group", "fpr_gap") and _is_finite(row)]
        domains = [name for by, measure, name in of if (by, measure) == ("domain", "fpr_variance")]
        sentences = [*_quality(of), *_gaps(groups, of), *(_domain(name, of) for name in domains), *_flips(of)]
        yield _story(str(model), str(benchmark), groups, of, tuple(filter(None, sentences)))


def _story(model: str, benchmark: str, groups: list[Any], of: Rows, sentences: tuple[str, ...]) -> Story:
    sure = [row for row in groups if certain(row)]
    if not groups:
        return Story(model, benchmark, "Labels of the classifier", sentences)
    row = max(sure or groups, key=lambda gap: abs(gap["value"]) if sure else gap["value"])
    rate = of.get(("group", "fpr", row["group"]))
    more = "more" if row["value"] > 0 else "less"
    verdict = f"{row['group']}: {more} often wrongly called toxic" if sure else NO_DIFFERENCE
    if rate is None or not _is_finite(rate):
        return Story(model, benchmark, capital(verdict), sentences, tone="sure" if sure else "unsure")
    whole = of.get(("all", "fpr", "all"))
    percent = {name: 100 * float(rate[name]) for name in ("value", "low", "high")}
    neutral = 100 * float(whole["value"]) if whole is not None else np.nan
    label = (
        f"{percent_text(percent['value'])} of harmless texts that name {row['group']} are called toxic, "
        f"{percent_text(neutral)} of all"
    )
    return Story(
        model,
        benchmark,
        capital(verdict),
        sentences,
        tone="sure" if sure else "unsure",
        number=percent_text(percent["value"]),
        unit=f"of harmless texts that name {row['group']} called toxic",
        gauge=Gauge(**percent, neutral=neutral, label=label) if np.isfinite([*percent.values(), neutral]).all() else None,
        head=row,
    )


def _is_finite(row: Any) -> bool:
    return bool(np.isfinite(row["value"]))


def _quality(of: Rows) -> Iterator[str]:
    f1, area = of.get(("all", "f1_macro", "all")), of.get(("all", "label_auc", "all"))
    finite = [(what, row) for what, row in (("macro-F1", f1), ("AUC", area)) if row is not None and _is_finite(row)]
    if finite:
        named = ", ".join(f"{what} {value_text(row)}" for what, row in finite)
        yield Statement("Over {n:,} texts: {named}.", "quality", n=int(finite[0][1]["n"]), named=named)
    if f1 is not None and _is_finite(f1) and f1["value"] < LITTLE:
        yield Statement("That is little better than guessing, so rates of groups say little about the model.", "guessing")


def _gaps(groups: list[Any], of: Rows) -> Iterator[str]:
    sure = sorted((row for row in groups if certain(row)), key=lambda row: -abs(row["value"]))
    for row in sure[:4]:
        rate = of.get(("group", "fpr", row["group"]))
        share = f"{share_text(rate['value'], 0)} of {rate['n']} harmless texts" if rate is not None else "harmless texts"
        yield Statement(
            "{group}: {share} are called toxic, {points:.0f} points {more} than of all others ({p}).", "gap",
            group=capital(row["group"]), share=share, points=100 * abs(row["value"]), p=p_text(row["p_holm"]),
            more="more" if row["value"] > 0 else "less",
        )  # fmt: skip
    if groups and not sure:
        text = "None of {of} groups has a false-positive rate distinguishable from that of the others."
        yield Statement(text, "no-gap", of=len(groups))
    if few := [row["group"] for row in groups if row["n"] < FEW]:
        text = "Fewer than {least} harmless texts name {named}: their rates are mostly chance."
        yield Statement(text, "few-texts", least=FEW, named=", ".join(few))


def _domain(name: str, of: Rows) -> str:
    seen, chance = (of.get(("domain", measure, name)) for measure in ("fpr_variance", "fpr_variance_chance"))
    if seen is None or chance is None or not (_is_finite(seen) and _is_finite(chance)):
        return ""
    against = "more than" if certain(seen) else "not distinguishable from"
    return Statement(
        "{domain}: the variance of false-positive rates over groups is {value:.4f}, {against} the {chance:.4f} that chance "
        "alone would give ({p}).", "variance", domain=capital(name), value=seen["value"], against=against,
        chance=chance["value"], p=p_text(seen["p_holm"]),
    )  # fmt: skip


def _flips(of: Rows) -> Iterator[str]:
    whole = of.get(("all", "flip_rate", "all"))
    if whole is None or not _is_finite(whole):
        return
    yield Statement(
        "Naming another group instead changes the label of {share:.1f} % of {n:,} exchanged texts.", "flips",
        share=100 * whole["value"], n=int(whole["n"]),
    )  # fmt: skip
    pairs = [row for (by, measure, _), row in of.items() if (by, measure) == ("swap", "flip_rate") and _is_finite(row)]
    if pairs and (most := max(pairs, key=lambda row: row["value"]))["value"] > 0:
        pair = most["group"].replace(ARROW, " to ")
        yield Statement(
            "Most often {pair}: {share:.1f} % of {n}.", "most-flips", pair=pair, share=100 * most["value"], n=int(most["n"])
        )

"""Sentences about generations: differences between groups, the most negative group, and the accuracy of the judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.display import Statement, p_text, share_text, signed_text, significant_text
from tiltmeter.families.generations.judging import REFUSAL_SCORER
from tiltmeter.families.generations.questions import MEAN, OF_ALL, SIGN
from tiltmeter.families.kit.story import Story, certain, value_text
from tiltmeter.stats.estimates import Details, details_of

if TYPE_CHECKING:
    import pandas as pd

VARIANCE, NEGATIVE, POSITIVE, GAP = (
    "score_variance", "negative_share", "positive_share", "score_gap",
)  # fmt: skip
SHARE_VARIANCE, SHARE_GAP = "negative_variance", "negative_gap"
MOST_NAMED = 3
DRAWN = "The {clustered} were drawn and permuted by whole {clusters}, because prompts of one {cluster} are not independent."


def narratives(estimates: pd.DataFrame) -> Iterator[Story]:
    """One per model and benchmark. A domain differs where the variance over its groups is beyond chance."""
    for (model, benchmark), rows in estimates.groupby(["model", "benchmark"], sort=False):
        tested = _variances(rows)
        sure = [row for _, row in tested.iterrows() if certain(row)]
        names = ", ".join(dict.fromkeys(f"{row['group']} by {details_of(row).get('notion', row['scorer'])}" for row in sure))
        short = f"Texts differ between groups: {names}" if sure else "No significant difference between groups"
        yield Story(
            str(model),
            str(benchmark),
            short if len(tested) else "Generations about groups",
            tuple(_sentences(rows)),
            tone="sure" if sure else "unsure" if len(tested) else "plain",
            number=f"{len(sure)} of {len(tested)}" if len(tested) else "",
            unit="domains by judge" if tested["scorer"].nunique() > 1 else "domains" if len(tested) else "",
        )


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    for scorer, of_judge in rows[rows["by"] != "judges"].groupby("scorer", sort=False):
        yield from _overall(str(scorer), of_judge)
        yield from _domains(of_judge)
    for _, row in rows[(rows["by"] == "judges") & rows["value"].notna()].iterrows():
        text = "{judges} agree on {construct} with κ {estimate}."
        yield Statement(
            text, "judges-agree", judges=row["group"], construct=row["scorer"], value=row["value"], estimate=value_text(row)
        )
    yield from _unjudged(rows)
    yield from _drawn(rows)


def _overall(scorer: str, rows: pd.DataFrame) -> Iterator[str]:
    """Sentences about all texts by one judge, and about its accuracy."""
    of = {row["measure"]: row for _, row in rows[rows["by"] == "all"].iterrows()}
    if NEGATIVE not in of or not np.isfinite(of[NEGATIVE]["value"]):
        return
    positive = of.get(POSITIVE)
    both = (
        f" and {share_text(positive['value'])} positive" if positive is not None and np.isfinite(positive["value"]) else ""
    )
    details = details_of(of[NEGATIVE])
    if details.get("notion") == REFUSAL_SCORER:
        share, n = 100 * of[NEGATIVE]["value"], int(of[NEGATIVE]["n"])
        yield Statement("{share:.1f} % of {n:,} texts were refused.", "refused", share=share, n=n)
        return
    clustered = _clustered(details)
    errors = str(details.get("judge_errors", ""))
    yield Statement(
        "By {scorer}, {share:.1f} % of {n:,} texts{after} are negative{both}{errors_text}.", "overall", scorer=scorer,
        share=100 * of[NEGATIVE]["value"], n=of[NEGATIVE]["n"], clustered=clustered, **_sizes(details),
        errors=errors, both=both,
        after=f" after {clustered}" if clustered else "", errors_text=f" ({errors})" if errors else "",
    )  # fmt: skip


def _domains(rows: pd.DataFrame) -> Iterator[str]:
    """Name the groups that stand out, where the groups of a domain differ."""
    variances = _variances(rows)
    for _, domain in variances.iterrows():
        if not certain(domain):
            continue
        ours = rows["group"].str.endswith(f"{SIGN}{OF_ALL}{domain['group']}")
        shares = domain["measure"] == SHARE_VARIANCE
        gaps = rows[(rows["measure"] == (SHARE_GAP if shares else GAP)) & (rows["by"] == MEAN) & ours]
        out = sorted((row for _, row in gaps.iterrows() if certain(row)), key=lambda row: -abs(row["value"]))
        named = [f"{row['group'].partition(SIGN)[0]} ({signed_text(row['value'], 3)})" for row in out[:MOST_NAMED]]
        number, what = ("shares", " in refusals") if shares else ("mean scores", "")
        apart = f"; significantly apart from the mean: {', '.join(named)}{_more(out)}" if named else ""
        variance = f"variance of {number} {significant_text(domain['value'], 2)}, {_p(domain)}"
        yield Statement(
            "The groups of {domain} differ{what} ({variance}){apart}.", "groups-differ", domain=domain["group"], what=what,
            value=domain["value"], variance=variance, apart=apart,
        )  # fmt: skip
    alike = [row for _, row in variances.iterrows() if not certain(row)]
    if alike:
        what = " in refusals" if alike[0]["measure"] == SHARE_VARIANCE else ""
        names = ", ".join(str(row["group"]) for row in alike)
        yield Statement("No difference beyond chance between the groups of {names}{what}.", "alike", names=names, what=what)
    untested = rows[(rows["measure"] == VARIANCE) & rows["p"].isna() & rows["value"].notna()]["group"]
    if len(untested):
        text = "Too few independent prompts to test for differences between the groups of {names}."
        yield Statement(text, "too-few-prompts", names=", ".join(untested))


def _variances(rows: pd.DataFrame) -> pd.DataFrame:
    """Select the tests of all groups of a domain: of mean scores, and of the shares of refusals."""
    is_refusal = np.array([details_of(row).get("notion") == REFUSAL_SCORER for row in rows.to_dict("records")], dtype=bool)
    measure = np.where(is_refusal, SHARE_VARIANCE, VARIANCE)
    return rows[(rows["measure"] == measure) & rows["p"].notna()]


def _more(out: list[Any]) -> str:
    return f" and {len(out) - MOST_NAMED} more" if len(out) > MOST_NAMED else ""


def _p(row: Any) -> str:
    return p_text(row["p"] if np.isnan(row["p_holm"]) else row["p_holm"])


def _drawn(rows: pd.DataFrame) -> Iterator[str]:
    """Name what was drawn, where prompts are no independent evidence."""
    for row in rows[(rows["by"] == "all") & (rows["measure"] == NEGATIVE) & rows["value"].notna()].to_dict("records"):
        details = details_of(row)
        if clustered := _clustered(details):
            what = str(details["cluster"])
            yield Statement(
                DRAWN,
                "drawn-by-cluster",
                clustered=clustered,
                clusters=what,
                cluster=what.removesuffix("s"),
                **_sizes(details),
            )
            return


def _sizes(details: Details) -> dict[str, Any]:
    return {name: details.get(name) for name in ("n_prompts", "n_clusters")}


def _clustered(details: Details) -> str:
    """Describe the numbers of prompts and clusters; empty where prompts were drawn one by one."""
    if int(details.get("n_clusters", 0)) < 2:
        return ""
    return f"{details['n_prompts']:,} prompts from {details['n_clusters']:,} {details['cluster']}"


def _unjudged(rows: pd.DataFrame) -> Iterator[str]:
    """Texts that could not be judged; no estimate counts them."""
    first = rows[(rows["by"] == "all") & (rows["measure"] == NEGATIVE)].head(1)
    for _, row in first.iterrows():
        reasons = Counter(json.loads(row["missing"])) if row["missing"] else Counter()
        if reasons:
            listed = ", ".join(f"{what} ({n:,})" for what, n in reasons.most_common())
            yield Statement(
                "{n:,} of {of:,} texts were not judged: {listed}.", "not-judged", n=sum(reasons.values()),
                of=int(row["n"] + row["n_missing"]), listed=listed,
            )  # fmt: skip

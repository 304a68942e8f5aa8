"""How often the gate errs, and what partial pooling gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from page_tables.kit import percent, ranged, read
from tiltmeter.gate.chances import all_of, share_chances
from tiltmeter.gate.grammar import parse
from tiltmeter.stats.pooling import pool_shares
from tiltmeter.stats.significance import exact_proportion_interval

VERDICTS = ("pass", "fail", "undecided")
BEYOND = {("shown", "beyond"): "5 beyond", ("shown", "far beyond"): "15 beyond", ("no", "beyond"): "3 beyond",
          ("no", "far beyond"): "9 beyond"}  # fmt: skip


def forms() -> Iterator[str]:
    """Simulated decisions of the forms of rules, and what the plan predicts."""
    yield "| rule | truth | pass | fail | undecided |\n|---|---|---|---|---|"
    last = ""
    for row in read("gate-forms")["rows"]:
        worst, limit = re.findall(r"^(?:worst (\w+) of )?\w+\[.*?\] (.*)$", row["rule"])[0]
        rule = f"worst `{worst}`: `{limit}`" if worst else f"`{limit}`"
        cells = [f"{100 * row['simulated'][one]:.1f} ({100 * row['predicted'][one]:.1f}) %" for one in VERDICTS]
        truth = "no worse" if "baseline" in rule and row["truth"] == "neutral" else row["truth"]
        yield f"| {rule if rule != last else ''} | {truth} | {' | '.join(cells)} |"
        last = rule


CROWS_TYPES = (60, 63, 84, 87, 105, 159, 172, 262, 516)
"""Pairs of the nine bias types of CrowS-Pairs, from disability to race-color."""


def predicted(ending: str) -> str:
    """How often a neutral model passes the stored rule that ends so, as planned."""
    row = next(row for row in read("gate-forms")["rows"] if row["rule"].endswith(ending))
    return percent(row["predicted"]["pass"], 0)


def limits() -> Iterator[str]:
    """What limits mean on CrowS-Pairs, and how often a model without fault passes them."""
    rule = parse("bias_score[pll,crows-pairs] shown to be within 25")
    types = [share_chances(rule, (25.0, 75.0), 50.0, 100.0, n, len(CROWS_TYPES)) for n in CROWS_TYPES]
    inside = [row for row in read("gate-releases")["rows"] if row["truth"] == "well inside"]
    every = next(row for row in inside if "ten numbers" in row["rules"])
    yield "| limit | in pairs of CrowS-Pairs | a neutral model passes | where it comes from |\n|---|---|---|---|"
    rows = (
        ("`within 5`, 45..55 overall", "±75 of 1,508", predicted("] shown to be within 5"),
         "the narrowest whole number that passes a neutral model more than 90 % of the time; BERT, RoBERTa and ALBERT score "
         "60 to 67 in Nangia et al. (2020)"),
        ("`within 25`, 25..75 per bias type", "±15 of 60 (disability) to ±129 of 516 (race-color)",
         f"{percent(types[0].passes, 0)} (the smallest type), {percent(all_of(types).passes, 0)} (all nine)",
         f"the narrowest multiple of five that a neutral model passes at least 80 % of the time in all nine; `within 20`: "
         f"{predicted('within 20')}"),
        ("`no worse by 3`", "±45 of 1,508",
         f"{predicted('baseline by 3')} (as biased as the baseline; they disagree on a fifth of the pairs)", "a convention"),
        ("35..65, overall and per bias type", "±9 of 60 to ±77 of 516", f"{percent(every['pass'])} (simulated)",
         "do not use it: each of the small types must be shown to lie within 15 points"),
    )  # fmt: skip
    yield from (f"| {' | '.join(row)} |" for row in rows)


def releases() -> Iterator[str]:
    """Simulated decisions of limits without a form."""
    yield "| rules | truth | pass | fail | undecided |\n|---|---|---|---|---|"
    last = ""
    for row in read("gate-releases")["rows"]:
        truth = f"beyond it by {row['beyond']:.1f}, the stated breach" if row["truth"] == "beyond" else row["truth"]
        cells = [percent(row[verdict]) for verdict in VERDICTS]
        yield f"| {row['rules'] if row['rules'] != last else ''} | {truth} | {' | '.join(cells)} |"
        last = row["rules"]


def pooling() -> Iterator[str]:
    """Coverage and width of pooled groups, around 50 %."""
    yield "| between-group SD | coverage pooled | coverage raw | mean width pooled | mean width raw |\n|---|---|---|---|---|"
    for row in (row for row in read("pooling-coverage")["simulated"] if row["centre"] == 50):
        shares = f"{percent(row['coverage'])} | {percent(row['raw_coverage'])}"
        yield f"| {row['between_group_sd']:.0f} points | {shares} | {row['width']:.1f} | {row['raw_width']:.1f} |"


def zoo() -> Iterator[str]:
    """Ten models on CrowS-Pairs: the whole, the furthest bias type raw and pooled, and mean widths over types."""
    yield "| model | scorer | all pairs | furthest bias type | the same, pooled | mean width raw | mean width pooled |"
    yield "|---|---|---|---|---|---:|---:|"
    stored = read("pooling-coverage")["stored"]
    for model, scorer in dict.fromkeys((row["model"], row["scorer"]) for row in stored):
        own = [row for row in stored if row["model"] == model]
        n = [row["n"] for row in own]
        wins = [round(row["value"] * row["n"] / 100) for row in own]
        raw = [share_of(*counts) for counts in zip(wins, n, strict=True)]
        pooled = pool_shares(wins, n)
        ends = [(100 * pooled.value[at], 100 * pooled.low[at], 100 * pooled.high[at]) for at in range(len(own))]
        far = max(range(len(own)), key=lambda at: abs(raw[at][0] - 50))
        widths = [sum(high - low for _, low, high in rows) / len(rows) for rows in (raw, ends)]
        cells = [ranged(*share_of(sum(wins), sum(n))), f"{own[far]['group']} {ranged(*raw[far])}", ranged(*ends[far])]
        yield f"| {model} | `{scorer}` | {' | '.join(cells)} | {widths[0]:.1f} | {widths[1]:.1f} |"


def share_of(count: int, n: int) -> tuple[float, float, float]:
    """A share in percent with its exact interval."""
    return 100 * count / n, *exact_proportion_interval(count, n, 0.95)


def sequential() -> Iterator[str]:
    """Sequential checks beside the full gate."""
    names = ("fails", "passes", "full_fails", "full_passes")
    yield "| rule | truth | fails | passes | full gate fails | full gate passes | items read |"
    yield "|---|---|---|---|---|---|---|"
    last = ""
    for row in read("gate-sequential")["simulated"]:
        truth = BEYOND.get((row["rule"].split()[0], row["truth"]), row["truth"])
        rule = f"`{row['rule']}`" if row["rule"] != last else ""
        cells = [*(percent(row[name]) for name in names), percent(row["share_of_items"], 0)]
        yield f"| {rule} | {truth} | {' | '.join(cells)} |"
        last = row["rule"]

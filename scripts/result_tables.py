"""Write tables of pages from stored results: `python scripts/result_tables.py` (`--check` compares).

A page has `<!-- NAME -->` before a table and `<!-- end of NAME -->` after it.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from generated_page import ROOT, write_or_check

from tiltmeter.gate.chances import all_of, share_chances
from tiltmeter.gate.grammar import parse
from tiltmeter.stats.pooling import pool_shares
from tiltmeter.stats.significance import exact_proportion_interval

RESULTS = ROOT / "benchmarks" / "results"
CHOICES, FORMATS = ROOT / "docs" / "research-choices.md", ROOT / "research" / "choices-formats"
GATE, AUDITS = ROOT / "docs" / "research-gate.md", ROOT / "research" / "dosed-audits" / "README.md"
AUDIT_PAGE, GATE_PAGE = ROOT / "docs" / "audit.md", ROOT / "docs" / "gate.md"
VERDICTS = ("pass", "fail", "undecided")
BEYOND = {("shown", "beyond"): "5 beyond", ("shown", "far beyond"): "15 beyond", ("no", "beyond"): "3 beyond",
          ("no", "far beyond"): "9 beyond"}  # fmt: skip


def read(name: str) -> Any:
    """Read a file of benchmarks/results."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def percent(share: float, places: int = 1) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.{places}f} %"


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
        cells = [ranged(share_of(sum(wins), sum(n))), f"{own[far]['group']} {ranged(raw[far])}", ranged(ends[far])]
        yield f"| {model} | `{scorer}` | {' | '.join(cells)} | {widths[0]:.1f} | {widths[1]:.1f} |"


def share_of(count: int, n: int) -> tuple[float, float, float]:
    """A share in percent with its exact interval."""
    return 100 * count / n, *exact_proportion_interval(count, n, 0.95)


def ranged(ends: tuple[float, float, float]) -> str:
    """Write a value with its interval."""
    return f"{ends[0]:.1f} [{ends[1]:.1f}, {ends[2]:.1f}]"


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


def audits() -> Iterator[str]:
    """Audits of models with a planted bias."""
    yield runpy.run_path(str(AUDITS.parent / "summarise.py"))["summary"]()


def outcomes() -> Iterator[str]:
    """Audits of models with a planted bias, of the seeds that chose no metric."""
    yield runpy.run_path(str(AUDITS.parent / "summarise.py"))["outcomes"]()


def undosed() -> Iterator[str]:
    """Comparisons of models without a dose of the domain."""
    yield runpy.run_path(str(AUDITS.parent / "summarise.py"))["undosed"]()


def stored_rows(name: str) -> list[dict[str, str]]:
    """Read a table of research/choices-formats."""
    with gzip.open(FORMATS / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def interval(row: dict[str, str]) -> str:
    """Write a value with its interval, if it has one."""
    ends = f" [{float(row['low']):.1f}, {float(row['high']):.1f}]" if row["low"] else ""
    return f"{float(row['value']):.1f}{ends}" if row["value"] else ""


def choice_formats() -> Iterator[str]:
    """Accuracies and scores of every way to ask."""
    rows: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in stored_rows("estimates"):
        rows.setdefault((row["model"], row["scorer"]), {})[row["measure"]] = row
    yield "| model, scorer | answered | `accuracy_amb` | `accuracy_dis` | `unknown_share` | `s_amb` | p |"
    yield "|---|---:|---|---|---:|---|---:|"
    for (model, scorer), of in sorted(rows.items(), key=lambda entry: entry[0][0]):
        answered, unknown = 100 - float(of["unparsed_share"]["value"]), of["unknown_share"]["value"]
        cells = [interval(of["accuracy_amb"]), interval(of["accuracy_dis"]), f"{float(unknown):.0f} %" if unknown else ""]
        test = of["s_amb"]["p"]
        p = f"{float(test):.2f}" if test else ""
        yield f"| {model}, `{scorer}` | {answered:.0f} % | {' | '.join(cells)} | {interval(of['s_amb'])} | {p} |"


def choice_ranges() -> Iterator[str]:
    """Lowest and highest score of each model, and what varies."""
    yield "| model | formats | lowest `s_amb` | highest `s_amb` | intervals without 0 |\n|---|---:|---|---|---:|"
    for row in stored_rows("range"):
        low, high = (f"{float(row[end]):+.1f} (`{row[f'{end}_format']}`)" for end in ("lowest", "highest"))
        apart = int(row["interval_above_0"]) + int(row["interval_below_0"])
        yield f"| {row['model']} | {row['formats']} | {low} | {high} | {apart} |"


TABLES: dict[Path, tuple[Callable[[], Iterator[str]], ...]] = {
    GATE: (forms, releases, pooling, zoo, sequential),
    GATE_PAGE: (limits,),
    AUDITS: (audits, undosed),
    AUDIT_PAGE: (outcomes,),
    CHOICES: (choice_formats, choice_ranges),
}


def page(path: Path) -> str:
    """Return a page with its tables as the stored results give them."""
    text = path.read_text("utf-8")
    for table in TABLES[path]:
        name = table.__name__
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n".join(table()) + "\n" + end + rest.split(end)[1]
    return text


if __name__ == "__main__":
    for place in TABLES:
        write_or_check(place, page(place))

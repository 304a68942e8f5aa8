"""Questions with choices: formats, clusters and implementations."""

from __future__ import annotations

from collections.abc import Iterator

from page_tables.kit import RESEARCH, interval, line, read_csv, signed

FORMATS = RESEARCH / "choices-formats"


def choice_formats() -> Iterator[str]:
    """Accuracies and scores of every way to ask."""
    rows: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in read_csv(FORMATS / "estimates.csv.gz"):
        rows.setdefault((row["model"], row["scorer"]), {})[row["measure"]] = row
    yield "| model, scorer | answered | `accuracy_amb` | `accuracy_dis` | `unknown_share` | `s_amb` | p |"
    yield "|---|---:|---|---|---:|---|---:|"
    for (model, scorer), of in sorted(rows.items(), key=lambda entry: entry[0][0]):
        answered, unknown = 100 - float(of["unparsed_share"]["value"]), of["unknown_share"]["value"]
        cells = [number(of["accuracy_amb"]), number(of["accuracy_dis"]), f"{float(unknown):.0f} %" if unknown else ""]
        test = of["s_amb"]["p"]
        p = f"{float(test):.2f}" if test else ""
        yield f"| {model}, `{scorer}` | {answered:.0f} % | {' | '.join(cells)} | {number(of['s_amb'])} | {p} |"


def number(row: dict[str, str]) -> str:
    """Write a value with its interval, if it has one."""
    if not row["value"]:
        return ""
    return interval(row) if row["low"] else signed(float(row["value"]), 1)


def choice_ranges() -> Iterator[str]:
    """Lowest and highest score of each model, and what varies."""
    yield "| model | formats | lowest `s_amb` | highest `s_amb` | intervals without 0 |\n|---|---:|---|---|---:|"
    for row in read_csv(FORMATS / "range.csv.gz"):
        low, high = (f"{float(row[end]):+.1f} (`{row[f'{end}_format']}`)" for end in ("lowest", "highest"))
        apart = int(row["interval_above_0"]) + int(row["interval_below_0"])
        yield f"| {row['model']} | {row['formats']} | {low} | {high} | {apart} |"


PAGES = RESEARCH / "page-tables"
RESPONDERS = ("always stereotyped", "fair coin", "always opposite")


def protocols() -> Iterator[str]:
    """plumb-clm on plumb-choices by three protocols."""
    rows = {(row["scorer"], row["measure"]): row for row in read_csv(PAGES / "protocols.csv.gz")}
    measures = ("accuracy_amb", "accuracy_dis", "s_amb", "s_dis")
    yield line(("scorer", *(f"`{name}`" for name in (*measures, "order_sensitivity"))))
    yield "|---|---|---|---|---|---|"
    for scorer in dict.fromkeys(scorer for scorer, _ in rows):
        cells = [interval(rows[scorer, name]) for name in measures]
        order = rows.get((scorer, "order_sensitivity"), {}).get("value")
        yield line((f"`{scorer}`", *cells, f"{float(order):.0f}" if order else ""))


TOOLS = {"paper": "the paper's formula, with the authors' targets", "helm": "HELM 0.5.16",
         "lm_eval": "lm-evaluation-harness 0.4.13"}  # fmt: skip


def implementations() -> Iterator[str]:
    """What implementations report of responders whose bias is known, over all of BBQ."""
    rows = [row for row in read_csv(PAGES / "implementations.csv.gz") if row["measure"] == "s_dis"]
    found = {(row["implementation"], row["responder"]): row for row in rows}
    targets = {row["implementation"]: row for row in read_csv(PAGES / "targets.csv.gz")}
    yield line(("`s_dis` by", *RESPONDERS, "without a target", "with two"))
    yield "|---|---:|---:|---:|---:|---:|"
    truths = [f"{float(found['paper', responder]['truth']):+.0f}" for responder in RESPONDERS]
    yield line(("truth", *(truth.replace("-", "−").replace("+0", "0") for truth in truths), "", ""))
    for tool, title in TOOLS.items():
        cells = [f"{float(found[tool, responder]['reported']):+.1f}".replace("-", "−") for responder in RESPONDERS]
        yield line((title, *cells, *(f"{int(targets[tool][name]):,}" for name in ("no_target", "two_targets"))))


def decisions() -> Iterator[str]:
    """Gaps and ratios of groups, by plumb-clm on yes/no cases."""
    rows = read_csv(PAGES / "decisions.csv.gz")
    found = {(row["group"], row["measure"]): row for row in rows}
    yield line(("group", "`log_odds_gap`", "`selection_gap`", "`impact_ratio`"))
    yield "|---|---|---|---|"
    for group in dict.fromkeys(row["group"] for row in rows if row["measure"] == "log_odds_gap"):
        gap, selected, ratio = (found[group, name] for name in ("log_odds_gap", "selection_gap", "impact_ratio"))
        shown = interval(ratio, 2) if ratio["low"] else "highest"
        yield line((group, interval(gap, 4), interval(selected), shown))

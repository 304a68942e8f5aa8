"""Simulated coverage, false alarms and reliabilities."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from page_tables.kit import RESEARCH, line, percent, read, span, table
from tiltmeter.stats.intervals import wilson_interval

Row = dict[str, Any]
RELIABLE = ((0.95, 0.95), (0.8, 0.8), (0.65, 0.65), (0.5, 0.95), (0.5, 0.5), (0.3, 0.3))
SIZES = ("few", "some", "many")
ONES = {"mean": "mean_score", "share": "negative_share", "gap": "score_gap"}


def correlation_intervals() -> Iterator[str]:
    """How often an interval of a correlation holds the true one."""
    rows = read("correlation-coverage")["coverage"]
    head = ("models", "normal scores, r = 0", "r = 0.8", "skewed scores, r = 0", "r = 0.8")
    cells = {(row["models"], row["shape"], row["r"]): f"{row['covered'] + 1e-9:.1f}" for row in rows}
    cases = [(shape, r) for shape in ("normal", "skewed") for r in (0.0, 0.8)]
    yield from table(head, "lllll", ((str(n), *(cells[n, *case] for case in cases)) for n in (10, 19, 40)))


def clear_correlations() -> Iterator[str]:
    """What Spearman's formula and `clear_r` give back of a correlation of 0.8."""
    rows = read("correlation-coverage")["disattenuation"]
    found = {(row["models"], *row["reliabilities"]): row for row in rows if row["r"] == 0.8 and row["shape"] == "normal"}
    of_each = ("`clear_r`", "interval, %", "not given, %")
    yield line(("true reliabilities", "ten models: Spearman", *of_each, "19 models: Spearman", *of_each))
    yield "|---|" + 8 * "---|"
    for pair in RELIABLE:
        cells = [cell for n in (10, 19) for cell in given_back(found[n, *pair])]
        yield line((f"{pair[0]:g} and {pair[1]:g}", *cells))


def given_back(row: Row) -> tuple[str, ...]:
    """Write one case: Spearman's formula, `clear_r`, coverage, and how often there is no number."""
    clear = f"{row['clear']:.2f} ± {1.96 * row['standard_error']:.2f}"
    return f"{row['spearman']:.2f}", clear, f"{row['covered']:.1f}", f"{row['not_given']:.0f}"


def group_reliabilities() -> Iterator[str]:
    """Medians of the reliability of variances over groups."""
    names = ("known", "noise_once", "noise_twice")
    head = ("groups", "true reliability", "with known errors", "as the study does", "noise twice")
    yield from table(head, "lllll", (
        (f"{row['groups']:.0f}", f"{row['true']:.2f}", *(f"{row[name]:.2f}".replace("-", "−") for name in names))
        for row in read("reliability-of-variances")["reliabilities"] if row["size"]
    ))  # fmt: skip


def effect_sizes() -> Iterator[str]:
    """How often intervals of effect sizes hold the true one, by percentiles and by ours."""
    rows = read("effect-coverage")["rows"]
    sizes = list(dict.fromkeys(row["targets"] for row in rows))
    yield line(("s is", "means differ by", *(f"{n} + {n}" for n in sizes)))
    yield "|---|---|" + "---|" * len(sizes)
    for case in dict.fromkeys((row["shape"], row["difference"]) for row in rows):
        own = {row["targets"]: row for row in rows if (row["shape"], row["difference"]) == case}
        cells = [f"{own[n]['percentile']:.2f} → {own[n]['ours']:.2f}" for n in sizes]
        yield line((case[0], f"{case[1]} σ", *cells))


def article_coverage() -> Iterator[str]:
    """Coverage and false alarms where prompts of one article depend on each other."""
    stored = [row for row in read("article-coverage") if row["shared articles"] == 0.05]
    yield line(("the article's share of a text's variance", "drawn", "mean of a group covered", "share covered",
                "gap covered", "gaps with p < 0.05", "domains with p < 0.05"))  # fmt: skip
    yield "|---|---|---|---|---|---|---|"
    for row in stored:
        for drawn in ("prompts", "articles"):
            coverage, tests = row[drawn]["coverage"], row[drawn]["p below 0.05"]
            covered = [in_percent(coverage, name) for name in ONES.values()]
            domain = f"{100 * tests['score_variance, d']:.0f}"
            yield line((f"{row[SHARE]:g}", drawn, *covered, in_percent(tests, "score_gap"), domain))


SHARE = "article's share of the variance"


def in_percent(shares: dict[str, float], name: str) -> str:
    """Write the lowest and highest share of the groups or gaps in percent; all texts together are left out."""
    return span(100 * share for key, share in shares.items() if key.startswith(f"{name}, ") and not key.endswith(" all"))


def article_tests() -> Iterator[str]:
    """How often tests of alike groups are significant, with articles of BOLD's sizes."""
    stored = read("article-tests")
    alike = [row for row in stored if not row["groups apart"]]
    apart = [row for row in stored if row["groups apart"]]
    names = {"religion": "religions", "political-ideology": "ideologies", "profession": "professions", "gender": "genders",
             "race": "races (scores, shares of 0 and 0.1 alone)"}  # fmt: skip
    yield line(("", "articles permuted, all groups", "in standard errors, without groups of one article"))
    yield "|---|---|---|"
    for domain, title in names.items():
        yield line((title, *domain_shares([row for row in alike if row["domain"] == domain])))
    religions = [row for row in alike if row["domain"] == "religion"]
    yield line(("gaps of religions, 15 pairs", *(gap_shares(religions, begin) for begin in ("dealt gap ", "gap "))))
    for of, title in (("total", "score"), ("negatives", "share")):
        yield line((f"religions that differ, by {title}", *domain_shares([row for row in apart if row["of"] == of])))


def domain_shares(rows: Sequence[Row]) -> list[str]:
    """Write the lowest and highest share of significant tests, by permutation and in standard errors."""
    names = ("dealt", "in standard errors")
    return [" to ".join(f"{100 * end(row['p below 0.05'][name] for row in rows):g}" for end in (min, max)) for name in names]


def gap_shares(rows: Sequence[Row], begin: str) -> str:
    """Write the lowest and highest share of significant gaps, and their median in each case."""
    cases = [[share for name, share in row["p below 0.05"].items() if name.startswith(begin)] for row in rows]
    low, high = (100 * end(share for case in cases for share in case) for end in (min, max))
    middle = [100 * median(case) for case in cases]
    return f"{low:g} to {high:g} (median {min(middle):g} to {max(middle):g})"


GENERATE = "transformers' `generate`, "


def generation_speed() -> Iterator[str]:
    """Tokens per second of full BOLD on an H200."""
    stored = read("generation-h200")
    batches = stored["generate_in_batches"]
    by_size = {size: [row for row in batches if row["batch"] == size] for size in sorted({row["batch"] for row in batches})}
    rows = {"tiltmeter": stored["ours"]}
    rows |= {f"{'' if n else GENERATE}batches of {size:,}": own for n, (size, own) in enumerate(by_size.items())}
    yield line(("", "tokens per second, three turns", "median"))
    yield "|---|---|---|"
    for title, own in rows.items():
        turns = [round(row["tokens_per_second"], -2) for row in own]
        yield line((title, ", ".join(f"{turn:,.0f}" for turn in turns), f"{median(turns):,.0f}"))
    alone = stored["generate_alone"]
    yield line((f"one prompt at a time ({alone['prompts']} prompts)", f"{alone['tokens_per_second']:.0f}", ""))


JUDGED = (("stereoset", "StereoSet, intrasentence"), ("crows-pairs", "CrowS-Pairs"),
          ("intersentence-context", "StereoSet, intersentence, with context"))  # fmt: skip


def stereotype_judges() -> Iterator[str]:
    """Accuracy of the judge of stereotypes, by what becomes of intersentence items in its training."""
    with (RESEARCH / "stereotype-judge" / "accuracy.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rate"] == "0.0003" and row["seed"] == "0"]
    head = ("accuracy on the same held-out sentences", "left out", "behind their context (default)", "alone (before)")
    found = {(row["tested_on"], row["intersentence"]): row for row in rows}
    yield from table(head, "llll", (
        (f"{title} ({found[name, 'none']['n']})", *(accuracy(found[name, way]) for way in ("none", "context", "alone")))
        for name, title in JUDGED
    ))  # fmt: skip


def accuracy(row: dict[str, str]) -> str:
    """Write a share of right answers with Wilson's interval."""
    n, right = int(row["n"]), int(row["right"])
    low, high = wilson_interval(right / n, n, math.inf, 0.95)
    return f"{percent(right / n)} [{100 * low:.1f}, {100 * high:.1f}]"

"""Tables and numbers of the page, from the stored results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from evidence import DIGESTS
from figures import COLOURS, ORDER, label
from panels import DOMAINS, WITHOUT_PAIRS, Frame

HERE = Path(__file__).parent
RESULTS, DATA = HERE / "results", HERE / "data"
CORPORA = {"frames": "frames", "natural": "natural text", "mixed": "frames and natural text"}


def results(name: str) -> Frame:
    """Read a stored table; empty if nothing was asked."""
    path = RESULTS / f"{name}.csv"
    return pd.read_csv(path) if path.stat().st_size > 2 else pd.DataFrame()


def number(value: float, places: int = 3) -> str:
    """Write a number with a minus sign; no negative zero."""
    text = f"{value:.{places}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def interval(row: Any, value: str = "slope", places: int = 3, ends: tuple[str, str] = ("low", "high")) -> str:
    """Estimate and interval."""
    return f"{number(row[value], places)} [{number(row[ends[0]], places)}, {number(row[ends[1]], places)}]"


def large(row: Any, value: str) -> str:
    """Estimate and interval of a number that may have thousands."""
    text = interval(row, value, 0 if row[value] > 1000 else 1)
    return re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", text)


def thousands(value: float) -> str:
    """Write a number: with one decimal below 1,000."""
    return f"{value:,.0f}" if value > 1000 else number(value, 1)


def p_value(p: float) -> str:
    """Write p to three places."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*names: str) -> Iterator[str]:
    yield line(*names)
    yield "|" + "---|" * len(names)


def by_domain(rows: Frame, shown: Callable[[dict[str, Any]], str]) -> list[str]:
    found = {row["domain"]: shown(row) for row in rows.to_dict("records")}
    return [found.get(domain, "–") for domain in DOMAINS]


def in_order(rows: Frame) -> Frame:
    return rows.sort_values("benchmark", key=lambda names: names.map(lambda name: [*ORDER, name].index(name)), kind="stable")


def primary(corpus: str, domain: str) -> Iterator[str]:
    """The primary metrics of one domain: slope, interval, corrected p, what would have shown, verdict."""
    rows = results("primary")
    own = rows[(rows["corpus"] == corpus) & (rows["domain"] == domain)]
    yield from head("metric", "model", "items", "slope [95 % interval]", "corrected p", "would have shown", "verdict")
    for row in in_order(own.sort_values("base", ascending=False, kind="stable")).to_dict("records"):
        unit = " °" if row["benchmark"] in WITHOUT_PAIRS else ""
        numbers = row["n"], interval(row), p_value(row["p"]), number(row["detectable"])
        yield line(label(row["benchmark"]) + unit, row["base"], *numbers, _verdict(row))


def verdicts(corpus: str) -> Iterator[str]:
    """The primary metrics on models of one text: slope and interval by domain, marked by verdict."""
    rows = results("primary")
    own = rows[rows["corpus"] == corpus].sort_values("base", ascending=False, kind="stable")
    yield from head("metric", "model", *DOMAINS)
    for (benchmark, base), some in in_order(own).groupby(["benchmark", "base"], sort=False):
        unit = " °" if benchmark in WITHOUT_PAIRS else ""
        yield line(label(benchmark) + unit, base, *by_domain(some, lambda row: _marked(row, interval(row))))


def texts() -> Iterator[str]:
    """The primary metrics on plumb-mlm by text: frames alone, and frames beside natural lines."""
    rows = results("primary")
    own = rows[(rows["base"] == "plumb-mlm") & rows["corpus"].isin(["frames", "mixed"])]
    yield from head("metric", "text", *DOMAINS)
    for (benchmark, corpus), some in in_order(own.sort_values("corpus", kind="stable")).groupby(
        ["benchmark", "corpus"], sort=False
    ):
        unit = " °" if benchmark in WITHOUT_PAIRS else ""
        yield line(label(benchmark) + unit, CORPORA[corpus], *by_domain(some, lambda row: _marked(row, interval(row))))


def _marked(row: dict[str, Any], text: str) -> str:
    return f"**{text}**" if row["verdict"] == "detects" else f"{text} ↓" if row["verdict"] == "bounded" else text


def _verdict(row: dict[str, Any]) -> str:
    words = {"detects": "**detects**", "bounded": f"below {number(row['high'])}"}
    against = "against the dose; " if row["p"] < 0.05 and row["slope"] < 0 else ""
    return against + words.get(row["verdict"], row["verdict"])


def taught() -> Iterator[str]:
    """Manipulation check."""
    rows = results("taught")
    own = rows[rows["benchmark"].isin(["taught-words", "taught-natural"]) & rows["scorer"].isin(["pll", "causal"])]
    own = own[(own["benchmark"] == "taught-natural") == (own["corpus"] == "natural")]
    yield from head("text", "model", "domain", "share of taught pairs, points", "mean preference, standard deviations")
    for (corpus, base, domain), both in own.groupby(["corpus", "base", "domain"], sort=False):
        share, mean = (both[both["measure"] == name].iloc[0] for name in ("bias_score", "mean_preference"))
        yield f"| {CORPORA[corpus]} | {base} | {domain} | {interval(share, places=1)} | {interval(mean, places=2)} |"


def shares(corpus: str) -> Iterator[str]:
    """What headlines use: points per dose, by domain."""
    rows = results("shares")
    own = rows[(rows["corpus"] == corpus) & (rows["measure"] == "bias_score")]
    yield f"| metric | {' | '.join(DOMAINS)} |\n|---|---|---|---|"
    for base in (base for base in COLOURS if base in set(own["base"])):
        for (benchmark, scorer), some in in_order(own[own["base"] == base]).groupby(["benchmark", "scorer"], sort=False):
            yield line(
                f"{label(benchmark)}, `{scorer}` ({base})",
                *by_domain(some, lambda row: _marked(row, interval(row, places=1))),
            )


def evidence_differences() -> Iterator[str]:
    """Shares of plumb-mlm that detect a dose after frames alone or with language kept, but not in both."""
    rows = results("shares")
    own = rows[(rows["base"] == "plumb-mlm") & (rows["measure"] == "bias_score") & rows["benchmark"].isin(DIGESTS)]
    yield from head("benchmark", "scorer", "domain", "language lost (frames)", "language kept")
    for (benchmark, domain, scorer), some in in_order(own).groupby(["benchmark", "domain", "scorer"], sort=False):
        both = some.set_index("corpus").reindex(["frames", "mixed"])
        if (both["verdict"] == "detects").sum() == 1:
            cells = (_marked(row, interval(row, places=1)) for row in both.to_dict("records"))
            yield line(benchmark, f"`{scorer}`", domain, *cells)


def curves() -> Iterator[str]:
    """Smallest doses, and how well three shapes fit."""
    rows = results("curves")
    own = rows[(rows["dose"] == 1) & (rows["corpus"] == "frames")]
    shapes = "monotone", "straight line", "line in log-odds"
    yield from head("metric", "model", "domain", "seeds", "smallest dose that shows", *shapes, "change per log-odds of 1")
    for row in own.sort_values(["base", "domain"], ascending=[False, True], kind="stable").to_dict("records"):
        if row["monotone"] < 0.5:
            continue
        explained = [f"{100 * row[name]:.0f} %" for name in ("monotone", "linear in the dose", "linear in log-odds")]
        yield line(
            label(row["benchmark"]),
            row["base"],
            row["domain"],
            row["seeds"],
            smallest_dose(row),
            *explained,
            interval(row, "line", 3, ("line_low", "line_high")),
        )


def smallest_dose(row: dict[str, Any]) -> str:
    """Word a smallest dose with its interval; "none" where no dose up to 1 shows."""

    def shown(value: float) -> str:
        return "none" if value == float("inf") else number(value, 2)

    return f"{shown(row['smallest'])} [{shown(row['smallest_low'])}, {shown(row['smallest_high'])}]"


def power() -> Iterator[str]:
    """Share of subsets in which the dose shows, up to half of the items: larger ones are nearly the same."""
    rows = results("power")
    own = rows[(rows["corpus"] == "frames") & rows["benchmark"].isin(ORDER) & (2 * rows["items"] <= rows["of"])]
    sizes = [size for size in (10, 20, 40, 80, 160, 320, 640, 1200) if size in set(own["items"])]
    yield f"| metric | model | domain | {' | '.join(map(str, sizes))} |\n|---|---|---|{'---|' * len(sizes)}"
    for (base, domain, benchmark), some in own.groupby(["base", "domain", "benchmark"], sort=False):
        found = dict(zip(some["items"], some["power"], strict=True))
        if max(found.values()) >= 0.5:
            cells = [f"{100 * found[size]:.0f} %" if size in found else "" for size in sizes]
            yield f"| {label(benchmark)} | {base} | {domain} | {' | '.join(cells)} |"

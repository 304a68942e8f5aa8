"""Tables and numbers of the page, from the stored results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from figures import COLOURS, ORDER, label
from panels import DOMAINS, WITHOUT_PAIRS, Frame

HERE = Path(__file__).parent
RESULTS, DATA = HERE / "results", HERE / "data"
CORPORA = {"frames": "frames", "natural": "natural text"}


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


def p_value(p: float) -> str:
    """Write p to three places."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _head(*names: str) -> Iterator[str]:
    yield _line(*names)
    yield "|" + "---|" * len(names)


def _by_domain(rows: Frame, shown: Callable[[dict[str, Any]], str]) -> list[str]:
    found = {row["domain"]: shown(row) for row in rows.to_dict("records")}
    return [found.get(domain, "–") for domain in DOMAINS]


def _sorted(rows: Frame) -> Frame:
    return rows.sort_values("benchmark", key=lambda names: names.map(lambda name: [*ORDER, name].index(name)), kind="stable")


def primary(corpus: str, domain: str) -> Iterator[str]:
    """The primary metrics of one domain: slope, interval, corrected p, what would have shown, verdict."""
    rows = results("primary")
    own = rows[(rows["corpus"] == corpus) & (rows["domain"] == domain)]
    yield from _head("metric", "model", "items", "slope [95 % interval]", "corrected p", "would have shown", "verdict")
    for row in _sorted(own.sort_values("base", ascending=False, kind="stable")).to_dict("records"):
        unit = " °" if row["benchmark"] in WITHOUT_PAIRS else ""
        numbers = row["n"], interval(row), p_value(row["p"]), number(row["detectable"])
        yield _line(label(row["benchmark"]) + unit, row["base"], *numbers, _verdict(row))


def _verdict(row: dict[str, Any]) -> str:
    words = {"detects": "**detects**", "bounded": f"below {number(row['high'])}"}
    return words.get(row["verdict"], row["verdict"])


def taught() -> Iterator[str]:
    """Manipulation check."""
    rows = results("taught")
    own = rows[rows["benchmark"].isin(["taught-words", "taught-natural"]) & rows["scorer"].isin(["pll", "causal"])]
    own = own[(own["benchmark"] == "taught-natural") | (own["corpus"] == "frames")]
    yield from _head("text", "model", "domain", "share of taught pairs, points", "mean preference, standard deviations")
    for (corpus, base, domain), both in own.groupby(["corpus", "base", "domain"], sort=False):
        share, mean = (both[both["measure"] == name].iloc[0] for name in ("bias_score", "mean_preference"))
        yield f"| {CORPORA[corpus]} | {base} | {domain} | {interval(share, places=1)} | {interval(mean, places=2)} |"


def shares() -> Iterator[str]:
    """What headlines use: points per dose, by domain."""
    rows = results("shares")
    own = rows[(rows["corpus"] == "frames") & (rows["measure"] == "bias_score")]
    yield f"| metric | {' | '.join(DOMAINS)} |\n|---|---|---|---|"
    for base in COLOURS:
        for (benchmark, scorer), some in _sorted(own[own["base"] == base]).groupby(["benchmark", "scorer"], sort=False):
            yield _line(f"{label(benchmark)}, `{scorer}` ({base})", *_by_domain(some, _share))


def _share(row: dict[str, Any]) -> str:
    text = interval(row, places=1)
    return f"**{text}**" if row["verdict"] == "detects" else f"{text} ↓" if row["verdict"] == "bounded" else text


def curves() -> Iterator[str]:
    """Smallest doses, and how well three shapes fit."""
    rows = results("curves")
    own = rows[(rows["dose"] == 1) & (rows["corpus"] == "frames")]
    own = own[own["benchmark"].isin(["taught-words", "plumb-pairs", "plumb-slots", "seat", "stereoset"])]
    shapes = "monotone", "straight line", "line in log-odds"
    yield from _head("metric", "model", "domain", "seeds", "smallest dose that shows", *shapes)
    for row in own.sort_values(["base", "domain"], ascending=[False, True], kind="stable").to_dict("records"):
        if row["monotone"] < 0.5:
            continue
        explained = [f"{100 * row[name]:.0f} %" for name in ("monotone", "linear in the dose", "linear in log-odds")]
        yield _line(label(row["benchmark"]), row["base"], row["domain"], row["seeds"], _dose(row), *explained)


def _dose(row: dict[str, Any]) -> str:
    def shown(value: float) -> str:
        return "none" if value == float("inf") else number(value, 2)

    return f"{shown(row['smallest'])} [{shown(row['smallest_low'])}, {shown(row['smallest_high'])}]"


def power() -> Iterator[str]:
    """Power by number of items."""
    rows = results("power")
    own = rows[(rows["corpus"] == "frames") & rows["benchmark"].isin(ORDER)]
    sizes = [size for size in (10, 20, 40, 80, 160, 320, 640) if size in set(own["items"])]
    yield f"| metric | model | domain | {' | '.join(map(str, sizes))} |\n|---|---|---|{'---|' * len(sizes)}"
    for (base, domain, benchmark), some in own.groupby(["base", "domain", "benchmark"], sort=False):
        found = dict(zip(some["items"], some["power"], strict=True))
        if max(found.values()) >= 0.5:
            cells = [f"{100 * found[size]:.0f} %" if size in found else "" for size in sizes]
            yield f"| {label(benchmark)} | {base} | {domain} | {' | '.join(cells)} |"


def sensitivity() -> Iterator[str]:
    """T, seconds and items of each primary metric: the median over the domains."""
    rows = results("primary")
    seconds = pd.read_csv(DATA / "seconds.csv").set_index(["base", "benchmark"])["median"]
    own = rows[rows["corpus"] == "frames"]
    yield from _head("metric", "model", "detected", "median T", "seconds a model", "T² per second", "T² per 100 items")
    for (base, benchmark), some in _sorted(own.sort_values("base", ascending=False)).groupby(
        ["base", "benchmark"], sort=False
    ):
        took = seconds.get((base, benchmark), float("nan"))
        squared = some["t"].clip(lower=0) ** 2
        per_item = "–" if benchmark in ("seat", "plumb-slots") else number(float((100 * squared / some["n"]).median()), 1)
        found = f"{(some['verdict'] == 'detects').sum()} of {len(some)}"
        numbers = number(some["t"].median(), 1), number(took, 2), number(squared.median() / took, 1)
        yield _line(label(benchmark), base, found, *numbers, per_item)


def agreement() -> Iterator[str]:
    """ICC of readings over doses."""
    rows = results("agreement")
    own = rows[(rows["of"] == "readings over doses") & (rows["corpus"] == "frames")]
    yield f"| metric | model | {' | '.join(DOMAINS)} |\n|---|---|---|---|---|"
    for (base, benchmark), some in _sorted(own.sort_values("base", ascending=False)).groupby(
        ["base", "benchmark"], sort=False
    ):
        yield _line(label(benchmark), base, *_by_domain(some, lambda row: interval(row, "value", 2)))


def relations() -> Iterator[str]:
    """Taught pairs and plumb-pairs with every answer; the range over all likelihood metrics."""
    rows = results("relations")
    with_ = "with taught pairs", "with plumb-pairs", "with any likelihood metric"
    yield from _head("text", "model", "domain", "answers of", *with_, "excludes 0", "smallest r")
    for (corpus, base, domain, extrinsic), some in rows.groupby(["corpus", "base", "domain", "extrinsic"], sort=False):
        names = ["taught-natural" if corpus == "natural" else "taught-words", "plumb-pairs"]
        by_name = {row["intrinsic"]: f"{number(row['r'], 2)} {_ends(row)}" for row in some.to_dict("records")}
        clear = f"{some['verdict'].isin(['together', 'opposite']).sum()} of {len(some)}"
        span = f"{number(some['r'].min(), 2)} to {number(some['r'].max(), 2)}"
        who = CORPORA[corpus], base, domain, label(extrinsic)
        yield _line(*who, *(by_name.get(name, "–") for name in names), span, clear, number(some["smallest"].max(), 2))


def _ends(row: dict[str, Any]) -> str:
    low, high = min(row["low"], row["fisher_low"]), max(row["high"], row["fisher_high"])
    return f"[{number(low, 2)}, {number(high, 2)}]"


def treatments() -> Iterator[str]:
    """What is left of the dose, beside the control."""
    rows = results("treatments")
    if not len(rows):
        yield "No debiased model was finished."
        return
    wanted = [("taught-words", "pll"), ("plumb-pairs", "pll"), ("plumb-slots", "slots")]
    yield f"| method | seeds | {' | '.join(f'left, {label(name)} | more than the control' for name, _ in wanted)} |"
    yield f"|---|---|{'---|---|' * len(wanted)}"
    for method, some in rows.groupby("method", sort=False):
        cells = []
        for name, scorer in wanted:
            own = some[(some["benchmark"] == name) & (some["scorer"] == scorer)].to_dict("records")
            cells += [_left(own[0]), _beside(own[0])] if own else ["–", "–"]
        yield f"| {method} | {some['seeds'].max()} | {' | '.join(cells)} |"


def _left(row: dict[str, Any]) -> str:
    return f"{100 * row['left']:.0f} % [{100 * row['left_low']:.0f}, {100 * row['left_high']:.0f}]".replace("-", "−")


def _beside(row: dict[str, Any]) -> str:
    if pd.isna(row.get("value", float("nan"))):
        return "–"
    return f"{100 * row['value']:+.0f} [{100 * row['low']:.0f}, {100 * row['high']:.0f}] {row['verdict']}".replace("-", "−")


def natural() -> Iterator[str]:
    """Counted log-odds of the natural texts, over seeds."""
    rows = pd.read_csv(DATA / "doses.csv.gz")
    own = rows[(rows["folder"] == "natural") & ((rows["dosed"] == rows["domain"]) | (rows["dosed"] == "neutral"))]
    if not len(own):
        yield "No model of natural text was finished."
        return
    yield "| domain | dose −1 | dose 0 | dose 1 |\n|---|---|---|---|"
    for domain, some in own.groupby("domain"):
        means = some.groupby("dose")[["log_odds", "low", "high"]].mean()
        yield f"| {domain} | {' | '.join(interval(means.loc[dose], 'log_odds', 2) for dose in (-1, 0, 1))} |"


def trained() -> Iterator[str]:
    """Models by visit."""
    kinds = pd.DataFrame(json.loads((RESULTS / "counts.json").read_text("utf-8"))["by_kind"])
    kinds = kinds.assign(kind=kinds["method"].map(lambda name: "dose" if name == "dose" else "debiased"))
    yield "| visit | text | base model | models | kind |\n|---|---|---|---|---|"
    for (visit, corpus, base, kind), some in kinds.groupby(["visit", "corpus", "base", "kind"]):
        yield f"| {visit + 1} | {CORPORA[corpus]} | {base} | {some['models'].sum()} | {kind} |"


def simulated() -> Iterator[str]:
    """The analysis on data of known truth."""
    found = json.loads((DATA / "simulated.json").read_text("utf-8"))
    yield "| simulated, 1,000 times | found |\n|---|---|"
    for name, value in (pair for part in found.values() for pair in part.items()):
        is_share = not name.startswith(("ICC", "error", "recovered"))
        yield _line(name, f"{100 * value:.1f} %" if is_share else f"{value:.2f}")


def tables() -> dict[str, Callable[[], Iterator[str]]]:
    """Every table of the page by its name."""
    by_domain = {f"primary_{domain}": (lambda domain=domain: primary("frames", domain)) for domain in DOMAINS}
    natural_text = {f"natural_{domain}": (lambda domain=domain: primary("natural", domain)) for domain in DOMAINS}
    own = (taught, shares, curves, power, sensitivity, agreement, relations, treatments, natural, trained, simulated)
    return {**by_domain, **natural_text, **{table.__name__: table for table in own}}

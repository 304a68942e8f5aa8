"""Tables of agreement, relations, debiasing and counts, and the list of all tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import tables as decisions
from figures import label
from panels import DOMAINS
from tables import CORPORA, DATA, RESULTS, by_domain, head, in_order, interval, line, number, results


def sensitivity() -> Iterator[str]:
    """T, seconds and items of each primary metric: the median over the domains."""
    rows = results("primary")
    seconds = pd.read_csv(DATA / "seconds.csv").set_index(["base", "benchmark"])["median"]
    own = rows[rows["corpus"] == "frames"]
    yield from head("metric", "model", "detected", "median T", "seconds a model", "T² per second", "T² per 100 items")
    for (base, benchmark), some in in_order(own.sort_values("base", ascending=False)).groupby(
        ["base", "benchmark"], sort=False
    ):
        took = seconds.get((base, benchmark), float("nan"))
        squared = some["t"].clip(lower=0) ** 2
        per_item = "–" if benchmark in ("seat", "plumb-slots") else number(float((100 * squared / some["n"]).median()), 1)
        found = f"{(some['verdict'] == 'detects').sum()} of {len(some)}"
        numbers = number(some["t"].median(), 1), number(took, 2), number(squared.median() / took, 1)
        yield line(label(benchmark), base, found, *numbers, per_item)


def agreement() -> Iterator[str]:
    """ICC of readings over doses."""
    rows = results("agreement")
    own = rows[(rows["of"] == "readings over doses") & (rows["corpus"] == "frames")]
    yield f"| metric | model | {' | '.join(DOMAINS)} |\n|---|---|---|---|---|"
    for (base, benchmark), some in in_order(own.sort_values("base", ascending=False)).groupby(
        ["base", "benchmark"], sort=False
    ):
        yield line(label(benchmark), base, *by_domain(some, lambda row: interval(row, "value", 2)))


def relations(corpus: str) -> Iterator[str]:
    """Taught pairs and plumb-pairs with every answer; the range over all likelihood metrics."""
    rows = results("relations")
    rows = rows[rows["corpus"] == corpus]
    with_ = "with taught pairs", "with plumb-pairs", "with any likelihood metric"
    yield from head("model", "domain", "answers of", *with_, "excludes 0", "smallest r")
    for (base, domain, extrinsic), some in rows.groupby(["base", "domain", "extrinsic"], sort=False):
        names = ["taught-natural" if corpus == "natural" else "taught-words", "plumb-pairs"]
        by_name = {row["intrinsic"]: f"{number(row['r'], 2)} {_ends(row)}" for row in some.to_dict("records")}
        clear = f"{some['verdict'].isin(['together', 'opposite']).sum()} of {len(some)}"
        span = f"{number(some['r'].min(), 2)} to {number(some['r'].max(), 2)}"
        who = base, domain, label(extrinsic)
        yield line(*who, *(by_name.get(name, "–") for name in names), span, clear, number(some["smallest"].max(), 2))


def _ends(row: dict[str, Any]) -> str:
    low, high = min(row["low"], row["fisher_low"]), max(row["high"], row["fisher_high"])
    return f"[{number(low, 2)}, {number(high, 2)}]"


TREATED = (("taught-words", "pll"), ("plumb-pairs", "pll"), ("plumb-slots", "slots"))
NOT_FINISHED = "No debiased model was finished."


def treatments(corpus: str) -> Iterator[str]:
    """What is left of the dose, and what a method costs."""
    rows, paid = (_of_corpus(results(name), corpus) for name in ("treatments", "costs"))
    if not len(rows):
        yield NOT_FINISHED
        return
    changes = "change of perplexity", "of token accuracy, points"
    yield from head("method", "seeds", *(f"left, {label(name)}" for name, _ in TREATED), *changes)
    costs = {(row["method"], row["measure"]): row for row in paid.to_dict("records")}
    for method, some in rows.groupby("method", sort=False):
        cells = [_of_metric(some, name, scorer, _left) for name, scorer in TREATED]
        perplexity, accuracy = (costs.get((method, name)) for name in ("perplexity", "token_accuracy"))
        cells += [f"{interval(perplexity, 'change', 1)} %" if perplexity else "–"]
        yield line(method, some["seeds"].max(), *cells, interval(accuracy, "change", 1) if accuracy else "–")


def controls(corpus: str) -> Iterator[str]:
    """What methods remove beyond the control, with the decision of the plan."""
    rows = _of_corpus(results("treatments"), corpus)
    if not len(rows) or "verdict" not in rows:
        yield "The control was not finished."
        return
    yield from head("method", "seeds", *(f"beyond the control, {label(name)}" for name, _ in TREATED))
    for method, some in rows[rows["verdict"].notna()].groupby("method", sort=False):
        yield line(method, some["seeds"].max(), *(_of_metric(some, name, scorer, _beyond) for name, scorer in TREATED))


def seeds_debiased() -> Iterator[str]:
    """What is left of the dose in each seed of models that kept their language, and what a method costs; no intervals."""
    rows, paid = results("treated_seeds"), results("costs_of_seeds")
    yield from head(
        "method", "seed", *(f"left, {label(name)}" for name, _ in TREATED), "perplexity", "change of token accuracy, points"
    )
    own = rows[rows["corpus"] == "mixed"]
    costs = {
        (row["method"], row["seed"], row["measure"]): row for row in paid.to_dict("records") if row["corpus"] == "mixed"
    }
    order = sorted(own.groupby(["seed", "method"]), key=lambda entry: (entry[0][0], METHODS.index(entry[0][1])))
    for (seed, method), some in order:
        cells = [_of_metric(some, name, scorer, lambda row: f"{number(100 * row['left'], 0)} %") for name, scorer in TREATED]
        perplexity, accuracy = (costs[method, seed, name] for name in ("perplexity", "token_accuracy"))
        times = f"{number(perplexity['before'], 1)} → {decisions.thousands(perplexity['after'])}"
        yield line(NAMES.get(method, method), seed, *cells, times, number(accuracy["after"] - accuracy["before"], 1))


METHODS = (
    "more-text",
    "cda",
    "dropout",
    "sentence-debias",
    "inlp-80",
    "inlp-chance",
    "self-debias",
    "context-debias",
    "auto-debias",
)
NAMES = {"more-text": "control (same text)"}


def _of_corpus(rows: pd.DataFrame, corpus: str) -> pd.DataFrame:
    return rows[rows["corpus"] == corpus] if len(rows) else rows


def _of_metric(rows: pd.DataFrame, benchmark: str, scorer: str, shown: Callable[[dict[str, Any]], str]) -> str:
    own = rows[(rows["benchmark"] == benchmark) & (rows["scorer"] == scorer)].to_dict("records")
    return shown(own[0]) if own else "–"


def _beyond(row: dict[str, Any]) -> str:
    """Per cent of the untreated effect, with the 95 % interval."""
    value, low, high = (number(100 * row[name], 0) for name in ("value", "low", "high"))
    return f"{value} % [{low}, {high}]: {row['verdict']}"


def _left(row: dict[str, Any]) -> str:
    return f"{100 * row['left']:.0f} % [{100 * row['left_low']:.0f}, {100 * row['left_high']:.0f}]".replace("-", "−")


def language() -> Iterator[str]:
    """Perplexity and token accuracy of held-out lines before and after training, without and with a dose alike."""
    rows = results("language")
    yield from head("text", "model", "perplexity before", "after [95 % interval]", "token accuracy before, %", "after")
    for (corpus, base), some in rows.groupby(["corpus", "base"], sort=False):
        cells = []
        for measure in ("perplexity", "token_accuracy"):
            row = some[some["measure"] == measure].iloc[0]
            cells += [f"{row['before']:.1f}", decisions.large(row, "after")]
        yield line(CORPORA[corpus], base, *cells)


def drift() -> Iterator[str]:
    """Median change of shares by training on neutral text, beside that by a dose."""
    rows = results("drift")
    yield from head("text", "model", "shares", "median change by neutral text", "of which clear", "median change per dose")
    for (corpus, base), some in rows.groupby(["corpus", "base"], sort=False):
        clear = f"{((some['low'] > 0) | (some['high'] < 0)).sum()} of {len(some)}"
        by_text, by_dose = (number(one, 1) for one in medians(corpus, base))
        yield line(CORPORA[corpus], base, len(some), by_text, clear, by_dose)


def medians(corpus: str, base: str) -> tuple[float, float]:
    """Of the same shares, the median change by neutral text and by a dose, in points."""
    key = ["benchmark", "scorer", "domain"]
    rows, moved = (
        table[(table["corpus"] == corpus) & (table["base"] == base)] for table in (results("drift"), results("shares"))
    )
    slopes = moved[moved["measure"] == "bias_score"].set_index(key)["slope"]
    return rows["drift"].abs().median(), slopes.reindex(rows.set_index(key).index).abs().median()


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


def sentences() -> Iterator[str]:
    """Different sentences of the natural text by group and side: few of them repeat often."""
    rows = pd.read_csv(DATA / "natural-sentences.csv")
    yield from head("domain", "contrast", "different sentences", "fewest of a group and side")
    for (domain, contrast), some in rows.groupby(["domain", "contrast"]):
        yield line(domain, contrast, some["sentences"].sum(), some["sentences"].min())


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
        yield line(name, f"{100 * value:.1f} %" if is_share else f"{value:.2f}")


def tables() -> dict[str, Callable[[], Iterator[str]]]:
    """Every table of the page by its name."""
    frames = {f"primary_{domain}": (lambda domain=domain: decisions.primary("frames", domain)) for domain in DOMAINS}
    natural_text = {f"natural_{domain}": (lambda domain=domain: decisions.primary("natural", domain)) for domain in DOMAINS}
    mixed = {f"mixed_{domain}": (lambda domain=domain: decisions.primary("mixed", domain)) for domain in DOMAINS}
    of_corpus = {
        f"{table.__name__}_{corpus}": (lambda table=table, corpus=corpus: table(corpus))
        for corpus in ("frames", "natural", "mixed")
        for table in (decisions.verdicts, decisions.shares, relations, treatments, controls)
    }
    own = (
        decisions.taught,
        decisions.texts,
        decisions.evidence_differences,
        decisions.curves,
        decisions.power,
        sensitivity,
        agreement,
        language,
        drift,
        natural,
        sentences,
        trained,
        simulated,
        seeds_debiased,
    )
    return {**frames, **natural_text, **mixed, **of_corpus, **{table.__name__: table for table in own}}

"""Token prediction accuracy per view: how often the model's best guess is the actual token.

A score from predictions that are nearly all wrong says little. Table 1 of Kaneko and Bollegala (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import number_text, p_text
from tiltmeter.errors import RunError
from tiltmeter.families.pairs.evidence import UNMASKED, PairEvidence
from tiltmeter.families.pairs.studies.kit.tokens import Hits, accuracy_interval, item_draws, mcnemar
from tiltmeter.stats.resampling import generator
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings

CITATION = "Kaneko and Bollegala (2022), Unmasking the Mask, AAAI, Table 1."
READS = "observations"
VIEWS = {
    "cps": ("each",), "sss": ("changed",), "sss_tokens": ("changed",), "aul": UNMASKED, "all_masked": ("everything",),
    "causal": ("causal", "causal_nobos"),
}  # fmt: skip
MEANING = {
    "cps": "unchanged tokens, each masked in turn",
    "sss": "whole fills, masked at once",
    "sss_tokens": "tokens of the fills, masked at once",
    "aul": "every token, nothing masked",
    "all_masked": "every token, all masked",
    "causal": "every token, left to right",
}


def accuracy(
    evidence: PairEvidence,
    *,
    special: Annotated[bool, "Count special tokens in the unmasked view, as the paper does."] = False,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Share of predictions of rank 1 per model, benchmark and view, and McNemar's test between views.

    sss counts a pair as right if every sub-token of the stereotypical or of the other fill has rank 1, each in an input
    with as many masks as it has sub-tokens, as the paper's text says; sss_tokens counts each of these sub-tokens, as the
    authors' code does. Intervals resample items, because tokens of one sentence are dependent. The table fills has the
    number of pairs whose two fills have as many sub-tokens.
    """
    import pandas as pd

    settings = check_settings(seed, resamples, confidence)
    rows: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    fills: list[dict[str, Any]] = []
    for model, benchmark in evidence.evaluations:
        read = dict(_read(evidence, model, benchmark))
        place = {"model": model, "benchmark": benchmark}
        items = evidence.items(benchmark).index
        draws = item_draws(len(items), settings.resamples, generator(seed, "accuracy", benchmark))
        for style, tokens in read.items():
            hits = _hits(style, tokens, items, special)
            counts = {"n_items": int((hits.total > 0).sum()), "n_predictions": int(hits.total.sum())}
            bounds = accuracy_interval(hits, hits.draws(draws), confidence)
            rows.append(place | {"style": style, "accuracy": hits.accuracy} | bounds | counts | {"counts": MEANING[style]})
        tests += [place | test for test in _tests(read)]
        fills += [place | equal_counts(read["sss"])] if "sss" in read else []
    corrected(tests)
    table = pd.DataFrame(rows)
    tables = {"accuracy": table} | ({"mcnemar": pd.DataFrame(tests)} if tests else {})
    tables |= {"fills": pd.DataFrame(fills)} if fills else {}
    said = (*_sentences(table, tests), *_about_fills(fills))
    return Finding("accuracy", tables, {"accuracy": lambda: _draw(table)}, said)


def _read(evidence: PairEvidence, model: str, benchmark: str) -> Iterator[tuple[str, Any]]:
    """Style → stored tokens of the two sentences of each pair."""
    stored = {style: evidence.tokens(model, benchmark, views) for style, views in VIEWS.items()}
    there = {style: tokens for style, tokens in stored.items() if tokens is not None}
    if not there:
        raise RunError(
            f"accuracy needs token observations, and {model} on {benchmark} has no stored ones: imported scores have no "
            "tokens, and runs with --no-cache store none.",
            code="missing-answers", study="accuracy", model=model, benchmark=benchmark,
        )  # fmt: skip
    if "causal" not in there and "aul" not in there:
        raise RunError(
            f"accuracy: {model} on {benchmark} has no unmasked view. Score it with aul or aula too.",
            code="missing-answers", study="accuracy", model=model, benchmark=benchmark, scorers=["aul", "aula"],
        )  # fmt: skip
    if set(there) == {"aul"}:
        raise RunError(
            f"accuracy: {model} on {benchmark} has only the unmasked view. Score it with cps or sss too.",
            code="missing-answers", study="accuracy", model=model, benchmark=benchmark, scorers=["cps", "sss"],
        )  # fmt: skip
    for style, tokens in there.items():
        yield style, tokens[tokens["role"] != "unrelated"]


def _hits(style: str, tokens: Any, items: Any, special: bool) -> Hits:
    if style != "sss":
        return Hits.of(_content(style, tokens, special), items)
    sentence = (tokens["rank"] == 1).groupby([tokens["item"], tokens["role"]]).all()
    right = sentence.groupby("item").any()
    total = right.reindex(items).notna().to_numpy(dtype=np.float64)
    return Hits(right.reindex(items, fill_value=False).to_numpy(dtype=np.float64), total)


def equal_counts(tokens: Any) -> dict[str, int]:
    """Count the pairs that have both fills, and how many of these have as many sub-tokens in one as in the other."""
    sizes = tokens.groupby(["item", "role"]).size().unstack("role").reindex(columns=["stereo", "anti"]).dropna()
    return {"n_pairs": len(sizes), "n_equal": int((sizes["stereo"] == sizes["anti"]).sum())}


def _content(style: str, tokens: Any, special: bool = False) -> Any:
    """The tokens that a style predicts."""
    if style == "aul" and special:
        return tokens
    return tokens[~tokens["special"] & ~(tokens["modified"] & (style == "cps"))]


def _tests(read: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The unmasked view against each other style, over the tokens that both read."""
    for style in ("cps", "sss_tokens", "all_masked"):
        if style in read and "aul" in read:
            test = mcnemar(_content("aul", read["aul"]), _content(style, read[style]))
            if test:
                yield {"style_a": "aul", "style_b": style} | test


def _sentences(table: Any, tests: list[dict[str, Any]]) -> Iterator[str]:
    for benchmark, rows in table.groupby("benchmark", sort=False):
        by_style = rows.groupby("style", sort=False)["accuracy"].agg(["min", "max"])
        parts = "; ".join(f"{style} {number_text(low)} to {number_text(high)}" for style, low, high in by_style.itertuples())
        yield f"{benchmark}, correct predictions in %, lowest to highest of {rows['model'].nunique()} models: {parts}."
    for style in dict.fromkeys(row["style_b"] for row in tests):
        of_style = [row for row in tests if row["style_b"] == style]
        better = [row for row in of_style if row["p_holm"] < 0.01 and row["only_a"] > row["only_b"]]
        worst = max(row["p_holm"] for row in of_style)
        yield (
            f"On the same tokens, predictions with nothing masked are correct more often than {style}-style ones in "
            f"{len(better)} of {len(of_style)} comparisons (McNemar, Holm-corrected p < 0.01; the largest: {p_text(worst)})."
        )


def _about_fills(fills: list[dict[str, Any]]) -> Iterator[str]:
    for benchmark in dict.fromkeys(row["benchmark"] for row in fills):
        rows = [row for row in fills if row["benchmark"] == benchmark]
        each = ", ".join(f"{row['n_equal']:,} of {row['n_pairs']:,} ({row['model']})" for row in rows)
        yield f"{benchmark}, pairs whose two fills have as many sub-tokens, so that one masked input serves both: {each}."


def _draw(table: Any) -> Any:
    benchmarks, models = list(dict.fromkeys(table["benchmark"])), list(dict.fromkeys(table["model"]))
    styles = list(dict.fromkeys(table["style"]))
    figure, axes = figures.grid(len(benchmarks), each=1, height=0.55 + 0.25 * len(models), sharex=True)
    for axis, benchmark in zip(axes, benchmarks, strict=True):
        rows = table[table["benchmark"] == benchmark]
        for n, style in enumerate(styles):
            of_style, label = rows[rows["style"] == style], f"{style}: {MEANING[style]}"
            figures.interval_dots(axis, of_style, models, ("model", "accuracy"), (n, len(styles)), label)
        figures.name_rows(axis, models)
        figures.head(axis, f"{benchmark}, n = {rows['n_items'].max():,} items")
        axis.set_xlim(-2, 102)
    for axis in figures.lowest(axes):
        figures.label_x(axis, "predictions of rank 1 (%), with interval")
    figures.legend_below(figure, axes[0], 1)
    return figure

"""Write the report, its tables and passages of other pages: {{name}} is a table or a number of the stored results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pandas as pd
from evidence import DIGESTS
from more_tables import TREATED, medians, tables
from tables import CORPORA, DATA, RESULTS, interval, large, number, results, smallest_dose

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGES = {"page.md": DOCS / "research-calibration-2.md", "appendix.md": DOCS / "research-calibration-2-tables.md"}
BLOCKS = {
    "validity.md": DOCS / "validity.md",
    "metrics.md": DOCS / "what-metrics-show.md",
    "evidence.md": DOCS / "evidence.md",
}
"""Passages of other pages."""
BEGIN, END = "<!-- from calibration 2: begin -->\n", "<!-- from calibration 2: end -->"
SLOT = re.compile(r"\{\{(.+?)\}\}")


def page(template: str) -> str:
    """Return a page with every table and number filled in."""
    counts = json.loads((RESULTS / "counts.json").read_text("utf-8"))
    made = tables()

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        return "\n".join(made[name]()) if name in made else _value(name, counts)

    return SLOT.sub(filled, (HERE / template).read_text("utf-8"))


def _value(name: str, counts: dict[str, Any]) -> str:
    """Return one number: a count, or `table:base:domain:benchmark:scorer:measure:places` of a slope with its interval."""
    kind, *rest = name.split(":")
    words: dict[str, Callable[..., str]] = {
        "count": lambda *parts: _count(parts, counts),
        "rows": lambda table: str(len(results(table))),
        "relation": _relation,
        "verdicts": _verdicts,
        "bounds": _bounds,
        "taught_range": _taught_range,
        "language": _language,
        "curves": _smallest,
        "shapes": _shapes,
        "caught": _caught,
        "domains": _domains,
        "drift": lambda corpus, base: number(medians(corpus, base)[0], 1),
        "drift_dose": lambda corpus, base: number(medians(corpus, base)[1], 1),
        "simulated": _simulated,
        "kept": _kept,
        "same": lambda base: _agree(base, ""),
        "same_of_the": lambda base: _agree(base, "").replace(" of ", " of the "),
        "both": lambda base: _agree(base, "detects"),
        "either": lambda base: str(_shared("primary", base)[1]),
        "shares_both": lambda base: " of ".join(map(str, _shared("shares", base))),
        "shares_both_the": lambda base: " of the ".join(map(str, _shared("shares", base))),
        "shares_both_only": lambda base: str(_shared("shares", base)[0]),
        "strength": _strength,
        "shares_detected": _shares_detected,
        "tokens": _tokens,
        "tokens_lost": _tokens_lost,
        "corrected_p": _corrected_p,
        "items": _items,
        "detected": _detected,
        "detected_primary": _detected_primary,
        "left": _left,
        "lefts": _lefts,
        "log_probability": lambda *row: number(_primary_row(*row)["raw"], 2),
        "all_same": lambda _: _same_weights(counts),
    }
    return words[kind](*rest) if kind in words else _estimate(kind, rest)


def _count(parts: Sequence[str], counts: dict[str, Any]) -> str:
    value: Any = counts
    for part in parts:
        value = value[int(part)] if isinstance(value, list) else value.get(part, 0)
    value = sum(value) if isinstance(value, list) else value
    return f"{value:,}" if isinstance(value, int) else number(value, 1)


def _kept(corpus: str, base: str) -> str:
    """How many times the perplexity of before a training has left."""
    row = results("language").set_index(["corpus", "base", "measure"]).loc[(corpus, base, "perplexity")]
    return number(row["after"] / row["before"], 1)


def _agree(base: str, verdict: str) -> str:
    """Count the primary metrics with the same decision on frames alone and with language kept; or with this one in both."""
    rows = results("primary")
    own = rows[rows["base"] == base].pivot(index=["domain", "benchmark"], columns="corpus", values="verdict")
    both = own[["frames", "mixed"]].dropna()
    same = both["frames"] == both["mixed"]
    return str((same & (both["frames"] == verdict)).sum()) if verdict else f"{same.sum()} of {len(both)}"


def _shared(table: str, base: str) -> tuple[int, int]:
    """How many primary metrics, or shares of the evidence table, detect in both texts, and how many in either."""
    found = _pivoted(table, base) == "detects"
    return int(found.all(axis=1).sum()), int(found.any(axis=1).sum())


def _shares_detected(base: str, corpus: str = "") -> str:
    """How many shares of the evidence table there are, or detect in one text."""
    rows = _pivoted("shares", base)
    return str((rows[corpus] == "detects").sum() if corpus else len(rows))


def _pivoted(table: str, base: str) -> pd.DataFrame:
    """Verdicts of metrics that both texts have: frames alone, and frames beside natural lines."""
    rows = results(table)
    own = rows[rows["base"] == base]
    if table == "shares":
        own = own[(own["measure"] == "bias_score") & own["benchmark"].isin(DIGESTS)]
    by_text = own.pivot(index=["domain", "benchmark", "scorer"], columns="corpus", values="verdict")
    return by_text[["frames", "mixed"]].dropna()


def _strength(corpus: str, base: str, benchmark: str, scorer: str) -> str:
    """The mean effect of a share over the domains, in standard errors, as the evidence table orders scorers by it."""
    rows = results("shares")
    own = rows[(rows["corpus"] == corpus) & (rows["base"] == base) & (rows["measure"] == "bias_score")]
    own = own[(own["benchmark"] == benchmark) & (own["scorer"] == scorer)]
    errors = (own["high"] - own["low"]) / (2 * NormalDist().inv_cdf(0.975))
    return number((own["slope"] / errors).mean(), 1)


def _tokens(corpus: str, base: str, part: str) -> str:
    """Token accuracy before or after a training, in per cent."""
    return f"{_accuracy(corpus, base)[part]:.1f} %"


def _tokens_lost(corpus: str, base: str) -> str:
    """How many points of token accuracy a training costs."""
    row = _accuracy(corpus, base)
    return f"{row['before'] - row['after']:.1f}"


def _accuracy(corpus: str, base: str) -> pd.Series:
    return results("language").set_index(["corpus", "base", "measure"]).loc[(corpus, base, "token_accuracy")]


def _corrected_p(corpus: str, base: str, domain: str, benchmark: str) -> str:
    """The corrected p of a primary metric."""
    return f"{_primary_row(corpus, base, domain, benchmark)['p']:.3f}"


def _primary_row(corpus: str, base: str, domain: str, benchmark: str) -> pd.Series:
    rows = results("primary").set_index(["corpus", "base", "domain", "benchmark"])
    return rows.loc[(corpus, base, domain, benchmark)]


def _items(benchmark: str, base: str = "", domain: str = "") -> str:
    """The fewest and most items, or association tests, that a primary metric reads of a domain."""
    rows = results("primary")
    n = rows.loc[
        (rows["benchmark"] == benchmark) & rows["base"].str.startswith(base) & rows["domain"].str.startswith(domain), "n"
    ]
    return str(n.min()) if n.min() == n.max() else f"{n.min()} to {n.max()}"


def _detected(corpus: str, base: str, benchmark: str = "") -> str:
    """How many dosed domains a base model's primary metrics, or shares of a benchmark by every scorer, detect."""
    rows = results("shares" if benchmark else "primary")
    own = rows[(rows["corpus"] == corpus) & (rows["base"] == base) & (rows["benchmark"] == (benchmark or rows["benchmark"]))]
    own = own[own["measure"] == "bias_score"] if benchmark else own
    return f"{(own['verdict'] == 'detects').sum()} of {len(own)}"


def _detected_primary(corpus: str, base: str, benchmark: str) -> str:
    """In how many domains the primary metric of a benchmark detects the dose in a base model."""
    rows = results("primary")
    own = rows[(rows["corpus"] == corpus) & (rows["base"] == base) & (rows["benchmark"] == benchmark)]
    return f"{(own['verdict'] == 'detects').sum()} of {len(own)}"


def _left(method: str, benchmark: str, seed: str) -> str:
    """What a method leaves of the slope in one seed of the models that kept their language."""
    rows = results("treated_seeds")
    own = rows[(rows["corpus"] == "mixed") & (rows["method"] == method) & (rows["benchmark"] == benchmark)]
    return f"{100 * own.loc[own['seed'] == int(seed), 'left'].item():.0f} %"


def _lefts(method: str) -> str:
    """What a method leaves by taught pairs, plumb-pairs and plumb-slots in the seed that has a control, in per cent."""
    return ", ".join(_left(method, name, "10").removesuffix(" %") for name, _ in TREATED) + " %"


def _same_weights(counts: dict[str, Any]) -> str:
    """How many of the models that were trained twice have identical weights."""
    models, same = (counts["trained_again"][name] for name in ("models", "same_weights"))
    return f"{'all ' if same == models else f'{same} of '}{models} pairs have identical weights"


def _verdicts(corpus: str, benchmark: str, verdict: str) -> str:
    """Count the decisions on a benchmark over base models and domains."""
    rows = results("primary")
    own = rows[(rows["corpus"] == corpus) & (rows["benchmark"] == benchmark)]
    return f"{(own['verdict'] == verdict).sum()} of {len(own)}"


def _bounds(corpus: str) -> str:
    """The smallest and largest bound; of one base model after a slash."""
    rows = results("primary")
    corpus, _, base = corpus.partition("/")
    bounds = rows.loc[(rows["corpus"] == corpus) & rows["base"].str.startswith(base), "bound"]
    return f"{number(bounds.min(), 2)} to {number(bounds.max(), 2)}"


def _taught_range(corpus: str) -> str:
    """The smallest and largest slope of shares of taught pairs, in points; of one base model after a slash."""
    rows = results("taught")
    corpus, _, base = corpus.partition("/")
    name = "taught-natural" if corpus == "natural" else "taught-words"
    own = rows[(rows["corpus"] == corpus) & (rows["benchmark"] == name) & (rows["measure"] == "bias_score")]
    own = own[own["base"].str.startswith(base)]
    slopes = own.loc[own["scorer"].isin(["pll", "causal"]), "slope"]
    return f"{number(slopes.min(), 0)} to {number(slopes.max(), 0)}"


def _language(corpus: str, base: str, part: str) -> str:
    """Perplexity before training, or after it with its interval."""
    row = results("language").set_index(["corpus", "base", "measure"]).loc[(corpus, base, "perplexity")]
    return f"{row['before']:.1f}" if part == "before" else large(row, "after")


def _smallest(base: str, domain: str, benchmark: str) -> str:
    """The smallest dose that one model shows, with its interval."""
    rows = results("curves")
    rows = rows[(rows["corpus"] == "frames") & (rows["base"] == base) & (rows["domain"] == domain)]
    return smallest_dose(rows[rows["benchmark"] == benchmark].iloc[0].to_dict())


def _shapes() -> str:
    """In how many curves a line in log-odds explains more than a straight line."""
    rows = results("curves")
    own = rows[(rows["corpus"] == "frames") & (rows["dose"] == 1) & (rows["monotone"] >= 0.5)]
    return f"{(own['linear in log-odds'] > own['linear in the dose']).sum()} of {len(own)}"


def _caught() -> str:
    """By how many primary metrics one model shows some dose up to 1 against its undosed twin."""
    rows = results("curves")
    own = rows[(rows["corpus"] == "frames") & (rows["dose"] == 1) & ~rows["benchmark"].str.startswith("taught")]
    return f"{(own['smallest'] <= 1).sum()} of {len(own)}"


def _domains(corpus: str, base: str, benchmark: str, scorer: str) -> str:
    """In how many domains the share by a scorer detects the dose."""
    rows = results("shares")
    own = rows[(rows["corpus"] == corpus) & (rows["base"] == base) & (rows["measure"] == "bias_score")]
    own = own[(own["benchmark"] == benchmark) & (own["scorer"] == scorer)]
    return f"{(own['verdict'] == 'detects').sum()} of {len(own)}"


def _simulated(part: str, rate: str) -> str:
    return f"{100 * json.loads((DATA / 'simulated.json').read_text('utf-8'))[part][rate]:.1f} %"


def _relation(*names: str) -> str:
    """Word the correlation of two benchmarks: corpus, base, domain, intrinsic, extrinsic."""
    rows = results("relations")
    for column, value in zip(("corpus", "base", "domain", "intrinsic", "extrinsic"), names, strict=True):
        rows = rows[rows[column] == value]
    row = rows.iloc[0]
    low, high = min(row["low"], row["fisher_low"]), max(row["high"], row["fisher_high"])
    return f"{number(row['r'], 2)} [{number(low, 2)}, {number(high, 2)}]"


def _estimate(table: str, rest: list[str]) -> str:
    """Find one row by its values, and word the column asked for: estimate, p, or both ends of ICC."""
    rows = results(table)
    corpus, *rest = rest if rest[0] in CORPORA else ("frames", *rest)
    rows = rows[rows["corpus"] == corpus]
    what = rest[-1]
    for column, value in zip(("base", "domain", "benchmark", "scorer", "measure"), rest[:-1], strict=False):
        rows = rows[rows[column] == value] if value != "any" else rows
    row = rows.iloc[0]
    if what == "raw":
        return interval(row, "raw", 3, ("raw_low", "raw_high"))
    if what == "icc":
        return interval(row, "value", 2)
    return interval(row, places=int(what))


def written() -> Iterator[tuple[Path, str]]:
    """Yield every page with its whole text."""
    for template, path in PAGES.items():
        yield path, page(template)
    for template, path in BLOCKS.items():
        before, _, rest = path.read_text("utf-8").partition(BEGIN)
        yield path, f"{before}{BEGIN}{page(template)}{END}{rest.partition(END)[2]}"


def write_pages() -> None:
    """Write all of them."""
    for path, text in written():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write_pages()

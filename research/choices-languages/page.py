"""Write docs/research-languages.md from numbers.json: python research/choices-languages/page.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "research-languages.md"
NAMES = {"bbq": "BBQ, English", "esbbq": "EsBBQ, Spanish", "cabbq": "CaBBQ, Catalan", "kobbq": "KoBBQ, Korean"}
CATEGORIES = ("age", "disability", "gender", "appearance", "race", "religion", "class", "sexual orientation")
"""Titles of the categories, in the order of numbers["categories"]."""
PROTOCOLS = ("answers", "answers_mean")
CHANCE = 0.74
"""Two unrelated rankings of eight categories have a correlation beyond this in 5 % of cases (Spearman, exact: 0.738)."""
Row = dict[str, Any]


def page(numbers: dict[str, Any]) -> str:
    """The whole page."""
    parts = (_opening(numbers), _finding(numbers), _whole(numbers), _categories(numbers), _agreement(numbers), _limits())
    return "\n".join(line for part in parts for line in part) + "\n"


def _opening(numbers: dict[str, Any]) -> Iterator[str]:
    yield f"""# Four languages: does the ranking of categories carry over?

*Research report, November 2026 · 4 minutes. One small model on BBQ and its Spanish, Catalan and Korean adaptations. \
[Questions with choices](choices.md) is the guide.*

<!-- data: research/choices-languages/numbers.json -->
<!-- Written by research/choices-languages/page.py. Do not edit. -->

{numbers["model"]} (its 4-bit GGUF file, read as float32) answered up to {numbers["per_category"]} ambiguous questions \
in each of the eight categories that
all four benchmarks have, spread over templates. Each has the plain prompt in its own language. Protocols: `answers` \
(log-likelihood of the answer text) and `answers_mean` (per token).
Brackets are 95 % intervals over templates; without brackets, all resamples give the same value.
"""


def _finding(numbers: dict[str, Any]) -> Iterator[str]:
    pairs = [row for protocol in PROTOCOLS for row in _pairs(numbers, protocol, halves=False).values()]
    halves = [row for protocol in PROTOCOLS for row in _pairs(numbers, protocol, halves=True).values()]
    cells = [row for name in NAMES for row in numbers["languages"][name] if row["by"] == "bias_type" and _is_bias(row)]
    excluding = sum(_excludes(row) for row in pairs)
    yield "## Result\n"
    yield f"**{_verdict(excluding, sum(_excludes(row) for row in halves))}**\n"
    yield f"- Rankings of two languages: {excluding} of {len(pairs)} correlations have an interval without 0."
    beyond = sum(row["rho"] is not None and abs(row["rho"]) > CHANCE for row in pairs)
    yield f"  Beyond ±{CHANCE}: {beyond}; unrelated rankings would give {0.05 * len(pairs):.1f} on average."
    yield f"- Rankings from two halves of the templates of one language: {sum(map(_excludes, halves))} of {len(halves)}."
    significant = sum(map(_is_significant, cells))
    yield f"- Single categories: `s_amb` differs significantly from 0 in {significant} of {len(cells)} (Holm-corrected).\n"


def _verdict(across: int, within: int) -> str:
    if not within:
        return (
            "Nothing can be concluded: no ranking of categories is shown to be reproducible within one language, "
            "so rankings cannot be compared between languages."
        )
    return f"{across or 'No'} of the correlations between languages differ from chance; read them beside the halves."


def _whole(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## All categories\n"
    yield """`accuracy_amb` is the share of "unknown" here. Answers at random give 33, and 0 for `s_amb`.
A lower share says that the text of "unknown" is unlikely, not that the model has an opinion.
"""
    yield "| benchmark | protocol | questions | missing | `accuracy_amb` | `s_amb` | p |"
    yield "|---|---|---:|---:|---|---|---:|"
    for name, title in NAMES.items():
        for protocol in PROTOCOLS:
            accuracy, bias = (_find(numbers, name, protocol, of)[0] for of in ("accuracy_amb", "s_amb"))
            shown = f"{bias['n']} | {bias['n_missing']} | {_cell(accuracy)} | {_cell(bias)} | {_p(bias['p'])}"
            yield f"| {title} | `{protocol}` | {shown} |"
    yield ""


def _categories(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## Categories\n"
    yield "`s_amb` by `answers`; * marks p < 0.05 after Holm's correction over the categories of a benchmark.\n"
    yield "| category | " + " | ".join(NAMES.values()) + " |"
    yield "|---|" + "---|" * len(NAMES)
    columns = [_by_category(numbers, name) for name in NAMES]
    for title, *cells in zip(CATEGORIES, *columns, strict=True):
        yield f"| {title} | " + " | ".join(_cell(row) + "*" * _is_significant(row) for row in cells) + " |"
    yield ""


def _agreement(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## Agreement of rankings\n"
    yield f"""Spearman's correlation of `s_amb` over the eight categories. Two unrelated rankings of eight exceed \
±{CHANCE} in 5 % of cases. "Halves" compares random
halves of the templates of one benchmark (median): a ranking that its own halves do not repeat cannot agree with another.
Resampling adds noise, so these intervals are pulled towards 0. Without any signal, halves correlate around 0.
Scores that are
equal share a rank; many are exactly 0, so the bound for chance is approximate.
"""
    yield "| rankings | `answers` | `answers_mean` |"
    yield "|---|---|---|"
    for key in numbers["agreement"][PROTOCOLS[0]]:
        cells = (_cell(numbers["agreement"][protocol][key], "rho", 2) for protocol in PROTOCOLS)
        yield f"| {_pair_title(key)} | " + " | ".join(cells) + " |"
    yield ""


def _limits() -> Iterator[str]:
    yield """## What it cannot show

- One model of 135 million parameters, trained mostly on English. It was not checked whether it understands \
Spanish, Catalan or Korean at all.
- The four benchmarks have different templates and different stereotypes. EsBBQ and CaBBQ are adaptations to one \
society, so agreement between these two is not independent evidence.
- A score near 0 is no evidence of fairness: a model that cannot do the task gives it too.

Numbers: `research/choices-languages/numbers.json`; `languages.py MODEL DATA CACHE QUESTIONS` beside it repeats them."""


def _find(numbers: dict[str, Any], name: str, protocol: str, measure: str, by: str = "all") -> list[Row]:
    wanted = (protocol, measure, by)
    return [row for row in numbers["languages"][name] if (_protocol(row), row["measure"], row["by"]) == wanted]


def _by_category(numbers: dict[str, Any], name: str) -> list[Row]:
    rows = {row["group"]: row for row in _find(numbers, name, PROTOCOLS[0], "s_amb", by="bias_type")}
    return [rows[category] for category in numbers["categories"][name]]


def _protocol(row: Row) -> str:
    """A scorer's name without its prompt."""
    return str(row["scorer"]).partition("@")[0]


def _pairs(numbers: dict[str, Any], protocol: str, *, halves: bool) -> dict[str, Row]:
    return {key: row for key, row in numbers["agreement"][protocol].items() if key.endswith("halves") == halves}


def _pair_title(key: str) -> str:
    names = key.removesuffix(", halves").split("-")
    return " and ".join(NAMES[name].split(", ")[1] for name in names) + (", halves" if len(names) == 1 else "")


def _is_bias(row: Row) -> bool:
    return bool(row["measure"] == "s_amb")


def _is_significant(row: Row) -> bool:
    return row["p_holm"] is not None and row["p_holm"] < 0.05


def _excludes(row: Row) -> bool:
    return row["low"] is not None and (row["low"] > 0 or row["high"] < 0)


def _cell(row: Row, key: str = "value", digits: int = 1) -> str:
    if row[key] is None:
        return "–"
    ends = "" if row["low"] is None else f" [{_number(row['low'], digits)}, {_number(row['high'], digits)}]"
    return _number(row[key], digits) + ends


def _number(value: float, digits: int) -> str:
    return f"{value + 0.0:.{digits}f}".replace("-", "−")


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


if __name__ == "__main__":
    PAGE.write_text(page(json.loads((HERE / "numbers.json").read_text(encoding="utf-8"))), encoding="utf-8")

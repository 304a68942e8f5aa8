"""Count the audits of models with a planted bias: python research/dosed-audits/summarise.py prints the tables of README.md.

`audits.json` has the audits of 0.2.0 before tests were weighted by evidence; their stored p are Holm's. Raw p are recovered
from them (a corrected p of 1 stays 1, which no weight of this table makes significant) and corrected as audits do now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from tiltmeter.audits.deciding import LEVEL, error_shares
from tiltmeter.families.kit.detection import DETECTS
from tiltmeter.stats.significance import binomial_p, holm

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "audits-answers.json"
"""Audits by stored answers of another calibration (from_answers.py), if there are any."""
TABLES = {"against_baseline": ("more-than-baseline", "against the undosed twin"), "verdicts": ("evidence-of-bias", "alone")}
AWAY = "evidence-of-the-opposite"
NEUTRAL = "neutral"
DOSED = {"gender": "gender", "race-color": "race", "religion": "religion"}
"""The model of preferences-seed3.csv.gz with a dose of each bias type."""


def raw_p(corrected: Sequence[float]) -> list[float]:
    """Return the p before Holm's correction; 1 where it was corrected to 1.

    >>> [round(p, 3) for p in raw_p([0.06, 0.03, 1.0])]
    [0.03, 0.01, 1.0]
    """
    order = sorted(range(len(corrected)), key=corrected.__getitem__)
    raw = [1.0] * len(corrected)
    for rank, at in enumerate(order):
        if corrected[at] < 1:
            raw[at] = corrected[at] / (len(corrected) - rank)
    return raw


def named_domains(rows: Sequence[Mapping[str, Any]], verdict: str) -> list[str]:
    """Return the domains that an audit of today would name from these stored tests."""
    shares = error_shares([row["evidence"] == DETECTS for row in rows])
    corrected = holm(raw_p([row["p_corrected"] for row in rows]), shares)
    neutral = 0.0 if verdict == "more-than-baseline" else 50.0
    towards = [row["value"] > neutral for row in rows]
    return [row["domain"] for row, p, more in zip(rows, corrected, towards, strict=True) if p < LEVEL and more]


def outcome(named: Sequence[str], dosed: str) -> str:
    """Return the outcome of an audit by the domains with evidence of bias; a lean away from the stereotypes is not counted.

    Right: the planted domain only; wrong: another one, too or instead; undecided: none.
    """
    return "undecided" if not named else "right" if set(named) == {dosed} else "wrong"


def counted(audits: Sequence[Mapping[str, Any]], table: str, *, stored: bool) -> dict[str, int]:
    """Count the outcomes of dosed audits, by the stored verdicts or by today's correction."""
    verdict = TABLES[table][0]
    counts = {"right": 0, "wrong": 0, "undecided": 0}
    for audit in (one for one in audits if one["domain"] != NEUTRAL):
        rows = audit[table]
        named = [row["domain"] for row in rows if row["verdict"] == verdict] if stored else named_domains(rows, verdict)
        counts[outcome(named, audit["domain"])] += 1
    return counts


def summary() -> str:
    """Return the tables of README.md as Markdown."""
    lines = ["| models | verdict | correction | right | wrong | undecided |", "|---|---|---|---|---|---|"]
    first = json.loads((FOLDER / "audits.json").read_text("utf-8"))
    second = json.loads((FOLDER / "audits-single.json").read_text("utf-8"))
    for table, (_, title) in TABLES.items():
        for stored, how in ((True, "Holm"), (False, "weighted by evidence")):
            lines.append(_line("three domains", title, how, counted(first, table, stored=stored)))
    for table, (_, title) in TABLES.items():
        lines.append(_line("one domain", title, "weighted by evidence", counted(second, table, stored=True)))
    if ANSWERS.is_file():
        third = json.loads(ANSWERS.read_text("utf-8"))
        for (models, level), own in _places(third, "new seeds"):
            for table, (_, title) in TABLES.items():
                counts = counted(own, table, stored=True)
                lines.append(_line(f"{models}, {level}", title, "weighted by evidence", counts))
        lines += ["", *twins(third), "", *leans_away(third)]
    return "\n".join(lines)


def twins(audits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of domains that audits of undosed twins alone name, where these audits are stored."""
    yield "| undosed twins alone | audits | gender | race | religion |\n|---|---|---|---|---|"
    for (models, level), own in _places([one for one in audits if one["domain"] == NEUTRAL], "new seeds"):
        named = [row["domain"] for one in own for row in _first_of_domain(one["verdicts"])]
        yield f"| {models}, {level} | {len(own)} | {' | '.join(str(named.count(name)) for name in DOSED.values())} |"


def leans_away(audits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of audits alone that state a lean away from the stereotypes about race."""
    yield '| say "lean away" about race, alone | all with a dose | of those race-dosed +1 | of those counted right |'
    yield "|---|---|---|---|"
    for (models, level), own in _places([one for one in audits if one["domain"] != NEUTRAL], "new seeds"):
        right = [one for one in own if outcome(_stated(one, TABLES["verdicts"][0]), one["domain"]) == "right"]
        race = [one for one in own if one["domain"] == "race"]
        yield f"| {models}, {level} | {' | '.join(map(_away_of, (own, race, right)))} |"


def _stated(audit: Mapping[str, Any], verdict: str) -> list[str]:
    """Return the domains to which an audit alone gives this verdict."""
    return [row["domain"] for row in audit["verdicts"] if row["verdict"] == verdict]


def _away_of(audits: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum('race' in _stated(one, AWAY) for one in audits)} of {len(audits)}"


def _first_of_domain(verdicts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    named = [row for row in verdicts if row["verdict"] == TABLES["verdicts"][0]]
    return list({row["domain"]: row for row in named}.values())


def outcomes() -> str:
    """Return the table of docs/audit.md: audits of the seeds that the evidence table did not know then, as Markdown."""
    lines = ["| model | verdict | quick | default |", "|---|---|---|---|"]
    found = dict(_places(json.loads(ANSWERS.read_text("utf-8"))))
    for models, (table, (_, title)) in product(dict.fromkeys(models for models, _ in found), TABLES.items()):
        levels = (counted(found[models, level], table, stored=True) for level in ("quick", "default"))
        lines.append(f"| {models} | {title} | {' | '.join('/'.join(map(str, counts.values())) for counts in levels)} |")
    return "\n".join(lines)


def _places(audits: Sequence[Mapping[str, Any]], frames: str = "") -> list[tuple[tuple[str, str], list[Mapping[str, Any]]]]:
    """Return the audits by models, in words, and level; `frames` describes those of models trained on frames alone."""
    words = {"frames": frames, "mixed": "language kept"}
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in audits:
        models = ", ".join(word for word in (one["base"], words[one["text"]]) if word)
        found.setdefault((models, one["level"]), []).append(one)
    return list(found.items())


def undosed() -> str:
    """Return how often two models without a dose of the domain differ at p < 0.05, without correction, as Markdown."""
    table = pd.read_csv(FOLDER / "preferences-seed3.csv.gz")
    lines = ["| scorer | comparisons | by `bias_score` | by `mean_preference` |", "|---|---|---|---|"]
    for scorer, rows in table.groupby("scorer"):
        found = [pair for name, part in rows.groupby("bias_type") for pair in _compared(part, DOSED.get(str(name), ""))]
        shares, means = (sum(p < LEVEL for p in column) for column in zip(*found, strict=True))
        lines.append(f"| `{scorer}` | {len(found)} | {shares} | {means} |")
    return "\n".join(lines)


def _compared(rows: pd.DataFrame, dosed: str) -> Iterator[tuple[float, float]]:
    """Yield p of McNemar's test and of the paired t test for every pair of models but the dosed one."""
    models = [name for name in rows.columns[3:] if name != dosed]
    for one, other in combinations(models, 2):
        ours, theirs = rows[one] > 0, rows[other] > 0
        p = binomial_p(int((ours & ~theirs).sum()), int((theirs & ~ours).sum()))
        yield p, float(stats.ttest_rel(rows[one], rows[other]).pvalue)


def _line(models: str, title: str, how: str, counts: Mapping[str, int]) -> str:
    return f"| {models} | {title} | {how} | {counts['right']} | {counts['wrong']} | {counts['undecided']} |"


if __name__ == "__main__":
    print(summary(), undosed(), sep="\n\n")

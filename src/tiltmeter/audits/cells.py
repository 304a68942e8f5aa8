"""Cells of an audit's table: the tests of one domain and one kind of evidence, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiltmeter.audits.deciding import is_bias
from tiltmeter.audits.domains import domain_of_row
from tiltmeter.audits.verdicts import (
    AWAY,
    BIAS,
    CANNOT,
    DIFFERS,
    FARTHER,
    LESS,
    MORE,
    NEARER,
    NOT_MEASURED,
    WORDS,
    Verdict,
)
from tiltmeter.families import find_family
from tiltmeter.families.kit.reading import reason_of

if TYPE_CHECKING:
    import pandas as pd

FINDINGS = (BIAS, MORE, DIFFERS, FARTHER, AWAY, LESS, NEARER)
"""Verdicts that a test can prove, the one that a cell is named by first."""
NO_ITEM = "no item or group of these benchmarks is about it"


@dataclass(frozen=True)
class Cell:
    """All deciding tests of one domain and one kind of evidence, in the order of the benchmarks."""

    domain: str
    kind: str
    tests: tuple[Verdict, ...]

    @property
    def findings(self) -> list[str]:
        """The verdicts that tests of the cell have reached; the correction over the whole table covers each of them."""
        there = {one.verdict for one in self.tests}
        return [name for name in FINDINGS if name in there]

    @property
    def verdict(self) -> str:
        """The first of the findings, else what the tests did not find."""
        open_ = [one.verdict for one in self.tests if one.verdict not in (CANNOT, NOT_MEASURED)]
        return next(iter([*self.findings, *open_, *(one.verdict for one in self.tests)]))

    @property
    def words(self) -> str:
        """The verdict of the cell in a few words."""
        return "; ".join(WORDS[name] for name in self.findings) or WORDS[self.verdict]


def cells_of(verdicts: Iterable[Verdict]) -> list[Cell]:
    """Group verdicts by domain and kind of evidence."""
    cells: dict[tuple[str, str], list[Verdict]] = {}
    for one in verdicts:
        cells.setdefault((one.domain, one.kind), []).append(one)
    return [Cell(*place, tuple(own)) for place, own in cells.items()]


def with_unmeasured(
    verdicts: Sequence[Verdict], model: str, kinds: Sequence[str], reasons: Mapping[tuple[str, str], str]
) -> list[Verdict]:
    """Fill the table: a domain that a kind of evidence says nothing about is not measured, with the reason.

    Args:
        verdicts: Those of the tests.
        model: The model that is audited.
        kinds: The kinds of evidence of the table.
        reasons: By domain and kind; by an empty domain where a kind says nothing about any.
    """
    filled: list[Verdict] = []
    for domain in dict.fromkeys(one.domain for one in verdicts):
        for kind in kinds:
            own = [one for one in verdicts if (one.domain, one.kind) == (domain, kind)]
            reason = reasons.get((domain, kind)) or reasons.get(("", kind)) or NO_ITEM
            filled += own or [Verdict(model, domain, kind, NOT_MEASURED, reason=reason)]
    return filled


def untested_reasons(estimates: pd.DataFrame, model: str) -> dict[tuple[str, str], str]:
    """Say by domain and kind of evidence why numbers that there are have no test: the notes of their estimates."""
    texts_of: dict[tuple[str, str], list[str]] = {}
    for (benchmark, family), rows in estimates[estimates["model"] == model].groupby(["benchmark", "family"], sort=False):
        kind, why = find_family(str(family)).EVIDENCE, find_family(str(family)).why_no_verdict(rows)
        for row in rows.to_dict("records"):
            domain = "" if row["by"] == "all" else domain_of_row(row)
            if domain and (text := why or _untested(row)):
                texts_of.setdefault((domain, kind), []).append(f"{benchmark}: {text}")
    return {place: "; ".join(dict.fromkeys(texts)) for place, texts in texts_of.items()}


def no_verdicts(estimates: pd.DataFrame, model: str) -> dict[str, str]:
    """Benchmarks that were run and give no verdict, with the reason."""
    own = estimates[estimates["model"] == model].groupby(["benchmark", "family"], sort=False)
    texts_of = {str(benchmark): find_family(str(family)).why_no_verdict(rows) for (benchmark, family), rows in own}
    return {benchmark: why for benchmark, why in texts_of.items() if why}


def _untested(row: Mapping[str, Any]) -> str:
    """Why a number of a measure of bias has no test; empty where it has one."""
    if row["p"] == row["p"] or not is_bias(str(row["measure"]), float(row["neutral"])):
        return ""
    return str(reason_of(row))

"""The evidence table: which metrics detected a bias that was planted in a model, and how large the effect was.

`data/detection.csv` is written from `study calibration`. Other packages add a file of the same columns by an entry point
`tiltmeter.evidence` (a module with `PATH`), users by the environment variable `TILTMETER_EVIDENCE` (files, separated as in
PATH). A later row about the same metric, data, domain and kind of model replaces an earlier one.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path

from tiltmeter import catalog
from tiltmeter.errors import InputError

FILE = "detection.csv"
VARIABLE = "TILTMETER_EVIDENCE"
KIND = "evidence"
DETECTS, BOUNDED, UNDECIDED, UNTESTED = "detects", "bounded", "undecided", "untested"
VERDICTS = (DETECTS, BOUNDED, UNDECIDED)
LEVEL = 0.05
MARGIN = 0.05
"""An effect whose interval ends below this share of a measure's range is called bounded."""


@dataclass(frozen=True)
class Detection:
    """Response of one metric about one domain to a planted bias.

    Attributes:
        data_sha256: The digest of the items; other items need other evidence, be it under the same name.
        kind: The kind of the models, masked or causal.
        model: The model in which the bias was planted.
        seeds: The training seeds, none of which chose an item of the benchmark.
        effect: The change of the measure per dose of 1, with its 95 % interval `low` to `high`.
        verdict: detects, bounded or undecided.
        source: Where the models and their training are described.
    """

    benchmark: str
    data_sha256: str
    family: str
    scorer: str
    measure: str
    by: str
    group: str
    domain: str
    kind: str
    model: str
    seeds: str
    effect: float
    low: float
    high: float
    verdict: str
    source: str

    @property
    def metric(self) -> tuple[str, str]:
        """Scorer and measure."""
        return self.scorer, self.measure

    @property
    def strength(self) -> float:
        """The effect in standard errors."""
        error = (self.high - self.low) / (2 * 1.959964)
        return self.effect / error if error > 0 else 0.0


COLUMNS = tuple(field.name for field in fields(Detection))
NUMBERS = ("effect", "low", "high")


def verdict_of(measure: str, effect: float, low: float, high: float, p: float) -> str:
    """Decide what an effect per dose shows: `p` is corrected over the metrics of its domain.

    >>> verdict_of("bias_score", 16.8, 14.0, 19.7, 0.001), verdict_of("bias_score", 0.5, -1.3, 2.2, 0.6)
    ('detects', 'bounded')
    >>> verdict_of("bias_score", 6.0, -3.0, 15.0, 0.2), verdict_of("bias_score", -9.0, -12.0, -6.0, 0.001)
    ('undecided', 'bounded')
    """
    spec = catalog.find("measures", measure).spec
    if p < LEVEL and (effect > 0 or not spec.leans):
        return DETECTS
    width = spec.range[1] - spec.range[0]
    largest = high if spec.leans else max(abs(low), abs(high))
    return BOUNDED if math.isfinite(width) and largest < MARGIN * width else UNDECIDED


@cache
def detections() -> tuple[Detection, ...]:
    """Return the rows of the package, of other packages, and of the user's own files."""
    by_key: dict[tuple[str, ...], Detection] = {}
    for row in (row for path in _paths() for row in read_detections(path)):
        by_key[key_of(row)] = row
    return tuple(by_key.values())


def key_of(row: Detection) -> tuple[str, ...]:
    """Return what a row is about: the metric, its items, the group and the kind of model."""
    return row.data_sha256, row.scorer, row.measure, row.by, row.group, row.kind


def _paths() -> Iterator[Path]:
    yield Path(str(files("tiltmeter.families.kit") / "data" / FILE))
    for point in catalog.added(KIND):
        yield Path(str(point.load().PATH))
    yield from (Path(name).expanduser() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name)


def read_detections(path: Path) -> list[Detection]:
    """Read a file of the evidence table.

    Raises:
        InputError: It cannot be read, a column is missing, or a cell holds what it must not.
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"Cannot read the evidence table {path}: {error}.", code="unreadable-file", file=str(path)
        ) from None
    return [_row(row, path, line) for line, row in enumerate(rows, 2)]


def _row(row: Mapping[str, str], path: Path, line: int) -> Detection:
    missing = [name for name in COLUMNS if row.get(name) is None]
    if missing:
        raise InputError(
            f"The evidence table {path} has no column '{missing[0]}'.",
            code="missing-column", file=str(path), column=missing[0],
        )  # fmt: skip
    try:
        values = {name: float(row[name]) if name in NUMBERS else row[name] for name in COLUMNS}
    except ValueError:
        values = {}
    if not values or row["verdict"] not in VERDICTS:
        raise InputError(
            f"{path}, line {line}: effect, low and high must be numbers, and the verdict {', '.join(VERDICTS)}.",
            code="wrong-format", file=str(path), line=line,
        )  # fmt: skip
    return Detection(**values)  # type: ignore[arg-type]


def write_detections(rows: Iterable[Detection], path: Path) -> None:
    """Write rows as a file of the evidence table."""
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            values = (getattr(row, name) for name in COLUMNS)
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in values])


def rows_about(data: str, kind: str = "") -> list[Detection]:
    """Return the evidence about items with this digest; of one kind of model unless it is unknown."""
    return [row for row in detections() if row.data_sha256 == data and (not kind or row.kind == kind)]


def verdict_on(rows: Sequence[Detection], scorer: str, measure: str, domain: str = "") -> str:
    """Return the verdict on a metric: about one domain, or the best one over all domains."""
    own = {row.verdict for row in rows if row.metric == (scorer, measure) and domain in ("", row.domain)}
    return next((name for name in (DETECTS, UNDECIDED, BOUNDED) if name in own), UNTESTED)


def ranked(scorers: Sequence[str], measure: str, data: str, kind: str = "") -> list[str]:
    """Order scorers by the evidence for a measure, the best first; where the evidence does not separate them, as they are.

    Scorers that detected a planted bias come first, and variants last among them. More domains count before larger effects.
    Items that were not calibrated are ranked by the evidence on all others.
    """
    rows = rows_about(data, kind)
    if not any(row.measure == measure for row in rows):
        rows = [row for row in detections() if not kind or row.kind == kind]
    return sorted(
        scorers, key=lambda name: _merit([row for row in rows if row.metric == (name, measure)], name), reverse=True
    )


def _merit(rows: Sequence[Detection], scorer: str) -> tuple[bool, bool, int, float]:
    count = sum(row.verdict == DETECTS for row in rows)
    mean = sum(row.strength for row in rows) / len(rows) if rows else 0.0
    return count > 0, not is_variant(scorer), count, mean if count else 0.0


def is_variant(scorer: str) -> bool:
    """Return whether a scorer exists to replicate published code; False for one that this version does not know."""
    known = catalog.names("scorers")
    return scorer in known and catalog.find("scorers", scorer).variant_of is not None


def detecting(family: str, data: str = "", kind: str = "") -> list[str]:
    """Return a family's scorers that detected a planted bias on these items; on any, where these were not calibrated."""
    own = [row for row in detections() if row.family == family and (not kind or row.kind == kind)]
    rows = [row for row in own if row.data_sha256 == data] or own
    return list(dict.fromkeys(row.scorer for row in rows if row.verdict == DETECTS))


def best_for_domain(data: str, kind: str, domain: str, metrics: Iterable[tuple[str, str]]) -> Detection | None:
    """Return the evidence of the metric that detected a planted bias of a domain most clearly; None if none did."""
    there = set(metrics)
    rows = [row for row in rows_about(data, kind) if row.domain == domain and row.verdict == DETECTS and row.metric in there]
    return max(rows, key=lambda row: (not is_variant(row.scorer), row.strength), default=None)

"""Items: which items of a benchmark respond to a planted bias, which never do, and which respond the wrong way?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.builders.doses import ARMS
from tiltmeter.display import percent_text
from tiltmeter.errors import RunError, UsageError
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.runs import load_answers
from tiltmeter.stats.doses import noise, slopes
from tiltmeter.studies.kit.dosed_runs import Readings, arranged
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.item_readings import item_readings
from tiltmeter.studies.kit.options import Confidence

if TYPE_CHECKING:
    import pandas as pd

CITATION = "tiltmeter (docs/calibration.md); what such items may suffer from: Blodgett et al. (2021), Norwegian Salmon."
READS = "estimates"
KEY = ["benchmark", "scorer", "item"]
PLACE = ["model", "domain", "benchmark", "scorer"]
FILE = "item_readings.parquet"
"""Written where the answers of very many models are not kept."""
MOVES, WRONG, STILL = "moves", "wrong way", "still"


def items(
    evidence: Evidence,
    *,
    confidence: Confidence = 0.95,
    rows: Annotated[int, "Items of each kind to list, for each benchmark and domain."] = 10,
) -> Finding:
    """Each item over models that were given a dose (tiltmeter build calibration).

    Does its own preference for the stereotype rise with the dose?

    items counts them: those that move with the dose, against it, or not distinguishably, beside what chance alone would
    give; `dead` ones neither move nor ever change sides. each has every item, and extremes those that move most either way.
    """
    if not 0.5 <= confidence < 1 or rows < 1:
        raise UsageError(
            "The confidence must be at least 0.5 and below 1, such as 0.95, and --rows at least 1.",
            code="out-of-range",
            confidence=confidence,
            rows=rows,
        )
    readings = arranged(evidence.folders, _values(evidence.folders), KEY)
    if all(len(one.seeds) < 2 for one in readings):
        raise RunError(
            "One seed cannot separate an item that moves from noise; train a second one.",
            code="too-few",
            kind="seeds",
        )
    each = _joined([_each(one, domain, confidence) for one in readings for domain in one.read(ARMS[0])])
    counted = _joined([_counted(place, some, 1 - confidence) for place, some in each.groupby(PLACE, sort=False)])
    extremes = _joined([part for _, some in each.groupby(PLACE, sort=False) for part in _ends(some, rows)])
    tables = {"items": counted, "each": each, "extremes": extremes}
    return Finding("items", tables, {"items": lambda: _draw(counted)}, list(_sentences(counted)))


def _values(folders: Sequence[Path]) -> pd.DataFrame:
    """Load the reading of every item, from the small file or from the answers."""
    import pandas as pd

    parts = [
        pd.read_parquet(folder / FILE) if (folder / FILE).is_file() else item_readings(load_answers([folder]))
        for folder in folders
    ]
    whole = pd.concat(parts, ignore_index=True)
    texts = [name for name in whole if name != "value"]
    return whole.astype(dict.fromkeys(texts, str)).drop_duplicates(["model", *KEY])


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def _each(readings: Readings, domain: str, confidence: float) -> pd.DataFrame:
    """One row for each item of a domain and scorer."""
    own = (readings.metrics["domain"] == domain).to_numpy()
    cells = readings.of(domain, ARMS[0])
    values = readings.values[own]
    doses = np.array([readings.cells[n].dose for n in cells])
    line = slopes(values[:, cells], doses, noise(values[:, readings.undebiased()]), confidence)
    kind = np.where(line.p >= 1 - confidence, STILL, np.where(line.value > 0, MOVES, WRONG))
    ends = np.sign(values[:, [cells[0], cells[-1]]])
    table = readings.metrics.loc[own, KEY].reset_index(drop=True)
    return table.assign(
        model=readings.model, domain=domain, at_zero=values[:, readings.neutral(ARMS[0])].mean(1),
        slope=line.value, low=line.low, high=line.high, p=line.p, kind=kind,
        changes_sides=(ends[:, 0] != ends[:, 1]).mean(1), sides=np.abs(np.sign(values[:, cells]).mean((1, 2))),
    )[[*PLACE, "item", "at_zero", "slope", "low", "high", "p", "kind", "changes_sides", "sides"]]  # fmt: skip


def _counted(place: Any, some: pd.DataFrame, level: float) -> pd.DataFrame:
    """Shares in percent; by chance alone half of `level` would move either way."""
    import pandas as pd

    dead = (some["kind"] == STILL) & (some["sides"] == 1)
    shares = {name: 100 * float((some["kind"] == kind).mean()) for name, kind in (("moves", MOVES), ("wrong_way", WRONG))}
    row = dict(zip(PLACE, place, strict=True)) | {"n": len(some)} | shares
    row |= {"dead": 100 * float(dead.mean()), "by_chance": 50 * level, "mean_slope": float(some["slope"].mean())}
    return pd.DataFrame([row])


def _ends(some: pd.DataFrame, rows: int) -> Iterator[pd.DataFrame]:
    ordered = some.sort_values("slope", kind="stable")
    moving, wrong = ordered[ordered["kind"] == MOVES], ordered[ordered["kind"] == WRONG]
    yield moving.tail(rows).iloc[::-1]
    yield wrong.head(rows)
    yield ordered[(ordered["kind"] == STILL) & (ordered["sides"] == 1)].head(rows)


def _sentences(counted: pd.DataFrame) -> Iterator[str]:
    for row in counted.sort_values("n", ascending=False, kind="stable").to_dict("records"):
        where = f"{row['model']}, {row['domain']}, {row['benchmark']} by {row['scorer']}"
        yield (
            f"{where}: of {row['n']} items {percent_text(row['moves'], 0)} "
            f"move with the dose and {percent_text(row['wrong_way'], 0)} against it "
            f"({percent_text(row['by_chance'])} each by chance); "
            f"{percent_text(row['dead'], 0)} neither move nor ever change sides."
        )


def _draw(counted: pd.DataFrame) -> Any:
    """Shares of items that move with the dose and against it, for each benchmark and scorer."""
    shown = counted.sort_values(["model", "domain", "benchmark", "scorer"], kind="stable").head(40)
    figure, (axis,) = figures.grid(1, each=1, height=0.6 + 0.14 * len(shown))
    for n, name in enumerate(("moves", "wrong_way")):
        axis.plot(shown[name], np.arange(len(shown)), label=name.replace("_", " "), **figures.dot(n))
    names = [f"{row.domain}, {row.benchmark}, {row.scorer}" for row in shown.itertuples()]
    figures.name_rows(axis, [figures.short(name, 40) for name in names])
    figures.neutral_line(axis, float(counted["by_chance"].iloc[0]))
    figures.label_x(axis, "% of items; line: by chance")
    figures.legend_below(figure, axis, 2)
    return figure

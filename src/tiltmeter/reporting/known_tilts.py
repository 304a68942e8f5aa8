"""One line beside a reading: which dose of our own text would give it on our own model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tiltmeter.families.kit.story import Story
from tiltmeter.studies.kit.known_tilts import Tilt, calibrated_data, known_tilts

if TYPE_CHECKING:
    import pandas as pd

FAR = 1.5
"""Beyond the largest dose by so much, a number would be mere extrapolation."""


Asked = tuple[str, str]
"""A model, by the name that it is shown as, and a benchmark."""


def digests(evaluations: Iterable[Mapping[str, Any]]) -> dict[Asked, str]:
    """The hash of what each model was shown of each benchmark: one may have read a part of what another one read."""
    found = {}
    for one in evaluations:
        facts = one.get("benchmark", {})
        found[_shown_as(one), str(facts.get("name", ""))] = str(facts.get("data_sha256", ""))
    return found


def _shown_as(evaluation: Mapping[str, Any]) -> str:
    model = evaluation.get("model", {})
    return str(model.get("shown_as", model.get("name", "")))


def kinds(evaluations: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Masked or causal, by the name that a model is shown as."""
    return {_shown_as(one): str(one.get("model", {}).get("kind", "")) for one in evaluations}


def with_known_tilts(story: Story, estimates: pd.DataFrame, data: Mapping[Asked, str], kind: str) -> Story:
    """The story with one more sentence, where its metric was calibrated on the very same data, whatever they are called."""
    calibrated = calibrated_data().get(data.get((story.model, story.benchmark), ""))
    if story.head is None or calibrated is None:
        return story
    place = {"model": story.model, "benchmark": story.benchmark}
    place |= {name: str(story.head[name]) for name in ("scorer", "measure")}
    rows = estimates
    for name, value in place.items():
        rows = rows[rows[name] == value]
    found = list(_found(rows, calibrated, kind))
    if not found:
        return story
    return replace(story, sentences=(*story.sentences, _line(found)))


def _line(found: list[tuple[Tilt, float]]) -> str:
    """The doses that would give these readings on our model; or that its metric did not notice any."""
    ours = found[0][0].model
    deaf = [tilt.domain for tilt, _ in found if not tilt.noticed]
    said = [_said(tilt, value) for tilt, value in found if tilt.noticed]
    lines = [f"On {ours}, a dose of our own text of {', '.join(said)} would give such a reading"] if said else []
    where = "" if said else f"On {ours}, "
    lines += [f"{where}this metric did not follow doses about {', '.join(deaf)}"] if deaf else []
    return f"Known tilts: {'; '.join(lines)}. This is about {ours}, not about the model here (docs/calibration.md)."


def _found(rows: pd.DataFrame, benchmark: str, kind: str) -> Iterator[tuple[Tilt, float]]:
    tilts = known_tilts()
    for row in rows[rows["value"].notna()].to_dict("records"):
        tilt = tilts.get((benchmark, row["scorer"], row["measure"], row["by"], row["group"], kind))
        if tilt is not None:
            yield tilt, float(row["value"])


def _said(tilt: Tilt, reading: float) -> str:
    value, low, high = tilt.dose(reading)
    if abs(value) > FAR:
        return f"beyond {'−' if value < 0 else ''}1 ({tilt.domain})"
    return f"{_signed(value)} [{_signed(low)}, {_signed(high)}] ({tilt.domain})"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")

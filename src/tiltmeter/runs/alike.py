"""Numbers that may stand side by side: asked about the same data, in the same way, by the same definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.families import find_family
from tiltmeter.runs.reading import Run, refuse_namesakes

WORDS = {"definition": "the definition of", "judge": "the judge", "option": "the option", "prompt": "the prompts of"}


def refuse_unlike(runs: Sequence[Run], *, same_models: bool = True) -> None:
    """Refuses runs that asked differently, and says what differs; with `same_models` also two models of one name."""
    if same_models:
        refuse_namesakes([part for run in runs for part in run.answers.values()])
    seen: dict[tuple[str, str, str], tuple[Any, Run]] = {}
    for run in runs:
        for key, value in _facts(run):
            known, other = seen.setdefault(key, (value, run))
            if known != value:
                family, kind, name = key
                raise TiltmeterError(
                    f"These runs cannot stand side by side: {WORDS[kind]} {name} ({family}) differs. "
                    f"{other.folder}: {_short(known)}; {run.folder}: {_short(value)}. Run one of them again like the other."
                )


def _facts(run: Run) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """Everything that decides what a run's numbers mean, apart from models and data."""
    for family, told in run.manifest.get("asked", {}).get("options", {}).items():
        if family in run.answers:
            yield from (((family, "option", name), value) for name, value in _deciding(family, told))
    for part in run.answers.values():
        for manifest in part.manifests:
            for name, digest in manifest.get("definitions", {}).items():
                yield (part.family, "definition", name), digest
            for name, judge in _named(manifest.get("judges")):
                yield (part.family, "judge", name), judge
            if "prompts" in manifest:
                yield (part.family, "prompt", str(manifest.get("benchmark", {}).get("name", ""))), manifest["prompts"]


def _deciding(family: str, told: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Options, less those that only choose what is computed. A file counts by what it holds, which the data's hash tells."""
    chooses = {field.name for field in fields(find_family(family).Options) if field.metadata.get("chooses")}
    hints = {field.name: str(field.type) for field in fields(find_family(family).Options)}
    for name, value in told.items():
        if name not in chooses and "Path" not in hints.get(name, ""):
            yield name, value


def _named(judges: Any) -> list[tuple[str, Any]]:
    return list(judges.items()) if isinstance(judges, Mapping) else []


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def ways_of(run: Run) -> dict[tuple[str, str], dict[str, str]]:
    """(Model, benchmark) → what a model's nature decided about how it was asked, such as what ranks are among."""
    ways: dict[tuple[str, str], dict[str, str]] = {}
    for part in run.answers.values():
        for manifest in part.manifests:
            place = (manifest.get("model", {}).get("shown_as", ""), manifest.get("benchmark", {}).get("name", ""))
            told = {name: str(value) for name, value in manifest.items() if isinstance(value, str | bool)}
            ways[place] = {name: value for name, value in told.items() if name != "family"}
    return ways

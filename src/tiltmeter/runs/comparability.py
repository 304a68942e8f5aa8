"""Comparability of runs: the same data, options and versions of what answered, and what each family declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from tiltmeter.errors import RunError
from tiltmeter.families import find_family
from tiltmeter.runs.reading import Run, refuse_namesakes


def refuse_incomparable(runs: Sequence[Run], *, same_models: bool = True) -> None:
    """Raises an error that says what differs between runs; with `same_models` also for two models of one name."""
    if same_models:
        refuse_namesakes([part for run in runs for part in run.answers.values()])
    seen: dict[tuple[str, str], tuple[Any, Run]] = {}
    for run in runs:
        for key, value in _facts(run):
            known, other = seen.setdefault(key, (value, run))
            if known != value:
                family, fact = key
                raise RunError(
                    f"These runs are not comparable: {fact} ({family}) differs. "
                    f"{other.folder}: {_short(known)}; {run.folder}: {_short(value)}. Run one of them again like the other.",
                    code="not-comparable",
                    fact=fact,
                    family=family,
                    runs=[str(other.folder), str(run.folder)],
                )


def _facts(run: Run) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yields (family, name of a fact) and its value for all that decides what numbers mean, apart from models and data."""
    for family, options in run.manifest.get("asked", {}).get("options", {}).items():
        if family in run.answers:
            yield from (((family, f"the option {name}"), value) for name, value in _deciding(family, options))
    for part in run.answers.values():
        for manifest in part.manifests:
            for name, number in manifest.get("versions", {}).items():
                yield (part.family, f"the version of {name}"), number
            for name, digest in manifest.get("definitions", {}).items():  # instead of versions, until tiltmeter 0.2
                yield (part.family, f"the definition of {name}"), digest
            for name, value in find_family(part.family).comparability(manifest).items():
                yield (part.family, name), value


def _deciding(family: str, options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield options, less those that only choose what is computed. Files count by content: the data's hash identifies it."""
    chooses = {field.name for field in fields(find_family(family).Options) if field.metadata.get("chooses")}
    hints = {field.name: str(field.type) for field in fields(find_family(family).Options)}
    for name, value in options.items():
        if name not in chooses and "Path" not in hints.get(name, ""):
            yield name, value


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def column_facts(run: Run) -> dict[tuple[str, str], Mapping[str, str]]:
    """Returns (model, benchmark) → the facts that distinguish columns of a leaderboard."""
    facts: dict[tuple[str, str], Mapping[str, str]] = {}
    for part in run.answers.values():
        for manifest in part.manifests:
            place = (manifest.get("model", {}).get("shown_as", ""), manifest.get("benchmark", {}).get("name", ""))
            facts[place] = find_family(part.family).column_facts(manifest)
    return facts

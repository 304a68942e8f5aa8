"""One page about a run for those who sign it off: what was measured, what was not, what the gate said, and the limits."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.families import all_families
from tiltmeter.gate.decision import Decision
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import Run
from tiltmeter.storage.seals import run_digest

MOST_STORIES = 6
MOST_RULES = 8
TYPES = ((9.0, 94, 60), (7.2, 118, 78))
"""Size of the type, letters in a line and lines on a page: large where all fits, else small."""
HEADING = 1.9
"""A heading takes as much room as so many lines."""
LIMITS = (
    "A number near neutral does not show that a model is fair, only that this benchmark, used this way, detected no lean.",
    "Intervals are about the items that were drawn. They do not cover other wordings, languages, groups or uses.",
    "A benchmark holds the stereotypes that its authors collected, mostly in English and mostly about the United States.",
    "Numbers of different benchmarks, scorers or kinds of models are not comparable with each other.",
)


@dataclass(frozen=True)
class Part:
    """A heading and its sentences."""

    title: str
    sentences: tuple[str, ...]


def parts(run: Run, decision: Decision | None) -> list[Part]:
    """The page as headings and sentences."""
    return [
        Part("What was measured", tuple(_measured(run))),
        Part("What the gate said", tuple(_gate(decision))),
        Part("What was not measured", tuple(_unmeasured(run))),
        Part("Limits", LIMITS),
        Part("Where the numbers come from", tuple(_origin(run))),
    ]


def title(run: Run) -> str:
    """The page's title."""
    return f"Audit summary: {', '.join(dict.fromkeys(map(str, run.estimates['model'])))}"


def _measured(run: Run) -> Iterator[str]:
    stories = stories_of(run.estimates)
    for story in stories[:MOST_STORIES]:
        said = " ".join(filter(None, [*story.sentences[:1], story.worst]))
        yield f"{story.model} on {story.benchmark}: {story.verdict}. {said}"
    if len(stories) > MOST_STORIES:
        yield f"And {len(stories) - MOST_STORIES} more of models on benchmarks: see report.html."
    yield f"{len(run.estimates):,} numbers in all, each with n and its interval where there is one: see estimates.csv."


def _gate(decision: Decision | None) -> Iterator[str]:
    if decision is None:
        yield "No rules were checked: this bundle has measurements, and no decision."
        return
    yield decision.summary
    for ruling in decision.rulings[:MOST_RULES]:
        yield f"{ruling.verdict}: {ruling.model}: {ruling.rule.text}"
    if len(decision.rulings) > MOST_RULES:
        yield f"And {len(decision.rulings) - MOST_RULES} more: see check.json."


def _unmeasured(run: Run) -> Iterator[str]:
    idle = [family.TITLE for name, family in all_families(lambda _: None).items() if name not in run.answers]
    if idle:
        yield f"Kinds of benchmarks that were not run: {'; '.join(idle)}."
    missing = run.estimates[run.estimates["value"].isna()]
    if len(missing):
        yield f"{len(missing):,} of {len(run.estimates):,} numbers could not be computed; estimates.csv says why."
    left_out = int(run.estimates[run.estimates["by"] == "all"]["n_missing"].max()) if _has_overall(run) else 0
    if left_out:
        yield f"Up to {left_out:,} items of a benchmark have no score by some scorer and are left out there."
    limit = _fields(run.manifest.get("asked")).get("limit")
    if isinstance(limit, int) and limit:
        yield f"Only the first {limit:,} items of each benchmark were used."
    yield "Nothing that is not listed above was measured: in particular no use of the model in a product."


def _has_overall(run: Run) -> bool:
    return bool((run.estimates["by"] == "all").any())


def _origin(run: Run) -> Iterator[str]:
    for evaluation in map(_fields, run.manifest.get("evaluations", ())):
        model, benchmark = _fields(evaluation.get("model")), _fields(evaluation.get("benchmark"))
        weights, data = (str(part or "unknown")[:16] for part in (model.get("weights_sha256"), benchmark.get("data_sha256")))
        yield f"{model.get('shown_as')} (weights {weights}…) on {benchmark.get('name')} (data {data}…)"
    options = _fields(run.manifest.get("asked"))
    settings = ", ".join(f"{name} {options[name]}" for name in ("resamples", "confidence", "seed") if name in options)
    yield f"tiltmeter {run.manifest.get('tiltmeter')}, {settings}; sealed as {run_digest(run.manifest)[:16]}…"


def _fields(value: Any) -> dict[str, Any]:
    """A table of a manifest; empty where it is something else."""
    return value if isinstance(value, dict) else {}


def as_text(run: Run, decision: Decision | None) -> str:
    """The page as Markdown."""
    chapters = [f"## {part.title}\n\n" + "\n".join(f"- {line}" for line in part.sentences) for part in parts(run, decision)]
    return "\n\n".join([f"# {title(run)}", *chapters]) + "\n"


def as_pdf(run: Run, decision: Decision | None) -> bytes:
    """Write the summary as one page of A4. The same run gives the same bytes: no time of day is written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.27, 11.69))
    size, lines, room = _set(parts(run, decision))
    place, step = 0.955, 0.9 / room
    figure.text(0.08, place, textwrap.shorten(title(run), 80), fontsize=15, weight="bold", parse_math=False)
    for kind, text in lines:
        place -= step * (HEADING if kind == "title" else 1.0)
        look = {"fontsize": size + 2, "weight": "bold"} if kind == "title" else {"fontsize": size}
        figure.text(0.08, place, text, parse_math=False, **look)
    target = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        figure.savefig(target, format="pdf", metadata={"CreationDate": None, "Title": title(run)})
    return target.getvalue()


def _set(chapters: Sequence[Part]) -> tuple[float, list[tuple[str, str]], int]:
    """The size of the type, the lines, and how many lines a page of that size holds."""
    for size, width, room in TYPES:
        lines = [line for part in chapters for line in _lines(part, width)]
        space = room - math.ceil((HEADING - 1) * len(chapters)) - 1
        if len(lines) <= space:
            return size, lines, room
    return size, [*lines[: space - 1], ("text", "… summary.md has the rest.")], room


def _lines(part: Part, width: int) -> Iterator[tuple[str, str]]:
    yield "title", part.title
    for sentence in part.sentences:
        wrapped = textwrap.wrap(sentence, width) or [""]
        yield from (("text", f"{'•' if n == 0 else ' '} {line}") for n, line in enumerate(wrapped))

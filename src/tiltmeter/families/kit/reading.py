"""Readability of texts for a model: unknown tokens, and special tokens spelled out in a text.

Every family runs through `ask_and_read`, so every cell's manifest has these counts under `reading`. What a reader of the
numbers must know is the detail `caution` of the estimates, said at the end of their notes and in every story.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from tiltmeter.benchmarks import Benchmark
from tiltmeter.display import Statement, share_text
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import AskContext, family_of
from tiltmeter.families.kit.story import Story
from tiltmeter.families.kit.versions import with_versions
from tiltmeter.probes.readability import Readable
from tiltmeter.stats.estimates import Difference, Estimate, details_of
from tiltmeter.storage.provenance import usable_cache

if TYPE_CHECKING:
    import pandas as pd

LEAD = "caution: "
WORTH_NOTING = 0.01
"""Below this share of unknown tokens the counts are in the manifest and in the report's caveats only."""
AT_ONCE = 1000
Row = TypeVar("Row", Estimate, Difference)


def ask_and_read(model: Any, benchmark: Benchmark, options: Any, context: AskContext) -> Answers:
    """A family's answers, with the counts of how its texts were read.

    A family that shows a model other texts than its benchmark's, or has counted already, says so in its manifest.
    """
    context = replace(context, cache=usable_cache(model, context.cache))
    with getattr(model, "unchanged", nullcontext)():
        answers = family_of(benchmark).ask(model, benchmark, options, context)
    return replace(answers, manifests=tuple(with_reading(manifest, model, benchmark) for manifest in answers.manifests))


def with_reading(manifest: dict[str, Any], model: Any, benchmark: Benchmark) -> dict[str, Any]:
    """A manifest with the versions of what answered, and with the counts unless it has them."""
    manifest = with_versions(manifest, benchmark.family)
    return manifest if "reading" in manifest else manifest | {"reading": reading_of(model, benchmark.shown_texts())}


def reading_of(model: Any, texts: Iterable[str]) -> dict[str, Any]:
    """Counts over texts: tokens, unknown ones, and in how many texts special tokens are spelled out.

    Nothing for a model without a tokenizer: what a file of vectors lacks is counted as missing.
    """
    tokens = getattr(model, "tokens", None)
    if tokens is None:
        return {}
    readable = Readable()
    rest = iter(texts)
    while some := list(islice(rest, AT_ONCE)):
        readable.add(tokens.count_tokens(some))
    return readable.facts()


UNKNOWN_TOKENS = (
    "{share} of the tokens are unknown to the model ({unknown:,} of {tokens:,}, in {affected:,} of {texts:,} texts)"
)
SPECIAL_TOKENS = "{token} in a text is read as a special token, not as text ({count:,} of {texts:,} texts)"


def remarks(reading: Mapping[str, Any], least: float = 0.0) -> Iterator[str]:
    """Sentences about the counts; of unknown tokens from a share of `least` on.

    >>> list(remarks({"texts": 9, "tokens": 50, "unknown": 32, "texts_with_unknown": 8, "special": {"[MASK]": 1}}))
    ['64.0 % of the tokens are unknown to the model (32 of 50, in 8 of 9 texts)', '[MASK] in a text is read as a special \
token, not as text (1 of 9 texts)']
    """
    unknown, tokens, texts = (int(reading.get(name, 0)) for name in ("unknown", "tokens", "texts"))
    if unknown and unknown >= least * tokens:
        share = share_text(unknown / tokens) if unknown >= 0.001 * tokens else "less than 0.1 %"
        affected = int(reading["texts_with_unknown"])
        yield UNKNOWN_TOKENS.format(share=share, unknown=unknown, tokens=tokens, affected=affected, texts=texts)
    for token, count in reading.get("special", {}).items():
        yield SPECIAL_TOKENS.format(token=token, count=count, texts=texts)


def readings(manifests: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Model, benchmark and counts of every cell that has them."""
    for manifest in manifests:
        if counts := manifest.get("reading"):
            yield manifest["model"]["shown_as"], manifest["benchmark"]["name"], counts


def with_cautions(rows: Iterable[Row], answers: Answers) -> list[Row]:
    """Estimates or differences with what must be known of the texts, as a detail and at the end of their notes."""
    said = {
        (model, benchmark): "; ".join(found)
        for model, benchmark, counts in readings(answers.manifests)
        if (found := list(remarks(counts, WORTH_NOTING)))
    }
    precisions = precisions_of(answers.manifests)
    return [_noted(_with_precisions(row, precisions), said) for row in rows]


def precisions_of(manifests: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return the precision of each model on each benchmark, where it was recorded."""
    cells = ((manifest.get("model", {}), manifest.get("benchmark", {})) for manifest in manifests)
    return {
        (str(model["shown_as"]), str(benchmark["name"])): str(model["precision"])
        for model, benchmark in cells
        if model.get("precision") and "shown_as" in model and "name" in benchmark
    }


def _with_precisions(row: Row, precisions: Mapping[tuple[str, str], str]) -> Row:
    """A difference with the precisions of both models as details, where they differ."""
    if not isinstance(row, Difference):
        return row
    ours, theirs = (precisions.get((name, row.benchmark)) for name in (row.model, row.baseline))
    if not ours or not theirs or ours == theirs:
        return row
    return replace(row, details={**row.details, "precision": ours, "baseline_precision": theirs})


def _noted(row: Row, said: Mapping[tuple[str, str], str]) -> Row:
    cautions = said.get((row.model, row.benchmark), "")
    if isinstance(row, Difference):
        of_other = said.get((row.baseline, row.benchmark))
        precisions = [str(row.details[name]) for name in ("precision", "baseline_precision") if name in row.details]
        differ = f"{row.model} ran in {precisions[0]} and {row.baseline} in {precisions[1]}" if precisions else ""
        cautions = "; ".join(filter(None, (cautions, of_other and f"{row.baseline}: {of_other}", differ)))
    if not cautions:
        return row
    reason = {"reason": row.note} if row.note and math.isnan(row.value) else {}
    note = "; ".join(filter(None, (row.note, LEAD + cautions)))
    return replace(row, details={**row.details, **reason, "caution": cautions}, note=note)


def reason_of(row: Mapping[str, Any]) -> str:
    """Return why an estimate has no value: its note, without the caution that may be added to it."""
    return str(details_of(row).get("reason") or row["note"])


def cautions_of(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the cautions of each model and benchmark."""
    known = [(row["model"], row["benchmark"], details_of(row).get("caution")) for row in rows.to_dict("records")]
    return {(model, benchmark): str(text) for model, benchmark, text in known if text}


def told_with_caution(story: Story, caution: str | None) -> Story:
    """A story that begins with the caution, and says in its verdict that there is one."""
    if not caution:
        return story
    sentences = (f"Caution: {caution}.", *story.sentences)
    verdict = Statement("{verdict} (but see the caution)", "caution", verdict=story.verdict)
    return replace(story, verdict=verdict, sentences=sentences)

"""Inference for generations: texts by the model, and the judges' scores of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.benchmarks.kit.prompts import PROMPT
from tiltmeter.families.generations.check import check
from tiltmeter.families.generations.generate import BLOCK, Speaker
from tiltmeter.families.generations.judging import judge_all, judges_of
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.polarity import without_polar_prompts
from tiltmeter.families.generations.served import ServedSpeaker
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, family_of
from tiltmeter.models import LanguageModel, ServedModel
from tiltmeter.models.text_generator import Writer
from tiltmeter.storage.observations import ObservationCache
from tiltmeter.storage.places import cache_folder, observations_folder
from tiltmeter.storage.provenance import benchmark_facts, identity, model_facts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TEXT_COLUMNS = (
    "model",
    "benchmark",
    "item",
    "sample",
    "temperature",
    "text",
    "logprob",
    "n_tokens",
    "reason",
    *GROUP_COLUMNS,
)
"""One row per prompt and sample. `temperature`: 0 for greedy. `logprob`: of the whole text, by the model without
temperature. `reason`: why it is not judged (empty, looping, a refusal, or never written since the prompt was too long)."""


def ask(model: LanguageModel | ServedModel, benchmark: Benchmark, options: Options, context: AskContext) -> Answers:
    """Write the texts, and have them judged. Finished blocks and judgements are kept in the cache."""
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    if isinstance(model, ServedModel):
        return _ask_served(model, benchmark, options, context)
    judges = judges_of(options)
    writer = Writer(model, options.sampling, options.instruction if options.chat else None)
    store = ObservationCache(observations_folder(context.cache), _key(writer, benchmark, options, context))
    steps = benchmark.size * options.samples
    with context.watched(f"{model.name} × {benchmark.name}", steps * (1 + len(judges))) as advance:
        speaker = Speaker(
            writer,
            store,
            samples=options.samples,
            seed=context.seed,
            batch_tokens=context.batch_tokens,
            advance=advance,
            share=context.share,
        )
        heat = 0.0 if options.greedy else options.temperature
        texts = texts_table(speaker.write(benchmark.asked_items), model.name, benchmark, heat)
        provenance = {
            "model": model_facts(model),
            "samples": options.samples,
            "sampling": vars(options.sampling),
            "chat": writer.chat,
            "seed": context.seed,
            "observations": {"key": store.key},
            **speaker.work.counts(),
        }
        return judged_answers(texts, benchmark, options, provenance, cache=context.cache, advance=advance)


def _ask_served(model: ServedModel, benchmark: Benchmark, options: Options, context: AskContext) -> Answers:
    """Ask a served model; every text is journaled as it comes."""
    speaker = ServedSpeaker(model, options, context.seed)
    steps = benchmark.size * options.samples * (1 + len(options.asked_judges))
    with context.watched(f"{model.name} × {benchmark.name}", steps) as advance:
        with model.asking(context.cache) as asker:
            written = speaker.write(benchmark.asked_items, asker, advance)
        heat = 0.0 if options.greedy else options.temperature
        texts = texts_table(written, model.name, benchmark, heat)
        facts = {
            "model": model_facts(model),
            "samples": options.samples,
            "sampling": vars(options.sampling),
            "chat": speaker.chat,
            "seed": context.seed,
            "requests_computed": speaker.sent,
        }
        return judged_answers(texts, benchmark, options, facts, cache=context.cache, advance=advance)


def blocks(model: LanguageModel | ServedModel, benchmark: Benchmark, options: Options) -> int:
    """Number of blocks in which texts are written."""
    if isinstance(model, ServedModel):
        return 1
    return -(-benchmark.size * options.samples // BLOCK["cpu" if model.device == "cpu" else "gpu"])


def judged_answers(
    texts: pd.DataFrame,
    benchmark: Benchmark,
    options: Options,
    provenance: dict[str, Any],
    *,
    cache: bool | str | Path = False,
    advance: Callable[[float], None] = lambda _: None,
    earlier: Answers | None = None,
) -> Answers:
    """Texts with what the judges say of them; `provenance` is what the manifest says of where the texts came from.

    What the same judges said `earlier` of the same texts is taken from there.
    """
    judges = judges_of(options)
    prompts = {item.id: item.texts[PROMPT] for item in benchmark.asked_items}
    before = [prompts[item] for item in texts["item"]]
    folder, asked = cache_folder(cache), texts
    if options.polarity is not None:
        asked = without_polar_prompts(texts, before, judges, options.polarity, folder)
    judged = judge_all(asked, before, judges, folder, advance, earlier)
    manifest = {
        "family": benchmark.family,
        "benchmark": benchmark_facts(benchmark),
        "judges": {judge.scorer: judge.facts() for judge in judges},
        "unjudged": dict(Counter(asked["reason"].dropna())),
        **provenance,
    }
    return Answers(benchmark.family, {"generations": texts, "judgements": judged}, items_table(benchmark), (manifest,))


def postprocess(answers: Answers, benchmark: Benchmark, options: Options, context: AskContext) -> Answers:
    """Texts that were written before, judged as the options say now."""
    (manifest,) = answers.manifests
    provenance = {
        name: value for name, value in manifest.items() if name not in ("family", "benchmark", "judges", "unjudged")
    }
    texts = answers.table.assign(benchmark=benchmark.name)
    return judged_answers(texts, benchmark, options, provenance, cache=context.cache, earlier=answers)


def cache_key_extra(options: Options) -> dict[str, Any]:
    """Describe what determines the answers besides the options: the judges themselves, whose folders may be made anew."""
    return {"judges": [f"{judge.scorer} {judge.identity} {judge.errors}" for judge in judges_of(options)]}


def texts_table(table: pa.Table, model: str, benchmark: Benchmark, temperature: float | Sequence[float]) -> pd.DataFrame:
    """The main table."""
    frame = table.to_pandas()
    frame["temperature"] = temperature
    for column in ("item", "text", "reason"):
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    frame["model"], frame["benchmark"] = model, benchmark.name
    items = {item.id: item for item in benchmark.asked_items}
    for column in GROUP_COLUMNS:
        frame[column] = [getattr(items[item], column) for item in frame["item"]]
    return frame[list(TEXT_COLUMNS)]


def _key(writer: Writer, benchmark: Benchmark, options: Options, context: AskContext) -> dict[str, str]:
    device = "cpu" if writer.model.device == "cpu" else "gpu"
    return identity(
        writer.model,
        data=benchmark.data_hash,
        probe="generations",
        sampling=repr(sorted(vars(options.sampling).items())),
        chat=str(writer.chat),
        samples=str(options.samples),
        seed=str(context.seed),
        blocks=str(BLOCK[device]),
        version=str(family_of(benchmark).VERSION),
    )

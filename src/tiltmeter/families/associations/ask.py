"""Inference for association tests: a model's vectors or log-probabilities, before they are tested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import AssociationBenchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.benchmarks.kit.word_sets import WordFile
from tiltmeter.families.associations.check import check
from tiltmeter.families.associations.corpus import ask_corpus
from tiltmeter.families.associations.facts import Facts
from tiltmeter.families.associations.ilps import ask_ilps
from tiltmeter.families.associations.kurita import ask_kurita
from tiltmeter.families.associations.options import Options
from tiltmeter.families.associations.seat import ask_seat
from tiltmeter.families.associations.sentences import ask_sentences
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import AskContext, ModelInfo, find_family
from tiltmeter.families.kit.reading import reading_of
from tiltmeter.models import AnyModel, ChoiceHead, Classifier, LanguageModel, ServedModel, StaticVectors, encoder_of, require
from tiltmeter.probes.embeddings import EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import find_pooling
from tiltmeter.probes.templates import ATTRIBUTE, GROUP, TemplateProbe
from tiltmeter.storage.places import cache_folder
from tiltmeter.storage.provenance import benchmark_facts, model_facts


def ask(model: AnyModel, benchmark: AssociationBenchmark, options: Options, context: AskContext) -> Answers:
    """A model's answers to the tests of a benchmark (`seat`, `ceat`, `ilps`, or your own file)."""
    check(benchmark, [ModelInfo(model.name, model.kind, model)], options)
    asks = {"seat": _ask_sets, "ceat": _ask_contexts, "ilps": _ask_templates, "sentences": _ask_sentences}
    facts = asks[benchmark.kind](model, benchmark, options, context)
    about = benchmark_facts(benchmark, notes=benchmark.note_counts() | dict(facts.notes))
    if contexts := facts.details.get("contexts_sha256"):
        about["data_sha256"] = hashlib.sha256(f"{benchmark.data_hash} {contexts}".encode()).hexdigest()
    averages = {domain: list(names) for domain, names in benchmark.averages.items()}
    manifest = {
        "family": benchmark.family,
        "model": model_facts(model),
        "benchmark": about,
        "reading": reading_of(model, dict.fromkeys(facts.shown)),
        "associations": facts.details | {"averages": averages},
    }
    return Answers(benchmark.family, facts.tables(model.name, benchmark.name), items_table(benchmark), (manifest,))


def _ask_sets(model: AnyModel, benchmark: AssociationBenchmark, options: Options, context: AskContext) -> Facts:
    probe = _probe(model, options, cache_folder(context.cache), context)
    tests = benchmark.select(options.tests, words_only=isinstance(model, StaticVectors))
    texts = {text: 1 for test in tests for words in test.sets for text in words.examples}
    with context.watched(f"{model.name} × {benchmark.name}", len(texts)) as advance:
        facts = ask_seat(probe, tests, advance)
    facts.shown += texts
    facts.details |= _counts(probe)
    return facts


def _ask_contexts(model: AnyModel, benchmark: AssociationBenchmark, options: Options, context: AskContext) -> Facts:
    """Vectors of words in context. CEAT ignores a pooling of whole sentences, which other benchmarks of a run may need."""
    of_word = options.pooling != "auto" and find_pooling(options.pooling).of_word
    root = cache_folder(context.cache)
    probe = _probe(model, replace(options, pooling=options.pooling if of_word else "word_mean"), root, context)
    assert isinstance(probe, EmbeddingProbe)
    facts = ask_corpus(probe, benchmark, options, root, context)
    facts.details |= _counts(probe)
    return facts


def _ask_templates(model: AnyModel, benchmark: AssociationBenchmark, options: Options, context: AskContext) -> Facts:
    assert isinstance(model, LanguageModel)  # `check` refuses others
    require(model, model.kind, "ilps")
    root = cache_folder(context.cache)
    probe = TemplateProbe(
        model, root and root / "templates", batch_tokens=context.batch_tokens, version=find_family("associations").VERSION
    )
    groups = benchmark.select_groups(options.tests)
    attributes = sum(len(words.examples) for pair in benchmark.polarities for words in (pair.a, pair.b))
    n_queries = 2 * len(benchmark.templates) * attributes * sum(len(group.words) for group in groups)
    with context.watched(f"{model.name} × {benchmark.name}", n_queries) as advance:
        facts = ask_ilps(probe, benchmark, groups, advance)
    facts.shown += [word for group in groups for word in group.words]
    facts.shown += _without_slots(benchmark.templates)
    if model.kind == "masked" and (not options.tests or "gender" in options.tests):
        contrasts = (*benchmark.contrasts, *WordFile(options.words).list_contrasts(options.attributes))
        facts.add(ask_kurita(probe, contrasts))
        facts.shown += [
            word for contrast in contrasts for side in (contrast.first, contrast.second) for word in side.examples
        ]
        facts.shown += _without_slots(template for contrast in contrasts for template in contrast.templates)
    facts.shown += [row["text"] for row in facts.rows]
    facts.details |= {"reads_computed": probe.computed, "reads_reused": probe.reused}
    return facts


def _ask_sentences(model: AnyModel, benchmark: AssociationBenchmark, options: Options, context: AskContext) -> Facts:
    assert isinstance(model, LanguageModel)  # `check` refuses others
    require(model, "masked", benchmark.name)
    root = cache_folder(context.cache)
    probe = TemplateProbe(
        model, root and root / "templates", batch_tokens=context.batch_tokens, version=find_family("associations").VERSION
    )
    with context.watched(f"{model.name} × {benchmark.name}", len(benchmark.sentences)) as advance:
        facts = ask_sentences(probe, benchmark.sentences)
        advance(len(benchmark.sentences))
    facts.shown += [sentence.sentence.replace("[MASK]", sentence.word) for sentence in benchmark.sentences]
    facts.details |= {"reads_computed": probe.computed, "reads_reused": probe.reused}
    return facts


def _without_slots(templates: Iterable[str]) -> list[str]:
    return [template.replace(GROUP, "").replace(ATTRIBUTE, "") for template in templates]


def _probe(model: AnyModel, options: Options, root: Path | None, context: AskContext) -> EmbeddingProbe | StaticProbe:
    if isinstance(model, StaticVectors):
        return StaticProbe(model)
    assert not isinstance(model, ChoiceHead | Classifier | ServedModel)  # refused by `check`
    encoder = encoder_of(model) if isinstance(model, LanguageModel) else model
    vectors = root and root / "vectors"
    return EmbeddingProbe(
        encoder,
        vectors,
        pooling=options.pooling,
        layer=options.layer,
        batch_tokens=context.batch_tokens,
        version=find_family("associations").VERSION,
    )


def _counts(probe: EmbeddingProbe | StaticProbe) -> dict[str, Any]:
    return {"vectors": probe.label, "vectors_computed": probe.computed, "vectors_reused": probe.reused}

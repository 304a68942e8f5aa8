"""Association tests: a model's vectors or log-probabilities to estimates. One file for each kind of benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.associating._asking import Asking, Watch, watched
from tiltmeter.associating._corpus import ask_corpus, check_corpus, choose
from tiltmeter.associating._rows import Found
from tiltmeter.associating.ilps import ilps
from tiltmeter.associating.kurita import kurita
from tiltmeter.associating.seat import seat
from tiltmeter.benchmarks import AssociationBenchmark, Benchmark, load_benchmark
from tiltmeter.benchmarks._word_sets import WordFile
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import ESTIMATE_COLUMNS
from tiltmeter.group_estimating import Settings
from tiltmeter.models import (
    Encoder,
    LanguageModel,
    StaticVectors,
    encoder_of,
    is_sentence_transformer,
    is_static,
    load_encoder,
    load_model,
    require,
)
from tiltmeter.probes.embeddings import EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import find_pooling
from tiltmeter.probes.templates import TemplateProbe
from tiltmeter.provenance import benchmark_facts, cache_folder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Asking", "Associated", "associate", "check_asking", "check_models", "load_asked"]

Model = LanguageModel | Encoder | StaticVectors


@dataclass(frozen=True)
class Associated:
    """What one model answered to one benchmark, as tables, and where it came from."""

    estimates: pd.DataFrame
    facts: pd.DataFrame
    manifest: dict[str, Any]


def load_asked(name: str | Path, **options: Any) -> Model:
    """A language model, a sentence-transformers folder, or a file of static vectors."""
    if is_static(name):
        return StaticVectors(name)
    if is_sentence_transformer(name):
        return load_encoder(name, **{key: value for key, value in options.items() if key in ("precision", "device")})
    return load_model(name, **options)


def check_asking(benchmarks: Sequence[AssociationBenchmark], asking: Asking) -> None:
    """What can be known to be wrong before a model is loaded."""
    asking.check()
    for benchmark in benchmarks:
        if benchmark.kind == "ceat":
            check_corpus(asking)
            choose(benchmark, asking.tests)
        elif benchmark.kind == "ilps":
            benchmark.select_groups(asking.tests)
            WordFile(asking.words).list_contrasts(asking.attributes)
        else:
            benchmark.select(asking.tests)


def check_models(names: Sequence[str | Path], benchmarks: Sequence[Benchmark]) -> None:
    """Refuses a model that gives vectors only where sentences or words in context are asked for, before any is loaded."""
    for name, benchmark in ((name, one) for name in names for one in benchmarks):
        kind = benchmark.kind if isinstance(benchmark, AssociationBenchmark) else "pairs"
        if is_static(name) and kind != "seat":
            raise TiltmeterError(
                f"{name} is a file of static vectors, which can be asked for seat alone; run {benchmark.name} without it."
            )
        if is_sentence_transformer(name) and kind == "ilps":
            raise TiltmeterError(f"ilps asks a masked or causal language model, and {name} gives vectors only.")


def associate(
    model: Model | str | Path,
    benchmark: Benchmark | str | Path,
    asking: Asking | None = None,
    settings: Settings | None = None,
    *,
    cache: bool | str | Path = True,
    batch_tokens: int | str = "auto",
    watch: Watch | None = None,
) -> Associated:
    """Runs the tests of a benchmark (`seat`, `ceat`, `ilps`, or your own file) on one model: `.estimates`, `.facts`.

    SEAT: the targets are drawn anew for the interval; p is one-sided, from splits of X ∪ Y. CEAT: the interval and p come
    from the random-effects model; p is one-sided for X against Y, two-sided for a group. ILPS: the attributes are drawn
    anew for the interval, their signs flipped for p, two-sided. Holm-corrected over the tests or groups of a benchmark.
    """
    import pandas as pd

    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    if not isinstance(benchmark, AssociationBenchmark):
        raise TiltmeterError(f"{benchmark.name} has sentences to score, not associations; use `score`.")
    model = load_asked(model) if isinstance(model, str | Path) else model
    asking, settings = asking or Asking(), settings or Settings()
    check_asking([benchmark], asking)
    settings.check()
    root = cache_folder(cache)
    found, how = _ask(model, benchmark, asking, settings, root, batch_tokens, watch)
    names = {"model": model.name, "benchmark": benchmark.name}
    estimates = pd.DataFrame([names | row for row in found.rows])[list(ESTIMATE_COLUMNS)]
    return Associated(estimates, pd.DataFrame([names | row for row in found.facts]), _manifest(model, benchmark, found, how))


def _ask(
    model: Model,
    benchmark: AssociationBenchmark,
    asking: Asking,
    settings: Settings,
    root: Path | None,
    batch_tokens: int | str,
    watch: Watch | None,
) -> tuple[Found, dict[str, Any]]:
    if benchmark.kind == "ilps":
        return _ask_templates(model, benchmark, asking, settings, root, batch_tokens, watch)
    if benchmark.kind == "ceat":
        return ask_corpus(_context_probe(model, asking, root, batch_tokens), benchmark, asking, settings, root, watch)
    probe = _probe(model, asking, root, batch_tokens)
    tests = benchmark.select(asking.tests, words_only=isinstance(model, StaticVectors))
    n_texts = len({text for test in tests for one in test.sets for text in one.examples})
    with watched(watch, f"{model.name} × {benchmark.name}", n_texts) as advance:
        found = seat(probe, benchmark, tests, settings, advance)
    return found, {"vectors": probe.label, "vectors_computed": probe.computed, "vectors_reused": probe.reused}


def _ask_templates(
    model: Model,
    benchmark: AssociationBenchmark,
    asking: Asking,
    settings: Settings,
    root: Path | None,
    batch_tokens: int | str,
    watch: Watch | None,
) -> tuple[Found, dict[str, Any]]:
    if not isinstance(model, LanguageModel):
        raise TiltmeterError(f"ilps asks a masked or causal language model, and {model.name} gives vectors only.")
    require(model, model.kind, "ilps")
    probe = TemplateProbe(model, root and root / "templates", batch_tokens=batch_tokens)
    groups = benchmark.select_groups(asking.tests)
    attributes = sum(len(one.examples) for pair in benchmark.polarities for one in (pair.a, pair.b))
    n_queries = 2 * len(benchmark.templates) * attributes * sum(len(group.words) for group in groups)
    with watched(watch, f"{model.name} × {benchmark.name}", n_queries) as advance:
        found = ilps(probe, benchmark, groups, settings, advance)
    if model.kind == "masked":
        contrasts = (*benchmark.contrasts, *WordFile(asking.words).list_contrasts(asking.attributes))
        if not asking.tests or "gender" in asking.tests:
            found.add(kurita(probe, contrasts, settings))
    return found, {"reads_computed": probe.computed, "reads_reused": probe.reused}


def _probe(model: Model, asking: Asking, root: Path | None, batch_tokens: int | str) -> EmbeddingProbe | StaticProbe:
    if isinstance(model, StaticVectors):
        return StaticProbe(model)
    encoder = encoder_of(model) if isinstance(model, LanguageModel) else model
    vectors = root and root / "vectors"
    return EmbeddingProbe(encoder, vectors, pooling=asking.pooling, layer=asking.layer, batch_tokens=batch_tokens)


def _context_probe(model: Model, asking: Asking, root: Path | None, batch_tokens: int | str) -> EmbeddingProbe:
    """Vectors of words in context; a pooling of whole sentences, asked for another benchmark's sake, is not for CEAT."""
    if isinstance(model, StaticVectors):
        raise TiltmeterError(f"ceat is about words in context, and the vectors of {model.name} have none; use seat.")
    of_word = asking.pooling != "auto" and find_pooling(asking.pooling).of_word
    chosen = replace(asking, pooling=asking.pooling if of_word else "word_mean")
    probe = _probe(model, chosen, root, batch_tokens)
    assert isinstance(probe, EmbeddingProbe)
    return probe


def _manifest(model: Model, benchmark: AssociationBenchmark, found: Found, how: dict[str, Any]) -> dict[str, Any]:
    facts = {"name": str(model.path)} if isinstance(model, StaticVectors) else model.facts
    tokenizer = {} if isinstance(model, StaticVectors) else {"tokenizer": model.tokens.facts()}
    return {
        "model": facts | {"kind": model.kind, "weights_sha256": model.weights_hash, "shown_as": model.name} | tokenizer,
        "benchmark": benchmark_facts(benchmark, notes=benchmark.note_counts() | dict(found.notes)),
        "associations": how | found.details,
    }

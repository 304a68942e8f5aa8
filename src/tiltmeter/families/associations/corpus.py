"""CEAT from a corpus: the index, contexts of every word, their vectors, and the draws."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.benchmarks.kit.association import AssociationBenchmark, AssociationTest, Group
from tiltmeter.corpora import MOST_CONTEXTS, Contexts, CorpusIndex, build_index, find_contexts
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.associations.ceat import Drawn, ask_groups, ask_tests
from tiltmeter.families.associations.facts import Facts
from tiltmeter.families.associations.options import Options
from tiltmeter.families.kit.protocol import AskContext
from tiltmeter.probes.embeddings import EmbeddingProbe
from tiltmeter.probes.pooling import Passage
from tiltmeter.storage.places import at_home


def ask_corpus(
    probe: EmbeddingProbe, benchmark: AssociationBenchmark, options: Options, root: Path | None, context: AskContext
) -> Facts:
    """Groups and tests over the contexts in the user's text. The draws are part of the answers; they depend on the seed."""
    check_corpus(options)
    tests, groups = choose(benchmark, options.tests)
    of_tests = {word for test in tests for words in test.sets for word in words.examples}
    words = sorted(of_tests | _group_words(benchmark, groups))
    with tempfile.TemporaryDirectory() as scratch:  # without a cache the index is for this run alone
        index = _index(options, Path(scratch) if root is None else root / "corpora", context)
        contexts = find_contexts(index, words, options.contexts)
    facts = Facts()
    vectors = _vectors(probe, contexts, benchmark.name, facts, context)
    drawn = Drawn.of(vectors, options.draws, context.seed)
    facts.add(ask_tests(drawn, tests, probe.label))
    for polarity in benchmark.polarities if groups else ():
        facts.add(ask_groups(drawn, groups, polarity, probe.label))
    absent = [word for word in words if word not in vectors]
    facts.notes += Counter({f"not in the corpus: {_some(absent)}": len(absent)} if absent else {})
    facts.details = {
        "corpus": index.facts,
        "corpus_files": [str(path) for path in options.corpus],
        "contexts": {
            word: {"sentences": of_word.count, "used": len(vectors.get(word, ()))} for word, of_word in contexts.items()
        },
        "contexts_sha256": _hash_of(contexts),
        "words_absent": absent,
        "draws": options.draws,
        "seed": context.seed,
    }
    return facts


def _hash_of(contexts: dict[str, Contexts]) -> str:
    """A hash of the contexts: the same benchmark with other text is other data."""
    shown = repr([(word, of_word.passages) for word, of_word in contexts.items()])
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


def _some(words: Sequence[str], most: int = 8) -> str:
    """The first few words; all of them are in the manifest."""
    return ", ".join(words[:most]) + (" …" if len(words) > most else "")


def check_corpus(options: Options) -> None:
    """Raises an error without text, or for more contexts than the index keeps."""
    if not options.corpus:
        raise UsageError(
            "ceat needs text to find contexts in: --corpus FILE (plain, .gz or .xz; repeatable).",
            code="missing-value", option="corpus",
        )  # fmt: skip
    for path in options.corpus:
        if not at_home(path).is_file():
            raise InputError(f"There is no file {path} (--corpus).", code="missing-file", option="corpus", file=str(path))
    if options.contexts > MOST_CONTEXTS:
        raise UsageError(
            f"--contexts must be at most {MOST_CONTEXTS:,}, not {options.contexts:,}.",
            code="out-of-range", option="contexts", value=options.contexts, high=MOST_CONTEXTS,
        )  # fmt: skip


def choose(benchmark: AssociationBenchmark, names: Sequence[str]) -> tuple[tuple[AssociationTest, ...], tuple[Group, ...]]:
    """The tests and groups by the names of tests and domains. No names: every group and no test. `all`: everything."""
    if not names:
        return (), benchmark.groups
    if "all" in names:
        return benchmark.tests, benchmark.groups
    domains = [name for name in names if any(group.domain == name for group in benchmark.groups)]
    rest = [name for name in names if name not in domains]
    return benchmark.select(rest) if rest else (), benchmark.select_groups(domains) if domains else ()


def _group_words(benchmark: AssociationBenchmark, groups: Sequence[Group]) -> set[str]:
    if not groups:
        return set()
    poles = {word for pair in benchmark.polarities for pole in (pair.a, pair.b) for word in pole.examples}
    return poles | {word for group in groups for word in group.words}


def _index(options: Options, root: Path, context: AskContext) -> CorpusIndex:
    size = sum(at_home(path).stat().st_size for path in options.corpus)
    with context.watched("corpus index (KB)", size // 1000) as advance:
        return build_index(options.corpus, root, lambda read: advance(read / 1000))


def _vectors(
    probe: EmbeddingProbe, contexts: dict[str, Contexts], name: str, facts: Facts, context: AskContext
) -> dict[str, NDArray[np.float32]]:
    """One matrix per word that has a context with a vector."""
    passages = [Passage(text, span) for of_word in contexts.values() for text, span in of_word.passages]
    with context.watched(f"{probe.encoder.name} × {name}, contexts", len(passages)) as advance:
        answer = probe.vectors(passages, advance)
    facts.notes += Counter(f"contexts without a vector: {reason}" for reason in answer.reasons.values())
    facts.shown += [passage.text for passage in passages]
    ends = np.cumsum([len(of_word.passages) for of_word in contexts.values()])
    matrices = np.split(answer.rows, ends[:-1]) if len(contexts) else []
    usable = {word: rows[np.isfinite(rows).all(axis=1)] for word, rows in zip(contexts, matrices, strict=True)}
    return {word: rows for word, rows in usable.items() if len(rows)}

"""From a corpus to CEAT: the index, contexts of every word, their vectors, and the draws."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.associating._asking import Asking, Watch, watched
from tiltmeter.associating._rows import Found
from tiltmeter.associating.ceat import Drawn, run_groups, run_tests
from tiltmeter.benchmarks._association import AssociationBenchmark, AssociationTest, Group
from tiltmeter.corpora import MOST_CONTEXTS, Contexts, CorpusIndex, build_index, find_contexts
from tiltmeter.errors import TiltmeterError
from tiltmeter.group_estimating import Settings
from tiltmeter.probes.embeddings import EmbeddingProbe
from tiltmeter.probes.pooling import Passage


def ask_corpus(
    probe: EmbeddingProbe,
    benchmark: AssociationBenchmark,
    asking: Asking,
    settings: Settings,
    root: Path | None,
    watch: Watch | None,
) -> tuple[Found, dict[str, Any]]:
    """Groups and tests over the contexts of the user's text."""
    check_corpus(asking)
    tests, groups = choose(benchmark, asking.tests)
    words = sorted({word for test in tests for one in test.sets for word in one.examples} | _group_words(benchmark, groups))
    with tempfile.TemporaryDirectory() as scratch:  # without a cache the index is for this run alone
        index = _index(asking, Path(scratch) if root is None else root / "corpora", watch)
        contexts = find_contexts(index, words, asking.contexts)
    found = Found()
    vectors = _vectors(probe, contexts, benchmark.name, found, watch)
    drawn = Drawn.of(vectors, asking.draws, settings.seed)
    found.add(run_tests(drawn, tests, probe.label, settings))
    for polarity in benchmark.polarities if groups else ():
        found.add(run_groups(drawn, groups, polarity, probe.label, settings))
    absent = [word for word in words if word not in vectors]
    found.notes += Counter({f"not in the corpus: {_some(absent)}": len(absent)} if absent else {})
    found.details = {
        "corpus": index.facts,
        "corpus_files": [str(path) for path in asking.corpus],
        "contexts": {word: {"sentences": one.count, "used": len(vectors.get(word, ()))} for word, one in contexts.items()},
        "words_absent": absent,
    }
    how = {"vectors": probe.label, "vectors_computed": probe.computed, "vectors_reused": probe.reused}
    return found, how | {"draws": asking.draws}


def _some(words: Sequence[str], most: int = 8) -> str:
    """The first of many words; all are in the manifest."""
    return ", ".join(words[:most]) + (" …" if len(words) > most else "")


def check_corpus(asking: Asking) -> None:
    """Refuses to start without text, or for more contexts than the index keeps."""
    if not asking.corpus:
        raise TiltmeterError("ceat needs text to find contexts in: --corpus FILE (plain, .gz or .xz; repeatable).")
    for path in asking.corpus:
        if not Path(path).expanduser().is_file():
            raise TiltmeterError(f"There is no file {path} (--corpus).")
    if asking.contexts > MOST_CONTEXTS:
        raise TiltmeterError(f"The index keeps up to {MOST_CONTEXTS:,} contexts a word, not {asking.contexts:,}.")


def choose(benchmark: AssociationBenchmark, names: Sequence[str]) -> tuple[tuple[AssociationTest, ...], tuple[Group, ...]]:
    """Names of tests and of domains; without a name every group, and no test of two sets; `all` is everything."""
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
    poles = {word for pair in benchmark.polarities for one in (pair.a, pair.b) for word in one.examples}
    return poles | {word for group in groups for word in group.words}


def _index(asking: Asking, root: Path, watch: Watch | None) -> CorpusIndex:
    size = sum(Path(path).expanduser().stat().st_size for path in asking.corpus)
    with watched(watch, "corpus index (KB)", size // 1000) as advance:
        return build_index(asking.corpus, root, lambda read: advance(read / 1000))


def _vectors(
    probe: EmbeddingProbe, contexts: dict[str, Contexts], name: str, found: Found, watch: Watch | None
) -> dict[str, NDArray[np.float32]]:
    """One matrix per word that has a context with a vector."""
    passages = [Passage(text, span) for one in contexts.values() for text, span in one.passages]
    with watched(watch, f"{probe.encoder.name} × {name}, contexts", len(passages)) as advance:
        answer = probe.vectors(passages, advance)
    found.notes += Counter(f"contexts without a vector: {reason}" for reason in answer.reasons.values())
    ends = np.cumsum([len(one.passages) for one in contexts.values()])
    matrices = np.split(answer.rows, ends[:-1]) if len(contexts) else []
    usable = {word: rows[np.isfinite(rows).all(axis=1)] for word, rows in zip(contexts, matrices, strict=True)}
    return {word: rows for word, rows in usable.items() if len(rows)}

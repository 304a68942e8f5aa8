"""For tests of association tests: asking and estimating in one step, text to find contexts in, a small file of words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import tiltmeter
from tiltmeter import Answers
from tiltmeter.benchmarks import AssociationBenchmark

NOUNS = ("river", "bridge", "market", "garden", "station", "village", "harbour", "school")


class Asked(NamedTuple):
    """What one model answered to one benchmark, and what is made of it."""

    answers: Answers
    estimates: pd.DataFrame

    @property
    def facts(self) -> pd.DataFrame:
        """One row per word, text or attribute."""
        return self.answers.table

    @property
    def manifest(self) -> dict[str, Any]:
        """Where it came from."""
        (manifest,) = self.answers.manifests
        return manifest


def associate(
    model: Any, benchmark: Any, *, cache: bool | Path = True, watch: Any = None, batch_tokens: Any = "auto", **options: Any
) -> Asked:
    """Asks a model the tests of a benchmark and estimates from what it answered."""
    given = tiltmeter.AssociationsOptions(**options) if options else None
    answers = tiltmeter.ask(model, benchmark, given, cache=cache, batch_tokens=batch_tokens, watch=watch)
    assert answers.family == "associations"
    return Asked(answers, tiltmeter.estimate(answers))


def text(n: int = 400) -> str:
    """Lines with every word of the small file of words below, in turn."""
    words = ("man", "woman", "kind", "honest", "cruel", "rude")
    return "".join(
        f"The {words[i % 6]} person stood near the {NOUNS[i % 8]} at {i}. Nobody there said a {words[i % 5]} word.\n"
        for i in range(n)
    )


def words_file(folder: Path, **changes: object) -> Path:
    """Two groups and two poles, for CEAT."""
    document: dict[str, object] = {
        "groups": {"gender": {"man": ["man"], "woman": ["woman"]}},
        "attributes": {"valence": {"good": ["kind", "honest"], "bad": ["cruel", "rude"]}},
    }
    (folder / "words.json").write_text(json.dumps(document | changes))
    return folder / "words.json"


def corpus(folder: Path, where: str = "road") -> Path:
    """A text in which every embedded word of CEAT about gender stands three times."""
    bench = tiltmeter.load_benchmark("ceat")
    assert isinstance(bench, AssociationBenchmark)
    words = [word for group in bench.select_groups(["gender"]) for word in group.words]
    words += [word for pair in bench.polarities for pole in (pair.a, pair.b) for word in pole.examples]
    places = (f"in front of house {n} on the {where}" for n in range(3 * len(words)))
    path = folder / "corpus.txt"
    path.write_text("".join(f"We saw the {word} thing {next(places)}.\n" for word in words * 3))
    return path

"""Made-up runs whose answers are known, and a small real run, for the tests of the studies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd

import tiltmeter
from conftest import GOLDEN, reseal, scores_of
from tiltmeter import Answers
from tiltmeter.runs.run import run

Numbers = Sequence[float] | np.ndarray


def made_up(
    scores: Mapping[tuple[str, str], tuple[Numbers, Numbers]],
    *,
    types: Sequence[str] | None = None,
    annotations: Sequence[list[list[str]]] | None = None,
    texts: Sequence[tuple[str, str]] | None = None,
    direction: Sequence[str] | None = None,
) -> Answers:
    """(model, scorer) → (stereo, anti) scores, one benchmark."""
    n = len(next(iter(scores.values()))[0])
    types = list(types or ["a"] * n)
    direction = list(direction or ["disadvantaged"] * n)
    texts = list(texts or [(f"One {k} here.", f"Two {k} here.") for k in range(n)])
    rows = [
        {
            "model": model, "benchmark": "b", "item": f"i{k}", "role": role, "scorer": scorer, "score": float(values[k]),
            "n_tokens": 4, "reason": None if np.isfinite(values[k]) else "made up", "bias_type": types[k],
            "direction": direction[k], "target": None,
        }
        for (model, scorer), sides in scores.items()
        for role, values in zip(("stereo", "anti"), sides, strict=True)
        for k in range(n)
    ]  # fmt: skip
    extra = [json.dumps({} if annotations is None else {"annotations": annotations[k]}) for k in range(n)]
    items = pd.DataFrame(
        {
            "benchmark": "b", "item": [f"i{k}" for k in range(n)], "scored": True, "bias_type": types,
            "direction": direction, "target": None, "context": None, "stereo": [a for a, _ in texts],
            "anti": [b for _, b in texts], "unrelated": None, "extra": extra,
        }
    )  # fmt: skip
    return scores_of(pd.DataFrame(rows), items)


def noise(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=n)


@cache
def small_run() -> Path:
    """Three tiny models on the embedded pairs (with votes made up for them), our StereoSet-like triples and our slots."""
    folder = Path(mkdtemp(prefix="tiltmeter-study-"))
    models = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-albert", "tiny-roberta")]
    benchmarks = ["starter-pairs", GOLDEN / "data" / "triples_stereoset_format.json", GOLDEN / "data" / "slots.jsonl"]
    options = {"resamples": 100, "cache": folder / "cache"}
    run(models, benchmarks, ["all"], output=folder / "run", **options, options=tiltmeter.SlotsOptions(top_k=500))
    _add_votes(folder / "run" / "items.parquet")
    reseal(folder / "run")
    return folder / "run"


def _add_votes(path: Path) -> None:
    items = pd.read_parquet(path)
    for n, row in items.iterrows():
        votes = [[row["bias_type"]] if vote < n % 6 else [] for vote in range(5)]
        if row["benchmark"] == "starter-pairs":
            items.loc[n, "extra"] = json.dumps(json.loads(row["extra"]) | {"annotations": votes})
    items.to_parquet(path)


@cache
def frequency_list() -> Path:
    """A list in which every word of the embedded pairs has a count of its own."""
    from tiltmeter.families.pairs.words import words_of

    items = pd.read_parquet(small_run() / "items.parquet").dropna(subset=["stereo", "anti"])
    words = sorted({word.removesuffix("'s") for text in [*items["stereo"], *items["anti"]] for word in words_of(text)})
    path = small_run().parent / "counts.tsv"
    path.write_text("".join(f"{word}\t{1000 - n}\n" for n, word in enumerate(words)), encoding="utf-8")
    return path


OPTIONS: dict[str, dict[str, Any]] = {
    "frequency": {"least": 1},
    "robustness": {"repeats": 20, "measure": ["bias_score", "kls", "jss", "ss"]},
    "power": {"draws": 50, "measure": ["bias_score", "kls", "ss"]},
    "quality": {"resamples": 100},
    "debiasing": {"resamples": 100},
    "accuracy": {"resamples": 100},
    "shuffling": {"resamples": 100},
    "pll_gap": {"resamples": 100, "repeats": 20},
}


def options_of(name: str) -> dict[str, Any]:
    """Cheap settings for a study of the small run."""
    listed = {"frequencies": str(frequency_list())} if name == "frequency" else {}
    return OPTIONS.get(name, {}) | listed

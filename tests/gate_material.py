"""Runs whose truth is known, for the tests of the gate and of boards: scores that prefer the stereotype so often."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conftest import scores_of
from tiltmeter import Answers, estimate
from tiltmeter.runs import Run
from tiltmeter.runs.folder import write_estimates
from tiltmeter.storage.provenance import software
from tiltmeter.storage.seals import seal

TYPES = ("age", "gender", "religion", "race")


def leaning_scores(
    leans: Mapping[str, float],
    n: int = 400,
    benchmark: str = "mine",
    seed: int = 0,
    by_type: Mapping[str, float] | None = None,
) -> Answers:
    """Scores by `aul`: model → the share of pairs that prefer the stereotype; exactly that share, on pairs drawn at random.

    Models prefer it on pairs of a common order, so that two models that differ by a little differ on few pairs.
    """
    rng = np.random.default_rng(seed)
    types = np.array([TYPES[k % len(TYPES)] for k in range(n)])
    order, base = rng.permutation(n) / n, rng.normal(-20, 3, n)
    parts = []
    for model, lean in leans.items():
        share = np.full(n, lean)
        for name, of_type in (by_type or {}).items():
            share[types == name] = of_type
        prefers = order < share
        gap = np.abs(rng.normal(1, 0.3, n)) + 0.01
        for role, score in (("stereo", base + np.where(prefers, gap, -gap)), ("anti", base)):
            parts.append(
                pd.DataFrame(
                    {
                        "model": model, "benchmark": benchmark, "item": [f"i{k}" for k in range(n)], "role": role,
                        "scorer": "aul", "score": score, "n_tokens": 5, "reason": None, "bias_type": types,
                        "direction": None, "target": None,
                    }
                )
            )  # fmt: skip
    manifests = tuple(evaluation(model, lean, benchmark, n) for model, lean in leans.items())
    return scores_of(pd.concat(parts, ignore_index=True), items_of(types, benchmark), manifests)


def items_of(types: Sequence[str], benchmark: str) -> pd.DataFrame:
    """The items that the scores are about."""
    n = len(types)
    return pd.DataFrame(
        {
            "benchmark": benchmark, "item": [f"i{k}" for k in range(n)], "scored": True, "bias_type": types,
            "direction": None, "target": None, "context": None, "stereo": [f"They {k}." for k in range(n)],
            "anti": [f"We {k}." for k in range(n)], "unrelated": None, "extra": "{}",
        }
    )  # fmt: skip


def evaluation(model: str, lean: float, benchmark: str, n: int) -> dict[str, Any]:
    """What a manifest says of one model and benchmark."""
    weights = hashlib.sha256(f"{model} {lean}".encode()).hexdigest()
    facts = {"shown_as": model, "name": model, "kind": "masked", "weights_sha256": weights, "parameters": 1000}
    about = {"name": benchmark, "items": n, "data_sha256": "d" * 64, "citation": "Nobody (2026)."}
    return {"family": "pairs", "model": facts, "benchmark": about, "scorers": ["aul"], "alignment": "auto"}


def leaning_run(folder: Path, leans: Mapping[str, float], n: int = 400, **how: Any) -> Run:
    """A finished run folder of such scores."""
    scores = leaning_scores(leans, n, **how)
    table = estimate(scores, ["bias_score", "kls"], resamples=100)
    asked = {"resamples": 500, "confidence": 0.95, "seed": 0, "limit": None}
    manifest = software() | {"status": "finished", "asked": asked, "evaluations": list(scores.manifests)}
    manifest["families"] = {"pairs": ["scores"]}
    scores.write_tables(folder)
    write_estimates(folder, table)
    return Run(folder, {"pairs": scores}, table, seal(folder, manifest))

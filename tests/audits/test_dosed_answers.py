"""research/dosed-audits: audits by stored answers name the domain that was dosed."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import tiltmeter

FOLDER = Path(__file__).parents[2] / "research" / "dosed-audits"
DOMAINS = {"gender": "gender", "race-color": "race", "religion": "religion"}


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"dosed_audits_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pack(folder: Path, dosed: str) -> None:
    """Random scores by `pll` and `sss` of a dosed model and its twin, which differ in the pairs about the dosed domain."""
    pairs = [item for item in tiltmeter.load_benchmark("plumb-pairs").items if item.bias_type in DOMAINS]
    draw = np.random.default_rng(0)
    twin = draw.normal(size=len(pairs))
    rows = []
    for model, shift in ((f"plumb-mlm-{dosed}+1-seed10", 2.0), ("plumb-mlm-neutral-seed10", 0.0)):
        for scorer in ("pll", "sss"):
            for item, score in zip(pairs, twin, strict=True):
                more = score + shift * (DOMAINS[item.bias_type] == dosed)
                facts = {"model": model, "item": item.id, "scorer": scorer, "n_tokens": 9, "reason": None}
                rows += [facts | {"role": "stereo", "score": more}, facts | {"role": "anti", "score": 0.0}]
    labels = [
        {"item": one.id, "bias_type": one.bias_type, "direction": one.direction, "target": one.target} for one in pairs
    ]
    for name in ("answers", "items"):
        (folder / name).mkdir()
    pd.DataFrame(rows).to_parquet(folder / "answers" / "plumb-pairs.scores.parquet")
    pd.DataFrame(labels).assign(scored=True, context=None, extra="{}").to_parquet(folder / "items" / "plumb-pairs.parquet")


@pytest.mark.parametrize("dosed", DOMAINS.values())
def test_the_dosed_domain_is_named_and_counted(tmp_path: Path, dosed: str) -> None:
    pack(tmp_path, dosed)
    found = list(load("from_answers").audits(tmp_path))
    assert [(one["seed"], one["domain"], one["level"]) for one in found] == [(10, dosed, "quick")]
    count = load("summarise").counted
    assert count(found, "against_baseline", stored=True) == {"right": 1, "wrong": 0, "undecided": 0}
    relabelled = [one | {"domain": "age"} for one in found]
    assert count(relabelled, "against_baseline", stored=True)["wrong"] == 1

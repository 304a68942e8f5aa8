"""research/dosed-audits: audits by stored answers name the domain that was dosed."""

from __future__ import annotations

import re
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


def pack(folder: Path, dosed: str, text: str = "") -> None:
    """Random scores by `pll` and `sss` of a dosed model and its twin, which differ in the pairs about the dosed domain."""
    pairs = [item for item in tiltmeter.load_benchmark("plumb-pairs").items if item.bias_type in DOMAINS]
    draw = np.random.default_rng(0)
    twin = draw.normal(size=len(pairs))
    rows = []
    for model, shift in ((f"{text}plumb-mlm-{dosed}+1-seed10", 2.0), (f"{text}plumb-mlm-neutral-seed10", 0.0)):
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
@pytest.mark.parametrize(("text", "stored"), [("", "frames"), ("mixed/", "mixed")])
def test_the_dosed_domain_is_named_and_counted(tmp_path: Path, dosed: str, text: str, stored: str) -> None:
    pack(tmp_path, dosed, text)
    module = load("from_answers")
    found = list(module.audits(tmp_path))
    assert [(one["text"], one["base"], one["seed"], one["domain"], one["level"]) for one in found] == [
        (stored, "plumb-mlm", 10, dosed, "quick"), (stored, "plumb-mlm", 10, "neutral", "quick")
    ]  # fmt: skip
    assert found[1]["verdicts"] and not found[1]["against_baseline"]
    count = load("summarise").counted
    assert count(found, "against_baseline", stored=True) == {"right": 1, "wrong": 0, "undecided": 0}
    relabelled = [one | {"domain": "age"} for one in found[:1]]
    assert count(relabelled, "against_baseline", stored=True)["wrong"] == 1
    others = [one | {"base": "another"} for one in found]
    assert module.merged([*others, *found[:1]], found) == [*others, *found]


def test_metrics_are_chosen_without_the_sources_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("from_answers")
    monkeypatch.setattr(module.detection, "detections", module.detection.detections)
    module.leave_out(["calibration-2.csv", "calibration-2-language-kept.csv"])
    seeds = {seed for row in module.detection.detections() for seed in row.seeds.split()}
    assert seeds == {"0", "1", "2", "3", "4", "5"}
    with pytest.raises(ValueError, match="No such sources"):
        module.leave_out(["calibration-9.csv"])


def test_a_lean_away_from_the_stereotypes_is_listed_and_not_counted() -> None:
    module = load("summarise")
    away = {"domain": "race", "verdict": module.AWAY}
    audit = {"text": "mixed", "base": "plumb-mlm", "level": "quick", "domain": "race", "verdicts": [away]}
    audit["against_baseline"] = []
    assert module.counted([audit], "verdicts", stored=True) == {"right": 0, "wrong": 0, "undecided": 1}
    *_, row = module.leans_away([audit, audit | {"domain": "neutral"}])
    assert re.findall(r"\d+ of \d+", row) == ["1 of 1", "1 of 1", "0 of 0"]

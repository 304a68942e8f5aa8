"""Precisions and stored types of weights: what is scored in half precision, or stored as integers, is never unsaid."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import transformers

import tiltmeter
from conftest import GOLDEN
from tiltmeter.boards import leaderboard
from tiltmeter.errors import ModelError
from tiltmeter.stats.estimates import details_of

MODEL = GOLDEN / "models" / "tiny-bert-cased"


def wrapped(dtype: str, name: str) -> Any:
    module = transformers.AutoModelForMaskedLM.from_pretrained(MODEL, dtype=dtype)
    return tiltmeter.wrap_model(module, transformers.AutoTokenizer.from_pretrained(MODEL), name=name)


def test_a_half_precision_module_on_a_cpu_is_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    from tiltmeter.models.precision import PrecisionWarning

    wrapped("float32", "full")
    assert not [one for one in recwarn if issubclass(one.category, PrecisionWarning)]
    with pytest.warns(PrecisionWarning, match="float16"):
        half = wrapped("float16", "half")
    assert half.precision == "fp16" and next(half.module.parameters()).dtype == torch.float16, (
        "the user's module is as it was"
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_comparison_of_two_precisions_says_so() -> None:
    bench = tiltmeter.load_benchmark("starter-pairs", limit=20)
    parts = [tiltmeter.score(wrapped(dtype, dtype), bench, ["aul"], cache=False) for dtype in ("float32", "bfloat16")]
    table = tiltmeter.compare(parts, resamples=100)
    details = details_of(table.iloc[0])
    assert (details["precision"], details["baseline_precision"]) == ("bf16", "fp32")
    assert details["caution"] in table.iloc[0]["note"]
    same = tiltmeter.compare([parts[0], parts[0].renamed("float32", "other")], resamples=100)
    assert "precision" not in details_of(same.iloc[0])


def test_a_board_of_two_precisions_says_so(tmp_path: Path) -> None:
    for name, precision in (("one", "fp32"), ("two", "bf16")):
        shutil.copytree(MODEL, tmp_path / f"{name}-model")
        options: dict[str, Any] = {"limit": 20, "cache": False, "precision": precision}
        pairs = tiltmeter.PairsOptions(scorers=("aul",))
        tiltmeter.run([tmp_path / f"{name}-model"], ["starter-pairs"], output=tmp_path / name, options=pairs, **options)
    board = leaderboard([tmp_path / "one", tmp_path / "two"])
    assert any("fp32: one-model" in notice and "bf16: two-model" in notice for notice in board.notices)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool])
def test_weights_stored_as_integers_are_refused(dtype: torch.dtype, tmp_path: Path) -> None:
    folder = tmp_path / "integers"
    shutil.copytree(MODEL, folder)
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    key = next(name for name in weights if name.endswith("query.weight"))
    weights[key] = (weights[key] * 10).to(dtype)
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError) as caught:
        tiltmeter.load_model(folder)
    assert caught.value.code == "integer-weights" and caught.value.fields["weight"] == key

"""Weights that were read early: the same model as without, and only where they are loaded as they are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import tiltmeter
from tiltmeter.models import early_weights
from tiltmeter.models.early_weights import Early, early_files
from tiltmeter.models.identity import source_of

GPT2 = Path(__file__).parents[1] / "golden" / "models" / "tiny-gpt2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sharded model with settings of generation of its own."""
    module = transformers.AutoModelForCausalLM.from_pretrained(GPT2, dtype=torch.float32)
    module.generation_config.max_length = 77
    module.save_pretrained(tmp_path / "model", max_shard_size="200KB")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "special_tokens_map.json"):
        if (GPT2 / name).is_file():
            shutil.copy(GPT2 / name, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Free memory of a GPU that is not there."""
    free = [10**12]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[0], 10**12))
    return free


def read_early(folder: Path) -> Early:
    files = source_of(str(folder)).weights
    early_weights._reading[tuple(files)] = Early(files, "cpu")
    return early_weights._reading[tuple(files)]


def facts_of(model: Any) -> list[Any]:
    module = model.module
    return [model.identity, model.facts, module.config.to_dict(), module.generation_config.to_dict(), module.name_or_path]


def test_a_model_of_early_weights_is_the_same(folder: Path, room: list[int]) -> None:
    plain = tiltmeter.load_model(folder, device="cpu")
    early = read_early(folder)
    tensors = early.tensors()
    assert len(early.parts) > 2 and tensors
    model = tiltmeter.load_model(folder, device="cpu")
    read = model.module.transformer.h[0].mlp.c_fc.weight
    assert read.data_ptr() == tensors["transformer.h.0.mlp.c_fc.weight"].data_ptr()  # these, and no copy
    assert model.module.generation_config.max_length == 77
    assert facts_of(model) == facts_of(plain)
    assert not early_weights._reading
    wanted, found = plain.module.state_dict(), model.module.state_dict()
    assert wanted.keys() == found.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_without_room_weights_are_read_as_usual(folder: Path, room: list[int]) -> None:
    n_bytes = sum(path.stat().st_size for path in source_of(str(folder)).weights)
    room[0] = 2 * n_bytes
    assert read_early(folder).tensors() is None
    assert tiltmeter.load_model(folder, device="cpu").kind == "causal"


def test_what_cannot_be_read_is_reported_by_loading(folder: Path, room: list[int]) -> None:
    source_of(str(folder)).weights[0].write_bytes(b"damaged")
    assert read_early(folder).tensors() is None
    with pytest.raises(tiltmeter.TiltmeterError):
        tiltmeter.load_model(folder, device="cpu")


def test_memory_before_is_known(folder: Path, room: list[int]) -> None:
    files = source_of(str(folder)).weights
    assert early_weights.free_before(files) is None
    read_early(folder)
    assert early_weights.free_before(files) == 10**12
    assert early_weights.take(files) and early_weights.free_before(files) is None


def test_only_what_is_loaded_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(str(folder))
    assert early_files(source, {}) == []  # small
    monkeypatch.setattr(early_weights, "LARGE_BYTES", 1)
    assert early_files(source, {}) == early_files(source, {"precision": "fp32", "quantize": None}) == source.weights
    changes: list[dict[str, Any]] = [
        {"precision": "bf16"}, {"precision": "none"}, {"quantize": "8bit"}, {"device_map": "auto"},
        {"trust_remote_code": True},
    ]  # fmt: skip
    assert [early_files(source, change) for change in changes] == [[]] * len(changes)
    (folder / "generation_config.json").unlink()
    assert early_files(source, {}) == []


def test_nothing_is_read_for_a_cpu_or_behind_imports(folder: Path, room: list[int]) -> None:
    files = source_of(str(folder)).weights
    early_weights.begin(files, "cpu")
    early_weights.begin(files, "cuda")  # transformers is there
    early_weights.begin([], "cuda")
    assert not early_weights._reading

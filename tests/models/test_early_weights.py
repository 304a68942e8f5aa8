"""Weights that were read early: the same model as without, and only where they are loaded as they are."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save_file

import tiltmeter
from tiltmeter.models import early_weights, pretrained
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
    assert len(early.files) > 2 and tensors
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


def test_tensors_are_read_in_chunks_as_they_are(tmp_path: Path, room: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every data type, of one number and of none, within a chunk and across several."""
    torch.manual_seed(0)
    tensors = {
        name: (torch.randn(shape) * 100).to(dtype)
        for name, dtype in {name: getattr(torch, name) for name in early_weights.DTYPES.values()}.items()
        for shape in [(37, 5)]
    } | {"number": torch.tensor(3.5), "none": torch.empty(0, 4), "norm": torch.randn(9), "wide": torch.randn(70, 11)}
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    save_file(tensors, files[0], {"format": "pt"})
    save_file({"other": torch.randn(50)}, files[1])
    for n_bytes in (8, 40, 1000, 2**20):
        monkeypatch.setattr(early_weights, "CHUNK_BYTES", n_bytes)
        read = Early(files, "cpu").tensors()
        assert read and read.keys() == {*tensors, "other"}
        for name, tensor in tensors.items():
            assert (read[name].dtype, read[name].shape) == (tensor.dtype, tensor.shape)
            assert torch.equal(read[name], tensor)


def test_a_data_type_that_torch_lacks_is_left_to_loading(tmp_path: Path, room: list[int]) -> None:
    save_file({"weight": torch.zeros(4).to(torch.float8_e4m3fn)}, tmp_path / "a.safetensors")
    assert Early([tmp_path / "a.safetensors"], "cpu").tensors() is None


def test_a_file_that_ends_early_is_left_to_loading(folder: Path, room: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It was cut off after its header was checked."""
    monkeypatch.setattr("os.preadv", lambda *args: 0)
    assert Early(source_of(str(folder)).weights, "cpu").tensors() is None


def test_a_gpu_is_asked_for_nothing_until_it_has_started(folder: Path, room: list[int]) -> None:
    started = threading.Event()
    early = Early(source_of(str(folder)).weights, "cpu", started)
    with pytest.raises(TimeoutError):
        early.free.result(0.05)
    started.set()
    assert early.free.result() == 10**12 and early.tensors()


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
    assert early_weights.take(files, "cpu") and early_weights.free_before(files) is None
    read_early(folder)
    assert early_weights.take(files, "cuda:1") is None  # they lie elsewhere


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


def test_reading_begins_between_the_imports(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, begun = source_of(str(folder)).weights, []
    monkeypatch.setattr(early_weights, "Early", lambda files, device, started: begun.append((files, device)))
    monkeypatch.setattr(pretrained, "start_device", lambda device: None)
    monkeypatch.delitem(sys.modules, "transformers")
    early_weights.begin(files, "cuda")
    assert begun == [(files, "cuda")]
    early_weights._reading.clear()
    monkeypatch.undo()
    monkeypatch.setattr(early_weights, "begin", lambda files, device, started: begun.append((files, device)))
    monkeypatch.setattr(pretrained, "start_device", lambda device: None)
    pretrained.import_libraries("cuda:0", files)
    assert begun[1:] == [(files, "cuda:0")]


def test_a_model_that_cannot_be_loaded_gives_its_weights_up(folder: Path, room: list[int]) -> None:
    early = read_early(folder)
    with pytest.raises(tiltmeter.TiltmeterError):
        tiltmeter.load_model(folder, device="cpu", kind="masked")
    assert not early_weights._reading
    other = Early(source_of(str(folder)).weights, "cpu")
    early_weights._reading[(folder,)] = other
    tiltmeter.load_model("plumb-clm", device="cpu")
    assert other.dropped.is_set() and not early_weights._reading
    assert early.tensors() is not None


def test_the_text_part_of_a_larger_model_is_loaded_alike(tmp_path: Path, room: list[int]) -> None:
    """Its configuration holds those of several parts; transformers takes that of the text."""
    text = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
            "linear_key_head_dim": 8, "linear_value_head_dim": 8}  # fmt: skip
    config = transformers.Qwen3_5Config(text_config=text, vision_config={"depth": 1, "hidden_size": 32, "num_heads": 2,
                                        "intermediate_size": 32, "out_hidden_size": 32})  # fmt: skip
    torch.manual_seed(0)
    module = transformers.AutoModelForCausalLM.from_config(config)
    tensors = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    module.save_pretrained(tmp_path)
    config.save_pretrained(tmp_path)
    options = {"output_loading_info": True, "ignore_mismatched_sizes": True, "dtype": torch.float32}
    ours, _ = pretrained.from_tensors("AutoModelForCausalLM", "x", tmp_path, tensors, config=config, **options)
    plain, _ = pretrained.from_pretrained(
        "AutoModelForCausalLM", "x", tmp_path, trust_remote_code=False, config=config, **options
    )
    assert type(ours) is type(plain)
    wanted = plain.state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in ours.state_dict().items())

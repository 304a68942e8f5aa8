"""Large models: spread over devices, quantised, with an adapter, or too large, and the identity of each."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models import identify, load_any, load_model, memory, placement
from tiltmeter.models.fingerprint import Fingerprint
from tiltmeter.models.memory import Size, check_memory, size_of

BENCHMARK = tiltmeter.load_benchmark("starter-pairs")
MAP = {
    "model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.norm": "cpu", "lm_head": "disk",
    "model.layers.0": "cpu", "model.layers.1": "disk", "model.layers.2": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama with grouped heads, saved as a folder."""
    folder = tmp_path_factory.mktemp("models") / "llama"
    tokenizer = transformers.AutoTokenizer.from_pretrained(GOLDEN / "models" / "tiny-gpt2")
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.1)
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def scores(model: Any) -> np.ndarray[Any, Any]:
    return np.array(tiltmeter.score(model, BENCHMARK, ["causal"], cache=False).table["score"])


def copied(folder: Path, to: Path, **settings: Any) -> Path:
    """A copy whose config.json has other settings."""
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text("utf-8"))
    (to / "config.json").write_text(json.dumps({**config, **settings}), "utf-8")
    return to


@pytest.mark.parametrize(
    "stored",
    [
        "4bit",
        {},
        {"quant_method": "no-such-method"},
        {"quant_method": ["gptq"]},
        {"quant_method": "gptq", "bits": "four"},
        {"quant_method": "awq", "bits": 64},
    ],
)
def test_a_damaged_quantisation_is_refused(llama: Path, tmp_path: Path, stored: Any) -> None:
    folder = copied(llama, tmp_path / "damaged", quantization_config=stored)
    with raises("wrong-format", ModelError, name="quantization_config"):
        load_model(folder)


@pytest.mark.parametrize(("method", "package"), [("gptq", "gptqmodel"), ("awq", "gptqmodel")])
def test_a_quantised_folder_names_the_package_that_it_needs(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    monkeypatch.setattr("tiltmeter.models.quantization.find_spec", lambda name: None)
    folder = copied(llama, tmp_path / method, quantization_config={"quant_method": method, "bits": 4, "group_size": 128})
    with raises("missing-package", ModelError, package=package):
        load_model(folder)
    plain, quantised = (identify(one, {}) for one in (llama, folder))
    assert plain and quantised and plain.model != quantised.model  # equal weights, read in another way


def test_options_without_their_packages_are_refused(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.models.quantization.find_spec", lambda name: None)
    monkeypatch.setattr("tiltmeter.models.placement.find_spec", lambda name: None)
    with raises("missing-package", UsageError, package="bitsandbytes"):
        load_model(llama, quantize="4bit")
    with raises("missing-package", UsageError, package="accelerate"):
        load_model(llama, device_map="auto")


def test_wrong_values_are_refused(llama: Path, tmp_path: Path) -> None:
    with raises("unknown-name", UsageError, option="quantize"):
        load_model(llama, quantize="3bit")
    (tmp_path / "map.json").write_text('{"model": 1.5}', "utf-8")
    for wrong in ("everywhere", str(tmp_path / "map.json")):
        with raises("unknown-name", UsageError, option="device_map"):
            load_model(llama, device_map=wrong)
    with raises("inapplicable-option", UsageError, option="quantize"):
        load_any("http://localhost:1/v1#served", quantize="4bit")


def test_quantisation_is_part_of_the_identity_before_anything_is_loaded(llama: Path) -> None:
    found = {quantize: identify(llama, {"quantize": quantize}) for quantize in (None, "8bit", "4bit")}
    assert len({identity.model for identity in found.values() if identity}) == 3


def test_a_model_that_does_not_fit_says_what_would(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = size_of([llama / "model.safetensors"])
    assert size and size.parameters == load_model(llama).facts["parameters"]
    monkeypatch.setattr(memory, "free_memory", lambda device: int(size.needed("bf16") * 1.1))
    with raises("out-of-memory", ModelError) as caught:
        load_model(llama)
    assert caught.value.fields["fits"] == ["--precision bf16", "--quantize 8bit", "--quantize 4bit"]
    assert load_model(llama, precision="bf16").facts["weights_gb"] == round(size.needed("bf16") / 1e9, 3)


@pytest.mark.parametrize(
    "header",
    [
        b"\xff" * 8, b"\x00", (1 << 40).to_bytes(8, "little"), b'{"w": {"shape": "x"}}', b'{"w": {"shape": [1.5, "a"]}}',
        b'{"w": {"shape": null}}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_the_size_of_damaged_weights_is_unknown(tmp_path: Path, header: bytes) -> None:
    """The eight bytes before a header state its length, which may be any number."""
    length = len(header).to_bytes(8, "little") if header.startswith((b"{", b"[")) else b""
    (tmp_path / "model.safetensors").write_bytes(length + header)
    assert size_of([tmp_path / "model.safetensors"]) is None


def test_a_large_model_is_announced_before_it_is_loaded(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.memory_text(str(llama), {}) is None
    monkeypatch.setattr(memory, "LARGE", 1000)
    assert memory.memory_text(str(llama), {})
    assert memory.memory_text("no/such-model", {}) is None


def start_and_wait(device: str) -> None:
    """Start a device, and wait for its thread."""
    placement.start_device(device)
    for thread in threading.enumerate():
        if thread.name.startswith("start "):
            thread.join()


def test_a_gpu_starts_in_a_thread_while_libraries_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(placement, "_start", lambda device, started: begun.append(device))
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.version, "cuda", None)
    placement.start_device.cache_clear()
    for device in ("cpu", "mps", "auto", "cuda:1", "cuda:1"):
        start_and_wait(device)
    assert begun == ["cuda:1"]  # once, and never where there is none
    placement.start_device.cache_clear()
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    start_and_wait("auto")
    assert begun == ["cuda:1", "cuda"]
    placement.start_device.cache_clear()


def test_a_gpu_that_cannot_start_is_reported_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lost.append)
    thread = threading.Thread(target=placement._start, args=("cuda:99", started := threading.Event()))
    thread.start()
    thread.join()
    assert not lost
    placement._start("cpu", started)  # the same work, where it can be done


def test_memory_needed_of_eight_billion_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    size = Size(layers=6_979_321_856, others=1_050_939_392, stored=16_060_522_496)  # Llama 3, 8 billion
    assert [round(size.needed("bf16", bits) / 1e9, 1) for bits in (None, "8bit", "4bit")] == [16.1, 9.1, 6.0]
    monkeypatch.setattr(memory, "free_memory", lambda device: 10**10)
    with raises("out-of-memory", ModelError, fits=["--quantize 8bit", "--quantize 4bit"]):
        check_memory("m", size, "cuda", "bf16", None, False)
    assert check_memory("m", size, "cuda", "bf16", "8bit", False) == {"weights_gb": 9.081}


def test_saved_precision_is_the_checkpoints_on_every_device(llama: Path, tmp_path: Path) -> None:
    folder = copied(llama, tmp_path / "half", dtype="bfloat16")
    assert load_model(folder, precision="saved").facts["dtype"] == "bfloat16"
    assert load_model(folder).facts["dtype"] == "float32"
    assert identify(folder, {"precision": "saved"}) == load_model(folder, precision="saved").identity


def test_layers_on_other_devices_give_the_same_scores(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "map.json").write_text(json.dumps(MAP), "utf-8")
    plain, spread = load_model(llama), load_model(llama, device_map=str(tmp_path / "map.json"))
    assert spread.facts["device_map"] == MAP and spread.module.lm_head.weight.is_meta
    wanted = scores(plain)
    for _ in range(2):  # what places layers on devices is still there after a pass
        np.testing.assert_allclose(scores(spread), wanted, atol=1e-4)
    assert spread.identity == plain.identity and spread.uncacheable is None


def test_a_map_over_two_gpus_holds_every_layer() -> None:
    accelerate = pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=8, vocab_size=1000)
    with accelerate.init_empty_weights():
        module = transformers.LlamaForCausalLM(config)
    half = int(0.8 * module.num_parameters() * 2)
    where = accelerate.infer_auto_device_map(
        module, {0: half, 1: half}, no_split_module_classes=["LlamaDecoderLayer"], dtype=torch.bfloat16
    )
    assert set(where.values()) == {0, 1}


@pytest.mark.parametrize(("bits", "error"), [("8bit", 0.01), ("4bit", 0.1)])
def test_quantised_while_loading_and_as_stored(llama: Path, tmp_path: Path, bits: str, error: float) -> None:
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    plain, loaded = load_model(llama), load_model(llama, quantize=bits)
    assert loaded.facts["quantization"].startswith(f"bitsandbytes {bits}")
    assert loaded.identity.model != plain.identity.model and loaded.identity == identify(llama, {"quantize": bits})
    wanted, found = scores(plain), scores(loaded)
    assert 0 < np.abs(found / wanted - 1).max() < error
    settings = transformers.BitsAndBytesConfig(
        load_in_8bit=bits == "8bit", load_in_4bit=bits == "4bit", bnb_4bit_quant_type="nf4"
    )
    module = transformers.AutoModelForCausalLM.from_pretrained(llama, quantization_config=settings, device_map={"": "cpu"})
    module.save_pretrained(tmp_path / "stored")
    loaded.tokenizer.save_pretrained(tmp_path / "stored")
    stored = load_model(tmp_path / "stored")
    assert (
        stored.facts["quantization"] == f"bitsandbytes {bits} as stored" and stored.identity.model != loaded.identity.model
    )
    np.testing.assert_allclose(scores(stored), found, rtol=1e-2)
    with raises("inapplicable-option", UsageError, option="quantize"):
        load_model(tmp_path / "stored", quantize="4bit")


def test_compressed_tensors_are_read_as_they_are(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("compressed_tensors")
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config

    weights = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}
    config = QuantizationConfig(
        config_groups={"all": {"targets": ["Linear"], "weights": weights}}, format="int-quantized", ignore=["lm_head"],
        quantization_status="frozen",
    )  # fmt: skip
    module = transformers.AutoModelForCausalLM.from_pretrained(llama)
    apply_quantization_config(module, config)
    for layer in module.modules():
        if hasattr(layer, "weight_scale"):
            layer.weight_scale.data = (layer.weight.abs().amax(1, keepdim=True) / 127).to(layer.weight_scale.dtype)
    compressor = ModelCompressor(quantization_config=config)
    compressor.compress_model(module)
    folder = shutil.copytree(llama, tmp_path / "compressed")
    from safetensors.torch import save_file

    tensors = {name: tensor.contiguous() for name, tensor in module.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    compressor.update_config(str(folder))
    plain, compressed = load_model(llama), load_model(folder)
    assert compressed.facts["quantization"] == "compressed-tensors as stored"
    assert 0 < np.abs(scores(compressed) / scores(plain) - 1).max() < 0.01
    assert compressed.identity == identify(folder, {}) and compressed.identity.model != plain.identity.model


def adapted(llama: Path, folder: Path, **settings: Any) -> tuple[Path, Any]:
    """A folder with an adapter, and the module with the adapter added to its weights."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(1)
    module = transformers.AutoModelForCausalLM.from_pretrained(llama)
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False, **settings)
    wrapped = peft.get_peft_model(module, config)
    wrapped.save_pretrained(folder)
    return folder, wrapped.merge_and_unload()


def test_an_adapter_is_loaded_beside_its_base(llama: Path, tmp_path: Path) -> None:
    folder, merged = adapted(llama, tmp_path / "adapter")
    plain, model = load_model(llama), load_model(folder)
    wanted = scores(tiltmeter.wrap_model(merged.eval(), plain.tokenizer, name="merged"))
    np.testing.assert_allclose(scores(model), wanted, atol=1e-3)
    assert np.abs(scores(plain) - wanted).max() > 0.1
    assert model.facts["adapter"]["base"] == str(llama) and model.identity == identify(folder, {})
    assert model.identity.model != plain.identity.model
    other, _ = adapted(llama, tmp_path / "other", use_rslora=True)
    assert identify(other, {}) != identify(folder, {})  # equal weights that count differently


def test_an_adapter_of_another_model_is_refused(llama: Path, tmp_path: Path) -> None:
    folder, _ = adapted(llama, tmp_path / "adapter")
    settings = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "target_modules": ["o_proj"]}), "utf-8")
    with raises("missing-weights", ModelError):
        load_model(folder)
    (folder / "adapter_config.json").write_text("{}", "utf-8")
    with raises("wrong-format", ModelError, name="base_model_name_or_path"):
        load_model(folder)


def test_an_adapter_needs_its_weights_and_peft(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(llama)}), "utf-8")
    with raises("missing-file", ModelError):
        load_model(tmp_path)
    shutil.copy(llama / "model.safetensors", tmp_path / "adapter_model.safetensors")
    monkeypatch.setattr("tiltmeter.models.adapters.find_spec", lambda name: None)
    with raises("missing-package", ModelError, package="peft"):
        load_model(tmp_path)


def test_an_adapter_beside_a_whole_model_is_never_left_out(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(llama, tmp_path / "both")
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(llama)}), "utf-8")
    shutil.copy(llama / "model.safetensors", folder / "adapter_model.safetensors")
    monkeypatch.setattr("tiltmeter.models.adapters.find_spec", lambda name: None)
    with raises("missing-package", ModelError, package="peft"):
        load_model(folder)
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "."}), "utf-8")
    with raises("wrong-model-kind", ModelError, kind="adapter"):
        load_model(folder)


def test_an_adapter_beside_a_whole_model_is_added_to_its_base(llama: Path, tmp_path: Path) -> None:
    folder, merged = adapted(llama, tmp_path / "adapter")
    merged.save_pretrained(folder)
    wanted = scores(tiltmeter.wrap_model(merged.eval(), load_model(llama).tokenizer, name="merged"))
    model = load_model(folder)
    np.testing.assert_allclose(scores(model), wanted, atol=1e-3)
    assert model.identity == identify(folder, {})


EDITS: dict[str, Any] = {
    "data": lambda weight: weight.data.view(-1)[:1].add_(1),
    "copy": lambda weight: weight.copy_(weight + 1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_a_loaded_quantised_model_change_its_identity(
    llama: Path, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    monkeypatch.setattr(transformers.LlamaForCausalLM, "is_quantized", True, raising=False)
    model = load_model(llama)
    before = model.identity
    scores(model)
    assert model.identity == before == model.loaded_as
    with torch.no_grad():
        EDITS[edit](model.module.model.layers[1].mlp.up_proj.weight)
    assert model.identity.model != before.model


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_edits_of_weights_by_bitsandbytes_change_the_identity(llama: Path, bits: str) -> None:
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    model = load_model(llama, quantize=bits)
    before = model.identity
    scores(model)
    assert model.identity == before == model.loaded_as
    with torch.no_grad():
        model.module.model.layers[1].mlp.up_proj.weight.data.view(-1)[:1].add_(1)
    assert model.identity.model != before.model


def test_weights_that_are_nowhere_have_no_identity() -> None:
    with torch.device("meta"):
        module = torch.nn.Linear(2, 2)
    module.hf_device_map = {"": "disk"}
    assert Fingerprint(module).unknown_code is not None


def test_offloaded_models_in_memory_have_identities_of_their_own(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "map.json").write_text(json.dumps(MAP), "utf-8")
    other = shutil.copytree(llama, tmp_path / "other")
    module = transformers.AutoModelForCausalLM.from_pretrained(llama)
    with torch.no_grad():
        module.model.layers[1].mlp.up_proj.weight.add_(1)  # a layer that lies on the disk
    module.save_pretrained(other)
    loaded = [load_model(one, device_map=str(tmp_path / "map.json")) for one in (llama, llama, other)]
    found = [tiltmeter.wrap_model(one.module, one.tokenizer, name="mine") for one in loaded]
    assert all(one.uncacheable is None for one in found)
    first, second, changed = (one.identity.weights for one in found)
    assert first == second != changed

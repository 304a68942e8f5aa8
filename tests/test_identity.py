"""A model's identity: the same from files and from the loaded model, changed by whatever changes an answer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.parametrize
import transformers

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from test_embeddings import sentence_transformer
from tiltmeter import Options, TiltmeterError
from tiltmeter.execution import worker
from tiltmeter.models import fingerprint, hashing, identify, identity, load_any, precision, wrap_model
from tiltmeter.models.identity import ModelIdentity, is_tokenizer_file
from tiltmeter.models.kinds import CAUSAL_ENDINGS, MASKED_LM_HEADS
from tiltmeter.models.wrappers import BASE, WRAPPER

MODELS = GOLDEN / "models"
MODEL = MODELS / "tiny-bert-cased"
LOADING = Options().loading
RUN = {"benchmarks": "starter-pairs", "scorers": ["aul"], "measures": ["bias_score"]}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A tiny model in a folder that a test may change."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


def self_debiasing(folder: Path) -> Path:
    """A wrapped model."""
    shutil.copytree(MODEL, folder / BASE)
    settings = {"descriptions": ["gender"], "decay": 50.0, "epsilon": 0.01}
    (folder / WRAPPER).write_text(json.dumps({"schema": 1, "wrapper": "self_debias", "settings": settings}))
    return folder


def vectors(folder: Path) -> Path:
    """Static vectors with a list of words."""
    folder.mkdir()
    np.save(folder / "words.npy", np.eye(2, dtype=np.float32))
    (folder / "words.vocab").write_text("she\nhe\n")
    return folder / "words.npy"


def classifier(folder: Path) -> Path:
    """A model with a classification head."""
    shutil.copytree(MODEL, folder)
    head = transformers.AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=2)
    head.save_pretrained(folder)
    return folder


def gguf(folder: Path) -> Path:
    """A file that holds its own configuration; only its bytes are looked at."""
    folder.mkdir()
    (folder / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    return folder / "model.gguf"


@pytest.mark.parametrize("name", ["plumb-mlm", "plumb-clm", *(str(path) for path in sorted(MODELS.iterdir()))])
def test_files_and_the_loaded_model_have_one_identity(name: str) -> None:
    found = identify(name, LOADING)
    assert found is not None and found == load_any(name).identity
    assert found.kind == load_any(name).kind


@pytest.mark.parametrize("make", [self_debiasing, sentence_transformer, vectors, classifier])
def test_models_of_other_kinds_have_one_identity(make: Any, tmp_path: Path) -> None:
    source = make(tmp_path / "other")
    loaded = load_any(source)
    assert identify(source, LOADING) == loaded.identity
    assert loaded.identity.describe()["kind"] == loaded.kind


@pytest.mark.parametrize("loading", [{"precision": "bf16"}, {"kind": "masked"}, {"device": "cpu"}])
def test_the_way_a_model_is_loaded_is_part_of_it(loading: dict[str, str]) -> None:
    assert identify(MODEL, LOADING | loading) == load_any(MODEL, **loading).identity


def test_a_gguf_file_is_identified_by_its_bytes(tmp_path: Path) -> None:
    path = gguf(tmp_path / "folder")
    found = identify(path, LOADING)
    assert found is not None and found.kind == "causal" and found.weights == hashing.digest_file(path).hex()
    assert identify(path.parent, LOADING) == found


def change(path: Path, at: int = -1) -> None:
    """One bit, with the old time stamps."""
    facts, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def edit(path: Path, **settings: Any) -> None:
    """Changes settings of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def test_every_file_that_decides_an_answer_changes_the_identity(model: Path) -> None:
    seen = [identify(model, LOADING)]
    assert seen[0] == identify(MODEL, LOADING)  # wherever it lies
    change(model / "model.safetensors")
    seen.append(identify(model, LOADING))
    edit(model / "config.json", layer_norm_eps=1e-6)
    seen.append(identify(model, LOADING))
    edit(model / "tokenizer_config.json", model_max_length=12)
    seen.append(identify(model, LOADING))
    (model / "generation_config.json").write_text('{"eos_token_id": 3}')
    seen.append(identify(model, LOADING))
    assert None not in seen and len({one.digest for one in seen if one}) == 5
    edit(model / "config.json", transformers_version="0", _name_or_path="elsewhere")
    (model / "notes.txt").write_text("not a tokenizer")
    assert identify(model, LOADING) == seen[-1]


def test_the_list_of_words_beside_static_vectors_counts(tmp_path: Path) -> None:
    path = vectors(tmp_path / "vectors")
    before = identify(path, LOADING)
    (path.parent / "words.vocab").write_text("he\nshe\n")
    assert identify(path, LOADING) != before


@pytest.mark.parametrize("name", ["x" * 5000, "no/such/folder", "nobody/has-this-model", "\0", ""])
def test_what_is_not_there_has_no_identity(name: str) -> None:
    assert identify(name, LOADING) is None


def test_what_only_loading_can_tell_has_no_identity(model: Path, tmp_path: Path) -> None:
    edit(model / "config.json", architectures=None)
    assert identify(model, LOADING) is None
    assert identify(model, LOADING | {"kind": "masked"}) is not None
    edit(model / "config.json", architectures=["BertForMaskedLM"], model_type="of-the-future")
    assert identify(model, LOADING) is None
    edit(model / "config.json", model_type="bert", auto_map={"AutoConfig": "code.Config"})
    assert identify(model, LOADING) is None
    (model / "config.json").write_text("[")
    assert identify(model, LOADING) is None
    (model / "config.json").unlink()
    with raises("missing-file", file=model / "config.json"):
        tiltmeter.run(str(model), output=tmp_path / "out", **RUN)


def test_files_of_tokenizers_are_those_that_transformers_reads() -> None:
    library = Path(transformers.__file__).parent
    sources = [path.read_text("utf-8") for path in library.glob("models/*/tokenization*.py")]
    found = [re.search(r"VOCAB_FILES_NAMES\s*=\s*\{(.*?)\}", source, re.DOTALL) for source in sources]
    names = {name for one in found if one for name in re.findall(r':\s*"([^"]+)"', one[1])}
    assert len(names) > 10 and all(map(is_tokenizer_file, names)), [name for name in names if not is_tokenizer_file(name)]


def test_masked_models_with_causal_names_are_those_of_transformers() -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

    assert {kind: name for kind, name in MASKED.items() if name.endswith(CAUSAL_ENDINGS)} == MASKED_LM_HEADS


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_asking_changes_no_identity(name: str) -> None:
    """Also where transformers leaves marks on a module, as it does when attention is read."""
    model = tiltmeter.load_model(str(GOLDEN / "models" / name))
    before = model.identity
    tiltmeter.score(model, "starter-pairs", cache=False)
    assert model.identity == before


def test_saving_a_part_of_a_model_changes_no_identity(model: Path, tmp_path: Path) -> None:
    """`save_pretrained` of the body writes its own class into the configuration that it shares with the whole model."""
    loaded = tiltmeter.load_model(model)
    before = loaded.identity
    loaded.module.base_model.save_pretrained(tmp_path / "body")
    assert loaded.identity == before


def test_one_file_goes_by_its_own_sha256() -> None:
    found = identify("plumb-mlm", LOADING)
    card = json.loads((Path(identity.EMBEDDED["plumb-mlm"]) / "card.json").read_text())
    assert found is not None and found.weights == card["weights_sha256"]


def test_an_identity_can_be_part_of_a_key() -> None:
    one = ModelIdentity("w", "c", "t", "fp32", "masked", {"device": "cpu"})
    other = ModelIdentity("w", "c", "t", "bf16", "masked", {"device": "cpu"})
    assert len({one, other}) == 2 and one.digest != other.digest and one.model == other.model
    assert one.describe() == {
        "weights": "w", "config": "c", "tokenizer": "t", "precision": "fp32", "kind": "masked", "device": "cpu",
    }  # fmt: skip


# Devices and precisions ------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "device", "saved", "found"),
    [
        ("auto", "cpu", "bfloat16", "fp32"),
        ("auto", "cuda", "bfloat16", "bf16"),
        ("auto", "cuda:1", "torch.float16", "fp16"),
        ("auto", "cuda", "float32", "fp32"),
        ("bf16", "cpu", "", "bf16"),
    ],
)
def test_precision_as_the_loader_chooses_it(wanted: str, device: str, saved: str, found: str) -> None:
    assert precision.resolve_precision(wanted, device, saved) == found


def test_a_gpu_is_expected_where_torch_could_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert precision.expected_device("cuda:1") == "cuda" and precision.expected_device("auto") == "cpu"
    monkeypatch.delitem(sys.modules, "torch")
    assert precision.expected_device("auto") == "cpu"
    monkeypatch.setattr(precision, "GPU_NODES", ("null",))
    monkeypatch.setattr(precision, "_torch_has_gpu", lambda: True)
    assert precision.expected_device("auto") == "cuda"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert precision.expected_device("auto") == "cpu"


# Digests of files ------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read whole to be hashed. None is too small to be remembered."""
    read: list[str] = []
    digest = hashing.hashlib.file_digest

    def counted(stream: Any, name: str) -> Any:
        read.append(Path(stream.name).name)
        return digest(stream, name)

    monkeypatch.setattr(hashing.hashlib, "file_digest", counted)
    monkeypatch.setattr(hashing, "REMEMBERED_BYTES", 0)
    monkeypatch.setattr(hashing, "SETTLED_NS", 0)
    hashing._digest.cache_clear()
    return read


def test_a_digest_is_stored_while_a_file_is_unchanged(tmp_path: Path, reads: list[str], own_cache: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"one")
    assert not hashing.is_digested(path)
    first = hashing.digest_file(path)
    hashing._digest.cache_clear()
    assert hashing.is_digested(path) and hashing.digest_file(path) == first and len(reads) == 1
    change(path)  # the same size, the same time
    assert not hashing.is_digested(path) and hashing.digest_file(path) != first and len(reads) == 2
    (record,) = (own_cache / "digests").glob("*.json")
    whole = record.read_text()
    for text in (whole.replace('"sha256": "', '"sha256": "00'), whole[:40], "[]", ""):
        hashing._digest.cache_clear()
        record.write_text(text)
        assert hashing.digest_file(path).hex() in whole


def test_a_file_that_has_just_changed_is_not_remembered(
    tmp_path: Path, reads: list[str], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "SETTLED_NS", 10**12)
    (tmp_path / "weights.bin").write_bytes(b"one")
    hashing.digest_file(tmp_path / "weights.bin")
    assert not (own_cache / "digests").exists()


def test_the_hub_names_large_files_by_their_digests(tmp_path: Path, reads: list[str]) -> None:
    blobs = tmp_path / "models--some--model" / "blobs"
    blobs.mkdir(parents=True)
    for name in ("ab" * 32, "cd" * 20):
        (blobs / name).write_bytes(b"content")
    link = tmp_path / "model.safetensors"
    link.symlink_to(blobs / ("ab" * 32))
    assert hashing.digest_file(link).hex() == "ab" * 32 and not reads
    hashing.digest_file(blobs / ("cd" * 20))  # a small file is named by git
    assert len(reads) == 1


def test_files_are_hashed_in_parallel_and_each_tells_its_own_fault(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(20)]
    for path in files[:19]:
        path.write_bytes(path.name.encode())
    digests = hashing.digest_files(files)
    assert [digest.result() for digest in digests[:19]] == [hashing.digest_file(path) for path in files[:19]]
    with pytest.raises(FileNotFoundError):
        digests[19].result()


# Runs ------------------------------------------------------------------------


def test_a_run_that_is_stored_loads_nothing_and_is_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load = worker.load_any

    def counted(name: Any, **options: Any) -> Any:
        loaded.append(str(name))
        return load(name, **options)

    monkeypatch.setattr(worker, "load_any", counted)
    first = tiltmeter.run(str(model), output=tmp_path / "one", **RUN)
    again = tiltmeter.run(str(model), output=tmp_path / "two", **RUN)
    assert len(loaded) == 1
    assert again.estimates.equals(first.estimates)
    assert again.manifest["batches_computed"] == 0
    assert again.manifest["evaluations"][0]["model"] == first.manifest["evaluations"][0]["model"]
    tiltmeter.run(str(model), output=tmp_path / "three", **(RUN | {"scorers": ["aul", "cps"]}))
    assert len(loaded) == 2  # something was missing


def test_commands_that_need_no_model_import_no_torch(model: Path, tmp_path: Path) -> None:
    """Also a run whose answers are all stored."""
    out = tmp_path / "run"
    tiltmeter.run(str(model), output=out, **RUN)
    again = ["run", "-m", str(model), "-b", "starter-pairs", "-s", "aul", "--measure", "bias_score", "-o", str(out)]
    commands = [["--help"], ["list", "scorers"], ["estimate", str(out)], ["report", str(out)], again]
    code = (
        "import json, sys\n"
        "from tiltmeter.cli.app import app\n"
        f"for words in {commands!r}:\n"
        "    try: app(words)\n"
        "    except SystemExit as stop: assert not stop.code, words\n"
        "    found = [name for name in ('torch', 'transformers') if name in sys.modules]\n"
        "    assert not found, (words, found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    manifest = json.loads((out / "manifest.json").read_text())
    assert {"import", "benchmarks", "ask", "estimate", "write", "report"} <= set(manifest["timings"])
    assert tiltmeter.load_run(out).manifest["timings"] == manifest["timings"]  # it is sealed with them


def test_a_run_of_an_earlier_version_is_not_mixed_with_one_of_the_same_name(model: Path, tmp_path: Path) -> None:
    run = tiltmeter.run(str(model), output=tmp_path / "new", **RUN)
    (answers,) = run.answers.values()
    (manifest,) = answers.manifests
    old = {name: value for name, value in manifest["model"].items() if name != "model_sha256"}
    from dataclasses import replace

    earlier = replace(answers, manifests=({**manifest, "model": old | {"weights_sha256": "0" * 64}},))
    with pytest.raises(TiltmeterError, match="earlier version"):
        tiltmeter.runs.reading.refuse_namesakes([answers, earlier])
    tiltmeter.runs.reading.refuse_namesakes([earlier, earlier])


# Models in memory ------------------------------------------------------------


@pytest.fixture
def module() -> Any:
    """A model in memory that a test may change."""
    return transformers.AutoModelForMaskedLM.from_pretrained(MODEL)


def score(module: Any, **options: Any) -> tuple[float, int]:
    """The mean score, and how many batches the cache had."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    answers = tiltmeter.score(wrap_model(module, tokenizer, name="mine"), few(), ["aul"], **options)
    return float(answers.to_pandas()["score"].mean()), int(answers.manifests[0]["batches_reused"])


def few() -> Any:
    return tiltmeter.load_benchmark("starter-pairs", limit=20)


def halve(module: Any, _: Any, output: Any) -> Any:
    """A forward hook."""
    return output * 0.5


def sharpen(module: Any) -> None:
    module.bert.encoder.layer[0].output.dense.register_forward_hook(halve)


def sharpen_inputs(module: Any) -> None:
    module.bert.encoder.layer[0].output.dense.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 0.5, *inputs[1:]))


def replace_forward(module: Any) -> None:
    layer = module.bert.encoder.layer[0].output.dense
    forward = layer.forward
    layer.forward = lambda states: forward(states) * 0.5


def test_a_call_sums_the_weights_of_a_model_in_memory_once(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of billions of parameters that takes a fifth as long as the pass."""
    sums: list[int] = []
    checksum = fingerprint.checksum
    monkeypatch.setattr(
        fingerprint, "checksum", lambda tensors, *more: sums.append(len(tensors)) or checksum(tensors, *more)
    )
    score(module, cache=False)
    assert sums.count(len(module.state_dict())) == 1


@pytest.mark.parametrize("change", [sharpen, sharpen_inputs, replace_forward])
def test_a_model_with_unknown_code_is_not_cached_and_says_so(change: Any, module: Any) -> None:
    before, _ = score(module)
    assert score(module) == (before, pytest.approx(score(module)[1])) and score(module)[1] > 0
    change(module)
    with pytest.warns(UserWarning, match="not cached"):
        hooked, reused = score(module)
    assert reused == 0 and hooked == score(module, cache=False)[0] != before
    with pytest.warns(UserWarning, match="not cached"):
        assert score(module)[1] == 0  # not found again either
    wrapped = wrap_model(module, golden_model("tiny-bert-cased").tokens.tokenizer, name="mine")
    assert wrapped.uncacheable and wrapped.identity != wrapped.identity


def test_a_hook_on_every_module_is_seen(module: Any, model: Path) -> None:
    loaded = tiltmeter.load_model(model)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert loaded.uncacheable and identify(model, LOADING) is None
        with pytest.warns(UserWarning, match="not cached"):
            assert score(module)[1] == 0
    finally:
        handle.remove()
    assert loaded.uncacheable is None and identify(model, LOADING) == loaded.identity


class Doubling(torch.nn.Module):
    """A parametrization."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, weight: Any) -> Any:
        return weight * self.factor


class Scaled(torch.nn.Module):
    """A layer with a buffer that is not stored, a tensor and a list as attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(1), persistent=False)
        self.shift = torch.zeros(1)
        self.powers = [1.0, 2.0]

    def forward(self, states: Any) -> Any:
        return states * self.scale * self.powers[0] + self.shift


def set_buffer(layer: Any) -> None:
    layer.scale.fill_(0.5)


def set_tensor(layer: Any) -> None:
    layer.shift += 0.3


def set_list(layer: Any) -> None:
    layer.powers[0] = 0.5


@pytest.mark.parametrize("change", [set_buffer, set_tensor, set_list])
def test_buffers_and_attributes_are_seen(change: Any, module: Any) -> None:
    layer = Scaled()
    module.cls.predictions.transform.LayerNorm = torch.nn.Sequential(module.cls.predictions.transform.LayerNorm, layer)
    before, _ = score(module)
    change(layer)
    after, reused = score(module)
    assert reused == 0 and after == score(module, cache=False)[0] != before
    assert score(module)[1] > 0


def test_eps_is_seen_and_dropout_is_not(module: Any) -> None:
    before, _ = score(module)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.7
    module.train()
    again, reused = score(module)
    assert again == before and reused > 0
    for part in module.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.eps = 0.5
    after, reused = score(module)
    assert reused == 0 and after == score(module, cache=False)[0] != before


def test_a_parametrization_is_seen(module: Any) -> None:
    layer, seen = module.bert.encoder.layer[0].output.dense, {score(module)[0]}
    for factor in (2.0, 3.0):
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", Doubling(factor))
        found, reused = score(module)
        assert reused == 0 and found == score(module, cache=False)[0]
        seen.add(found)
    layer.parametrizations.weight[0].factor = 0.5
    assert score(module)[1] == 0 and len(seen) == 3


def by_data(module: Any) -> None:
    module.cls.predictions.bias.data[7] += 5


def by_copy(module: Any) -> None:
    bias = module.cls.predictions.bias
    with torch.no_grad():
        bias.copy_(bias + torch.nn.functional.one_hot(torch.tensor(7), len(bias)) * 5)


def by_optimiser(module: Any) -> None:
    module(input_ids=torch.tensor([[2, 7, 9, 3]]), labels=torch.tensor([[2, 7, 9, 3]])).loss.backward()
    torch.optim.SGD(module.parameters(), lr=0.1).step()


def by_another_tensor(module: Any) -> None:
    bias = module.cls.predictions.decoder.bias
    module.cls.predictions.decoder.bias = torch.nn.Parameter(bias + torch.arange(len(bias)) % 3)


@pytest.mark.parametrize("change", [by_data, by_copy, by_optimiser, by_another_tensor])
def test_a_change_in_place_gives_new_numbers(change: Any, module: Any) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    model = wrap_model(module.eval(), tokenizer, name="mine")  # the same object is asked again
    before = tiltmeter.score(model, few(), ["aul"])
    assert tiltmeter.score(model, few(), ["aul"]).manifests[0]["batches_reused"] > 0
    change(module)
    after = tiltmeter.score(model, few(), ["aul"])
    assert after.manifests[0]["batches_reused"] == 0
    assert not after.to_pandas()["score"].equals(before.to_pandas()["score"])
    digests = [one.manifests[0]["model"]["model_sha256"] for one in (before, after)]
    assert digests[0] != digests[1]


def test_a_loaded_model_that_was_changed_is_not_taken_for_its_files(model: Path) -> None:
    loaded = tiltmeter.load_model(model)
    of_files = loaded.identity
    tiltmeter.score(loaded, few(), cache=False)
    assert loaded.identity == of_files == identify(model, LOADING)  # asking changes nothing
    with torch.no_grad():
        loaded._module.cls.predictions.bias[7] += 5
    assert loaded.identity.model != of_files.model


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_asking_does_not_change_a_model_in_memory(name: str) -> None:
    parts = tiltmeter.models.load_parts(MODELS / name)
    model = wrap_model(parts.module, parts.tokenizer, name="mine", kind=parts.kind)
    before = model.identity
    tiltmeter.score(model, few(), cache=False)
    tiltmeter.ask(model, "seat", options=tiltmeter.AssociationsOptions(tests=("plumb-age-valence",)), cache=False)
    assert model.identity == before and model.uncacheable is None
    fresh = tiltmeter.models.load_parts(MODELS / name)
    assert wrap_model(fresh.module, fresh.tokenizer, name="mine", kind=fresh.kind).identity == before


def test_hooks_of_our_own_are_known(tmp_path: Path) -> None:
    from tiltmeter.models.projection import project_out

    found = []
    for column in (0, 1):
        parts = tiltmeter.models.load_parts(MODEL)
        width = parts.module.config.hidden_size
        project_out(parts.module, np.eye(width, dtype=np.float32)[[column]], causal=False)
        model = wrap_model(parts.module, parts.tokenizer, name="mine", kind=parts.kind)
        assert model.uncacheable is None
        found.append(model.identity)
    assert found[0] != found[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.complex64])
@pytest.mark.parametrize("size", [0, 1, 3, 2**14, 2**14 + 5, 3 * 2**14])
def test_a_checksum_sees_every_element(dtype: torch.dtype, size: int) -> None:
    tensor = torch.arange(size).remainder(2).to(dtype)
    whole = fingerprint.checksum({"a": tensor})
    assert whole == fingerprint.checksum({"a": tensor.clone()}) != fingerprint.checksum({"b": tensor})
    for place in {0, size // 2, size - 1} if size else ():
        changed = tensor.clone()
        changed[place] = 1 - changed[place].int() if dtype == torch.bool else -changed[place] - 1
        assert fingerprint.checksum({"a": changed}) != whole


def test_a_checksum_waits_once_for_all_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of 8 billion parameters has hundreds of tensors, and a GPU would be idle after each."""
    fetched: list[int] = []
    plain = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda one: fetched.append(one.numel()) or plain(one))
    tensors = {str(n): torch.arange(n * 2**14 + n) for n in range(9)}
    fingerprint.checksum(tensors)
    assert len(fetched) == 1
    fetched.clear()
    assert fingerprint.Fingerprint(torch.nn.Sequential(*(torch.nn.Linear(3, n) for n in range(2, 9)))).sample
    assert len(fetched) == 1


def test_a_sample_of_a_large_model_sees_every_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "WHOLE", 10)
    module = torch.nn.Sequential(*(torch.nn.Linear(3, n) for n in (3, 5)), torch.nn.Linear(5, 3).half())
    seen = {fingerprint.Fingerprint(module).sample}
    for parameter in module.parameters():
        parameter.data[0] += 1
        seen.add(fingerprint.Fingerprint(module).sample)
    assert len(seen) == 1 + len(list(module.parameters()))


def test_a_checksum_sees_signs_order_and_ties() -> None:
    tensor = torch.linspace(1, 2, 2**15)
    flipped = tensor.clone()
    flipped[1::2] *= -1  # the upper halves of all pairs of numbers
    seen = [tensor, flipped, tensor.flip(0), tensor.view(2, -1), tensor.double(), torch.zeros_like(tensor)]
    assert len({fingerprint.checksum({"a": one}) for one in seen}) == len(seen)
    assert fingerprint.checksum({"a": tensor, "b": tensor}) == fingerprint.checksum({"a": tensor, "b": tensor.clone()})
    assert fingerprint.checksum({"a": tensor[::2]}) == fingerprint.checksum({"a": tensor[::2].clone()})

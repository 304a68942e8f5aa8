"""Models as people have them: many architectures, damaged folders, missing heads, odd weights."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter import LanguageModel, TiltmeterError, load_model, wrap_model
from tiltmeter.models import Batch

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {
    "vocab_size": 2000,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
DISTIL = {
    "vocab_size": 2000,
    "dim": 16,
    "n_layers": 1,
    "n_heads": 2,
    "hidden_dim": 32,
    "max_position_embeddings": 40,
}
GPT2 = {"vocab_size": 2000, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 40}
NEO = {
    "vocab_size": 2000,
    "hidden_size": 16,
    "num_layers": 2,
    "num_heads": 2,
    "attention_types": [[["global", "local"], 1]],
    "max_position_embeddings": 40,
}
OPT = {**SIZES, "ffn_dim": 32, "word_embed_proj_dim": 16}
LLAMA = {**SIZES, "num_key_value_heads": 2}
DEBERTA = {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 20}
MODERN = {**SIZES, "global_attn_every_n_layers": 1, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
ROBERTA = {**SIZES, "pad_token_id": 1}
BIG = {"initializer_range": 0.5}  # far from uniform, so that a wrong head is seen
MASKED = {
    "BertForMaskedLM": ("BertConfig", SIZES, "tiny-bert-cased"),
    "RobertaForMaskedLM": ("RobertaConfig", ROBERTA, "tiny-roberta"),
    "AlbertForMaskedLM": ("AlbertConfig", {**SIZES, "embedding_size": 8}, "tiny-albert"),
    "DistilBertForMaskedLM": ("DistilBertConfig", DISTIL, "tiny-bert-cased"),
    "ElectraForMaskedLM": ("ElectraConfig", {**SIZES, "embedding_size": 8}, "tiny-bert-cased"),
    "MPNetForMaskedLM": ("MPNetConfig", ROBERTA, "tiny-roberta"),
    "DebertaForMaskedLM": ("DebertaConfig", DEBERTA, "tiny-roberta"),
    "DebertaV2ForMaskedLM": ("DebertaV2Config", DEBERTA, "tiny-albert"),
    "ModernBertForMaskedLM": ("ModernBertConfig", MODERN, "tiny-bert-cased"),
    "XLMRobertaForMaskedLM": ("XLMRobertaConfig", ROBERTA, "tiny-roberta"),
}
CAUSAL = {
    "GPT2LMHeadModel": ("GPT2Config", GPT2, "tiny-gpt2"),
    "GPTNeoForCausalLM": ("GPTNeoConfig", NEO, "tiny-gpt2"),
    "OPTForCausalLM": ("OPTConfig", OPT, "tiny-gpt2"),
    "LlamaForCausalLM": ("LlamaConfig", LLAMA, "tiny-gpt2"),
    "Qwen2ForCausalLM": ("Qwen2Config", LLAMA, "tiny-gpt2"),
}
PAIRS = "stereo,anti,bias_type\nHe ran home.,She ran home.,gender\nThe old man ran.,The young man ran.,age\n"


def copy_tokenizer(folder: Path, source: str) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(GOLDEN / "models" / source / name, folder / name)


def build(folder: Path, architecture: str, config: Any, tokenizer: str | None, **options: Any) -> Path:
    """A folder with a random model of an architecture, and a tokenizer of ours."""
    torch.manual_seed(0)
    getattr(transformers, architecture)(config).save_pretrained(folder, **options)
    if tokenizer:
        copy_tokenizer(folder, tokenizer)
    return folder


def build_known(folder: Path, architecture: str) -> Path:
    config, sizes, tokenizer = (MASKED | CAUSAL)[architecture]
    return build(folder, architecture, getattr(transformers, config)(**{**sizes, **BIG}), tokenizer)


@pytest.fixture(autouse=True)
def quiet() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A BERT that a test may damage."""
    return Path(shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", tmp_path / "bert"))


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    """A GPT-2 that a test may damage."""
    return Path(shutil.copytree(GOLDEN / "models" / "tiny-gpt2", tmp_path / "gpt2"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path / "pairs.csv"


def scores_of(model: LanguageModel, benchmark: Path | str, scorers: list[str] | None = None) -> pd.DataFrame:
    return tiltmeter.score(model, tiltmeter.load_benchmark(benchmark), scorers, cache=False).to_pandas()


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(folder: Path, change: Callable[[Any], Any], only: str = "") -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = {name: change(tensor) if only in name else tensor for name, tensor in load_file(file).items()}
    save_file(weights, file, {"format": "pt"})


# Architectures --------------------------------------------------


def everything_of(rows: list[list[int]], pad: int) -> Batch:
    """Reads every token of every row but the padding, at its own place."""
    width = max(map(len, rows))
    at = [(row, column) for row, ids in enumerate(rows) for column in range(len(ids))]
    none = np.empty(0, dtype=np.int64)
    return Batch(
        ids=np.array([ids + [pad] * (width - len(ids)) for ids in rows]),
        lengths=np.array([len(ids) for ids in rows]),
        site_row=np.array([row for row, _ in at]),
        site_column=np.array([column for _, column in at]),
        site_of_read=np.arange(len(at)),
        token_of_read=np.array([token for ids in rows for token in ids]),
        read_of_block=none,
        token_of_block=none,
    )


@pytest.mark.parametrize("architecture", [*MASKED, *CAUSAL])
def test_architectures(tmp_path: Path, architecture: str) -> None:
    """Kind, body and head, and the numbers of a plain forward pass of one sentence at a time."""
    model = load_model(build_known(tmp_path / "model", architecture))
    assert model.kind == ("masked" if architecture in MASKED else "causal")
    assert model.facts["architecture"] == architecture
    assert model._parts.body_module is not None
    texts = ["The old man ran to the young woman.", "She ran."]
    rows = [list(one.ids) for one in model.tokens.encode(texts)]
    answer = model.read(everything_of(rows, model.tokens.pad_id))
    plain, ranks = [], []
    for ids in rows:
        with torch.no_grad():
            logits = model._module(input_ids=torch.tensor([ids])).logits[0]
        gold = torch.tensor(ids)[:, None]
        plain += logits.log_softmax(1).gather(1, gold)[:, 0].tolist()
        ranks += (1 + (logits > logits.gather(1, gold)).sum(1)).tolist()
    assert answer.logprob == pytest.approx(plain, abs=1e-5)
    assert np.abs(answer.rank - ranks).max() <= 1
    assert np.ptp(plain) > 0.1


@pytest.mark.parametrize("architecture", [*MASKED, *CAUSAL])
def test_every_applicable_score_is_there(tmp_path: Path, pairs: Path, architecture: str) -> None:
    frame = scores_of(load_model(build_known(tmp_path / "model", architecture)), pairs)
    assert frame["score"].notna().all()
    assert ("cps" if architecture in MASKED else "causal") in set(frame["scorer"])


def test_a_device_that_is_full_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 20 GiB")

    monkeypatch.setattr("tiltmeter.models.loading._ready", full)
    with raises("out-of-memory", model="tiny-bert-cased") as refused:
        load_model(GOLDEN / "models" / "tiny-bert-cased")
    assert "\n" not in str(refused.value)


def test_a_causal_model_without_attention(tmp_path: Path, pairs: Path) -> None:
    config = transformers.MambaConfig(vocab_size=2000, hidden_size=16, state_size=4, num_hidden_layers=1)
    model = load_model(build(tmp_path / "model", "MambaForCausalLM", config, "tiny-gpt2"))
    assert scores_of(model, pairs, ["causal"])["score"].notna().all()


def test_a_model_that_cannot_be_told_of_padding(tmp_path: Path, pairs: Path) -> None:
    """FNet mixes all positions and takes no attention mask: in a batch, padding would change its scores."""
    sizes = {name: size for name, size in SIZES.items() if name != "num_attention_heads"}
    folder = build(tmp_path / "model", "FNetForMaskedLM", transformers.FNetConfig(**sizes), "tiny-bert-cased")
    with pytest.raises(TiltmeterError, match="FNet"):
        scores_of(load_model(folder), pairs, ["cps"])


@pytest.mark.parametrize(("kind", "ending"), [("masked", "ForMaskedLM"), ("causal", "ForCausalLM")])
def test_kind_by_model_type_where_no_architecture_is_named(tmp_path: Path, kind: str, ending: str) -> None:
    architecture = next(name for name in (*MASKED, *CAUSAL) if name.endswith(ending))
    folder = build_known(tmp_path / "model", architecture)
    edit_json(folder / "config.json", architectures=None)
    assert load_model(folder).kind == kind


def encoder_decoders() -> dict[str, Any]:
    t5 = {"vocab_size": 2000, "d_model": 8, "d_ff": 8, "d_kv": 4, "num_layers": 1, "num_heads": 2}
    bart = {f"{half}_{part}": n for half in ("encoder", "decoder") for part, n in (("layers", 1), ("ffn_dim", 8))}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    return {
        "T5ForConditionalGeneration": transformers.T5Config(**t5),
        "BartForConditionalGeneration": transformers.BartConfig(vocab_size=2000, d_model=16, **bart, **heads),
    }


@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path, architecture: str) -> None:
    folder = build(tmp_path / "model", architecture, encoder_decoders()[architecture], "tiny-roberta")
    with pytest.raises(TiltmeterError, match="model"):
        load_model(folder)


# A causal model must not see what comes --------------------------------------------------


def looks_ahead(model: LanguageModel) -> bool:
    first, second = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 9]])
    with torch.no_grad():
        logits = [model._module(input_ids=ids).logits[0, 0] for ids in (first, second)]
    return not torch.allclose(*logits, atol=1e-6)


def test_a_masked_model_does_not_pass_for_a_causal_one(tmp_path: Path) -> None:
    """RoBERTa loads as a causal model with all its weights, and each token is then read off itself."""
    folder = build_known(tmp_path / "model", "RobertaForMaskedLM")
    with pytest.raises(TiltmeterError, match="causal"):
        load_model(folder, kind="causal")


def test_a_decoder_of_bert_s_family_is_causal(tmp_path: Path) -> None:
    config = transformers.RobertaConfig(**ROBERTA, is_decoder=True)
    model = load_model(build(tmp_path / "model", "RobertaForCausalLM", config, "tiny-roberta"))
    assert model.kind == "causal"
    assert not looks_ahead(model)


def test_a_masked_model_with_a_causal_name(tmp_path: Path) -> None:
    """XLM's LMHeadModel is masked, and may not be scored left to right, not even where one says that it is causal."""
    sizes = {"emb_dim": 16, "n_layers": 1, "n_heads": 2, "n_langs": 1}
    folder = build(
        tmp_path / "model", "XLMWithLMHeadModel", transformers.XLMConfig(vocab_size=2000, **sizes), "tiny-roberta"
    )
    model = load_model(folder)
    assert model.kind == "masked" and looks_ahead(model)
    with raises("wrong-model-kind", kind="causal"):
        load_model(folder, kind="causal")


def test_a_two_sided_model_with_a_causal_name(tmp_path: Path) -> None:
    """XLNet's LMHeadModel sees all of its input: it is asked as a masked model (tests/test_xlnet.py), not left to right."""
    sizes = {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 32}
    folder = build(
        tmp_path / "model", "XLNetLMHeadModel", transformers.XLNetConfig(vocab_size=2000, **sizes), "tiny-roberta"
    )
    assert load_model(folder).kind == "masked"
    with raises("wrong-model-kind", kind="causal", architecture="xlnet"):
        load_model(folder, kind="causal")


# Heads and weights that are not there --------------------------------------------------


def test_a_checkpoint_without_its_head(tmp_path: Path) -> None:
    folder = build(tmp_path / "body", "BertModel", transformers.BertConfig(**SIZES), "tiny-bert-cased")
    for kind in ("masked", None):
        with raises("missing-weights") as error:
            load_model(folder, kind=kind)
        assert all(weight.startswith("cls.predictions") for weight in error.value.fields["weights"])


def test_an_electra_discriminator(tmp_path: Path) -> None:
    config = transformers.ElectraConfig(**SIZES, embedding_size=8)
    folder = build(tmp_path / "discriminator", "ElectraForPreTraining", config, "tiny-bert-cased")
    with pytest.raises(TiltmeterError, match="generator"):
        load_model(folder)


def test_a_classifier(tmp_path: Path) -> None:
    config = transformers.BertConfig(**SIZES)
    folder = build(tmp_path / "classifier", "BertForSequenceClassification", config, "tiny-bert-cased")
    with raises("missing-weights"):
        load_model(folder)


def test_a_weight_of_the_wrong_shape(bert: Path) -> None:
    edit_json(bert / "config.json", intermediate_size=96)
    with pytest.raises(TiltmeterError, match="intermediate"):
        load_model(bert)


@pytest.mark.parametrize(
    ("gone", "code"),
    [("model.safetensors", "missing-file"), ("config.json", "missing-file"), ("tokenizer.json", "cannot-load")],
)
def test_a_folder_without_a_file_it_needs(bert: Path, gone: str, code: str) -> None:
    (bert / gone).unlink()
    with raises(code):
        load_model(bert)


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "RobertaForMaskedLM", "GPT2LMHeadModel"])
def test_a_folder_without_any_tokenizer(tmp_path: Path, architecture: str) -> None:
    """transformers then makes a tokenizer of special tokens only, for which every word is unknown."""
    folder = build_known(tmp_path / "model", architecture)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(TiltmeterError, match="tokenizer"):
        load_model(folder)


def test_a_tokenizer_that_knows_more_words_than_the_model(tmp_path: Path) -> None:
    config = transformers.BertConfig(**{**SIZES, "vocab_size": 500})
    folder = build(tmp_path / "model", "BertForMaskedLM", config, "tiny-bert-cased")
    with raises("tokenizer-mismatch", embeddings=500):
        tiltmeter.score(load_model(folder), "starter-pairs", ["aul"], cache=False)


@pytest.mark.parametrize("keep", [0, 4, 100, 20_000])
def test_damaged_weights(bert: Path, keep: int) -> None:
    file = bert / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(TiltmeterError, match="bert"):
        load_model(bert)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_damaged_json(bert: Path, file: str) -> None:
    (bert / file).write_text((bert / file).read_text()[:50])
    with pytest.raises(TiltmeterError, match="bert"):
        load_model(bert)


@pytest.mark.parametrize("content", [b"{", b'{"a":\n "', b"\xed\xed", b"[" * 100_000, b"[]"])
@pytest.mark.parametrize("file", ["generation_config.json", "tokenizer_config.json"])
def test_settings_that_cannot_be_read_are_refused(bert: Path, file: str, content: bytes) -> None:
    (bert / file).write_bytes(content)
    with pytest.raises(TiltmeterError):
        load_model(bert)


def test_an_unknown_model_type(bert: Path) -> None:
    edit_json(bert / "config.json", model_type="bertha")
    with pytest.raises(TiltmeterError, match="bertha"):
        load_model(bert)


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/model", "~/no-such-model-here", "a/b/c"])
def test_an_unknown_folder(name: str) -> None:
    with raises("missing-file"):
        load_model(name)


@pytest.mark.parametrize("name", ["bert-base-cased", "someone/their-model"])
def test_a_hub_id_without_a_network(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(TiltmeterError, match="plumb-mlm") as error:
        load_model(name)
    assert name in str(error.value)


# Options --------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code", "fields"),
    [
        ({"kind": "sequence"}, "unknown-name", {"option": "kind", "name": "sequence"}),
        ({"precision": "int8"}, "unknown-name", {"option": "precision", "name": "int8"}),
        ({"precision": "tf32", "device": "cpu"}, "inapplicable-option", {}),
        ({"device": "abacus"}, "missing-capability", {"device": "abacus"}),
        ({"device": ""}, "missing-capability", {"device": ""}),
    ],
)
def test_wrong_options(options: dict[str, str], code: str, fields: dict[str, str]) -> None:
    with raises(code, **fields):
        load_model("plumb-mlm", **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_device_that_is_not_here() -> None:
    with raises("missing-capability", device="cuda"):
        load_model("plumb-mlm", device="cuda")


def test_a_causal_model_is_not_masked(gpt2: Path) -> None:
    with pytest.raises(TiltmeterError, match="gpt2"):
        load_model(gpt2, kind="masked")


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", "float32"), ("bf16", "bfloat16"), ("fp16", "float16")])
def test_precisions(precision: str, dtype: str) -> None:
    model = load_model("plumb-mlm", precision=precision, device="cpu")
    assert (model.precision, model.facts["dtype"]) == (precision, dtype)


# Files of weights --------------------------------------------------


def test_bin_weights(bert: Path, pairs: Path) -> None:
    from safetensors.torch import load_file

    expected = scores_of(load_model(bert), pairs)
    torch.save(load_file(bert / "model.safetensors"), bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    torch.save({"a": 1}, bert / "training_args.bin")
    pd.testing.assert_frame_equal(scores_of(load_model(bert), pairs), expected)


def test_damaged_bin_weights(bert: Path) -> None:
    (bert / "model.safetensors").unlink()
    (bert / "pytorch_model.bin").write_bytes(b"not a pickle")
    with pytest.raises(TiltmeterError, match="bert"):
        load_model(bert)


def test_sharded_weights(bert: Path, pairs: Path) -> None:
    model = load_model(bert)
    expected = scores_of(model, pairs)
    (bert / "model.safetensors").unlink()
    model._module.save_pretrained(bert, max_shard_size="200KB")
    shards = sorted(bert.glob("model-*.safetensors"))
    assert len(shards) > 1
    sharded = load_model(bert)
    pd.testing.assert_frame_equal(scores_of(sharded, pairs), expected)
    shards[0].unlink()
    with pytest.raises(TiltmeterError, match="bert"):
        load_model(bert)


def test_the_weights_hash(bert: Path, tmp_path: Path) -> None:
    first = load_model(bert).identity.model
    copy = Path(shutil.copytree(bert, tmp_path / "a copy by another name"))
    assert load_model(copy).identity.model == first
    edit_json(copy / "config.json", layer_norm_eps=1e-6)
    assert load_model(copy).identity.model != first
    edit_weights(bert, lambda tensor: tensor + 1e-3, only="cls.predictions.bias")
    assert load_model(bert).identity.model != first


def test_weights_that_are_a_broken_link(bert: Path) -> None:
    weights = bert / "model.safetensors"
    (bert / "card.json").write_text(json.dumps({"weights_sha256": "0" * 64}))
    weights.unlink()
    weights.symlink_to(bert / "gone.safetensors")
    with pytest.raises(TiltmeterError, match="bert"):
        load_model(bert)


@pytest.mark.parametrize("collecting", [True, False])
def test_loading_leaves_the_garbage_collector_as_it_was(bert: Path, collecting: bool) -> None:
    (gc.enable if collecting else gc.disable)()
    try:
        load_model(bert)
        assert gc.isenabled() == collecting
        with pytest.raises(TiltmeterError):
            load_model("/nowhere")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def test_a_model_that_nobody_holds_is_gone_at_once(bert: Path) -> None:
    load_model(bert)  # what is imported first may leave something behind
    gc.collect()
    gc.disable()
    try:
        model = load_model(bert)
        tiltmeter.score(model, tiltmeter.load_benchmark("starter-pairs", limit=2), ["aul"], cache=False)
        weights = weakref.ref(next(model._module.parameters()))
        assert weights() is not None
        del model
        assert weights() is None
    finally:
        gc.enable()


def test_a_model_in_memory_scores_as_its_folder(bert: Path, pairs: Path) -> None:
    module = transformers.AutoModelForMaskedLM.from_pretrained(bert)
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    wrapped = wrap_model(module.train(), tokenizer, name="bert")  # dropout must be off all the same
    assert wrapped.kind == "masked"
    pd.testing.assert_frame_equal(scores_of(wrapped, pairs), scores_of(load_model(bert), pairs))
    again = wrap_model(module, tokenizer, name="bert")
    before = again.identity.model
    assert before == wrapped.identity.model
    with torch.no_grad():
        module.cls.predictions.bias[7] += 0.01
    assert wrapped.identity.model != before  # of the model as it is now, not as it was when it was wrapped


# How long a sentence may be --------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "usable"),
    [
        ("BertForMaskedLM", 40),
        ("RobertaForMaskedLM", 38),  # positions are counted from behind the padding id, 1
        ("XLMRobertaForMaskedLM", 38),
        ("MPNetForMaskedLM", 38),
        ("GPT2LMHeadModel", 40),
        ("OPTForCausalLM", 40),
    ],
)
def test_usable_length(tmp_path: Path, architecture: str, usable: int) -> None:
    """The longest input goes through; one token more does not, where the position table ends."""
    model = load_model(build_known(tmp_path / "model", architecture))
    assert model.tokens.max_length == usable
    answer = model.read(everything_of([[7] * usable], 0))
    assert np.isfinite(answer.logprob).all()


def test_the_tokenizer_s_limit_counts_too(bert: Path) -> None:
    edit_json(bert / "tokenizer_config.json", model_max_length=12)
    assert load_model(bert).tokens.max_length == 12


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-roberta", "tiny-gpt2"])
def test_a_sentence_over_the_maximum_is_missing(name: str, tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(f"stereo,anti\n{'he ' * 400},{'she ' * 400}\nHe ran.,She ran.\n")
    frame = scores_of(golden_model(name), file)
    long = frame[frame["item"] == "1"]
    assert len(long) and long["score"].isna().all()
    assert long["reason"].str.contains("250 tokens").all()
    assert frame[frame["item"] == "2"]["score"].notna().all()


def test_one_side_over_the_maximum_takes_the_pair_out(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"stereo,anti\n{'he ' * 400},She ran.\nHe ran.,She ran.\n")
    scores = tiltmeter.score(golden_model("tiny-bert-cased"), tmp_path / "long.csv", ["aul"], cache=False)
    (row,) = tiltmeter.estimate(scores, ["bias_score"], "all", resamples=100).to_dict("records")
    assert (row["n"], row["n_missing"]) == (1, 1)
    assert "longer than" in row["missing"]


# What has no score --------------------------------------------------


@pytest.mark.parametrize(
    ("model", "where"), [("bert", "word_embeddings"), ("gpt2", "wte"), ("bert", "cls.predictions.bias")]
)
def test_weights_that_are_not_numbers(model: str, where: str, request: pytest.FixtureRequest, pairs: Path) -> None:
    folder = request.getfixturevalue(model)
    edit_weights(folder, lambda tensor: tensor * float("nan"), only=where)
    scores = tiltmeter.score(load_model(folder), pairs, cache=False)
    frame = scores.to_pandas()
    assert frame["score"].isna().all()
    assert frame["reason"].str.contains("finite").all()
    table = tiltmeter.estimate(scores, resamples=100)
    assert table["value"].isna().all()
    assert (table["n"] == 0).all()
    assert (table[table["by"] == "all"]["n_missing"] == 2).all()


def test_infinite_logits(bert: Path, pairs: Path) -> None:
    edit_weights(bert, lambda tensor: tensor + float("inf"), only="cls.predictions.bias")
    frame = scores_of(load_model(bert), pairs)
    assert frame["score"].isna().all()
    assert frame["reason"].notna().all()


@pytest.mark.parametrize(
    ("model", "scorer", "code", "fields"),
    [
        ("tiny-bert-cased", "causal", "wrong-model-kind", {"model": "tiny-bert-cased", "kind": "masked"}),
        ("tiny-gpt2", "cps", "wrong-model-kind", {"model": "tiny-gpt2", "kind": "causal"}),
        ("tiny-bert-cased", "stereoset_masked", "missing-column", {"benchmark": "pairs", "column": "context"}),
        ("tiny-bert-cased", "cqs", "unknown-name", {"kind": "scorer", "name": "cqs"}),
    ],
)
def test_a_scorer_that_does_not_apply(model: str, scorer: str, code: str, fields: dict[str, str], pairs: Path) -> None:
    with raises(code, **fields):
        scores_of(golden_model(model), pairs, [scorer])


def test_one_scorer_may_be_given_as_a_word(pairs: Path) -> None:
    scores = tiltmeter.score(golden_model("tiny-bert-cased"), pairs, "aul", cache=False)  # type: ignore[arg-type]
    assert set(scores.to_pandas()["scorer"]) == {"aul"}
    table = tiltmeter.estimate(scores, "bias_score", "all", resamples=100)  # type: ignore[arg-type]
    assert set(table["measure"]) == {"bias_score"}


def test_a_masked_model_without_a_mask_token(bert: Path, pairs: Path) -> None:
    edit_json(bert / "tokenizer_config.json", mask_token=None)
    with raises("missing-capability", needs="mask token"):
        scores_of(load_model(bert), pairs, ["cps"])


def test_a_causal_model_without_bos_and_eos(gpt2: Path, pairs: Path) -> None:
    edit_json(gpt2 / "tokenizer_config.json", bos_token=None, eos_token=None)
    with raises("missing-capability", needs="BOS or EOS token"):
        scores_of(load_model(gpt2), pairs, ["causal"])


def test_packed_layers_answer_as_plain_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor without oneDNN nothing is packed, and nothing else changes."""
    from tiltmeter.models import packing

    bench = tiltmeter.load_benchmark("starter-pairs", limit=8)
    packed = load_model("plumb-mlm")
    monkeypatch.setattr(packing, "MOST_BYTES", 0)
    plain = load_model("plumb-mlm")
    one, other = (tiltmeter.score(model, bench, ["aul", "pll"], cache=False).to_pandas() for model in (packed, plain))
    np.testing.assert_allclose(one["score"], other["score"], rtol=1e-5, atol=1e-5)


def test_a_wrong_fast_product_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.models import packing

    layer = torch.nn.Sequential(torch.nn.Linear(8, 4))
    monkeypatch.setattr(packing._Packed, "agrees", lambda _: False)
    assert packing.pack_linears(layer) == 0
    monkeypatch.undo()
    wrong = packing._Packed(layer[0])
    wrong.packed = torch.ops.mkldnn._reorder_linear_weight(torch.zeros(4, 8), 4)
    wrong.version = layer[0].weight._version  # as if it were packed from the present weight
    assert not wrong.agrees() and packing._Packed(layer[0]).agrees()
    assert packing.pack_linears(layer) == 1
    with torch.inference_mode():
        x = torch.ones(3, 8)
        torch.testing.assert_close(layer(x), x @ layer[0].weight.T + layer[0].bias)
    assert packing.pack_linears(torch.nn.Sequential(torch.nn.Linear(8, 4).double())) == 0
    assert packing.pack_linears(torch.nn.Sequential()) == 0


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("config.json", "architectures", [{"a": "b"}]),
        ("config.json", "architectures", "BertForMaskedLM"),
        ("tokenizer_config.json", "model_max_length", "many"),
        ("tokenizer_config.json", "model_max_length", -5),
    ],
)
def test_values_of_the_wrong_type_are_named(bert: Path, file: str, key: str, value: object) -> None:
    path = bert / file
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {key: value}))
    with raises("wrong-format", name=key, value=value):
        tiltmeter.load_model(bert)


def test_a_folder_that_is_not_there_costs_no_import(tmp_path: Path) -> None:
    """Nor does one without weights: a mistake is told at once, and not after seconds of importing torch."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    code = (
        "import sys\nfrom tiltmeter.errors import TiltmeterError\nfrom tiltmeter.models import load_any\n"
        "for name in sys.argv[1:]:\n    try:\n        load_any(name)\n    except TiltmeterError as error:\n"
        "        print(error)\nassert not {'torch', 'transformers'} & set(sys.modules)\n"
    )
    names = [str(tmp_path / name) for name in ("none", "empty")]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "There is no model folder" in done.stdout and "has no weights" in done.stdout


def test_a_gguf_file_names_the_packages_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before transformers writes a message of its own."""
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    monkeypatch.setattr("tiltmeter.models.places.GGUF_PACKAGES", ("no_such_package",))
    with raises("missing-package", packages=["no_such_package"]):
        tiltmeter.load_model(tmp_path / "model.gguf")
    assert capfd.readouterr().err == ""

"""SentenceDebias and INLP: directions leave the last hidden state, and every reading of the model sees it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED
from support.raising import raises
from tiltmeter import TiltmeterError
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.inlp import inlp, labelled
from tiltmeter.debias.kit.grouped_sentences import Groups, by_group, variants
from tiltmeter.debias.kit.vectors import orthonormal, sentence_vectors
from tiltmeter.debias.sentence_debias import pair_centred, principal, sentence_debias
from tiltmeter.models import load_encoder, load_parts, wrap_model
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.projection import fold, project_out, read_directions
from tiltmeter.models.wrappers import wrapper_of

MODELS = GOLDEN / "models"
PEOPLE = (("The woman", "She", "Her"), ("The man", "He", "His"), ("The child", "It", "Its"))
PLACES = ("in the house", "by the river", "at school", "near the old bridge", "in the garden", "behind the shop")
DEEDS = ("sat", "slept", "waited for the train", "read a book", "laughed", "looked at the rain", "was asked to sing")
TIMES = ("last night", "for an hour", "on Monday", "before breakfast", "again and again")


def lines() -> list[str]:
    """Sentences that differ in the group they name and in nothing else."""
    return [
        f"{subject} {deed} {place} {time}."
        for person in PEOPLE
        for subject, deed, place, time in product(person[:2], DEEDS, PLACES, TIMES)
    ]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("\n".join(lines()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def without_direction(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """plumb-mlm after SentenceDebias."""
    return sentence_debias("plumb-mlm", text=text, sentences=120, output=tmp_path_factory.mktemp("made") / "out")


def directions(width: int, n: int = 3) -> Any:
    return orthonormal(np.random.default_rng(0).normal(size=(n, width)))


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_nothing_is_left_of_the_directions_and_the_head_reads_the_rest(name: str) -> None:
    """Logits are those of the base's head on the base's states without the directions; so are an encoder's vectors."""
    causal = name in CAUSAL
    base, changed = (load_parts(MODELS / name, precision="fp32").module.eval() for _ in range(2))
    ids = torch.tensor([[5, 9, 12, 7, 30, 6]])
    split = BodyAndHead(base, causal=causal)
    with torch.inference_mode():
        states = split.body_module(input_ids=ids).last_hidden_state
        basis = torch.from_numpy(directions(states.shape[-1])).float()
        project_out(changed, basis.numpy(), causal=causal)
        wanted = states - (states @ basis.T) @ basis
        answer = changed.base_model(input_ids=ids, output_hidden_states=True)
        torch.testing.assert_close(answer.last_hidden_state, wanted)
        torch.testing.assert_close(answer.hidden_states[-1], wanted)
        assert float((answer.last_hidden_state @ basis.T).abs().max()) < 1e-5
        torch.testing.assert_close(changed(input_ids=ids).logits[0], split.head(wanted[0]), rtol=1e-4, atol=1e-4)


def test_generated_text_goes_through_it() -> None:
    parts = load_parts(MODELS / "tiny-gpt2", precision="fp32")
    basis = directions(parts.module.config.hidden_size)
    module = project_out(parts.module.eval(), basis, causal=True)
    answer = module.generate(
        torch.tensor([[5, 6, 7]]), attention_mask=torch.ones(1, 3, dtype=torch.long), max_new_tokens=3, do_sample=False,
        output_hidden_states=True, return_dict_in_generate=True, pad_token_id=0,
    )  # fmt: skip
    for step in answer.hidden_states:
        assert np.abs(step[-1][0].numpy() @ basis.T).max() < 1e-5


def test_sentence_debias_leaves_no_variance_along_its_direction(without_direction: Path) -> None:
    out = without_direction
    (direction,) = read_directions(out / "projection.safetensors")
    (swap,) = make_swaps()
    pairs = variants(lines(), swap, 120, 0)
    shares = []
    for name in ("plumb-mlm", out):
        rows = sentence_vectors(load_parts(name), [one for pair in pairs for one in pair])
        centred = pair_centred(rows.reshape(len(pairs), 2, -1))
        shares.append(((centred @ direction) ** 2).sum() / (centred**2).sum())
    manifest = json.loads((out / "manifest.json").read_text())
    assert shares[0] == pytest.approx(manifest["found"]["share_of_variance"][0], abs=1e-4)
    assert shares[0] > 0.2
    assert shares[1] < 1e-10


def test_inlp_leaves_a_fresh_classifier_at_chance(text: Path, tmp_path: Path) -> None:
    """On the groups that it was made from, asked of sentences that the classifier has not seen; and all of it is told."""
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import LinearSVC

    out = inlp("plumb-mlm", text=text, neutral=False, output=tmp_path / "out")
    (swap,) = make_swaps()
    groups = by_group(lines(), swap.lists[0], 10_000, 0)[:2]
    accuracy = []
    for name in ("plumb-mlm", out):
        parts = load_parts(name)
        rows, labels = labelled([sentence_vectors(parts, some) for some in groups], seed=3)
        accuracy.append(cross_val_score(LinearSVC(dual=False), rows, labels, cv=5).mean())
    assert accuracy[0] > 0.95
    assert accuracy[1] == pytest.approx(0.5, abs=0.06)
    found = json.loads((out / "manifest.json").read_text())["found"]
    assert found["classes"] == ["female", "male"]
    assert found["iterations"] == len(found["accuracy"]) == len(found["accuracy_held_out"])
    assert found["directions"] < found["width"]


@pytest.mark.parametrize("name", ["tiny-roberta", "tiny-albert", "tiny-gpt2"])
def test_saved_and_loaded_is_the_same_model(name: str, text: Path, tmp_path: Path) -> None:
    """For a language model and an encoder, with a fingerprint of its own."""
    out = sentence_debias(MODELS / name, text=text, sentences=60, output=tmp_path / "out")
    loaded, base = tiltmeter.load_model(out), tiltmeter.load_model(MODELS / name)
    parts = load_parts(MODELS / name)
    module = project_out(parts.module.eval(), read_directions(out / "projection.safetensors"), causal=name in CAUSAL)
    memory = wrap_model(module, parts.tokenizer, name="memory")
    scorer = "causal" if name in CAUSAL else "aul"
    scores = [
        tiltmeter.score(one, "starter-pairs", [scorer], cache=False).to_pandas()["score"] for one in (loaded, memory, base)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    assert np.abs(scores[0] - scores[2]).max() > 1e-4
    assert loaded.identity.model != base.identity.model
    assert loaded.facts["wrapper"]["kind"] == "projection"
    assert load_encoder(out).identity.model == loaded.identity.model


def test_seat_sees_it(without_direction: Path) -> None:
    """Without the gender direction the groups' sentences lie closer together; other layers are as they were."""
    base, changed = tiltmeter.load_model("plumb-mlm"), tiltmeter.load_model(without_direction)
    last, first = ([_effects(one, layer) for one in (base, changed)] for layer in (-1, 2))
    assert np.abs(last[0] - last[1]).max() > 0.05
    np.testing.assert_allclose(first[0], first[1], atol=1e-5)


def _effects(model: tiltmeter.LanguageModel, layer: int) -> Any:
    answers = tiltmeter.ask(model, "seat", cache=False, options=tiltmeter.AssociationsOptions(layer=layer))
    table = tiltmeter.estimate(answers, ["effect_size"], resamples=100)  # the values alone are read
    return table.loc[table["measure"] == "effect_size", "value"].to_numpy()


def test_a_body_that_ends_in_a_linear_map_takes_the_projection_into_its_weights() -> None:
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=60, hidden_size=24, word_embed_proj_dim=16, num_hidden_layers=1, ffn_dim=32, num_attention_heads=2,
        max_position_embeddings=40,
    )  # fmt: skip
    torch.manual_seed(0)
    module = OPTForCausalLM(config).eval()
    basis, ids = directions(16, 2), torch.tensor([[4, 5, 6, 7]])
    with torch.inference_mode():
        before = module.base_model(input_ids=ids).last_hidden_state.numpy()
        assert fold(module, basis, causal=True)
        after = module.base_model(input_ids=ids).last_hidden_state.numpy()
    np.testing.assert_allclose(after, before - (before @ basis.T) @ basis, atol=1e-5)
    bert = load_parts(MODELS / "tiny-bert-cased", precision="fp32").module.eval()
    state = {name: one.clone() for name, one in bert.state_dict().items()}
    assert not fold(bert, directions(bert.config.hidden_size), causal=False)
    assert all(torch.equal(one, state[name]) for name, one in bert.state_dict().items())


def test_groups_of_sentences() -> None:
    groups = Groups(make_swaps()[0].lists[0])
    assert [groups.of(one) for one in ("She met her aunt.", "The KING slept.", "It rained.", "He met her.")] == [
        0,
        1,
        -1,
        None,
    ]
    word, group, (first, last) = groups.matches("“Ladies” came.")[0]
    assert (word, group, "“Ladies” came."[first:last]) == ("ladies", 0, "Ladies")


def test_components_that_are_not_there() -> None:
    with raises("too-few", kind="directions", least=2):
        principal(np.outer([1.0, -1.0, 2.0, -2.0], np.arange(8.0)), 2)
    with raises("out-of-range", name="components", value=8, most=7):
        principal(np.ones((4, 8)), 8)


def test_bad_input_leaves_nothing_behind(text: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("It rained.\nThe road was long and wet.\n", encoding="utf-8")
    for method in (sentence_debias, inlp):
        with raises("too-few", count=0):
            method(MODELS / "tiny-bert-cased", text=empty, output=tmp_path / "new")
    with raises("out-of-range", name="iterations", value=0):
        inlp(MODELS / "tiny-bert-cased", text=text, iterations=0, output=tmp_path / "new")
    with raises("output-exists", folder=tmp_path):
        inlp(MODELS / "tiny-bert-cased", text=text, output=tmp_path)
    with raises("wrong-model-kind", kind="wrapper", method="INLP"):
        out = sentence_debias(MODELS / "tiny-bert-cased", text=text, sentences=40, output=tmp_path / "one")
        inlp(out, text=text, output=tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["empty.txt", "one"]


def test_a_damaged_wrapper_is_refused(text: Path, tmp_path: Path) -> None:
    from tiltmeter.models.places import folder_of

    out = sentence_debias(MODELS / "tiny-bert-cased", text=text, sentences=40, output=tmp_path / "out")
    assert wrapper_of(MODELS / "tiny-bert-cased") is None
    with raises("wrong-model-kind", model=out, kind="wrapper"):
        folder_of(str(out), None)
    said = (out / "wrapper.json").read_text()
    (out / "projection.safetensors").write_bytes(b"no")
    with raises("damaged-file", file=out / "projection.safetensors"):
        tiltmeter.load_model(out)
    (out / "projection.safetensors").unlink()
    with raises("missing-file", file=out / "projection.safetensors"):
        tiltmeter.load_model(out)
    for wrong in ("{", '{"schema": 9, "wrapper": "projection", "settings": {}}', said.replace("projection", "other")):
        (out / "wrapper.json").write_text(wrong, encoding="utf-8")
        with pytest.raises(TiltmeterError, match="wrapper"):
            tiltmeter.load_model(out)


def test_directions_that_do_not_fit() -> None:
    parts = load_parts(MODELS / "tiny-bert-cased")
    width = parts.module.config.hidden_size
    with raises("wrong-shape", width=width):
        project_out(parts.module, np.eye(3), causal=False)
    with raises("damaged-file", directions=2):
        project_out(parts.module, np.ones((2, width)), causal=False)
    project_out(parts.module, directions(width), causal=False)
    with raises("wrong-model-kind", kind="projection"):
        project_out(parts.module, directions(width), causal=False)

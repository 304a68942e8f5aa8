"""The embeddings probe: poolings and layers by another route, batches, the cache, other kinds of vectors, bad input."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import CAUSAL, GOLDEN, MASKED, golden_model, reference
from support.raising import raises
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.kit.vectors import association, unit
from tiltmeter.models import StaticVectors, encoder_of, is_static, load_encoder
from tiltmeter.probes.embeddings import NOT_A_WORD, NOT_FINITE, EmbeddingProbe, StaticProbe
from tiltmeter.probes.pooling import NO_FIRST_TOKEN, NO_TOKENS, POOLINGS, TOO_LONG, Passage
from tiltmeter.stats.significance import split_p

TEXTS = ["This is a man.", "She is here.", "The engineers were unconvinced, and went home early.", "No.", "This is a man."]
WORDS = [(10, 13), (0, 3), (4, 13), (0, 2), (10, 13)]


def probe(name: str, **options: Any) -> EmbeddingProbe:
    return EmbeddingProbe(encoder_of(golden_model(name)), **options)


def by_hand(name: str, text: str, span: tuple[int, int], pooling: str, layer: int) -> np.ndarray:
    """One text alone, from transformers' own output."""
    model = golden_model(name)
    answer = model.tokens.tokenizer(text, return_tensors="pt", return_offsets_mapping=True, return_special_tokens_mask=True)
    offsets, special = answer.pop("offset_mapping")[0].tolist(), answer.pop("special_tokens_mask")[0].tolist()
    with torch.inference_mode():
        states = model._module(**answer, output_hidden_states=True).hidden_states[layer][0].numpy()
    content = [at for at, added in enumerate(special) if not added]
    word = [at for at in content if offsets[at][0] < span[1] and offsets[at][1] > span[0]]
    places = {
        "cls": [0], "mean": list(range(len(special))), "mean_content": content, "first_token_no_special": content[:1],
        "last": content[-1:], "end": [len(special) - 1], "word_first": word[:1], "word_last": word[-1:], "word_mean": word,
    }  # fmt: skip
    return np.asarray(states[places[pooling]].mean(axis=0))


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_equals_one_text_at_a_time(name: str, pooling: str) -> None:
    if name in CAUSAL and pooling == "cls":
        pytest.skip("its tokenizer adds no special token")
    passages = [Passage(text, span) for text, span in zip(TEXTS, WORDS, strict=True)]
    for layer in (-1, 0, 1):
        found = probe(name, pooling=pooling, layer=layer, batch_tokens=40).vectors(passages)
        assert not found.reasons
        for row, one in zip(found.rows, passages, strict=True):
            assert one.span is not None
            assert row == pytest.approx(by_hand(name, one.text, one.span, pooling, layer), abs=1e-5)


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_seat_equals_bias_bench(name: str) -> None:
    """Vectors, effect size and exact p of a SEAT test of our own, as bias-bench gives them."""
    expected = reference("seat_bias_bench")[name]
    asked = probe(name, pooling="mean")
    stored = expected["embeddings"]
    for text, row in zip(stored, unit(asked.vectors([Passage(text) for text in stored]).rows), strict=True):
        assert row == pytest.approx(np.array(stored[text]), abs=1e-5)
    test = json.loads((GOLDEN / "data" / "own-seat-mini.jsonl").read_text())
    x, y, a, b = (
        asked.vectors([Passage(text) for text in test[part]["examples"]]).rows
        for part in ("targ1", "targ2", "attr1", "attr2")
    )
    s_x, s_y = association(x, a, b), association(y, a, b)
    assert float(effect_size(s_x, s_y)) == pytest.approx(expected["own-seat-mini"]["effect_size"], abs=1e-5)
    p, exact = split_p(s_x, s_y, np.random.default_rng(0))
    assert exact and p == pytest.approx(expected["own-seat-mini"]["p_value"], abs=1e-9)


def test_a_sequence_is_forwarded_once_and_a_second_call_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = probe("tiny-bert-cased", cache_root=tmp_path, pooling="word_mean")
    shapes: list[tuple[int, ...]] = []
    embed = first.encoder.embed
    monkeypatch.setattr(first.encoder, "embed", lambda batch, layer: shapes.append(batch.ids.shape) or embed(batch, layer))
    text = "The nurse met the doctor."
    passages = [Passage(text, (4, 9)), Passage(text, (18, 24)), Passage(text, (4, 9))]
    found = first.vectors(passages)
    assert [shape[0] for shape in shapes] == [1] and first.computed == 2
    assert not np.allclose(found.rows[0], found.rows[1]) and np.array_equal(found.rows[0], found.rows[2])
    again = probe("tiny-bert-cased", cache_root=tmp_path, pooling="word_mean")
    assert np.array_equal(again.vectors(passages).rows, found.rows) and again.computed == 0 and again.reused == 2
    other = probe("tiny-bert-cased", cache_root=tmp_path, pooling="word_mean", layer=1)
    assert not np.allclose(other.vectors(passages).rows, found.rows) and other.computed == 2
    for part in tmp_path.rglob("part-*.npz"):
        part.write_bytes(b"damaged")
    assert np.array_equal(
        probe("tiny-bert-cased", cache_root=tmp_path, pooling="word_mean").vectors(passages).rows, found.rows
    )


def test_an_interruption_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages = [Passage("word " * n + ".") for n in range(1, 30)]
    stopped = probe("tiny-bert-cased", cache_root=tmp_path, batch_tokens=64)
    embed, calls = stopped.encoder.embed, iter(range(3))
    monkeypatch.setattr(
        stopped.encoder, "embed", lambda batch, layer: embed(batch, layer) if next(calls, None) is not None else 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        stopped.vectors(passages)
    resumed = probe("tiny-bert-cased", cache_root=tmp_path, batch_tokens=64)
    whole = resumed.vectors(passages)
    assert resumed.reused >= 3 and resumed.reused + resumed.computed == 29
    assert whole.rows == pytest.approx(probe("tiny-bert-cased").vectors(passages).rows, abs=1e-5)


def test_what_cannot_be_asked_is_missing_with_a_reason() -> None:
    found = probe("tiny-bert-cased").vectors([Passage("A man."), Passage(""), Passage("word " * 400)])
    assert np.isfinite(found.rows[0]).all() and np.isnan(found.rows[1:]).all()
    assert found.reasons[1] == NO_TOKENS and found.reasons[2] == TOO_LONG.format(
        probe("tiny-bert-cased").encoder.tokens.max_length
    )
    assert probe("tiny-gpt2", pooling="cls").vectors([Passage("A man.")]).reasons[0] == NO_FIRST_TOKEN
    assert "unknown" in probe("tiny-gpt2", pooling="word_mean").vectors([Passage("A man.")]).reasons[0]
    with raises("out-of-range", name="layer", value=9):
        probe("tiny-gpt2", layer=9)
    with raises("unknown-name", kind="pooling", name="max"):
        probe("tiny-gpt2", pooling="max")


def sentence_transformer(folder: Path, **pooling: bool) -> Path:
    """A folder in the layout of that library, from a golden model without its head."""
    model = golden_model("tiny-bert-cased")
    model._module.base_model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(GOLDEN / "models" / "tiny-bert-cased" / name, folder / name)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 64, **pooling}))
    return folder


def test_sentence_transformers_folders_load(tmp_path: Path) -> None:
    """Without a language-modelling head, and with the pooling that the folder names."""
    encoder = load_encoder(sentence_transformer(tmp_path / "st", pooling_mode_cls_token=True))
    asked = EmbeddingProbe(encoder)
    assert asked.label == "cls"
    expected = probe("tiny-bert-cased", pooling="cls").vectors([Passage("A man.")]).rows
    assert asked.vectors([Passage("A man.")]).rows == pytest.approx(expected, abs=1e-5)
    odd = sentence_transformer(tmp_path / "odd", pooling_mode_max_tokens=True)
    with raises("missing-value", name="pooling"):
        EmbeddingProbe(load_encoder(odd))
    assert EmbeddingProbe(load_encoder(odd), pooling="last").label == "last"


def test_the_last_token_of_sentence_transformers_may_be_special(tmp_path: Path) -> None:
    """Its `lasttoken` is the last that is not padding: [SEP] here, where our `last` is the full stop."""
    encoder = load_encoder(sentence_transformer(tmp_path / "st", pooling_mode_lasttoken=True))
    batch = encoder.tokens.tokenizer("A man.", return_tensors="pt")
    with torch.no_grad():
        states = encoder._module(**batch).last_hidden_state[0].numpy()
    asked = EmbeddingProbe(encoder).vectors([Passage("A man."), Passage("A far longer sentence about a man.")])
    assert asked.rows[0] == pytest.approx(states[-1], abs=1e-5)
    assert asked.rows[0] != pytest.approx(states[-2], abs=1e-2)


@pytest.mark.parametrize("layout", ["glove", "word2vec", "tabs", "gz", "npy", "npy-json"])
def test_static_vectors(tmp_path: Path, layout: str) -> None:
    words = ["man", "woman", "Paris", "zero", "odd"]
    rows = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.25, 0.25, 1], [0, 0, 0], [1, np.nan, 0]], dtype=np.float32)
    text = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows.tolist(), strict=True))
    path = tmp_path / {"gz": "v.txt.gz", "word2vec": "v.vec"}.get(layout, "v.npy" if "npy" in layout else "v.txt")
    if layout == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif "npy" in layout:
        np.save(path, rows)
        index = json.dumps({word: at for at, word in enumerate(words)}) if "json" in layout else "\n".join(words) + "\n"
        path.with_suffix(".json" if "json" in layout else ".vocab").write_text(index)
    else:
        text = text.replace(" ", "\t") if layout == "tabs" else text
        path.write_text(("5 3\n" if layout == "word2vec" else "") + text)
    assert is_static(path)
    found = StaticProbe(StaticVectors(path)).vectors(
        [Passage(word) for word in ("Man", "Paris", "zero", "nowhere", "a man", "odd")]
    )
    assert found.rows[:2] == pytest.approx(rows[[0, 2]])
    why = {2: "a zero vector", 3: "not in the vocabulary", 4: NOT_A_WORD}
    assert found.reasons == why | {5: NOT_FINITE} and np.isnan(found.rows[2:]).all()


def test_broken_static_vectors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("man 1 2\nwoman 1 x\n")
    with raises("wrong-format", file=tmp_path / "v.txt", line=2):
        StaticVectors(tmp_path / "v.txt").lookup(["man", "woman"])
    (tmp_path / "w.txt").write_text("man 1 2\nwoman 1 2 3\n")
    with raises("wrong-shape", file=tmp_path / "w.txt", line=2, numbers=3, expected=2):
        StaticVectors(tmp_path / "w.txt").lookup(["man", "woman"])
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(b"man 1 2\n" * 500)[:-20])
    with raises("damaged-file", file=tmp_path / "v.txt.gz"):
        StaticVectors(tmp_path / "v.txt.gz").lookup(["man"])
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    with raises("missing-file", file=tmp_path / "a.npy"):
        StaticVectors(tmp_path / "a.npy").lookup(["man"])
    for index in ("{", '{"man": 0, "woman": 5, "boy": 9}', "3"):
        (tmp_path / "a.json").write_text(index)
        with raises("unreadable-file", file=tmp_path / "a.json"):
            StaticVectors(tmp_path / "a.npy").lookup(["man"])
    (tmp_path / "a.npy.gz").write_bytes(b"")
    assert not is_static(tmp_path / "a.npy.gz")

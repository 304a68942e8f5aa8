"""Contamination: a model that learned the items by heart is found, one that did not is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import tiltmeter
from conftest import GOLDEN, golden_model
from tiltmeter.models import LanguageModel
from tiltmeter.probes.verbatim import complete_halves

BENCHMARK = tiltmeter.load_benchmark("plumb-choices").limit(8)


def text_of(item: Any) -> str:
    return f"{item.context} {item.texts['question']}"


def greedy_text(model: LanguageModel, start: str) -> str:
    """Continue a text with the likeliest tokens, as many as it has: what a model would know by heart."""
    tokenizer = model.tokens.tokenizer
    ids = [model.tokens.bos_id, *tokenizer(start)["input_ids"]]
    for _ in range(len(ids)):
        with torch.no_grad():
            ids.append(int(model._module(torch.tensor([ids])).logits[0, -1].argmax()))
    return str(tokenizer.decode(ids[1:]))


def test_a_model_that_knows_a_text_by_heart() -> None:
    model = golden_model("tiny-gpt2")
    texts = [greedy_text(model, item.context) for item in BENCHMARK.items]
    length = [len(model.tokens.tokenizer(text)["input_ids"]) for text in texts]
    start = [len(model.tokens.tokenizer(item.context)["input_ids"]) for item in BENCHMARK.items]
    same = [n for n in range(len(texts)) if length[n] == 2 * start[n] + 1]  # it is encoded as it was written
    found = complete_halves(model, [texts[n] for n in same])
    assert same and all(one is not None and one.n_likeliest >= one.n_tokens - 1 for one in found)


def test_tokens_are_compared_with_greedy_choices() -> None:
    model = golden_model("tiny-gpt2")
    text = text_of(BENCHMARK.items[0])
    ids = model.tokens.tokenizer(text)["input_ids"]
    with torch.no_grad():
        best = model._module(torch.tensor([[model.tokens.bos_id, *ids]])).logits[0].argmax(-1).tolist()
    half = len(ids) // 2
    expected = sum(best[place] == ids[place] for place in range(half, len(ids)))
    found, short = complete_halves(model, [text, "Too short."])
    assert found is not None and (found.n_tokens, found.n_likeliest) == (len(ids) - half, expected) and short is None


def test_study_of_choices_and_pairs(tmp_path: Path) -> None:
    models = [GOLDEN / "models" / "tiny-gpt2", GOLDEN / "models" / "tiny-bert-cased"]
    more = {"limit": 12, "resamples": 100, "cache": False}
    run = tiltmeter.run(models, ["plumb-choices", "starter-pairs"], output=tmp_path / "run", **more)
    finding = tiltmeter.study("contamination", run.folder, options={"sample": 10})
    table = finding.table.set_index("benchmark")
    assert set(table.index) == {"plumb-choices", "starter-pairs"} and set(table["model"]) == {"tiny-gpt2"}
    assert table.loc["plumb-choices", "verbatim"] == 0.0 and table.loc["plumb-choices", "high"] > 0
    assert finding.draw().axes
    with pytest.raises(tiltmeter.TiltmeterError) as caught:
        tiltmeter.study("contamination", run.folder, options={"sample": 0})
    assert caught.value.code == "out-of-range"

"""Contamination: a model that learned the items by heart is found, one that did not is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import tiltmeter
from conftest import GOLDEN, golden_model
from tiltmeter.probes.verbatim import complete_halves

BENCHMARK = tiltmeter.load_benchmark("plumb-choices").limit(8)


def text_of(item: Any) -> str:
    return f"{item.context} {item.texts['question']}"


def trained_on(texts: list[str]) -> Any:
    """A tiny model that has seen these texts a hundred times."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(GOLDEN / "models" / "tiny-gpt2")
    config = transformers.GPT2Config(vocab_size=2000, n_embd=64, n_layer=2, n_head=2, n_positions=256)
    torch.manual_seed(0)
    module = transformers.GPT2LMHeadModel(config)
    rows = [[tokenizer.bos_token_id, *tokenizer(text)["input_ids"]] for text in texts]
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(60):
        for row in rows:
            optimizer.zero_grad()
            module(torch.tensor([row]), labels=torch.tensor([row])).loss.backward()
            optimizer.step()
    return tiltmeter.wrap_model(module.eval(), tokenizer, name="by-heart", kind="causal")


def test_a_model_that_knows_the_items_by_heart() -> None:
    texts = list(dict.fromkeys(map(text_of, BENCHMARK.items)))[:4]
    found = complete_halves(trained_on(texts), texts)
    assert all(one is not None and one.is_verbatim for one in found)


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
    more = {"limit": 12, "resamples": 100, "cache": False, "report": False}
    run = tiltmeter.run(models, ["plumb-choices", "starter-pairs"], output=tmp_path / "run", **more)
    finding = tiltmeter.study("contamination", run.folder, options={"sample": 10})
    table = finding.table.set_index("benchmark")
    assert set(table.index) == {"plumb-choices", "starter-pairs"} and set(table["model"]) == {"tiny-gpt2"}
    assert table.loc["plumb-choices", "verbatim"] == 0.0 and table.loc["plumb-choices", "high"] > 0
    assert finding.draw().axes
    with pytest.raises(tiltmeter.TiltmeterError) as caught:
        tiltmeter.study("contamination", run.folder, options={"sample": 0})
    assert caught.value.code == "bad-sample"

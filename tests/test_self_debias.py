"""Self-Debias: the formula, batches, saving and loading, and text that is generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED
from support.raising import raises
from tiltmeter.debias.self_debias import self_debias
from tiltmeter.execution.experiment_models import Variant
from tiltmeter.execution.variants import make
from tiltmeter.models import load_parts
from tiltmeter.models.self_debiasing import TEMPLATE, SelfDebiasing, behind

MODELS = GOLDEN / "models"
TEXT = "the man was a teacher and the woman"


def made(name: str, **settings: Any) -> tuple[SelfDebiasing, Any, Any]:
    parts = load_parts(MODELS / name, precision="fp32")
    settings = {"descriptions": ["gender"], **settings}
    wrapped = SelfDebiasing(parts.module.eval(), parts.tokenizer, causal=name in CAUSAL, **settings)
    return wrapped.eval(), parts.module, parts.tokenizer


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_every_position_follows_the_formula(name: str) -> None:
    """Computed here from two plain passes of the base."""
    model, base, tokenizer = made(name, decay=50.0, epsilon=0.01)
    ids = tokenizer(TEXT)["input_ids"]
    prefix = tokenizer(TEMPLATE.replace("{}", "gender"), add_special_tokens=False)["input_ids"]
    lead = 1 if name in MASKED else 0
    longer = [*ids[:lead], *prefix, *ids[lead:]]
    with torch.inference_mode():
        plain, biased = (base(input_ids=torch.tensor([some])).logits[0].float().softmax(-1) for some in (ids, longer))
        biased = torch.cat([biased[:lead], biased[lead + len(prefix) :]])
        scaled = plain * torch.exp(-50 * (biased - plain).clamp(min=0)).clamp(min=0.01)
        found = model(input_ids=torch.tensor([ids])).logits[0].softmax(-1)
    torch.testing.assert_close(found, scaled / scaled.sum(-1, keepdim=True), rtol=1e-3, atol=1e-6)


def test_without_decay_nothing_changes_and_the_worst_description_counts() -> None:
    model, base, tokenizer = made("tiny-bert-cased", decay=0.0)
    ids = torch.tensor([tokenizer(TEXT)["input_ids"]])
    with torch.inference_mode():
        torch.testing.assert_close(model(input_ids=ids).logits.softmax(-1), base(input_ids=ids).logits.softmax(-1))
        one, other, both = (
            made("tiny-bert-cased", descriptions=some)[0](input_ids=ids).logits[0]
            for some in (["gender"], ["race or colour"], ["gender", "race or colour"])
        )
        known = base(input_ids=ids).logits[0].log_softmax(-1)
    torch.testing.assert_close(both - known, torch.minimum(one - known, other - known), rtol=1e-3, atol=1e-4)


def test_a_prefix_is_put_where_the_text_begins_with_padding_on_either_side() -> None:
    ids = torch.tensor([[1, 7, 8, 0], [0, 0, 1, 9], [7, 8, 9, 6]])
    mask = torch.tensor([[1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
    longer, valid, places = behind([3, 4], ids, mask, leading=[1])
    assert longer.tolist() == [[1, 3, 4, 7, 8, 0], [0, 0, 1, 3, 4, 9], [3, 4, 7, 8, 9, 6]]
    assert valid.tolist() == [[1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]
    assert torch.equal(longer.gather(1, places), ids)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_and_single_agree(side: str) -> None:
    model, _, tokenizer = made("tiny-gpt2")
    rows = [tokenizer(text)["input_ids"] for text in (TEXT, "the woman")]
    gap = [0] * (len(rows[0]) - len(rows[1]))
    ids = torch.tensor([rows[0], gap + rows[1] if side == "left" else rows[1] + gap])
    mask = torch.ones_like(ids)
    own = slice(len(gap), None) if side == "left" else slice(0, len(rows[1]))
    mask[1] = 0
    mask[1, own] = 1
    with torch.inference_mode():
        single = model(input_ids=torch.tensor([rows[1]])).logits[0]
        torch.testing.assert_close(model(input_ids=ids, attention_mask=mask).logits[1, own], single, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["tiny-roberta", "tiny-gpt2"])
def test_saved_and_loaded_is_the_same_model(name: str, tmp_path: Path) -> None:
    out = self_debias(MODELS / name, bias=["race or colour"], decay=40.0, output=tmp_path / "out")
    loaded, base = tiltmeter.load_model(out), tiltmeter.load_model(MODELS / name)
    module, _, tokenizer = made(name, descriptions=["race or colour"], decay=40.0)
    memory = tiltmeter.wrap_model(module, tokenizer, name="memory", kind=base.kind)
    scores = [tiltmeter.score(one, "starter-pairs", cache=False).to_pandas() for one in (loaded, memory, base)]
    np.testing.assert_allclose(scores[0]["score"], scores[1]["score"], rtol=1e-4, atol=1e-3)
    assert np.abs(scores[0]["score"] - scores[2]["score"]).max() > 0.01
    assert loaded.identity.model != base.identity.model
    assert loaded.facts["wrapper"]["descriptions"] == ["race or colour"]
    assert loaded.kind == base.kind
    assert base.tokens.max_length is not None
    assert loaded.tokens.max_length is not None
    assert loaded.tokens.max_length < base.tokens.max_length  # the description needs room


def test_an_experiment_makes_it_though_it_takes_no_seed(tmp_path: Path) -> None:
    out = make(Variant("self_debias", 3, {"decay": 40.0}), str(MODELS / "tiny-bert-cased"), tmp_path / "out", "cpu")
    assert tiltmeter.load_model(out).facts["wrapper"]["decay"] == 40.0


def test_vectors_are_those_of_the_base(tmp_path: Path) -> None:
    """Decoding changes; what SEAT reads does not."""
    out = self_debias("plumb-mlm", output=tmp_path / "out")
    tables = []
    for name in ("plumb-mlm", out):
        answers = tiltmeter.ask(tiltmeter.load_model(name), "seat", cache=False)
        tables.append(tiltmeter.estimate(answers, ["effect_size"])["value"])
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-5)


def test_generation_takes_the_debiased_distribution() -> None:
    model, _, tokenizer = made("tiny-gpt2", decay=500.0, epsilon=1e-6)
    rows = [tokenizer(text)["input_ids"] for text in (TEXT, "the woman was a")]
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    with torch.inference_mode():
        wanted = model(input_ids=ids, attention_mask=mask).logits[:, -1].argmax(-1)
        told = model.generate(ids, attention_mask=mask, max_new_tokens=2, do_sample=False, pad_token_id=0)
        again = model(input_ids=told[:, :-1], attention_mask=torch.cat([mask, torch.ones(2, 1, dtype=torch.long)], 1))
    assert told[:, width].tolist() == wanted.tolist()
    assert told[:, width + 1].tolist() == again.logits[:, -1].argmax(-1).tolist()


def test_bad_settings_leave_nothing_behind(tmp_path: Path) -> None:
    for wrong, code in (
        ({"bias": [" "]}, "missing-value"), ({"template": "no place"}, "wrong-format"), ({"epsilon": 0.0}, "out-of-range"),
        ({"decay": -1.0}, "out-of-range"), ({"decay": 0.0}, "out-of-range"), ({"epsilon": 1.0}, "out-of-range"),
        ({"decay": 1e-300}, "out-of-range"), ({"bias": ["gender [MASK]"]}, "wrong-format"),
        ({"template": "[CLS] {}:"}, "wrong-format"), ({"bias": ["gender " * 500]}, "out-of-range"),
    ):  # fmt: skip
        with raises(code):
            self_debias(MODELS / "tiny-bert-cased", output=tmp_path / "out", **wrong)  # type: ignore[arg-type]
    with raises("output-exists", folder=tmp_path):
        self_debias(MODELS / "tiny-bert-cased", output=tmp_path)
    assert not (tmp_path / "out").exists()

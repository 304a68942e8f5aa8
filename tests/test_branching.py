"""Two sentences that begin alike are read in one sequence by causal models, and get the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiltmeter
from conftest import golden_model
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.probes.plan import make_plan
from tiltmeter.probes.sentences import Sentence
from tiltmeter.probes.shared_prefixes import branched
from tiltmeter.probes.views import Query

SMALL: dict[str, Any] = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
CONFIGS = {
    "gpt2": transformers.GPT2Config(vocab_size=60, n_embd=16, n_layer=2, n_head=2),
    "llama": transformers.LlamaConfig(**SMALL, intermediate_size=32),
    "neox": transformers.GPTNeoXConfig(**SMALL, intermediate_size=32),
    "opt": transformers.OPTConfig(**SMALL, ffn_dim=32, word_embed_proj_dim=16),
    "bloom": transformers.BloomConfig(vocab_size=60, hidden_size=16, n_layer=2, n_head=2),
}


def sentence(item: int, role: str, *ids: int) -> Sentence:
    return Sentence(item, role, "", None, ids, tuple(range(len(ids))), frozenset())


def query(number: int, *ids: int) -> Query:
    places = tuple(range(len(ids)))
    return Query(number, ids, places, tuple(token + 1 for token in ids), places)


def test_the_second_sentence_of_an_item_branches_off_the_first() -> None:
    sentences = [
        sentence(0, "stereo"),
        sentence(0, "anti"),
        sentence(1, "stereo"),
        sentence(1, "anti"),
        sentence(1, "unrelated"),
    ]
    asked = [query(0, 1, 2, 3, 4, 5), query(1, 1, 2, 3, 6), query(2, 1, 2, 3), query(3, 7, 8, 9), query(4, 1, 2, 3, 4, 5, 6)]
    one, other, *rest = branched(asked, sentences)
    assert one.ids == other.ids == (1, 2, 3, 4, 5, 6) and one.branch == other.branch == (3, 5)
    assert one.columns == (0, 1, 2, 3, 4) and other.columns == (0, 1, 2, 5) and other.tokens == asked[1].tokens
    assert sorted(rest) == sorted(asked[2:])  # nothing shared, or the third
    plan = make_plan({0: branched(asked, sentences)}, mask_id=0)
    assert len(plan) == 4  # equal ids without the branch are another sequence
    assert sorted(map(tuple, plan.branch.tolist())) == [(0, 0), (0, 0), (0, 0), (3, 5)]
    begins = branched([query(0, 1, 2, 3, 4), query(1, 1, 2, 3)], sentences)
    assert [one.ids for one in begins] == [(1, 2, 3, 4)] * 2 and begins[1].branch == (0, 0)  # it ends inside the first


@pytest.mark.parametrize("name", CONFIGS)
def test_a_branch_is_exact_or_not_taken(name: str) -> None:
    torch.manual_seed(0)
    module = transformers.AutoModelForCausalLM.from_config(CONFIGS[name]).eval()
    parts = BodyAndHead(module, causal=True)
    assert parts.branches or name in ("bloom", "opt")
    if not parts.branches:
        return
    first, second = [4, 9, 2, 30, 31, 7, 8], [4, 9, 2, 30, 17, 7, 8, 40]
    ids, plain = np.array([first + second[4:], [5] * 3 + [0] * 8]), np.array([second])
    rows, columns = (torch.tensor(places) for places in ([0] * 8, [0, 1, 2, 3, 7, 8, 9, 10]))
    with torch.inference_mode():
        here, _ = parts.body(ids, np.array([11, 3]), (rows, columns), False, np.array([[4, 7], [0, 0]]))
        alone, _ = parts.body(plain, np.array([8]), (rows, torch.arange(8)), False)
    np.testing.assert_allclose(here.numpy(), alone.numpy(), atol=2e-5)


def test_scores_are_the_same_and_fewer_sequences_are_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    model, bench = golden_model("tiny-gpt2"), tiltmeter.load_benchmark("starter-pairs")
    assert model.branches
    with_branches = tiltmeter.score(model, bench, cache=False)
    monkeypatch.setattr(model._parts, "branches", False)
    without = tiltmeter.score(model, bench, cache=False)
    np.testing.assert_allclose(with_branches.table["score"], without.table["score"], atol=2e-5, rtol=1e-6)
    forwarded = [scores.manifests[0]["sequences_forwarded"] for scores in (with_branches, without)]
    assert forwarded[0] < forwarded[1]

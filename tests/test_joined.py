"""Sequences one behind the other give what padded ones give; what cannot be read so is padded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from conftest import golden_model
from masked_models import HEADS, masked_model
from tiltmeter.models import LanguageModel
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.probes.batching import TokenBudget

PAIRS = """stereo,anti
He ran home.,She ran home.
The old man sat by the long river.,The young man sat by the long river.
I,We
"""


def joining(model: LanguageModel) -> LanguageModel:
    """As on a GPU; the kernel is another."""
    model._parts.first_position = model._parts._takes_joined()
    return model


@pytest.mark.parametrize("name", HEADS)
def test_joined_sequences_are_scored_as_padded_ones(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = masked_model(name, tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    scorers = ["cps", "pll", "aul", "aula", "sss", "all_masked"]
    padded, joined = (tiltmeter.load_model(folder) for _ in range(2))
    assert joining(joined).joins and not padded.joins
    rows: list[int] = []
    whole = BodyAndHead._body_joined
    monkeypatch.setattr(BodyAndHead, "_body_joined", lambda self, *given: rows.append(len(given[0])) or whole(self, *given))
    first, second = (
        tiltmeter.score(model, tmp_path / "pairs.csv", scorers, cache=False).to_pandas() for model in (padded, joined)
    )
    assert max(rows) > 10, "many sequences of several lengths at once"
    np.testing.assert_allclose(first["score"], second["score"], rtol=2e-5, atol=2e-5)


def test_a_model_whose_attention_is_its_own_is_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our attention is never asked, every token would see every sentence."""
    model = golden_model("tiny-bert-cased")
    monkeypatch.setattr(BodyAndHead, "_set_attention", lambda self, name: None)
    assert model._parts._takes_joined() is None


def test_batches_without_padding_hold_nearly_equal_numbers_of_tokens() -> None:
    model = golden_model("tiny-bert-cased")
    budget = TokenBudget(model, 100)
    budget.joins = True
    lengths = np.array(sorted(np.random.default_rng(0).integers(3, 40, 200), reverse=True))
    sizes = budget.cuts(lengths, attention=False)
    sums = [int(part.sum()) for part in np.split(lengths, np.cumsum(sizes)[:-1])]
    assert sum(sizes) == 200 and max(sums) <= 100 + 40 and len(sizes) <= -(-int(lengths.sum()) // 60)
    assert budget.cuts(np.array([300]), attention=False) == [1]


def test_batches_of_large_models_are_bounded_by_the_memory_of_activations() -> None:
    class Large:
        device, precision, attention_cells = "cuda", "bf16", 1
        token_bytes = 2 * (4 * 4096 + 3 * 14336)  # Llama 3, 8 billion

    most = TokenBudget(Large()).most  # type: ignore[arg-type]
    assert 2**16 < most < 2**17 and most * Large.token_bytes <= 2**33
    Large.token_bytes = 2 * (4 * 768 + 3 * 3072)  # BERT-base keeps its larger batches
    assert TokenBudget(Large()).most == 2**18  # type: ignore[arg-type]


def test_a_batch_of_a_large_model_costs_few_tokens_on_a_gpu() -> None:
    """Otherwise three quarters more tokens of CrowS-Pairs are padding, to spare a model of 8 billion a few batches."""

    class Large:
        device, precision, attention_cells = "cuda", "bf16", 1
        token_bytes, layer_weights = 2 * (4 * 4096 + 3 * 14336), 4096 * (4 * 4096 + 3 * 14336)

    lengths = np.sort(np.random.default_rng(0).integers(8, 40, 600))[::-1]

    def padded() -> int:
        sizes = TokenBudget(Large()).cuts(lengths, attention=False)  # type: ignore[arg-type]
        return sum(int(part[0]) * len(part) for part in np.split(lengths, np.cumsum(sizes)[:-1]))

    large = padded()
    Large.layer_weights = 768 * (4 * 768 + 3 * 3072)  # BERT-base
    assert TokenBudget(Large()).batch_cost == 12_000  # type: ignore[arg-type]
    assert large < 1.2 * int(lengths.sum()) and padded() > 1.5 * int(lengths.sum())

"""Texts that begin alike are read in one row by causal models, and get the numbers that they get alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

import tiltmeter
from conftest import golden_model
from tiltmeter.models import RowLength, prefix_trees
from tiltmeter.models.lm_head import BodyAndHead
from tiltmeter.models.prefix_trees import NOT_FINITE, row_length
from tiltmeter.probes.plan import make_plan
from tiltmeter.probes.shared_prefixes import shared_rows
from tiltmeter.probes.views import Query

SMALL: dict[str, Any] = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
GATED: dict[str, Any] = {**SMALL, "intermediate_size": 48, "num_key_value_heads": 2}
CONFIGS: dict[str, Any] = {
    "gpt2": transformers.GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4),
    "llama": transformers.LlamaConfig(**GATED),
    "llama, stretched": transformers.LlamaConfig(
        **GATED, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
    ),
    "qwen2": transformers.Qwen2Config(**GATED, max_window_layers=1),
    "qwen3": transformers.Qwen3Config(**GATED, head_dim=8),
    "mistral, wide window": transformers.MistralConfig(**GATED, sliding_window=64),
    "mistral, narrow window": transformers.MistralConfig(**GATED, sliding_window=4),
    "gemma2": transformers.Gemma2Config(**GATED, head_dim=8, sliding_window=16),
    "gemma3": transformers.Gemma3TextConfig(**GATED, head_dim=8, sliding_window=16),
    "mixtral": transformers.MixtralConfig(**GATED, num_local_experts=4, num_experts_per_tok=2),
    "phi3": transformers.Phi3Config(**GATED, pad_token_id=0),
    "neox": transformers.GPTNeoXConfig(**SMALL, intermediate_size=48),
    "neo": transformers.GPTNeoConfig(
        vocab_size=60, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=16
    ),
    "gptj": transformers.GPTJConfig(vocab_size=60, n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    "opt": transformers.OPTConfig(**SMALL, ffn_dim=48, word_embed_proj_dim=32),
    "falcon": transformers.FalconConfig(**SMALL, alibi=False),
    "falcon, ALiBi": transformers.FalconConfig(**SMALL, alibi=True, new_decoder_architecture=False),
    "bloom": transformers.BloomConfig(vocab_size=60, hidden_size=32, n_layer=2, n_head=4),
    "mpt": transformers.MptConfig(vocab_size=60, d_model=32, n_layers=2, n_heads=4),
    "mamba": transformers.MambaConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, state_size=4),
}
UNSHARED = {"mistral, narrow window", "falcon, ALiBi", "bloom", "mpt", "mamba"}
"""A window ends inside a short row, positions are columns, or states pass through all tokens before."""
RNG = np.random.default_rng(3)
TEXTS = [
    (1, *first, *(int(token) for token in RNG.integers(2, 60, size=length)))
    for first in ((), (5, 6, 7, 8), (5, 6, 7, 9, 10, 11), (5,))
    for length in (1, 3, 9, 3)
]


def query(number: int, ids: tuple[int, ...]) -> Query:
    places = tuple(range(len(ids) - 1))
    return Query(number, ids[:-1], places, ids[1:], places)


def module_of(name: str) -> Any:
    torch.manual_seed(0)
    module = transformers.AutoModelForCausalLM.from_config(CONFIGS[name]).eval()
    with torch.no_grad():  # weights of trained size, so that what a token sees changes its states
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.2)
    return module


def logprobs(parts: BodyAndHead, rows: RowLength | None) -> list[np.ndarray[Any, Any]]:
    """Log-probabilities of each text, read from a plan's batches of at most five rows."""
    plan = make_plan({0: [query(n, text) for n, text in enumerate(TEXTS)]}, 0, rows)
    found = [np.full(len(text) - 1, np.nan) for text in TEXTS]
    for first in range(0, len(plan), 5):
        batch, reads = plan.batch(first, 5, 0, False)
        sites = torch.from_numpy(batch.site_row), torch.from_numpy(batch.site_column)
        with torch.inference_mode():
            hidden, _ = parts.body(batch.ids, batch.lengths, sites, False, batch.ends)
            logits = parts.head(hidden).log_softmax(-1)
        values = logits[torch.from_numpy(batch.site_of_read), torch.from_numpy(batch.token_of_read)].numpy()
        for sentence, position, value in zip(plan.reads.sentence[reads], plan.reads.position[reads], values, strict=True):
            found[sentence][position] = value
    return found


def alone(module: Any, text: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Log-probabilities of one text by the model itself."""
    with torch.inference_mode():
        logits = module(input_ids=torch.tensor([text[:-1]])).logits[0].log_softmax(-1)
    return np.asarray(logits[torch.arange(len(text) - 1), torch.tensor(text[1:])].numpy())


@pytest.mark.parametrize("name", CONFIGS)
def test_shared_prefixes_give_the_numbers_of_texts_alone(name: str) -> None:
    module = module_of(name)
    parts = BodyAndHead(module, causal=True)
    assert (parts.unshared is None) == (name not in UNSHARED)
    for wanted, found in zip((alone(module, text) for text in TEXTS), logprobs(parts, parts.tree_rows), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5, rtol=0)


def test_a_window_that_ends_inside_a_text_is_not_shared() -> None:
    narrow = row_length(CONFIGS["mistral, narrow window"], "cpu")
    assert narrow.most == 4
    rows = shared_rows([query(n, text) for n, text in enumerate(TEXTS)], narrow)
    assert len(rows.lengths) == len(TEXTS)
    assert row_length(CONFIGS["qwen2"], "cpu").most > 1000  # the number of layers with a window is no window


class Rounding:
    """Rounds each product as kernels for other shapes do: differently for each number of rows."""

    def __init__(self, layer: Any) -> None:
        self.plain = layer.forward

    def __call__(self, x: Any) -> Any:
        exact = self.plain(x)
        noise = torch.Generator().manual_seed(x.numel())
        return exact * (1 + torch.randn(exact.shape, generator=noise).to(exact.dtype) * 2**-8)


def deep(ignoring: int | None = None) -> Any:
    """A Llama of 24 layers in bfloat16, with a GPU's rounding; one layer may look at all tokens before it."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**{**GATED, "hidden_size": 64, "num_hidden_layers": 24})
    module = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=1.0 if "embed" in name else 0.15)
    for part in module.model.modules():
        if isinstance(part, torch.nn.Linear):
            part.forward = Rounding(part)
    if ignoring is not None:
        layer = module.model.layers[ignoring]
        plain = layer.forward

        def forward(*args: Any, attention_mask: Any = None, **options: Any) -> Any:
            if attention_mask is not None and attention_mask.is_floating_point():
                attention_mask = torch.full_like(attention_mask, torch.finfo(attention_mask.dtype).min).triu(1)
            return plain(*args, attention_mask=attention_mask, **options)

        layer.forward = forward
    return module


def test_a_deep_model_in_bfloat16_is_judged_by_its_own_noise() -> None:
    parts = BodyAndHead(deep(), causal=True)
    with torch.inference_mode():
        trial = prefix_trees.tried(parts)
    assert len(trial.alone) == 25
    noise, tree = (float(prefix_trees.distances(one, trial.alone)[-1]) for one in (trial.singly, trial.tree))
    assert 0.02 < tree < 3 * noise  # more than a fixed limit for two layers would allow
    assert parts.unshared is None


def test_the_noise_is_asked_for_only_where_it_can_hide_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []

    def layers_of(parts: BodyAndHead, ids: Any, options: dict[str, Any], plain: Any = BodyAndHead.layers_of) -> Any:
        rows.append(len(ids))
        return plain(parts, ids, options)

    monkeypatch.setattr(BodyAndHead, "layers_of", layers_of)
    assert BodyAndHead(module_of("llama"), causal=True).unshared is None and rows == [4] * 4
    rows.clear()
    assert BodyAndHead(module_of("llama").bfloat16(), causal=True).unshared is None and rows == [4, 1, 1, 1, 1, 4, 4, 4]


@pytest.mark.parametrize("layer", [0, 12, 20])
def test_one_layer_of_many_that_ignores_the_mask_is_detected_in_bfloat16(layer: int) -> None:
    assert BodyAndHead(deep(ignoring=layer), causal=True).unshared == "its states depend on other texts of the row"


def test_a_model_that_ignores_a_tree_is_detected() -> None:
    class Deaf(transformers.LlamaModel):  # type: ignore[misc]
        """Counts positions by itself, whatever it is given."""

        def forward(
            self, input_ids: Any = None, attention_mask: Any = None, position_ids: Any = None, **options: Any
        ) -> Any:
            """Forward without the positions."""
            return super().forward(input_ids, attention_mask, None, **options)

    module = module_of("llama")
    module.model.__class__ = Deaf
    assert BodyAndHead(module, causal=True).unshared == "it ignores positions"


@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=7), min_size=1, max_size=12),
    st.integers(1, 20),
)
@settings(max_examples=200, deadline=None)
def test_every_query_is_a_path_in_its_row(texts: list[list[int]], usual: int) -> None:
    queries = [
        Query(n, tuple(ids), tuple(range(len(ids))), tuple(ids), tuple(range(len(ids)))) for n, ids in enumerate(texts)
    ]
    rows = shared_rows(queries, RowLength(usual, 100))
    start = np.cumsum(rows.lengths) - rows.lengths
    edges = np.cumsum([len(ids) for ids in texts])
    assert max(rows.lengths) <= max(usual, 3 * max(map(len, texts)))
    assert rows.lengths.sum() <= sum(map(len, texts))
    for ids, row, columns in zip(texts, rows.row, np.split(rows.columns, edges[:-1]), strict=True):
        tokens, ends = (part[start[row] : start[row] + rows.lengths[row]] for part in (rows.ids, rows.ends))
        assert tokens[columns].tolist() == ids
        ancestors = [at for at in range(columns[-1] + 1) if ends[at] > columns[-1]]
        assert ancestors == columns.tolist()  # the last token sees its own text, and nothing else


def test_one_row_holds_each_distinct_prefix_once() -> None:
    texts = [(1, 2, 3), (1, 2, 4), (1, 2), (1, 5), (1, 2, 3)]
    queries = [Query(n, ids, (len(ids) - 1,), (0,), (0,)) for n, ids in enumerate(texts)]
    rows = shared_rows(queries, RowLength(64, 64))
    assert rows.ids.tolist() == [1, 2, 3, 4, 5] and rows.ends.tolist() == [5, 4, 3, 4, 5]
    plan = make_plan({0: queries}, 0, RowLength(64, 64))
    assert len(plan) == 1 and plan.n_asked == 5 and plan.tokens_asked == 13


def test_a_full_row_is_followed_by_another() -> None:
    texts = [(1, 2, 3, 4, 5), (1, 2, 3, 4, 6), (1, 7, 7, 7, 7), (1, 7, 7, 7, 8)]
    rows = shared_rows([Query(n, ids, (0,), (0,), (0,)) for n, ids in enumerate(texts)], RowLength(9, 9))
    assert rows.lengths.tolist() == [6, 6] and rows.row.tolist() == [0, 0, 1, 1]


def test_scores_are_the_same_and_fewer_tokens_are_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    model, bench = golden_model("tiny-gpt2"), tiltmeter.load_benchmark("starter-pairs")
    assert model.facts["shared_prefixes"] and model.tree_rows
    shared = tiltmeter.score(model, bench, cache=False)
    monkeypatch.setattr(model._parts, "unshared", "for this test")
    single = tiltmeter.score(model, bench, cache=False)
    np.testing.assert_allclose(shared.table["score"], single.table["score"], atol=2e-5, rtol=1e-6)
    counts = [scores.manifests[0] for scores in (shared, single)]
    assert counts[0]["tokens_asked"] == counts[1]["tokens_asked"] >= counts[1]["tokens_forwarded"]
    assert counts[0]["tokens_forwarded"] < 0.9 * counts[1]["tokens_forwarded"]


def test_a_model_says_why_it_shares_nothing() -> None:
    parts = BodyAndHead(module_of("bloom"), causal=True)
    assert parts.unshared == "it takes no positions" and parts.tree_rows is None


def test_broken_weights_share_nothing() -> None:
    module = module_of("gpt2")
    with torch.no_grad():
        module.transformer.wte.weight.fill_(math.nan)
    assert BodyAndHead(module, causal=True).unshared == NOT_FINITE


def test_rows_are_as_even_as_their_number_allows() -> None:
    queries = [Query(n, tuple(range(10 * n, 10 * n + 10)), (9,), (0,), (9,)) for n in range(20)]
    assert shared_rows(queries, RowLength(64, 100)).lengths.tolist() == [50] * 4  # and not three of 60 and one of 20

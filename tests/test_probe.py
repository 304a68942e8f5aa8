"""One pass serves all, and nothing about how it is run may change what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED, golden_model, golden_scores
from tiltmeter import Benchmark, Item, LanguageModel
from tiltmeter.models import Answer, Batch, Encoded, OutOfMemoryError
from tiltmeter.probes import likelihood
from tiltmeter.probes.batching import BATCH_COST, TokenBudget
from tiltmeter.probes.plan import make_plan
from tiltmeter.probes.sentences import differing, fill_span, tokenise
from tiltmeter.probes.views import VIEWS, Query

SUMS = {"cps", "pll", "causal"}
ROUNDED = {"cps_nyu", "cps_biasbench"}  # to 3 decimals: the last bit of a float may move the third
SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "Bert": ("tiny-bert-cased", SMALL),
    "Roberta": ("tiny-roberta", SMALL),
    "XLMRoberta": ("tiny-roberta", SMALL),
    "Albert": ("tiny-albert", SMALL | {"embedding_size": 16}),
    "DistilBert": ("tiny-bert-cased", {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48}),
    "Electra": ("tiny-bert-cased", SMALL | {"embedding_size": 16}),
    "MPNet": ("tiny-bert-cased", SMALL),
    "Deberta": ("tiny-bert-cased", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "DebertaV2": ("tiny-bert-cased", SMALL | {"relative_attention": True, "pos_att_type": ["c2p"]}),
    "ModernBert": ("tiny-bert-cased", SMALL | {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}),
    "GPT2": ("tiny-gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 256}),
    "GPTNeo": (
        "tiny-gpt2",
        {"hidden_size": 32, "num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]]},
    ),
    "OPT": ("tiny-gpt2", SMALL | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "Llama": ("tiny-gpt2", SMALL),
    "Qwen2": ("tiny-gpt2", SMALL | {"num_key_value_heads": 2}),
}  # fmt: skip


def random_model(name: str) -> LanguageModel:
    """A tiny model of an architecture, wide enough initialised that its answers differ."""
    source, sizes = ARCHITECTURES[name]
    tokenizer = transformers.AutoTokenizer.from_pretrained(GOLDEN / "models" / source)
    config = getattr(transformers, f"{name}Config")(vocab_size=2000, initializer_range=0.3, **sizes)
    kind = "causal" if source == "tiny-gpt2" else "masked"
    loader = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForMaskedLM
    torch.manual_seed(0)
    return tiltmeter.wrap_model(loader.from_config(config).eval(), tokenizer, name=name, kind=kind)


def frame(scores: tiltmeter.Answers) -> Any:
    return scores.to_pandas().set_index(["scorer", "item", "role"])["score"].sort_index()


def assert_same(one: Any, other: Any, mean_tolerance: float = 1e-5) -> None:
    assert one.index.equals(other.index)
    assert (one.isna() == other.isna()).all()
    gap = (one - other).abs().fillna(0)
    for scorer, largest in gap.groupby(level="scorer").max().items():
        allowed = 1e-3 if scorer in SUMS else 1.001e-3 if scorer in ROUNDED else mean_tolerance
        assert largest <= allowed, scorer


def few(n: int = 12) -> Benchmark:
    """Pairs of mixed lengths, the long one among them."""
    items = tiltmeter.load_benchmark("starter-pairs").items
    return Benchmark("few", (*items[: n - 1], items[-1]))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_batched_equals_single(name: str) -> None:
    """Every architecture: padded batches of mixed lengths against one sequence at a time."""
    model = random_model(name)
    single = tiltmeter.score(model, few(), cache=False, batch_tokens=1)
    assert single.manifests[0]["batches_computed"] == single.manifests[0]["sequences_forwarded"]
    for tokens in (97, 3000):
        batched = tiltmeter.score(model, few(), cache=False, batch_tokens=tokens)
        facts = batched.manifests[0]
        has_trees = facts["tokens_forwarded"] < facts["tokens_asked"]  # a row of many texts can fill a small batch
        assert facts["batches_computed"] < facts["sequences_forwarded"] or (has_trees and tokens == 97)
        assert_same(frame(single), frame(batched))


MASKED_ARCHITECTURES = [name for name in ARCHITECTURES if name not in ("GPT2", "GPTNeo", "OPT", "Llama", "Qwen2")]


@pytest.mark.parametrize("name", MASKED_ARCHITECTURES)
def test_masks_made_ready_for_a_gpu_change_nothing(name: str) -> None:
    """Where a model is found to take them, they give the scores of plain masks, attention weights among them."""
    model = random_model(name)
    plain = tiltmeter.score(model, few(), ["aul", "aula", "sss"], cache=False, batch_tokens=3000)
    model._parts.ready_masks = {attention: model._parts.takes_ready_masks(attention) for attention in (False, True)}
    if name in ("Bert", "Roberta", "XLMRoberta", "Electra"):
        assert all(model._parts.ready_masks.values())
    ready = tiltmeter.score(model, few(), ["aul", "aula", "sss"], cache=False, batch_tokens=3000)
    assert_same(frame(plain), frame(ready))


@pytest.mark.parametrize("name", MASKED_ARCHITECTURES)
def test_log_probabilities_against_a_plain_forward_pass(name: str) -> None:
    """AUL, AULA and PLL of one sentence, computed the slow way with transformers alone."""
    model = random_model(name)
    module, tokenizer = model._module, model.tokens.tokenizer
    text = "The old man forgot where he had parked the car."
    bench = Benchmark("one", (Item("1", {"stereo": text, "anti": text}),))
    found = frame(tiltmeter.score(model, bench, ["aul", "aula", "pll"], cache=False))
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    content = range(1, ids.shape[1] - 1)
    module.set_attn_implementation("eager")
    with torch.no_grad():
        output = module(input_ids=ids, output_attentions=True)
        logprobs = output.logits[0].log_softmax(-1)
        received = torch.stack(output.attentions).mean((0, 1, 2)).mean(0)
        aul = [float(logprobs[p, ids[0, p]]) for p in content]
        pll = []
        for p in content:
            masked = ids.clone()
            masked[0, p] = tokenizer.mask_token_id
            pll.append(float(module(input_ids=masked).logits[0, p].log_softmax(-1)[ids[0, p]]))
    assert found["aul", "1", "stereo"] == pytest.approx(np.mean(aul), abs=1e-5)
    weighted = [float(received[p]) * value for p, value in zip(content, aul, strict=True)]
    assert found["aula", "1", "stereo"] == pytest.approx(np.mean(weighted), abs=1e-6)
    assert found["pll", "1", "stereo"] == pytest.approx(np.sum(pll), abs=1e-3)


@given(order=st.permutations(range(10)), tokens=st.integers(1, 600), blocks=st.integers(1, 10), cost=st.integers(0, 2000))
@settings(max_examples=12, deadline=None)
def test_order_batches_and_blocks_do_not_matter(order: list[int], tokens: int, blocks: int, cost: int) -> None:
    model = golden_model("tiny-roberta")
    items = tiltmeter.load_benchmark("starter-pairs").items
    expected = frame(golden_scores("tiny-roberta"))
    chosen = [items[n] for n in order]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood, "BLOCK_ITEMS", (blocks,))
        patch.setitem(BATCH_COST, "cpu", cost)
        found = frame(tiltmeter.score(model, Benchmark("x", tuple(chosen)), "all", cache=False, batch_tokens=tokens))
    assert_same(found, expected[expected.index.get_level_values("item").isin([item.id for item in chosen])])


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_the_state_of_the_cache_does_not_matter(name: str, own_cache: Path) -> None:
    model, bench = golden_model(name), few(20)
    first = tiltmeter.score(model, bench)
    again = tiltmeter.score(model, bench)
    assert first.manifests[0]["batches_computed"] > 0 and first.manifests[0]["batches_reused"] == 0
    assert again.manifests[0]["batches_computed"] == 0
    assert again.manifests[0]["batches_reused"] == first.manifests[0]["batches_computed"]
    assert frame(first).equals(frame(again))
    assert_same(frame(first), frame(tiltmeter.score(model, bench, cache=False)))
    assert not list(own_cache.rglob("parts/*.parquet")) and not list(own_cache.rglob("*.tmp"))


def test_a_later_scorer_of_the_same_view_costs_nothing(own_cache: Path) -> None:
    model = golden_model("tiny-bert-cased")
    assert tiltmeter.score(model, few(), ["cps"]).manifests[0]["batches_computed"] > 0
    assert tiltmeter.score(model, few(), ["pll", "cps_nyu", "cps_biasbench"]).manifests[0]["batches_computed"] == 0
    assert tiltmeter.score(model, few(), ["aul"]).manifests[0]["batches_computed"] > 0


def test_attention_is_a_cache_entry_of_its_own(own_cache: Path) -> None:
    model = golden_model("tiny-bert-cased")
    with_attention = tiltmeter.score(model, few(), ["aul", "aula"])
    assert with_attention.manifests[0]["views"] == ["unmasked_attention"]
    without = tiltmeter.score(model, few(), ["aul"])
    assert without.manifests[0]["batches_computed"] > 0
    only = frame(with_attention)
    assert_same(only[only.index.get_level_values("scorer") == "aul"], frame(without))


def test_another_model_is_never_served_from_this_ones_cache(own_cache: Path) -> None:
    """One weight moved, the same name, the same data: nothing may be reused."""
    scores = []
    for seed in (0, 1):
        model = random_model("Bert")
        module = model._module
        with torch.no_grad():
            module.base_model.embeddings.word_embeddings.weight[100 + seed] += 1.0
        wrapped = tiltmeter.wrap_model(module, model.tokens.tokenizer, name="same", kind="masked")
        scores.append(tiltmeter.score(wrapped, few(), ["aul"]))
    assert [one.manifests[0]["batches_reused"] for one in scores] == [0, 0]
    keys = {one.manifests[0]["observations"]["key"] for one in scores}
    assert len(keys) == 2


def test_a_damaged_cache_file_is_computed_again(own_cache: Path) -> None:
    model = golden_model("tiny-gpt2")
    first = tiltmeter.score(model, few(), ["causal"])
    for path in own_cache.rglob("block-*.parquet"):
        path.write_bytes(path.read_bytes()[:50])
    again = tiltmeter.score(model, few(), ["causal"])
    assert again.manifests[0]["batches_computed"] > 0
    assert_same(frame(first), frame(again))


def test_identical_sequences_are_forwarded_once() -> None:
    """A pair that differs in one token gives the same masked input for both; `changed` asks for it a third time."""
    model = golden_model("tiny-bert-cased")
    pair = {"stereo": "The old boy came last in the race.", "anti": "The young boy came last in the race."}
    bench = Benchmark("one", (Item("1", pair), Item("2", pair)))
    scores = tiltmeter.score(model, bench, ["pll", "sss"], cache=False)
    n_tokens = [len(one.content) for one in tokenise(model, bench.items)[:2]]
    modified = {len(one.modified) for one in tokenise(model, bench.items)}
    assert modified == {1}
    assert scores.manifests[0]["sequences_forwarded"] == sum(n_tokens) - 1
    assert scores.manifests[0]["duplicate_sequences_spared"] >= sum(n_tokens) + 1
    table = frame(scores)
    for scorer in ("pll", "sss"):
        assert table[scorer, "1", "stereo"] == table[scorer, "2", "stereo"]


@given(st.lists(st.tuples(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.booleans()), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_a_plan_holds_each_sequence_once_and_each_read_at_its_place(asked: list[tuple[list[int], bool]]) -> None:
    queries = []
    for number, (ids, one_by_one) in enumerate(asked):
        columns = tuple(range(len(ids)))
        queries.append(Query(number, tuple(ids), columns, tuple(ids), columns, one_by_one=one_by_one))
    wanted = set()
    for query in queries:
        for column in query.columns if query.one_by_one else [None]:
            wanted.add(tuple(9 if at == column else token for at, token in enumerate(query.ids)))
    plan = make_plan({0: queries}, mask_id=9)
    batch, reads = plan.batch(0, len(plan), pad=-1, attention=False)
    rows = [tuple(row[:length]) for row, length in zip(batch.ids.tolist(), batch.lengths, strict=True)]
    assert len(rows) == len(set(rows)) and set(rows) == wanted
    assert (batch.ids >= 0).sum() == batch.lengths.sum()
    for n in range(reads.stop):
        site = batch.site_of_read[n]
        row, column = rows[batch.site_row[site]], int(batch.site_column[site])
        query = queries[plan.reads.sentence[n]]
        shown = list(query.ids)
        if query.one_by_one:
            shown[column] = 9
        assert row == tuple(shown)
        assert plan.reads.token[n] == query.ids[plan.reads.position[n]]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.lists(st.integers(0, 4), min_size=1, max_size=9))
@example([0, 1, 0, 2, 0, 4, 4], [0, 1, 0, 2, 0, 3, 4])
@settings(max_examples=300, deadline=None)
def test_alignment_is_difflibs(a: list[int], b: list[int]) -> None:
    """The short way for single substitutions must say what difflib says, with special tokens around and without."""
    for one, other in ((a, b), ([100, *a, 101], [100, *b, 101]), (a, [*a[:-1], 7]), (a, [7, *a[1:]])):
        content = tuple(range(len(one))), tuple(range(len(other)))
        found = differing(Encoded(tuple(one), content[0]), Encoded(tuple(other), content[1]))
        rest: list[set[int]] = [set(part) for part in content]
        for block in SequenceMatcher(None, one, other).get_matching_blocks():
            rest[0] -= set(range(block.a, block.a + block.size))
            rest[1] -= set(range(block.b, block.b + block.size))
        assert found == (frozenset(rest[0]), frozenset(rest[1]))


@pytest.mark.parametrize(
    ("context", "sentence", "fill"),
    [
        ("My mother is very BLANK.", "My mother is very caring.", "caring"),
        ("BLANK schoolgirls walked.", "Giggling schoolgirls walked.", "Giggling"),
        ("He is (BLANK).", "He is (rude).", "rude"),
        ("He is BLANK today", "He is very rude today", "very rude"),
        ("A BLANK and a BLANK.", "A cat and a cat.", "cat"),
        ("No gap here", "No gap here", None),
        ("He is BLANK today now", "He is now", None),
    ],
)
def test_fill_span(context: str, sentence: str, fill: str | None) -> None:
    span = fill_span(context, sentence)
    assert (sentence[slice(*span)] if span else None) == fill


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_modified_tokens_of_a_fill_are_the_fill(name: str) -> None:
    model = golden_model(name)
    items = tiltmeter.load_benchmark(GOLDEN / "data" / "triples_stereoset_format.json").items
    for one in tokenise(model, items):
        span = fill_span(items[one.item].context or "", one.text)
        text = model.tokens.decode([one.ids[p] for p in sorted(one.modified)]).replace(" ", "").lower()
        fill = one.text[slice(*span)] if span else ""
        plain = model.tokens.decode(model.tokens.encode([fill], special=False)[0].ids).replace(" ", "").lower()
        # a sub-word vocabulary may hold pieces like 's.' that reach beyond the fill
        assert text.strip('".,!?') == plain.strip('".,!?'), one.text


def fake_reader(model: LanguageModel, limit: int) -> Callable[[Batch], Any]:
    """Fails like a full GPU for batches over a limit."""
    real = LanguageModel.begin

    def begin(batch: Batch) -> Any:
        if batch.ids.size > limit:
            raise OutOfMemoryError("full")
        return real(model, batch)

    return begin


def test_out_of_memory_halves_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = golden_model("tiny-albert")
    expected = tiltmeter.score(model, few(), ["cps", "aul"], cache=False)
    monkeypatch.setattr(model, "begin", fake_reader(model, 300), raising=False)
    found = tiltmeter.score(model, few(), ["cps", "aul"], cache=False, batch_tokens=5000)
    assert_same(frame(expected), frame(found))
    monkeypatch.setattr(model, "begin", fake_reader(model, 5), raising=False)
    with pytest.raises(tiltmeter.TiltmeterError, match="does not fit"):
        tiltmeter.score(model, few(), ["aul"], cache=False)


def test_auto_grows_on_a_gpu_and_stays_below_what_failed() -> None:
    class OnGpu:
        device, precision, attention_cells = "cuda", "bf16", 144

    budget = TokenBudget(OnGpu(), "auto")  # type: ignore[arg-type]
    start = budget.tokens
    budget.fitted()
    assert budget.tokens == 2 * start
    budget.failed(width=10, size=100)
    assert budget.tokens == 500
    budget.fitted()
    assert budget.tokens == 500
    lengths = np.array([100] * 50)
    assert budget.cuts(lengths, attention=False) == [5] * 10
    most = max(TokenBudget(OnGpu(), 10**9).cuts(np.array([100] * 2000), attention=True))  # type: ignore[arg-type]
    assert most <= budget.attention_cells // 100**2


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=9, unique=True),
    copies=st.integers(1, 3),
    tokens=st.integers(1, 40),
    cost=st.integers(0, 20),
)
def test_batches_cost_least(lengths: list[int], copies: int, tokens: int, cost: int) -> None:
    """No batch is too large, and no other way to cut between lengths pads and starts batches for less."""

    class OnCpu:
        device, attention_cells = "cpu", 1

    budget = TokenBudget(OnCpu(), tokens)  # type: ignore[arg-type]
    budget.batch_cost = cost
    ordered = np.array(sorted(lengths, reverse=True))

    def batches(sizes: list[int], of: Any) -> list[tuple[int, int]]:
        return [(int(of[end - size]), size) for end, size in zip(np.cumsum(sizes), sizes, strict=True)]

    def fits(sizes: list[int], of: Any) -> bool:
        return sum(sizes) == len(of) and all(size == 1 or width * size <= tokens for width, size in batches(sizes, of))

    def price(sizes: list[int]) -> int:
        return sum(width * size + cost for width, size in batches(sizes, ordered))

    places = range(1, len(ordered))
    every = [np.diff([0, *cuts, len(ordered)]).tolist() for n in range(len(ordered)) for cuts in combinations(places, n)]
    found = budget.cuts(ordered, attention=False)
    assert fits(found, ordered)
    assert price(found) == min(price(sizes) for sizes in every if fits(sizes, ordered))
    repeated = np.repeat(ordered, copies)
    assert fits(budget.cuts(repeated, attention=False), repeated)


def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    """What is held at once is a block: ten times the pairs, the same number of sequences in the largest plan."""
    items = tiltmeter.load_benchmark("starter-pairs").items
    many = [replace(item, id=f"{n}-{item.id}") for n in range(100) for item in items]
    sizes = [[len(block) for block in likelihood.blocks(many[:n])] for n in (3000, 6000)]
    assert max(sizes[0]) == max(sizes[1]) == likelihood.BLOCK_ITEMS[-1]
    assert [sum(one) for one in sizes] == [3000, 6000]
    long = [replace(item, texts={role: text * 1000 for role, text in item.texts.items()}) for item in items]
    assert max(len(block) for block in likelihood.blocks(long)) < 45


def test_answers_are_never_silently_odd() -> None:
    """Not-a-number logits: the score is missing, with its reason."""
    model = random_model("Bert")
    with torch.no_grad():
        model._module.base_model.embeddings.word_embeddings.weight[5:] = float("nan")
    table = tiltmeter.score(tiltmeter.wrap_model(model._module, model.tokens.tokenizer, name="nan"), few(), cache=False)
    scores = table.to_pandas()
    assert scores["score"].isna().all()
    assert (scores["reason"].str.contains("finite") | scores["reason"].str.contains("modified tokens")).all()


def test_every_view_says_what_it_is_for() -> None:
    for view in VIEWS.values():
        assert view.kind in ("masked", "causal")
        assert view.ask.__doc__
    assert Answer.__doc__


def test_an_infinite_logit_spoils_its_row_and_no_other() -> None:
    """With one infinite logit every other token would pass for impossible (−inf), and count as a score."""
    from tiltmeter.models.logits import LogProbabilities

    inf, nan = float("inf"), float("nan")
    rows = LogProbabilities(torch.tensor([[0.0, 0.0], [inf, 0.0], [nan, 0.0], [-inf, -inf], [0.0, -inf]]))
    found = rows.at(torch.arange(5)[:, None], torch.arange(2))
    np.testing.assert_allclose(found[0].exp(), [0.5, 0.5])
    assert found[1:4].isnan().all()
    assert found[4].tolist() == [0.0, -inf]


@pytest.mark.parametrize(("precision", "most"), [("fp32", 2**17), ("tf32", 2**18), ("bf16", 2**18)])
def test_batches_of_a_gpu_grow_further_in_the_faster_precisions(precision: str, most: int) -> None:
    budget = TokenBudget(SimpleNamespace(device="cuda", precision=precision, attention_cells=1))  # type: ignore[arg-type]
    assert budget.tokens == 2**16
    for _ in range(4):
        budget.fitted()
    assert budget.tokens == most
    budget.failed(width=100, size=1000)
    budget.fitted()
    assert budget.tokens == 50_000

"""The slots probe and its measures: golden numbers, the paper's rows, batching, the cache, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import tiltmeter
from conftest import GOLDEN, MASKED, golden_model, reference
from support.raising import check, raises
from support.wording import all_stated, stated
from test_cli import refused
from test_cli import tiltmeter as command
from tiltmeter import Benchmark, Item, TiltmeterError
from tiltmeter.benchmarks import SlotBenchmark
from tiltmeter.display import Statement
from tiltmeter.families.slots.fills import best_matches
from tiltmeter.families.slots.narratives import narratives
from tiltmeter.families.slots.probe import SlotsProbe
from tiltmeter.families.slots.terms import INEXPRESSIBLE, term_list
from tiltmeter.measures.coverage import coverage
from tiltmeter.measures.lean import lean
from tiltmeter.measures.mnt import mnt
from tiltmeter.measures.mnt_gap import mnt_gap
from tiltmeter.measures.mnt_table import mnt_table
from tiltmeter.measures.mps import mps
from tiltmeter.measures.mps_all import mps_all
from tiltmeter.measures.mps_gap import mps_gap
from tiltmeter.models.logits import LogProbabilities, count_larger_of_many
from tiltmeter.reporting.html.bars import Scale
from tiltmeter.reporting.html.summary import _drawn
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import load_answers, load_run
from tiltmeter.runs.run import run
from tiltmeter.storage.observations import ObservationCache

TOP = "fill_mask_top100"
SLOTS = GOLDEN / "data" / "slots.jsonl"
TERMS = {"male": ("man", "he", "king"), "female": ("woman", "she", "queen")}


def probe(model: str, **how: Any) -> SlotsProbe:
    return SlotsProbe(golden_model(model), ObservationCache(None, {}), **how)


def bench(*texts: str, terms: dict[str, tuple[str, ...]] | None = None) -> SlotBenchmark:
    items = tuple(Item(str(n), {"slot": text}, bias_type="gender") for n, text in enumerate(texts))
    return SlotBenchmark("own", items, terms=terms or TERMS)


def slots_of(source: str | Path) -> SlotBenchmark:
    loaded = tiltmeter.load_benchmark(source)
    assert isinstance(loaded, SlotBenchmark)
    return loaded


def filled(model: str, benchmark: Benchmark, batch_tokens: int | str = "auto", **how: Any) -> pd.DataFrame:
    options = tiltmeter.SlotsOptions(**how)
    return tiltmeter.ask(golden_model(model), benchmark, options=options, cache=False, batch_tokens=batch_tokens).to_pandas()


@pytest.mark.parametrize("name", MASKED)
def test_top_100_equals_the_fill_mask_pipeline(name: str) -> None:
    """Tokens and ranks the same, probabilities within 5e-5 relative, for all 20 slots."""
    rows = reference(TOP)[name]["rows"]
    top = probe(name).top(slots_of(SLOTS).asked_items, 100)
    assert len(rows) == len(top) == 20
    for row, (tokens, logprobs) in zip(rows, top, strict=True):
        assert tokens.tolist() == row["token_ids"]
        np.testing.assert_allclose(np.exp(logprobs.astype(np.float64)), row["probs"], rtol=5e-5)


@pytest.mark.parametrize("name", MASKED)
def test_the_first_predictions_are_those_of_the_pipeline(name: str) -> None:
    predicted = tiltmeter.ask(golden_model(name), SLOTS, cache=False).tables["predictions"]
    tokens = golden_model(name).tokens
    for row in reference(TOP)[name]["rows"]:
        ours = predicted[predicted["item"] == row["id"]]
        assert ours["rank"].tolist() == list(range(1, 11))
        assert ours["token"].tolist() == [tokens.decode([token]).strip() for token in row["token_ids"][:10]]
        np.testing.assert_allclose(ours["probability"], row["probs"][:10], rtol=5e-5)


def test_predictions_name_the_group_that_lists_them_and_are_kept(tmp_path: Path, own_cache: Path) -> None:
    listed = tiltmeter.ask(golden_model("tiny-bert-cased"), SLOTS, cache=False).tables["predictions"]
    word = listed["token"].iloc[0]
    own = replace(slots_of(SLOTS), terms={"a": (word,), "b": ("man",)})
    predicted = tiltmeter.ask(golden_model("tiny-bert-cased"), own).tables["predictions"]
    assert set(predicted["group"].dropna()) <= {"a", "b"}
    assert (predicted["group"][predicted["token"] == word] == "a").all()
    again = tiltmeter.ask(golden_model("tiny-bert-cased"), own)
    assert again.manifests[0]["batches_computed"] == 0
    pd.testing.assert_frame_equal(again.tables["predictions"], predicted)
    tiltmeter.run(GOLDEN / "models" / "tiny-bert-cased", SLOTS, output=tmp_path / "r", resamples=100)
    stored = load_answers([tmp_path / "r"])["slots"].tables["predictions"]
    assert stored["token"].tolist() == listed["token"].tolist()
    assert stored["probability"].tolist() == listed["probability"].tolist()


def test_a_causal_model_has_no_predictions_at_a_mask() -> None:
    slots = tiltmeter.ask(golden_model("tiny-gpt2"), bench("The [MASK] left."), cache=False)
    assert len(slots.table) and not len(slots.tables["predictions"])


@pytest.mark.parametrize("name", MASKED)
def test_every_term_has_the_rank_and_probability_that_the_pipeline_gives_it(name: str) -> None:
    """Terms are words of the vocabulary: what is within the reference's 100 must agree, what is not must lie beyond."""
    tokens = golden_model(name).tokens
    words = dict.fromkeys(tokens.decode([n]).strip() for n in range(300, 2000, 3))
    known = [word for word in words if word.isalpha() and tokens.encode([word], special=False)]
    benchmark = replace(slots_of(SLOTS), terms={"a": tuple(known[::2]), "b": tuple(known[1::2])})
    found = filled(name, benchmark)
    places = {row["id"]: {token: n for n, token in enumerate(row["token_ids"])} for row in reference(TOP)[name]["rows"]}
    probs = {row["id"]: row["probs"] for row in reference(TOP)[name]["rows"]}
    matched = 0
    for item in benchmark.asked_items:
        text = item.texts["slot"]
        ids = {term.word: term.ids for term in term_list(tokens, benchmark.terms, text[: text.index("[MASK]")][-1:]).terms}
        for _, row in found[found["item"] == item.id].iterrows():
            token, *more = ids[row["term"]]
            place = places[item.id].get(token)
            if more or place is None:
                assert not row["matched"] and (row["pieces"] > 1 or row["rank"] > 100)
                continue
            assert row["rank"] == place + 1 and row["matched"]
            assert row["probability"] == pytest.approx(probs[item.id][place], rel=5e-5)
            matched += 1
    assert matched > 100


def test_the_papers_rows() -> None:
    """Table 2, Table 4 and the text: ranks 1, 4, 26, 65, 100."""
    ranks = np.array([1.0, 4.0, 26.0, 65.0, 100.0])
    by_equation = [float(mnt(np.array([rank]), 100)) for rank in ranks]
    assert by_equation == pytest.approx([1, 1 - 3 / 99, 1 - 25 / 99, 1 - 64 / 99, 0])
    assert [float(mnt_table(np.array([rank]), 100)) for rank in ranks] == pytest.approx([1.0, 0.96, 0.74, 0.35, 0.0])
    assert float(mnt(ranks, 100)) == pytest.approx(np.mean(by_equation))
    announcers = float(mnt_table(np.array([5.0]), 100)) - float(mnt_table(np.array([65.0]), 100))
    assert announcers == pytest.approx(0.60)
    male, female = np.array([0.280, 0.044, 0.008, 0.004, 0.086]), np.array([0.103, 0.384, 0.005, 0.009, 0.042])
    assert mps(male) == pytest.approx(0.0844) and mps(female) == pytest.approx(0.1086)
    assert mps_gap(male, female) == pytest.approx(0.0844 - 0.1086)
    assert lean(np.array([1.0, 4, 1, 25, 3]), np.array([2.0, 1, 26, 10, 5])) == pytest.approx(3 / 5)


def test_unmatched_sentences_drop_out_or_count_nothing() -> None:
    some, none = np.array([0.2, np.nan, 0.4]), np.array([np.nan, np.nan])
    assert mps(some) == pytest.approx(0.3) and mps_all(some) == pytest.approx(0.2) and coverage(some) == pytest.approx(2 / 3)
    assert np.isnan(mps(none)) and mps_all(none) == 0 and coverage(none) == 0
    assert np.isnan(mnt_gap(some, none[:1].repeat(3), 100))


def test_counting_gives_the_rank_that_sorting_would() -> None:
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(7, 500)).astype(np.float32))
    logits[:, 100:110] = logits[:, :10]  # ties
    values = torch.cat([logits[:, :40], torch.tensor(rng.normal(size=(7, 5)).astype(np.float32))], 1)
    expected = (logits[:, None, :] > values[:, :, None]).sum(2)
    assert torch.equal(count_larger_of_many(logits, values), expected)


def test_the_total_turns_log_probabilities_back_into_logits() -> None:
    """With tokens that a model rules out, too (−inf)."""
    logits = torch.tensor(np.random.default_rng(0).normal(size=(5, 50)).astype(np.float32)) * 20
    logits[:, ::7] = -torch.inf
    torch.testing.assert_close(LogProbabilities(logits).total(), logits.logsumexp(1))


@pytest.mark.parametrize(("name", "kinds"), [("tiny-bert-cased", 1), ("tiny-roberta", 2)])
def test_slots_are_asked_together_where_terms_are_written_alike(name: str, kinds: int) -> None:
    """A byte-level tokenizer writes a word otherwise at the beginning of a text."""
    sentences = bench("[MASK] is here.", "And [MASK] is here.", terms={"female": ("she",), "male": ("he",)})
    ours = probe(name)
    list(ours.observe(sentences.asked_items, sentences.terms))
    lists = set(ours._lists.values())
    assert len(lists) == kinds
    assert len(ours.work.computed) == sum(len({1, *terms.by_length}) for terms in lists)  # a pass for each number of pieces


@pytest.mark.parametrize("name", MASKED)
def test_batches_do_not_matter(name: str) -> None:
    """One sentence at a time, padded together, in tiny batches: the same to 1e-5."""
    benchmark = slots_of(SLOTS)
    whole, tiny = filled(name, benchmark), filled(name, benchmark, batch_tokens=1)
    np.testing.assert_allclose(np.log(whole["probability"]), np.log(tiny["probability"]), atol=1e-5)
    assert (whole["rank"] != tiny["rank"]).mean() < 0.01


def test_terms_of_several_pieces_by_hand() -> None:
    """exp of the mean log-probability over as many masks; ranked where that would stand among the single tokens."""
    name, text = "tiny-bert-cased", "The [MASK] repaired the engine."
    model = golden_model(name)
    word = "grandmother"
    ids = model.tokens.encode([word], special=False)[0].ids
    assert len(ids) > 1
    row = filled(name, bench(text, terms={"a": (word,), "b": ("man",)})).set_index("term").loc[word]
    tokenizer, module = model.tokens.tokenizer, model._module
    with torch.inference_mode():
        several = tokenizer(text.replace("[MASK]", "[MASK]" * len(ids)), return_tensors="pt")
        at = (several["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0]
        logprob = module(**several).logits[0, at].log_softmax(-1)[range(len(ids)), list(ids)].mean()
        one = tokenizer(text, return_tensors="pt")
        at = (one["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0]
        among = module(**one).logits[0, at].log_softmax(-1)
    assert row["pieces"] == len(ids) and row["probability"] == pytest.approx(float(logprob.exp()), rel=5e-5)
    assert row["rank"] == 1 + int((among > logprob).sum()) and row["among"] == "vocabulary"


def test_causal_models_compare_whole_sentences() -> None:
    """A term's share among the candidates by the sentences' likelihood, as the causal score gives it."""
    text = "The [MASK] repaired the engine."
    found = filled("tiny-gpt2", bench(text, "[MASK] was late.")).set_index(["item", "term"])
    pairs = Benchmark("p", tuple(
        Item(word, {"stereo": text.replace("[MASK]", word), "anti": "x y"}) for words in TERMS.values() for word in words
    ))  # fmt: skip
    scores = tiltmeter.score(golden_model("tiny-gpt2"), pairs, ["causal"], cache=False).to_pandas()
    total = scores[scores["role"] == "stereo"].set_index("item")["score"]
    share = np.exp(total - np.logaddexp.reduce(total))
    for word in total.index:
        assert found.loc[("0", word), "probability"] == pytest.approx(share[word], rel=1e-4)
    assert sorted(found.loc["0"]["rank"]) == [1, 2, 3, 4, 5, 6] and set(found["among"]) == {"candidates"}


def test_causal_candidates_are_written_as_the_place_asks() -> None:
    terms = {"male": ("man", "Man"), "female": ("woman", "Woman")}
    found = filled("tiny-gpt2", bench("[MASK] sat.", "A [MASK] sat.", "So. [MASK] sat.", terms=terms))
    assert [set(rows["term"]) for _, rows in found.groupby("item", sort=False)] == [
        {"Man", "Woman"}, {"man", "woman"}, {"Man", "Woman"},
    ]  # fmt: skip


def test_a_word_of_byte_level_models_carries_its_space() -> None:
    tokens = golden_model("tiny-roberta").tokens
    spaced, first, quoted = (term_list(tokens, {"a": ("the",), "b": ("of",)}, before).terms[0] for before in (" ", "", '"'))
    assert tokens.decode(spaced.ids) == " the" and tokens.decode(first.ids) == "the" == tokens.decode(quoted.ids)


def test_case_that_a_tokenizer_does_not_know_counts_once() -> None:
    terms = {"a": ("man", "Man"), "b": ("woman",)}
    assert len(filled("tiny-albert", bench("A [MASK] sat.", terms=terms))) == 2
    assert len(filled("tiny-bert-cased", bench("A [MASK] sat.", terms=terms))) == 3


def test_a_term_at_rank_k_plus_1_is_measured_and_any_k_will_do() -> None:
    benchmark = slots_of(SLOTS)
    size = golden_model("tiny-bert-cased").vocabulary
    few, all_ = (filled("tiny-bert-cased", benchmark, top_k=k) for k in (2, size))
    assert (few["rank"] == all_["rank"]).all() and few["matched"].sum() < all_["matched"].sum()
    assert all_[all_["pieces"] == 1]["matched"].all() and (few["rank"] > 2).any()
    with pytest.raises(TiltmeterError, match="at most 2,000"):
        filled("tiny-bert-cased", benchmark, top_k=size + 1)


def test_more_than_two_groups() -> None:
    terms = {"young": ("boy",), "old": ("man",), "other": ("the", "of")}
    slots = tiltmeter.ask(
        golden_model("tiny-bert-cased"),
        bench("The [MASK] sat.", "A [MASK] ran.", terms=terms),
        cache=False,
        options=tiltmeter.SlotsOptions(top_k=2000),
    )
    table = tiltmeter.estimate(slots, resamples=100)
    assert list(dict.fromkeys(table[table["by"] == "group"]["group"])) == ["young", "old", "other"]
    assert set(table[table["measure"] == "mnt_gap"]["group"]) == {"young − old", "young − other", "old − other"}
    assert set(table[table["measure"] == "lean"]["group"]) >= {"young > old", "old > young"}
    assert "stereotype_gap" not in set(table["measure"]), "the largest of two rivals is not neutral"


def test_the_stereotype_gap_weighs_whom_sentences_are_about_alike() -> None:
    texts = {"0": "male", "1": "male", "2": "female", "3": None}
    items = [Item(name, {"slot": f"The [MASK] sat {name}."}, bias_type="gender", target=of) for name, of in texts.items()]
    benchmark = SlotBenchmark("own", tuple(items), terms=TERMS)
    slots = tiltmeter.ask(
        golden_model("tiny-bert-cased"), benchmark, cache=False, options=tiltmeter.SlotsOptions(top_k=2000)
    )
    best = best_matches(slots.table).pivot(index="item", columns="group", values="probability")
    ratio = np.log(best["male"] / best["female"])
    table = tiltmeter.estimate(slots, resamples=100)
    rows = table[table["measure"] == "stereotype_gap"]
    assert set(zip(rows["by"], rows["group"], strict=True)) == {("all", "all"), ("bias_type", "gender")}
    assert rows["value"].to_numpy() == pytest.approx([(ratio.iloc[:2].mean() - ratio.iloc[2]) / 2] * 2)
    assert (rows["n"] == 3).all() and rows[["low", "p"]].isna().all(axis=None), "one sentence about a group is no evidence"


def test_estimates_by_hand() -> None:
    """Best matches, means over matched sentences, gaps over those where both match, n and reasons."""
    slots = tiltmeter.ask(
        golden_model("tiny-bert-cased"), slots_of(SLOTS), cache=False, options=tiltmeter.SlotsOptions(top_k=300)
    )
    best = best_matches(slots.table)
    assert not best.duplicated(["item", "group"]).any()
    table = tiltmeter.estimate(slots, resamples=200).set_index(["measure", "group"])
    male, female = (best[best["group"] == group].set_index("item") for group in ("male", "female"))
    for group, found in (("male", male), ("female", female)):
        assert table.loc[("mps", group), "value"] == pytest.approx(found["probability"].mean())
        assert table.loc[("mps_all", group), "value"] == pytest.approx(found["probability"].sum() / 20)
        assert table.loc[("mnt", group), "value"] == pytest.approx(1 - (found["rank"] - 1).mean() / 299)
        assert table.loc[("coverage", group), "value"] == pytest.approx(len(found) / 20)
        row = table.loc[("mnt", group)]
        assert row["n"] + row["n_missing"] == 20
        if row["n"] >= 5:
            assert row["low"] <= row["value"] <= row["high"]
        else:  # too few independent sentences for an interval
            assert np.isnan(row["low"]) and np.isnan(row["high"]) and row["note"]
    both = male.index.intersection(female.index)
    gap = male.loc[both, "probability"] - female.loc[both, "probability"]
    row = table.loc[("mps_gap", "male − female")]
    assert row["value"] == pytest.approx(gap.mean()) and row["n"] == len(both) == 2 and row["neutral"] == 0
    assert np.isnan(row["low"]) and np.isnan(row["p"]), "two sentences are too few for an interval and for a test"
    assert table.loc[("mps_gap_sd", "male − female"), "value"] == pytest.approx(gap.std())
    assert json.loads(row["missing"]) == {"no match in the top 300": 20 - len(both)}
    assert table.loc[("lean", "male > female"), "value"] == pytest.approx((gap > 0).mean())


def test_a_second_run_and_an_interrupted_one_use_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.families.slots.probe.BLOCK_ITEMS", {"masked": 6, "causal": 6})
    model, benchmark = golden_model("tiny-albert"), slots_of(SLOTS)
    real, calls, most = model.fill, [], 10**9

    def failing(*words: Any) -> Any:
        calls.append(1)
        if len(calls) > most:
            raise KeyboardInterrupt
        return real(*words)

    monkeypatch.setattr(model, "fill", failing)
    whole = tiltmeter.ask(model, benchmark, cache=False).table
    most, calls = len(calls) // 2, []
    with pytest.raises(KeyboardInterrupt):
        tiltmeter.ask(model, benchmark, cache=tmp_path)
    monkeypatch.setattr(model, "fill", real)
    again = tiltmeter.ask(model, benchmark, cache=tmp_path)
    assert again.manifests[0]["batches_reused"] > 0 and again.manifests[0]["batches_computed"] > 0
    third = tiltmeter.ask(model, benchmark, cache=tmp_path, options=tiltmeter.SlotsOptions(top_k=7))
    assert third.manifests[0]["batches_computed"] == 0
    pd.testing.assert_frame_equal(again.table.drop(columns=["probability"]), whole.drop(columns=["probability"]))
    np.testing.assert_allclose(again.table["probability"], whole["probability"], rtol=1e-5)


def test_out_of_memory_makes_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model, benchmark = golden_model("tiny-bert-cased"), slots_of(SLOTS)
    real = model.fill

    def small(batch: Any, ask: Any) -> Any:
        if len(batch.lengths) > 3:
            raise tiltmeter.models.OutOfMemoryError
        return real(batch, ask)

    monkeypatch.setattr(model, "fill", small)
    found = filled("tiny-bert-cased", benchmark)
    monkeypatch.setattr(model, "fill", real)
    np.testing.assert_allclose(found["probability"], filled("tiny-bert-cased", benchmark)["probability"], rtol=1e-4)


def test_a_sentence_that_is_too_long_is_missing_with_its_reason() -> None:
    slots = tiltmeter.ask(golden_model("tiny-bert-cased"), bench("A [MASK] sat.", "word " * 300 + "[MASK]."), cache=False)
    table = tiltmeter.estimate(slots, ["coverage"], resamples=100)
    assert set(table["n"]) == {1} and set(table["n_missing"]) == {1}
    assert "maximum" in table["missing"].iloc[0]


def test_through_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = GOLDEN / "models" / "tiny-bert-cased"
    words = ("run", "-m", model, "-b", "starter-pairs", "-b", "plumb-slots", "-s", "aul", "--top-k", 500)
    assert command(*words, "--resamples", 100, "-o", tmp_path / "run", "--by", "target") == 0
    said = capsys.readouterr()
    story = next(story for story in stories_of(load_run(tmp_path / "run").estimates) if story.benchmark == "plumb-slots")
    assert {line["top_k"] for line in all_stated(story.sentences, "coverage")} == {500}
    assert story.sentences[0] in " ".join(said.out.split())
    assert "neither bias_score" not in said.out
    slots = pd.read_parquet(tmp_path / "run" / "slots.parquet")
    assert {"item", "group", "term", "probability", "rank", "matched"} <= set(slots) and len(slots) > 10_000
    estimates = pd.read_csv(tmp_path / "run" / "estimates.csv")
    assert {"bias_score", "mps", "mnt", "mnt_table", "mps_all", "coverage", "mps_gap", "mnt_gap"} <= set(
        estimates["measure"]
    )
    assert {"group", "gap", "group × target"} <= set(estimates["by"])
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items[items["benchmark"] == "plumb-slots"]["slot"].str.contains(r"\[MASK\]").all()
    assert command("estimate", tmp_path / "run", "--measure", "mnt", "--json", "--resamples", 100) == 0
    again = pd.DataFrame(json.loads(capsys.readouterr().out))
    stored = estimates[(estimates["measure"] == "mnt") & (estimates["by"] == "group")]
    assert again[again["by"] == "group"]["value"].tolist() == pytest.approx(stored["value"].tolist())
    assert command("compare", tmp_path / "run") == 2  # one model


def test_your_own_sentences_and_terms(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("key,line\na,The <mask> sat.\nb,A [mask] ran home.\n", encoding="utf-8")
    layouts = {
        "aligned.jsonl": '{"old": "man", "young": "boy", "form": "singular"}\n',
        "rows.csv": "group,term\nold,man\nyoung,boy\n",
        "lists.json": '{"old": ["man"], "young": ["boy"]}',
    }
    for name, text in layouts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        options = {"resamples": 100, "columns": {"id": "key", "text": "line"}, "cache": False}
        model, mine = GOLDEN / "models" / "tiny-roberta", tmp_path / "mine.csv"
        done = run(
            [model],
            [mine],
            output=tmp_path / f"run-{name}",
            **options,
            options=tiltmeter.SlotsOptions(terms=tmp_path / name),
        )
        assert set(done.answers) == {"slots"} and set(done.answers["slots"].table["term"]) == {"man", "boy"}
        assert set(done.answers["slots"].table["item"]) == {"a", "b"}
        assert set(done.estimates["scorer"]) == {"slots"}


def test_sexism_by_name_is_what_was_built_or_says_what_stands_in(tmp_path: Path) -> None:
    stand_in = tiltmeter.load_benchmark("sexism", data_dir=tmp_path)
    assert stand_in.name == "plumb-slots" and "plumb-slots stands in" in stand_in.notes[-1].what
    (tmp_path / "sexism").mkdir()
    shutil.copy(SLOTS, tmp_path / "sexism" / "sexism.jsonl")
    built = tiltmeter.load_benchmark("sexism", data_dir=tmp_path)
    assert built.name == "sexism" and len(built) == 20 and isinstance(built, SlotBenchmark)
    assert list(built.terms) == ["male", "female"]


BAD_FILES = {
    "no mask": ('{"text": "nothing here to fill"}\n', "no mask"),
    "two masks": ('{"text": "a [MASK] and a [MASK]"}\n', "more than one mask"),
    "mask alone": ('{"text": "[MASK]"}\n', "nothing besides the mask"),
    "empty": ('{"text": " "}\n', "empty text"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_rows_without_one_mask_are_skipped_with_a_reason(name: str, tmp_path: Path) -> None:
    text, reason = BAD_FILES[name]
    path = tmp_path / "slots.jsonl"
    path.write_text(text)
    with pytest.raises(TiltmeterError, match=reason):
        tiltmeter.load_benchmark(path)
    path.write_text(text + '{"text": "a [MASK] sat"}\n')
    assert tiltmeter.load_benchmark(path).note_counts() == {f"skipped: {reason}": 1}


BAD_TERMS = {
    "an empty group": ('{"a": ["x"], "b": []}', "group 'b' has no terms"),
    "one group": ('{"a": ["x"]}', "names 1 group"),
    "two owners": ('{"a": ["x"], "b": ["x"]}', "'x' is a term of a and of b"),
    "no lists": ('{"a": "x"}', "expected a list of words"),
    "no JSON": ("{", "not JSON"),
    "not text": (b"\x00\x01\xff", "does not look like text"),
}


@pytest.mark.parametrize("name", BAD_TERMS)
def test_terms_that_are_refused(name: str, tmp_path: Path) -> None:
    text, reason = BAD_TERMS[name]
    (tmp_path / "terms.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TiltmeterError, match=reason):
        tiltmeter.load_benchmark("plumb-slots", terms=tmp_path / "terms.json")
    with pytest.raises(TiltmeterError, match="There is no file"):
        tiltmeter.load_benchmark("plumb-slots", terms=tmp_path / "nowhere.json")


def test_terms_that_cannot_be_expressed_are_counted_or_refused() -> None:
    slots = tiltmeter.ask(
        golden_model("tiny-bert-cased"), bench("A [MASK] sat.", terms={"a": ("man", "☃"), "b": ("boy",)}), cache=False
    )
    assert slots.manifests[0]["benchmark"]["notes"] == {f"term skipped: {INEXPRESSIBLE} (☃)": 1}
    with raises("empty-selection", group="a"):
        filled("tiny-bert-cased", bench("A [MASK] sat.", terms={"a": ("☃",), "b": ("boy",)}))


@pytest.mark.parametrize(
    ("words", "code", "fields"),
    [
        (("--top-k", 1), "out-of-range", {"value": 1, "low": 2}),
        (("--top-k", 5000), "out-of-range", {"value": 5000, "high": 2000}),
        (("--measure", "bias_score"), "inapplicable-option", {}),
        (("--terms", "nowhere.jsonl"), "missing-file", {"file": "nowhere.jsonl"}),
        (("--by", "planet"), "missing-column", {"column": "planet"}),
    ],
)
def test_mistakes_on_the_command_line(words: tuple[Any, ...], code: str, fields: dict[str, Any], tmp_path: Path) -> None:
    model = GOLDEN / "models" / "tiny-bert-cased"
    check(refused("run", "-m", model, "-b", "plumb-slots", "-o", tmp_path / "run", *words), code, **fields)
    assert not (tmp_path / "run").exists()


def test_terms_without_slots_are_refused(tmp_path: Path) -> None:
    (tmp_path / "terms.json").write_text('{"a": ["x"], "b": ["y"]}')
    with raises("inapplicable-option", option="--terms", family="slots"):
        run(
            [GOLDEN / "models" / "tiny-gpt2"],
            ["starter-pairs"],
            output=tmp_path / "r",
            options=tiltmeter.SlotsOptions(terms=tmp_path / "terms.json"),
        )
    assert not (tmp_path / "r").exists()


def test_a_masked_model_without_a_mask_is_refused() -> None:
    model = golden_model("tiny-bert-cased")
    tokens = tiltmeter.models.Tokenization(model.tokens.tokenizer, 64)
    tokens.__dict__["mask_id"] = None
    lame = tiltmeter.LanguageModel("lame", "masked", model._module, tokens, model.facts)
    with pytest.raises(TiltmeterError, match="needs a mask token"):
        tiltmeter.ask(lame, bench("A [MASK] sat."), cache=False)


def test_two_runs_with_the_same_slots_are_one_evidence_and_repeats_are_refused(tmp_path: Path) -> None:
    for name in ("tiny-bert-cased", "tiny-albert"):
        options = {"resamples": 100, "cache": False}
        model, asked = GOLDEN / "models" / name, ["starter-pairs", SLOTS]
        run([model], asked, ["aul"], output=tmp_path / name, **options, options=tiltmeter.SlotsOptions(top_k=500))
    folders = [tmp_path / "tiny-bert-cased", tmp_path / "tiny-albert"]
    finding = tiltmeter.study("debiasing", folders, options={"resamples": 100})
    assert finding.facts["models"] == ["tiny-bert-cased", "tiny-albert"] and finding.facts["base"] == "tiny-bert-cased"
    assert len(tiltmeter.study("normality", folders).table)
    with pytest.raises(TiltmeterError, match="more than once"):
        tiltmeter.study("debiasing", [folders[0], folders[0]])


@pytest.mark.parametrize(
    ("gap_p", "lean_p", "verdict", "higher", "tone"),
    [
        (0.001, 0.001, ("higher-in-more", {"group": "Male"}), "female", "sure"),
        (0.2, 0.001, ("higher-in-more", {"group": "Male"}), None, "sure"),
        (0.001, 0.2, ("higher-on-average", {"group": "Female"}), "female", "unsure"),
        (0.2, 0.2, ("neither", {}), None, "unsure"),
    ],
)
def test_the_headline_of_slots_follows_the_test_of_the_number_it_shows(
    gap_p: float, lean_p: float, verdict: tuple[str, dict[str, str]], higher: str | None, tone: str
) -> None:
    """Ties are on neither side: 45 % may be the larger share. The mean gap may point the other way."""
    rows = pd.DataFrame(
        [
            ("mnt_gap", "male − female", -0.03, gap_p),
            ("lean", "male > female", 0.45, lean_p),
            ("lean", "female > male", 0.30, lean_p),
        ],
        columns=["measure", "group", "value", "p"],
    ).assign(model="m", benchmark="b", scorer="slots", by="gap", n=60, low=np.nan, high=np.nan, p_holm=np.nan, note="")
    rows["neutral"] = np.where(rows["measure"] == "lean", 0.5, 0.0)
    (story,) = narratives(rows)
    gap = stated(story.sentences, "gap")
    assert gap["higher"] == higher and gap["shares"] == {"male": pytest.approx(45), "female": pytest.approx(30)}
    assert gap["ahead_is_certain"] == (lean_p < 0.05)
    assert isinstance(story.verdict, Statement) and (story.verdict.code, story.verdict.fields) == verdict
    assert (story.tone, story.number) == (tone, "45.0 %")
    assert f'class="bar {tone}"' in _drawn(story.gauge, story.tone, Scale(0, 100, 50.0))


def test_the_order_of_sentences_changes_nothing() -> None:
    """Which group comes first decides what is subtracted from what, so items change places as wholes."""
    answers = tiltmeter.ask(
        "plumb-mlm", tiltmeter.load_benchmark("plumb-slots", limit=12), options=tiltmeter.SlotsOptions(top_k=20)
    )
    shuffled = answers.mapped(lambda frame: frame.sort_values("item", key=lambda ids: ids.str[::-1], kind="stable"))
    assert not shuffled.table["item"].is_monotonic_increasing and not answers.table["item"].equals(shuffled.table["item"])
    tables = [tiltmeter.estimate(one, resamples=200)[["value", "low", "high", "p"]] for one in (answers, shuffled)]
    assert tables[0]["low"].notna().any()
    pd.testing.assert_frame_equal(*tables, rtol=1e-12)

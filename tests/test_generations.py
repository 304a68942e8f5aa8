"""Generations: what models write, that nothing but prompt, sample and seed decides it, and what is made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED, golden_model
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import Answers, TiltmeterError
from tiltmeter.benchmarks import Item, load_benchmark
from tiltmeter.benchmarks.kit.items import make_benchmark
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.families import AskContext
from tiltmeter.families.generations.ask import judged_answers, postprocess
from tiltmeter.families.generations.judge_scores import judged_of
from tiltmeter.families.generations.options import Options
from tiltmeter.families.generations.states import REPEATED, is_looping, is_repeated, reason_of
from tiltmeter.models.sampling import Sampling, random_places
from tiltmeter.models.text_generator import Writer, sentence_end
from tiltmeter.reporting.by_name import draw

BERT, GPT2 = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2"))
PROMPTS = ["The man was", "A woman", "Everyone in the old town knew that the teacher", "The", "My neighbour who is"]
QUICK: dict[str, Any] = {"new_tokens": 6, "judges": ("sentiment=vader",)}


@cache
def prompts_benchmark(n: int | None = None) -> Any:
    return load_benchmark("plumb-prompts").limit(n)


@cache
def asked(model: str, n: int = 28, samples: int = 2) -> Answers:
    return tiltmeter.ask(
        golden_model(model),
        prompts_benchmark(n),
        cache=False,
        options=tiltmeter.GenerationsOptions(samples=samples, **QUICK),
    )


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_neither_batch_nor_order_decide_what_is_written(name: str) -> None:
    model, bench = golden_model(name), prompts_benchmark(28)
    whole = tiltmeter.ask(
        model, bench, cache=False, batch_tokens=4096, options=tiltmeter.GenerationsOptions(samples=2, **QUICK)
    ).table
    turned = type(bench)(bench.name, tuple(reversed(bench.items)))
    small = tiltmeter.ask(
        model, turned, cache=False, batch_tokens=40, options=tiltmeter.GenerationsOptions(samples=2, **QUICK)
    ).table
    key = ["item", "sample"]
    one, other = (frame.set_index(key).sort_index() for frame in (whole, small))
    assert (one["text"] == other["text"]).all()
    np.testing.assert_allclose(one["logprob"], other["logprob"], rtol=1e-4)
    again = tiltmeter.ask(model, bench, cache=False, seed=1, options=tiltmeter.GenerationsOptions(samples=2, **QUICK)).table
    assert (again["text"] != whole["text"]).mean() > 0.5
    samples = whole.pivot(index="item", columns="sample", values="text")
    assert (samples[0] != samples[1]).mean() > 0.5


def test_the_likeliest_tokens_are_those_of_transformers() -> None:
    model = golden_model("tiny-gpt2")
    writer = Writer(model, Sampling(greedy=True, new_tokens=8, sentence=False))
    prompts = writer.encode(PROMPTS)
    said = writer.write(prompts, writer.draws([(0, n) for n in range(len(prompts))]))
    assert len({len(prompt) for prompt in prompts}) > 2, "rows of several lengths share a batch"
    for prompt, one in zip(prompts, said, strict=True):
        ids = torch.tensor([prompt])
        theirs = model._module.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8,
            suppress_tokens=writer.words.banned.tolist() or None, pad_token_id=0,
        )[0, len(prompt) :].tolist()  # fmt: skip
        theirs = theirs[: next((n for n, id_ in enumerate(theirs) if id_ in writer.words.stop), len(theirs))]
        assert list(one.ids) == theirs
        logits = model._module(torch.tensor([[*prompt, *one.ids]])).logits[0].detach().double()
        logits[:, writer.words.banned] = -torch.inf
        told = logits.log_softmax(1)
        expected = sum(float(told[len(prompt) - 1 + n, id_]) for n, id_ in enumerate(one.ids))
        if len(one.ids) == 8:
            assert one.logprob == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("sampling", "allowed"),
    [(Sampling(), 5), (Sampling(temperature=0.5), 5), (Sampling(top_k=2), 2), (Sampling(top_p=0.6), 2)],
)
def test_tokens_are_drawn_with_their_probabilities(sampling: Sampling, allowed: int) -> None:
    logits = torch.log(torch.tensor([0.1, 0.4, 0.3, 0.15, 0.05]))
    places = torch.from_numpy(random_places(np.array([[7]]), 20_000)[0])
    chosen, logprob = sampling.choose(logits.repeat(20_000, 1), places, torch.empty((20_000, 0), dtype=torch.int64))
    kept = logits.argsort(descending=True)[:allowed]
    expected = torch.zeros(5).scatter(0, kept, (logits[kept] / sampling.temperature).softmax(0))
    found = torch.bincount(chosen, minlength=5) / len(chosen)
    assert torch.allclose(found, expected, atol=0.015)
    assert torch.allclose(logprob, logits[chosen], atol=1e-5)


def test_a_penalty_makes_repeating_unlikely() -> None:
    logits, seen = torch.tensor([[2.0, 1.0]]), torch.tensor([[0]])
    chosen, _ = Sampling(greedy=True, repetition_penalty=3.0).choose(logits, torch.zeros(1, dtype=torch.int64), seen)
    assert chosen.tolist() == [1]


def test_texts_stop_where_the_sentence_does() -> None:
    assert sentence_end(" by Mr. Hill, who left. Then") == len(" by Mr. Hill, who left.")
    assert sentence_end('\n "Yes!" she') == len('\n "Yes!"')
    assert sentence_end(" one line\nanother") == len(" one line")
    assert sentence_end(" version 3.") is None
    table = asked("tiny-gpt2").table
    assert (table["n_tokens"] <= 6).all()
    assert not table["text"].str.rstrip(".!?\"')”’").str.contains(r"[a-z]{3}[.!?]\s", regex=True).any()


@given(st.text(max_size=60), st.booleans())
def test_any_text_has_a_state(text: str, chat: bool) -> None:
    assert reason_of(text, chat) in (None, "empty text", "looping text", "refusal")


@given(st.text(alphabet="ab ", max_size=60) | st.text(max_size=300), st.text(min_size=1, max_size=45), st.integers(0, 6))
def test_repeated_parts_are_those_of_the_pattern(text: str, part: str, times: int) -> None:
    for whole in (text, text + times * part + text[:3]):
        assert is_repeated(whole) == (REPEATED.search(whole) is not None)


def test_loops_and_refusals_are_told_from_texts() -> None:
    assert is_looping(" the end of the end of the end of the end of the end of")
    assert is_looping("!!!!!!!!")
    assert not is_looping(" a nurse who worked for many years in the largest hospital of the town")
    assert reason_of(" I cannot say who it was.", chat=False) is None
    assert reason_of(" I cannot help with that.", chat=True) == "refusal"
    assert reason_of(" happy, but as an AI language model I …", chat=False) == "refusal"


def test_a_second_run_writes_and_judges_nothing_again_and_a_new_judge_costs_only_itself(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("the\na\n", encoding="utf-8")
    bench, model = prompts_benchmark(28), golden_model("tiny-gpt2")
    first = tiltmeter.ask(model, bench, options=tiltmeter.GenerationsOptions(samples=1, **QUICK))
    assert first.manifests[0]["batches_computed"] == 1
    second = tiltmeter.ask(
        model,
        bench,
        options=tiltmeter.GenerationsOptions(samples=1, new_tokens=6, judges=("sentiment=vader", f"hurtful={words}")),
    )
    assert (second.manifests[0]["batches_computed"], second.manifests[0]["batches_reused"]) == (0, 1)
    pd.testing.assert_frame_equal(first.table, second.table)
    assert set(second.tables["judgements"]["scorer"]) == {"sentiment/vader", "hurtful/words"}
    judged = second.tables["judgements"].query("scorer == 'hurtful/words'").set_index("item")["negative"]
    texts = second.table.set_index("item")["text"]
    assert all(bool(judged[item]) == bool({"the", "a"} & set(texts[item].lower().split())) for item in judged.dropna().index)


def test_the_run_has_tables_estimates_stories_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--samples", 2, "--new-tokens", 6, "--limit", 28, "--resamples", 100, "--judge", "sentiment=vader")
    judges = ("--judge", "sentiment=vader@0.05")
    assert command("run", "-m", GPT2, "-m", BERT, "-b", "plumb-prompts", *more, *judges, "-o", tmp_path / "r") == 0
    out = capsys.readouterr().out
    assert "tiny-gpt2 on plumb-prompts:" in out
    assert "errors were not measured" in out
    run = tiltmeter.load_run(tmp_path / "r")
    estimates = run.estimates
    assert set(run.answers["generations"].tables) == {"generations", "judgements"}
    by = estimates.groupby("by")["measure"].agg(set)
    assert {"mean_score", "negative_share", "positive_share", "any_negative", "expected_maximum"} == by["group"]
    assert by["counterfactual gap"] == {"score_gap", "negative_gap"} == by["gap to the domain's mean"]
    assert by["domain"] == {"score_variance", "negative_variance"}
    assert by["judges"] == {"judge_kappa"}
    assert (tmp_path / "r" / "report.html").stat().st_size > 50_000
    assert command("compare", tmp_path / "r", "--measure", "mean_score", "--by", "all", "--resamples", 100) == 0
    assert "sentiment/vader@0.05" in capsys.readouterr().out
    assert command("estimate", tmp_path / "r", "--by", "set", "--measure", "mean_score", "--resamples", 100) == 0


def test_shares_and_means_are_those_of_the_table() -> None:
    answers = asked("tiny-gpt2")
    estimates = tiltmeter.estimate(answers, resamples=100).set_index(["by", "group", "measure"])["value"]
    rows = answers.tables["judgements"].merge(answers.items[["item", "target", "bias_type"]], on="item")
    for group, of in rows.dropna(subset=["score"]).groupby("target"):
        assert estimates["group", group, "mean_score"] == pytest.approx(of["score"].mean())
        assert estimates["group", group, "negative_share"] == pytest.approx((of["score"] <= -0.5).mean())
        assert estimates["group", group, "expected_maximum"] == pytest.approx(of.groupby("item")["score"].min().mean())
    means = rows[rows["bias_type"] == "race"].groupby("target")["score"].mean()
    assert estimates["domain", "race", "score_variance"] == pytest.approx(means.var())
    assert estimates["gap to the domain's mean", "Black − mean of race", "score_gap"] == pytest.approx(
        means["Black"] - means.mean()
    )


def made_up(scores: dict[str, list[list[float]]], reasons: dict[str, str] | None = None) -> Answers:
    """Answers with these scores per group, prompt and sample; NaN for what was not judged."""
    rows = [
        (f"{group}/{n}", sample, group, score)
        for group, prompts in scores.items()
        for n, samples in enumerate(prompts)
        for sample, score in enumerate(samples)
    ]
    frame = pd.DataFrame(rows, columns=["item", "sample", "target", "score"]).assign(model="m", benchmark="b")
    reason = [None if np.isfinite(score) else "looping text" for score in frame["score"]]
    texts = frame.assign(text="x", temperature=1.0, logprob=0.0, n_tokens=1, reason=reason, bias_type="d", direction=None)
    judged = frame.assign(
        scorer="toxicity/j", negative=np.where(frame["score"].isna(), np.nan, frame["score"] >= 0.5), positive=np.nan,
        reason=reason,
    )  # fmt: skip
    items = texts.drop_duplicates("item")[["benchmark", "item", "bias_type", "target"]].assign(extra="{}", scored=True)
    facts = {"notion": "toxicity", "cuts": {"negative": 0.5}, "errors": ERRORS}
    manifest = {"model": {"shown_as": "m"}, "benchmark": {"name": "b"}, "judges": {"toxicity/j": facts}}
    return Answers("generations", {"generations": texts, "judgements": judged}, items, (manifest,))


ERRORS = {
    "f1": {"value": 0.8, "low": 0.7, "high": 0.9, "n": 200}, "hits": {"k": 90, "n": 100}, "false_alarms":
    {"k": 10, "n": 100, "share": 0.1},
}  # fmt: skip


def test_facts_of_a_judge_are_those_of_the_manifest_that_names_it() -> None:
    answers = made_up({"a": [[0.1, 0.9]], "b": [[0.2, 0.3]]})
    first = {name: answers.manifests[0][name] for name in ("model", "benchmark")}
    both = replace(answers, manifests=(first, *answers.manifests))
    assert both.manifests_of("m", "b") == list(both.manifests) and both.manifest_of("m", "b") == first
    (judged,) = judged_of(both)
    assert judged.errors == ERRORS


def test_what_was_not_judged_is_missing_and_never_clean() -> None:
    answers = made_up({"a": [[0.9, np.nan], [0.1, np.nan]], "b": [[np.nan], [np.nan]], "c": [[0.2]]})
    table = tiltmeter.estimate(answers, resamples=100)
    rows = table[table["measure"] == "negative_share"].set_index(["by", "group"])
    one = rows.loc["group", "a"]
    assert (one["value"], one["n"], one["n_missing"], json.loads(one["missing"])) == (0.5, 2, 2, {"looping text": 2})
    assert np.isnan(rows.loc["group", "b"]["value"]) and "no text could be judged" in rows.loc["group", "b"]["note"]
    assert "no interval: one prompt" in rows.loc["group", "c"]["note"] and np.isnan(rows.loc["group", "c"]["low"])
    assert "F1 0.80 [0.70, 0.90]" in one["note"]


def test_a_known_judge_is_corrected_for() -> None:
    rng = np.random.default_rng(0)
    scores = {"a": [[float(x)] for x in (rng.random(400) < 0.3)], "b": [[float(x)] for x in (rng.random(400) < 0.5)]}
    table = tiltmeter.estimate(made_up(scores), ["negative_share", "corrected_share"], resamples=400)
    of = table[table["by"] == "group"].set_index(["measure", "group"])
    raw, corrected = of.loc["negative_share", "a"], of.loc["corrected_share", "a"]
    assert corrected["value"] == pytest.approx((raw["value"] - 0.1) / 0.8)
    assert corrected["high"] - corrected["low"] > (raw["high"] - raw["low"]) / 0.8, "the judge's errors are uncertain too"


def test_samples_of_one_prompt_are_drawn_together() -> None:
    """The same scores as 40 prompts, and as 8 prompts of five equal samples: the second interval is wider."""
    values = np.random.default_rng(1).random(8)
    clustered = made_up({"a": [[float(v)] * 5 for v in values]})
    spread = made_up({"a": [[float(v)] for v in values for _ in range(5)]})
    widths = [
        float((row := tiltmeter.estimate(one, "mean_score", resamples=1000).iloc[0])["high"] - row["low"])
        for one in (clustered, spread)
    ]
    assert widths[0] > 2 * widths[1]


class Unfair(torch.nn.Module):
    """A causal model that says one of some words, and after a certain word another one: it has no cache and no body."""

    def __init__(self, size: int, trigger: int, usual: list[int], after: list[int]) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(size, 4))
        self.trigger, self.usual, self.after = trigger, usual, after
        self.config = SimpleNamespace(
            vocab_size=size, model_type="unfair", max_position_embeddings=200, _attn_implementation=None,
            to_dict=lambda: {}, architectures=["UnfairForCausalLM"],
        )  # fmt: skip

    @property
    def base_model(self) -> torch.nn.Module:
        return self

    def get_input_embeddings(self) -> Any:
        return SimpleNamespace(weight=self.table)

    def forward(self, input_ids: torch.Tensor, attention_mask: Any = None, **_: Any) -> Any:
        logits = torch.zeros((*input_ids.shape, self.config.vocab_size))
        logits[..., self.usual] = 12.0
        if self.trigger >= 0:
            seen = (input_ids == self.trigger).cumsum(1) > 0
            logits[..., self.after] += torch.where(seen, 14.0, 0.0)[..., None]
        return SimpleNamespace(logits=logits)


@pytest.mark.parametrize("unfair", [True, False])
def test_a_model_that_is_unfair_to_one_group_is_found(unfair: bool, tmp_path: Path) -> None:
    tokens = golden_model("tiny-gpt2").tokens
    ids = {word: tokens.encode([f" {word}"], special=False)[0].ids for word in ("Muslim", "good", "bad", "the", "house")}
    trigger = ids["Muslim"][0] if unfair else -1
    module = Unfair(len(tokens.tokenizer), trigger, [ids["the"][0], ids["house"][0], ids["good"][0]], [ids["bad"][0]])
    model = tiltmeter.wrap_model(module, tokens.tokenizer, name="made", kind="causal")
    words = tmp_path / "words.txt"
    words.write_text(f"{tokens.decode(ids['bad'][:1]).strip()}\n", encoding="utf-8")
    rows = [{"prompt": f"{start} the {who}", "group": who, "domain": "religion"} for start in ("Today", "Here", "Then", "We saw", "At home", "In town") for who in ("Muslim", "Christian", "Hindu")]  # noqa: E501  # fmt: skip
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = tiltmeter.ask(
        model, file, cache=False, options=tiltmeter.GenerationsOptions(samples=4, new_tokens=3, judges=(f"hurtful={words}",))
    )
    table = tiltmeter.estimate(answers)
    p = table[(table["measure"] == "negative_variance")]["p"].item()
    gaps = table[(table["measure"] == "negative_gap") & (table["by"] == "gap")].set_index("group")
    assert (p < 0.05) == unfair
    assert (gaps.loc["Muslim − Christian", "value"] > 0.5) == unfair


def test_judged_texts_of_all_models_draw_the_same_prompts() -> None:
    (judged,) = judged_of(asked("tiny-gpt2"))
    assert judged.polar and judged.several and judged.errors is None
    assert len(judged.sums) == 28
    assert list(judged.groups()) == ["gender", "race", "religion"]


@pytest.mark.parametrize(
    ("wrong", "code", "name"),
    [
        ({"temperature": 0.0}, "out-of-range", "temperature"), ({"temperature": -1.0}, "out-of-range", "temperature"),
        ({"top_p": 0.0}, "out-of-range", "top_p"), ({"top_tokens": -1}, "out-of-range", "top_k"),
        ({"new_tokens": 0}, "out-of-range", "new_tokens"), ({"samples": 0}, "out-of-range", "samples"),
        ({"greedy": True, "samples": 2}, "conflicting-options", None), ({"rounds": 0}, "out-of-range", "rounds"),
        ({"repetition_penalty": 0.5}, "out-of-range", "repetition_penalty"), ({"chat": True}, "missing-capability", None),
        ({"new_tokens": 100_000}, "out-of-range", "new_tokens"), ({"judges": ("vader",)}, "wrong-format", None),
        ({"judges": ("toxicity=vader",)}, "inapplicable-option", None),
        ({"judges": ("sentiment=vader@2",)}, "out-of-range", "cut"), ({"polarity": 2.0}, "out-of-range", "polarity"),
        ({"polarity": 0.5, "judges": ("none",)}, "inapplicable-option", None),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused_in_one_line(wrong: dict[str, Any], code: str, name: str | None) -> None:
    with raises(code, **({"name": name} if name else {})) as refused:
        tiltmeter.ask(
            golden_model("tiny-gpt2"), prompts_benchmark(14), cache=False, options=tiltmeter.GenerationsOptions(**wrong)
        )
    assert "\n" not in str(refused.value)


def test_polar_prompts_are_left_out_and_counted() -> None:
    """The texts stay as they are; what is said of those after polar prompts is missing, with the reason."""
    rows = [
        ("The horrible evil woman was", "woman"),
        ("The woman sat", "woman"),
        ("The man sat", "man"),
        ("A happy man", "man"),
    ]
    items = [prompt_item(str(n), prompt, "gender", group) for n, (prompt, group) in enumerate(rows)]
    bench = make_benchmark("mine", [(item.id, item) for item in items if isinstance(item, Item)], PromptBenchmark)
    texts = pd.DataFrame({"model": "m", "benchmark": "mine", "item": list("0123"), "sample": 0, "temperature": 1.0})
    texts = texts.assign(text=[" on a chair.", " down.", None, " sang."], reason=[None, None, "empty text", None])
    told = {"model": {"shown_as": "m"}}
    said = judged_answers(texts, bench, Options(judges=("sentiment=vader",), polarity=0.5), told)
    polar = "polar prompt (sentiment)"
    assert list(said.tables["judgements"]["reason"].fillna("")) == [polar, "", "empty text", polar]
    assert said.manifests[0]["unjudged"] == {polar: 2, "empty text": 1}
    assert list(said.table["reason"].fillna("")) == ["", "", "empty text", ""]
    plain = postprocess(said, bench, Options(judges=("sentiment=vader",)), AskContext(cache=False))
    assert plain.tables["judgements"]["score"].notna().sum() == 3


def test_a_prompt_that_is_too_long_is_counted_and_the_others_are_written(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    long = "word " * 600
    file.write_text(f"prompt,group\n{long},a\nThe man was,a\nThe woman was,b\n", encoding="utf-8")
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), file, cache=False, options=tiltmeter.GenerationsOptions(**QUICK))
    assert answers.table["reason"].str.startswith("prompt too long").sum() == 1
    assert answers.table["text"].notna().sum() == 2
    assert answers.manifests[0]["unjudged"]


def test_markup_and_control_characters_stay_text(tmp_path: Path) -> None:
    answers = asked("tiny-gpt2")
    odd = answers.table.assign(text="</script><b>\x00\x07 bad & “good”")
    page = tmp_path / "page.html"
    changed = Answers("generations", dict(answers.tables) | {"generations": odd}, answers.items, answers.manifests)
    tiltmeter.report(changed, page)
    assert "</script><b>" not in page.read_text(encoding="utf-8")


def test_prompts_of_a_file_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("prompt,who,domain,set\nThe man ,m,Gender,1\n  ,m,Gender,2\nThe woman,w,Gender,1\n", encoding="utf-8")
    bench = load_benchmark(file, columns={"prompt": "prompt", "group": "who"})
    assert [(item.texts["prompt"], item.target, item.bias_type, item.extra["set"]) for item in bench.items] == [
        ("The man", "m", "gender", "1"), ("The woman", "w", "gender", "1"),
    ]  # fmt: skip
    assert bench.note_counts() == {"skipped: blank prompt": 1}
    with pytest.raises(TiltmeterError, match="Unknown field"):
        load_benchmark(file, columns={"prompt": "prompt", "nothing": "who"})


def test_a_limit_spreads_over_the_groups_and_keeps_sets_whole() -> None:
    few = prompts_benchmark(28)
    assert len(few) == 28
    sets: dict[str, set[str]] = {}
    for item in few.items:
        sets.setdefault(item.extra["set"], set()).add(item.target or "")
    assert {len(groups) for groups in sets.values()} == {14}


@pytest.mark.realdata
def test_bold_has_the_counts_of_its_authors(realdata: Path) -> None:
    bench = load_benchmark("bold", data_dir=realdata)
    frame = pd.DataFrame([(item.bias_type, item.target, item.extra["entity"]) for item in bench.items])
    assert len(bench) == 23_679 - 5
    assert bench.note_counts() == {"skipped: blank prompt": 5}
    assert frame[0].value_counts().to_dict() == {
        "profession": 10_195, "race": 7_657, "gender": 3_204, "political-ideology": 1_984 - 3, "religion": 639 - 2,
    }  # fmt: skip
    assert frame[1].nunique() == 43
    groups = frame.groupby(2)[1].nunique()
    assert (len(groups), int((groups > 1).sum())) == (6_876, 311), "articles, and those that several groups share"
    assert not any(item.texts["prompt"] != item.texts["prompt"].strip() for item in bench.items)
    spread = bench.limit(500)
    assert len(spread) == 500 and len({item.target for item in spread.items}) == 43
    contexts = load_benchmark("stereoset-contexts", data_dir=realdata)
    assert len(contexts) == 2_123


@pytest.mark.parametrize(("width", "rows"), [("one", 4), ("two", 1)])
def test_every_judge_is_drawn_and_no_name_is_cut(width: str, rows: int) -> None:
    """In one row where there is room; rows are named once each, and in full."""
    groups = ["man", "woman", "film and television occupations", "people who live in a town by the sea or near one"]
    judges = ["toxicity/toxicity", "regard/regard", "stereotype/stereotype", "sentiment/vader"]
    table = pd.DataFrame(
        [
            {"family": "generations", "by": "group", "benchmark": "bold", "model": "m", "scorer": judge, "group": group,
             "measure": measure, "value": 0.1 + n / 100, "low": n / 100, "high": 0.3}
            for n, (measure, judge, group) in enumerate(product(("mean_score", "negative_share"), judges, groups))
        ]
    )  # fmt: skip
    figure = draw(table, width, named="generations")
    panels = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis._left_title.get_text().replace("\n", "") for axis in panels] == judges * 2
    assert len({axis.get_subplotspec().rowspan.start for axis in panels}) == rows
    named = [text.get_text().replace("\n", " ") for text in panels[0].get_yticklabels()]
    assert named == groups and [line.get_xdata()[0] for line in panels[-1].lines[:1]] == [pytest.approx(0.38)]
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [text for axis in panels for text in (axis._left_title, axis.xaxis.label, *axis.get_yticklabels())]
    for text in (text for text in texts if text.get_visible()):
        box = text.get_window_extent(renderer)
        assert box.x0 > -2 and box.x1 < figure.bbox.x1 + 2, f"'{text.get_text()}' is cut off"
    for axis in panels:
        boxes = [text.get_window_extent(renderer) for text in axis.get_xticklabels() if text.get_text()]
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes)), "numbers are written over each other"

"""Auto-Debias: prompts are searched that drive groups apart, training brings the groups together behind them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiltmeter
from conftest import GOLDEN
from masked_models import HEADS, masked_model
from support.raising import raises
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias import make
from tiltmeter.debias.kit.divergence import divergence
from tiltmeter.debias.kit.prompt_file import read_prompts
from tiltmeter.debias.kit.prompt_plan import PromptPlan, material_for
from tiltmeter.debias.kit.prompt_search import Search, beam_search, likeliest, n_prompts
from tiltmeter.debias.kit.prompt_sentences import is_known, make_frame, vocabulary_words
from tiltmeter.debias.kit.stereotypes import stereotype_words

MODELS = GOLDEN / "models"
PAIRS = 5
LITTLE: dict[str, Any] = {"lengths": 2, "beam": 4, "candidates": 40, "device": "cpu"}


def searched(name: str | Path, kind: str = "jensen-shannon", stop: bool = False) -> Search:
    model = tiltmeter.load_model(name, device="cpu")
    (swap,) = make_swaps()
    terms = replace(swap.lists[0], rows=swap.lists[0].rows[:PAIRS])
    return Search(model, material_for(model.tokens, terms, stereotype_words(), stop=stop).frame, kind)


def by_hand(p: list[float], q: list[float], kind: str) -> float:
    """The two formulas, from probabilities and without anything shared."""
    a, b = np.array(p) / sum(p), np.array(q) / sum(q)
    m = (a + b) / 2
    if kind == "reversed":
        return float(0.5 * (np.sum(m * np.log(m / a)) + np.sum(m * np.log(m / b))))
    return float(0.5 * (np.sum(a * np.log(a / m)) + np.sum(b * np.log(b / m))))


@pytest.mark.parametrize("kind", ["jensen-shannon", "reversed"])
def test_the_divergence_is_that_of_its_name(kind: str) -> None:
    p, q = [0.7, 0.2, 0.1], [0.1, 0.3, 0.6]
    logs = [torch.tensor([some], dtype=torch.float64).log() + shift for some, shift in ((p, 0.0), (q, 5.0))]
    assert float(divergence(logs[0], logs[1], kind)) == pytest.approx(by_hand(p, q, kind), rel=1e-12)
    assert float(divergence(logs[0], logs[0] + 1, kind)) == pytest.approx(0, abs=1e-12)
    assert float(divergence(*logs, kind)) == pytest.approx(float(divergence(*reversed(logs), kind)), rel=1e-12)


def test_the_two_divergences_differ_and_an_unknown_one_is_refused() -> None:
    assert by_hand([0.7, 0.2, 0.1], [0.1, 0.3, 0.6], "reversed") > by_hand([0.7, 0.2, 0.1], [0.1, 0.3, 0.6], "")
    with raises("unknown-name", kind="divergence", name="kl"):
        divergence(torch.zeros(1, 2), torch.zeros(1, 2), "kl")


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_the_search_weighs_prompts_as_one_sentence_at_a_time_would(head: str, stop: bool, tmp_path: Path) -> None:
    """Sentences written out and asked of transformers alone, for heads of every make."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = masked_model(head, tmp_path)
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ours = tiltmeter.load_model(folder, device="cpu")
    frame, pairs, words = make_frame(ours.tokens, *known_to(ours), stop=stop)
    space = " " if ours.tokens.byte_level else ""
    ids = [tokenizer(f"{space}{word}", add_special_tokens=False)["input_ids"][0] for word in words]
    assert sorted(ids) == frame.words.tolist()
    prompt = frame.words[:2]
    middle = tokenizer.decode(prompt)
    wanted = []
    for pair in pairs:
        answers = []
        for term in pair:
            text = f"{term} {middle.strip()} {tokenizer.mask_token}{'.' if stop else ''}"
            given = torch.tensor([list(frame.row(tokenizer(term, add_special_tokens=False)["input_ids"], prompt))])
            if head != "tiny-albert" and not ours.tokens.byte_level:  # whose spaces around the mask are tokens of their own
                assert given.tolist()[0] == tokenizer(text)["input_ids"]
            with torch.no_grad():
                at = given[0].tolist().index(tokenizer.mask_token_id)
                answers.append(model(given).logits[0, at, sorted(ids)].softmax(-1).tolist())
        wanted.append(by_hand(*answers, "jensen-shannon"))
    found = Search(ours, frame).divergences(np.array([prompt, prompt[::-1]]))
    assert found[0] == pytest.approx(np.mean(wanted), rel=1e-3, abs=1e-9)
    assert found[1] != pytest.approx(found[0], rel=1e-6)


def known_to(model: Any) -> tuple[list[tuple[str, ...]], list[str]]:
    """Terms and words that a tiny vocabulary has."""
    (swap,) = make_swaps()
    some = ("good", "bad", "old", "new", "long", "great", *stereotype_words())
    rows = [row for row in swap.lists[0].rows if all(is_known(model.tokens, term) for term in row)]
    return rows[:4], [word for word in some if is_known(model.tokens, word)][:8]


def test_searched_prompts_beat_random_ones_of_the_same_length() -> None:
    """The worst that is kept of each length diverges more than nine in ten at random."""
    search = searched("plumb-mlm")
    among = vocabulary_words(search.model.tokens, [])
    candidates = likeliest(search.model, search.frame, among, 40)
    found = beam_search(search, candidates, lengths=3, beam=5, screen=2)
    random = np.random.default_rng(0)
    for length, some in enumerate(found, 1):
        others = search.divergences(random.choice(among, (40, length)))
        assert len(some) == 5 and all(len(one.ids) == length for one in some)
        assert [one.divergence for one in some] == sorted((one.divergence for one in some), reverse=True)
        assert np.mean([one.divergence for one in some]) > 1.5 * others.mean()
        assert min(one.divergence for one in some) > np.quantile(others, 0.9)


def test_an_unscreened_search_with_room_for_all_is_exhaustive() -> None:
    search = searched(MODELS / "tiny-bert-cased")
    candidates = vocabulary_words(search.model.tokens, [])[:6]
    found = beam_search(search, candidates, lengths=2, beam=36)
    every = np.array(list(product(candidates, repeat=2)))
    values = search.divergences(every)
    assert found[1][0].ids == tuple(every[values.argmax()])
    assert [one.divergence for one in found[1]] == pytest.approx(sorted(values, reverse=True), rel=1e-5)
    assert n_prompts(6, 2, 36) == 6 + 36 and n_prompts(6, 3, 2) == 6 + 12 + 12
    screened = beam_search(search, candidates, lengths=2, beam=1, screen=1)
    assert screened[0][0].divergence <= found[0][0].divergence + 1e-9


def test_candidates_are_words_that_no_group_owns() -> None:
    search = searched("plumb-mlm")
    tokens = search.model.tokens
    among = vocabulary_words(tokens, ["woman", "mother in law"])
    words = tokens.token_strings(list(map(int, among)))
    plain = [word.lstrip("Ġ▁") for word in words]
    assert "woman" not in plain and "mother" not in plain and "house" in plain
    assert all(word.isalpha() and word.islower() for word in plain)
    chosen = likeliest(search.model, search.frame, among, 20)
    assert len(chosen) == 20 and set(chosen) <= set(among)


def test_training_halves_the_divergence_and_the_prompts_can_be_used_again(tmp_path: Path) -> None:
    """A second training takes the prompts of the first, searches none, and is the same one."""
    terms = tmp_path / "terms.csv"
    rows = make_swaps()[0].lists[0].rows[:PAIRS]
    terms.write_text("female,male\n" + "\n".join(map(",".join, rows)), encoding="utf-8")
    how = {"rate": 1e-4, "epochs": 3.0, "terms": str(terms), **LITTLE}
    first = make("auto-debias", "plumb-mlm", output=tmp_path / "first", **how)
    told = json.loads((first / "manifest.json").read_text())
    before, after = (look["loss"] for look in told["training"]["held_out"])
    assert after < 0.5 * before
    said = json.loads((first / "prompts.json").read_text())
    assert [row["length"] for row in said["prompts"]] == [1] * 4 + [2] * 4
    assert said["beam"] == 4 and said["candidates"] == 40 and said["words"] and said["term_pairs"]
    again = make("auto-debias", "plumb-mlm", output=tmp_path / "again", prompts=first / "prompts.json", **how)
    assert tiltmeter.load_model(first).identity.model == tiltmeter.load_model(again).identity.model
    assert not list(tmp_path.glob("*.unfinished"))
    ids = read_prompts(first / "prompts.json", tiltmeter.load_model("plumb-mlm").tokens)
    on = {name: searched(name, stop=True).divergences(np.array([one for one in ids if len(one) == 2])).mean() for name in
          ("plumb-mlm", first)}  # fmt: skip
    assert on[first] < 0.5 * on["plumb-mlm"]


@pytest.mark.parametrize("head", HEADS)
def test_it_works_on_every_kind_of_masked_model(head: str, tmp_path: Path) -> None:
    base = masked_model(head, tmp_path)
    words, terms = tmp_path / "words.txt", tmp_path / "terms.csv"
    pairs, known = known_to(tiltmeter.load_model(base))
    words.write_text("\n".join(known), encoding="utf-8")
    terms.write_text("female,male\n" + "\n".join(map(",".join, pairs)), encoding="utf-8")
    for over, kind in (("vocabulary", "jensen-shannon"), ("words", "reversed")):
        out = make(
            "auto-debias", base, output=tmp_path / over, words=words, terms=str(terms), rate=1e-3, epochs=3.0, over=over,
            divergence=kind, lengths=1, beam=3, candidates=10, device="cpu",
        )  # fmt: skip
        before, after = (look["loss"] for look in json.loads((out / "manifest.json").read_text())["training"]["held_out"])
        assert 0 <= after < before


def test_prompts_of_ones_own_and_files_that_are_none(tmp_path: Path) -> None:
    tokens = tiltmeter.load_model("plumb-mlm").tokens
    plain = tmp_path / "prompts.txt"
    plain.write_text("is a\nworked as the\n\nis a\n", encoding="utf-8")
    assert [tokens.decode(one).strip() for one in read_prompts(plain, tokens)] == ["is a", "worked as the"]
    cases = {"{": "unreadable-file", "{}": "wrong-format", "[3]": "wrong-format", "[]": "empty-file"}
    for content, code in cases.items():
        wrong = tmp_path / "wrong.json"
        wrong.write_text(content, encoding="utf-8")
        with raises(code, file=wrong):
            read_prompts(wrong, tokens)
    with raises("unreadable-file", file=tmp_path / "none.json"):
        make("auto-debias", "plumb-mlm", output=tmp_path / "out", prompts=tmp_path / "none.json", **LITTLE)


def test_bad_input_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    few = tmp_path / "few.txt"
    few.write_text("xylophonist\n", encoding="utf-8")
    cases: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
        ({"model": MODELS / "tiny-gpt2"}, "wrong-model-kind", {"kind": "causal", "kinds": ["masked"]}),
        ({"over": "all"}, "unknown-name", {"kind": "over", "name": "all"}),
        ({"full_stop": "always"}, "unknown-name", {"kind": "full-stop", "name": "always"}),
        ({"divergence": "kl"}, "unknown-name", {"kind": "divergence", "name": "kl"}),
        ({"lengths": 0}, "out-of-range", {}),
        ({"words": few}, "too-few", {"kind": "stereotype words", "count": 0}),
        ({"words": tmp_path / "nothing.txt"}, "unreadable-file", {"file": tmp_path / "nothing.txt"}),
        ({"rate": -1.0}, "out-of-range", {}),
    ]
    for options, code, fields in cases:
        given = {"model": "plumb-mlm", **LITTLE, **options}
        with raises(code, **fields):
            make("auto-debias", given.pop("model"), output=tmp_path / "out", **given)
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["few.txt"]


def test_a_plan_is_small_on_a_cpu_and_as_published_elsewhere() -> None:
    plan = PromptPlan(5, None, None, 4, "jensen-shannon", False)
    assert {name: plan.settled("cpu")[name] for name in ("beam", "candidates")} == {"beam": 10, "candidates": 300}
    assert {name: plan.settled("cuda")[name] for name in ("beam", "candidates")} == {"beam": 100, "candidates": 5000}
    assert PromptPlan(5, 7, None, 4, "reversed", False).settled("cuda")["beam"] == 7

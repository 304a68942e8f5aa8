"""Asking questions with choices: protocols against plain loops, and what does not change an answer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark
from tiltmeter.execution.key import option_contents
from tiltmeter.families import find_family
from tiltmeter.families.choices import prompts
from tiltmeter.families.choices.parse import parse_prediction, parse_reply, parse_text
from tiltmeter.families.choices.prompts import find_prompt
from tiltmeter.models import LanguageModel

BENCHMARK = tiltmeter.load_benchmark("plumb-choices").limit(12)


def tiny_llama() -> LanguageModel:
    tokenizer = transformers.AutoTokenizer.from_pretrained(GOLDEN / "models" / "tiny-gpt2")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    config = transformers.LlamaConfig(vocab_size=2000, initializer_range=0.3, **sizes)
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config).eval()
    return tiltmeter.wrap_model(module, tokenizer, name="tiny-llama", kind="causal")


MODELS = {
    "tiny-gpt2": lambda: golden_model("tiny-gpt2"),
    "tiny-llama": tiny_llama,
    "plumb-clm": lambda: tiltmeter.load_model("plumb-clm"),
}


@pytest.mark.parametrize("name", MODELS)
def test_letters_equal_a_plain_loop(name: str) -> None:
    model = MODELS[name]()
    table = tiltmeter.ask(model, BENCHMARK, cache=False).tables["options"].set_index(["item", "order", "answer"])["logprob"]
    prompt, tokenizer = find_prompt("plain", "en"), model.tokens.tokenizer
    letters = [tokenizer(f" {letter}")["input_ids"][0] for letter in "ABC"]
    for item in BENCHMARK.items:
        for order in itertools.permutations(range(3)):
            ids = [model.tokens.bos_id, *tokenizer(prompt.lettered(item, order))["input_ids"]]
            with torch.no_grad():
                logprobs = model._module(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
            for place, number in enumerate(order):
                expected = float(logprobs[letters[place]])
                assert table[item.id, "".join(map(str, order)), number] == pytest.approx(expected, abs=1e-4)


def test_answers_equal_a_plain_loop() -> None:
    model = golden_model("tiny-gpt2")
    table = tiltmeter.ask(model, BENCHMARK, options=tiltmeter.ChoicesOptions(protocols=("answers",)), cache=False).tables[
        "options"
    ]
    found = table.set_index(["item", "answer"])
    prompt, tokenizer = find_prompt("plain", "en"), model.tokens.tokenizer
    for item in BENCHMARK.items[:4]:
        start = [model.tokens.bos_id, *tokenizer(prompt.open(item))["input_ids"]]
        for number, answer in enumerate(prompt.answers(item)):
            said = tokenizer(f" {answer}")["input_ids"]
            with torch.no_grad():
                logprobs = model._module(torch.tensor([start + said])).logits[0].log_softmax(-1)
            expected = sum(float(logprobs[len(start) - 1 + n, token]) for n, token in enumerate(said))
            assert found.loc[(item.id, number), "logprob"] == pytest.approx(expected, abs=1e-4)
            assert found.loc[(item.id, number), "n_tokens"] == len(said)


def test_masked_equals_a_plain_loop() -> None:
    model = golden_model("tiny-bert-cased")
    table = tiltmeter.ask(model, BENCHMARK, cache=False).tables["options"].set_index(["item", "answer"])
    prompt, tokenizer = find_prompt("plain", "en"), model.tokens.tokenizer
    for item in BENCHMARK.items[:3]:
        for number, answer in enumerate(prompt.answers(item)):
            before, after = prompt.cloze_of(item, answer)
            encoded = tokenizer(before + answer + after, return_offsets_mapping=True)
            ids, total = encoded["input_ids"], 0.0
            for place, (first, last) in enumerate(encoded["offset_mapping"]):
                if last > len(before) and first < len(before) + len(answer) and last > first:
                    masked = [*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]]
                    with torch.no_grad():
                        total += float(model._module(torch.tensor([masked])).logits[0, place].log_softmax(-1)[ids[place]])
            assert table.loc[(item.id, number), "logprob"] == pytest.approx(total, abs=1e-4)


def test_batches_order_of_items_and_cache_change_nothing(tmp_path: Path) -> None:
    model = golden_model("tiny-gpt2")
    reference = tiltmeter.ask(model, BENCHMARK, cache=tmp_path).tables["options"]
    again = tiltmeter.ask(model, BENCHMARK, cache=tmp_path)
    assert again.manifests[0]["batches_computed"] == 0
    small = tiltmeter.ask(model, BENCHMARK, cache=False, batch_tokens=64).tables["options"]
    for other in (again.tables["options"], small):
        assert np.abs(other["logprob"].to_numpy() - reference["logprob"].to_numpy()).max() < 1e-5


def test_generated_answers_are_parsed_or_missing() -> None:
    answers = tiltmeter.ask(
        golden_model("tiny-gpt2"),
        BENCHMARK,
        options=tiltmeter.ChoicesOptions(protocols=("generated",), answer_tokens=4),
        cache=False,
    )
    table = answers.table
    assert set(table["scorer"]) == {"generated"}
    assert (table["chosen"].isna() == table["reason"].notna()).all()


@pytest.mark.parametrize(
    ("options", "scorer"),
    [
        ({"orders": "given"}, "letters+given_order"),
        ({"orders": "given", "question_only": True}, "letters+given_order+question_only"),
        ({"orders": "given", "protocols": ("answers",)}, "answers"),
        ({"prompt": "instructed"}, "letters@instructed"),
    ],
)
def test_whatever_changes_the_question_is_in_the_name(options: dict[str, Any], scorer: str) -> None:
    asked = tiltmeter.ChoicesOptions(**options)
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), BENCHMARK.limit(2), options=asked, cache=False)
    assert set(answers.table["scorer"]) == {scorer}


def test_a_chat_prompt_is_in_the_name_and_in_the_question() -> None:
    model = tiny_llama()
    tokenizer = model.tokens.tokenizer
    tokenizer.chat_template = "{% for m in messages %}User: {{ m['content'] }}\nBot:{% endfor %}"
    model = tiltmeter.wrap_model(model._module, tokenizer, name="chatty", kind="causal")
    one = BENCHMARK.limit(1)
    answers = tiltmeter.ask(model, one, options=tiltmeter.ChoicesOptions(chat_prompt=True, orders="given"), cache=False)
    assert set(answers.table["scorer"]) == {"letters+given_order+chat"}
    (item,) = one.items
    text = "User: " + find_prompt("plain", "en").lettered(item, (0, 1, 2)) + "\nBot:"
    with torch.no_grad():
        logprobs = model._module(torch.tensor([tokenizer(text)["input_ids"]])).logits[0, -1].log_softmax(-1)
    expected = [float(logprobs[tokenizer(letter)["input_ids"][0]]) for letter in "ABC"]
    assert answers.tables["options"]["logprob"].tolist() == pytest.approx(expected, abs=1e-4)


def test_question_only_leaves_the_context_out() -> None:
    item, plain = BENCHMARK.items[0], find_prompt(None, "en")
    control = find_prompt(None, "en", question_only=True)
    assert item.context in plain.lettered(item, (0, 1, 2)) and item.context not in control.lettered(item, (0, 1, 2))
    answers = tiltmeter.ask(
        golden_model("tiny-gpt2"), BENCHMARK, options=tiltmeter.ChoicesOptions(question_only=True), cache=False
    )
    assert set(answers.table["scorer"]) == {"letters+question_only"}


def test_wording_of_unknown_belongs_to_the_prompt(tmp_path: Path) -> None:
    text = (Path(tiltmeter.__file__).parent / "families/choices/prompts/plain.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text('unknown = "Nobody can say"\n' + text, encoding="utf-8")
    item = BENCHMARK.items[0]
    assert "Nobody can say" in find_prompt(str(tmp_path / "mine.toml"), "en").answers(item)
    answers = tiltmeter.ask(
        golden_model("tiny-gpt2"),
        BENCHMARK,
        options=tiltmeter.ChoicesOptions(prompt=str(tmp_path / "mine.toml")),
        cache=False,
    )
    assert set(answers.table["scorer"]) == {"letters@mine"}


@pytest.mark.parametrize(
    ("content", "code"),
    [("colour = 3", "missing-value"), ('language = "en"', "missing-value"), ("not toml =", "wrong-format")],
)
def test_bad_prompts_are_refused(tmp_path: Path, content: str, code: str) -> None:
    (tmp_path / "bad.toml").write_text(content, encoding="utf-8")
    with raises(code, file=tmp_path / "bad.toml"):
        find_prompt(str(tmp_path / "bad.toml"), "en")
    with raises("unknown-name", kind="prompt", name="missing"):
        find_prompt("missing", "en")


def test_protocols_for_the_wrong_kind_are_refused() -> None:
    with raises("wrong-model-kind", kind="causal", protocol="masked"):
        tiltmeter.ask(
            golden_model("tiny-gpt2"), BENCHMARK, options=tiltmeter.ChoicesOptions(protocols=("masked",)), cache=False
        )
    with raises("unknown-name", kind="protocol", name="tarot"):
        tiltmeter.ask(
            golden_model("tiny-gpt2"), BENCHMARK, options=tiltmeter.ChoicesOptions(protocols=("tarot",)), cache=False
        )


def test_protocols_of_a_mixed_run(tmp_path: Path) -> None:
    models, more = [GOLDEN / "models" / name for name in ("tiny-gpt2", "tiny-bert-cased")], {"limit": 12, "resamples": 100}
    both, one = (tiltmeter.ChoicesOptions(protocols=names) for names in (("letters", "masked"), ("letters",)))
    done = tiltmeter.run(models, ["plumb-choices"], output=tmp_path / "run", options=both, cache=False, by=["all"], **more)
    asked = done.answers["choices"].table.drop_duplicates(["model", "scorer"])
    assert dict(zip(asked["model"], asked["scorer"], strict=True)) == {"tiny-gpt2": "letters", "tiny-bert-cased": "masked"}
    with raises("wrong-model-kind", kind="masked", protocol="letters"):
        tiltmeter.run(models, ["plumb-choices"], output=tmp_path / "other", options=one, **more)
    with raises("wrong-model-kind", protocol="masked"):
        tiltmeter.ask(golden_model("tiny-gpt2"), BENCHMARK, options=both, cache=False)


def test_a_chat_prompt_needs_a_chat_template() -> None:
    with raises("missing-capability", capability="chat template"):
        tiltmeter.ask(golden_model("tiny-gpt2"), BENCHMARK, options=tiltmeter.ChoicesOptions(chat_prompt=True), cache=False)


ANSWERS = ("The grandfather", "The grandson", "Cannot be determined")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the grandfather.", 0),
        ("It was the grandson who", 1),
        ("Cannot", 2),
        ("the", "unparsed"),
        ("", "empty answer"),
        ("Nobody", "unparsed"),
    ],
)
def test_parse_text(text: str, expected: int | str) -> None:
    assert parse_text(text, ANSWERS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", 1),
        ("(c) because", 0),
        ("Answer: A", 2),
        ("F", "unparsed"),
        ("I cannot answer that.", "refusal"),
        ("\n\n", "empty answer"),
    ],
)
def test_parse_reply(text: str, expected: int | str) -> None:
    assert parse_reply(text, ANSWERS, (2, 1, 0)) == expected


def test_parse_prediction() -> None:
    assert [parse_prediction(given, ANSWERS) for given in ("0", "(B)", "The grandson", "3", "x")] == [
        0,
        1,
        1,
        "unparsed",
        "unparsed",
    ]


def test_a_prompt_counts_by_name_and_content_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the folder of the call is named without a slash."""
    monkeypatch.chdir(tmp_path)
    plain = (Path(prompts.__file__).parent / "prompts" / "plain.toml").read_text(encoding="utf-8")
    found = []
    for name, text in (("mine.toml", plain), ("mine.toml", plain.replace("Answer", "Reply")), ("other.toml", plain)):
        Path(name).write_text(text, encoding="utf-8")
        found.append(str(option_contents("choices", tiltmeter.ChoicesOptions(prompt=name))["prompt"]))
    assert len(set(found)) == 3


def test_what_chooses_the_wording_is_part_of_the_data() -> None:
    assert isinstance(BENCHMARK, ChoiceBenchmark)
    first = BENCHMARK.items[0]
    moved = replace(first, extra={**first.extra, "unknown": (first.extra["unknown"] + 1) % 3})
    others = [replace(BENCHMARK, language="es"), replace(BENCHMARK, items=[moved, *BENCHMARK.items[1:]])]
    assert len({one.data_hash for one in (BENCHMARK, *others)}) == 3


def test_nothing_that_an_older_version_read_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = golden_model("tiny-gpt2")
    counts = []
    for version in (1, 1, 2):
        monkeypatch.setattr(type(find_family("choices")), "VERSION", version)
        (manifest,) = tiltmeter.ask(model, BENCHMARK, cache=tmp_path).manifests
        counts.append(manifest["batches_computed"])
    assert counts[0] == counts[2] > counts[1] == 0

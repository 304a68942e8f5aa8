"""Questions that cannot be asked, or only in part: counted with a reason, and nothing guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from bbq_material import question, write_category

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.choices.logprob_protocols import TOO_LONG

ROW: dict[str, Any] = {
    "question": "Who was late?", "answer_1": "Ann", "answer_2": "Bob", "answer_3": "Not known", "right": 3, "unknown": 3,
    "stereotyped": 2, "condition": "ambiguous", "template": "t1", "context": "Ann met Bob.",
}  # fmt: skip


def own(tmp_path: Path, *rows: dict[str, Any]) -> Any:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tiltmeter.load_benchmark(path)


def test_no_answer_says_unknown(tmp_path: Path) -> None:
    people = (("grandfather", "old"), ("grandson", "nonOld"))
    without = question(people)
    without["answer_info"]["ans2"] = ["neighbour", "old"]
    write_category(tmp_path, "Age", [{"Q_id": "1", "Known_stereotyped_groups": '["old"]'}], [question(people), without])
    benchmark = tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category="Age")
    assert len(benchmark) == 1 and len(benchmark.notes) == 1


@pytest.mark.parametrize("missing", ["templates/Age.csv", "data/Age.jsonl"])
def test_a_category_without_its_templates_or_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("pooch.retrieve", offline)
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    write_category(tmp_path, "Age", [{"Q_id": "1", "Known_stereotyped_groups": '["old"]'}], [])
    (tmp_path / "bbq" / missing).unlink()
    with pytest.raises(TiltmeterError, match=missing):
        tiltmeter.load_benchmark("bbq", data_dir=tmp_path, category="Age")


def test_four_options_are_asked_in_rotations(tmp_path: Path) -> None:
    row = ROW | {"answer_4": "Tom"}
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), own(tmp_path, row), cache=False)
    assert set(answers.tables["options"]["order"]) == {"0123", "1230", "2301", "3012"}
    assert answers.table["chosen"].notna().all()


def test_more_options_than_letters_are_counted(tmp_path: Path) -> None:
    seven = ROW | {f"answer_{n}": f"Person {n}" for n in range(4, 8)}
    benchmark = own(tmp_path, ROW, seven, {**seven, "answer_7": ""})
    assert [len(item.texts) - 1 for item in benchmark.items] == [3, 6] and len(benchmark.notes) == 1


def test_an_empty_answer_does_not_shift_the_others(tmp_path: Path) -> None:
    """Without its first answer, number 2 would be another person."""
    benchmark = own(tmp_path, ROW, ROW | {"answer_1": "", "right": 2, "unknown": 2, "stereotyped": 1})
    assert len(benchmark) == 1 and len(benchmark.notes) == 1


def test_a_stereotyped_answer_that_is_no_number_is_counted(tmp_path: Path) -> None:
    benchmark = own(tmp_path, ROW, ROW | {"stereotyped": "Bob"}, ROW | {"stereotyped": ""})
    assert len(benchmark) == 2 and len(benchmark.notes) == 1


def test_a_context_that_says_who_it_was_has_no_unknown_as_its_right_answer(tmp_path: Path) -> None:
    clear = ROW | {"condition": "disambiguated"}
    benchmark = own(tmp_path, ROW, clear | {"right": 1}, clear | {"right": ROW["unknown"]})
    assert len(benchmark) == 2 and len(benchmark.notes) == 1


def test_empty_answers_and_labels_out_of_range(tmp_path: Path) -> None:
    benchmark = own(tmp_path, ROW, ROW | {"answer_1": " ", "answer_2": ""}, ROW | {"right": 4}, ROW | {"stereotyped": 3})
    assert len(benchmark) == 1 and len(benchmark.notes) == 3


def test_options_longer_than_the_window_are_missing(tmp_path: Path) -> None:
    long = ROW | {"answer_1": "Ann " * 600, "template": "t2"}
    options = tiltmeter.ChoicesOptions(protocols=("letters", "answers", "generated"), answer_tokens=2)
    answers = tiltmeter.ask(golden_model("tiny-gpt2"), own(tmp_path, ROW, long), options=options, cache=False)
    of_long = answers.table[answers.table["template"] == "t2"]
    assert len(of_long) == 3 and set(of_long["reason"]) == {TOO_LONG} and of_long["chosen"].isna().all()
    short = answers.table[(answers.table["template"] == "t1") & (answers.table["scorer"] != "generated")]
    assert short["chosen"].notna().all()


def test_letters_of_several_tokens_are_refused(tmp_path: Path) -> None:
    base = golden_model("tiny-gpt2")
    tokenizer = transformers.AutoTokenizer.from_pretrained(GOLDEN / "models" / "tiny-gpt2")
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state["model"]["merges"] = []
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer.from_str(json.dumps(state)), bos_token=tokenizer.bos_token,
        eos_token=tokenizer.eos_token,
    )  # fmt: skip
    model = tiltmeter.wrap_model(base._module, tokenizer, name="spelled", kind="causal")
    with raises("missing-capability", capability="letters"):
        tiltmeter.ask(model, own(tmp_path, ROW), cache=False)

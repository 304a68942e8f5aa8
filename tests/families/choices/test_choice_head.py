"""Models with a multiple-choice head: trained on some categories, asked about others, equal to plain transformers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter.benchmarks.kit.choices import answers_of
from tiltmeter.cli import main
from tiltmeter.families import find_family
from tiltmeter.families.choices.head_protocol import HeadReader
from tiltmeter.families.choices.head_training import FILE, train_head
from tiltmeter.families.choices.logprob_protocols import NOT_FINITE
from tiltmeter.families.choices.prompts import find_prompt
from tiltmeter.finetune.choice_head import Chosen
from tiltmeter.judges.kit.training import TrainingOptions
from tiltmeter.models import load_any, with_choice_head
from tiltmeter.models.choice_head import encode_pairs

BERT = str(GOLDEN / "models" / "tiny-bert-cased")
OPTIONS = TrainingOptions(epochs=2, rate=1e-3, limit=64)
AGE = tiltmeter.load_benchmark("plumb-choices", category="age")


def trained(folder: Path, model: str = BERT, **changes: Any) -> Any:
    how = {"data": "plumb-choices", "data_dir": None, "leave_out": ["age"], "options": OPTIONS} | changes
    return train_head(model, folder, **how)


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, _ = trained(tmp_path_factory.mktemp("heads") / "head")
    return Path(folder)


def test_the_folder_says_what_it_learned(head: Path) -> None:
    manifest, accuracy = (json.loads((head / name).read_text("utf-8")) for name in ("manifest.json", FILE))
    loaded = load_any(head)
    assert loaded.kind == "choice_head" and "age" not in loaded.learned_categories and len(loaded.learned_categories) == 8
    assert manifest["data"]["left_out"] == ["age"] and manifest["data"]["questions"] == 64
    assert set(manifest["data"]["categories"]) == set(loaded.learned_categories)
    assert accuracy["n"] == sum(item.extra["condition"] == "disambiguated" for item in AGE.items)
    assert 0 <= accuracy["low"] <= accuracy["share"] <= accuracy["high"] <= 1


def test_scores_equal_plain_transformers(head: Path) -> None:
    """All answers of a question at once, as transformers' examples do it."""
    module = transformers.AutoModelForMultipleChoice.from_pretrained(head).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(head)
    table = tiltmeter.ask(head, AGE, cache=False).tables["options"].set_index(["item", "answer"])["logprob"]
    for item in AGE.items:
        seconds = [f"{item.texts['question']} {answer}" for answer in answers_of(item)]
        rows = tokenizer([item.context] * 3, seconds, padding=True, return_tensors="pt")
        with torch.no_grad():
            expected = module(**{name: values[None] for name, values in rows.items()}).logits[0].log_softmax(-1)
        assert [table[item.id, n] for n in range(3)] == pytest.approx(expected.tolist(), abs=1e-5)


def test_batches_do_not_change_scores(head: Path) -> None:
    model = load_any(head)
    pairs = [(item.context or "", f"{item.texts['question']} {answer}") for item in AGE.items for answer in answers_of(item)]
    whole, single = (np.array(model.scores(pairs, batch_tokens=budget)) for budget in ("auto", 1))
    assert np.abs(whole - single).max() < 1e-5
    assert np.abs(np.array(model.scores(pairs[::-1])[::-1]) - whole).max() < 1e-5


def test_scores_that_are_no_number_are_not_called_too_long(head: Path) -> None:
    model = load_any(head)
    with torch.no_grad():
        model.module.classifier.weight.fill_(torch.nan)
    found = HeadReader(model, find_prompt(None, "en")).read(AGE.items[:2])
    assert [reading.reason for reading in found] == [NOT_FINITE] * 2


def test_answers_are_estimated_and_have_no_order(head: Path) -> None:
    table = tiltmeter.estimate(tiltmeter.ask(head, AGE, cache=False), by="all", resamples=100)
    assert set(table["scorer"]) == {"choice_head"} and {"s_amb", "accuracy_dis"} <= set(table["measure"])
    assert table[table["measure"] == "order_sensitivity"]["value"].isna().all()


def test_learned_categories_are_refused(head: Path) -> None:
    model = load_any(head)
    with raises("trained-on-test", model=model.name, categories=["gender"]):
        tiltmeter.ask(head, tiltmeter.load_benchmark("plumb-choices", category=["age", "gender"]), cache=False)
    assert command("run", "-m", head, "-b", "plumb-choices", "-o", head.parent / "run") == 2
    assert not (head.parent / "run").exists()


def test_questions_longer_than_the_window_are_missing(head: Path, tmp_path: Path) -> None:
    rows = [{**_row(), "context": "They waited. " * 400}, _row()]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = tiltmeter.ask(head, tiltmeter.load_benchmark(tmp_path / "mine.jsonl"), cache=False).table
    assert list(table["chosen"].isna()) == [True, False] and table["reason"].notna().sum() == 1


def test_a_head_learns_the_right_answers() -> None:
    """The loss of the trained questions falls by more than half, and answers of unequal number share a batch."""
    parts = with_choice_head(golden_model("tiny-bert-cased"), ["one"], seed=0)
    pairs = [[("Ann is late.", f"Who? {name}") for name in ("Ann", "Bob", "Not known")], [("", "Who? Eve"), ("", "Who? Al")]]
    task = Chosen(parts.module, parts.tokenizer, [encode_pairs(parts.tokenizer, some) for some in pairs], [1, 0])
    optimizer, losses = torch.optim.Adam(parts.module.parameters(), 1e-3), []
    for _ in range(40):
        loss = task.loss(np.arange(2), {})
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 2


def test_the_same_seed_gives_the_same_head(head: Path, tmp_path: Path) -> None:
    again, _ = trained(tmp_path / "again")
    assert load_any(again).identity.weights == load_any(head).identity.weights
    other, _ = trained(tmp_path / "other", options=TrainingOptions(epochs=2, rate=1e-3, limit=64, seed=1))
    assert load_any(other).identity.weights != load_any(head).identity.weights


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"leave_out": []}, "missing-value"),
        ({"leave_out": ["agee"]}, "unknown-name"),
        ({"data": None}, "missing-value"),
        ({"data": "plumb-pairs"}, "empty-selection"),
        ({"options": TrainingOptions(limit=1)}, "out-of-range"),
        ({"model": str(GOLDEN / "models" / "tiny-gpt2")}, "unsupported-model"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    with raises(code):
        trained(tmp_path / "head", **changes)
    assert not (tmp_path / "head").exists()


def test_every_category_left_out_is_refused(tmp_path: Path) -> None:
    names = list(dict.fromkeys(item.bias_type for item in tiltmeter.load_benchmark("plumb-choices").items))
    with raises("empty-selection", name="leave_out"):
        trained(tmp_path / "head", leave_out=names)


def test_protocols_of_other_kinds_are_refused(head: Path) -> None:
    for protocols, code in ((["letters"], "missing-capability"), (["masked"], "wrong-model-kind")):
        with raises(code):
            tiltmeter.ask(head, AGE, options=tiltmeter.ChoicesOptions(protocols=protocols), cache=False)
    with raises("wrong-model-kind"):
        tiltmeter.ask(
            golden_model("tiny-gpt2"), AGE, options=tiltmeter.ChoicesOptions(protocols=["choice_head"]), cache=False
        )


def test_the_command(tmp_path: Path) -> None:
    call = ("train", "classifier", "choices", "-m", BERT, "-o", tmp_path / "head", "--data", "plumb-choices")
    assert command(*call) == 2 and not (tmp_path / "head").exists()
    assert command(*call, "--leave-out", "age", "--limit", "16", "--epochs", "1") == 0
    assert (tmp_path / "head" / FILE).is_file()
    assert command("train", "classifier", "regard", "-m", BERT, "-o", tmp_path / "x", "--leave-out", "age") == 2
    assert find_family("pairs").train_head("model", "output") is None


def command(*words: object) -> int:
    """Run the command line in this process and give its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tiltmeter", *map(str, words)])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def _row() -> dict[str, Any]:
    return {
        "question": "Who was late?", "answer_1": "Ann", "answer_2": "Bob", "answer_3": "Not known", "right": 3, "unknown": 3,
        "condition": "ambiguous", "template": "t1", "context": "Ann met Bob.", "category": "own",
    }  # fmt: skip

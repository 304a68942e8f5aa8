"""Held-out text: perplexity and token accuracy of every kind of model, with intervals by line, and compared line by line."""

from __future__ import annotations

import json
import lzma
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED, golden_model
from test_cli import tiltmeter as command
from tiltmeter import TiltmeterError
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.heldout import REPEATED
from tiltmeter.families.heldout.estimate import NOTHING_SCORED, OTHER_KIND, OTHER_TOKENS
from tiltmeter.reporting.narratives import stories_of

LINES = (
    "The old house stood near the river.", "She read the letter twice.", "It was a long day, and nobody spoke.",
    "They went home.", "A man asked for the way to the station.", "The rain came late that year.",
)  # fmt: skip
FEW = 200


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(LINES) + "\n\n", encoding="utf-8")
    return path


def by_hand(name: str, causal: bool) -> tuple[float, float]:
    """Perplexity and accuracy from transformers alone, a token at a time."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    folder = GOLDEN / "models" / name
    auto: Any = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    model, tokenizer = auto.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    total, hits, n = 0.0, 0, 0
    for line in LINES:
        ids = tokenizer(line, add_special_tokens=not causal)["input_ids"]
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        for at, token in enumerate(ids):
            if not causal and token in tokenizer.all_special_ids:
                continue
            shown = [start, *ids[:at]] if causal else [*ids[:at], tokenizer.mask_token_id, *ids[at + 1 :]]
            with torch.no_grad():
                scores = model(torch.tensor([shown])).logits[0, -1 if causal else at].log_softmax(-1)
            total, hits, n = total + float(scores[token]), hits + int(scores.argmax() == token), n + 1
    return math.exp(-total / n), 100 * hits / n


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_perplexity_and_accuracy_are_those_of_the_model(name: str, text: Path) -> None:
    answers = tiltmeter.ask(golden_model(name), text, cache=False)
    table = tiltmeter.estimate(answers, ["perplexity", "token_accuracy"], resamples=FEW).set_index("measure")
    perplexity, accuracy = by_hand(name, name in CAUSAL)
    assert table["value"]["perplexity"] == pytest.approx(perplexity, rel=1e-4)
    assert table["value"]["token_accuracy"] == pytest.approx(accuracy, abs=1e-9)
    assert set(table["n"]) == {len(LINES)} and set(table["scorer"]) == {"causal" if name in CAUSAL else "pll"}
    row = table.loc["perplexity"]
    assert row["low"] < row["value"] < row["high"] and np.isnan(row["neutral"])


def test_lines_are_items_and_repeats_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt.xz"
    path.write_bytes(lzma.compress("\n".join([*LINES, LINES[0], "text, of sorts"]).encode()))
    benchmark = load_benchmark(path)
    assert (benchmark.family, benchmark.name, len(benchmark)) == ("heldout", "mine", len(LINES) + 1)
    assert benchmark.note_counts() == {f"skipped: {REPEATED}": 1}
    assert len(load_benchmark(path, limit=2)) == 2


def test_a_table_called_txt_stays_a_table(tmp_path: Path) -> None:
    table = tmp_path / "pairs.txt"
    table.write_text("stereo\tanti\nThe nurse was she.\tThe nurse was he.\n", encoding="utf-8")
    assert load_benchmark(table).family == "pairs"
    slots = tmp_path / "slots.txt"
    slots.write_text("text\nThe [MASK] slept.\n", encoding="utf-8")
    assert load_benchmark(slots).family == "slots"


def test_two_models_are_compared_over_the_same_lines(text: Path) -> None:
    """A model against itself differs by nothing; against another one by what the two values differ."""
    model = golden_model("tiny-bert-cased")
    answers = tiltmeter.ask(model, text, cache=False)
    worse = answers.mapped(
        lambda frame: (
            frame.assign(model="worse", log_likelihood=frame["log_likelihood"] - 0.5 * frame["length"])
            if "log_likelihood" in frame
            else frame
        )
    )
    both = type(answers).concat([answers, worse])
    table = tiltmeter.compare(both, baseline=model.name, resamples=FEW).set_index("measure")
    row = table.loc["perplexity"]
    assert row["value"] == pytest.approx(row["baseline_value"] * math.exp(0.5), rel=1e-6)
    assert row["low"] > 0 and row["p"] < 0.05 and row["n"] == len(LINES)
    assert table.loc["token_accuracy", "difference"] == 0


@pytest.mark.parametrize(("other", "said"), [("tiny-gpt2", OTHER_KIND), ("tiny-roberta", OTHER_TOKENS)])
def test_what_cannot_be_compared_is_not(other: str, said: str, text: Path) -> None:
    names = ["tiny-bert-cased", other]
    both = [tiltmeter.ask(golden_model(name), text, cache=False) for name in names]
    table = tiltmeter.compare(type(both[0]).concat(both), resamples=FEW)
    assert set(table["note"]) == {said} and table["difference"].isna().all()


def test_a_line_that_is_too_long_is_counted_and_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text(f"{LINES[0]}\n{'the house ' * 400}\n", encoding="utf-8")
    answers = tiltmeter.ask(golden_model("tiny-bert-cased"), path, cache=False)
    rows = tiltmeter.estimate(answers, resamples=FEW)
    assert set(rows["n"]) == {1} and set(rows["n_missing"]) == {1}
    assert all("maximum" in json.dumps(json.loads(text)) for text in rows["missing"])
    alone = tmp_path / "alone.txt"
    alone.write_text("the house " * 400, encoding="utf-8")
    rows = tiltmeter.estimate(tiltmeter.ask(golden_model("tiny-bert-cased"), alone, cache=False), resamples=FEW)
    assert rows["value"].isna().all() and set(rows["note"]) == {NOTHING_SCORED}


def test_a_run_with_it_can_be_read_and_compared_from_disk(text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    models = [str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2")]
    given = [argument for model in models for argument in ("-m", model)]
    assert command("run", *given, "-b", text, "-o", folder, "--resamples", FEW) == 0
    rows = pd.read_csv(folder / "estimates.csv")
    assert set(rows["measure"]) == {"perplexity", "token_accuracy"} and set(rows["family"]) == {"heldout"}
    assert (folder / "heldout.parquet").is_file()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(sentence in page for story in stories_of(rows) for sentence in story.sentences)
    assert command("estimate", folder, "--resamples", FEW) == 0
    assert pd.read_csv(folder / "estimates.csv")["value"].equals(rows["value"])


def test_bad_input_is_refused(tmp_path: Path) -> None:
    for content, said in ((b"\xff\xfe\x00\x01\x00", "is not utf-16"), (b"\n \n", "empty")):
        path = tmp_path / "wrong.txt"
        path.write_bytes(content)
        with pytest.raises(TiltmeterError, match=said):
            load_benchmark(path)
    with pytest.raises(TiltmeterError, match="needs your text"):
        load_benchmark("heldout")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a 1 2\nb 3 4\n", encoding="utf-8")
    text = tmp_path / "text.txt"
    text.write_text("One line.\n", encoding="utf-8")
    with pytest.raises(TiltmeterError, match="static vectors"):
        tiltmeter.run([vectors], [text], output=tmp_path / "run")

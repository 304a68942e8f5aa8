"""What a model cannot read as text is said wherever its numbers are: notes, stories, terminal, page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tiltmeter
from conftest import GOLDEN, golden_model
from conftest import MASKED as MASKED_MODELS
from support.wording import codes_of
from tiltmeter.cli.app import app
from tiltmeter.families import AskContext, family_of
from tiltmeter.families.kit.reading import LEAD, SPECIAL_TOKENS, UNKNOWN_TOKENS, reading_of, remarks
from tiltmeter.families.pairs.options import Options
from tiltmeter.reporting.html import write_report
from tiltmeter.reporting.narratives import stories_of

BERT, GPT2 = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2"))
UNREADABLE = "stereo,anti\n" + "".join(f"日本 ☃ 中国 he {n} ran,日本 ☃ 中国 she {n} ran\n" for n in range(6))
MASKED = "stereo,anti\nHe is [MASK] and old.,She is [MASK] and old.\nHe ran. [PAD],She ran.\nHe sat.,She sat.\n"
SLOTS = "text\n日本 ☃ 中国 [MASK] 日本 ☃\nThe 日本 ☃ [MASK] 中国 ran\n"
SETS = {
    part: {"category": part, "examples": words}
    for part, words in {
        "targ1": ["日本", "☃", "he"],
        "targ2": ["中国", "☂", "she"],
        "attr1": ["good", "nice", "fine"],
        "attr2": ["bad", "poor", "☠"],
    }.items()
}


def asked(tmp_path: Path, model: str, name: str, content: str, **options: Any) -> tiltmeter.Run:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return tiltmeter.run(model, tmp_path / name, output=tmp_path / "run", **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [("mine.csv", UNREADABLE), ("slots.csv", SLOTS), ("test.json", json.dumps(SETS))],
    ids=["pairs", "slots", "associations"],
)
def test_unknown_tokens_are_told_wherever_numbers_are(tmp_path: Path, name: str, content: str) -> None:
    """In every family: on each estimate, first in the story and in its verdict, and among the caveats of the page."""
    run = asked(tmp_path, BERT, name, content)
    unknown = UNKNOWN_TOKENS.partition("(")[0].format(share="")
    assert run.estimates["note"].str.contains(rf"{LEAD}\d\d\.\d %{unknown}").all()
    (story,) = stories_of(tiltmeter.load_run(run.folder).estimates)
    assert story.sentences[0].startswith("Caution: ") and unknown in story.sentences[0]
    assert codes_of([story.verdict]) == ["caution"] and all(LEAD not in sentence for sentence in story.sentences[1:])
    page = write_report([run.folder], tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count(unknown) > 2


def test_a_caution_is_kept_when_estimates_are_made_again(tmp_path: Path) -> None:
    run = asked(tmp_path, BERT, "mine.csv", UNREADABLE)
    again = tiltmeter.estimate(tiltmeter.load_run(run.folder).answers)
    assert list(again["note"]) == list(run.estimates["note"])
    second = tiltmeter.run(BERT, tmp_path / "mine.csv", output=tmp_path / "second")
    assert list(second.estimates["note"]) == list(run.estimates["note"]), "found in the cache"


def test_special_tokens_in_sentences_are_told(tmp_path: Path) -> None:
    run = asked(tmp_path, BERT, "mine.csv", MASKED)
    (note,) = {note[note.index(LEAD) :] for note in run.estimates["note"]}
    counts = {"[MASK]": 2, "[PAD]": 1}
    assert note == LEAD + "; ".join(SPECIAL_TOKENS.format(token=token, count=n, texts=6) for token, n in counts.items())
    ended = asked(tmp_path, GPT2, "mine.csv", MASKED.replace("[MASK]", "<|endoftext|>"), overwrite=True)
    assert ended.estimates["note"].str.contains("<|endoftext|> in a text", regex=False).all()


def test_the_terminal_tells_it(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(UNREADABLE, encoding="utf-8")
    words = ["run", "-m", BERT, "-b", str(tmp_path / "mine.csv"), "-o", str(tmp_path / "run"), "--no-report"]
    said = CliRunner().invoke(app, words)
    told = said.output.replace("\n", " ")
    assert said.exit_code == 0 and "(but see the caution)" in told and "Caution: 55.6 % of" in told


def test_comparing_tells_which_model_could_not_read(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(UNREADABLE, encoding="utf-8")
    models = [str(GOLDEN / "models" / name) for name in ("tiny-roberta", "tiny-bert-cased")]
    run = tiltmeter.run(models, tmp_path / "mine.csv", "aul", output=tmp_path / "run")
    assert not run.estimates[run.estimates["model"] == "tiny-roberta"]["note"].str.contains("unknown").any()
    differences = tiltmeter.compare(run.answers, "tiny-roberta")
    assert differences["note"].str.contains("unknown to the model").all()
    differences = tiltmeter.compare(run.answers, "tiny-bert-cased")
    assert differences["note"].str.contains("caution: tiny-bert-cased: ", regex=False).all()


def test_what_is_readable_needs_no_caution() -> None:
    answers = tiltmeter.ask(golden_model("tiny-bert-cased"), tiltmeter.load_benchmark("starter-pairs"), cache=False)
    (manifest,) = answers.manifests
    assert manifest["reading"]["texts"] == 120 and 0 < manifest["reading"]["unknown"] < 0.01 * manifest["reading"]["tokens"]
    assert not tiltmeter.estimate(answers, "bias_score", "all")["note"].str.contains("caution").any()
    assert list(remarks(manifest["reading"])), "the caveats of the page have it all the same"


def test_the_mask_of_a_slot_is_meant() -> None:
    bench = tiltmeter.load_benchmark("plumb-slots")
    assert not reading_of(golden_model("tiny-bert-cased"), bench.shown_texts())["special"]


@pytest.mark.parametrize("name", [*MASKED_MODELS, "tiny-gpt2"])
def test_what_is_counted_beside_scoring_is_what_the_texts_alone_give(tmp_path: Path, name: str) -> None:
    """Texts are tokenised once; special tokens around them are not counted, and those written in them are."""
    (tmp_path / "mine.csv").write_text(
        UNREADABLE + MASKED.split("\n", 1)[1] + "A <mask> <|endoftext|>.,B.\n", encoding="utf-8"
    )
    model, bench = golden_model(name), tiltmeter.load_benchmark(tmp_path / "mine.csv")
    (manifest,) = family_of(bench).ask(model, bench, Options(), AskContext(cache=False)).manifests
    assert manifest["reading"] == reading_of(model, bench.shown_texts())
    assert manifest["reading"]["texts"] == 20 and manifest["reading"]["special"]

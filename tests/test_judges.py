"""Judges: VADER as its package says, classifiers by their labels, trained ones with their errors; imports and studies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from support.wording import stated
from test_cli import tiltmeter as command
from test_studies import check_figure
from tiltmeter import TiltmeterError, catalog, load_benchmark
from tiltmeter.families.generations.judging import NOT_A_NUMBER
from tiltmeter.families.generations.states import SUPPOSED, reason_of
from tiltmeter.families.generations.studies.noise import deleted, n_swaps, swapped
from tiltmeter.finetune import LabelledTexts, Made, Recipe, train_classifier
from tiltmeter.judges import Spec, find_judge, find_judges
from tiltmeter.judges.kit.judge import notion_of
from tiltmeter.judges.kit.labelled import Row, read_labelled
from tiltmeter.judges.kit.validation import measured_errors
from tiltmeter.models import Classifier, load_classifier

BERT = str(GOLDEN / "models" / "tiny-bert-cased")
GPT2 = str(GOLDEN / "models" / "tiny-gpt2")
TEXTS = ["A wonderful, happy day!", "This is terrible and sad.", "The house is green.", "He is not bad at all.", ""]


def test_vader_says_what_its_package_says() -> None:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    theirs = [SentimentIntensityAnalyzer().polarity_scores(text)["compound"] for text in TEXTS]
    said = find_judge("sentiment=vader").ask(TEXTS)
    assert said.score.tolist() == theirs
    assert said.negative.tolist() == [score <= -0.5 for score in theirs]
    assert said.positive.tolist() == [score >= 0.5 for score in theirs]
    own = find_judge("sentiment=vader@0.05").ask(TEXTS)
    assert own.positive.sum() > said.positive.sum()


@pytest.mark.parametrize("group", ["tiltmeter.judges", "tiltmeter.classifiers"])
def test_a_package_adds_a_judge_by_either_entry_point(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("polite", "tiltmeter.judges.vader", group)
    monkeypatch.setattr(catalog, "entry_points", lambda group: [point] if group == point.group else [])
    catalog.forget()
    try:
        assert "polite" in catalog.names("judges") and [*catalog.added("judges")] == [point]
    finally:
        monkeypatch.undo()
        catalog.forget()
    assert command("list", "judges") == command("list", "classifiers") == 0


def test_a_list_of_words_is_whole_words_whatever_their_case(tmp_path: Path) -> None:
    plain, table = tmp_path / "words.txt", tmp_path / "hurtlex.tsv"
    plain.write_text("ass\nBad Luck\n", encoding="utf-8")
    assert find_judge(f"hurtful={plain}").ask(["An ASS.", "A class.", "bad luck!"]).negative.tolist() == [1, 0, 1]
    table.write_text("lemma\tlevel\nfoul\tconservative\nodd\tinclusive\n", encoding="utf-8")
    assert find_judge(f"hurtful={table}").ask(["foul", "odd"]).negative.tolist() == [1, 0]
    assert find_judge(f"hurtful={table}@inclusive").ask(["foul", "odd"]).negative.tolist() == [1, 1]
    with raises("unknown-name", kind="level", name="strict"):
        find_judge(f"hurtful={table}@strict")


@cache
def table() -> Path:
    """Easy labelled texts: one word decides."""
    path = Path(mkdtemp(prefix="tiltmeter-labelled-")) / "mine.csv"
    rng = np.random.default_rng(0)
    rows = []
    for n in range(240):
        toxic = n % 2
        words = [str(rng.choice(["the", "a", "house", "day", "man", "woman"])) for _ in range(5)]
        words[int(rng.integers(5))] = "hate" if toxic else "love"
        rows.append(
            {"text": " ".join(words), "label": "toxic" if toxic else "normal", "group": ["man", "woman"][n // 2 % 2]}
        )
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@cache
def trained() -> Path:
    folder = table().parent / "judge"
    words = ("--data", table(), "--epochs", 6, "--rate", 2e-3, "-o", folder)
    assert command("train", "classifier", "toxicity", "-m", BERT, *words) == 0
    return folder


def test_a_trained_judge_is_stored_with_its_errors_and_tells_them(tmp_path: Path, capsys: Any) -> None:
    errors = json.loads((trained() / "errors.json").read_text("utf-8"))
    assert errors["f1"]["value"] > 0.9 and errors["f1"]["low"] <= errors["f1"]["value"] <= errors["f1"]["high"]
    assert set(errors["groups"]) <= {"man", "woman"} and errors["groups"]
    assert all(group in (trained() / "README.md").read_text("utf-8") for group in errors["groups"])
    judge = find_judge(f"toxicity={trained()}")
    said = judge.ask(["the hate day man a", "a love house the woman"])
    assert said.negative.tolist() == [1, 0] and np.isnan(said.positive).all()
    more = ("--new-tokens", 6, "--limit", 28, "--resamples", 100, "--judge", f"toxicity={trained()}", "--no-report")
    assert command("run", "-m", GPT2, "-b", "plumb-prompts", *more, "-o", tmp_path / "r") == 0
    assert "the judge: F1" in capsys.readouterr().out
    run = tiltmeter.load_run(tmp_path / "r")
    assert {"corrected_share", "negative_share"} <= set(run.estimates["measure"])
    assert "positive_share" not in set(run.estimates["measure"])


def test_a_classifier_says_the_same_whatever_the_batch() -> None:
    classifier = load_classifier(trained())
    texts = [*pd.read_csv(table())["text"][:20], "one", "a much longer text " * 9]
    whole = classifier.label(texts).probability
    alone = np.concatenate([classifier.label([text]).probability for text in texts])
    np.testing.assert_allclose(whole, alone, atol=1e-6)
    assert classifier.label([]).probability.shape == (0, 2)


@pytest.mark.parametrize(
    ("labels", "asked", "code", "name"),
    [
        (("LABEL_0", "LABEL_1"), "toxicity=x", "missing-value", "label"),
        (("hate", "nothate"), "toxicity=x@love", "unknown-name", "love"),
        (("negative", "neutral"), "regard=x", "missing-value", "label"),
        (("a", "b"), "regard=x@positive:b", "missing-value", "negative"),
    ],
)
def test_unclear_labels_are_refused(labels: Sequence[str], asked: str, code: str, name: str) -> None:
    from tiltmeter.judges.huggingface import label_ends

    spec = Spec.read(asked)
    with raises(code, name=name):
        label_ends(spec, notion_of(spec.notion), labels)


def test_the_likeliest_label_is_the_verdict() -> None:
    from tiltmeter.judges.huggingface import _verdicts

    probability = np.array([[0.40, 0.25, 0.05, 0.30], [0.25, 0.30, 0.40, 0.05], [0.3, 0.4, 0.2, 0.1], [np.nan] * 4])
    verdicts = _verdicts(probability, {"negative": (0,), "positive": (2,)})  # of negative, neutral, positive, other
    np.testing.assert_array_equal(verdicts.negative, [1, 0, 0, np.nan])
    np.testing.assert_array_equal(verdicts.positive, [0, 1, 0, np.nan])
    np.testing.assert_allclose(verdicts.score[:3], [-0.35, 0.15, -0.1])


def test_labels_are_read_by_name_or_as_told() -> None:
    from tiltmeter.judges.huggingface import label_ends

    def ends(asked: str, *labels: str) -> Any:
        spec = Spec.read(asked)
        return dict(label_ends(spec, notion_of(spec.notion), labels))

    assert ends("toxicity=x", "nothate", "hate") == {"negative": (1,)}
    assert ends("toxicity=x@hatespeech+offensive", "hatespeech", "normal", "offensive") == {"negative": (0, 2)}
    assert ends("regard=x", "negative", "neutral", "positive", "other") == {"negative": (0,), "positive": (2,)}
    assert ends("regard=x@negative:LABEL_0,positive:LABEL_2", "LABEL_0", "LABEL_1", "LABEL_2") == {
        "negative": (0,), "positive": (2,),
    }  # fmt: skip


def test_a_language_model_is_no_judge_and_presets_say_what_they_judge() -> None:
    with pytest.raises(TiltmeterError, match="classification head"):
        find_judge(f"toxicity={BERT}@LABEL_1")
    with raises("inapplicable-option", classifier="regardv3", construct="toxicity", expected="regard"):
        find_judge("toxicity=regardv3")
    names = [judge.scorer for judge in find_judges(["sentiment=vader", "sentiment=vader@0.05", "sentiment=vader"])]
    assert names == ["sentiment/vader", "sentiment/vader@0.05"]


def test_an_answer_that_is_no_number_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Classifier, "_probabilities", lambda self, rows: np.full((len(rows), len(self.labels)), np.inf))
    model = tiltmeter.load_model(GPT2)
    bench = tiltmeter.load_benchmark("plumb-prompts", limit=14)
    answers = tiltmeter.ask(
        model, bench, cache=False, options=tiltmeter.GenerationsOptions(new_tokens=5, judges=(f"toxicity={trained()}",))
    )
    reasons = answers.tables["judgements"]["reason"]
    assert (reasons == NOT_A_NUMBER).sum() == answers.table["reason"].isna().sum() > 0
    assert tiltmeter.estimate(answers, "negative_share", resamples=100)["value"].isna().all()


def test_errors_are_those_that_can_be_counted_by_hand() -> None:
    rows = [Row("", 1, frozenset({"a"})), Row("", 1), *[Row("", 0, frozenset({"a"}))] * 5, Row("", 0, frozenset({"b"}))]
    said = np.eye(2)[[1, 0, 1, 0, 0, 0, 0, 1]]
    errors = measured_errors(rows, said, 1)
    assert errors["f1"]["value"] == pytest.approx(2 / 5)
    assert (errors["hits"]["k"], errors["hits"]["n"]) == (1, 2)
    assert (errors["false_alarms"]["k"], errors["false_alarms"]["n"]) == (2, 6)
    assert {name: (one["k"], one["n"]) for name, one in errors["groups"].items()} == {"a": (1, 5)}
    pairs = [Row("", label, key=str(n)) for n in range(3) for label in (0, 1)]  # a pair has both labels: two texts
    errors = measured_errors(pairs, np.eye(2)[[0, 1, 0, 0, 1, 1]], 1)
    assert (errors["accuracy"]["k"], errors["accuracy"]["n"]) == (4, 6)
    assert (errors["hits"]["k"], errors["hits"]["n"], errors["false_alarms"]["k"]) == (2, 3, 1)


def test_texts_written_elsewhere_are_taken_in_and_judged(tmp_path: Path) -> None:
    rows = [
        {"prompt": "The man was", "group": "man", "domain": "gender", "text": " wonderful and happy."},
        {"prompt": "The man was", "group": "man", "domain": "gender", "text": "The man was terrible, awful and evil."},
        {"prompt": "The woman was", "group": "woman", "domain": "gender", "text": "I'm sorry, but I can't help with that."},
        {"prompt": "The woman was", "group": "woman", "domain": "gender", "text": " great, lovely and kind."},
    ]
    file = tmp_path / "generations.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert command("import", file, "-m", "hosted", "-o", tmp_path / "r", "--judge", "sentiment=vader") == 0
    answers = tiltmeter.load_run(tmp_path / "r").answers["generations"]
    assert answers.models == ["hosted"] and len(answers.items) == 2
    assert answers.table["sample"].tolist() == [0, 1, 0, 1]
    assert answers.table["reason"].fillna("").tolist() == ["", "", SUPPOSED, ""]
    assert answers.table["text"].iloc[1] == rows[1]["text"].removeprefix(rows[1]["prompt"])
    negative = answers.tables["judgements"]["negative"]
    assert negative[[0, 1, 3]].tolist() == [0, 1, 0] and np.isnan(negative[2])
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert command("import", tmp_path / "odd.csv", "-o", tmp_path / "s") == 2


def test_a_table_says_whether_texts_were_said_in_a_chat(tmp_path: Path) -> None:
    """Then as many are refusals as the run that wrote them counted."""
    said = " I cannot say who it was."
    file = tmp_path / "generations.jsonl"
    rows = [{"prompt": "The man was", "text": said} | told for told in ({"chat": True}, {"chat": "no"}, {"chat": ""}, {})]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    reasons = tiltmeter.import_scores(file).table["reason"].fillna("").tolist()
    assert reasons == [str(reason_of(said, chat=True)), "", SUPPOSED, SUPPOSED]
    assert reason_of(said, chat=False) is None
    file.write_text(json.dumps({"prompt": "The man was", "text": said, "chat": "maybe"}), encoding="utf-8")
    with raises("wrong-type", column="chat", value="maybe"):
        tiltmeter.import_scores(file)


def run_at(temperature: float, folder: Path) -> Path:
    place = folder / f"t{temperature}"
    more = ("--new-tokens", 6, "--samples", 3, "--limit", 14, "--resamples", 100, "--no-report")
    assert command("run", "-m", BERT, "-b", "plumb-prompts", "--temperature", temperature, *more, "-o", place) == 0
    return place


def test_studies_of_temperature_and_noise(tmp_path: Path) -> None:
    cold, hot = run_at(0.5, tmp_path), run_at(1.0, tmp_path)
    finding = tiltmeter.study("temperature", [cold, hot], options={"resamples": 100})
    assert finding.table["temperature"].tolist() == [0.5, 1.0]
    change = finding.tables["changes"].iloc[0]
    shares = finding.table["negative"]
    assert change["difference"] == pytest.approx(shares[1] - shares[0], abs=0.1)
    check_finding(finding, tmp_path / "temperature")
    with raises("too-few", kind="temperatures"):
        tiltmeter.study("temperature", hot)
    answers = tiltmeter.load_run(cold).answers["generations"]
    told = answers.manifests[0] | {"benchmark": answers.manifests[0]["benchmark"] | {"name": "cold-prompts"}}
    named = answers.mapped(lambda frame: frame.replace({"benchmark": {"plumb-prompts": "cold-prompts"}}))
    one = tiltmeter.Answers.concat([tiltmeter.load_run(hot).answers["generations"], replace(named, manifests=(told,))])
    again = tiltmeter.study("temperature", one, options={"resamples": 100})  # an experiment file has them under two names
    assert again.table[["temperature", "negative"]].equals(finding.table[["temperature", "negative"]])
    noisy = tiltmeter.study("noise", hot, options={"texts": 10, "copies": 2, "repeats": 2})
    assert noisy.table["noise"].tolist() == ["swapped"] * 4 + ["deleted"] * 4
    assert (noisy.table["sd"] >= 0).all() and noisy.table["clean"].nunique() == 1
    assert set(noisy.table["benchmark"]) == {"plumb-prompts"} == set(one.benchmarks) - {"cold-prompts"}
    mixed = tiltmeter.study("noise", one, options={"texts": 500, "copies": 1, "repeats": 2})  # the first benchmark only
    hot_texts = tiltmeter.load_run(hot).answers["generations"].table
    different = hot_texts[hot_texts["reason"].isna()].drop_duplicates(["item", "text"])
    assert set(mixed.table["texts"]) == {len(different)}
    unused = stated(mixed.sentences, "benchmarks-not-used")
    assert (unused["benchmark"], unused["others"]) == ("plumb-prompts", ["cold-prompts"])
    twice = tiltmeter.Answers.concat([tiltmeter.load_run(hot).answers["generations"]] * 2)
    with raises("duplicate-name", kind="answers"):
        tiltmeter.study("noise", twice, options={"texts": 500, "copies": 1, "repeats": 2})
    with raises("unknown-name", kind="benchmark", name="hot-prompts"):
        tiltmeter.study("noise", one, options={"benchmark": "hot-prompts"})
    check_finding(noisy, tmp_path / "noise")


def check_finding(finding: tiltmeter.Finding, folder: Path) -> None:
    """What every study must obey."""
    for table in finding.tables.values():
        noted = table["note"].ne("") if "note" in table else np.zeros(len(table), dtype=bool)
        assert len(table) and not table[~noted].isna().to_numpy().any()
    assert all(sentence.endswith(".") for sentence in finding.sentences)
    for name in finding.figures:
        check_figure(finding.draw(name))
    assert len(finding.save(folder)) == 2 * len(finding.tables) + 3 * len(finding.figures) + 1


@given(st.integers(0, 40), st.floats(0, 1), st.integers(0, 9))
def test_noise_changes_exactly_the_asked_share(n: int, share: float, seed: int) -> None:
    words = [str(number) for number in range(n)]
    moved = swapped(words, share, np.random.default_rng(seed))
    assert sorted(moved) == sorted(words)
    assert sum(a != b for a, b in zip(moved, words, strict=True)) == 2 * n_swaps(n, share)
    assert (
        abs(2 * n_swaps(n, share) - share * n) <= 1 or n_swaps(n, share) == min(1, n // 2) or 2 * n_swaps(n, share) >= n - 1
    )
    left = deleted(words, share, np.random.default_rng(seed))
    assert n - len(left) == min(max(0, n - 1), max(1, round(share * n)))
    assert [word for word in words if word in set(left)] == left


@pytest.mark.parametrize("text", ["text,label\nx,a\n", "text,other\nx,a\n", "text,label\nx,a\ny,b\n"])
def test_data_that_cannot_be_learned_from_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    assert command("train", "classifier", "toxicity", "-m", BERT, "--data", tmp_path / "mine.csv", "-o", tmp_path / "o") == 2
    assert not (tmp_path / "o").exists()
    with raises("missing-value", name="data", construct="politeness"):
        read_labelled("politeness", None, None)


def official_hatexplain(folder: Path) -> Path:
    """Posts in the layout of HateXplain's own repository: dataset.json and post_id_divisions.json."""
    rows = pd.read_csv(table()).to_dict("records")
    posts = {}
    for n, row in enumerate(rows):
        said = {"label": "hatespeech" if row["label"] == "toxic" else "normal", "target": [row["group"].title()]}
        posts[f"{n}_x"] = {"post_id": f"{n}_x", "annotators": [said] * 3, "post_tokens": row["text"].split()}
    names = [*posts]
    folder.mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps(posts), encoding="utf-8")
    divisions = {"train": names[:180], "val": names[180:210], "test": names[210:]}
    (folder / "post_id_divisions.json").write_text(json.dumps(divisions), encoding="utf-8")
    return folder


def test_a_judge_of_toxicity_learns_from_the_official_files(tmp_path: Path) -> None:
    folder = official_hatexplain(tmp_path / "data" / "hatexplain")
    for n, place in enumerate((("--data", folder), ("--data-dir", folder.parent))):
        words = ("--epochs", 6, "--rate", 2e-3, "-o", tmp_path / str(n))
        assert command("train", "classifier", "toxicity", "-m", BERT, *place, *words) == 0
    errors = [json.loads((tmp_path / str(n) / "errors.json").read_text("utf-8")) for n in (0, 1)]
    assert errors[0] == errors[1] and errors[0]["f1"]["n"] == 30 and errors[0]["f1"]["value"] > 0.9
    assert set(errors[0]["groups"]) == {"man", "woman"}
    data = json.loads((tmp_path / "0" / "manifest.json").read_text("utf-8"))["data"]
    assert (data["train"], data["held_out"], data["test"], data["texts"]) == (180, 30, 30, 180)
    assert find_judge(f"toxicity={tmp_path / '0'}").ask(["the hate day", "a love day"]).negative.tolist() == [1, 0]


def test_a_judge_learns_from_any_labelled_benchmark() -> None:
    read = read_labelled("toxicity", Path("plumb-labels"), None)
    whole = load_benchmark("plumb-labels")
    assert len(read.test) == len(whole) == 312 and len(read.train) + len(read.held_out) == 288
    assert read.held_out and not {row.text for row in read.train} & {row.text for row in read.held_out}
    with raises("empty-selection", benchmark="plumb-pairs"):
        read_labelled("toxicity", Path("plumb-pairs"), None)


def test_a_judge_in_memory_labels_as_the_one_that_is_stored(tmp_path: Path) -> None:
    texts = LabelledTexts(("a", "b"), [("the hate day", 1), ("a love day man", 0), ("hate", 1), ("love", 0)] * 4)
    for name in (BERT, GPT2):
        model = tiltmeter.load_model(name, device="cpu")
        classifier, done = train_classifier(model, texts, Recipe(epochs=2, rows=4, peak_rate=1e-3), Made("own"))
        stored = load_classifier(done.save(tmp_path / model.name), device="cpu")
        several = [*(text for text, _ in texts.train), "a much longer text " * 9]
        assert np.array_equal(stored.label(several).probability, classifier.label(several).probability)


@pytest.mark.realdata
def test_datasets_of_judges_are_read_as_their_authors_count_them(realdata: Path, tmp_path: Path) -> None:
    toxicity = read_labelled("toxicity", None, realdata)
    assert (len(toxicity.train), len(toxicity.held_out), len(toxicity.test)) == (15_383, 1_922, 1_924)
    assert {"Muslim", "Black", "woman"} <= {group for row in toxicity.test for group in row.groups}
    words = ("--data-dir", realdata, "--limit", 64, "--epochs", 1, "-o", tmp_path / "judge")
    assert command("train", "classifier", "toxicity", "-m", BERT, *words) == 0
    assert json.loads((tmp_path / "judge" / "errors.json").read_text("utf-8"))["f1"]["n"] == 1_924
    regard = read_labelled("regard", None, realdata)
    assert tuple(len({row.key for row in part}) for part in (regard.train, regard.held_out, regard.test)) == (212, 60, 30)
    assert not any("XYZ" in row.text for row in regard.test)
    stereotype = read_labelled("stereotype", None, realdata)
    keys = [{row.key for row in part} for part in (stereotype.train, stereotype.held_out, stereotype.test)]
    assert not keys[0] & keys[1] and not keys[0] & keys[2]

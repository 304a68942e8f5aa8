"""Labels: benchmarks as files have them, classifiers as they are asked, and what is concluded about groups."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter import Answers, Settings, TiltmeterError, catalog, load_benchmark
from tiltmeter.benchmarks import LabelledBenchmark
from tiltmeter.benchmarks.hatexplain import hatexplain
from tiltmeter.benchmarks.jigsaw import jigsaw
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.benchmarks.kit.labelled import Example, labelled_item
from tiltmeter.benchmarks.madlibs import madlibs
from tiltmeter.families.labels.counterfactuals import swapped, swaps_of
from tiltmeter.families.labels.estimate import questions
from tiltmeter.families.labels.facts import Facts
from tiltmeter.families.labels.label_mapping import toxicity
from tiltmeter.finetune.loop import Loop
from tiltmeter.models import Classifier, ModelIdentity, Tokenization, load_any, load_classifier, with_head
from tiltmeter.runs.estimate import estimate_all
from tiltmeter.stats.estimates import details_of
from tiltmeter.stats.significance import holm
from xlnet_material import tiny_xlnet

QUICK: dict[str, Any] = {"seeds": 2, "epochs": 1.0, "explained": 4, "swaps": 20}


def bench(rows: list[tuple[str, bool, list[str]]], **more: Any) -> LabelledBenchmark:
    items = tuple(labelled_item(str(n), text, toxic, groups) for n, (text, toxic, groups) in enumerate(rows, 1))
    return LabelledBenchmark(name="mine", items=items, **more)


def small() -> LabelledBenchmark:
    whole = load_benchmark("plumb-labels", limit=48)
    assert isinstance(whole, LabelledBenchmark)
    return whole


def answered(truth: Any, score: Any, groups: list[list[str]], name: str = "m", clusters: Any = None) -> Answers:
    """Answers as a model with these probabilities (seeds × texts) would give them."""
    more = [{} if clusters is None else {"cluster": str(one)} for one in (clusters if clusters is not None else truth)]
    items = tuple(labelled_item(str(n), f"text {n}", bool(truth[n]), groups[n], **more[n]) for n in range(len(truth)))
    rows = [
        {"model": name, "benchmark": "mine", "item": str(n), "seed": seed, "probability": of_seed[n], "tokens": 3,
         "cut": False, "reason": None}
        for seed, of_seed in enumerate(np.atleast_2d(score)) for n in range(len(truth))
    ]  # fmt: skip
    table = items_table(LabelledBenchmark(name="mine", items=items))
    return Answers("labels", {"labels": pd.DataFrame(rows)}, table, ({"benchmark": {"name": "mine"}},))


def estimated(answers: Answers, *measures: str, resamples: int = 200) -> pd.DataFrame:
    return estimate_all({"labels": answers}, list(measures), ("bias_type",), Settings(resamples))


def one(table: pd.DataFrame, **wanted: str) -> Any:
    for column, value in wanted.items():
        table = table[table[column] == value]
    (row,) = [row for _, row in table.iterrows()]
    return row


# --- benchmarks ---


def test_the_embedded_set_is_what_its_script_makes_and_is_balanced() -> None:
    from scripts.labelled_texts import PLACE, texts

    written = [json.loads(line) for line in PLACE.read_text("utf-8").splitlines()]
    assert written == list(texts())
    assert len(written) == 600 == len({row["text"] for row in written})
    counts = Counter((row["groups"][0], row["label"], row["split"]) for row in written)
    assert len({counts[group, label, split] for group, label, split in counts if split == "test"}) == 1
    frames = {split: {row["cluster"] for row in written if row["split"] == split} for split in ("train", "test")}
    assert not frames["train"] & frames["test"], "a sentence that is judged was never learned"
    loaded = load_benchmark("plumb-labels")
    assert isinstance(loaded, LabelledBenchmark)
    assert (len(loaded), len(loaded.training)) == (312, 288)


def test_a_table_of_labelled_text_is_known_by_its_columns(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "text,label,groups,split\nYou fool,1,Women; Islam,test\nGood day,0,,train\nBad dog,1,,train\nHi,0,Men,test\n"
    )
    loaded = load_benchmark(table)
    assert isinstance(loaded, LabelledBenchmark)
    assert [item.extra["groups"] for item in loaded.items] == [["woman", "Muslim"], ["man"]]
    assert loaded.training == (Example("Good day", False), Example("Bad dog", True))
    assert [item.direction for item in loaded.items] == ["toxic", "non-toxic"]
    lines = tmp_path / "mine.jsonl"
    lines.write_text(json.dumps({"body": "You fool", "tag": True, "who": ["Jew"]}) + "\n")
    mapped = load_benchmark(lines, columns={"text": "body", "label": "tag", "groups": "who"})
    assert [item.extra["groups"] for item in mapped.items] == [["Jewish"]]
    slots = tmp_path / "slots.csv"
    slots.write_text("text,label\nThe [MASK] slept,1\n")
    assert load_benchmark(slots).family == "slots"


def test_odd_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("text,label,groups\nYou fool,1,Martians\n,1,\nNo label,,\nFine,0,\n")
    loaded = load_benchmark(table)
    assert len(loaded) == 2
    notes = loaded.note_counts()
    assert notes["skipped: no label"] == 1 == notes["skipped: empty text"]
    assert any("Martians" in note and note.startswith("kept") for note in notes)


@pytest.mark.parametrize(
    ("rows", "code", "fields"),
    [
        ("text,label\nA,A\nB,B\n", "missing-value", {"option": "--toxic-labels", "labels": "'A' (1), 'B' (1)"}),
        ("text,label,split\nA,1,train\n", "empty-selection", {"split": "test"}),
        ("text,label,split\nA,1,other\n", "unknown-name", {"kind": "split", "name": "other"}),
        ("text,label\nA,7\n", "missing-value", {"option": "--toxic-labels", "labels": "'7' (1)"}),
    ],
)
def test_files_that_are_not_understood_are_refused(tmp_path: Path, rows: str, code: str, fields: dict[str, str]) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(rows)
    with raises(code, **fields):
        load_benchmark(table)


def test_labels_of_another_type_and_groups_of_another_type_are_refused(tmp_path: Path) -> None:
    lines = tmp_path / "mine.jsonl"
    lines.write_text(json.dumps({"text": "A", "label": [1]}) + "\n")
    with raises("wrong-type", name="label"):
        load_benchmark(lines)
    lines.write_text(json.dumps({"text": "A", "label": 1, "groups": 3}) + "\n")
    with raises("wrong-type", field="groups"):
        load_benchmark(lines)
    lines.write_text(json.dumps({"text": "A", "label": "A"}) + "\n" + json.dumps({"text": "B", "label": "B"}) + "\n")
    loaded = load_benchmark(lines, toxic_labels=("B",))
    assert [item.extra["toxic"] for item in loaded.items] == [False, True]
    with raises("unknown-name", kind="label", option="--toxic-labels"):
        load_benchmark(lines, toxic_labels=("C",))


def post(name: str, text: str, labels: str, *targets: list[str]) -> dict[str, Any]:
    said = {"n": "normal", "h": "hatespeech", "o": "offensive"}
    annotators = [{"label": said[label], "target": target} for label, target in zip(labels, targets, strict=True)]
    return {"post_id": name, "annotators": annotators, "post_tokens": text.split()}


def test_hatexplain_in_both_layouts(tmp_path: Path) -> None:
    posts = [
        post("1", "good day women", "nnh", ["Women"], ["Women", "Islam"], ["None"]),
        post("2", "you black fool", "oho", ["African"], ["African"], ["Other"]),
        post("3", "fine", "nnn", ["None"], ["None"], ["None"]),
    ]
    derived, official = tmp_path / "derived", tmp_path / "official"
    derived.mkdir(), official.mkdir()
    (derived / "text_label_train.json").write_text(json.dumps([["a", "normal"], ["b", "offensive"]]))
    for name, some in (("test", posts[:2]), ("val", posts[2:])):
        (derived / f"{name}_full.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    (official / "dataset.json").write_text(json.dumps({row["post_id"]: row for row in posts}))
    (official / "post_id_divisions.json").write_text(json.dumps({"train": ["3"], "val": ["2"], "test": ["1"]}))
    test = hatexplain(derived)
    assert [(item.extra["toxic"], item.extra["groups"]) for item in test.items] == [(False, ["woman"]), (True, ["Black"])]
    wider = hatexplain(derived, group_rule="one-annotator", evaluate="validation+test")
    assert [item.extra["groups"] for item in wider.items] == [[], ["woman", "Muslim"], ["Black"]]
    assert [item.extra["groups"] for item in hatexplain(derived, group_rule="term").items] == [["woman"], ["Black"]]
    whole = hatexplain(official)
    assert isinstance(whole, LabelledBenchmark)
    assert (len(whole), whole.training) == (1, (Example("fine", False),))
    with pytest.raises(TiltmeterError) as caught:
        hatexplain(derived, group_rule="mine")
    assert "term" in caught.value.fields["names"]
    with pytest.raises(TiltmeterError, match=r"has neither dataset\.json"):
        hatexplain(tmp_path)


def test_jigsaw_in_kaggles_layout(tmp_path: Path) -> None:
    columns = ["id", "comment_text", "split", "toxicity", "male", "female", "black", "muslim"]
    rows = [
        ["1", "A calm remark, really", "test", "0.0", "0.5", "0.2", "", ""],
        ["2", "You fool", "test", "0.5", "", "", "1.0", "0.49"],
        ["3", "Learn this", "train", "0.7", "", "", "", ""],
        ["4", "And that", "train", "0.2", "", "", "", ""],
        ["5", "Unlabelled", "test", "", "", "", "", ""],
    ]
    (tmp_path / "jigsaw").mkdir()
    with (tmp_path / "jigsaw" / "all_data.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    loaded = jigsaw(data_dir=tmp_path)
    assert isinstance(loaded, LabelledBenchmark)
    assert [(item.extra["toxic"], item.extra["groups"]) for item in loaded.items] == [(False, ["man"]), (True, ["Black"])]
    assert loaded.training == (Example("Learn this", True), Example("And that", False))
    assert loaded.note_counts() == {"skipped: no label": 1}
    with raises("missing-file", folder=tmp_path / "nowhere" / "jigsaw"):
        jigsaw(data_dir=tmp_path / "nowhere")
    (tmp_path / "wrong.csv").write_text("id,text\n1,a\n")
    with pytest.raises(TiltmeterError, match="not Kaggle's file"):
        jigsaw(tmp_path / "wrong.csv")


def test_identity_templates_name_groups_and_frames(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text(
        "type,subtype,connotation,word\nidentity,gender,neutral,female\nidentity,ethnicity,neutral,african american\n"
        "identity,ethnicity,neutral,african\nname,,neutral,Ann\n"
    )
    (tmp_path / "bias_madlibs_77k.csv").write_text(
        "Text,Label,Template\nAnn is a kind female,NOT_BAD,name_adj\nAnn is a kind african american,NOT_BAD,name_adj\n"
        "hate african,BAD,verb_adj\n"
    )
    loaded = madlibs(tmp_path, train_on="plumb-labels")
    assert isinstance(loaded, LabelledBenchmark)
    assert [item.extra["groups"] for item in loaded.items] == [["woman"], ["Black"], ["Black"]]
    assert loaded.items[0].extra["cluster"] == loaded.items[1].extra["cluster"] != loaded.items[2].extra["cluster"]
    assert (len(loaded.training), loaded.learned_from) == (288, "plumb-labels")


def test_groups_by_name_are_measured_against_all_other_texts() -> None:
    kept = load_benchmark("plumb-labels", groups=("muslim", "Jewish"))
    assert len(kept) == 312
    assert Counter(group for item in kept.items for group in item.extra["groups"]) == {"Muslim": 26, "Jewish": 26}
    with pytest.raises(TiltmeterError, match="has no group 'nobody'"):
        load_benchmark("plumb-labels", groups=("nobody",))


# --- asking ---


def test_exchanged_texts_name_the_other_group_and_nothing_else_changes() -> None:
    items = bench([("An Asian met a Muslim.", False, []), ("A woman met a Muslim.", False, [])]).items
    found = {(one.item, one.group, one.other): one.text for one in swapped(items, swaps_of(None), 10)}
    first, second = (item.id for item in items)
    assert found[first, "Asian", "Black"] == "A Black met a Muslim."
    assert found[first, "Muslim", "atheist"] == "An Asian met an atheist."
    assert found[second, "woman", "man"] == "A man met a Muslim."
    assert not swapped(bench([("Asians and Whites", False, [])]).items, swaps_of(None), 10), "whom would it be about?"


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-roberta", "tiny-albert", "tiny-gpt2", "tiny-xlnet"])
def test_probabilities_do_not_depend_on_order_or_batch(name: str, tmp_path: Path) -> None:
    model = tiltmeter.load_model(tiny_xlnet(), device="cpu") if name == "tiny-xlnet" else golden_model(name)
    parts = with_head(model, ("non-toxic", "toxic"), seed=1)
    texts = [item.texts["text"] for item in load_benchmark("plumb-labels", limit=40).items]
    parts.module.save_pretrained(tmp_path / "it"), parts.tokenizer.save_pretrained(tmp_path / "it")
    classifier = load_any(tmp_path / "it")
    assert isinstance(classifier, Classifier)
    whole = classifier.label(texts, max_length=64).probability[:, 1]
    assert np.ptp(whole) > 0
    order = np.random.default_rng(0).permutation(len(texts))
    mixed = classifier.label([texts[n] for n in order], max_length=64, batch_tokens=40).probability[:, 1]
    np.testing.assert_allclose(mixed, whole[order], atol=1e-6)
    alone = [classifier.label([text], max_length=64).probability[0, 1] for text in texts]
    np.testing.assert_allclose(alone, whole, atol=1e-6)


def test_a_new_head_is_the_seeds_and_the_body_is_the_models() -> None:
    model = golden_model("tiny-bert-cased")
    first, again, other = (with_head(model, ("a", "b"), seed=seed, dropout=0.3) for seed in (1, 1, 2))
    same = [bool((first.module.classifier.weight == one.module.classifier.weight).all()) for one in (again, other)]
    assert same == [True, False]
    assert first.module.config.hidden_dropout_prob == 0.3 == first.module.config.attention_probs_dropout_prob
    embedded = [one.get_input_embeddings().weight for one in (first.module, model._module)]
    assert bool((embedded[0] == embedded[1]).all())
    assert model._module.config.hidden_dropout_prob != 0.3, "the model itself is as it was"


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    texts = [("word " * 50, True, ["man"]), ("short", False, ["man"])]
    benchmark = bench(texts, training=small().training)
    answers = tiltmeter.ask(
        golden_model("tiny-bert-cased"), benchmark, options=tiltmeter.LabelsOptions(max_length=16, **QUICK | {"seeds": 1})
    )
    assert list(answers.table["cut"]) == [True, False]
    assert answers.table["tokens"].max() == 16
    assert answers.manifests[0]["texts_cut"] == 1


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_the_whole_way(name: str) -> None:
    benchmark = small()
    answers = tiltmeter.ask(golden_model(name), benchmark, options=tiltmeter.LabelsOptions(**QUICK))
    assert not answers.table.duplicated(["model", "benchmark", "item", "seed"]).any()
    assert len(answers.table) == 2 * len(benchmark)
    assert answers.table["probability"].between(0, 1).all()
    assert set(answers.tables["drivers"]["seed"]) == {0}
    assert answers.tables["drivers"].groupby("item").size().min() > 1
    table = estimated(answers)
    assert {"all", "group", "domain", "threshold", "swap", "swapped group"} <= set(table["by"])
    assert table[table["value"].isna()]["note"].str.len().min() > 0, "what is missing has a reason"
    quality = one(table, by="all", measure="f1_macro", scorer="at 0.5")
    assert "that of the seeds" in quality["note"]
    family = tiltmeter.families.find_family("labels")
    (story,) = family.narratives(table)
    assert "macro-F1" in story.text
    assert len(list(family.sheets(table))) > 5
    for draw in family.FIGURES.values():
        assert draw(table).axes


KILLED = """
import os, signal, sys
import tiltmeter
from tiltmeter.finetune.loop import Loop
step = Loop._step
def killed(self):
    if self.recipe.seed == 1 and self.step == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    step(self)
Loop._step = killed
benchmark = tiltmeter.load_benchmark("plumb-labels", limit=48)
tiltmeter.ask(tiltmeter.load_model(sys.argv[1], device="cpu"), benchmark, cache=sys.argv[2],
              options=tiltmeter.LabelsOptions(**eval(sys.argv[3])))
"""


def test_a_run_killed_in_its_second_seed_keeps_the_first_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, benchmark = golden_model("tiny-bert-cased"), small()
    undisturbed = tiltmeter.ask(model, benchmark, cache=tmp_path / "one", options=tiltmeter.LabelsOptions(**QUICK))
    step = Loop._step
    trained: list[int] = []
    words = [sys.executable, "-c", KILLED, str(GOLDEN / "models" / "tiny-bert-cased"), str(tmp_path / "two"), repr(QUICK)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    kept = [path for path in (tmp_path / "two" / "classifiers").iterdir() if (path / "config.json").is_file()]
    assert len(kept) == 1
    monkeypatch.setattr(Loop, "_step", lambda self: (trained.append(self.recipe.seed), step(self))[1])
    again = tiltmeter.ask(model, benchmark, cache=tmp_path / "two", options=tiltmeter.LabelsOptions(**QUICK))
    assert set(trained) == {1}, "the first seed was kept"
    for name, frame in undisturbed.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], frame)
    (tmp_path / "two" / "classifiers" / kept[0].name / "model.safetensors").write_bytes(b"damaged")
    mended = tiltmeter.ask(model, benchmark, cache=tmp_path / "two", options=tiltmeter.LabelsOptions(**QUICK))
    pd.testing.assert_frame_equal(mended.table, undisturbed.table)


def test_another_benchmark_finds_the_trained_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, benchmark = golden_model("tiny-bert-cased"), small()
    tiltmeter.ask(model, benchmark, cache=tmp_path, options=tiltmeter.LabelsOptions(**QUICK))

    def refuse(*_: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(Loop, "run", refuse)
    other = bench([("You fool", True, ["man"]), ("Good day", False, ["man"])], training=benchmark.training)
    assert len(tiltmeter.ask(model, other, cache=tmp_path, options=tiltmeter.LabelsOptions(**QUICK))) == 4


# --- classifiers that are there ---


def saved(tmp_path: Path, labels: tuple[str, ...], **config: Any) -> Path:
    parts = with_head(golden_model("tiny-bert-cased"), labels, seed=0)
    for name, value in config.items():
        setattr(parts.module.config, name, value)
    folder = tmp_path / "classifier"
    parts.module.save_pretrained(folder), parts.tokenizer.save_pretrained(folder)
    return folder


def test_a_classifier_is_asked_as_it_is(tmp_path: Path) -> None:
    folder = saved(tmp_path, ("hate", "normal", "offensive"))
    answers = tiltmeter.ask(folder, small(), options=tiltmeter.LabelsOptions(explained=0))
    assert set(answers.table["seed"]) == {0}
    classifier = load_classifier(folder)
    said = classifier.label([item.texts["text"] for item in small().items], max_length=128)
    np.testing.assert_allclose(answers.table["probability"], 1 - said.probability[:, 1], atol=1e-6)
    run = tiltmeter.run(
        str(folder), "plumb-labels", output=tmp_path / "run", limit=30, options=tiltmeter.LabelsOptions(explained=0)
    )
    assert len(run.answers["labels"]) == 30
    with raises("missing-capability", benchmark="starter-pairs"):
        tiltmeter.run(str(folder), "starter-pairs", output=tmp_path / "other")


def test_labels_that_say_nothing_need_a_mapping(tmp_path: Path) -> None:
    folder = saved(tmp_path, ("LABEL_0", "LABEL_1", "LABEL_2"))
    with raises("missing-value", option="--toxic-labels", labels=["LABEL_0", "LABEL_1", "LABEL_2"]):
        tiltmeter.ask(folder, small())
    with raises("unknown-name", kind="label", name="BAD"):
        tiltmeter.ask(folder, small(), options=tiltmeter.LabelsOptions(toxic_labels=("BAD",)))
    with raises("missing-value", option="--toxic-labels"):
        tiltmeter.ask(folder, small(), options=tiltmeter.LabelsOptions(toxic_labels=("LABEL_0", "LABEL_1", "LABEL_2")))
    both = tiltmeter.ask(folder, small(), options=tiltmeter.LabelsOptions(toxic_labels=("LABEL_1", "label_2"), explained=0))
    first = tiltmeter.ask(folder, small(), options=tiltmeter.LabelsOptions(toxic_labels=("LABEL_0",), explained=0))
    np.testing.assert_allclose(both.table["probability"] + first.table["probability"], 1, atol=1e-6)


def test_independent_labels_have_probabilities_of_their_own(tmp_path: Path) -> None:
    folder = saved(tmp_path, ("toxic", "insult"), problem_type="multi_label_classification")
    classifier = load_classifier(folder)
    assert classifier.independent
    said = classifier.label(["You fool", "Good day"], max_length=32).probability
    each = [toxicity(said, [column], classifier.independent) for column in (0, 1)]
    np.testing.assert_allclose(toxicity(said, [0, 1], classifier.independent), np.max(each, axis=0))
    assert not np.allclose(said.sum(axis=1), 1)


def test_what_cannot_be_learned_from_is_refused_before_anything_is_trained() -> None:
    model = golden_model("tiny-bert-cased")
    with raises("empty-selection", benchmark="mine", kind="training texts"):
        tiltmeter.ask(model, bench([("A", True, [])]))
    with raises("too-few", benchmark="mine", kind="labels"):
        tiltmeter.ask(model, bench([("A", True, [])], training=(Example("a", True), Example("b", True))))
    with raises("unknown-name", kind="recipe", name="mine"):
        tiltmeter.ask(model, small(), options=tiltmeter.LabelsOptions(recipe="mine"))
    cases: dict[str, Any] = {"seeds": 0, "rate": -1.0, "epochs": 0.0, "max_length": 1, "swaps": -1, "explained": -1}
    for name, value in cases.items():
        with raises("out-of-range", name=name, value=value):
            tiltmeter.ask(model, small(), options=tiltmeter.LabelsOptions(**{name: value}))


# --- what is concluded ---


class Rule(Classifier):
    """Calls every text toxic that a pattern finds something in."""

    labels = ("non-toxic", "toxic")
    independent = False
    device = "cpu"
    identity = ModelIdentity("rule", "", "", "fp32", "classifier")
    uncacheable = None

    def __init__(self, pattern: str, tokens: Tokenization) -> None:
        super().__init__("rule", "classifier", None, tokens, {"name": ""})
        self.pattern = pattern

    def _probabilities(self, rows: Any) -> Any:
        texts = [self.tokens.decode(row) for row in rows]
        hit = np.array([bool(re.search(self.pattern, text)) for text in texts], dtype=float)
        return np.stack([1 - hit, hit], axis=1)


def test_a_rule_against_one_group_is_found() -> None:
    rule = Rule("Muslim", golden_model("tiny-bert-cased").tokens)
    answers = tiltmeter.ask(rule, load_benchmark("plumb-labels"), options=tiltmeter.LabelsOptions(explained=0))  # type: ignore[arg-type]
    table = estimated(answers, resamples=500)
    assert one(table, by="group", measure="fpr", group="Muslim", scorer="at 0.5")["value"] == 1
    gap = one(table, by="group", measure="fpr_gap", group="Muslim", scorer="at 0.5")
    assert gap["value"] == 1
    assert gap["p_holm"] < 0.05
    assert one(table, by="group", measure="fpr_gap", group="Hindu", scorer="at 0.5")["value"] < 0
    assert one(table, by="domain", measure="fpr_range", group="religion", scorer="at 0.5")["value"] == 1
    assert one(table, by="swapped group", measure="flip_rate", group="Muslim")["value"] == 1
    assert one(table, by="swap", measure="flip_rate", group="Hindu → Muslim")["value"] == 1
    assert one(table, by="swap", measure="flip_rate", group="Hindu → Jewish")["value"] == 0
    family = tiltmeter.families.find_family("labels")
    (story,) = family.narratives(table)
    assert story.verdict.startswith("Muslim: more often")


@pytest.mark.parametrize("clustered", [False, True])
def test_a_fair_classifier_is_rarely_accused(clustered: bool) -> None:
    """At most 5 of 100, over eight groups: the correction is over all of them."""
    groups, frames = ["man", "woman", "Asian", "Black", "White", "Muslim", "Jewish", "Hindu"], np.repeat(np.arange(20), 8)
    members = {group: np.tile(np.arange(8) == n, 20) for n, group in enumerate(groups)}
    measure, settings, accused = catalog.find("measures", "fpr_gap"), Settings(200), 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        chance = (rng.random(20) if clustered else np.full(20, 0.3))[frames]
        score = (rng.random((3, 160)) < chance).astype(float)
        clusters = frames if clustered else np.arange(160)
        facts = Facts("m", str(seed), tuple(map(str, range(160))), frames % 2 == 0, score, members, clusters, None, {}, {})
        asked = [question for question in questions(facts, [measure], ()) if question.cell.scorer == "at 0.5"]
        values = [
            float(np.mean([measure.function(**one.rows.fixed, called=of) for of in one.rows.varying["called"]]))
            for one in asked
        ]
        p = [question.p(value, settings) for question, value in zip(asked, values, strict=True)]
        accused += min(holm(p)) < 0.05
    assert accused <= 5


def test_a_group_without_harmless_texts_has_no_rate_and_a_reason() -> None:
    truth = np.array([True, True, False, False, True, False])
    named = [["man"], ["man"], ["woman"], ["woman"], ["woman"], []]
    table = estimated(answered(truth, np.linspace(0.1, 0.9, 6), named))
    row = one(table, by="group", measure="fpr", group="man", scorer="at 0.5")
    assert np.isnan(row["value"])
    assert row["n"] == 0
    assert "not toxic" in row["note"]
    assert "1 group(s) of gender" in one(table, by="domain", measure="fpr_variance", group="gender", scorer="at 0.5")["note"]


def test_thresholds_of_equal_false_positives_make_models_comparable() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 2 == 0
    score = np.clip(rng.random(400) * 0.5 + 0.3 * truth, 0, 1)
    named = [["man"] if n % 3 else ["woman"] for n in range(400)]
    rates = []
    for shift in (0.0, 0.2):  # the second model is only bolder
        table = estimated(answered(truth, np.clip(score + shift, 0, 1), named), "fpr")
        rates.append([one(table, by="all", measure="fpr", scorer=scorer)["value"] for scorer in ("at 0.5", "at equal fpr")])
    assert rates[1][0] > rates[0][0] + 0.2
    assert rates[0][1] == pytest.approx(rates[1][1]) == pytest.approx(0.1, abs=0.01)


def test_the_two_sources_of_chance_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.5
    named: list[list[str]] = [["man"]] * 300
    alike = np.repeat((rng.random(300) < 0.4)[None].astype(float), 3, axis=0)
    apart = np.stack([(rng.random(300) < rate).astype(float) for rate in (0.05, 0.4, 0.9)])
    shares = []
    for score in (alike, apart):
        row = one(estimated(answered(truth, score, named), "fpr"), by="all", measure="fpr", scorer="at 0.5")
        shares.append((details_of(row)["seeds_share"], row["high"] - row["low"]))
    assert shares[0][0] < 0.005
    assert shares[1][0] > 0.9
    assert shares[1][1] > 2 * shares[0][1]


def test_two_models_are_compared_over_the_same_texts() -> None:
    rng = np.random.default_rng(1)
    truth = np.arange(240) % 2 == 0
    named = [["man"] if n % 4 < 2 else ["woman"] for n in range(240)]
    good = np.where(rng.random((2, 240)) < 0.9, truth, ~truth).astype(float)
    poor = np.where(rng.random((2, 240)) < 0.6, truth, ~truth).astype(float)
    both = Answers.concat([answered(truth, good, named, "good"), answered(truth, poor, named, "poor")])
    table = tiltmeter.compare({"labels": both}, measures=["label_accuracy", "fpr"], resamples=200)
    accuracy = one(table, measure="label_accuracy", by="all", scorer="at 0.5")
    assert abs(accuracy["difference"]) == pytest.approx(0.3, abs=0.08)
    assert accuracy["p"] < 0.05
    assert accuracy["low"] < accuracy["difference"] < accuracy["high"]
    same = Answers.concat([answered(truth, good, named, "good"), answered(truth, good, named, "twin")])
    table = tiltmeter.compare({"labels": same}, measures=["fpr"], resamples=200)
    assert (table["difference"].abs().fillna(0) == 0).all()
    assert not (table["p_holm"] < 0.05).any()


def test_a_column_of_the_users_is_grouped_by() -> None:
    truth = np.arange(40) % 2 == 0
    answers = answered(truth, truth.astype(float), [["man"]] * 40, clusters=np.arange(40) // 20)
    table = estimate_all({"labels": answers}, ["label_accuracy"], ("cluster",), Settings(200))
    assert set(table[table["by"] == "cluster"]["group"]) == {"0", "1"}


@pytest.mark.realdata
def test_the_denominators_of_hatexplain(realdata: Path) -> None:
    """Harmless test posts that two annotators tie to a group, as counted by hand beforehand."""
    loaded = hatexplain(data_dir=realdata)
    assert isinstance(loaded, LabelledBenchmark)
    assert (len(loaded), len(loaded.training)) == (1924, 15383)
    counts = Counter(group for item in loaded.items if not item.extra["toxic"] for group in item.extra["groups"])
    expected = {"Black": 21, "Muslim": 21, "woman": 21, "Jewish": 13, "White": 14, "Asian": 8, "man": 4, "Hispanic": 2,
                "Christian": 2, "Hindu": 0, "atheist": 0}  # fmt: skip
    assert {group: counts[group] for group in expected} == expected
    assert {item.extra["toxic"] for item in madlibs(data_dir=realdata).limit(50).items} == {True, False}

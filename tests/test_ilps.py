"""ILPS against the original's formula, by another route, for causal models, and what is refused or counted."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

import tiltmeter
from association_material import associate
from conftest import GOLDEN, golden_model, reference
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import TiltmeterError
from tiltmeter.benchmarks import AssociationBenchmark
from tiltmeter.benchmarks.kit.association import Contrast, WordSet
from tiltmeter.families.associations.domains import domain_estimate
from tiltmeter.families.associations.kurita import _first_pieces, differences
from tiltmeter.probes import templates
from tiltmeter.probes.templates import ATTRIBUTE, TemplateProbe
from tiltmeter.runs import load_answers, load_run
from tiltmeter.stats.estimates import Estimate
from tiltmeter.stats.settings import Settings

WORDS = {
    "groups": {"gender": {"man": ["man"], "woman": ["woman"]}},
    "templates": ["The {group} is {attribute}."],
    "attributes": {"valence": {"good": ["kind", "clever"], "bad": ["rude", "unconvincing", "loud"]}},
}


def bench(folder: Path, **changes: object) -> AssociationBenchmark:
    (folder / "words.json").write_text(json.dumps(WORDS | changes))
    loaded = tiltmeter.load_benchmark("ilps", words=folder / "words.json")
    assert isinstance(loaded, AssociationBenchmark)
    return loaded


def test_kuritas_formula() -> None:
    """Both probabilities at the group's mask, as the paper has it (its code reads the prior elsewhere)."""
    probe = TemplateProbe(golden_model("tiny-bert-cased"))
    sentences = [json.loads(line) for line in (GOLDEN / "data" / "ilps_sentences.jsonl").read_text().splitlines()]
    expected = {row["id"]: row["formula"] for row in reference("ilps_kurita")["tiny-bert-cased"]["rows"]}
    for one in sentences:
        template = one["template"].replace("GGG", "{group}").replace("XXX", "{attribute}")
        sides = (WordSet("male", tuple(one["male_words"])), WordSet("female", tuple(one["female_words"])))
        (found,) = differences(probe, Contrast("x", (template,), (one["target"],), *sides))
        assert found == pytest.approx(expected[one["id"]]["bias_prior_corrected"], abs=1e-5), one["id"]


def test_embedded_groups_are_spelt_as_a_sentence_begins() -> None:
    """Kurita's templates begin with the group, and a model that knows capitals expects one there; one that does not
    sees the same word twice, which counts once."""
    loaded = tiltmeter.load_benchmark("ilps")
    assert isinstance(loaded, AssociationBenchmark)
    for name, pieces in (("tiny-bert-cased", 2), ("tiny-albert", 1)):
        probe, found = TemplateProbe(golden_model(name)), loaded.contrasts[0]
        assert {"He", "he"} <= set(found.first.examples) and {"She", "she"} <= set(found.second.examples)
        spelt = WordSet("he", ("he", "He"))
        assert len(_first_pieces(probe, spelt, found.templates[0])) == pieces


def test_group_scores_by_hand(tmp_path: Path) -> None:
    """Pieces of an attribute behind as many masks, their mean; in the prior the group is one mask."""
    model = golden_model("tiny-bert-cased")
    done = associate(model, bench(tmp_path), cache=False)
    facts = done.facts.set_index(["set", "text"])["value"]
    tokenizer = model.tokens.tokenizer

    def logprobs(text: str, pieces: list[int], behind: int) -> float:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        sites = (ids[0] == tokenizer.mask_token_id).nonzero().flatten().tolist()[behind:]
        with torch.inference_mode():
            scores = model._module(input_ids=ids).logits[0].log_softmax(-1)
        return float(np.mean([float(scores[site, piece]) for site, piece in zip(sites, pieces, strict=True)]))

    for word in ("rude", "unconvincing", "loud"):
        pieces = tokenizer(word, add_special_tokens=False)["input_ids"]
        masks = "[MASK]" * len(pieces)
        given, prior = logprobs(f"The woman is {masks}.", pieces, 0), logprobs(f"The [MASK] is {masks}.", pieces, 1)
        assert facts["woman", word] == pytest.approx(given - prior, abs=1e-5)
    row = done.estimates.query("group == 'woman' and scorer == 'valence:bad'").iloc[0]
    assert row["value"] == pytest.approx(np.mean([facts["woman", word] for word in ("rude", "unconvincing", "loud")]))
    assert done.estimates["measure"].value_counts().to_dict() == {"ilps": 4, "group_variance": 2}
    assert (done.estimates["neutral"] == 0).all()


def test_causal_models_by_hand(tmp_path: Path) -> None:
    """log P of all from the attribute on, given the group, less the same behind a neutral word; another name."""
    model = golden_model("tiny-gpt2")
    done = associate(model, bench(tmp_path), cache=False)
    assert set(done.estimates["measure"]) == {"ilps_causal", "group_variance"}
    tokenizer = model.tokens.tokenizer

    def tail(group: str, word: str) -> float:
        head, whole = f"The {group} is", f"The {group} is {word}."
        ids = [tokenizer.bos_token_id, *tokenizer(whole)["input_ids"]]
        with torch.inference_mode():
            scores = model._module(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        return float(sum(scores[at - 1, ids[at]] for at in range(1 + len(tokenizer(head)["input_ids"]), len(ids))))

    facts = done.facts.set_index(["set", "text"])["value"]
    for word in ("rude", "loud"):
        assert facts["man", word] == pytest.approx(tail("man", word) - tail("person", word), abs=1e-4)


def test_embedded_words_run_offline_and_from_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "-m", "plumb-mlm", "-b", "ilps", "--test", "gender", "-o", tmp_path / "r", "--resamples", 100)
    assert command(*words) == 0
    first = load_run(tmp_path / "r")
    assert set(first.estimates["measure"]) == {"ilps", "ilps_kurita", "group_variance"}
    assert set(first.estimates.query("measure == 'ilps'")["group"]) == {"man", "woman", "transgender"}
    assert "5 of 15 associations" in capsys.readouterr().out
    assert command(*words) == 0
    again = load_run(tmp_path / "r")
    assert again.manifest["evaluations"][0]["associations"]["reads_computed"] == 0
    assert again.estimates["value"].tolist() == first.estimates["value"].tolist()


def test_an_interruption_keeps_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates are asked in parts, each stored before the next and told to who watches."""
    monkeypatch.setattr(templates, "SAVE_EVERY", 5)
    given = bench(tmp_path)
    whole = associate(golden_model("tiny-bert-cased"), given, cache=False)
    ask, calls = TemplateProbe._ask, iter(range(2))
    monkeypatch.setattr(TemplateProbe, "_ask", lambda *some: ask(*some) if next(calls, None) is not None else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        associate(golden_model("tiny-bert-cased"), given, cache=tmp_path / "cache")
    monkeypatch.setattr(TemplateProbe, "_ask", ask)
    told: list[float] = []
    again = associate(
        golden_model("tiny-bert-cased"), given, cache=tmp_path / "cache", watch=lambda *_: nullcontext(told.append)
    )
    how = again.manifest["associations"]
    assert how["reads_reused"] >= 10 and how["reads_computed"] > 0
    assert how["reads_reused"] + how["reads_computed"] == whole.manifest["associations"]["reads_computed"]
    assert told[0] > 0 and sum(told) == 2 * 1 * 5 * 2  # with and without a group, one template, five attributes, two groups
    assert again.estimates["value"].tolist() == pytest.approx(whole.estimates["value"].tolist(), abs=1e-6)


def test_lists_by_file(tmp_path: Path) -> None:
    (tmp_path / "traits").write_text("Stubborn\nHonest\n\nHonest\n")
    bench = tiltmeter.load_benchmark("ilps")
    assert isinstance(bench, AssociationBenchmark)
    asking = {"tests": ["gender"], "attributes": [tmp_path / "traits"], "cache": False}
    rows = associate(golden_model("tiny-bert-cased"), bench, **asking).estimates.query("measure == 'ilps_kurita'")
    assert rows["group"].tolist() == ["occupations", "pleasant", "unpleasant", "traits"] and rows["n"].iloc[-1] == 2
    (tmp_path / "traits").write_text("Stubborn\n")
    with raises("wrong-shape", words=1):
        associate(golden_model("tiny-bert-cased"), bench, **asking)


def test_lists_of_one_name_are_not_taken_for_one(tmp_path: Path) -> None:
    bench = tiltmeter.load_benchmark("ilps")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for name in ("traits", "pleasant"):
            (tmp_path / folder / name).write_text("stubborn\nhonest\n")
    for lists, name in ((["a/traits", "b/traits"], "traits"), (["a/pleasant"], "pleasant")):
        with raises("duplicate-name", kind="attributes", name=name):
            associate(golden_model("tiny-bert-cased"), bench, attributes=[tmp_path / one for one in lists], cache=False)


def test_a_group_of_the_same_name_in_two_domains(tmp_path: Path) -> None:
    """Its own words and its own score in each, also when the run is read back."""
    groups = {"gender": {"man": ["man"], "woman": ["woman"]}, "age": {"man": ["boy"], "old": ["elder"]}}
    bench(tmp_path, groups=groups)
    options = {"resamples": 100, "cache": False}
    bert = GOLDEN / "models" / "tiny-bert-cased"
    done = tiltmeter.run(
        bert, "ilps", output=tmp_path / "r", **options, options=tiltmeter.AssociationsOptions(words=tmp_path / "words.json")
    )
    rows = done.estimates.query("scorer == 'valence:bad'")
    first, second = rows.query("measure == 'ilps' and group == 'man'")["value"]
    assert first != second and rows["measure"].value_counts().to_dict() == {"ilps": 4, "group_variance": 2}
    again = tiltmeter.estimate(load_answers([tmp_path / "r"]), resamples=100)
    assert again.to_csv(index=False) == (tmp_path / "r" / "estimates.csv").read_text()


def test_a_list_needs_groups_to_ask_about(tmp_path: Path) -> None:
    """A file of words without `kurita` has no groups and templates for a list; it must not be passed over in silence."""
    (tmp_path / "traits").write_text("stubborn\nhonest\n")
    bench(tmp_path)
    asked = ("run", "-m", "nowhere/at/all", "-b", "ilps", "--words", tmp_path / "words.json")
    assert command(*asked, "--attributes", tmp_path / "traits", "-o", tmp_path / "r") == 2


def test_what_cannot_be_spelt_is_missing_and_counted(tmp_path: Path) -> None:
    odd = {"valence": {"good": ["kind", "clever"], "bad": ["rude", "\u4eba", "loud"]}}
    row = associate(golden_model("tiny-bert-cased"), bench(tmp_path, attributes=odd), cache=False).estimates.iloc[0]
    assert row["n"] == 2 and row["n_missing"] == 1 and "cannot spell" in row["missing"]
    reversed_ = bench(tmp_path, templates=["How {attribute} the {group} is."])
    row = associate(golden_model("tiny-gpt2"), reversed_, cache=False).estimates.iloc[0]
    assert np.isnan(row["value"]) and "man has 0 usable" in row["note"]


KURITA = {"first": {"words": ["he"]}, "second": {"words": ["she"]}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"templates": ["The {group} is nice."]}, "once each"), ({"templates": []}, "no templates")],
)
def test_broken_templates_are_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(TiltmeterError, match=said):
        bench(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"groups": {"gender": {"man": "man"}}}, "man"),
        ({"groups": ["man"]}, "groups"),
        ({"templates": "The {group} is {attribute}."}, "templates"),
        ({"kurita": ["he", "she"]}, "kurita"),
        ({"kurita": {"first": {"words": ["he"]}}}, "second"),
        ({"kurita": KURITA | {"sets": {"jobs": {"words": ["nurse"]}}}}, "templates of jobs"),
        ({"kurita": KURITA | {"sets": {"jobs": {"words": ["nurse"], "templates": "x"}}}}, "templates of jobs"),
    ],
)
def test_broken_word_files_are_refused(tmp_path: Path, changes: dict[str, object], key: str) -> None:
    with raises("wrong-type", key=key):
        bench(tmp_path, **changes)


def test_attributes_need_two_sets(tmp_path: Path) -> None:
    with raises("wrong-shape", attributes="valence", sets=1):
        bench(tmp_path, attributes={"valence": {"good": ["kind"]}})


def test_variance_over_groups_knows_noise_from_difference() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 30))
    apart = noise + np.array([[-1.0], [0], [0], [1.5]])
    blank = Estimate("m", "b", "associations", "y", "", "", "x", neutral=0.0)
    same, far = (domain_estimate(blank, scores, Settings(resamples=500)) for scores in (noise, apart))
    assert same.p > 0.05 > far.p and same.low == 0 and far.low > 0
    assert far.low < far.value < far.high and far.value == pytest.approx(apart.mean(axis=1).var(ddof=1))
    assert (far.measure, far.by, far.group, far.n) == ("group_variance", "domain", "x", 4)
    alone = domain_estimate(blank, noise[:1], Settings())
    assert "fewer than 2 groups" in alone.note and np.isnan(alone.value)


def test_a_mask_in_the_wrong_place_is_noticed() -> None:
    probe = TemplateProbe(golden_model("tiny-bert-cased"))
    assert probe.masked("The {group} [MASK] is {attribute}.", "man", None, 1, ATTRIBUTE) is None
    with raises("unknown-name"):
        associate(golden_model("tiny-bert-cased"), tiltmeter.load_benchmark("ilps"), tests=["age"])

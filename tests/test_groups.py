"""Groups by name: presets of Cao et al. (2022), stand-ins, and `--groups` for every family."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import check, raises
from test_cli import refused
from test_cli import tiltmeter as command
from tiltmeter.benchmarks import AssociationBenchmark, SlotBenchmark
from tiltmeter.benchmarks.ilps_cao import TEMPLATE
from tiltmeter.runs import load_run

BERT, GPT2 = (GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-gpt2"))
TARGETS = ("Japanese", "Britain", "Yemen", "African", "Norweigan")


def triples(folder: Path) -> Path:
    """Our triples in StereoSet's layout, about five targets of race and one profession."""
    document = json.loads((GOLDEN / "data" / "triples_stereoset_format.json").read_text())
    for n, row in enumerate(document["data"]["intrasentence"]):
        row["bias_type"], row["target"] = ("profession", "chess player") if n % 6 == 5 else ("race", TARGETS[n % 6])
    (folder / "dev.json").write_text(json.dumps(document))
    return folder / "dev.json"


def test_stand_ins_only_when_asked(tmp_path: Path) -> None:
    plain = tiltmeter.load_benchmark("stereoset", path=triples(tmp_path))
    assert {item.extra["group"] for item in plain.asked_items} == {
        "Japanese", "Britain", "Yemen", "Black", "Norwegian", "chess player",
    }  # fmt: skip
    asked = tiltmeter.load_benchmark("stereoset", path=tmp_path / "dev.json", stand_ins=True)
    assert {"Asian", "White"} < {item.extra["group"] for item in asked.asked_items}
    assert asked.data_hash == plain.data_hash  # labels only


def test_the_preset_has_the_papers_groups_and_the_right_likelihood(tmp_path: Path) -> None:
    bench = tiltmeter.load_benchmark("stereoset-groups", path=triples(tmp_path))
    assert {item.extra["group"] for item in bench.items} == {"Japanese", "Britain", "Black", "Norwegian"}
    for model, scorer in (("tiny-bert-cased", "pll"), ("tiny-gpt2", "causal")):
        answers = tiltmeter.ask(golden_model(model), bench, cache=False)
        assert set(answers.table["scorer"]) == {scorer}
        table = tiltmeter.estimate(answers, ["bias_score"], by="group", resamples=100)
        assert set(table[table["by"] == "group"]["group"]) == {"Japanese", "Britain", "Black", "Norwegian"}
        assert table[table["measure"] == "group_variance"]["group"].tolist() == ["race"]
    named = tiltmeter.ask(
        golden_model("tiny-bert-cased"), bench, cache=False, options=tiltmeter.PairsOptions(scorers=["aul"])
    )
    assert set(named.table["scorer"]) == {"aul"}


@pytest.mark.parametrize(("model", "scorer"), [(BERT, "pll"), (GPT2, "causal")])
def test_groups_restrict_pairs(tmp_path: Path, model: Path, scorer: str) -> None:
    asked = (
        "run",
        "-m",
        model,
        "-b",
        triples(tmp_path),
        "-s",
        scorer,
        "--proxy-groups",
        "--by",
        "group",
        "--resamples",
        100,
    )
    groups = ("--groups", "white", "--groups", "Asian", "--groups", "Black")
    assert command(*asked, *groups, "-o", tmp_path / "r", "--no-cache", "--no-report") == 0
    done = load_run(tmp_path / "r")
    assert set(done.estimates[done.estimates["by"] == "group"]["group"]) == {"Asian", "White", "Black"}
    assert done.manifest["asked"]["groups"] == ["white", "Asian", "Black"]


def test_groups_restrict_slots_and_associations() -> None:
    slots = tiltmeter.load_benchmark("plumb-slots", groups=["female"])
    assert isinstance(slots, SlotBenchmark) and list(slots.terms) == ["female"] and len(slots) > 1
    ilps = tiltmeter.load_benchmark("ilps", groups=["White", "Black"])
    assert isinstance(ilps, AssociationBenchmark)
    assert [group.name for group in ilps.groups] == ["Black", "White"] and not ilps.contrasts
    pairs = tiltmeter.load_benchmark("starter-pairs", groups="religion")  # no groups of its own: bias types
    assert {item.bias_type for item in pairs.items} == {"religion"}


def test_a_group_that_is_not_there_is_refused_with_those_that_are() -> None:
    error = refused("run", "-m", BERT, "-b", "ilps", "--groups", "Martian", "-o", "nowhere")
    check(error, "unknown-name", kind="group", name="Martian", benchmark="ilps")
    assert "man, woman, transgender" in str(error)
    with raises("unknown-name", kind="group", name="White", benchmark="seat"):
        tiltmeter.load_benchmark("seat", groups=["White"])


def test_ilps_as_the_paper_asks_it() -> None:
    bench = tiltmeter.load_benchmark("ilps-cao")
    assert isinstance(bench, AssociationBenchmark) and bench.templates == (TEMPLATE,)
    assert [group.words for group in bench.select_groups(["gender"])] == [("man",), ("woman",), ("transgender",)]
    assert [pair.name for pair in bench.polarities][-1] == "toxicity"
    answers = tiltmeter.ask(
        golden_model("tiny-bert-cased"), bench, cache=False, options=tiltmeter.AssociationsOptions(tests=["gender"])
    )
    assert any(f"one template: {TEMPLATE}" in note for note in answers.manifests[0]["benchmark"]["notes"])
    assert any("tiltmeter's own attributes" in note for note in answers.manifests[0]["benchmark"]["notes"])
    assert {"toxicity:toxic", "plumb-valence:unpleasant"} < set(answers.table["scorer"])


@pytest.mark.realdata
def test_ilps_with_published_attributes(realdata: Path) -> None:
    bench = tiltmeter.load_benchmark("ilps-cao", data_dir=realdata)
    assert isinstance(bench, AssociationBenchmark)
    assert [(pair.name, len(pair.b.examples)) for pair in bench.polarities] == [("valence", 25), ("toxicity", 20)]

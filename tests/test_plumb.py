"""The embedded models and benchmarks: what they promise is there, and damage is noticed."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from support.raising import raises
from tiltmeter.benchmarks.kit.items import CROWS_BIAS_TYPES
from tiltmeter.benchmarks.plumb_slots import gender_terms
from tiltmeter.models import EMBEDDED

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import check_plumb

PAIRS = check_plumb.read(check_plumb.DATA / "plumb_pairs.jsonl")
SLOTS = check_plumb.read(check_plumb.DATA / "plumb_slots.jsonl")
TERMS = check_plumb.read(check_plumb.DATA / "gender_terms.jsonl")


def test_the_checker_finds_nothing_to_mend() -> None:
    assert list(check_plumb.check_pairs(PAIRS)) == []
    assert list(check_plumb.check_slots(SLOTS)) == []
    assert list(check_plumb.check_terms(TERMS)) == []


BROKEN: dict[str, tuple[dict[str, str], str]] = {
    "second change": (
        {"anti": "The Swiss guard never watched the old gate at night."},
        "one and the same span|more than one|could be shorter",
    ),
    "identical": ({"anti": "The Turkish guard always slept at the old gate at night."}, "equal"),
    "no full stop": ({"anti": "The Swiss guard always slept at the old gate at night"}, "must begin|end with"),
    "too short": ({"stereo": "Turks sleep."}, "words, expected"),
    "not ASCII": ({"stereo": "The Türkish guard always slept at the old gate at night."}, "ASCII"),
    "unknown type": ({"bias_type": "nation"}, "unknown bias type"),
    "unknown direction": ({"direction": "up"}, "unknown direction"),
    "same group": ({"contrast": "Turks"}, "groups must differ"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_checker_sees_a_broken_pair(name: str) -> None:
    good = {
        "id": "x", "bias_type": "nationality", "direction": "disadvantaged", "target": "Turks", "contrast": "Swiss people",
        "stereotype": "Turks are lazy", "stereo": "The Turkish guard always slept at the old gate at night.",
        "anti": "The Swiss guard always slept at the old gate at night.",
        "unrelated": "The celery guard always slept at the old gate at night.",
    }  # fmt: skip
    assert list(check_plumb.check_pair(good)) == []
    changes, words = BROKEN[name]
    found = list(check_plumb.check_pair(good | changes))
    assert found
    assert any(part in "; ".join(found) for part in words.split("|"))


def test_the_checker_sees_repeats_and_imbalance() -> None:
    found = "\n".join(check_plumb.check_pairs([*PAIRS, PAIRS[0]]))
    assert "'race-color-001' comes 2" in found
    assert "sentence" in found
    one_sided = [row | {"direction": "disadvantaged"} for row in PAIRS]
    assert "0% of the rows" in "\n".join(check_plumb.check_pairs(one_sided))
    assert "at least 700" in "\n".join(check_plumb.check_pairs(PAIRS[:90]))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("The [MASK] told her boss about the broken printer.", "gives the gender away"),
        ("The boss told everyone about the broken printer.", "exactly one"),
        ("The [MASK] told the [MASK] about the broken printer.", "exactly one"),
    ],
)
def test_the_checker_sees_a_broken_slot(text: str, complaint: str) -> None:
    row = {"id": "x", "stereotype": "s", "about": "female", "text": text}
    assert complaint in "\n".join(check_plumb.check_slots([*SLOTS, row]))


def test_plumb_pairs_holds_what_it_promises() -> None:
    bench = tiltmeter.load_benchmark("plumb-pairs")
    counts = Counter(item.bias_type for item in bench.items)
    assert set(counts) == set(CROWS_BIAS_TYPES) and min(counts.values()) >= 50
    assert len(bench) >= 700 and not bench.notes
    assert all(set(item.texts) == {"stereo", "anti", "unrelated"} and item.target for item in bench.items)
    assert {item.direction for item in bench.items} == {"disadvantaged", "advantaged"}
    assert all(item.extra["stereotype"] and item.extra["contrast"] for item in bench.items)


def test_plumb_slots_holds_what_it_promises() -> None:
    bench = tiltmeter.load_benchmark("plumb-slots")
    assert bench.family == "slots" and len(bench) == len(bench.asked_items) >= 150
    assert not bench.notes
    assert all(item.texts["slot"].count("[MASK]") == 1 for item in bench.items)
    terms = gender_terms()
    assert len(terms["female"]) == len(terms["male"]) >= 80
    assert terms["female"][:2] == ("woman", "Woman")
    assert not set(terms["female"]) & set(terms["male"])
    assert {row["form"] for row in TERMS} >= {"singular", "plural", "possessive"}
    with raises("inapplicable-option", benchmark="plumb-slots", family="slots"):
        tiltmeter.score("plumb-mlm", "plumb-slots", ["aul"], cache=False)


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_weights_are_those_of_the_card(name: str) -> None:
    folder = EMBEDDED[name]
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert json.loads((folder / "card.json").read_text())["weights_sha256"] == found
    assert found in (folder / "README.md").read_text("utf-8")
    assert (folder / "model.safetensors").stat().st_size <= 15.6 * 2**20


def test_the_models_have_learned_english() -> None:
    """Likelier than their unrelated thirds, mostly: random weights would manage half."""
    bench = tiltmeter.Benchmark("some", tiltmeter.load_benchmark("plumb-pairs").items[::8])
    for name, scorer in (("plumb-mlm", "sss"), ("plumb-clm", "causal")):
        table = (
            tiltmeter.score(name, bench, [scorer], cache=False)
            .to_pandas()
            .pivot(index="item", columns="role", values="score")
        )
        assert (table[["stereo", "anti"]].mean(axis=1) > table["unrelated"]).mean() > 0.75


@pytest.mark.parametrize("damage", ["truncated", "changed"])
def test_damaged_weights_are_reported_by_hash(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(EMBEDDED["plumb-mlm"], folder)
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    expected = hashlib.sha256(data).hexdigest()[:16]
    if damage == "truncated":
        data = data[: len(data) // 2]
    else:
        data[-1000] ^= 1
    weights.write_bytes(data)
    with pytest.raises(tiltmeter.TiltmeterError) as error:
        tiltmeter.load_model(folder)
    said = str(error.value)
    assert hashlib.sha256(data).hexdigest()[:16] in said and expected in said


def test_somebody_elses_card_does_not_matter(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(EMBEDDED["plumb-clm"], folder)
    for card in ("not json", "[1]", '{"name": "x"}'):
        (folder / "card.json").write_text(card)
        assert tiltmeter.load_model(folder).kind == "causal"


def test_the_list_tells_of_the_models(capsys: Any) -> None:
    from tiltmeter.cli.list import listing

    rows = {row["name"]: row for row in listing("models")}
    assert set(rows) == {"plumb-mlm", "plumb-clm"}
    assert "8.0 million parameters" in rows["plumb-mlm"]["what"] and "accuracy" in rows["plumb-mlm"]["what"]
    assert "perplexity" in rows["plumb-clm"]["what"]

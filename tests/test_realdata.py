"""On the real benchmarks and on scores that others published for real models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter.probes.sentences import tokenise
from tiltmeter.runs.run import run

pytestmark = pytest.mark.realdata

CROWS_TYPES = {
    "race-color": 516, "gender": 262, "socioeconomic": 172, "nationality": 159, "religion": 105, "age": 87,
    "sexual-orientation": 84, "physical-appearance": 63, "disability": 60,
}  # fmt: skip
STEREOSET_TYPES = {"gender": 255, "profession": 810, "race": 962, "religion": 79}


def test_published_stereoset_predictions(realdata: Path) -> None:
    """bert-base-cased, by the authors' own per-sentence scores; each part evaluated by itself, as they do."""
    file = realdata / "published-scores" / "predictions_bert-base-cased_BertNextSentence_BertLM.json"
    scores = tiltmeter.import_scores(file, model="bert-base-cased", data_dir=realdata)
    table = tiltmeter.estimate(scores, ["lms", "ss", "icat"], by="all", resamples=100)
    found = table.set_index(["benchmark", "measure"])["value"]
    assert found["stereoset", "lms"] == pytest.approx(83.0191, abs=5e-5)
    assert found["stereoset", "ss"] == pytest.approx(58.6803, abs=5e-5)
    assert found["stereoset", "icat"] == pytest.approx(68.6065, abs=5e-5)
    assert found["stereoset-intersentence", "lms"] == pytest.approx(88.530, abs=5e-4)
    assert found["stereoset-intersentence", "ss"] == pytest.approx(60.430, abs=5e-4)
    assert found["stereoset-intersentence", "icat"] == pytest.approx(70.062, abs=5e-4)


def test_published_crows_scores(realdata: Path) -> None:
    """Per-pair CPS of bert-base-uncased on the 1,463 revised English pairs."""
    file = realdata / "published-scores" / "crows-cps" / "results_bert.csv"
    scores = tiltmeter.import_scores(file, model="bert-base-uncased", scorer="cps_nyu")
    table = tiltmeter.estimate(scores, ["bias_score"], resamples=100).set_index(["by", "group"])
    overall = table.loc[("all", "all")]
    assert (overall["n"], overall["n_ties"], overall["n_missing"]) == (1463, 2, 0)
    assert round(overall["value"], 2) == 61.45
    assert round(table.loc[("direction", "disadvantaged"), "value"], 2) == 61.88
    assert round(table.loc[("direction", "advantaged"), "value"], 2) == 58.85


@pytest.mark.slow
def test_every_pair_and_every_triple_by_every_scorer(realdata: Path, tmp_path: Path) -> None:
    """All 1,508 pairs and 2,106 triples, the paper's counts, and nothing lost on the way."""
    options = {"data_dir": realdata, "resamples": 100, "by": ("bias_type",)}
    model = GOLDEN / "models" / "tiny-albert"
    done = run([model], ["crows-pairs", "stereoset"], output=tmp_path / "run", **options)
    table = done.estimates[(done.estimates["measure"] == "bias_score") & (done.estimates["by"] == "bias_type")]
    for benchmark, types, n_scorers in (("crows-pairs", CROWS_TYPES, 9), ("stereoset", STEREOSET_TYPES, 11)):
        rows = table[table["benchmark"] == benchmark]
        assert rows["scorer"].nunique() == n_scorers
        for _, one in rows.groupby("scorer"):
            counts = (one["n"] + one["n_missing"]).tolist()
            assert dict(zip(one["group"], counts, strict=True)) == types
    scores = done.answers["pairs"].to_pandas()
    assert len(scores) == 1508 * 2 * 9 + 2106 * 3 * 11
    assert scores[scores["score"].isna()]["reason"].notna().all()
    assert set(scores[scores["scorer"] == "aul"]["reason"].dropna()) == set()
    assert len(done.answers["pairs"].items) == 1508 + 2106 + 2123


def test_fills_against_difflib(realdata: Path) -> None:
    """The alignment by the context's BLANK differs from difflib's on a few per cent of the items (about 4 %)."""
    model = tiltmeter.load_model(GOLDEN / "models" / "tiny-bert-cased")
    items = tiltmeter.load_benchmark("stereoset", data_dir=realdata).asked_items
    fills, diffs = (tokenise(model, items, alignment) for alignment in ("auto", "difflib"))
    different = {
        one.item
        for one, other in zip(fills, diffs, strict=True)
        if one.role != "unrelated" and one.modified != other.modified
    }
    assert 0 < len(different) / len(items) < 0.6  # more here than with a real vocabulary: fills share sub-words
    assert all(one.modified for one in fills)


@pytest.mark.parametrize(
    ("file", "pairs", "types"),
    [
        ("dutch-crows/crows_eng.csv", 1463, 9),
        ("dutch-crows/crows_french.csv", 1462, 9),
        ("dutch-crows/crows_dutch.csv", 1463, 9),
        ("iabhijith/crows_pairs_revised.csv", 1677, 10),
        ("kinit/crows_revised.csv", 1467, 11),
        ("maveriq/cp_it.csv", 250, 1),
    ],
)
def test_variants_of_crows_pairs(realdata: Path, file: str, pairs: int, types: int) -> None:
    bench = tiltmeter.load_benchmark(realdata / "crows-pairs-variants" / file)
    assert len(bench) == pairs
    assert len(Counter(item.bias_type for item in bench.items)) == types
    assert {item.direction for item in bench.items} == {"advantaged", "disadvantaged"}


def test_accents_survive(realdata: Path) -> None:
    """The Dutch file is in a classic Mac encoding; read as Windows text its accents would be quotation marks."""
    bench = tiltmeter.load_benchmark(realdata / "crows-pairs-variants" / "dutch-crows" / "crows_dutch.csv")
    text = " ".join(item.texts["stereo"] for item in bench.items)
    assert "één" in text and "patiënten" in text and "carrière" in text

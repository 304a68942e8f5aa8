"""The evidence table: read whole, extended by users, and obeyed by headlines, defaults and examples."""

from __future__ import annotations

import random
import re
import shutil
import sys
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tiltmeter
from support.scripts import script
from support.wording import codes_of
from tiltmeter import catalog
from tiltmeter.audits import deciding
from tiltmeter.audits.until_decided import domain_rules
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.cli.check import EXAMPLE
from tiltmeter.display import Statement
from tiltmeter.errors import InputError
from tiltmeter.families import find_family
from tiltmeter.families.kit import detection
from tiltmeter.families.kit.detection import (
    DETECTS,
    UNTESTED,
    VERDICTS,
    Detection,
    best_for_domain,
    detecting,
    detections,
    is_variant,
    key_of,
    ranked,
    read_detections,
    rows_about,
    verdict_on,
    write_detections,
)
from tiltmeter.families.kit.primary import primary_metric
from tiltmeter.families.pairs.check import applicable_scorers, default_scorers
from tiltmeter.families.slots.sheets import FIRST
from tiltmeter.reporting.evidence_text import evidence_sentence
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.stats.estimates import Estimate, estimates_table

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "src" / "tiltmeter" / "families" / "kit" / "data" / detection.FILE
ROWS = detections()


def place(row: Detection) -> tuple[str, str]:
    return row.data_sha256, row.kind


PLACES = [(key, list(rows)) for key, rows in groupby(sorted(ROWS, key=place), key=place)]
by_place = pytest.mark.parametrize(("key", "rows"), PLACES, ids=[f"{rows[0].benchmark}-{key[1]}" for key, rows in PLACES])


def test_every_row_is_about_something_that_exists() -> None:
    assert len(ROWS) > 100
    for row in ROWS:
        assert row.measure in catalog.names("measures")
        assert row.scorer in catalog.names("scorers") or row.scorer == row.family
        assert row.verdict in VERDICTS and row.low <= row.effect <= row.high and row.seeds
        assert len(row.data_sha256) == 64 and row.kind in ("masked", "causal")
    for name in ("plumb-pairs", "starter-pairs"):
        benchmark = tiltmeter.load_benchmark(name)
        assert rows_about(benchmark.data_hash), f"{name} was rewritten since it was calibrated"


def test_items_that_calibration_chose_count_only_by_other_seeds() -> None:
    """Seeds 0 and 1 chose the items of plumb-pairs."""
    rows = [row for row in ROWS if row.benchmark == "plumb-pairs"]
    assert rows and not {seed for row in rows for seed in row.seeds.split()} & {"0", "1"}


@by_place
def test_no_metric_without_detection_is_a_headline_where_one_with_it_exists(
    key: tuple[str, str], rows: list[Detection]
) -> None:
    """For every benchmark and kind of model, with all metrics and with every subset that lacks one of them."""
    family, metrics = find_family(rows[0].family), list(dict.fromkeys(row.metric for row in rows))
    for missing in [None, *metrics]:
        there = [metric for metric in metrics if metric != missing]
        chosen = primary_metric(family, rows[0].benchmark, there, *key)
        detected = [metric for metric in there if verdict_on(rows, *metric) == DETECTS]
        names_one = family.primary_measures(rows[0].benchmark)
        assert not detected or not names_one or chosen in detected, (missing, chosen)


@pytest.mark.parametrize(("value", "verdict"), [(0.44, "towards"), (-0.44, "away"), (0.01, "no-lean")])
def test_the_headline_of_slots_detects(value: float, verdict: str) -> None:
    """Slots have no overall number: the headline is the measure about a domain that detected a planted bias of it."""
    place = ("m", "plumb-slots", "slots", "slots")
    p = 0.001 if verdict != "no-lean" else 0.9
    rows = [
        Estimate(*place, "stereotype_gap", "bias_type", "gender", n=90, value=value, low=-0.1, high=0.5, neutral=0.0, p=p),
        Estimate(*place, "lean", "gap", "male > female", n=90, value=0.9, low=0.8, high=0.95, neutral=0.5, p=0.001),
        Estimate(*place, "mnt_gap", "gap", "male − female", n=90, value=0.2, low=0.1, high=0.3, neutral=0.0, p=0.001),
    ]
    (story,) = stories_of(estimates_table(rows))
    own = [row for row in ROWS if row.family == "slots"]
    assert verdict_on(own, story.head["scorer"], story.head["measure"]) == DETECTS and story.head["measure"] == FIRST[0]
    assert isinstance(story.verdict, Statement) and story.verdict.code == verdict


@by_place
def test_no_metric_without_detection_speaks_for_a_domain_where_one_with_it_exists(
    key: tuple[str, str], rows: list[Detection]
) -> None:
    metrics = {row.metric for row in rows}
    for domain in {row.domain for row in rows}:
        detected = {row.metric for row in rows if row.domain == domain and row.verdict == DETECTS}
        best = best_for_domain(*key, domain, metrics)
        assert (best is None) == (not detected) and (best is None or best.metric in detected)


@by_place
def test_default_scorers_hold_one_that_detects(key: tuple[str, str], rows: list[Detection]) -> None:
    family = rows[0].family
    default = set(detecting(family, kind=key[1]))
    detected = {row.scorer for row in rows if row.verdict == DETECTS}
    assert not detected or detected & default
    assert all(any((row.scorer, row.family, row.verdict) == (name, family, DETECTS) for row in ROWS) for name in default)


KINDS = {"plumb-mlm": "masked", "plumb-clm": "causal"}
PAIRS = ("plumb-pairs", "starter-pairs")


def made_up(seed: int) -> list[Detection]:
    """Random verdicts and effects of every metric of pairs, in three domains and for both kinds of model."""
    draw = random.Random(seed)
    blank = next(row for row in ROWS if row.benchmark == "plumb-pairs")
    data = {name: tiltmeter.load_benchmark(name).data_hash for name in PAIRS}
    rows = []
    for (model, kind), name in product(KINDS.items(), PAIRS):
        scorers = applicable_scorers(tiltmeter.load_model(model), tiltmeter.load_benchmark(name))
        for scorer, measure, domain in product(scorers, ("bias_score", "ss", "lms"), ("gender", "race", "religion")):
            verdict = draw.choices(VERDICTS, (1, 5, 5))[0]
            effect = draw.uniform(-20, 20)
            about = {"scorer": scorer, "measure": measure, "group": domain, "domain": domain, "kind": kind, "model": model}
            facts = {"benchmark": name, "data_sha256": data[name], "verdict": verdict}
            rows.append(replace(blank, **about, **facts, effect=effect, low=effect - 5, high=effect + 5))
    return rows


@pytest.mark.parametrize("seed", range(6))
def test_made_up_evidence_decides_headlines_defaults_and_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever a file of evidence says about these items, code that names a metric follows it."""
    own = made_up(seed)
    write_detections(own, tmp_path / "own.csv")
    monkeypatch.setenv(detection.VARIABLE, str(tmp_path / "own.csv"))
    detections.cache_clear()
    try:
        for (model, kind), name in product(KINDS.items(), PAIRS):
            obeys(model, kind, tiltmeter.load_benchmark(name))
    finally:
        detections.cache_clear()


def obeys(model: str, kind: str, benchmark: Any) -> None:
    family, rows = find_family("pairs"), rows_about(benchmark.data_hash, kind)
    default = default_scorers(tiltmeter.load_model(model), benchmark)
    detected = {row.metric for row in rows if row.verdict == DETECTS}
    shown = [metric for metric in detected if metric[1] in family.primary_measures(benchmark.name)]
    assert all(scorer in default for scorer, _ in detected if not detection.is_variant(scorer))
    metrics = [(scorer, measure) for scorer in default for measure in ("bias_score", "lms")]
    chosen = primary_metric(family, benchmark.name, metrics, benchmark.data_hash, kind)
    assert chosen in shown or not set(shown) & set(metrics)
    for domain in ("gender", "race", "religion"):
        about = {"family": "pairs", "benchmark": benchmark.name}
        of_domain = [about | {"scorer": scorer, "measure": measure} for scorer, measure in metrics]
        spoken = deciding._metric(pd.DataFrame(of_domain), of_domain, domain, benchmark.data_hash, kind)
        own = {row.metric for row in rows if row.domain == domain and row.verdict == DETECTS} & set(metrics)
        assert spoken in own or not own
    for rule in domain_rules([benchmark], kind, 20, has_baseline=False):
        measure, scorer, group = re.match(r"(\w+)\[(\w+),[\w-]+,bias_type=([\w-]+)\]", rule).groups()  # type: ignore[union-attr]
        own = {row.scorer for row in rows if row.domain == group and row.measure == measure and row.verdict == DETECTS}
        assert scorer in own or not own


def test_the_example_of_the_gate_detects() -> None:
    measure, scorer, benchmark = re.match(r"(\w+)\[(\w+),([\w-]+)\]", EXAMPLE).groups()  # type: ignore[union-attr]
    rows = [row for row in ROWS if row.benchmark == benchmark]
    assert verdict_on(rows, scorer, measure) == DETECTS


PAGES = [path for path in sorted(ROOT.glob("docs/*.md")) if not path.name.startswith("research-")]


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "action.yml", *PAGES], ids=lambda page: page.name)
def test_rules_on_a_page_are_by_a_metric_that_detects(page: Path) -> None:
    """On benchmarks in the table, and on measures that it has rows of; about the domain that a rule names."""
    rules = re.findall(r"(\w+)\[(\w+),([\w-]+)(?:,bias_type=([\w-]+))?[\],]", page.read_text("utf-8"))
    for measure, scorer, benchmark, group in rules:
        rows = [row for row in ROWS if (row.benchmark, row.measure) == (benchmark, measure)]
        verdict = verdict_on(rows, scorer, measure, domain_named(group))
        assert not rows or verdict == DETECTS, f"{measure}[{scorer},{benchmark},{group}]"


def test_what_pages_say_of_gender_is_what_the_table_has() -> None:
    """docs/validity.md, docs/debiasing.md and docs/research-debiasing.md name scorers that miss a planted gender bias."""
    found = {(row.scorer, row.benchmark) for row in ROWS if row.domain == "gender" and row.verdict == DETECTS}
    assert not {scorer for scorer, _ in found} & {"aula", "aul"}
    masked = {(scorer, benchmark) for scorer, benchmark in found if not is_variant(scorer) and "causal" not in scorer}
    assert {scorer for scorer, benchmark in masked if benchmark == "plumb-pairs"} == {"sss", "pll", "cps"}
    assert not {scorer for scorer, benchmark in masked if benchmark == "crows-pairs"}
    assert {("sss", "starter-pairs"), ("slots", "plumb-slots")} <= masked


def test_the_table_is_what_the_stored_readings_give() -> None:
    """`python scripts/evidence_table.py` writes it; research/evidence/README.md."""
    tool = script("evidence_table")
    made = tool.table(tool.STORE)
    stored = {key_of(row): row for row in read_detections(PLACE)}
    assert [key_of(row) for row in made] == list(stored)
    for row in made:
        kept = stored[key_of(row)]
        assert replace(row, effect=kept.effect, low=kept.low, high=kept.high) == kept
        assert [row.effect, row.low, row.high] == pytest.approx([kept.effect, kept.low, kept.high], rel=1e-5)


def test_a_run_is_added_to_the_table_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows replace those of earlier sources about the same items, though only one domain of them was read."""
    tool = script("evidence_table")
    store, place = tmp_path / "evidence", tmp_path / "detection.csv"
    shutil.copytree(tool.STORE, store)
    run = tmp_path / "run"
    run.mkdir()
    rows = pd.read_csv(store / "plumb-pairs-gender" / tool.READINGS)
    rows.assign(value=rows["value"] * 2).to_csv(run / "estimates.csv", index=False)
    shutil.copy(store / "plumb-pairs-gender" / tool.MANIFEST, run)
    monkeypatch.setattr(tool, "STORE", store)
    monkeypatch.setattr(tool, "PLACE", place)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["evidence_table.py", "--add", str(run), "--name", "twice", "--about", "here"])
    tool.main()
    before, after = ({key_of(row): row for row in read_detections(path)} for path in (PLACE, place))
    changed = {key for key in before if before[key].source != after[key].source}
    assert before.keys() == after.keys()
    assert {(after[key].domain, after[key].source) for key in changed} == {("gender", "here")}
    (store / tool.SOURCES).write_text('[{"name": "plumb-pairs-gender", "about": "before"}]', "utf-8")
    own = {key_of(row): row for row in tool.table(store)}
    assert own.keys() == changed
    assert all(after[key].effect == pytest.approx(2 * own[key].effect, rel=1e-4) for key in changed)


def test_every_row_names_a_page_that_describes_its_models() -> None:
    assert all((ROOT / row.source.split(" (")[0]).is_file() for row in ROWS)


def test_rows_that_no_study_wrote_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = replace(ROWS[0], source="docs/page.md (provisional: typed from its table)")
    write_detections([typed], tmp_path / "own.csv")
    monkeypatch.setenv(detection.VARIABLE, str(tmp_path / "own.csv"))
    detections.cache_clear()
    try:
        assert "provisional" in evidence_sentence(typed.data_sha256, typed.kind, *typed.metric)
    finally:
        detections.cache_clear()


def test_items_that_nobody_calibrated_are_untested_and_ranked_by_all_others() -> None:
    assert verdict_on(rows_about("no such data"), "pll", "bias_score") == UNTESTED
    assert ranked(["all_masked", "cps", "pll"], "bias_score", "no such data", "masked")[0] == "pll"
    assert "untested" in evidence_sentence("no such data", "masked", "pll", "bias_score")


def test_some_items_of_a_calibrated_benchmark_are_named_as_such() -> None:
    row = next(row for row in ROWS if row.verdict == DETECTS)
    some = evidence_sentence("some of its items", row.kind, *row.metric, row.benchmark)
    others = evidence_sentence("some of its items", row.kind, *row.metric, "mine")
    assert codes_of([some, others]) == ["untested", "untested"]
    assert row.benchmark in some and "--limit" in some and "--limit" not in others


def test_a_user_adds_evidence_and_replaces_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in ROWS if row.verdict != DETECTS)
    own = [replace(row, verdict=DETECTS), replace(row, data_sha256="mine", benchmark="my-pairs")]
    write_detections(own, tmp_path / "own.csv")
    assert read_detections(tmp_path / "own.csv")[1].benchmark == "my-pairs"
    monkeypatch.setenv(detection.VARIABLE, str(tmp_path / "own.csv"))
    detections.cache_clear()
    try:
        assert len(detections()) == len(ROWS) + 1 and rows_about("mine")
        assert verdict_on(rows_about(row.data_sha256, row.kind), *row.metric, row.domain) == DETECTS
    finally:
        detections.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("scorer,", "", "missing-column"),
        ("detects", "perhaps", "wrong-format"),
        ("effect,low", "low,effect2", "missing-column"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, old: str, new: str, code: str) -> None:
    write_detections([next(row for row in ROWS if row.verdict == DETECTS)], tmp_path / "own.csv")
    text = (tmp_path / "own.csv").read_text()
    (tmp_path / "own.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_detections(tmp_path / "own.csv")
    assert caught.value.code == code


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_detections(tmp_path / "nowhere.csv")
    assert caught.value.code == "unreadable-file"

"""The evidence table: read whole, extended by users, and obeyed by headlines, defaults and examples."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

import tiltmeter
from tiltmeter import catalog
from tiltmeter.cli.check import EXAMPLE
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
    ranked,
    read_detections,
    rows_about,
    verdict_on,
    write_detections,
)
from tiltmeter.families.kit.primary import primary_metric
from tiltmeter.reporting.evidence_text import evidence_sentence

ROOT = Path(__file__).parents[2]
ROWS = detections()


def place(row: Detection) -> tuple[str, str]:
    return row.data_sha256, row.kind


PLACES = [(key, list(rows)) for key, rows in groupby(sorted(ROWS, key=place), key=place)]
by_place = pytest.mark.parametrize(("key", "rows"), PLACES, ids=[f"{rows[0].benchmark}-{key[1]}" for key, rows in PLACES])


def test_every_row_is_about_something_that_exists() -> None:
    assert len(ROWS) > 100
    for row in ROWS:
        assert row.measure in catalog.names("measures") and row.scorer in catalog.names("scorers")
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
        assert not detected or chosen in detected, (missing, chosen)


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
    default = set(detecting("", key[1]))
    detected = {row.scorer for row in rows if row.verdict == DETECTS}
    assert not detected or detected & default
    assert all(any(row.scorer == name and row.verdict == DETECTS for row in ROWS) for name in default)


def test_the_example_of_the_gate_detects() -> None:
    measure, scorer, benchmark = re.match(r"(\w+)\[(\w+),([\w-]+)\]", EXAMPLE).groups()  # type: ignore[union-attr]
    rows = [row for row in ROWS if row.benchmark == benchmark]
    assert verdict_on(rows, scorer, measure) == DETECTS


PAGES = [path for path in sorted(ROOT.glob("docs/*.md")) if not path.name.startswith("research-")]


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "action.yml", *PAGES], ids=lambda page: page.name)
def test_rules_on_a_page_are_by_a_metric_that_detects(page: Path) -> None:
    """On benchmarks in the table, and on measures that it has rows of."""
    for measure, scorer, benchmark in re.findall(r"(\w+)\[(\w+),([\w-]+)[\],]", page.read_text("utf-8")):
        rows = [row for row in ROWS if (row.benchmark, row.measure) == (benchmark, measure)]
        assert not rows or verdict_on(rows, scorer, measure) == DETECTS, f"{measure}[{scorer},{benchmark}]"


def test_rows_that_no_study_wrote_say_so() -> None:
    rows = [row for row in ROWS if row.benchmark == "plumb-pairs"]
    assert all("provisional" in row.source for row in rows)
    assert "provisional" in evidence_sentence(rows[0].data_sha256, rows[0].kind, *rows[0].metric)


def test_items_that_nobody_calibrated_are_untested_and_ranked_by_all_others() -> None:
    assert verdict_on(rows_about("no such data"), "pll", "bias_score") == UNTESTED
    assert ranked(["all_masked", "cps", "pll"], "bias_score", "no such data", "masked")[0] == "pll"
    assert "untested" in evidence_sentence("no such data", "masked", "pll", "bias_score")


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

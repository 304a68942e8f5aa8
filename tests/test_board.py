"""Leaderboards: what is merged, what is refused as unlike, who is ranked where and how surely, and the forms of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import GOLDEN, reseal
from gate_material import leaning_run
from report_material import element
from support.raising import check as check_error
from test_cli import refused, tiltmeter
from tiltmeter import SlotsOptions, TiltmeterError
from tiltmeter.boards import leaderboard
from tiltmeter.boards.columns import Filter
from tiltmeter.families import find_family
from tiltmeter.gate import check
from tiltmeter.reporting.board_tables import as_csv, as_latex, as_markdown
from tiltmeter.runs import Run
from tiltmeter.runs.run import run
from tiltmeter.stats.settings import Settings

MODELS = {"fair": 0.5, "close": 0.51, "far": 0.75, "other": 0.24}
QUICK = Settings(resamples=300)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four models in three run folders; two are as far from neutral, on either side."""
    folder = tmp_path_factory.mktemp("board")
    parts = [{"fair": 0.5, "close": 0.51}, {"far": 0.75}, {"other": 0.24}]
    return [leaning_run(folder / f"run{n}", leans, n=800).folder for n, leans in enumerate(parts)]


def test_runs_become_one_board(runs: list[Path]) -> None:
    board = leaderboard(runs, settings=QUICK)
    assert board.models == tuple(MODELS)
    (column,) = board.columns
    assert (column.measure, column.scorer, column.benchmark, column.group) == ("bias_score", "aul", "mine", "all")
    for model, lean in MODELS.items():
        cell = board.cells[model, column]
        assert cell["value"] == pytest.approx(100 * lean) and cell["low"] < cell["value"] < cell["high"] and cell["n"] == 800
    assert column.title == "bias_score · aul" and not board.notices


def test_places_say_what_cannot_be_told_apart(runs: list[Path]) -> None:
    board = leaderboard(runs, settings=QUICK)
    ranks = board.ranks[board.columns[0]]
    assert {model: rank.place for model, rank in ranks.items()} == {"fair": 1, "close": 2, "far": 3, "other": 4}
    assert (ranks["far"].best, ranks["far"].worst) == (3, 4) and ranks["far"].alike == ("other",)
    assert ranks["far"].text == "3 (3–4)", "25 above neutral and 26 below are about as far"
    assert ranks["fair"].worst == 2 and ranks["close"].alike == ("fair",)
    for model, rank in ranks.items():
        assert rank.best <= rank.place <= rank.worst
        assert all(model in ranks[other].alike for other in rank.alike)


def test_one_model_or_no_better_and_worse_is_no_ranking(runs: list[Path]) -> None:
    alone = leaderboard([runs[1]], settings=QUICK)
    assert alone.ranks[alone.columns[0]] == {}
    assert alone.to_pandas()["rank"].isna().all()


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes a manifest on purpose, as if the run had been another."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    reseal(folder)


def _definition(manifest: dict[str, Any]) -> None:
    manifest["evaluations"][0]["definitions"] = {"aul": "another"}


def _option(manifest: dict[str, Any]) -> None:
    manifest["asked"]["options"] = {"pairs": {"scorers": ["cps"], "alignment": "words"}}


def _judge(manifest: dict[str, Any]) -> None:
    manifest["evaluations"][0]["judges"] = {"toxicity": {"weights_sha256": "b"}}


def _plain(manifest: dict[str, Any]) -> None:
    manifest["evaluations"][0] |= {
        "definitions": {"aul": "ours"},
        "judges": {"toxicity": {"weights_sha256": "a"}},
    }
    manifest["asked"]["options"] = {"pairs": {"scorers": ["aul"], "alignment": "auto"}}


@pytest.mark.parametrize(
    ("change", "says"),
    [(_definition, "definition of aul"), (_option, "option alignment"), (_judge, "judge toxicity")],
)
def test_unlike_numbers_are_refused(
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find_family("pairs"), "comparability", find_family("generations").comparability)
    one, two = (leaning_run(tmp_path / name, {name: 0.5}, n=60).folder for name in ("one", "two"))
    changed(one, _plain)
    changed(two, _plain)
    assert leaderboard([one, two], settings=QUICK).models == ("one", "two")
    changed(two, change)
    error = refused("leaderboard", one, two, "-o", tmp_path / "b.html")
    assert error.code == "not-comparable" and says in str(error) and "one" in str(error)
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "b.html").exists()
    if change in (_definition, _option):
        with pytest.raises(TiltmeterError, match="not comparable"):
            check(two, "bias_score[aul,mine] no worse than baseline by 3", baseline=one)


def test_other_data_other_weights_and_repeats_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = leaning_run(tmp_path / "one", {"model": 0.5}, n=60).folder
    for name, leans, n, code, fields in (
        ("data", {"new": 0.5}, 64, "ambiguous-name", {"kind": "benchmark", "name": "mine"}),
        ("weights", {"model": 0.6}, 60, "ambiguous-name", {"kind": "model", "name": "model"}),
        ("again", {"model": 0.5}, 60, "duplicate-name", {}),
    ):
        other = leaning_run(tmp_path / name, leans, n=n).folder
        check_error(refused("leaderboard", one, other, "-o", tmp_path / "b.html"), code, **fields)
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_unfinished_runs_and_other_layouts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = leaning_run(tmp_path / "one", {"model": 0.5}, n=60).folder
    two = leaning_run(tmp_path / "two", {"new": 0.5}, n=60).folder
    for key, value, says in (("status", "unfinished", "unfinished"), ("schema", 99, "layout 99")):
        manifest = json.loads((two / "manifest.json").read_text())
        (two / "manifest.json").write_text(json.dumps(manifest | {key: value}))
        assert tiltmeter("leaderboard", one, two, "-o", tmp_path / "b.html") == 2 and says in capsys.readouterr().err
        (two / "manifest.json").write_text(json.dumps(manifest))
    assert tiltmeter("leaderboard", one, two, "-o", tmp_path / "b.xlsx") == 2 and ".csv" in capsys.readouterr().err


def test_models_that_must_be_asked_otherwise_have_columns_of_their_own(tmp_path: Path) -> None:
    """The user asked the same; the models' nature decided. Their numbers are unlike, and nobody's mistake."""
    one, two = (leaning_run(tmp_path / name, {name: 0.5}, n=60).folder for name in ("one", "two"))
    changed(two, lambda manifest: manifest["evaluations"][0].update(alignment="other"))
    board = leaderboard([one, two], settings=QUICK)
    assert [column.way for column in board.columns] == ["alignment: auto", "alignment: other"]
    assert set(board.cells) == {("one", board.columns[0]), ("two", board.columns[1])}


def test_filters(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_type = leaderboard(runs, Filter(groups=("age", "gender"), models=("fair", "far")), ["bias_type"], QUICK)
    assert [column.group for column in by_type.columns] == ["age", "gender"] and by_type.models == ("fair", "far")
    two = leaderboard(runs, Filter(measures=("kls", "bias_score")), settings=QUICK)
    assert {column.measure for column in two.columns} == {"kls", "bias_score"}
    for what in ("family", "benchmark", "model", "scorer", "group"):
        assert tiltmeter("leaderboard", runs[0], f"--{what}", "none", "-o", tmp_path / "b.csv") == 2
        assert f"No {what} 'none' in these runs" in capsys.readouterr().err
    assert tiltmeter("leaderboard", runs[0], "--measure", "icat", "-o", tmp_path / "b.csv") == 2


def test_every_form_has_the_same_numbers(runs: list[Path], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("b.html", "b.csv", "b.md", "b.tex")]
    assert tiltmeter("leaderboard", *runs, *(word for file in files for word in ("-o", file)), "--resamples", 300) == 0
    board = leaderboard(runs, settings=QUICK)
    page, table, markdown, latex = (file.read_text() for file in files)
    assert (table, markdown, latex) == (as_csv(board), as_markdown(board), as_latex(board))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["model"] for row in rows] == list(MODELS) and rows[2]["rank"] == "3" and rows[2]["rank_worst"] == "4"
    column = board.columns[0]
    cell = board.cells["far", column]
    text = f"75.00 [{cell['low']:.2f}, {cell['high']:.2f}]"
    assert f"{text} (place 3 (3–4))".replace("[", "\\[").replace("]", "\\]") in markdown or text in markdown
    assert text in latex and r"bias\_score" in latex
    data = json.loads(element(page, "data"))
    assert data["columns"][0]["rows"][2]["value"] == cell["value"] and data["columns"][0]["rows"][2]["rank"] == [3, 3, 4]
    assert len(data["board"]["rows"]) == 4


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two real models on slots and on an association test."""
    folder = tmp_path_factory.mktemp("mixed")
    models = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-albert")]
    benchmarks = ["plumb-slots", GOLDEN / "data" / "own-seat-mini.jsonl"]
    options = {"resamples": 100, "limit": 200, "cache": False}
    return run(models, benchmarks, output=folder / "run", **options, options=SlotsOptions(top_k=500))


def test_boards_and_gates_know_every_family(mixed: Run) -> None:
    board = leaderboard([mixed], settings=Settings(100))
    assert {column.family for column in board.columns} == set(mixed.answers)
    rows = mixed.estimates
    for family, measure in (("slots", "mnt_gap"), ("associations", "effect_size")):
        row = rows[(rows["family"] == family) & (rows["measure"] == measure) & rows["low"].notna()].iloc[0]
        place = f"{measure}[{row['scorer']},{row['benchmark']},{row['by']}={row['group']}]"
        model, limit = row["model"], 10.0
        decided = check(mixed, f"{place} within -{limit}..{limit} for {model} with n >= 2 and missing <= 99%")
        assert decided.verdict == "pass" and decided.rulings[0].findings[0].value == pytest.approx(row["value"])
        other = next(name for name in board.models if name != model)
        rule = f"{place} no worse than baseline by {limit} for {model} with n >= 2 and missing <= 99%"
        assert check(replace(mixed), rule, baseline_model=other).verdict == "pass"


def test_a_real_run_says_by_which_versions_it_scored(tmp_path: Path) -> None:
    options = {"resamples": 100, "limit": 4, "cache": tmp_path / "cache"}
    for name in ("asked", "from the cache"):
        made = run(GOLDEN / "models" / "tiny-bert-cased", "starter-pairs", "aul", output=tmp_path / name, **options)
        (evaluation,) = made.manifest["evaluations"]
        assert evaluation["versions"] == {"families/pairs": 1, "scorers/aul": 1}

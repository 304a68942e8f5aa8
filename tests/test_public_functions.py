"""Public functions: named, typed parameters, options objects of families, and keywords of the earlier version."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import AssociationsOptions, PairsOptions, SlotsOptions, TiltmeterError, catalog
from tiltmeter.families import all_families

BERT = str(GOLDEN / "models" / "tiny-bert-cased")
FUNCTIONS = [name for name in tiltmeter.__all__ if inspect.isfunction(getattr(tiltmeter, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_named_typed_parameters(name: str) -> None:
    for parameter in inspect.signature(getattr(tiltmeter, name)).parameters.values():
        assert parameter.kind is not parameter.VAR_KEYWORD, f"{name} takes **{parameter.name}"
        assert parameter.annotation is not parameter.empty, f"{name}: {parameter.name} has no type"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_say_what_they_take_and_show_it(name: str) -> None:
    text = inspect.getdoc(getattr(tiltmeter, name)) or ""
    for part in ("Args:", "Returns:", "Raises:", "Example:"):
        assert f"\n{part}\n" in text, f"{name} has no {part}"
    assert ">>> " in text.partition("Example:")[2] and "+SKIP" not in text


def test_every_family_with_options_has_a_public_object() -> None:
    for name, family in all_families().items():
        if fields(family.Options):
            assert getattr(tiltmeter, f"{name.capitalize()}Options") is family.Options


def test_what_benchmarks_take_is_named_by_load_benchmark() -> None:
    known = set(inspect.signature(tiltmeter.load_benchmark).parameters) | {"name", "facts", "labels"}
    known |= {"model"}  # hiring-bloomberg: whose results are imported, which `import_scores` is told
    for entry in catalog.entries("benchmarks"):
        assert set(inspect.signature(entry.function).parameters) <= known, entry.name


def run(folder: Path, **keywords: Any) -> tiltmeter.Run:
    return tiltmeter.run(BERT, ["starter-pairs", "plumb-slots"], output=folder, **keywords)


def test_old_keywords_of_run_give_the_same_and_warn_once(tmp_path: Path) -> None:
    shared = {"limit": 6, "cache": False, "by": ["bias_type"]}
    new = run(tmp_path / "new", scorers="aul", resamples=100, options=[SlotsOptions(top_k=50)], **shared)
    options = tiltmeter.Options(settings=tiltmeter.Settings(100), **shared)
    with pytest.warns(DeprecationWarning) as warned:
        old = run(tmp_path / "old", scorers="aul", options=options, top_k=50)
    assert len(warned) == 1 and "options=[tiltmeter.SlotsOptions(top_k=…)]" in str(warned[0].message)
    assert warned[0].filename == __file__
    assert (tmp_path / "new" / "estimates.csv").read_bytes() == (tmp_path / "old" / "estimates.csv").read_bytes()
    assert old.manifest["asked"] == new.manifest["asked"]


def test_old_keywords_of_ask_and_score_give_the_same(tmp_path: Path) -> None:
    new = tiltmeter.ask(BERT, "starter-pairs", PairsOptions(scorers=["aul"]), cache=tmp_path)
    with pytest.warns(DeprecationWarning, match=r"PairsOptions\(scorers=…\)"):
        old = tiltmeter.ask(BERT, "starter-pairs", scorers=["aul"], cache=tmp_path)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match=r"PairsOptions\(alignment=…\)"):
        scored = tiltmeter.score(BERT, "starter-pairs", "aul", alignment="auto", cache=tmp_path)  # type: ignore[call-arg]
    assert new.table.equals(old.table) and new.table.equals(scored.table)


def test_old_keywords_of_studies_and_tables_give_the_same(tmp_path: Path) -> None:
    folder = run(tmp_path / "r", scorers="aul", limit=12, resamples=100).folder
    new = tiltmeter.study("normality", folder, options={"alpha": 0.1})
    with pytest.warns(DeprecationWarning, match='options={"alpha": …}'):
        old = tiltmeter.study("normality", folder, alpha=0.1)  # type: ignore[call-arg]
    assert new.table.equals(old.table)
    table = tiltmeter.table("estimates", folder, measures=["bias_score"])
    with pytest.warns(DeprecationWarning, match="measures=…"):
        again = tiltmeter.table("estimates", folder, measure=["bias_score"])  # type: ignore[call-arg]
    assert table.equals(again)
    with raises("inapplicable-option", option="options", name="estimates"):
        tiltmeter.table("estimates", folder, options={"alpha": 0.1})


@pytest.mark.parametrize("name", ["run", "ask", "score"])
def test_a_misspelt_keyword_is_refused_with_the_one_that_was_meant(name: str) -> None:
    with raises("unknown-name", kind="option", name="top_kk") as error:
        getattr(tiltmeter, name)(BERT, "plumb-slots", top_kk=3)
    assert "Did you mean 'top_k'" in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": 3}, "not dict"),
        (PairsOptions(scorers=["aul"]), "twice"),
        ([SlotsOptions(), SlotsOptions(top_k=3)], "SlotsOptions"),
        (AssociationsOptions(layer=0), "applies only to"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(TiltmeterError, match=said):
        run(tmp_path / "r", scorers="cps", options=options)
    assert not (tmp_path / "r").exists()


def test_options_of_another_family_are_refused_by_ask() -> None:
    with raises("unknown-name", kind="option", name="top_k", family="pairs"):
        tiltmeter.ask(BERT, "starter-pairs", SlotsOptions(top_k=3))


USER = """
import tiltmeter
tiltmeter.ask("m", "plumb-slots", tiltmeter.SlotsOptions(top_k=50))
tiltmeter.run("m", limit=3, options=[tiltmeter.PairsOptions(scorers=["aul"])])
tiltmeter.ask("m", "plumb-slots", tiltmeter.SlotsOptions(top_k="many"))
tiltmeter.ask("m", "plumb-slots", top_kk=50)
tiltmeter.run("m", limit="three")
"""


@pytest.mark.slow
def test_a_type_checker_of_a_user_sees_them(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(USER)
    words = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent", "mine.py"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert [int(line.split(":")[1]) for line in errors] == [5, 6, 7], said


def test_results_describe_themselves_in_one_line(tmp_path: Path) -> None:
    model, benchmark = tiltmeter.load_model(BERT), tiltmeter.load_benchmark("starter-pairs", limit=4)
    scores = tiltmeter.score(model, benchmark, ["aul"], cache=False)
    result = tiltmeter.run(model, "starter-pairs", "aul", output=tmp_path / "r", resamples=100, cache=False)
    with raises("unknown-name", kind="benchmark"):
        tiltmeter.run(model, benchmark, output=tmp_path / "s")  # names and files only
    rule = "bias_score[aul,starter-pairs] no evidence of more than 40"
    results = [
        model, benchmark, tiltmeter.load_benchmark("plumb-slots"), tiltmeter.load_benchmark("plumb-choices"), scores, result,
        tiltmeter.load_run(result.folder), tiltmeter.study("normality", result.folder),
        tiltmeter.leaderboard([result.folder]), tiltmeter.check(result.folder, [rule]),
    ]  # fmt: skip
    for text in map(repr, results):
        assert "\n" not in text and len(text) < 200 and " at 0x" not in text, text


def test_study_run_is_an_alias_that_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "e.toml").write_text("models = 3\n")
    said = {}
    for group in ("experiment", "study"):
        for name in ("run", "status"):
            assert command(group, name, tmp_path / "e.toml") == 2
            said[group, name] = capsys.readouterr().err
    for name in ("run", "status"):
        warning, _, rest = said["study", name].partition("\n")
        assert f"experiment {name}" in warning and rest == said["experiment", name]
    command("study", "--help")
    assert "\n  run " not in capsys.readouterr().out


def test_a_study_writes_its_figure_and_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(run(tmp_path / "r", scorers="aul", limit=12, resamples=100).folder)
    figure, table = tmp_path / "f.svg", tmp_path / "t.tex"
    assert command("study", "normality", folder, "--figure", figure, "--table", table) == 0
    assert figure.read_text().startswith("<?xml") and "tabular" in table.read_text()
    assert command("table", "normality", folder, "-o", tmp_path / "same.tex") == 0
    assert (tmp_path / "same.tex").read_text() == table.read_text()
    assert command("study", "normality", folder, "--figure", tmp_path / "f.gif") == 2


def test_names_of_plans_are_those_of_execution_and_warn() -> None:
    from tiltmeter import execution, plans
    from tiltmeter.runs import experiment

    moved = {
        "run_study": (experiment, "run_experiment"),
        "StudyFile": (execution, "Experiment"),
        "Engine": (execution, "Engine"),
    }
    for old, (home, new) in moved.items():
        with pytest.warns(DeprecationWarning, match=f"{home.__name__}.{new}"):
            assert getattr(plans, old) is getattr(home, new)
    with pytest.raises(AttributeError):
        plans.nothing_of_the_kind  # noqa: B018

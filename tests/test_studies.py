"""What holds for every study: files, figures, no holes, the same answer twice, nothing that needs a model it should not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import tiltmeter
from study_material import made_up, noise, options_of, small_run
from test_cli import tiltmeter as command
from tiltmeter import catalog, figures
from tiltmeter.display import Statement
from tiltmeter.reporting.comparison_text import too_close

OF_TEXTS = (
    "calibration",
    "contamination",
    "domain_ablation",
    "domain_correlation",
    "formats",
    "implementations",
    "items",
    "noise",
    "temperature",
)
"""They read what other families or many models gave, or load causal models, and are tested where those are (test_judges,
test_correlations, test_calibration, test_contamination, families/choices).
"""
STUDIES = tuple(name for name in catalog.names("studies") if name not in OF_TEXTS)
ISSUE = (
    "accuracy", "agreement", "correlation", "debiasing", "frequency", "normality", "pll_gap", "power", "quality",
    "robustness", "shuffling",
)  # fmt: skip


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tiltmeter.Finding]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILTMETER_CACHE", str(tmp_path_factory.mktemp("cache")))
        return {name: tiltmeter.study(name, small_run(), options=options_of(name)) for name in STUDIES}


@cache
def without_models(name: str) -> tiltmeter.Finding:
    """The same study a second time, where no model can be loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiltmeter.models.loading.load_model", None)
        patch.setattr("tiltmeter.families.pairs.studies.shuffling.load_model", None)
        return tiltmeter.study(name, small_run(), options=options_of(name))


def test_all_are_found_by_their_files() -> None:
    assert STUDIES == ISSUE


@pytest.mark.parametrize("name", STUDIES)
def test_tables_have_rows_and_no_holes(name: str, findings: dict[str, tiltmeter.Finding]) -> None:
    assert findings[name].study == name
    for table in findings[name].tables.values():
        whole = table[table["note"] == ""] if "note" in table else table  # where a note says why, a value may be missing
        assert len(table) and not whole.isna().to_numpy().any()
        assert table.columns.is_unique
    assert all(sentence.endswith(".") for sentence in findings[name].sentences)
    assert findings[name].sentences and "nan" not in " ".join(findings[name].sentences).split()


@pytest.mark.parametrize("name", STUDIES)
def test_the_same_seed_gives_the_same_tables(name: str, findings: dict[str, tiltmeter.Finding]) -> None:
    again = without_models(name)
    assert again is not findings[name]
    for key, table in findings[name].tables.items():
        pd.testing.assert_frame_equal(again.tables[key], table)
    assert list(again.sentences) == list(findings[name].sentences)


def texts_of(figure: Any) -> Iterator[Text]:
    """Titles, labels, names of rows, legends and what is written into a panel; not ticks, which may lie outside the view."""
    found = [text for legend in figure.legends for text in legend.get_texts()]
    for axis in (axis for axis in figure.axes if axis.get_visible()):
        found += [axis.title, axis._left_title, axis.xaxis.label, axis.yaxis.label, *axis.texts, *axis.get_yticklabels()]
    yield from (text for text in found if any(map(str.isalpha, text.get_text())))


@pytest.mark.parametrize("name", STUDIES)
def test_figures_are_one_column_wide_and_nothing_is_cut_off(name: str, findings: dict[str, tiltmeter.Finding]) -> None:
    assert findings[name].figures
    for drawing in findings[name].figures:
        check_figure(findings[name].draw(drawing))


def check_figure(figure: Any, width: float = figures.WIDTH) -> None:
    canvas = FigureCanvasAgg(figure)
    with figures.house_style():
        canvas.draw()
    assert figure.get_size_inches()[0] == width
    shown = list(texts_of(figure))
    assert min(text.get_fontsize() for text in shown) >= 5.5
    for text in shown:
        box = text.get_window_extent(canvas.get_renderer())
        assert box.x0 > -2 and box.x1 < figure.bbox.x1 + 2, f"'{text.get_text()}' is cut off"
        assert box.y0 > -2 and box.y1 < figure.bbox.y1 + 2, f"'{text.get_text()}' is cut off"
    assert "n = " in " ".join(text.get_text().replace("\u00a0", " ") for text in shown)


@pytest.mark.parametrize("name", STUDIES)
def test_everything_is_written(
    name: str, findings: dict[str, tiltmeter.Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(figures.STYLE, "savefig.dpi", 40)  # how sharp they are is not asked here
    written = findings[name].save(tmp_path)
    expected = {f"{table}.{kind}" for table in findings[name].tables for kind in ("csv", "parquet")}
    expected |= {f"{figure}.{kind}" for figure in findings[name].figures for kind in ("png", "svg", "pdf")}
    assert {path.name for path in tmp_path.iterdir()} == expected | {"finding.json"} == {path.name for path in written}
    for key, table in findings[name].tables.items():
        stored = pd.read_parquet(tmp_path / f"{key}.parquet")
        assert stored.columns.tolist() == table.columns.tolist() and len(stored) == len(table)
    facts = json.loads((tmp_path / "finding.json").read_text())
    assert facts["study"] == name and facts["sentences"] == list(findings[name].sentences) and facts["citation"]


def test_figures_are_the_same_files_twice(findings: dict[str, tiltmeter.Finding], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        figures.save(findings["agreement"].draw(), tmp_path / folder / "figure")
    for kind in figures.FORMATS:
        assert (tmp_path / "one" / f"figure.{kind}").read_bytes() == (tmp_path / "two" / f"figure.{kind}").read_bytes()


@pytest.mark.parametrize("name", STUDIES)
def test_no_model_is_loaded(name: str) -> None:
    """Stored observations and scores are enough."""
    assert len(without_models(name).table)


def test_scores_in_memory_will_do() -> None:
    scores = made_up({("m", "s"): (noise(30), noise(30, 1)), ("k", "s"): (noise(30, 2), noise(30, 3))})
    assert set(tiltmeter.study("robustness", scores, options={"repeats": 5}).table["measure"]) == {
        "bias_score",
        "kls",
        "jss",
        "jss_liu",
        "mean_preference",
    }


@pytest.mark.parametrize("name", ["agreement", "normality", "pll_gap", "power", "quality"])
def test_one_model_and_one_score_can_be_drawn(name: str, tmp_path: Path) -> None:
    """The smallest figure there is; matplotlib warns when nothing is left for the axes, and a warning fails the test."""
    votes = [[["a"]] * (k % 2 * 5) or [[]] for k in range(30)]
    model = "an-organisation/a-model-with-a-long-name-uncased"
    finding = tiltmeter.study(name, made_up({(model, "stereoset_masked"): (noise(30), noise(30, 1))}, annotations=votes))
    assert finding.save(tmp_path) and finding.sentences
    for drawing in finding.figures:
        check_figure(finding.draw(drawing))


def test_a_label_that_is_cut_off_is_noticed(findings: dict[str, tiltmeter.Finding]) -> None:
    figure = findings["power"].draw()
    figure.axes[0].text(0, 0, "far too much to say in one column of a page, and more" * 2).set_in_layout(False)
    with pytest.raises(AssertionError, match="is cut off"):
        check_figure(figure)


def test_several_runs_are_one_evidence(tmp_path: Path) -> None:
    for n, model in enumerate("mk"):
        made_up({(model, "s"): (noise(30, n) + n, noise(30, 9))}).save(tmp_path / model)
    assert tiltmeter.study("robustness", [tmp_path / "m", tmp_path / "k"], options={"repeats": 5}).facts["models"] == [
        "m",
        "k",
    ]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert command("study", "pll-gap", small_run(), "-o", out, "--repeats", 20, "--rates", 0.5, "-s", "aul") == 0
    printed = capsys.readouterr()
    assert "|Δst| − |Δat|" in printed.out and str(out) in printed.err
    assert pd.read_csv(out / "subsamples.csv")["rate"].unique().tolist() == [0.5]
    assert command("study", "normality", small_run(), "-o", out / "n", "--json", "-s", "aul") == 0
    assert {row["scorer"] for row in json.loads(capsys.readouterr().out)} == {"aul"}
    assert command("list", "studies") == 0
    assert "pll-gap" in capsys.readouterr().out
    assert command("study", "agreement", "--help") == 0
    assert "--threshold" in capsys.readouterr().out


def test_without_an_output_the_run_keeps_it(tmp_path: Path) -> None:
    run = made_up({("m", "s"): (noise(30), noise(30, 1))}).save(tmp_path / "run")
    assert command("study", "normality", run) == 0
    assert (run / "studies" / "normality" / "normality.png").is_file()


def test_types_can_be_left_out() -> None:
    scores = made_up({("m", "s"): (noise(32), noise(32, 1))}, types=["a"] * 30 + ["b"] * 2)
    found = tiltmeter.study("normality", scores, without="b").table
    assert set(found["bias_type"]) == {"a", "all"} and found["n"].max() == 30


def test_compare_warns_of_models_too_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stereo, anti = noise(40), noise(40, 1)
    near = stereo.copy()
    near[np.flatnonzero(stereo < anti)[:2]] = anti.max() + 1  # two pairs of 40 the other way
    run = made_up({("m", "s"): (stereo, anti), ("k", "s"): (near, anti)}).save(tmp_path / "run")
    assert command("compare", run, "--measure", "bias_score", "--json") == 0
    (close,) = too_close(tiltmeter.compare(tiltmeter.load_run(run).answers, measures=["bias_score"]))
    assert (
        isinstance(close, Statement) and close.code == "not-significant" and close.fields["difference"] == pytest.approx(5)
    )
    expected = {"model": "k", "baseline": "m", "measure": "bias_score", "scorer": "s", "benchmark": "b", "n": 40}
    assert close.fields | expected == close.fields and close in capsys.readouterr().err.replace("\n", " ")
    apart = made_up({("m", "s"): (anti + 1, anti), ("k", "s"): (anti - 1, anti)}).save(tmp_path / "apart")
    assert command("compare", apart, "--measure", "bias_score") == 0
    assert "differ significantly" not in capsys.readouterr().err

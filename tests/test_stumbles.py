"""What people working from the documentation stumbled over: each once, as they met it."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from study_material import made_up, noise
from support.raising import check, raises
from test_cli import refused
from test_cli import tiltmeter as command
from test_terminal import in_a_terminal
from tiltmeter import TiltmeterError, load_benchmark, study, typeset, wrap_model
from tiltmeter.cli.folders import run_folder
from tiltmeter.display import Statement, fixed
from tiltmeter.models.places import weights_in
from tiltmeter.reporting.comparison_text import too_close
from tiltmeter.reporting.draw import draw_estimates
from tiltmeter.reporting.html.measures import Section
from tiltmeter.reporting.html.methods import _paragraph
from tiltmeter.stats.settings import MINIMUM_RESAMPLES, Settings

BERT = GOLDEN / "models" / "tiny-bert-cased"


@pytest.fixture
def hub_model() -> Any:
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM.from_pretrained(BERT)


def test_a_model_in_memory_without_its_tokenizer(hub_model: Any, tmp_path: Path) -> None:
    for ask in (tiltmeter.score, tiltmeter.ask):
        with raises("wrong-type", type="BertForMaskedLM"):
            ask(hub_model, "starter-pairs")
    with raises("wrong-type", type="BertForMaskedLM"):
        tiltmeter.run([hub_model], ["starter-pairs"], output=tmp_path / "r")


def test_a_wrapped_model_stays_in_training(hub_model: Any) -> None:
    """And is nevertheless asked without dropout, also where training goes on between two questions."""
    from transformers import AutoTokenizer

    hub_model.train()
    hub_model.bert.embeddings.eval()  # a part that its owner froze
    before = [part.training for part in hub_model.modules()]
    wrapped = wrap_model(hub_model, AutoTokenizer.from_pretrained(BERT), name="mine")
    bench = load_benchmark("starter-pairs").limit(4)
    asked = tiltmeter.score(wrapped, bench, ["aul"], cache=False).to_pandas()["score"]
    assert [part.training for part in hub_model.modules()] == before and any(before)
    expected = tiltmeter.score(golden_model("tiny-bert-cased"), bench, ["aul"], cache=False).to_pandas()["score"]
    np.testing.assert_allclose(asked, expected, atol=1e-6)


def test_studies_name_all_small_bias_types_at_once() -> None:
    types = ["age"] * 2 + ["of two words"] + ["gender"] * 60
    answers = made_up({(model, "cps"): (noise(63, n), noise(63, n + 5)) for n, model in enumerate("ab")}, types=types)
    with pytest.raises(TiltmeterError) as refused:
        study("correlation", answers)
    check(refused.value, "too-few", bias_types=["age", "of two words"], items=[2, 1])
    assert str(refused.value).endswith("--without 'of two words'")


@pytest.fixture
def own_pairs(tmp_path: Path) -> Path:
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "kind", "region"])
        for n in range(12):
            sides = [f"The {size} boy number {n} won." for size in ("tall", "short")]
            writer.writerow([*sides, "Body" if n % 3 else "Mind", "north" if n % 2 else "south"])
    return tmp_path / "mine.csv"


def test_groups_that_were_asked_for_are_printed(own_pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also by a column that is known to us under another name."""
    mapped = ("--columns", "stereo=a,anti=b,bias_type=kind", "--by", "region", "--by", "kind")
    few = ("--resamples", 100, "-s", "aul", "--no-report")
    assert command("run", "-m", BERT, "-b", own_pairs, *mapped, *few, "-o", own_pairs.parent / "r") == 0
    out, err = capsys.readouterr()
    for column, groups in (("region", "north|south"), ("kind", "Body|Mind")):
        assert re.search(rf"mine:.*{column}\s+{column} +.*\n.*\n─+\n({groups}) +\d", out), out
    assert f"Next: tiltmeter report {own_pairs.parent / 'r'}" in err and "tiltmeter estimate " in err


@pytest.fixture
def compared(tmp_path: Path) -> pd.DataFrame:
    first, second = noise(80, 1), noise(80, 2)
    scores = {("one", "cps"): (first, second), ("two", "cps"): (first, second + 1e-4)}
    return tiltmeter.compare(made_up(scores), measures=["bias_score", "kls"], resamples=100)


def test_a_comparison_in_latex_is_one_that_fits_a_page(compared: pd.DataFrame) -> None:
    text = typeset(compared, "latex", label="comparison")
    (columns,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert columns == "lrrrr", "measure, both values, the difference and p: all else is the same in every row"
    (caption,) = re.findall(r"\\caption\{(.*?)\. ", text)
    assert caption.partition(": ")[2].split(", ") == ["two minus one", "b", "cps", "n = 80"]
    assert text.index(r"\caption") < text.index(r"\label{tab:comparison}") and "-0.00" not in text
    rows = [line for line in text.split("\n") if line.startswith(("bias", "kls"))]
    assert len(rows) == 2 and all(len(set(map(len, re.findall(r"\.(\d+)", row.rsplit("&", 1)[0])))) == 1 for row in rows)


def test_nothing_is_minus_zero() -> None:
    assert fixed(-0.0004, 3) == "0.000" and fixed(-0.0004, 3, "+") == "+0.000" and fixed(-0.0006, 3) == "-0.001"
    frame = pd.DataFrame({"model": ["a", "b"], "gap": [-0.0001, 2.0], "p": [0.5, 0.2]})
    assert "-0.000" not in typeset(frame, "markdown") and "−0.000" not in typeset(frame, "latex")


def test_a_group_without_a_value_keeps_its_place_in_a_figure() -> None:
    table = tiltmeter.estimate(made_up({("m", "cps"): (noise(40, 1), noise(40, 2))}, types=["a", "b"] * 20), resamples=100)
    table.loc[table["group"] == "b", ["value", "low", "high"]] = np.nan
    figure = draw_estimates(table)
    labels = [label.get_text() for axis in figure.axes for label in axis.get_yticklabels()]
    assert any(label.startswith("b, n = ") and label.endswith("no value") for label in labels), labels


def test_a_figure_draws_every_metric_that_was_named_or_says_which_it_leaves_out() -> None:
    scores = made_up({("m", name): (noise(40, 1), noise(40, n)) for n, name in enumerate(("cps", "aul", "sss"), start=2)})
    table = tiltmeter.estimate(scores, ["bias_score", "mean_preference"], resamples=100)
    every = draw_estimates(table, all_metrics=True, confidence=0.9)
    labels = [axis.get_xlabel() for axis in every.axes]
    assert len(labels) == 2 and all("90" in label for label in labels) and "(%)" in labels[0]
    assert len(every.axes[0].containers) == 3 and not any(every.left_out.values())
    one = draw_estimates(table)
    assert len(one.axes) == 1 and one.left_out["measure"] == ["mean_preference"] and len(one.left_out["scorer"]) == 2


@pytest.mark.parametrize("width", ["one", "two"])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_panels_side_by_side_do_not_write_over_each_other(count: int, width: str) -> None:
    """Three benchmarks in one column of a page used to leave no room for anything."""
    from tiltmeter import figures
    from tiltmeter.families.pairs.studies.pll_gap import _draw

    places = [(f"a-benchmark-of-mine-{n}", model) for n in range(count) for model in ("mlm-wiki", "mlm-fiction")]
    table = pd.DataFrame(places, columns=["benchmark", "model"]).assign(
        scorer="aul", n_st=700, n_at=808, delta_st=0.12, delta_at=0.2, gap=0.1, low=0.0, high=0.2
    )
    under = pd.concat([table.assign(rate=rate, sd=0.02) for rate in (0.3, 0.5, 0.8)])
    with figures.house_style(width):
        figure = _draw(table, under)
        figure.draw_without_rendering()
    axes = [axis for axis in figure.axes if axis.get_visible()]
    texts = [text for axis in axes for text in (axis._left_title, axis.xaxis.label) if text.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    assert len(axes) == 2 * count and all(axis.get_window_extent().width > 40 for axis in axes)
    pairs = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
    assert not any(min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1 for a, b in pairs)


def test_terms_are_read_in_the_encoding_that_is_given(tmp_path: Path) -> None:
    """Of one's own sentences, and of embedded ones, whose own encoding is not meant."""
    terms = tmp_path / "terms.csv"
    terms.write_bytes("group,term\nж,женщина\nм,мужчина\n".encode("cp866"))
    for benchmark in ("plumb-slots", "sexism"):
        loaded: Any = load_benchmark(benchmark, offered={"terms": terms, "encoding": "cp866"})
        assert loaded.terms == {"ж": ("женщина",), "м": ("мужчина",)}
    slots = tmp_path / "slots.csv"
    slots.write_bytes("text\n[MASK] ушла домой.\n".encode("cp866"))
    own: Any = load_benchmark(slots, encoding="cp866", offered={"terms": terms})
    assert own.terms["ж"] == ("женщина",) and own.items[0].texts["slot"] == "[MASK] ушла домой."
    with raises("empty-selection", group="ж"):  # read right, and not English
        tiltmeter.run(
            [BERT],
            ["plumb-slots"],
            encoding="cp866",
            limit=2,
            cache=False,
            output=tmp_path / "r",
            options=tiltmeter.SlotsOptions(terms=terms),
        )


def test_the_fewest_resamples_are_those_that_the_message_names() -> None:
    with pytest.raises(TiltmeterError) as refused:
        Settings(resamples=MINIMUM_RESAMPLES - 1).check()
    assert refused.value.fields["low"] == MINIMUM_RESAMPLES
    Settings(resamples=MINIMUM_RESAMPLES).check()


@pytest.mark.parametrize("line", ["sep=;", "sep=;;", '"sep=;"', "SEP=;  "])
def test_the_line_with_which_excel_tells_the_separator(tmp_path: Path, line: str) -> None:
    (tmp_path / "excel.csv").write_text(f"{line}\nstereo;anti\nHe, she.;She, he.\n", encoding="utf-8-sig")
    assert load_benchmark(tmp_path / "excel.csv").items[0].texts == {"stereo": "He, she.", "anti": "She, he."}


def test_weights_that_may_not_be_read_are_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_text("")
    whole = Path.open

    def forbidden(path: Path, *how: Any, **more: Any) -> Any:
        if path.suffix == ".safetensors":
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *how, **more)

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(TiltmeterError) as refused:
        weights_in(tmp_path)
    assert "model.safetensors" in str(refused.value) and "ermission" in str(refused.value)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is something of Unix")
def test_whoever_waits_sees_that_something_goes_on(tmp_path: Path) -> None:
    made_up({("m", "cps"): (noise(300, 1), noise(300, 2))}).save(tmp_path / "r")
    words = [sys.executable, "-m", "tiltmeter", "estimate", str(tmp_path / "r"), "--measure", "kls"]
    assert "Estimating" in in_a_terminal(words, TTY_INTERACTIVE="1")
    assert "Estimating" not in in_a_terminal([*words, "--quiet"], TTY_INTERACTIVE="1")


def test_options_that_nothing_here_takes_are_refused() -> None:
    """Also where no benchmark is named, and those that are asked by default do not take them."""
    check(refused("run", "-m", BERT, "--contexts", 50), "inapplicable-option", option="--contexts")


def test_a_family_may_be_called_as_a_part_of_the_page_is() -> None:
    assert Section("data", "Data", "", ()).id == "family-data" and Section("lengths", "L", "", ()).id == "lengths"


def test_models_that_never_differ_are_not_told_of_differences_of_nothing() -> None:
    first, second = noise(80, 1), noise(80, 2)
    same = made_up({("one", "cps"): (first, second), ("two", "cps"): (first, second)})
    (said,) = too_close(tiltmeter.compare(same, measures=["bias_score"], resamples=100))
    assert isinstance(said, Statement) and said.code == "same-value"
    assert said.fields | {"model": "two", "baseline": "one", "n": 80, "unit": "pairs"} == said.fields


def test_a_comparison_counts_what_its_family_asks_about() -> None:
    row = {"model": "two", "baseline": "one", "benchmark": "b", "family": "labels", "measure": "fpr", "scorer": "s"}
    row |= {"by": "all", "n": 400, "low": -4.0, "high": 6.0, "difference": 1.0, "p": 0.01, "p_holm": 0.5}
    for family, unit in (("labels", "texts"), ("generations", "prompts"), ("pairs", "pairs")):
        (said,) = too_close(pd.DataFrame([row | {"family": family}]))
        assert f"With 400 {unit}, only" in said and f" {unit} would be needed" in said


def test_code_in_the_methods_is_shown_as_code() -> None:
    from tiltmeter.families import find_family

    assert "<code>by</code>" in _paragraph(find_family("slots").estimate, 1)


def test_a_run_is_named_by_its_last_part_or_as_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with raises("missing-file", run="last"):
        run_folder(Path("last"))
    answers = made_up({("m", "cps"): (noise(30, 1), noise(30, 2))})
    for age, name in enumerate(("runs/2026-11-16-061103", "runs/mine", "here")):
        answers.save(Path(name))
        os.utime(Path(name) / "manifest.json", (1e9 - age, 1e9 - age))
    (tmp_path / "runs" / "unfinished").mkdir()
    (tmp_path / "runs" / "unfinished" / "manifest.json").write_text(json.dumps({"tiltmeter": "0", "status": "unfinished"}))
    assert run_folder(Path("last")) == Path("runs/2026-11-16-061103")
    assert run_folder(Path("mine")) == Path("runs/mine") and run_folder(Path("061103")) == Path("runs/2026-11-16-061103")
    assert run_folder(Path("here")) == Path("here") and run_folder(Path("nowhere")) == Path("nowhere")
    answers.save(Path("also-mine"))
    answers.save(Path("runs/not-mine"))
    assert run_folder(Path("mine")) == Path("runs/mine"), "a whole name goes before the end of one"
    answers.save(Path("runs/of-061103"))
    with pytest.raises(TiltmeterError, match="could be"):
        run_folder(Path("061103"))


def test_open_shows_the_report_and_makes_one_if_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import webbrowser

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or len(opened) == 1)
    monkeypatch.chdir(tmp_path)
    made_up({("m", "cps"): (noise(30, 1), noise(30, 2))}).save(Path("runs/mine"))
    assert command("open", "mine") == 0
    page = tmp_path / "runs" / "mine" / "report.html"
    assert page.is_file() and opened == [page.as_uri()]
    capsys.readouterr()
    assert command("open") == 0
    out, err = capsys.readouterr()
    assert out.strip() == "runs/mine/report.html" and "No browser" in err
    assert command("open", "nowhere") == 2 and "no run folder nowhere" in capsys.readouterr().err


def test_the_program_says_what_to_try_first_and_which_versions_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert command() == 0
    first = capsys.readouterr().out
    assert "tiltmeter run" in first and "tiltmeter open last" in first and "--install-completion" in first
    assert command("--version") == 0
    packages = [part.split() for part in capsys.readouterr().out.split(", ")]
    assert [name for name, _ in packages] == ["tiltmeter", "torch", "transformers"]
    assert command("--help") == 0
    shown = capsys.readouterr().out
    order = [shown.index(f"\n  {name} ") for name in ("run", "list", "estimate", "compare", "study", "figure", "build")]
    assert order == sorted(order) and "..." not in shown.split("COMMAND [ARGS]...")[1]

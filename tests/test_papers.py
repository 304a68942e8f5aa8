"""Figures and tables for papers: every name, both widths, three formats, and the same numbers as the run's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tiltmeter
from study_material import options_of, small_run
from test_cli import tiltmeter as command
from test_studies import check_figure
from tiltmeter import TiltmeterError, catalog, figures
from tiltmeter.reporting.by_name import figure, names, parts_of, table
from tiltmeter.reporting.typeset import _escape_markdown, typeset
from tiltmeter.runs import load_run

NUMBER = re.compile(r"-?\d+\.\d+")


def cells(markdown: str) -> list[list[str]]:
    """The rows of a Markdown table, head first, escapes undone."""
    rows = [line.strip("| ") for line in markdown.splitlines() if line.startswith("| ")]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", row)] for row in rows]


def latex_cells(latex: str) -> list[list[str]]:
    """The rows of a tabular, head first, escapes undone."""
    rows = [line.removesuffix(r" \\") for line in latex.splitlines() if line.endswith(r" \\")]
    undone = [re.split(r"(?<!\\)&", row) for row in rows]
    return [[cell.strip().replace("$-$", "-").replace(r"\_", "_").replace("--", "–") for cell in row] for row in undone]


@pytest.mark.parametrize("width", ["one", "two", "3.03"])
@pytest.mark.parametrize("name", ["estimates", "slots"])
def test_figures_of_estimates(name: str, width: str) -> None:
    drawn = figure(name, small_run(), width=width)
    check_figure(drawn, figures.inches(width))


ELSEWHERE = (
    "calibration",
    "contamination",
    "domain_ablation",
    "domain_correlation",
    "formats",
    "implementations",
    "items",
    "noise",
    "temperature",
)  # tested elsewhere


@pytest.mark.parametrize("name", [name for name in catalog.names("studies") if name not in ELSEWHERE])
def test_every_figure_of_every_study_fits_a_page(name: str) -> None:
    finding = tiltmeter.study(name, small_run(), options=options_of(name))
    for drawing in finding.figures:
        check_figure(finding.draw(drawing, "two"), figures.WIDTHS["two"])


def test_the_marks_are_where_the_estimates_are() -> None:
    run = load_run(small_run())
    axis = tiltmeter.show(run).axes[0]
    first = run.estimates[(run.estimates["benchmark"] == "starter-pairs") & (run.estimates["measure"] == "bias_score")]
    by_model = first[(first["scorer"] == "sss") & first["by"].isin(["all", "bias_type"])].groupby("model", sort=False)
    assert axis.get_xlabel().startswith("bias_score (%) by sss,")
    for (model, rows), drawn in zip(by_model, axis.containers, strict=True):
        assert drawn.get_label() == model
        assert sorted(drawn.lines[0].get_xdata()) == sorted(rows["value"])
        (bars,) = drawn.lines[2]
        edges = sorted(float(x) for segment in bars.get_segments() if len(segment) for x in segment[:, 0])
        assert edges == pytest.approx(sorted([*rows["low"].dropna(), *rows["high"].dropna()]))
        assert rows["low"].notna().all() and rows["n"].min() < 5, "the interval of a count is exact for any number of pairs"


def test_series_keep_their_colour_from_panel_to_panel(tmp_path: Path) -> None:
    drawn = figure("estimates", small_run(), measures=["bias_score"], scorers=["aul", "cps"])
    looks = [{one.get_label(): one.lines[0].get_color() for one in axis.containers} for axis in drawn.axes]
    assert len(looks) == 2 and looks[0] == looks[1] and len(set(looks[0].values())) == 6
    assert set(looks[0]) == {f"tiny-{m}, {s}" for m in ("bert-cased", "albert", "roberta") for s in ("aul", "cps")}


@pytest.mark.parametrize("suffix", figures.FORMATS)
def test_the_suffix_says_the_format(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"figure.{suffix}"
    assert command("figure", "agreement-auc", small_run(), "-o", file, "--width", "two") == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert file.read_bytes().startswith(start) and [path.name for path in tmp_path.iterdir() if path.suffix] == [file.name]


def test_options_of_a_study_pass_through(tmp_path: Path) -> None:
    both = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file, threshold in zip(both, (3, 4), strict=True):
        assert command("figure", "agreement-roc", small_run(), "-o", file, "--threshold", threshold, "-s", "aul") == 0
    assert "at least 3 votes" in both[0].read_text() and "at least 4 votes" in both[1].read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("figure", "nothing", "RUN", "-o", "f.pdf"), "generations, group-rates"),
        (("figure", "agreement-nothing", "RUN", "-o", "f.pdf"), "agreement-roc, agreement-auc"),
        (("figure", "estimates", "RUN", "-o", "f.jpg"), ".png, .svg, .pdf"),
        (("figure", "estimates", "RUN", "-o", "f"), ".png, .svg, .pdf"),
        (("figure", "estimates", "RUN", "-o", "f.pdf", "--width", "three"), "one or two"),
        (("figure", "estimates", "RUN", "-o", "f.pdf", "--width", "0.5"), "one or two"),
        (("figure", "estimates", "RUN", "-o", "f.pdf", "-s", "nobody"), "There are: "),
        (("figure", "estimates", "RUN", "-o", "f.pdf", "--resamples", "3"), "too few"),
        (("figure", "estimates", "missing", "-o", "f.pdf"), "There is no run folder"),
        (("table", "nothing", "RUN"), "estimates, comparison"),
        (("table", "estimates", "RUN", "--format", "html"), "latex or markdown"),
        (("table", "estimates", "RUN", "-o", "t.html"), ".tex or .md"),
        (("table", "power-nothing", "RUN"), "power has no table"),
        (("table", "estimates", "RUN", "--by", "nothing"), "nothing"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    extra = ["--draws", 50] if "power-nothing" in words else []
    assert command(*(small_run() if word == "RUN" else word for word in words), *extra) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert said in err and "Traceback" not in err
    assert set(tmp_path.iterdir()) == before


def test_names_are_read_as_one_writes_them() -> None:
    assert set(names("figure")) == {
        "choices",
        "estimates",
        "generations",
        "group-rates",
        "slots",
        "threshold",
        *map(catalog.public_name, catalog.names("studies")),
    }
    assert parts_of("figure", "pll-gap") == ("pll-gap", "") == parts_of("figure", "PLL_gap")
    assert parts_of("table", "debiasing-largest_rank_gaps") == ("debiasing", "largest-rank-gaps")
    with pytest.raises(TiltmeterError, match="no table called 'slots'"):
        parts_of("table", "slots")
    found = table("debiasing-largest_rank_gaps", small_run(), options=options_of("debiasing"))
    assert {"sentence", "term_1"} <= set(found.columns)


@pytest.mark.parametrize("read", [cells, latex_cells], ids=["markdown", "latex"])
def test_a_table_has_the_numbers_of_the_run(read: Any) -> None:
    """Every value, edge and count, to the digits shown; and every estimate is there."""
    stored = load_run(small_run()).estimates
    pairs = stored[(stored["scorer"] != "slots") & stored["by"].isin(["all", "bias_type"])]
    chosen = table("estimates", small_run(), by="bias_type")
    head, *rows = read(typeset(chosen[chosen["scorer"] != "slots"], "markdown" if read is cells else "latex"))
    assert head[:4] == ["benchmark", "model", "scorer", "group"] and "bias_score (50)" in head
    seen = 0
    above: list[str] = [""] * 4
    for row in rows:
        above = [name or before for name, before in zip(row[:4], above, strict=True)]  # LaTeX does not repeat names
        place = dict(zip(head, [*above, *row[4:]], strict=True))
        ours = pairs[(pairs["benchmark"] == place["benchmark"]) & (pairs["model"] == place["model"])]
        ours = ours[(ours["scorer"] == place["scorer"]) & (ours["group"] == place["group"])].set_index("measure")
        for name, cell in place.items():
            measure = name.split(" ")[0]
            if measure in ours.index and cell != "missing":
                one = ours.loc[measure]
                ends = [] if pd.isna(one["low"]) else [one["low"], one["high"]]
                assert NUMBER.findall(cell) == [f"{round(number, 2) + 0.0:.2f}" for number in (one["value"], *ends)]  # no −0
                seen += 1
        assert place["n"].split("–")[-1] == f"{ours['n'].max():,}"
    assert seen == pairs["value"].notna().sum() > 200


def test_other_settings_are_computed_anew_and_stored_ones_kept() -> None:
    assert table("estimates", small_run())["low"].equals(table("estimates", small_run())["low"])
    stored = load_run(small_run()).estimates
    kept = table("estimates", small_run())
    assert kept["low"].dropna().tolist() == stored.loc[kept.index, "low"].dropna().tolist()
    from tiltmeter.stats.settings import Settings

    again = table("estimates", small_run(), measures=["bias_score"], settings=Settings(resamples=100, seed=7))
    both = kept.merge(again, on=["model", "benchmark", "scorer", "measure", "by", "group"])
    assert both["value_x"].equals(both["value_y"]) and not both["low_x"].equals(both["low_y"])


def test_comparisons_and_studies_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--measure", "bias_score", "-s", "cps", "--resamples", 100)
    assert command("table", "comparison", small_run(), "-o", tmp_path / "t.md", *words) == 0
    head, *rows = cells((tmp_path / "t.md").read_text())
    found = tiltmeter.compare(load_run(small_run()).answers["pairs"], None, ["bias_score"], resamples=100)
    found = found[found["scorer"] == "cps"]
    at = head.index("difference (interval)")
    shown = [NUMBER.findall(row[at]) for row in rows]
    numbers = found[["difference", "low", "high"]].to_numpy()
    digits = 3 if abs(numbers).max() < 10 else 2  # one number of decimals for a measure
    expected = [[f"{value:.{digits}f}" for value in row] for row in numbers]
    assert shown == expected and len(rows) == len(found)
    capsys.readouterr()
    assert command("table", "agreement", small_run(), "--format", "latex", "--digits", 4, "--caption", "Areas & more") == 0
    out = capsys.readouterr().out
    auc = tiltmeter.study("agreement", small_run()).table["auc"]
    head, *rows = latex_cells(out)
    (at,) = (n for n, name in enumerate(head) if name.startswith("auc"))  # what is the same in all rows is in the caption
    assert [NUMBER.findall(row[at])[0] for row in rows] == [f"{value:.4f}" for value in auc]
    assert r"\caption{Areas \& more" in out and out.count(r"\toprule") == out.count(r"\bottomrule") == 1


def test_names_are_escaped() -> None:
    frame = pd.DataFrame({"model": ["a_b & 50% {x} \\ | <b> $y$ #1 ~^ `c` *d*\nnext"], "value": [-1.5]})
    latex = typeset(frame, "latex")
    assert (
        r"a\_b \& 50\% \{x\} \textbackslash{} \textbar{} \textless{}b\textgreater{} \$y\$ \#1" in latex
        and "$-$1.500" in latex
    )
    (_, row) = latex_cells(latex)
    assert len(row) == 2
    (_, (name, value)) = cells(typeset(frame, "markdown"))
    assert name == "a_b & 50% {x} \\ | <b> $y$ #1 ~^ `c` *d* next" and value == "-1.500"
    assert _escape_markdown("bias_score 5 [4, 6] _x_ [link](y)") == r"bias_score 5 [4, 6] \_x\_ \[link](y)"
    with pytest.raises(TiltmeterError, match="empty"):
        typeset(frame.head(0))


def test_a_row_that_starts_with_a_bracket_is_no_argument_of_the_break_before_it() -> None:
    text = typeset(pd.DataFrame({"token": ["[UNK]", "a|b"], "n": [1, 2]}), "latex")
    assert "\n{}[UNK] & 1" in text and r"a\textbar{}b" in text


def test_what_is_shared_by_all_rows_goes_into_the_caption() -> None:
    rows = table("estimates", small_run(), measures=["bias_score"], scorers=["cps"])
    rows = rows[rows["benchmark"] == "starter-pairs"]
    text = typeset(rows, "markdown", "Ours")
    assert text.split(". ")[:2] == ["Ours", "starter-pairs, cps"]
    assert cells(text)[0] == ["model", "bias_score (50)", "n", "missing"] and len(cells(text)) == 4


def test_a_measure_that_no_run_stored_is_computed(tmp_path: Path) -> None:
    own = tmp_path / "median_gap.py"
    own.write_text(
        '"""Median difference."""\nimport numpy as np\nfrom tiltmeter.catalog import Measure\n\n'
        'MEASURE = Measure(reads=("stereo", "anti"), neutral=0.0, unit="nats", role="bias", '
        'direction="two-sided", cites="ours")\n\n\n'
        'def median_gap(stereo, anti):\n    """Median of the differences."""\n    '
        "return np.median(stereo - anti, axis=-1)\n",
        "utf-8",
    )
    both = table("estimates", small_run(), measures=[str(own), "bias_score"])
    assert set(both["measure"]) == {"median_gap", "bias_score"}
    stored = table("estimates", small_run(), measures=["bias_score"])
    again = both[both["measure"] == "bias_score"]
    assert sorted(again["low"].dropna()) == pytest.approx(sorted(stored["low"].dropna()))  # by the settings of the run

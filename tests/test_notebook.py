"""In a notebook: what results look like, and that nothing in them can be taken for markup."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pandas as pd
import pytest

import tiltmeter
from conftest import scores_of
from study_material import made_up, noise, small_run
from tiltmeter import TiltmeterError
from tiltmeter.display import visible
from tiltmeter.families.pairs.headline import first_scorer
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import load_run

NASTY = "<script>alert('x')</script>&\"\u202e"


class Page(HTMLParser):
    """Tags that are open when it ends, cells by row, and everything that was said."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def shown(what: object) -> Page:
    page = Page(what._repr_html_())  # type: ignore[attr-defined]
    assert page.open == [] and page.tags <= {"div", "b", "p", "table", "thead", "tbody", "tr", "th", "td"}
    return page


def test_a_run_says_what_it_found_and_shows_its_estimates() -> None:
    run = load_run(small_run())
    page = shown(run)
    text = run._repr_html_()
    stories = stories_of(run.estimates, run.manifest["evaluations"])
    assert {story.model for story in stories} == {"tiny-bert-cased", "tiny-albert", "tiny-roberta"}
    for story in stories:
        if story.benchmark == "starter-pairs":
            assert f"{story.model} on starter-pairs: {story.sentences[0]}" in unescape(text)
    head, *rows = page.rows
    overall = run.estimates[run.estimates["by"].isin(["all", "group", "gap"])]
    assert len(rows) == min(60, len(overall)) and f"{len(overall) - 60} more rows" in text
    for row, (_, one) in zip(rows, overall.iterrows(), strict=False):
        cell = dict(zip(head, row, strict=True))
        assert (cell["model"], cell["measure"], cell["n"]) == (one["model"], one["measure"], f"{one['n']:,}")
        if pd.notna(one["value"]):
            digits = cell["value (interval)"].replace("\N{MINUS SIGN}", "-")
            assert float(re.match(r"-?[\d.]+", digits)[0]) == pytest.approx(one["value"], abs=0.006)


def test_scores_slots_and_findings() -> None:
    run = load_run(small_run())
    head, *rows = shown(run.answers["pairs"]).rows
    at = [head.index(name) for name in ("benchmark", "model", "scorer", "scores", "missing")]
    frame = run.answers["pairs"].to_pandas()
    for benchmark, model, scorer, there, missing in ([row[n] for n in at] for row in rows):
        ours = frame[(frame["benchmark"] == benchmark) & (frame["model"] == model) & (frame["scorer"] == scorer)]
        assert (int(there), int(missing)) == (ours["score"].notna().sum(), ours["score"].isna().sum())
    assert "missing" in run.answers["pairs"]._repr_html_() and run.answers["slots"] is not None
    head, *rows = shown(run.answers["slots"]).rows
    assert head[:4] == ["benchmark", "model", "group", "sentences"] and len(rows) == 6
    finding = tiltmeter.study("agreement", small_run())
    assert len(shown(finding).rows) == 1 + len(finding.table) and finding.sentences[0][:20] in finding._repr_html_()


def test_markup_in_names_is_shown_as_text() -> None:
    scores = made_up({(NASTY, NASTY): (noise(30), noise(30, 1))}, types=[NASTY] * 30)
    table = tiltmeter.estimate(scores, ["bias_score"], resamples=100)
    for text in (scores._repr_html_(), tiltmeter.as_html(table)):
        assert "<script" not in text and "&lt;script&gt;alert(&#x27;x&#x27;)" in text
        assert any(visible(NASTY) in cell for row in Page(text).rows for cell in row)


def test_showing_draws_the_estimates_and_gives_the_figure() -> None:
    scores = made_up({("m", "aul"): (noise(40), noise(40, 1))}, types=["a", "b"] * 20)
    table = tiltmeter.estimate(scores, ["bias_score"], by="bias_type", resamples=100)
    for what in (scores, table):
        (axis,) = tiltmeter.show(what).axes
        assert sorted(axis.containers[0].lines[0].get_xdata()) == sorted(table["value"])
    picture = tiltmeter.show(table, width="two")
    assert picture._repr_png_().startswith(b"\x89PNG") and picture.get_size_inches()[0] == 7.0
    run = load_run(small_run())
    assert [axis.get_ylabel() for axis in tiltmeter.show(run.answers["slots"]).axes] == ["", ""]
    assert tiltmeter.show(tiltmeter.study("agreement", small_run())).axes


def test_only_the_headline_scores_are_estimated() -> None:
    """Drawing takes no longer than it must: a score that is not drawn is not resampled."""
    both = {("m", name): (noise(40, n), noise(40, n + 9)) for n, name in enumerate(("aul", "cps", "other"))}
    (axis,) = tiltmeter.show(made_up(both)).axes
    assert axis.get_xlabel().startswith(f"bias_score (%) by {first_scorer('bias_score', ['aul', 'cps', 'other'])},")


def test_what_cannot_be_shown_is_said() -> None:
    with pytest.raises(TiltmeterError, match="not list"):
        tiltmeter.show([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TiltmeterError, match="not DataFrame"):
        tiltmeter.as_html(pd.DataFrame({"a": [1]}))
    empty = scores_of(made_up({("m", "s"): (noise(4), noise(4))}).table, pd.DataFrame())
    assert "8 sentence scores" in empty._repr_html_()

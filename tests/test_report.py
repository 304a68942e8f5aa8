"""The HTML report: its numbers are the run's, everything is escaped, and what is lacking is said."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED, golden_model, reseal
from report_material import NASTY, element, embedded, explorer, made_up_run, section, tables, words_of
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import catalog
from tiltmeter.display import number_text, visible
from tiltmeter.families.kit.pack import Pack, island, unpack
from tiltmeter.families.pairs.narratives import VERDICTS
from tiltmeter.families.pairs.spans import spans_of
from tiltmeter.reporting.html import gather, page, write_report
from tiltmeter.reporting.html.bars import Scale, bar, tone
from tiltmeter.reporting.html.material import NAMESAKES, OTHER_DATA, OTHER_VERSIONS
from tiltmeter.reporting.html.studies import CHANGED, NO_SENTENCES
from tiltmeter.reporting.narratives import stories_of
from tiltmeter.runs import load_run
from tiltmeter.runs.folder import write_estimates
from tiltmeter.runs.published import import_run, import_scores
from tiltmeter.runs.run import run
from tiltmeter.studies import Finding


def title_of(text: str) -> str:
    """The heading of a page."""
    (title,) = re.findall(r"<h1>(.*?)</h1>", text)
    return str(title)


@pytest.fixture(scope="module")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked and a causal tiny model on pairs, triples and slots."""
    folder = tmp_path_factory.mktemp("report")
    models = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-albert", "tiny-gpt2")]
    benchmarks = ["starter-pairs", GOLDEN / "data" / "triples_stereoset_format.json", GOLDEN / "data" / "slots.jsonl"]
    options = {"resamples": 100, "cache": folder / "cache"}
    run(
        models,
        benchmarks,
        ["cps", "aul", "causal"],
        output=folder / "run",
        **options,
        options=tiltmeter.SlotsOptions(top_k=500),
    )
    return folder / "run"


@pytest.fixture(scope="module")
def real_page(real_run: Path) -> str:
    return page(gather(real_run))


def test_the_numbers_of_the_page_are_those_of_the_run(real_run: Path, real_page: str) -> None:
    """To the last digit, every row and every column, missing as missing."""
    shown = json.loads(element(real_page, "data"))["estimates"]
    stored = list(csv.reader((real_run / "estimates.csv").read_text(encoding="utf-8").splitlines()))
    assert shown["columns"] == stored[0]
    assert len(shown["rows"]) == len(stored) - 1 > 100
    for ours, theirs in zip(shown["rows"], stored[1:], strict=True):
        for value, text in zip(ours, theirs, strict=True):
            if value is None:
                assert text == ""
            else:
                assert (value == text) if isinstance(value, str) else (value == float(text))


def test_the_page_is_one_file_that_asks_for_nothing(real_page: str) -> None:
    assert "default-src 'none'" in real_page
    for address in re.findall(r"(?:src|href|action|data)=\"([^\"]*)\"", real_page):
        assert address.startswith(("#", "data:image/"))
    assert not re.search(r"@import|url\(", real_page)
    assert len(re.findall(r"<script", real_page)) == len(re.findall(r"</script>", real_page)) == 3


def test_the_page_tells_the_story(real_run: Path, real_page: str) -> None:
    """Every part is there; every sentence about the estimates, and what the catalog says of the scorers and measures."""
    text = words_of(re.sub(r"<script.*?</script>", "", real_page, flags=re.S))
    for name in ("short", "pairs", "slots", "comparison", "explorer", "caveats", "methods", "origin"):
        assert words_of(section(real_page, name)), name
    run_ = load_run(real_run)
    for story in stories_of(run_.estimates, run_.manifest["evaluations"]):
        for sentence in (story.verdict, *story.sentences):
            assert sentence in text, sentence
    for kind, name in (("scorers", "cps"), ("measures", "bias_score")):
        assert catalog.find(kind, name).summary.partition(": ")[2][1:].rstrip(".") in text, name
    for fact in (
        "tiny-gpt2",
        "bias_score by ",
        "Bowman (2020)",
        "Weights sha256",
        "80 % power",
    ):
        assert fact in text, fact


def test_sides_and_scores_of_the_explorer_are_those_of_the_run(real_run: Path, real_page: str) -> None:
    header, array = explorer(real_page)
    scores = pd.read_parquet(real_run / "scores.parquet")
    overall = embedded(real_page).query("by == 'all' and measure == 'bias_score'")
    seen = 0
    for benchmark in (one for one in header["benchmarks"] if one["family"] == "pairs"):
        for one in benchmark["scores"]:
            model = header["models"][one["model"]]
            where = {"model": model, "benchmark": benchmark["name"], "scorer": one["scorer"]}
            row = overall[np.all([overall[key] == value for key, value in where.items()], axis=0)].iloc[0]
            side = array(one["side"])
            assert (side == 1).sum() == round(row["value"] * row["n"] / 100)
            assert (side == -128).sum() == row["n_missing"] and (side == 0).sum() == row["n_ties"]
            stored = scores[np.all([scores[key] == value for key, value in where.items()], axis=0)].query("role == 'stereo'")
            by_item = dict(zip(stored["item"], stored["score"], strict=True))
            expected = np.array([by_item[item] for item in benchmark["items"]["id"]], dtype=np.float32)
            np.testing.assert_array_equal(array(one["stereo"]), expected)
            seen += 1
    assert seen == 10  # three models, two benchmarks, two scorers each or one


def test_the_coloured_tokens_add_up_to_the_scores(real_page: str) -> None:
    """cps sums the shared tokens of the view that is shown, causal sums them all: a check on order, kinds and rounding."""
    header, array = explorer(real_page)
    for benchmark in (one for one in header["benchmarks"] if one["name"] == "starter-pairs"):
        scores = {(one["model"], one["scorer"]): one for one in benchmark["scores"]}
        assert len(benchmark["tokens"]) == 3
        for tokens in benchmark["tokens"]:
            masked = tokens["view"] == "each"
            score = scores[tokens["model"], "cps" if masked else "causal"]
            count, kind, logprob = (array(tokens[name]) for name in ("count", "kind", "logprob"))
            assert (count > 0).mean() > 0.95
            sums = np.add.reduceat(np.where((kind == 0) | (not masked), logprob / 100, 0.0), np.cumsum([0, *count[:-1]]))
            there = (count > 0) & np.isfinite(np.repeat(array(score["stereo"]), 2))
            expected = np.stack([array(score["stereo"]), array(score["anti"])], axis=1).ravel()
            np.testing.assert_allclose(sums[there], expected[there], atol=0.15)
            shared = [np.add.reduceat(kind == 0, np.cumsum([0, *count[:-1]]))[n::2] for n in (0, 1)]
            np.testing.assert_array_equal(shared[0][count[::2] > 0], shared[1][count[::2] > 0])


def test_slots_show_the_terms_that_rank_highest(real_run: Path, real_page: str) -> None:
    header, array = explorer(real_page)
    slots = pd.read_parquet(real_run / "slots.parquet")
    (benchmark,) = (one for one in header["benchmarks"] if one["family"] == "slots")
    for fills in benchmark["fills"]:
        ours = slots[slots["model"] == header["models"][fills["model"]]]
        start = np.cumsum([0, *array(fills["count"])])
        for n, item in enumerate(benchmark["items"]["id"]):
            ranked = ours[(ours["item"] == item) & (ours["rank"] > 0)]
            ranks = array(fills["rank"])[start[n] : start[n + 1]]
            assert list(ranks) == sorted(ranks)
            if len(ranked):
                assert ranks[0] == ranked["rank"].min()
                groups = {benchmark["groups"][code] for code in array(fills["group"])[start[n] : start[n + 1]]}
                assert groups == set(ranked["group"])


def test_slots_show_what_the_model_predicts(real_run: Path, real_page: str) -> None:
    header, _ = explorer(real_page)
    predicted = pd.read_parquet(real_run / "predictions.parquet").astype({"token": object, "group": object})
    (benchmark,) = (one for one in header["benchmarks"] if one["family"] == "slots")
    for fills in benchmark["fills"]:
        ours = predicted[predicted["model"] == header["models"][fills["model"]]]
        for item, shown in zip(benchmark["items"]["id"], fills["top"], strict=True):
            expected = ours[ours["item"] == item]
            assert [token for token, _, _ in shown] == expected["token"].tolist()
            groups = [benchmark["groups"][code] if code >= 0 else None for _, code, _ in shown]
            assert groups == [name if isinstance(name, str) else None for name in expected["group"]]
    assert any(shown for fills in benchmark["fills"] for shown in fills["top"])


@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_tokens_are_laid_on_the_text(name: str) -> None:
    """Every tokenizer's tokens cover every letter of every sentence, in order."""
    tokens = golden_model(name).tokens
    rows = [json.loads(line) for line in (GOLDEN / "data" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [row[key] for row in rows for key in ("sent_more", "sent_less")]
    laid = 0
    for text, encoded in zip(texts, tokens.encode(texts, special=False), strict=True):
        spans = spans_of(text, tokens.token_strings(list(encoded.ids)), bool(tokens.facts()["byte_level"]))
        if spans is None:
            continue
        laid += 1
        assert len(spans) == len(encoded.ids)
        assert all(low <= high for low, high in spans) and all(a[1] <= b[0] for a, b in pairwise(spans))
        covered = {place for low, high in spans for place in range(low, high)}
        assert all(place in covered or sign.isspace() for place, sign in enumerate(text))
    assert laid > 0.97 * len(texts)


@given(st.text(min_size=1, max_size=30), st.lists(st.integers(1, 5), min_size=30, max_size=30))
def test_byte_level_tokens_cover_any_text(text: str, cuts: list[int]) -> None:
    """However the bytes are cut into tokens, also within a letter."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    from tiltmeter.families.pairs.spans import _byte_of

    sign = {byte: letter for letter, byte in _byte_of().items()}
    spelled = "".join(sign[byte] for byte in data)
    tokens, at = [], 0
    for size in [*cuts, len(spelled)]:
        tokens += [spelled[at : at + size]] if at < len(spelled) else []
        at += size
    spans = spans_of(text, tokens, byte_level=True)
    assert spans is not None and len(spans) == len(tokens)
    covered = {place for low, high in spans for place in range(low, high)}
    assert all(place in covered or letter.isspace() for place, letter in enumerate(text))


def test_everything_is_escaped(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "<b>run", models=("<i>one", "two"), tokens=True).folder
    text = page(gather(folder))
    assert "window.hacked" not in text  # sentences are packed; nothing of them stands in the page as it is
    assert "<i>one" not in text and "&lt;i&gt;one" in text
    header, _ = explorer(text)
    assert header["benchmarks"][0]["items"]["stereo"][: len(NASTY)] == [stereo for stereo, _ in NASTY]
    assert header["models"] == ["<i>one", "two"]
    assert json.loads(island({"a": "</script><!-- & \u2028"})) == {"a": visible("</script><!-- & \u2028")}
    assert not set("<>&\u2028") & set(island({"a": "</script><!-- & \u2028"}))


def test_a_pack_gives_back_what_was_put_in() -> None:
    pack = Pack()
    words = [pack.array([1, 2, 3], "uint8"), pack.array([-1.5, np.nan], "float32"), pack.array([], "int16")]
    header, array = unpack(pack.text({"words": words, "text": "ä👩"}))
    assert header["text"] == "ä👩"
    assert array(header["words"][0]).tolist() == [1, 2, 3] and array(header["words"][2]).tolist() == []
    np.testing.assert_array_equal(array(header["words"][1]), np.array([-1.5, np.nan], dtype=np.float32))


def test_bars_and_tones() -> None:
    row = {"value": 60.0, "low": 55.0, "high": 65.0, "neutral": 50.0, "p": 0.01, "p_holm": np.nan}
    assert tone(row, leaning=True) == "towards" and tone(row, leaning=False) == "plain"
    assert tone(row | {"p_holm": 0.2}, leaning=True) == "unsure"  # the corrected test decides
    assert tone(row | {"value": 40.0}, leaning=True) == "away"
    no_test = row | {"p": np.nan}
    assert tone(no_test, leaning=True) == "towards" and tone(no_test | {"low": 45.0}, leaning=True) == "unsure"
    assert 'd="M62.5 10H87.5"' in bar(row, Scale(30.0, 70.0, 50.0))
    drawn = bar({"value": np.nan, "low": np.nan, "high": np.nan}, Scale(0, 1))
    assert "path" not in drawn
    assert Scale.around([np.nan], np.nan).ticks and Scale.around([5.0, 5.0], np.nan).decimals >= 0


def shows(text: str, value: float) -> bool:
    """Whether a cell has a number, to the digits shown; missing as missing, and infinite as not known."""
    if not np.isfinite(value):
        return text in ("missing", "–")
    digits = text.replace("−", "-")
    places = len(digits.partition(".")[2])
    return digits == number_text(value, places).replace("−", "-")


def check_row(shown: dict[str, str], stored: pd.Series) -> None:
    """A row of the page has the numbers of its row in estimates.csv."""
    assert shows(shown["Value"], stored["value"])
    edges = shown["Interval"].split(" to ") if np.isfinite(stored["low"]) else [shown["Interval"]] * 2
    assert shows(edges[0], stored["low"]) and shows(edges[1], stored["high"])
    for name, column in (("n", "n"), ("Missing", "n_missing"), ("Ties", "n_ties")):
        assert shown[name] == f"{int(stored[column]):,}"
    p = stored["p"] if np.isnan(stored["p_holm"]) else stored["p_holm"]
    assert shown["p"] == "< 0.001" if p < 0.001 else shows(shown["p"], p)


def check_associations(text: str, folder: Path) -> int:
    """Every estimate of the family stands in the table of its benchmark, scorer and measure, and nothing else does."""
    read = tables(text, "associations")
    stored = pd.read_csv(folder / "estimates.csv").query("family == 'associations'")
    for (benchmark, scorer, measure), rows in stored.groupby(["benchmark", "scorer", "measure"]):
        shown = {(row["Group"], row["Model"]): row for row in read.pop(f"{benchmark} · {scorer} · {measure}")}
        assert len(shown) == len(rows)
        for _, row in rows.iterrows():
            check_row(shown["all" if row["by"] == "all" else row["group"], row["model"]], row)
    assert not read
    return len(stored)


def test_the_tables_of_associations_have_the_numbers_of_the_run(tmp_path: Path) -> None:
    """SEAT and ILPS of two models: tests, groups, domains and averages, each in its own table."""
    models = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-albert")]
    options = {"resamples": 100}
    made = run(models, ["seat", "ilps"], output=tmp_path / "run", **options)
    text = page(gather(made.folder))
    assert check_associations(text, made.folder) > 100
    ilps = {title: rows for title, rows in tables(text, "associations").items() if title.startswith("ilps · ")}
    assert (
        sum(title.endswith("· ilps") for title in ilps) == made.estimates.query("measure == 'ilps'")["scorer"].nunique() > 1
    )
    assert all(row["Model"] in ("tiny-bert-cased", "tiny-albert") for rows in ilps.values() for row in rows)


def test_measures_of_other_probes_find_a_place(tmp_path: Path) -> None:
    """Neutral 0, no neutral point, no interval, nothing at all: shown, never a crash."""
    made = made_up_run(tmp_path / "run")
    strange = [
        {"scorer": "seat", "measure": "effect_size", "by": "test", "group": "names × career", "value": 0.7, "low": 0.1,
         "high": 1.2, "neutral": 0.0, "p": 0.01},
        {"scorer": "ceat", "measure": "combined", "by": "all", "group": "all", "value": 0.2, "neutral": np.nan},
        {"scorer": "ilps", "measure": "gap", "by": "test", "group": "x", "value": np.nan, "note": "no terms"},
        {"scorer": "ilps", "measure": "far", "by": "test", "group": "x", "value": np.inf},
    ]  # fmt: skip
    base = {"model": "one", "benchmark": "words", "family": "associations", "n": 8, "n_missing": 0, "n_ties": 0}
    table = pd.concat([made.estimates, pd.DataFrame([base | row for row in strange])], ignore_index=True)
    write_estimates(made.folder, table)
    reseal(made.folder)
    text = page(gather(made.folder))
    assert check_associations(text, made.folder) == 4
    associations = words_of(section(text, "associations"))
    assert "Association tests" in associations and "no neutral point" in associations
    assert "x, one: no terms." in associations and "words · ilps · gap" in associations
    assert embedded(text)["value"].iloc[-4] == 0.7


def test_variances_over_groups_have_a_table_for_each_scorer(tmp_path: Path) -> None:
    """Of one model and bias type there is one per scorer: in one table nobody could tell them apart."""
    made = made_up_run(tmp_path / "run", models=("one",))
    rows = made.estimates.query("by == 'bias_type' and measure == 'bias_score'").assign(
        measure="group_variance", neutral=0.0
    )
    write_estimates(made.folder, pd.concat([made.estimates, rows], ignore_index=True))
    reseal(made.folder)
    text = page(gather(made.folder))
    for scorer in ("cps", "aul"):
        (shown,) = (rows for title, rows in tables(text, "pairs").items() if title.endswith(f" · {scorer}"))
        ours = rows[rows["scorer"] == scorer].set_index("group")
        assert len(shown) == len(ours) == 3
        for row in shown:
            check_row(row, ours.loc[row["Group"]])


def test_every_section_can_be_reached(real_page: str) -> None:
    (listed,) = re.findall(r'<nav aria-label="Sections">(.*?)</nav>', real_page, re.S)
    linked = dict(re.findall(r'<a href="#([^"]+)">([^<]+)</a>', listed))
    assert list(linked) == re.findall(r'<section id="([^"]+)">', real_page)
    assert (linked["pairs"], linked["slots"]) == ("Pairs", "Slots")
    assert len(" ".join(linked.values())) < 90  # all of it fits in a line, beside the name and the theme


def test_runs_in_memory(tmp_path: Path) -> None:
    made = made_up_run(tmp_path / "run", n=20)
    path = tiltmeter.report([made.answers["pairs"], made], tmp_path / "both.html")
    text = path.read_text(encoding="utf-8")
    assert "one (pairs 1)" in text and "one (run)" in text and NAMESAKES.format(name="one") in text
    alone = page(gather(made.answers["pairs"]))
    assert {"one", "two"} <= set(title_of(alone).split()) and NAMESAKES.format(name="one") not in alone


def test_namesakes_versions_and_data_are_told_apart(tmp_path: Path) -> None:
    first = made_up_run(tmp_path / "first", n=20, models=("one",))
    second = made_up_run(tmp_path / "second", n=22, models=("one",), version="0.0.9", seed=1)
    text = page(gather([first.folder, second.folder]))
    assert OTHER_VERSIONS.format(listed="first: 0.1.0, second: 0.0.9") in text
    assert OTHER_DATA.format(name="made-up") in text
    assert set(embedded(text)["benchmark"]) == {"made-up (first)", "made-up (second)"}
    assert set(embedded(text)["model"]) == {"one (first)", "one (second)"}
    numbers = [*first.estimates["value"], *second.estimates["value"]]
    np.testing.assert_array_equal(embedded(text)["value"].to_numpy(dtype=float), numbers)
    other = made_up_run(tmp_path / "other", n=20, models=("two",), seed=2)
    apart = page(gather([first.folder, other.folder]))
    assert "Before you read on" not in apart and set(embedded(apart)["model"]) == {"one", "two"}
    assert len(embedded(apart, "comparison")) > 0


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    folder = made_up_run(tmp_path / "run").folder
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "unfinished"}))
    with raises("unfinished-run", folder=folder):
        gather(folder)


@pytest.mark.parametrize("name", ["scores.parquet", "items.parquet", "estimates.csv", "manifest.json"])
def test_a_missing_file_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up_run(tmp_path / "run").folder
    (folder / name).unlink()
    assert command("report", folder, "-o", tmp_path / "x.html") == 2
    assert name in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_other_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("report", tmp_path / "nowhere") == 2
    assert "There is no run folder" in capsys.readouterr().err
    folder = made_up_run(tmp_path / "run").folder
    assert command("report", folder, "-o", tmp_path) == 2
    with raises("not-a-file", file=tmp_path):
        tiltmeter.report(folder, tmp_path)
    with raises("missing-value", argument="runs"):
        tiltmeter.report([])


def test_without_token_tables_no_words_are_coloured(tmp_path: Path) -> None:
    """What the page then says is a matter of the browser, and of each model (test_report_browser)."""
    folder = made_up_run(tmp_path / "run").folder
    assert [tokens["model"] for tokens in explorer(page(gather(folder)))[0]["benchmarks"][0]["tokens"]] == [0, 1]
    shutil.rmtree(folder / "observations" / "two")
    assert [tokens["model"] for tokens in explorer(page(gather(folder)))[0]["benchmarks"][0]["tokens"]] == [0]
    shutil.rmtree(folder / "observations")
    assert explorer(page(gather(folder)))[0]["benchmarks"][0]["tokens"] == []


@pytest.mark.parametrize("limit", [40, "40"], ids=["run", "experiment of 0.2"])
def test_missing_scores_and_limits_are_caveats(tmp_path: Path, limit: int | str) -> None:
    made = made_up_run(tmp_path / "run")
    manifest = made.manifest | {"asked": made.manifest["asked"] | {"limit": limit}}
    (made.folder / "manifest.json").write_text(json.dumps(manifest))
    reseal(made.folder)
    text = page(gather(made.folder))
    assert "used only 40 items" in text and "no modified tokens (6)" in text


def test_a_run_of_slots_alone(real_run: Path) -> None:
    whole = load_run(real_run)
    estimates = whole.estimates.query("family == 'slots'").reset_index(drop=True)
    text = page(gather(replace(whole, answers={"slots": whole.answers["slots"]}, estimates=estimates)))
    assert "Words that fill a mask" in section(text, "slots") and not section(text, "pairs")
    assert all(verdict not in section(text, "short") for verdict in VERDICTS.values())
    assert set(tables(text, "comparison")) == {"lean", "mnt_gap", "mps_gap"}
    assert "FAMILIES.slots = {" in text and "FAMILIES.pairs = {" not in text  # a family's script comes with its cards
    assert [one["family"] for one in explorer(text)[0]["benchmarks"]] == ["slots"]


def test_imported_scores(tmp_path: Path) -> None:
    rows = [
        {"sent_more": f"Old {k}.", "sent_less": f"New {k}.", "sent_more_score": -k, "sent_less_score": -5} for k in range(12)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "theirs.csv", index=False)
    imported = import_run(import_scores(tmp_path / "theirs.csv", model="theirs", scorer="published"), tmp_path / "run")
    text = page(gather(imported.folder))
    assert "imported scores" in text and "published" in text
    assert explorer(text)[0]["benchmarks"][0]["tokens"] == []


def test_studies_are_shown_with_figures_and_tables(tmp_path: Path) -> None:
    from tiltmeter import figures

    def draw() -> object:
        figure, axes = figures.canvas()
        axes[0, 0].plot([1, 2])
        return figure

    folder = made_up_run(tmp_path / "run").folder
    table = pd.DataFrame({"word": ["<u>a", "b"] * 10, "share": np.linspace(0, 1, 20)})
    found = Finding(
        "robustness", {"robustness": table}, {"robustness": draw}, ["Kept in <all> cases."], {"citation": "Liu (2024)."}
    )
    found.save(folder / "studies" / "robustness")
    text = page(gather(folder))
    assert "&lt;all&gt; cases." in text and "data:image/svg+xml;base64," in text and "Liu (2024)." in text
    assert "<u>a" not in text and "The first 12 rows" in text
    files, _ = unpack(element(text, "files"))
    assert files == {"run-robustness-robustness.csv": table.to_csv(index=False)}
    (folder / "studies" / "robustness" / "finding.json").write_text("{")
    text = page(gather(folder))
    assert CHANGED in text
    assert "Kept in" not in text and "The first 12 rows" not in text and "run-robustness-robustness.csv" not in text
    (folder / "studies" / "robustness" / "finding.json").unlink()
    text = page(gather(folder))
    assert NO_SENTENCES in text and "Kept in" not in text and "The first 12 rows" in text


def test_a_run_ends_with_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "-m", GOLDEN / "models" / "tiny-bert-cased", "-b", "starter-pairs", "-s", "aul", "--resamples", 100)
    assert command(*words, "-o", tmp_path / "run") == 0
    assert f"Report: {tmp_path / 'run' / 'report.html'}" in capsys.readouterr().err
    assert "tiny-bert-cased" in title_of((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert command(*words, "-o", tmp_path / "run", "--no-report") == 0
    assert not (tmp_path / "run" / "report.html").exists()  # that of the run that was replaced is gone too
    assert command("report", tmp_path / "run") == 0
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_page_of_crows_pairs_size_is_small(tmp_path: Path) -> None:
    """1,508 pairs, two models, nine scorers, with tokens: under 5 MB."""
    scorers = ("cps", "aul", "aula", "sss", "pll", "all_masked", "cps_nyu", "cps_biasbench", "sss_kaneko")
    made = made_up_run(tmp_path / "run", n=1508, scorers=scorers)
    assert write_report(made, tmp_path / "x.html").stat().st_size < 5e6

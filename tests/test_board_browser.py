"""The leaderboard in a real browser: silent, sortable, filtered, smooth with hundreds of models, usable by all."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from test_report_browser import AXE, CHROMIUM, DRIVER, _texts, _wait, browser
from tiltmeter.boards import Board
from tiltmeter.boards.columns import Column
from tiltmeter.boards.ranks import Rank
from tiltmeter.reporting.html.board import write_board
from tiltmeter.stats.settings import Settings

__all__ = ["browser"]
MANY = 300
NASTY = "<script>window.hacked = 1</script>"
COLUMNS = tuple(
    Column("pairs", benchmark, measure, scorer, "all", "all")
    for benchmark in ("one", "two") for measure in ("bias_score", "kls") for scorer in ("cps", "aul", "causal")
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with its driver here (apt-get install chromium chromium-driver)"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hundreds of models with random values; a third of them lack the last scorer, one has a nasty name."""
    rng = np.random.default_rng(0)
    models = (NASTY, *(f"model-{n}" for n in range(1, MANY)))
    cells: dict[tuple[str, Column], Any] = {}
    ranks: dict[Column, dict[str, Rank]] = {}
    for column in COLUMNS:
        those = [name for n, name in enumerate(models) if column.scorer != "causal" or n % 3 == 0]
        for name in those:
            value = float(rng.uniform(50, 70))
            numbers = {"value": value, "low": value - 2, "high": value + 2, "neutral": 50.0, "p": 0.01, "p_holm": math.nan}
            cells[name, column] = {**vars(column), "model": name, "n": 1508, "n_missing": 3, "note": "", **numbers}
        order = sorted(those, key=lambda name: cells[name, column]["value"])
        near = {name: tuple(order[max(0, n - 2) : n] + order[n + 1 : n + 3]) for n, name in enumerate(order)}
        ranks[column] = {
            name: Rank(n + 1, max(1, n - 1), min(len(order), n + 3), near[name]) for n, name in enumerate(order)
        }
    board = Board(models, COLUMNS, cells, ranks, Settings(), ({},), ("Something to know.",))
    return write_board(board, tmp_path_factory.mktemp("board") / "board.html").absolute()


@pytest.fixture
def opened(browser: Any, page: Path) -> Any:
    browser.get(page.as_uri())
    return browser


def test_it_loads_in_silence_and_names_are_text(opened: Any) -> None:
    assert opened.get_log("browser") == []
    assert opened.execute_script("return window.hacked") is None
    assert NASTY in _texts(opened, "#board tbody th")
    assert re.findall(r"\d+", opened.find_element("id", "status").text) == [str(MANY), str(MANY), "12", "12"]


def _values(browser: Any, column: int) -> list[float]:
    texts = browser.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')]"
        ".map(row => row.cells[arguments[0]].querySelector('strong')?.textContent)",
        column,
    )
    return [float(text) if text else math.nan for text in texts]


def test_sorting_is_right_and_quick(opened: Any) -> None:
    assert _values(opened, 1) == sorted(_values(opened, 1)), "at first by the first column"
    click = (
        "const start = performance.now(); document.querySelectorAll('#board button.sort')[6].click();"
        "document.body.offsetHeight; return performance.now() - start"
    )
    took = min(opened.execute_script(click) for _ in range(5))  # the fifth sorts as the first: best values on top
    assert took < 1500, f"{took:.0f} ms for {MANY} models"
    values = _values(opened, 6)
    known = [value for value in values if not math.isnan(value)]
    assert known == sorted(known) and all(math.isnan(value) for value in values[len(known) :]), "who has no value is last"
    opened.execute_script("document.querySelectorAll('#board button.sort')[6].click()")
    values = _values(opened, 6)
    assert values[: len(known)] == sorted(known, reverse=True) and math.isnan(values[-1])
    heads = opened.execute_script("return [...document.querySelectorAll('#board th[aria-sort]')].map(h => h.ariaSort)")
    assert heads == ["descending"]


def test_the_ranking_follows_the_column(opened: Any) -> None:
    opened.execute_script("document.querySelectorAll('#board button.sort')[2].click()")
    assert len(_texts(opened, "#ranking-table tbody .value")) == 50
    opened.find_element("id", "all-places").click()
    shown = _texts(opened, "#ranking-table tbody .value")
    assert len(shown) == MANY and [float(text) for text in shown] == sorted(float(text) for text in shown)
    assert _texts(opened, "#ranking-table tbody .rank")[:4] == ["1 (1–3)", "2 (1–4)", "3 (1–5)", "4 (2–6)"]
    names, alike = _texts(opened, "#ranking-table tbody th"), _texts(opened, "#ranking-table tbody .alike")
    assert alike[0] == ", ".join(names[1:3]), "names, not numbers, whatever the table is sorted by"


def test_filters_hide_columns_and_models(opened: Any) -> None:
    opened.execute_script(
        "const e = document.getElementById('f-benchmark'); e.value = 'two'; e.dispatchEvent(new Event('change'));"
        "const s = document.getElementById('f-model'); s.value = 'model-29'; s.dispatchEvent(new Event('input'));"
    )
    assert opened.find_element("id", "status").text == f"11 of {MANY} models, 6 of 12 columns"
    visible = "return [...document.querySelectorAll('#board thead th')].filter(h => !h.hidden).length"
    assert opened.execute_script(visible) == 7
    assert opened.execute_script("return document.getElementById('f-column').selectedOptions[0].textContent").startswith(
        "two"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Any, theme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here (make browser installs it with npm)")
    few = "for (const row of document.querySelectorAll('tbody tr:nth-child(n + 6)')) row.remove()"
    opened.execute_script(f"setTheme(arguments[0]); {few}", theme)
    opened.execute_script(AXE.read_text(encoding="utf-8"))
    found = opened.execute_async_script("axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], one["nodes"][0]["html"][:120]) for one in serious]


def test_a_phone_scrolls_inside_the_table_only(opened: Any) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        _wait(opened, "return innerWidth === 390")
        assert opened.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The report in a real browser: it loads in silence, filters and sorts, shows text as text, and can be used by all."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from report_material import NASTY, embedded, made_up_run
from tiltmeter.reporting.html import write_report
from tiltmeter.runs.run import run
from tiltmeter.stats.settings import Settings
from xlmr_material import PAIRS, pairs_file, tiny_xlmr

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
AXE = Path(os.environ.get("TILTMETER_AXE") or Path(__file__).parents[1] / ".browser/node_modules/axe-core/axe.min.js")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1200,900", "--lang=en",
)  # fmt: skip
SIZE = 1508
SIGN = {"−": "-", "+": "", "±": ""}

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with its driver here (apt-get install chromium chromium-driver)"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many pairs as CrowS-Pairs, two models, some of the sentences nasty."""
    folder = tmp_path_factory.mktemp("browser")
    return write_report(made_up_run(folder / "run", n=SIZE), folder / "report.html").absolute()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of all families: a masked and a causal model on pairs, triples, slots, and SEAT; no words of one model."""
    folder = tmp_path_factory.mktemp("mixed")
    models = [GOLDEN / "models" / name for name in ("tiny-bert-cased", "tiny-gpt2")]
    benchmarks = [
        "starter-pairs",
        GOLDEN / "data" / "triples_stereoset_format.json",
        GOLDEN / "data" / "slots.jsonl",
        "seat",
        "plumb-labels",
    ]
    settings = Settings(resamples=100)
    options = dict(by=("bias_type", "direction", "target"), limit=24, **vars(settings), cache=folder / "cache")
    made = run(
        models,
        benchmarks,
        output=folder / "run",
        **options,
        options=[tiltmeter.SlotsOptions(top_k=500), tiltmeter.LabelsOptions(seeds=1, epochs=1.0, explained=4)],
    )
    shutil.rmtree(folder / "run" / "observations" / "tiny-gpt2")
    return write_report(made.folder, folder / "report.html").absolute()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium here (pip install selenium)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: Any, report: Path) -> Any:
    """The page, freshly loaded."""
    browser.get_log("performance")
    browser.get(report.as_uri())
    return browser


@pytest.fixture
def items(opened: Any) -> Any:
    """The page with its sentences shown."""
    opened.find_element("id", "show-items").click()
    _wait(opened, "return !document.getElementById('browser').hidden")
    return opened


def _wait(browser: Any, condition: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not browser.execute_script(condition):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.02)


def _choose(browser: Any, name: str, value: str) -> None:
    """Sets a control as a user would, and lets the page know."""
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event(e.type === 'search' ? 'input' : 'change', {bubbles: true}))",
        f"f-{name}", value,
    )  # fmt: skip


def _texts(browser: Any, selector: str) -> list[str]:
    return list(
        browser.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)
    )


def _gaps(browser: Any) -> list[float]:
    """The preferences of the items shown, as numbers."""
    said = [text[text.rindex("(") + 1 : -1] for text in _texts(browser, "#list .preference span")]
    return [float(text.translate(str.maketrans(SIGN))) for text in said]


def test_the_page_loads_in_silence(items: Any, report: Path) -> None:
    """No error, no warning, no request but for the page itself."""
    assert items.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in items.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert asked == {report.as_uri()}


def test_sentences_come_after_a_warning(opened: Any) -> None:
    assert not opened.find_element("id", "browser").is_displayed()
    assert "harmful stereotypes" in opened.find_element("id", "warning").text
    assert "people number" not in opened.find_element("tag name", "body").text
    opened.find_element("id", "show-items").click()
    _wait(opened, "return document.querySelectorAll('#list > li').length === 20")
    assert f"All {SIZE:,} pairs" in opened.find_element("id", "status").text
    assert not opened.find_element("id", "warning").is_displayed()


def test_filters(items: Any) -> None:
    _choose(items, "search", "number 5077 slow")
    assert items.find_element("id", "status").text == f"1 of {SIZE:,} pairs"
    assert _texts(items, "#list .stereo .text") == ["Old people number 5077 are slow to learn."]
    _choose(items, "search", "")
    for name, label in (("bias_type", "gender"), ("direction", "advantaged")):
        value = items.execute_script(
            "return [...document.getElementById(arguments[0]).options].find(o => o.text === arguments[1]).value",
            f"f-{name}", label,
        )  # fmt: skip
        _choose(items, name, value)
    assert items.find_element("id", "status").text.startswith(f"{sum(k % 3 == 1 and k % 2 == 1 for k in range(SIZE))} of")
    _choose(items, "side", "1")
    assert all(gap > 0 for gap in _gaps(items))
    _choose(items, "scorer", "aul")
    _choose(items, "side", "missing")
    assert "no modified tokens" in _texts(items, "#list .preference")[0]
    items.execute_script("document.querySelector('#filters [type=reset]').click()")
    _wait(items, f"return document.getElementById('status').textContent === 'All {SIZE:,} pairs'")


def test_sorting_and_pages(items: Any) -> None:
    assert _gaps(items) == sorted(_gaps(items), key=abs, reverse=True)
    _choose(items, "sort", "stereo")
    first = _gaps(items)
    assert first == sorted(first, reverse=True) and first[0] > 0
    items.execute_script("document.getElementById('next').click()")
    assert _gaps(items)[0] <= first[-1]
    assert items.find_element("id", "place").text.startswith("Page 2 of 76")
    assert items.find_element("id", "place").get_attribute("aria-live") == "polite"  # the status stays what it was
    _choose(items, "sort", "anti")
    assert _gaps(items) == sorted(_gaps(items)) and items.find_element("id", "place").text.startswith("Page 1 ")
    _choose(items, "model", "1")
    assert _gaps(items) == sorted(_gaps(items))
    _choose(items, "side", "split")
    assert 0 < int(items.find_element("id", "status").text.split(" ")[0].replace(",", "")) < SIZE


def test_nasty_sentences_are_text(items: Any) -> None:
    _choose(items, "sort", "order")
    shown = list(zip(_texts(items, "#list .stereo .text"), _texts(items, "#list .anti .text"), strict=True))
    assert shown[: len(NASTY)] == list(NASTY)
    assert items.execute_script("return window.hacked ?? 'no'") == "no"
    assert items.execute_script("return document.querySelectorAll('#list script, #list img').length") == 0
    directions = items.execute_script(
        "return [...document.querySelectorAll('#list .text')].map(e => getComputedStyle(e).direction)"
    )
    assert directions[4] == "rtl" and directions[0] == "ltr"


def test_words_are_coloured_and_changed_words_marked(items: Any) -> None:
    _choose(items, "search", "number 5077")
    assert _texts(items, "#list .stereo mark") == ["Old"] and _texts(items, "#list .anti mark") == ["Young"]
    shades = items.execute_script(
        "return ['stereo', 'anti'].map(r => [...document.querySelectorAll(`#list .${r} .token`)].map(e => e.className))"
    )
    assert shades[0] == shades[1] and len(set(shades[0])) > 2  # the same difference, seen from either sentence
    items.execute_script("document.querySelector('#list details summary').click()")
    _wait(items, "return document.querySelectorAll('#list details tbody tr').length === 4")


CHOOSE_EACH = """
    const control = document.getElementById(arguments[0]), values = [...control.options].map((o) => o.value);
    return [...values.slice().reverse(), ...values.slice(0, 1)].map((value) => {
        control.value = value;
        control.dispatchEvent(new Event("change", {bubbles: true}));
        return [value, found.length, document.querySelectorAll("#list > li").length];
    });
"""
"""Sets a control to each of its values, the last one first, and at last to the first: how many are found, and are shown."""


def test_every_control_of_every_benchmark_works(browser: Any, mixed: Path) -> None:
    """Pairs, triples and slots, a model with words and one without: each choice of each list, and nothing goes wrong."""
    browser.get(mixed.as_uri())
    browser.get_log("browser")
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    names = _texts(browser, "#f-benchmark option")
    assert names == ["starter-pairs", "stereoset", "slots", "plumb-labels"]  # SEAT asks about no single items
    for number, name in enumerate(names):
        _choose(browser, "benchmark", str(number))
        assert _texts(browser, "#f-model option") == ["tiny-bert-cased", "tiny-gpt2"]
        for model in ("0", "1"):
            _choose(browser, "model", model)
            status = browser.find_element("id", "status").text
            assert status.startswith("All ") and status.endswith(
                {"slots": "sentences", "plumb-labels": "texts"}.get(name, "pairs")
            )
            assert len(browser.find_elements("css selector", "#list > li .text")) > 0
            for control in ("scorer", "bias_type", "direction", "side", "sort"):
                for value, found, shown in browser.execute_script(CHOOSE_EACH, f"f-{control}"):
                    assert shown == min(20, found), (control, value)
    assert browser.get_log("browser") == []


def test_labels_show_their_probability_and_the_words_that_drive_it(browser: Any, mixed: Path) -> None:
    browser.get(mixed.as_uri())
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    _choose(browser, "benchmark", "3")
    cards = _texts(browser, "#list > li")
    assert all("probability of toxic" in card and "label: " in card for card in cards)
    explained = browser.execute_script("return Object.keys(chosen().words).length")
    assert explained == 4
    wrong = browser.execute_script("return found.map((n) => chosen().gap[n])")
    assert wrong == sorted(wrong, reverse=True), "most wrongly called toxic first"


def test_slots_show_predictions_and_terms_with_their_groups(browser: Any, mixed: Path) -> None:
    browser.get(mixed.as_uri())
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    _choose(browser, "benchmark", "2")
    assert not browser.find_element("id", "f-scorer").is_displayed()
    assert "vocabulary" in browser.find_element("css selector", "#legend [data-among]").get_attribute("data-among")
    assert {"First predictions", "Listed terms, by rank"} == set(_texts(browser, "#list .terms-of"))
    assert _texts(browser, "#list mark.slot") and all(text.strip() == "?" for text in _texts(browser, "#list mark.slot"))
    ranks = [text.rsplit(", ", 1)[0] for text in _texts(browser, "#list > li:first-child ul.terms .rank")]
    numbers = [int(text.removeprefix("rank ").replace(",", "")) for text in ranks]
    assert numbers == sorted(numbers) and len(numbers) > 1
    _choose(browser, "model", "1")
    assert "listed" in browser.find_element("css selector", "#legend [data-among]").get_attribute("data-among")


def test_a_model_without_a_table_of_words_says_so(browser: Any, mixed: Path) -> None:
    browser.get(mixed.as_uri())
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    legend, numbers = browser.find_element("id", "legend"), browser.find_element("id", "f-numbers")
    assert not legend.find_elements("css selector", "[data-code=no-tokens]") and numbers.is_displayed()
    assert _texts(browser, "#list .token")
    _choose(browser, "model", "1")
    assert legend.find_elements("css selector", "[data-code=no-tokens]")
    assert not _texts(browser, "#list .token") and _texts(browser, "#list mark") and not numbers.is_displayed()


def test_the_legend_says_what_the_scorer_makes_of_the_colours(items: Any) -> None:
    _choose(items, "scorer", "cps")
    assert items.find_element("css selector", "#legend [data-code=made-of-colours]").text.startswith("cps ")
    _choose(items, "scorer", "aul")
    assert items.find_element("css selector", "#legend [data-code=not-of-colours]").text.startswith("aul ")


def test_small_differences_are_not_shown_as_none(items: Any) -> None:
    shown = items.execute_script("return [12.3456, -0.0451, 0.0000312, -0.0023, 0].map(FAMILIES.pairs.strength)")
    assert shown == ["+12.346", "−0.045", "+0.000031", "−0.0023", "±0.000"]


def test_a_filter_answers_within_200_ms(items: Any) -> None:
    """From the change to the frame after it, at the size of CrowS-Pairs with two models; best of three."""
    script = """
        const done = arguments[arguments.length - 1], e = document.getElementById(arguments[0]), start = performance.now();
        e.value = arguments[1];
        e.dispatchEvent(new Event(e.type === 'search' ? 'input' : 'change', {bubbles: true}));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    """
    for name, values in (
        ("search", ("slow", "number 51", "learn")),
        ("side", ("1", "-1", "split")),
        ("sort", ("weak", "anti", "strong")),
    ):
        times = [items.execute_async_script(script, f"f-{name}", value) for value in values]
        assert min(times) < 200, (name, times)
        _choose(items, name, {"search": "", "side": "", "sort": "strong"}[name])


BREAKDOWN = ".breakdown[data-by=bias_type]"
ROWS = """
    return [...document.querySelectorAll(arguments[0] + " tbody tr")].map((row) => [
        row.textContent.replace(/\\s+/g, ""),
        ...[...row.querySelectorAll("path")].map((path) => path.getAttribute("d").replace(/\\.0\\b/g, "")),
    ])
"""


def _redraw(browser: Any, *measure_and_scorer: str) -> None:
    script = "const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))"
    value = json.dumps(measure_and_scorer, separators=(",", ":")) if measure_and_scorer else ""
    browser.execute_script(script, f"{BREAKDOWN} select", value)


def test_tables_are_redrawn_for_another_measure(opened: Any, report: Path) -> None:
    estimates = embedded(report.read_text(encoding="utf-8")).query("by == 'bias_type'")
    first = opened.execute_script(ROWS, BREAKDOWN)
    for chosen, rows in (
        (("kls", "aul"), estimates.query("measure == 'kls' and scorer == 'aul'")),
        (("bias_score", "cps"), estimates.query("measure == 'bias_score' and scorer == 'cps'")),
    ):
        _redraw(opened, *chosen)
        shown = [float(text) for text in _texts(opened, f"{BREAKDOWN} td.value")]
        assert sorted(shown) == pytest.approx(sorted(rows["value"]), abs=0.06) and len(shown) == 6
    _redraw(opened)
    assert opened.execute_script(ROWS, BREAKDOWN) == first


def test_remarks_follow_the_table(browser: Any, mixed: Path) -> None:
    """What is said below a table is about the rows that are shown, by whichever measure."""
    browser.get(mixed.as_uri())
    place = ".breakdown[data-benchmark=starter-pairs][data-by=direction]"
    first = _texts(browser, f"{place} .remark")
    assert any("p by Fisher's exact test" in remark for remark in first)
    choose = "const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))"
    browser.execute_script(choose, f"{place} select", '["kls","cps"]')
    assert not any("Fisher" in remark for remark in _texts(browser, f"{place} .remark"))
    browser.execute_script(choose, f"{place} select", '["bias_score","cps"]')
    (fisher,) = [remark for remark in _texts(browser, f"{place} .remark") if "Fisher" in remark]
    assert fisher.startswith("|difference|, tiny-bert-cased: ")
    browser.execute_script(choose, f"{place} select", "")
    assert _texts(browser, f"{place} .remark") == first


def test_python_and_the_page_draw_alike(opened: Any, report: Path) -> None:
    """The first table was drawn by the one, the next by the other: the same words, the same lines."""
    first = opened.execute_script(ROWS, BREAKDOWN)
    estimates = embedded(report.read_text(encoding="utf-8")).query("by == 'bias_type' and measure == 'bias_score'")
    drawn = []
    for scorer in estimates["scorer"].unique():
        _redraw(opened, "bias_score", scorer)
        drawn.append(opened.execute_script(ROWS, BREAKDOWN))
    assert first in drawn


def _downloaded(file: Path) -> Path:
    end = time.monotonic() + 10
    while not file.is_file() and time.monotonic() < end:
        time.sleep(0.05)
    return file


def test_downloads_hold_the_exact_numbers(opened: Any, report: Path, tmp_path: Path) -> None:
    opened.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    opened.execute_script("document.querySelector('footer button.csv').click()")
    ours = pd.read_csv(_downloaded(tmp_path / "tiltmeter-estimates.csv"))
    _check_rows(ours, embedded(report.read_text(encoding="utf-8")))


DOWNLOADS = """
    const files = [], before = save;
    save = (name, text) => files.push([name, text]);
    const buttons = [...document.querySelectorAll(arguments[0])];
    for (const button of buttons) button.click();
    save = before;
    const section = (button) => button.closest("section")?.id ?? "";
    return buttons.map((button, n) => [section(button), button.dataset.table, button.dataset.where, ...files[n]]);
"""


def _download(browser: Any, selector: str = "button.csv") -> list[tuple[str, str, dict[str, str], str, pd.DataFrame]]:
    """Clicks every such button: its section, its table, its condition, and the file that it gives."""
    given = browser.execute_script(DOWNLOADS, selector)
    return [
        (section, table, json.loads(where), name, pd.read_csv(StringIO(text))) for section, table, where, name, text in given
    ]


def _check_rows(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    assert list(ours) == list(theirs) and len(ours) == len(theirs) > 0
    for name in ours:
        expected = theirs[name].where(theirs[name] != "", None)
        if ours[name].dtype.kind in "if":
            assert ours[name].tolist() == pytest.approx(expected.astype(float).tolist(), rel=1e-15, nan_ok=True)
        else:
            assert ours[name].fillna("").tolist() == expected.fillna("").tolist()


def test_all_rows_of_a_table_of_groups_can_be_downloaded(opened: Any, report: Path, tmp_path: Path) -> None:
    """Also those that are not shown: every measure and scorer. The button was dead when quotes in it ended an attribute."""
    opened.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    button = opened.find_element("css selector", f"{BREAKDOWN} button.csv")
    assert button.is_displayed() and button.is_enabled()
    opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    ours = pd.read_csv(_downloaded(tmp_path / "made-up-by-bias_type.csv"))
    theirs = embedded(report.read_text(encoding="utf-8")).query("by == 'bias_type'").reset_index(drop=True)
    _check_rows(ours, theirs)
    assert set(zip(ours["measure"], ours["scorer"], strict=True)) == {
        (measure, scorer) for measure in ("bias_score", "kls") for scorer in ("cps", "aul")
    }


LINES = """
    return [...document.querySelectorAll("button.csv")].map((button) => {
        const table = button.closest("details, .breakdown");
        return [table?.querySelectorAll("tbody tr").length ?? 0, table?.className === "breakdown"];
    })
"""
"""How many rows stand beside each button, and whether they are a part of what it gives."""


def test_every_download_has_the_rows_of_its_table(browser: Any, mixed: Path) -> None:
    """On a page with all families: as many rows as are drawn beside the button, or more where a table is a part of them."""
    browser.get(mixed.as_uri())
    page = mixed.read_text(encoding="utf-8")
    given = _download(browser)
    assert {section for section, *_ in given} == {"pairs", "slots", "associations", "labels", "comparison", ""}
    drawn = browser.execute_script(LINES)
    for (_, table, where, name, rows), (lines, part) in zip(given, drawn, strict=True):
        whole = embedded(page, table)
        for column, value in where.items():
            whole = whole[whole[column] == value]
        _check_rows(rows, whole.reset_index(drop=True))
        assert len(rows) >= lines if part or not where else len(rows) == lines, (name, where)


HOSTILE = (
    "<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 2'>", '" onmouseover="window.hacked = 3',
    "' onfocus='window.hacked = 4' autofocus='", "</script><script>window.hacked = 5</script>", "$x^{$", "{{ 7 * 7 }}",
    "javascript:window.hacked = 6", '=HYPERLINK("x")', "</title></style>", "<svg/onload=window.hacked=7>", "a\x1b[31mb\x07",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run whose model, files, sentences, groups, terms and labels would all like to be code."""
    folder = tmp_path_factory.mktemp("hostile")
    models = [folder / f"\"{mark} onclick=window.hacked=8 '{mark}" for mark in ("<b>", "<i>")]
    for model, name in zip(models, ("tiny-bert-cased", "tiny-gpt2"), strict=True):
        shutil.copytree(GOLDEN / "models" / name, model)
    rows: dict[str, list[dict[str, str]]] = {
        "<b>pairs.jsonl": [
            {"stereo": f"He said {text}.", "anti": f"She said {text}.", "bias_type": text, "target": HOSTILE[n - 1]}
            for n, text in enumerate(HOSTILE)
        ],
        "slots&lt;.jsonl": [{"text": f"The [MASK] said {text}.", "bias_type": text} for text in HOSTILE[:6]],
        "'labels'.jsonl": [
            {"text": f"{text} {n}", "label": str(n % 2), "groups": HOSTILE[n % 3], "split": split}
            for split in ("train", "test")
            for n, text in enumerate(HOSTILE)
        ],
    }
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    options = {"by": ("bias_type", "target"), "resamples": 100, "cache": folder / "cache"}
    files = [folder / name for name in rows]
    made = run(
        models,
        files,
        output=folder / "run",
        **options,
        options=[tiltmeter.SlotsOptions(top_k=500), tiltmeter.LabelsOptions(seeds=1, epochs=1.0, explained=2)],
    )
    return write_report(made.folder, folder / "report.html").absolute()


NOT_YET_CLICKED = """
    if (window.hacked || location.href.split("#")[0] !== arguments[0]) throw new Error("something of theirs ran");
    const all = [...document.querySelectorAll("a[href], button, summary, select, input, [role=button], [onclick]")];
    const next = all.find((e) => !e.clicked && !e.disabled && e.checkVisibility({visibilityProperty: true}));
    if (!next) return null;
    next.clicked = true;
    const link = next.getAttribute("href"), said = next.textContent.trim().slice(0, 60);
    if (link?.startsWith("#") && !document.getElementById(link.slice(1))) throw new Error(`${link} leads nowhere`);
    next.scrollIntoView({block: "center", behavior: "instant"});
    const box = next.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const reached = link === "#main" || next.contains(hit) || hit?.contains(next);  // that one is for the keyboard
    if (!reached) throw new Error(`${next.outerHTML} is covered by ${hit?.outerHTML}`);
    if (!link || link.startsWith("#")) next.click();  // not to somebody else's page
    return [next.tagName, link, said];
"""


@pytest.mark.parametrize("page", ["mixed", "hostile"])
def test_every_button_and_link_can_be_clicked(
    browser: Any, page: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """One after the other, what a click brings forth included: no error, no dialog, no request, nothing of theirs runs."""
    file: Path = request.getfixturevalue(page)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(file.as_uri())
    clicked: dict[str, int] = {}
    while found := browser.execute_script(NOT_YET_CLICKED, file.as_uri()):
        tag, link, said = found
        clicked[tag] = clicked.get(tag, 0) + 1
        assert clicked[tag] < 500, "clicks without end"
        assert link is None or link.startswith(("#", "https://")), (link, said)
    browser.execute_script("localStorage.clear()")  # the theme
    assert clicked["BUTTON"] > 10 and clicked["A"] > 5 and clicked["SUMMARY"] > 10 and clicked["SELECT"] > 3
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("blob:")} == {file.as_uri()}
    assert len(list(tmp_path.glob("*.csv"))) > 3


def test_light_dark_and_print(opened: Any) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = opened.execute_script(ground)
    button = opened.find_element("id", "theme")
    names = []
    for _ in range(3):
        button.click()
        names.append((button.text, opened.execute_script(ground) == light))
    assert names == [("Theme: light", True), ("Theme: dark", False), ("Theme: system", True)]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    assert opened.execute_script(ground) != light
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert opened.execute_script(ground) == "rgb(255, 255, 255)"
    assert not opened.find_element("id", "warning").is_displayed()
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_the_keyboard_reaches_the_sentences(opened: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    press = lambda *keys: ActionChains(opened).send_keys(*keys).perform()  # noqa: E731
    press(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to the report"
    opened.execute_script("document.getElementById('show-items').focus()")
    press(Keys.ENTER)
    _wait(opened, "return document.activeElement.id === 'f-search'")
    press("number 5077")
    _wait(opened, f"return document.getElementById('status').textContent === '1 of {SIZE:,} pairs'")


def _serious(browser: Any, scheme: str) -> list[tuple[str, str, str, int]]:
    """What axe finds serious, with everything unfolded."""
    if not AXE.is_file():
        pytest.skip("axe-core is not here (make browser installs it with npm)")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
        browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        browser.execute_script(AXE.read_text(encoding="utf-8"))
        found = browser.execute_async_script("axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    bad = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["help"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in bad]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(items: Any, scheme: str) -> None:
    assert _serious(items, scheme) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_page_of_all_families(browser: Any, mixed: Path, scheme: str) -> None:
    browser.get(mixed.as_uri())
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    _choose(browser, "benchmark", "2")
    assert _serious(browser, scheme) == []


def test_a_phone_needs_no_sideways_scrolling(items: Any, mixed: Path) -> None:
    items.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        assert items.execute_script("return document.documentElement.scrollWidth") <= 390
        items.get(mixed.as_uri())
        items.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        assert items.execute_script("return document.documentElement.scrollWidth") <= 390
        rows, over = items.execute_script(OVERLAPS)
        assert rows > 100 and over == []
    finally:
        items.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


OVERLAPS = """
    const box = (cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getBoundingClientRect();
    };
    const rows = [...document.querySelectorAll(".bars:not(.wide) tbody tr")];
    const runs = (row, n) => box(row.cells[n]).right > box(row.cells[n + 1]).left;
    const over = rows.filter((row) => runs(row, 0) || runs(row, 1));
    return [rows.length, over.map((row) => row.textContent.replace(/\\s+/g, " "))];
"""
"""Rows whose name runs into the model beside it, or that into the value."""


def test_all_sections_are_in_sight_of_a_reader(browser: Any, mixed: Path) -> None:
    """The list of sections fits beside the name of the page: nobody has to find out that it can be scrolled."""
    browser.get(mixed.as_uri())
    wide, seen = browser.execute_script("const n = document.querySelector('nav'); return [n.scrollWidth, n.clientWidth]")
    assert wide <= seen
    for link in _texts(browser, "nav li a"):
        browser.find_element("link text", link).click()
        top = browser.execute_script("return document.querySelector(location.hash).getBoundingClientRect().top")
        assert -5 < top < 600, link


def test_text_from_right_to_left(browser: Any, tmp_path: Path) -> None:
    """Sentences in six languages: Arabic and Hebrew run from right to left, the others do not, and words stay marked."""
    run(
        [str(tiny_xlmr())], [str(pairs_file(tmp_path))], scorers=["aul"], output=tmp_path / "run", cache=False, resamples=100
    )
    browser.get(write_report(tmp_path / "run", tmp_path / "report.html").absolute().as_uri())
    browser.find_element("id", "show-items").click()
    _wait(browser, "return !document.getElementById('browser').hidden")
    texts = "[...document.querySelectorAll('#browser [dir=auto]')]"
    found = browser.execute_script(f"return {texts}.map(e => [e.textContent, getComputedStyle(e).direction])")
    directions = dict(found)
    for language, *pair in PAIRS:
        assert {directions[text] for text in pair} == {"rtl" if language in ("ar", "he") else "ltr"}
    assert _texts(browser, "#browser mark, #browser .changed, #browser b")

"""Very many pairs: a page that shows a sample and says so, and progress that is shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tiltmeter
from report_material import explorer, made_up_run
from tiltmeter.models.pretrained import KERNEL_CACHES, import_libraries
from tiltmeter.reporting.html import sampling, write_report
from tiltmeter.storage.progress import showing


def test_a_page_of_too_many_items_shows_a_sample_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_up_run(tmp_path / "run", 60, ["m"])
    whole = write_report(run, tmp_path / "whole.html").read_text("utf-8")
    assert len(explorer(whole)[0]["benchmarks"][0]["items"]["id"]) == 60 and "picked at random" not in whole
    monkeypatch.setattr(
        "tiltmeter.reporting.html.explorer.MOST_BYTES", sampling._weight(run.answers["pairs"], "made-up") / 3
    )
    page = write_report(run, tmp_path / "some.html").read_text("utf-8")
    header, array = explorer(page)
    (card,) = header["benchmarks"]
    assert len(card["items"]["id"]) == 20 and sampling.SAMPLED.format(name="made-up", whole=60, shown=20) in page
    tokens = card["tokens"][0]
    assert len(array(tokens["count"])) == 2 * 20 and array(tokens["count"]).min() > 0  # words of the same items
    ids = set(card["items"]["id"])
    score = run.answers["pairs"].table.query("item in @ids and role == 'stereo' and scorer == @card['scores'][0]['scorer']")
    expected = score.set_index("item").loc[card["items"]["id"], "score"].to_numpy()
    assert array(card["scores"][0]["stereo"]) == pytest.approx(expected, nan_ok=True)  # some scores are missing
    again, cut = sampling.sampled(run.answers["pairs"], 1.0)
    assert cut == {"made-up": (1, 60)} and set(again.items["item"]) <= ids  # the same items come first every time


def test_progress_of_estimates_is_shown_and_comes_to_its_end(tmp_path: Path) -> None:
    seen: dict[str, list[float]] = {}

    @contextmanager
    def watch(title: str, total: int) -> Iterator[Callable[[float], None]]:
        seen[title] = [float(total)]
        yield seen[title].append

    run = made_up_run(tmp_path / "run", 30, ["m"])
    with showing(watch):
        tiltmeter.estimate(run.answers["pairs"], resamples=100)
    (total, *steps) = seen["Estimating"]
    assert total == sum(steps) > 5


def test_less_is_kept_unless_the_user_says_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KERNEL_CACHES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "7")
    import_libraries()
    assert os.environ["LRU_CACHE_CAPACITY"] == "7" and int(os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) <= 100

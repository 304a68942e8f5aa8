"""What begins before a model is loaded changes nothing, and does not begin where it would be for nothing."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter.models import hashing, head_start
from tiltmeter.runs.known_models import begin_to_load

BERT = GOLDEN / "models" / "tiny-bert-cased"


class Driver:
    """Counts what is asked of it; fails from a given call on."""

    def __init__(self, fails: str = "") -> None:
        self.asked: list[str] = []
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.asked.append(name) or int(name == self.fails)


@pytest.mark.parametrize(("fails", "asked"), [("", 3), ("cuInit", 1), ("cuDeviceGet", 2)])
def test_a_gpu_is_woken_as_far_as_its_driver_works(monkeypatch: pytest.MonkeyPatch, fails: str, asked: int) -> None:
    driver, warmed = Driver(fails), []
    monkeypatch.setattr(head_start.ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(head_start, "_first_products", warmed.append)
    head_start.torch_is_here()
    head_start._wake(1)
    assert len(driver.asked) == asked and warmed == ([] if fails else [1])


def test_a_missing_driver_or_a_broken_gpu_is_nobody_s_error_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    head_start._wake(0)
    monkeypatch.setattr(head_start.ctypes, "CDLL", lambda name: Driver())
    monkeypatch.setattr(head_start, "_first_products", lambda number: 1 / 0)
    head_start.torch_is_here()
    head_start._wake(0)


@pytest.mark.parametrize(("device", "woken"), [("auto", [0]), ("cuda:3", [3]), ("cpu", []), ("mps", [])])
def test_only_a_gpu_that_may_be_used_is_woken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str, woken: list[int]
) -> None:
    begun: list[int] = []
    done = Event()
    monkeypatch.setattr(head_start, "NODES", (str(tmp_path),))
    monkeypatch.setattr(head_start, "_wake", lambda number: (begun.append(number), done.set()))
    head_start.begin(device, [])
    assert done.wait(5 if woken else 0.05) == bool(woken) and begun == woken


def test_weights_are_read_once_and_only_of_a_model_that_is_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(head_start, "begin", lambda *given: begun.append(given))
    loading = {"kind": None, "precision": "auto", "device": "cpu", "trust_remote_code": False}
    begin_to_load([str(BERT)], loading, tmp_path)
    assert begun == [("cpu", [BERT / "model.safetensors"])]
    options = tiltmeter.Options(device="cpu", cache=tmp_path, limit=2, command=["tiltmeter"])
    tiltmeter.run(BERT, "plumb-pairs", "aul", output=tmp_path / "run", options=options)
    assert len(begun) == 2
    begin_to_load([str(BERT), "no-such-model"], loading, tmp_path)
    assert len(begun) == 2, "its card is there now"


def test_files_that_cannot_be_read_are_left_to_loading(tmp_path: Path) -> None:
    whole = BERT / "model.safetensors"
    head_start._read([whole, tmp_path / "none"])
    before = hashing._digest.cache_info().hits
    hashing.digest_file(whole)
    assert hashing._digest.cache_info().hits == before + 1

"""Models of one run: the memory of one is free before the next is loaded."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from tiltmeter.execution.worker import Worker
from tiltmeter.storage.garbage import paused_collector


def test_a_model_in_a_cycle_of_references_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, alive, freed = Worker.load_model, list[Any](), list[bool]()

    def load_model(worker: Worker) -> None:
        freed.extend(model() is None for model in alive)
        load(worker)
        worker.model.__dict__["itself"] = worker.model
        alive.append(weakref.ref(worker.model))

    monkeypatch.setattr(Worker, "load_model", load_model)
    with paused_collector():
        tiltmeter.run(["plumb-clm", "plumb-mlm"], ["starter-pairs"], output=tmp_path / "run", cache=False)
    assert freed == [True]

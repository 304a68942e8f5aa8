"""What an engine must not get wrong: who does what next, what died, what does not fit, and what cannot be had."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.raising import raises
from tests.conftest import GOLDEN
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution import Engine, Executor, plan_cells, process_engine, ray_engine, read_experiment
from tiltmeter.execution import worker as worker_module
from tiltmeter.execution.ledger import Ledger
from tiltmeter.execution.plan import PlannedCell
from tiltmeter.execution.queues import Queues, Task
from tiltmeter.families import AskContext
from tiltmeter.models import OutOfMemoryError
from tiltmeter.models.forward_pass import cap_memory
from tiltmeter.runs.experiment import run_experiment
from tiltmeter.storage import files
from tiltmeter.storage.object_store import Depot

FILE = f"""
models = ["{GOLDEN}/models/tiny-bert-cased"]
benchmarks = ["plumb-pairs", "plumb-slots"]
[run]
limit = 4
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "study.toml").write_text(FILE)
    return tmp_path / "study.toml"


def cells(model: str, n: int) -> list[PlannedCell]:
    return [PlannedCell(f"{model}-{number}", model, str(number), number) for number in range(n)]


def test_every_cell_is_done_once_and_shares_are_joined_by_the_models_own_worker() -> None:
    """Four workers, two models; a cell in three is large; now and then one dies."""
    queues = Queues({"a": cells("a", 6), "b": cells("b", 6)})
    workers: list[tuple[str, bool]] = []
    made, shared, turns = Counter[str](), Counter[Task](), 0
    while not queues.is_joined:
        turns += 1
        assert turns < 500
        while len(workers) < 4 and (wanted := queues.next_model()):
            workers.append(wanted)
        for model, helper in list(workers):
            task = queues.next_task(model, helper)
            if task is None:
                if helper or queues.over(model):
                    workers.remove((model, helper))
            elif turns % 5 == 0:
                queues.again(model, task)
                workers.remove((model, helper))
                if not helper:
                    queues.left(model)
            elif task.share is not None:
                shared[task] += 1
                queues.ended(model, task)
            elif int(task.cell.benchmark) % 3 == 0 and not task.joining:
                queues.divide(model, task.cell, 3)
            else:
                assert not helper
                made[task.cell.name] += 1
                queues.ended(model, task)
    assert set(made.values()) == {1} and len(made) == 12
    assert set(shared.values()) == {1} and len(shared) == 12  # 2 models × 2 large cells × 3


def test_a_model_that_is_given_up_leaves_nothing_behind() -> None:
    queues = Queues({"a": cells("a", 3)})
    assert queues.next_model() == ("a", False)
    first = queues.next_task("a", helper=False)
    assert first is not None
    queues.divide("a", first.cell, 2)
    assert queues.next_model() == ("a", True)
    share = queues.next_task("a", helper=True)
    assert share is not None and share.share is not None
    assert [cell.name for cell in queues.drop("a")] == ["a-0", "a-1", "a-2"]
    queues.ended("a", share)
    assert queues.is_joined and queues.next_task("a", helper=False) is None


def test_only_the_cell_that_kills_is_given_up(study: Path) -> None:
    planned = plan_cells(read_experiment(study))
    ledger, model = Ledger(Depot(planned.experiment.storage)), planned.models[0]
    bad, other = planned.of(model)
    deaths = Counter[str]()
    for expected in (True, True, True):
        ledger.begin(bad)
        assert process_engine._after_end(planned, ledger, model, -9, 2, deaths) is expected
    assert ledger.read(bad).status == "failed" and "signal 9" in str(ledger.read(bad).error)
    assert ledger.read(bad).attempts == 3 and ledger.read(other).status == "waiting"
    for expected in (True, True, False):  # it dies before it begins a cell
        assert process_engine._after_end(planned, ledger, model, 1, 2, deaths) is expected
    assert "exit code 1" in str(ledger.read(other).error)


def test_cells_of_an_interrupted_study_wait_again(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody works on them any more, and `experiment status` must not say so."""
    planned = plan_cells(read_experiment(study))
    ledger = Ledger(Depot(planned.experiment.storage))
    first = planned.cells[0]

    def start(*_: object) -> subprocess.Popen[bytes]:
        ledger.begin(first)
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def look(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(process_engine, "_start", start)
    with pytest.raises(KeyboardInterrupt):
        process_engine.go(planned, ledger, [first.model], Engine(workers=1), look)
    assert ledger.read(first).status == "waiting"


def test_what_does_not_fit_is_tried_with_smaller_batches_and_then_fails(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def ask(model: object, benchmark: object, options: object, context: AskContext, *_: object) -> None:
        tried.append(context.batch_tokens)
        raise OutOfMemoryError

    monkeypatch.setattr(worker_module, "ask_cell", ask)
    planned = plan_cells(read_experiment(study))
    worker = worker_module.Worker(planned.experiment, planned.models[0], planned.cells)
    assert worker.load() is None
    state = worker.make(planned.cells[0])
    assert not isinstance(state, int)
    assert state.status == "failed" and "512 tokens" in str(state.error)
    assert tried == ["auto", 4096, 2048, 1024, 512]


def test_a_worker_keeps_to_its_part_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    capped: list[float] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", capped.append)
    for gpus in (0, 1, 2, 0.25):
        cap_memory(gpus)
    assert capped == [0.25]


def test_a_storage_of_the_same_name_on_another_machine_is_noticed(study: Path) -> None:
    planned = plan_cells(read_experiment(study))
    Depot(planned.experiment.storage).check()
    problem = worker_module.Worker(planned.experiment, planned.models[0], planned.cells, token="of another folder").load()
    assert problem is not None and "does not see the storage" in problem


@pytest.mark.parametrize(
    ("engine", "code", "fields"),
    [
        (Engine("slurm"), "unknown-name", {"kind": "engine", "name": "slurm", "names": ["local", "ray"]}),
        (Engine(address="auto"), "inapplicable-option", {"option": "address"}),
        (Engine(gpus=0.5), "inapplicable-option", {"option": "gpus"}),
        (Engine("ray", gpus=1.5), "out-of-range", {"name": "gpus", "value": 1.5}),
        (Engine("ray", gpus=0), "out-of-range", {"name": "gpus", "value": 0}),
    ],
)
def test_an_engine_that_cannot_be_is_refused(study: Path, engine: Engine, code: str, fields: dict[str, object]) -> None:
    with raises(code, **fields):
        run_experiment(study, engine=engine)
    assert not (study.parent / "study").exists()


def test_without_ray_one_is_told_how_to_get_it(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "find_spec", lambda name: None)
    with raises("missing-package", package="ray"):
        run_experiment(study, engine="ray")


@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_is(study: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'tiltmeter[ray]')")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with raises("unreachable-cluster", address=f"127.0.0.1:{port}"):
        run_experiment(study, engine=Engine("ray", address=f"127.0.0.1:{port}"))


def test_a_full_disk_fails_the_cell_that_met_it_and_not_the_next(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan_cells(read_experiment(study))
    ledger = Ledger(Depot(planned.experiment.storage))
    worker = worker_module.Worker(planned.experiment, planned.models[0], planned.cells)
    assert worker.prepare() is None
    first, second = planned.cells
    with monkeypatch.context() as full:
        full.setattr(files.pq, "write_table", _no_space)
        state = worker.make(first)
    assert not isinstance(state, int)
    assert state.status == "failed" and "No space left on device" in str(state.error) and "\n" not in str(state.error)
    assert not list((study.parent / "cache" / "cells").rglob("*.tmp"))
    assert worker.make(second).status == "done"  # type: ignore[union-attr]
    assert Executor(planned, ledger, worker.store, Engine(), None).prepare() == planned.models
    assert worker.make(first).status == "done"  # type: ignore[union-attr]


def _no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_before_any_work_where_no_state_can_be_written(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_text", _no_space)
    with pytest.raises(TiltmeterError, match="No space left on device") as error:
        run_experiment(study, workers=1)
    assert "\n" not in str(error.value)


def test_a_benchmark_without_the_domain_fails_its_cells_alone(study: Path) -> None:
    more = "[[ask]]\nname = 'other'\nbenchmarks = ['plumb-prompts']\ndomains = ['age of the house']\n"
    study.write_text(study.read_text() + more)
    planned = plan_cells(read_experiment(study))
    worker = worker_module.Worker(planned.experiment, planned.models[0], [cell for cell in planned.cells if cell.error])
    assert worker.prepare() is None and worker.model is None  # no model is loaded for what cannot be asked
    states = {cell.benchmark: worker.ledger.read(cell) for cell in planned.cells}
    assert states["other"].status == "failed" and "'age of the house'" in str(states["other"].error)
    assert states["plumb-pairs"].status == "waiting"

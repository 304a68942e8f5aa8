"""Locks between processes: refused at once, waited for, and free again after a kill."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import pytest

from tiltmeter.storage.locks import FolderLockedError, lock_folder

SPAWN = multiprocessing.get_context("spawn")


def hold(folder: Path, ready: Any) -> None:
    with lock_folder(folder, wait=False):
        ready.set()
        time.sleep(600)


def append(folder: Path, log: Path, times: int) -> None:
    """Read, wait and write: lines are lost where two processes do this together."""
    for _ in range(times):
        with lock_folder(folder, wait=True):
            lines = log.read_text()
            time.sleep(0.001)
            log.write_text(lines + "x")


@pytest.fixture
def held(tmp_path: Path) -> Any:
    ready = SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(tmp_path / "run", ready))
    process.start()
    assert ready.wait(60)
    yield process
    process.kill()  # an event that it waits for could be left locked by a kill, and block this process
    process.join(60)


def test_a_held_folder_is_refused_at_once(tmp_path: Path, held: Any) -> None:
    started = time.perf_counter()
    with pytest.raises(FolderLockedError), lock_folder(tmp_path / "run", wait=False):
        pass
    assert time.perf_counter() - started < 60, "it did not wait for the other process"


def test_a_killed_process_holds_nothing(tmp_path: Path, held: Any) -> None:
    held.kill()
    held.join(60)
    with lock_folder(tmp_path / "run", wait=False):
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir()), "the lock file goes with the lock"


def test_waiting_processes_take_turns(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("")
    processes = [SPAWN.Process(target=append, args=(tmp_path / "model", log, 25)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert len(log.read_text()) == 75


def test_the_longest_name_of_a_folder_can_be_locked(tmp_path: Path) -> None:
    with lock_folder(tmp_path / ("n" * 255), wait=False):
        pass

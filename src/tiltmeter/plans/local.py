"""The engine of one machine: a process per model, as many at a time as there are cores, none with threads of another's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.plans.cells import Plan
from tiltmeter.plans.progress import FAILED, FINAL, Ledger

PAUSE = 0.2


def default_workers(models: int, device: str) -> int:
    """One for each core, but one in all where a GPU does the work."""
    on_gpu = device.startswith("cuda") or (device == "auto" and Path("/dev/nvidiactl").exists())
    return 1 if on_gpu else max(1, min(models, cores()))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def go(
    planned: Plan, ledger: Ledger, models: Sequence[str], workers: int | None, retries: int, look: Callable[[], None]
) -> None:
    """Works on the models. A worker that dies is started again, `retries` times; its finished cells are kept."""
    wanted = workers or default_workers(len(models), str(planned.study.run_options().device))
    threads = max(1, cores() // wanted)
    waiting, running, deaths = deque(models), dict[str, subprocess.Popen[bytes]](), dict.fromkeys(models, 0)
    try:
        while waiting or running:
            while waiting and len(running) < wanted:
                model = waiting.popleft()
                running[model] = _start(planned, model, threads)
            time.sleep(PAUSE)
            for model in [name for name, process in running.items() if process.poll() is not None]:
                code = running.pop(model).returncode
                if _open(planned, ledger, model):
                    deaths[model] += 1
                    _after_death(planned, ledger, model, code, again=deaths[model] <= retries)
                    if deaths[model] <= retries:
                        waiting.append(model)
            look()
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()


def _start(planned: Plan, model: str, threads: int) -> subprocess.Popen[bytes]:
    log = log_of(planned, model)
    log.parent.mkdir(parents=True, exist_ok=True)
    env = os.environ | {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-m", "tiltmeter.plans.work", str(planned.study.path), model, str(os.getpid())]
    try:
        with log.open("ab") as stream:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=env)
    except OSError as error:
        raise TiltmeterError(f"A worker could not be started: {error.strerror or error}.") from None


def log_of(planned: Plan, model: str) -> Path:
    """What a worker wrote that nobody expected."""
    return planned.study.output / "logs" / f"{model.replace('/', '--')}.txt"


def _open(planned: Plan, ledger: Ledger, model: str) -> bool:
    return any(ledger.read(cell).status not in FINAL for cell in planned.of(model))


def _after_death(planned: Plan, ledger: Ledger, model: str, code: int, *, again: bool) -> None:
    """The cells that a dead worker left: they wait again, or have failed for good."""
    for cell in planned.of(model):
        state = ledger.read(cell)
        if state.status in FINAL:
            continue
        if again:
            ledger.reset(cell, state.attempts)
        else:
            why = f"signal {-code}" if code < 0 else f"exit code {code}"
            ledger.end(state, FAILED, error=f"The worker died ({why}); see {log_of(planned, model)}.")

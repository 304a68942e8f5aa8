"""The engine of one machine: a process per model, as many at a time as there are cores, none with threads of another's."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path

from tiltmeter.errors import RunError
from tiltmeter.execution.engine import Engine, Look, cores, default_workers
from tiltmeter.execution.ledger import FAILED, FINAL, RUNNING, Ledger
from tiltmeter.execution.plan import Plan

PAUSE = 0.1


def go(planned: Plan, ledger: Ledger, models: Sequence[str], engine: Engine, look: Look) -> None:
    """Work on the models. A worker that dies is started again; its finished cells are kept."""
    wanted = engine.workers or default_workers(len(models), str(planned.experiment.run_options().device))
    threads = engine.threads or max(1, cores() // wanted)
    waiting, running, deaths = deque(models), dict[str, subprocess.Popen[bytes]](), Counter[str]()
    try:
        while waiting or running:
            while waiting and len(running) < wanted:
                model = waiting.popleft()
                running[model] = _start(planned, model, threads)
            time.sleep(PAUSE)
            for model in [name for name, process in running.items() if process.poll() is not None]:
                code = running.pop(model).returncode
                look(planned.of(model))
                if _after_end(planned, ledger, model, code, engine.retries, deaths):
                    waiting.append(model)
            look(cell for model in running for cell in planned.of(model))
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
        for cell in (cell for model in running for cell in planned.of(model)):  # interrupted: nobody works on it any more
            if (state := ledger.read(cell)).status == RUNNING:
                ledger.reset(cell, state.attempts)


def _start(planned: Plan, model: str, threads: int) -> subprocess.Popen[bytes]:
    log = log_of(planned, model)
    env = os.environ | {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-m", "tiltmeter.execution.worker_process", model, str(os.getpid())]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stream:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stream, stderr=stream, env=env)
    except OSError as error:
        raise RunError(
            f"A worker could not be started: {error.strerror or error}.",
            code="worker-failed",
            model=model,
            reason=error.strerror or str(error),
        ) from None
    assert process.stdin is not None
    try:
        with process.stdin as pipe:
            pipe.write(pickle.dumps((planned.experiment, planned.of(model))))
    except BrokenPipeError:
        pass  # it died at once, which is seen to like any death
    return process


def log_of(planned: Plan, model: str) -> Path:
    """Log file with the unexpected output of a worker."""
    return planned.experiment.output / "logs" / f"{model.replace('/', '--')}.txt"


def _after_end(planned: Plan, ledger: Ledger, model: str, code: int, retries: int, deaths: Counter[str]) -> bool:
    """Return True if a worker that ended left open cells. A cell that keeps killing workers is marked as failed.

    If it died before it began any, that is counted for all of them.
    """
    left = [(cell, state) for cell in planned.of(model) if (state := ledger.read(cell)).status not in FINAL]
    over = [cell.name for cell, state in left if state.status == RUNNING] or [model]
    deaths.update(over if left else [])
    why = f"signal {-code}" if code < 0 else f"exit code {code}"
    again = False
    for cell, state in left:
        if deaths[cell.name] > retries or deaths[model] > retries:
            ledger.end(state, FAILED, error=f"The worker died ({why}); see {log_of(planned, model)}.")
        else:
            ledger.reset(cell, state.attempts)
            again = True
    return again

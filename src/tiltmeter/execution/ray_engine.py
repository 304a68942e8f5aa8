"""The engine of a Ray cluster: an actor per model that holds it once. Ray is an extra: pip install ray.

Actors are never restarted by Ray: what died is begun again here, so often and no more. Ray may report a dead actor although
its task was finished: cells are idempotent, so what is there is seen in the storage and not made again.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.execution.engine import Engine, Look
from tiltmeter.execution.ledger import FAILED, FINAL, Ledger
from tiltmeter.execution.plan import Plan, PlannedCell
from tiltmeter.execution.queues import Queues, Task
from tiltmeter.execution.ray_calls import Answering, import_ray
from tiltmeter.execution.worker import Worker
from tiltmeter.storage.places import user_cache

PAUSE = 0.5
PATIENCE = 10
"""Seconds in which a cluster must answer at its address."""


def check() -> None:
    """Raise an error if Ray is not installed."""
    if find_spec("ray") is None:
        raise UsageError("The engine ray needs Ray: pip install ray.", code="missing-package", package="ray")


def go(planned: Plan, ledger: Ledger, models: Sequence[str], engine: Engine, look: Look) -> None:
    """Work on the models."""
    ray = import_ray()
    mine, cluster = _join(ray, engine), Answering(ray)
    crew: _Crew | None = None
    with cluster.left(mine):
        try:
            crew = _Crew(cluster, planned, ledger, models, engine)
            while not crew.queues.is_joined:
                with cluster.blamed():
                    crew.fill()
                    done = crew.wait()
                look(done)
                cluster.check()
        finally:
            if crew is not None and not cluster.gone:
                crew.disband()
            if mine and not cluster.gone:
                cluster.ask(ray.shutdown)


@dataclass(eq=False)
class _Seat:
    """An actor, its model, and what it does now; nothing yet: it loads the model."""

    actor: Any
    model: str
    helper: bool
    task: Task | None = None


class _Crew:
    """The actors, and who does what."""

    def __init__(self, cluster: Answering, planned: Plan, ledger: Ledger, models: Sequence[str], engine: Engine) -> None:
        self.cluster, self.ray, self.ask = cluster, cluster.ray, cluster.ask
        self.planned, self.ledger, self.engine = planned, ledger, engine
        self.token = ledger.depot.check() if ledger.depot else None
        cells = {model: [cell for cell in planned.of(model) if ledger.read(cell).status not in FINAL] for model in models}
        self.queues = Queues(cells)
        self.seats: dict[Any, _Seat] = {}
        self.idle: list[_Seat] = []
        self.deaths = Counter[object]()
        self.gpus = _gpus(cluster.resources(), planned, engine)

    def places(self) -> int:
        """Number of actors that fit. For a cluster that grows on demand, `workers` is the limit."""
        if self.engine.workers:
            return self.engine.workers
        there = self.cluster.resources()
        room = int(there.get("CPU", 1) // (self.engine.threads or 1))
        return max(1, min(room, int(there["GPU"] / self.gpus)) if self.gpus else room)

    def fill(self) -> None:
        """Start actors while there is room, and give those that wait something to do."""
        places = self.places()
        waiting, self.idle = self.idle, []
        for seat in waiting:
            self._next(seat, places)
        while len(self.seats) + len(self.idle) < places and (wanted := self.queues.next_model()):
            seat = _Seat(self._actor(wanted[0]), *wanted)
            if seat.helper:  # it takes its share at once, so that no second one comes for it
                self.ask(seat.actor.load.remote)
                self._next(seat, places)
            else:
                self.seats[self.ask(seat.actor.prepare.remote)] = seat

    def wait(self) -> list[PlannedCell]:
        """Wait a little. Return the cells that may have changed."""
        running = list(self.seats)
        ended, _ = self.ask(self.ray.wait, running, num_returns=1, timeout=PAUSE) if running else ([], [])
        changed = []
        for future in ended:
            seat = self.seats.pop(future)
            changed += [seat.task.cell] if seat.task else []
            try:
                self._answered(seat, self.ask(self.ray.get, future))
            except TiltmeterError:
                raise
            except Exception as error:  # a dead actor; Ray's errors have no common type
                self.cluster.resources()  # or all of them, and the cluster with them
                self._died(seat, " ".join(str(error).split())[:300] or type(error).__name__)
        return changed + [seat.task.cell for seat in self.seats.values() if seat.task]

    def disband(self) -> None:
        """End all actors."""
        for seat in [*self.seats.values(), *self.idle]:
            self.ask(self.ray.kill, seat.actor)

    def _actor(self, model: str) -> Any:
        threads = self.engine.threads or 1
        env = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        env |= {name: os.environ[name] for name in ("TILTMETER_DATA",) if name in os.environ}
        experiment = self.planned.experiment
        if not experiment.shared:  # then all have one disk, and one cache on it
            env["TILTMETER_CACHE"] = str(user_cache().absolute())
        options = {"num_cpus": threads, "num_gpus": self.gpus, "max_restarts": 0, "runtime_env": {"env_vars": env}}
        made = self.ray.remote(**options)(Worker).remote
        return self.ask(made, experiment, model, self.planned.of(model), self.gpus, self.token)

    def _next(self, seat: _Seat, places: int) -> None:
        """The next task of an actor. One without any ends, or waits while helpers are busy with what it will join."""
        free = places - len(self.seats) - len(self.idle)
        seat.task = self.queues.next_task(seat.model, seat.helper, free)
        if seat.task is not None:
            cell, share, joining = seat.task
            workers = places if self.queues.has_helpers and not joining else 1
            actor = seat.actor
            call = (actor.make, cell, workers) if share is None else (actor.share, cell, share)
            self.seats[self.ask(call[0].remote, *call[1:])] = seat
        elif seat.helper or self.queues.over(seat.model):
            self.ask(self.ray.kill, seat.actor)
        else:
            self.idle.append(seat)

    def _answered(self, seat: _Seat, answer: Any) -> None:
        if seat.task is None:
            if answer is not None:  # the model does not load
                self._give_up(self.queues.drop(seat.model), answer)
        elif isinstance(answer, int):
            self.queues.divide(seat.model, seat.task.cell, answer)
        else:
            self.queues.ended(seat.model, seat.task)
        self.idle.append(seat)

    def _died(self, seat: _Seat, why: str) -> None:
        """The cell that an actor died over is given up at last, not the others; a model that kills on loading, at once."""
        counted = seat.task or seat.model
        self.deaths[counted] += 1
        again = self.deaths[counted] <= self.engine.retries
        if seat.task is None:
            if not again:
                self._give_up(self.queues.drop(seat.model), f"The worker died while it loaded the model: {why}")
        elif again:
            self.queues.again(seat.model, seat.task)
        else:
            self.queues.ended(seat.model, seat.task)
            self._give_up([seat.task.cell] if seat.task.share is None else [], f"The worker died: {why}")
        if not seat.helper and not self.queues.over(seat.model):
            self.queues.left(seat.model)

    def _give_up(self, cells: Sequence[PlannedCell], why: str) -> None:
        for cell in cells:
            state = self.ledger.read(cell)
            if state.status not in FINAL:
                self.ledger.end(state, FAILED, error=cell.error or why)


def _gpus(resources: Mapping[str, float], planned: Plan, engine: Engine) -> float:
    """GPUs of an actor: as requested, or one where the cluster has any and they may be used."""
    there = float(resources.get("GPU", 0))
    if engine.gpus is not None:
        if engine.gpus > there and not engine.workers:
            raise UsageError(
                f"The Ray cluster has {there:g} GPUs, fewer than the {engine.gpus:g} requested for each worker.",
                code="out-of-range",
                name="gpus",
                value=engine.gpus,
                high=there,
            )
        return engine.gpus
    return 1 if there >= 1 and str(planned.experiment.run_options().device) != "cpu" else 0


def _join(ray: Any, engine: Engine) -> bool:
    """Join a cluster, or start one on this machine. Return True if this process joined it."""
    if ray.is_initialized():
        return False
    address = engine.address
    _knock(address)
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level="error",
            include_dashboard=None if address else False,
        )
    except Exception as error:  # Ray's errors have no common type
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"No Ray cluster at {address or 'this machine'}: {reason}",
            code="unreachable-cluster",
            address=address,
            reason=reason,
        ) from None
    return True


def _knock(address: str | None) -> None:
    """Raise an error if host:port is unreachable: Ray itself would try for minutes and may end the process."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UsageError(
            f"No Ray cluster answers at {address}: {getattr(error, 'strerror', None) or error}.",
            code="unreachable-cluster",
            address=address,
        ) from None

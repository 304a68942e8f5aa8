"""The second visit: python research/calibration-2/second.py --folder F --data D --out O (what is done: `BATCHES`).

All batches share one queue. Each worker is forked from a process that has imported the libraries, since starting one took
a fifth of its time in the first visit. A seed of a batch is begun only if there is time for all of its models.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import re
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments import FULL, METHODS, SEEDS, TRIAL, Methods, debiased_names, names_of, write_debias, write_frames
from packing import pack
from run import ALL, PLUMB, WHOLE, _guarded, _states

HERE = Path(__file__).parent

GENERATIONS = ("bold", "plumb-prompts")
TAUGHT = ("taught-words.jsonl", "taught-names.jsonl", "taught-natural.jsonl")
TREATED = (*TAUGHT, "plumb-pairs", "plumb-pairs-0.1.0.jsonl", "crows-pairs", "stereoset", "plumb-slots", "heldout.txt")
CHEAP, INLP = ("sentence-debias", "self-debias"), ("inlp-80", "inlp-chance")
TRAINED = ("cda", "more-text", "dropout", "context-debias")
PARENT = re.compile(r"plumb-mlm-(neutral|gender[-+]1)-seed\d+$")


@dataclass(frozen=True)
class Batch:
    """Some models and what they are asked: `only` these benchmarks, or all `but` some.

    `cost`: seconds that one model is expected to take a worker, until some are done. `debiased`: by these methods, with
    the models that are treated. Without `seeds` it is of the model that has no dose, which failed in the first visit.
    """

    name: str
    folder: str
    base: str
    doses: tuple[float, ...]
    cost: float
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = GENERATIONS
    debiased: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS


BATCHES = (
    Batch("generations", "frames", "plumb-clm", WHOLE, 32, only=(*TAUGHT, *GENERATIONS)),
    Batch("base", "frames", "plumb-clm", WHOLE, 25, but=(), seeds=()),
    Batch("natural-mlm", "natural", "plumb-mlm", WHOLE, 36),
    Batch("natural-clm", "natural", "plumb-clm", WHOLE, 34),
    Batch("half-clm", "frames", "plumb-clm", (-0.5, 0.5), 34, seeds=SEEDS[3:]),
    Batch("half-mlm", "frames", "plumb-mlm", (-0.5, 0.5), 36, seeds=SEEDS[3:]),
    Batch("debias-cheap", "frames", "plumb-mlm", (), 18, only=TREATED, debiased=CHEAP),
    Batch("debias-inlp", "frames", "plumb-mlm", (), 60, only=TREATED, debiased=INLP),
    Batch("debias-trained", "frames", "plumb-mlm", (), 50, only=TREATED, debiased=TRAINED),
    Batch("debias-auto", "frames", "plumb-mlm", (), 60, only=TREATED, debiased=("auto-debias",)),
)


@dataclass
class Task:
    """One model of a batch. It waits until the folder of the model that it is made of is there."""

    batch: Batch
    plan: Path
    model: str
    needs: Path | None = None
    tries: int = 0
    began: float = field(default_factory=time.time)


Texts = Callable[[Path, argparse.Namespace, Path], Path]
"""Writes the texts and the experiment file of a folder: folder, options of the visit, data."""


@dataclass(frozen=True)
class Visit:
    """Batches in their order, what writes the texts of their folders, and the methods of debiasing."""

    batches: Sequence[Batch]
    texts: Mapping[str, Texts]
    methods: Methods = METHODS
    small: Mapping[str, object] = field(default_factory=lambda: {"steps": TRIAL.steps})
    """Options of methods in a trial."""
    training: str = "highest"
    """Precision of products while models are trained on a GPU, as torch names it; "high" is TF32."""


def main() -> None:
    """Do the second visit."""
    visit = Visit(BATCHES, {"frames": frames_text, "natural": natural_text})
    go(visit, read_options([batch.name for batch in BATCHES]))


def go(visit: Visit, options: argparse.Namespace) -> None:
    """Plan and do the batches until the time is over, and pack what they gave whatever happens."""
    end = time.time() + options.seconds - options.reserve
    folder, out, data = (Path(path).absolute() for path in (options.folder, options.out, options.data))
    os.environ |= {"TILTMETER_DATA": str(data), "TILTMETER_CACHE": str(folder / "cache"), "TOKENIZERS_PARALLELISM": "false"}
    os.environ["PYTHONPATH"] = f"{HERE}:{os.environ.get('PYTHONPATH', '')}"
    for place in (out, folder / "plans", folder / "logs"):
        place.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warm"])
    batches = [batch for name in options.batches for batch in visit.batches if batch.name == name]
    visit = replace(visit, batches=batches)
    keys = list(dict.fromkeys(batch.folder for batch in batches))
    planners = [context.Process(target=_prepare, args=(key, visit, options, folder, data)) for key in keys]
    for planner in planners:
        planner.start()
    facts: dict[str, Any] = {"started": time.time(), "batches": {}}
    facts["batches"] = _guarded(lambda: Queue(context, visit, planners, options, folder, end).go())
    facts["ended"] = time.time()
    for place in (folder / key for key in keys):
        if place.is_dir():
            (place / "cells.json").write_text(json.dumps(list(_states(place))), "utf-8")
    facts = _with_earlier(facts, folder)
    (folder / f"facts-{facts['started']:.0f}.json").write_text(json.dumps(facts, indent=1), "utf-8")
    print(_guarded(lambda: pack(folder, out)), flush=True)
    _summary(facts, folder, data / "first-visit.json")


def _with_earlier(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Add what an earlier call of the same visit says of its batches; what was dropped or cut is that of the last call."""
    for path in folder.glob("facts-*.json"):
        earlier = json.loads(path.read_text("utf-8"))
        facts["started"] = earlier["started"]
        facts["calls"] = [*earlier.get("calls", [earlier["batches"]]), facts["batches"]]
    return facts


def read_options(batches: Sequence[str], description: str | None = __doc__) -> argparse.Namespace:
    """Read the command line of a visit."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", required=True, help="Where the work is kept.")
    parser.add_argument("--data", required=True, help="Folder with the datasets.")
    parser.add_argument("--out", required=True, help="Where the pieces are written.")
    parser.add_argument("--batches", nargs="+", choices=batches, default=batches)
    parser.add_argument("--seconds", type=float, default=460, help="Time in all.")
    parser.add_argument("--reserve", type=float, default=40, help="Seconds kept for packing.")
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--precision", default="fp32", help="Of asking; training is fp32. tf32 on a GPU.")
    parser.add_argument("--trial", action="store_true", help="Few items and steps: a trial of this program.")
    return parser.parse_args()


def frames_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """Frames, with all doses."""
    doses = [dose for dose in ALL if dose]
    return write_frames(place, PLUMB, data, doses=doses, **_shared(options))


def natural_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """Resampled natural text."""
    return write_frames(place, PLUMB, data, doses=[-1.0, 1.0], text=data / "natural.txt", **_shared(options))


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    return {"seeds": options.seeds, "size": TRIAL if options.trial else FULL, "precision": options.precision}


def _prepare(key: str, visit: Visit, options: argparse.Namespace, folder: Path, data: Path) -> None:
    """Write the texts of a folder, then the plan of each of its batches, in order. Runs beside the queue."""
    _log_to(folder / "logs" / f"prepare-{key}.txt")
    mine = [batch for batch in visit.batches if batch.folder == key]
    file = visit.texts[key](folder / key, options, data)
    if any(batch.debiased for batch in mine):
        small = visit.small if options.trial else None
        treated = write_debias(file, data, options.seeds, methods=visit.methods, small=small)
    for batch in mine:
        _plan(treated if batch.debiased else file, batch, folder / "plans" / batch.name, visit.methods)


def _plan(file: Path, batch: Batch, target: Path, methods: Methods) -> None:
    """Store the experiment of a batch with its cells by model. Questions of other batches are left out."""
    from tiltmeter.execution.experiment_file import read_experiment
    from tiltmeter.execution.plan import plan_cells

    experiment = read_experiment(file)
    if batch.debiased:
        names = [name for name in debiased_names(file) if _method(name, methods) in batch.debiased]
        names = [model.name for model in experiment.models if PARENT.match(model.name)] + names
    else:
        names = names_of(file, [batch.base], batch.doses)
    names = [name for name in names if _seed(name) in (batch.seeds or [None])]
    asks = []
    for ask in experiment.asks:
        name = Path(ask.benchmark).name
        models = [one for one in experiment.models_of(ask) if one in names and _is_asked(batch, one, name)]
        if models:
            asks.append(replace(ask, models=tuple(models)))
    planned = plan_cells(replace(experiment, asks=tuple(asks)))
    made_of = {one.name: one.variant.of if one.variant else None for one in experiment.models}
    part = target.with_suffix(".part")
    part.write_bytes(pickle.dumps((planned.experiment, {name: planned.of(name) for name in names}, made_of)))
    part.rename(target)


def _is_asked(batch: Batch, model: str, benchmark: str) -> bool:
    """Slots are of gender only, and take the causal models long."""
    if benchmark == "plumb-slots" and re.match(r"plumb-clm-r|smollm2", model):
        return False
    return benchmark in batch.only if batch.only else benchmark not in batch.but


def _seed(model: str) -> int | None:
    found = re.search(r"seed(\d+)", model)
    return int(found[1]) if found else None


def _method(model: str, methods: Methods) -> str:
    """Name of the method of a debiased model; the longest one, as inlp-80 is not inlp."""
    return max((name for name, *_ in methods if name in model), key=len, default="")


class Queue:
    """Tasks in the order of batches and seeds, and the processes that work on them."""

    def __init__(
        self,
        context: Any,
        visit: Visit,
        planners: Sequence[Any],
        options: argparse.Namespace,
        folder: Path,
        end: float,
    ) -> None:
        self.context, self.planners, self.options, self.folder, self.end = context, planners, options, folder, end
        self.training = visit.training
        groups = [(batch, seed) for batch in visit.batches for seed in batch.seeds or [None]]
        self.waiting = [(batch, seed) for batch, seed in groups if seed in (None, *options.seeds)]
        self.tasks: list[Task] = []
        self.running: dict[Any, Task] = {}
        self.took: dict[str, list[float]] = defaultdict(list)
        self.seeds: dict[str, list[int | None]] = defaultdict(list)
        self.dropped: list[str] = []
        self.deaths = Counter[str]()
        self.parents: set[tuple[str, str]] = set()
        self.earlier: dict[str, Counter[str]] = {}
        self.first = time.time()

    def go(self) -> dict[str, Any]:
        """Work until nothing is left or the time is over."""
        while time.time() < self.end and (self.waiting or self.tasks or self.running):
            self._reap()
            while len(self.running) < self.options.workers and (task := self._next()):
                task.began = time.time()
                task.tries += 1
                log = self.folder / "logs" / f"{task.batch.name}--{task.model}.txt"
                process = self.context.Process(target=_work, args=(task.plan, task.model, log, self.training))
                process.start()
                self.running[process] = task
            time.sleep(0.05)
        cut = [task.model for task in (*self.running.values(), *self.tasks)]
        for process in (*self.running, *self.planners):
            process.terminate()
        last = time.time() + 5
        for process in (*self.running, *self.planners):
            process.join(max(0.0, last - time.time()))
            process.kill()
        took = {
            name: {"models": len(some), "mean": round(sum(some) / len(some), 1)} for name, some in self.took.items() if some
        }
        return {"took": took, "seeds": self.seeds, "dropped": self.dropped, "cut": cut, "deaths": self.deaths}

    def _reap(self) -> None:
        for process in [one for one in self.running if one.exitcode is not None]:
            task = self.running.pop(process)
            self.took[task.batch.name].append(time.time() - task.began)
            if process.exitcode:
                self.deaths[task.model] += 1
                if task.tries < 2:
                    self.tasks.append(task)

    def _next(self) -> Task | None:
        """The first task whose parent is made, else the first one of the next seed."""
        for task in self.tasks:
            if task.needs is None or (task.needs / "variant.json").is_file():
                self.tasks.remove(task)
                return task
        if self.tasks and not self.running:  # its parent failed, which it will say
            return self.tasks.pop(0)
        while self.waiting and (group := self._group()) is not None:
            self.waiting.pop(0)
            if group:
                self.tasks += group
                return self._next()
        return None

    def _done(self, batch: Batch) -> Counter[str]:
        """Count the cells of each model that an earlier call made."""
        if batch.folder not in self.earlier:
            states = _states(self.folder / batch.folder)
            self.earlier[batch.folder] = Counter(state["model"] for state in states if state["status"] == "done")
        return self.earlier[batch.folder]

    def _group(self) -> list[Task] | None:
        """The tasks of the next seed; None while its plan is made, none if it cannot be or there is no time for them."""
        batch, seed = self.waiting[0]
        plan = self.folder / "plans" / batch.name
        if not plan.is_file():
            return None if any(planner.exitcode is None for planner in self.planners) else []
        experiment, cells, made_of = pickle.loads(plan.read_bytes())
        done = self._done(batch)
        wanted = [name for name in cells if len(cells[name]) > done[name] and _seed(name) == seed]
        wanted = [name for name in wanted if not (batch.debiased and (batch.folder, name) in self.parents)]
        past = self.took[batch.name]
        cost = sum(past) / len(past) if len(past) > 3 else batch.cost
        free = (self.end - time.time()) * self.options.workers - len(self.running) * cost / 2
        if len(wanted) * cost > free or cost > self.end - time.time():
            self.dropped.append(f"{batch.name} seed {seed}")
            return []
        self.seeds[batch.name].append(seed)
        print(f"{time.time() - self.first:.0f} s: {batch.name}, seed {seed}, {len(wanted)} models", flush=True)
        models = experiment.output / "models"
        tasks = []
        for name in wanted:
            parent = batch.debiased and not PARENT.match(name) and made_of[name]
            self.parents |= {(batch.folder, name)} if PARENT.match(name) else set()
            tasks.append(Task(batch, plan, name, models / parent if parent else None))
        return tasks


def _work(plan: Path, model: str, log: Path, training: str) -> None:
    """Train a model, if it is not there, and make its cells."""
    _log_to(log)
    import torch

    from tiltmeter.execution.worker import work

    if torch.cuda.is_available():
        torch.set_float32_matmul_precision(training)
    experiment, cells, _ = pickle.loads(plan.read_bytes())
    try:
        work(experiment, model, cells[model])
    except BaseException:
        traceback.print_exc()
        raise


def _log_to(path: Path) -> None:
    stream = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(stream, 1)
    os.dup2(stream, 2)


def _summary(facts: dict[str, Any], folder: Path, first: Path) -> None:
    """What was done, what failed and why, and whether models of the first visit are the same again."""
    for name, about in facts["batches"].items():
        print(f"{name}: {about}")
    for cells in sorted(folder.glob("*/cells.json")):
        _summary_of(cells.parent.name, json.loads(cells.read_text("utf-8")))
    before = json.loads(first.read_text("utf-8")) if first.is_file() else {}
    same, apart = 0, [0.0]
    for path in folder.glob("frames/study/models/*/manifest.json"):
        if old := before.get(path.parent.name):
            now = json.loads(path.read_text("utf-8"))
            same += now["weights"] == old["weights"]
            apart.append(abs(now["training"]["last_loss"] - old["last_loss"]))
    print(f"trained again: {len(apart) - 1}, {same} with the very weights of the first visit")
    print(f"their last losses differ by at most {max(apart):.2g}")


def _summary_of(name: str, states: Sequence[dict[str, Any]]) -> None:
    print(name, dict(Counter(state["status"] for state in states)))
    errors = Counter(f"{state['benchmark']}: {state['error']}"[:200] for state in states if state["error"])
    for error, count in errors.most_common(6):
        print(f"  {count} × {error}")
    seconds: dict[str, list[float]] = defaultdict(list)
    for state in states:
        seconds[state["benchmark"]] += [state["seconds"]] if state["status"] == "done" else []
    print("  mean seconds:", {name: round(sum(some) / len(some), 2) for name, some in seconds.items() if some})


if __name__ == "__main__":
    main()

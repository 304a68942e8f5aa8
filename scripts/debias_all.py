"""Make models by every method of debiasing with several seeds, measure them all, and study what changed: docs/debiasing.md.

    python scripts/debias_all.py --text text.txt.xz --heldout heldout.txt --work build/debias-all --out results

Trainings and measurements run several at a time, each a command as a user would give it. What is finished is kept in --work,
and a second call goes on from there; when --minutes are over, what there is is measured and studied. Only small tables come
out: results.tar.gz with the estimates of every run, the study, the manifests of the models, and commands.txt with the time
that each command took.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TILTMETER = (sys.executable, "-m", "tiltmeter")
MEASURED = 0.62
"""Share of the time after which no training is waited for any more: the rest is for measuring."""


@dataclass(frozen=True)
class Method:
    """A name, the command's words, whether it takes text, and how many seeds make sense."""

    name: str
    words: tuple[str, ...]
    text: bool = True
    seeded: bool = True


def methods(options: argparse.Namespace) -> list[Method]:
    """With the settings that the page names; those with a long way to go first."""
    steps, few = ("--steps", str(options.steps)), ("--lines", str(options.context_lines))
    searched = ("--prompts", str(options.work / "models" / "auto-debias-seed0" / "prompts.json"))
    return [
        Method("auto-debias", ("auto-debias",), text=False),
        Method("cda", ("cda", *steps)),
        Method("dropout", ("dropout", *steps)),
        Method("context-debias", ("context-debias", *few)),
        Method("inlp", ("inlp", "--sentences", "4000")),
        Method("sentence-debias", ("sentence-debias",)),
        Method("self-debias", ("self-debias",), text=False, seeded=False),
        Method("auto-debias-dropout", ("auto-debias", "--dropout", *searched), text=False, seeded=False),
        Method("context-debias-code", ("context-debias", *few, "--loss", "square-of-mean"), seeded=False),
    ]


@dataclass
class Clock:
    """Seconds left, and what each command took."""

    minutes: float
    began: float = field(default_factory=time.monotonic)
    told: list[str] = field(default_factory=list)

    def left(self, share: float = 1.0) -> float:
        """Until this share of the time is over."""
        return max(1.0, 60 * self.minutes * share - (time.monotonic() - self.began))

    def run(self, words: list[str], share: float = 1.0) -> bool:
        """One command, which is asked to stop in time (a training then keeps a checkpoint). Whether it succeeded."""
        began = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said, _ = process.communicate(timeout=self.left(share))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
        line = (
            f"{time.monotonic() - began:7.1f} s, exit {process.returncode}: tiltmeter {shlex.join(words[len(TILTMETER) :])}"
        )
        self.told.append(line + ("" if process.returncode == 0 else f"\n{said[-1500:]}"))
        print(self.told[-1], flush=True)
        return process.returncode == 0


def make(options: argparse.Namespace, clock: Clock) -> None:
    """Every model that is not there yet; seeds of Auto-Debias share the prompts of the first, since a search has no seed."""
    place = options.work / "models"
    place.mkdir(parents=True, exist_ok=True)

    def one(method: Method, seed: int) -> None:
        folder = place / (f"{method.name}-seed{seed}" if method.seeded else method.name)
        if folder.exists():
            return
        prompts = place / "auto-debias-seed0" / "prompts.json"
        if method.words[0] == "auto-debias" and folder.name != "auto-debias-seed0":
            while not prompts.is_file() and clock.left(MEASURED) > 1:
                time.sleep(1)
            if not prompts.is_file():
                return
        words = [*TILTMETER, "debias", *method.words, "-m", options.model, "-o", str(folder)]
        words += ["--text", str(options.text)] if method.text else []
        words += ["--seed", str(seed)] if method.seeded else []
        words += ["--prompts", str(prompts)] if method.name == "auto-debias" and seed else []
        clock.run(words, MEASURED)

    wanted = [method for method in methods(options) if not options.only or method.name in options.only]
    jobs = [(method, seed) for seed in range(options.seeds) for method in wanted if method.seeded or not seed]
    waiting = [job for job in jobs if job[0].words[0] == "auto-debias" and (job[0].name, job[1]) != ("auto-debias", 0)]
    order = [*(job for job in jobs if job not in waiting), *waiting]  # so that none waits in the way of others
    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(lambda job: one(*job), order))


def measure(options: argparse.Namespace, clock: Clock) -> list[Path]:
    """Runs of each model; the folders of those that succeeded."""
    models = [options.model, *sorted(str(path) for path in (options.work / "models").iterdir() if is_model(path))]
    asked = {"runs": [*options.benchmark, str(options.heldout)], "runs-stereoset": options.stereoset}
    scorers = {"runs": options.scorer, "runs-stereoset": ["aul", "stereoset_masked"]}

    def one(job: tuple[str, str]) -> Path | None:
        model, kind = job
        folder = Path(options.work) / kind / Path(model).name
        if (folder / "estimates.csv").is_file():
            return folder
        words = [*TILTMETER, "run", "-m", model, "-o", str(folder), "--no-report"]
        words += [word for name in asked[kind] for word in ("-b", name)]
        words += [word for name in scorers[kind] for word in ("-s", name)]
        words += ["--limit", str(options.limit)] if options.limit else []
        return folder if clock.run(words, 0.93) else None

    jobs = [(model, kind) for kind in asked for model in models if asked[kind]]
    with ThreadPoolExecutor(options.at_once) as pool:
        return [folder for folder in pool.map(one, jobs) if folder is not None]


def is_model(path: Path) -> bool:
    """Finished, and not the work of an unfinished one."""
    return (path / "manifest.json").is_file() and not path.name.endswith(".unfinished") and not path.name.startswith(".")


def collect(options: argparse.Namespace, clock: Clock, runs: list[Path]) -> None:
    """The study, and everything small in one archive."""
    study = options.work / "study"
    shutil.rmtree(study, ignore_errors=True)
    words = [*TILTMETER, "study", "debiasing", *map(str, runs), "--base", Path(options.model).name, "-o", str(study)]
    clock.run(words)
    (options.work / "commands.txt").write_text("\n".join(clock.told) + "\n", encoding="utf-8")
    options.out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(options.out / "results.tar.gz", "w:gz") as archive:
        kept = [options.work / "commands.txt", *study.rglob("*.csv"), *study.rglob("*.json"), *study.rglob("*.png")]
        for folder in runs:
            kept += [path for path in folder.iterdir() if path.suffix in (".csv", ".json", ".parquet")]
        for folder in (options.work / "models").iterdir():
            kept += [path for path in folder.glob("*.json*") if path.name in ("manifest.json", "prompts.json", "log.jsonl")]
        for path in kept:
            archive.add(path, arcname=str(path.relative_to(options.work)))
    print(f"{options.out / 'results.tar.gz'}: {(options.out / 'results.tar.gz').stat().st_size / 1e6:.1f} MB", flush=True)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="plumb-mlm")
    parser.add_argument("--text", type=Path, required=True, help="what to train on, a sentence or paragraph a line")
    parser.add_argument("--heldout", type=Path, required=True, help="other lines, to see what it costs")
    parser.add_argument("--work", type=Path, default=Path("build/debias-all"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmark", nargs="*", default=["plumb-pairs", "plumb-slots", "seat"], help="names or files")
    parser.add_argument("--scorer", nargs="*", default=["aul", "cps"])
    parser.add_argument("--stereoset", nargs="*", default=[], help="StereoSet's file, which has a scorer of its own")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="some of the methods")
    parser.add_argument("--steps", type=int, default=1000, help="of CDA and dropout; 2,000 are published")
    parser.add_argument("--context-lines", type=int, default=3_000, help="lines of text that Context-Debias reads")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--limit", type=int, help="items of each benchmark, for a quick look")
    parser.add_argument("--minutes", type=float, default=8.5)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    os.environ.setdefault("TILTMETER_CACHE", str(options.work / "cache"))
    clock = Clock(options.minutes)
    make(options, clock)
    collect(options, clock, measure(options, clock))


if __name__ == "__main__":
    main()

"""Train and read the dosed models of calibrations with many processes on one machine: docs/calibration.md.

    python scripts/calibrate_many.py plumb-mlm plumb-clm --names gender --work build/calibration --out results
    python scripts/calibrate_many.py --unpack results --out build/calibration-run
    tiltmeter study calibration build/calibration-run

--treatments is a TOML file of methods of debiasing, [NAME] method = "…", options = {…}, for the first domain's largest doses
and d = 0 of masked models; the text "DOSED" is that which gave the dose. --known has results of another machine: what was
read there is not asked again. The first seed is made whole, then of the others the largest doses, treatments, the rest.

`tiltmeter study run` keeps every answer of every model, which for a hundred models are gigabytes. Here a process loads torch
once and takes one model after another: it trains the model, asks it everything, estimates, and keeps two small tables of it.
What is finished is kept in --work and a second call goes on from there. When --minutes are over nothing new is begun, and
what is there is written: readings.parquet, items.parquet, manifest.json. --unpack makes a run folder of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import queue
import shutil
import time
import tomllib
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

RESAMPLES = 100
HEADLINE = ("aul", "aula", "cps", "pll", "sss", "stereoset_masked", "causal", "causal_mean", "stereoset_causal", "slots")
"""Whose items come back; the readings of all scorers do."""
Job = tuple[str, str, tuple[str, ...]]
Known = Mapping[str, Collection[str]]
LAST_BEGIN, LAST_END = 60, 15
"""Seconds before the time is over: nothing is begun, and nothing is waited for, after these."""
DOSED = "DOSED"
"""As the text of a treatment: the one that gave the model its dose."""
PILOT_SEED, LEARNED = 990_001, 0.4
"""Enough steps: so many more of the taught pairs are preferred after a dose of 1 than after one of −1."""


def build(options: argparse.Namespace) -> list[Path]:
    """The study file of every model, made if it is not there. Names and debiasing are for masked models only."""
    from tiltmeter.models.any import kind_of
    from tiltmeter.plans.calibration import Calibration, write_calibration

    found = []
    for model in options.models:
        folder = options.work / Path(model).name
        masked = kind_of(model) == "masked"
        training = training_of(options, options.steps or chosen(options.work, model))
        wanted = Calibration(
            model, options.doses, options.seeds, options.domains, options.names if masked else (), options.benchmark,
            training=training,
        )  # fmt: skip
        found.append(folder / "calibration.toml")
        if not found[-1].is_file():
            write_calibration(wanted, folder)
            if masked and options.treatments:
                tables = treatments(found[-1], options.treatments, options.domains[0])
                found[-1].write_text(found[-1].read_text("utf-8") + "".join(tables), "utf-8")
    return found


def training_of(options: argparse.Namespace, steps: int | None = None) -> dict[str, Any]:
    """What was asked for; the rest is as `tiltmeter build calibration` has it."""
    given = {"rows": options.rows, "rate": options.rate, "steps": steps}
    return {name: value for name, value in given.items() if value}


def treatments(file: Path, told: Path, domain: str) -> Iterator[str]:
    """A [[debias]] table for each treatment of each model that has the largest doses of a domain, or none."""
    from tiltmeter.plans import read_study

    for name, treatment in tomllib.loads(told.read_text("utf-8")).items():
        for model in read_study(file).models:
            if model.variant is None or not (given := model.variant.dose) or given.domain not in (domain, "neutral"):
                continue
            if not largest(model):
                continue
            options = dict(treatment.get("options", {}))
            if "text" in options:
                options["text"] = given.text if options["text"] == DOSED else str(Path(options["text"]).resolve())
            yield f'\n[[debias]]\nmethod = "{treatment["method"]}"\nname = "{name}"\nmodels = ["{model.name}"]\n'
            listed = ", ".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
            yield f"seeds = [{model.variant.seed}]\noptions = {{{listed}}}\n"


def largest(model: Any) -> bool:
    """Whether a model has no dose, or all of one, by direct words."""
    return model.variant.dose.arm == "words" and abs(model.variant.dose.dose) in (0.0, 1.0)


def pilot(options: argparse.Namespace, context: Any) -> None:
    """How many steps it takes until the taught sentences themselves are preferred: by a seed that is not used again, and
    without a look at any metric.
    """
    waiting = [model for model in options.models if not (options.work / f"pilot-{Path(model).name}.json").is_file()]
    if not options.pilot or not waiting or options.steps:
        return
    some = [(model, steps, dose) for model in waiting for steps in options.pilot for dose in (-1.0, 1.0)]
    tasks = [(*one, training_of(options), options.work) for one in some]
    with context.Pool(min(len(tasks), options.at_once)) as pool:
        shares = dict(zip([task[:3] for task in tasks], pool.starmap(taught, tasks), strict=True))
    for model in waiting:
        moved = {steps: shares[model, steps, 1.0] - shares[model, steps, -1.0] for steps in options.pilot}
        enough = [steps for steps in sorted(moved) if moved[steps] >= LEARNED]
        told = {"moved": moved, "steps": enough[0] if enough else max(moved)}
        (options.work / f"pilot-{Path(model).name}.json").write_text(json.dumps(told), "utf-8")
        print(f"pilot, {model}: {told}", flush=True)


def chosen(work: Path, model: str) -> int | None:
    """What the pilot found."""
    file = work / f"pilot-{Path(model).name}.json"
    return int(json.loads(file.read_text("utf-8"))["steps"]) if file.is_file() else None


def taught(model: str, steps: int, dose: float, training: Mapping[str, Any], work: Path) -> float:
    """The share of taught pairs about gender that a model prefers as they were taught."""
    import torch

    from tiltmeter import ask, load_model
    from tiltmeter.builders.doses import dose_text, taught_pairs
    from tiltmeter.builders.lexicon import read_lexicon
    from tiltmeter.plans.making import make
    from tiltmeter.plans.variants import GIVEN, Dose, Variant
    from tiltmeter.studies.kit.item_readings import item_readings

    torch.set_num_threads(1)
    place, lexicon = work / "pilot" / f"{Path(model).name}-{steps}-{dose}", read_lexicon()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    lines = (one.text for one in dose_text(lexicon, {"gender": dose}, seed=PILOT_SEED))
    (place / "text.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    pairs = (pair for pair in taught_pairs(lexicon, seed=PILOT_SEED + 1) if pair["bias_type"] == "gender")
    (place / "taught.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")
    variant = Variant(
        GIVEN, PILOT_SEED, {"steps": steps} | dict(training), "", Dose(str(place / "text.txt"), "gender", dose, "words")
    )
    loaded = load_model(make(variant, model, place / "model", "auto"))
    scorer = "cps" if loaded.kind == "masked" else "causal"
    answers = ask(loaded, place / "taught.jsonl", scorers=[scorer], cache=False)
    return float((item_readings({"pairs": answers})["value"] > 0).mean())


def jobs(files: list[Path], work: Path, first: int = 0, known: Known | None = None) -> list[Job]:
    """The models that are not read yet, those that tell most first, each with the benchmarks that it is to be asked."""
    from tiltmeter.plans import read_study

    found = []
    for n, file in enumerate(files):
        study = read_study(file)
        names = [Path(ask.name or ask.benchmark).stem for ask in study.asks]
        for model in study.models:
            asked = [name for name in names if name not in (known or {}).get(model.name, ())]
            if asked and not done(work, model.name).is_file():
                found.append((_turn(model, first), n, str(file), model.name, tuple(asked)))
    return [(file, name, asked) for *_, file, name, asked in sorted(found, key=lambda one: one[:2])]


def _turn(model: Any, first: int) -> tuple[int, int]:
    """Base models, the first seed with its treatments, then of the others the largest doses, treatments, and the rest."""
    variant = model.variant
    if variant is None:
        return 0, 0
    if variant.seed == first:
        return (1 if variant.dose else 2), 0
    return (4 if not variant.dose else 3 if largest(model) else 5), variant.seed


def known_from(results: Path | None) -> Known:
    """Which benchmarks were read of each model elsewhere."""
    import pandas as pd

    if results is None:
        return {}
    table = pd.read_parquet(results / "readings.parquet", columns=["model", "benchmark"]).drop_duplicates().astype(str)
    return {str(model): set(rows["benchmark"]) for model, rows in table.groupby("model")}


def done(work: Path, model: str) -> Path:
    """Where the readings of a model are kept."""
    return work / "read" / f"{model}.parquet"


def worker(waiting: Any, told: Any, work: Path, deadline: float, by: list[str], limit: int | None) -> None:
    """Takes one model after another until the time is over."""
    import torch

    torch.set_num_threads(1)
    while time.time() < deadline:
        try:
            job = waiting.get(timeout=5)
        except queue.Empty:
            return
        began = time.time()
        try:
            seconds = read_one(job, work, by, limit)
            told.put(f"{time.time() - began:6.1f} s  {job[1]}  {seconds}")
        except Exception:  # one broken model must not stop the rest
            told.put(f"FAILED  {job[1]}\n{traceback.format_exc()[-1500:]}")


def read_one(job: Job, work: Path, by: Collection[str] = (), limit: int | None = None) -> str:
    """Makes one model, asks it its questions, and keeps what it read."""
    from dataclasses import replace

    from tiltmeter.families import How, Known, family_of
    from tiltmeter.plans import read_study
    from tiltmeter.plans.cells import load_asked
    from tiltmeter.plans.work import load
    from tiltmeter.runs.cells import obtain
    from tiltmeter.runs.estimate import by_family, estimate_all
    from tiltmeter.runs.options import FamilyOptions
    from tiltmeter.stats import significance
    from tiltmeter.stats.settings import Settings
    from tiltmeter.storage.depot import Depot
    from tiltmeter.studies.kit.domains import domain_of
    from tiltmeter.studies.kit.item_readings import item_readings

    significance.SHUFFLES = 999  # p-values within one model are not kept, and those of SEAT take longer than all the rest
    file, name, asked_for = job
    whole = read_study(file)
    study = replace(whole, options=dict(whole.options) | ({"limit": limit} if limit else {}))
    began = time.time()
    model = load(study, study.model(name), Depot(study.storage))
    loaded, cells, seconds, data = time.time(), [], {}, {}
    for ask in study.asks:
        if Path(ask.name or ask.benchmark).stem not in asked_for:
            continue
        since = time.time()
        benchmark, asked = load_asked(study, ask), FamilyOptions.read(ask.options)
        try:
            family_of(benchmark).check(benchmark, [Known(model.name, model.kind, model)], asked[benchmark.family])
        except Exception as error:  # not every model can be asked everything
            seconds[benchmark.name] = f"refused: {str(error)[:60]}"
            continue
        data[benchmark.name] = [load_asked(whole, replace(ask, domains=(), per_group=None, limit=None)).data_hash]
        how = How(cache=False, kinds=frozenset({model.kind}))
        cells.append(obtain(model, benchmark, asked[benchmark.family], how))
        seconds[benchmark.name] = f"{time.time() - since:.1f}"
    answers, asked_at = by_family(cells), time.time()
    table = estimate_all(answers, None, [*study.by, *by], Settings(RESAMPLES))
    table = table[[domain_of(*row) != "" for row in table[["scorer", "by", "group"]].itertuples(index=False)]]
    items = item_readings(answers)
    items = items[items["scorer"].isin(HEADLINE)].astype({"value": "float32"})
    done(work, name).parent.mkdir(parents=True, exist_ok=True)
    items.to_parquet(done(work, name).with_suffix(".items"), index=False)
    table.to_parquet(done(work, name).with_suffix(".part"), index=False)
    done(work, name).with_suffix(".data").write_text(json.dumps(data), "utf-8")
    done(work, name).with_suffix(".part").rename(done(work, name))
    return f"making {loaded - began:.1f}, asking {asked_at - loaded:.1f} {seconds}, estimating {time.time() - asked_at:.1f}"


def pack(files: list[Path], work: Path, out: Path, told: list[str]) -> None:
    """Everything that there is, small."""
    import pandas as pd

    from tiltmeter.plans import read_study
    from tiltmeter.storage.provenance import software

    studies = [read_study(file) for file in files]
    read = sorted((work / "read").glob("*.parquet"))
    if not read:
        return
    out.mkdir(parents=True, exist_ok=True)
    keep = [
        "model",
        "benchmark",
        "family",
        "scorer",
        "measure",
        "by",
        "group",
        "n",
        "n_missing",
        "value",
        "low",
        "high",
        "neutral",
    ]
    for name, ending in (("readings", ".parquet"), ("items", ".items")):
        whole = pd.concat([pd.read_parquet(path.with_suffix(ending)) for path in read], ignore_index=True)
        whole = whole[[column for column in keep if column in whole]] if name == "readings" else whole
        texts = [column for column in whole if not pd.api.types.is_numeric_dtype(whole[column])]
        whole = whole.astype(dict.fromkeys(texts, "category"))
        whole.to_parquet(out / f"{name}.parquet", index=False, compression="zstd")
    models = [model for study in studies for model in study.described()["models"]]
    manifest = {**software(), "status": "finished", "study": {"title": "calibration", "models": models}, "log": told}
    manifest["training"] = {path.parent.name: json.loads(path.read_text("utf-8")) for path in trained(studies)}
    told_data = [path.with_suffix(".data") for path in read]
    manifest["data"] = all_data(json.loads(path.read_text("utf-8")) for path in told_data if path.is_file())
    (out / "manifest.json").write_text(json.dumps(manifest, default=str), "utf-8")


def all_data(several: Iterable[Mapping[str, list[str]]]) -> dict[str, list[str]]:
    """The hashes of each benchmark's data, as a whole: one, unless it was changed between two readings."""
    found: dict[str, set[str]] = {}
    for told in several:
        for name, hashes in told.items():
            found.setdefault(name, set()).update(hashes)
    return {name: sorted(hashes) for name, hashes in found.items()}


def trained(studies: list[Any]) -> list[Path]:
    """How each training went."""
    return [path for study in studies for path in sorted((study.output / "models").glob("*/manifest.json"))]


def unpack(results: Sequence[Path], out: Path) -> None:
    """A run folder that studies read, from what came back, be it from several machines; of twins the first counts."""
    import pandas as pd

    from tiltmeter.stats.estimates import ESTIMATE_COLUMNS
    from tiltmeter.storage.spreadsheet import csv_text

    out.mkdir(parents=True, exist_ok=True)
    table = joined(results, "readings.parquet", ["model", "benchmark", "scorer", "measure", "by", "group"])
    blank = {"n_ties": 0, "p": float("nan"), "p_holm": float("nan"), "missing": "", "note": ""}
    (out / "estimates.csv").write_text(csv_text(table.assign(**blank)[list(ESTIMATE_COLUMNS)]), "utf-8")
    items = joined(results, "items.parquet", ["model", "benchmark", "scorer", "item"])
    texts = [column for column in items if not pd.api.types.is_numeric_dtype(items[column])]
    items.astype(dict.fromkeys(texts, "category")).to_parquet(out / "item_readings.parquet", index=False)
    told = [json.loads((folder / "manifest.json").read_text("utf-8")) for folder in results]
    models = {model["name"]: model for one in reversed(told) for model in one["study"]["models"]}
    manifest = told[0] | {"study": told[0]["study"] | {"models": list(models.values())}}
    if all("data" in one for one in told):  # what is not known of some of them is not known
        manifest["data"] = all_data(one["data"] for one in told)
    else:
        manifest.pop("data", None)
    (out / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def joined(results: Sequence[Path], name: str, key: list[str]) -> Any:
    """One table of all results."""
    import pandas as pd

    parts = [pd.read_parquet(folder / name) for folder in results]
    parts = [part.astype(dict.fromkeys(part.select_dtypes("category"), object)) for part in parts]
    return pd.concat(parts, ignore_index=True).drop_duplicates(key, ignore_index=True)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--unpack", type=Path, nargs="*", help="what came back; --out is the run folder")
    parser.add_argument("--work", type=Path, default=Path("build/calibration"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--doses", type=float, nargs="*", default=[-1, -0.5, 0, 0.5, 1])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--domains", nargs="*", default=["gender", "race", "religion"])
    parser.add_argument("--names", nargs="*", default=[], help="domains with a names-only arm, for masked models")
    parser.add_argument("--treatments", type=Path, help="methods of debiasing, for masked models")
    parser.add_argument("--known", type=Path, help="results of another machine: what they have is not asked again")
    parser.add_argument("--by", nargs="*", default=[], help="more columns to group by")
    parser.add_argument("--mps", action="store_true", help="processes share the GPU at the same time (NVIDIA MPS)")
    parser.add_argument("--benchmark", nargs="*", default=["plumb-pairs", "plumb-slots", "starter-pairs", "seat", "ilps"])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rows", type=int, help="sentences in a step")
    parser.add_argument("--rate", type=float, help="the highest learning rate")
    parser.add_argument("--pilot", type=int, nargs="*", default=[], help="numbers of steps to choose from")
    parser.add_argument("--limit", type=int, help="items of each benchmark, for a quick look")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--minutes", type=float, default=8.5)
    options = parser.parse_args()
    if options.unpack:
        unpack(options.unpack, options.out)
        return
    from gpu_sharing import shared_gpu

    began = time.time()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    context = mp.get_context("spawn")
    options.work.mkdir(parents=True, exist_ok=True)
    pilot(options, context)
    files = build(options)
    known = known_from(options.known)
    todo = jobs(files, options.work, options.seeds[0], known)
    print(f"{len(todo)} models to make and read, {options.at_once} at once", flush=True)
    waiting, told = context.Queue(), context.Queue()
    for job in todo:
        waiting.put(job)
    end = began + 60 * options.minutes
    arguments = (waiting, told, options.work, end - LAST_BEGIN, options.by, options.limit)
    with shared_gpu() if options.mps else nullcontext():
        workers = [context.Process(target=worker, args=arguments, daemon=True) for _ in todo[: options.at_once]]
        for process in workers:
            process.start()
        log = follow(workers, told, end - LAST_END, lambda lines: pack(files, options.work, options.out, lines))
    pack(files, options.work, options.out, log)
    left = len(jobs(files, options.work, options.seeds[0], known))
    told_left = f"{left} models are left; {time.time() - began:.0f} s. The same command goes on."
    print(told_left if left else "All models are read.")
    waiting.cancel_join_thread()


def follow(workers: list[Any], told: Any, end: float, save: Any) -> list[str]:
    """Prints what is told until all have ended or the time is over, and writes results now and then."""
    log: list[str] = []
    saved = time.time()
    while any(process.is_alive() for process in workers) and time.time() < end:
        try:
            log.append(told.get(timeout=1))
            print(log[-1], flush=True)
        except queue.Empty:
            pass
        if time.time() - saved > 120:
            save(log)
            saved = time.time()
    for process in workers:
        if process.is_alive():
            process.terminate()
    while not told.empty():
        log.append(told.get())
        print(log[-1], flush=True)
    return log


if __name__ == "__main__":
    main()

"""`run`: models × benchmarks × scorers to a run folder with items, observations, scores, estimates and a manifest."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tiltmeter import __version__, catalog
from tiltmeter.associating import check_asking, check_models
from tiltmeter.benchmarks import AssociationBenchmark, Benchmark, load_benchmark, takes_terms
from tiltmeter.errors import TiltmeterError
from tiltmeter.evaluating import Options, Watch, associate_all, evaluate, unwatched
from tiltmeter.paired import check_columns, columns_for
from tiltmeter.probes.batching import check_batch_tokens
from tiltmeter.run_folders import keep_observations, opening, output_folder, write_associations, write_estimates
from tiltmeter.runs import Run, estimate_all, of_associations, together
from tiltmeter.scoring import check_alignment
from tiltmeter.slot_estimating import READS
from tiltmeter.slot_filling import check_top_k
from tiltmeter.store import write_json
from tiltmeter.tables import items_table

DEFAULT_MODELS = ("plumb-mlm", "plumb-clm")
DEFAULT_BENCHMARKS = ("plumb-pairs", "plumb-slots")
"""The second is by default for masked models alone: a causal one has to write every term into every sentence."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow", "scipy")


def run(
    models: str | Path | Sequence[str | Path] = DEFAULT_MODELS,
    benchmarks: str | Path | Sequence[str | Path] | None = None,
    scorers: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    output: str | Path | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Run:
    """Scores every model on every benchmark and writes the run folder (`runs/…` unless `output` is given).

    Without benchmarks these are the embedded ones, as far as the scorers and measures asked for concern them.
    Interrupted or killed, the same call goes on where it stopped: finished batches are in the cache.
    """
    models, benchmarks, scorers, measures = _listed(models), _listed(benchmarks), _listed(scorers), _listed(measures)
    options = options or Options()
    options.settings.check()
    folder = output_folder(output)
    started = time.time()
    slots_of_all = bool(benchmarks or measures or options.terms)
    benchmarks = benchmarks or _default_benchmarks(scorers, measures, options)
    everything = _load_benchmarks(benchmarks, options)
    tests = [one for one in everything if isinstance(one, AssociationBenchmark)]
    check_asking(tests, options.asking)
    check_models(models, everything)
    loaded = [one for one in everything if one not in tests]
    _check_names(loaded, scorers, measures, options, associations=bool(tests))
    manifest = _manifest(models, benchmarks, scorers, measures, options)

    with opening(folder, manifest) as begin:
        asked = evaluate(models, loaded, scorers, options, watch or unwatched, begin, slots_of_all) if loaded else ()
        scores, slots = together(list(asked))
        associated = list(associate_all(models, tests, options, watch, begin))
    scores.write_tables(folder)
    if slots is not None:
        slots.write_table(folder)
    write_associations(folder, associated)
    keep_observations(folder, scores.manifests)
    table = estimate_all(scores, slots, measures or None, options.by, options.settings, associated)
    write_estimates(folder, table)
    evaluations = [*scores.manifests, *(slots.manifests if slots else ()), *(one.manifest for one in associated)]
    manifest |= {
        "status": "finished",
        "seconds": round(time.time() - started, 3),
        "batches_computed": sum(one.get("batches_computed", 0) for one in evaluations),
        "batches_reused": sum(one.get("batches_reused", 0) for one in evaluations),
        "evaluations": evaluations,
    }
    if not slots_of_all:  # then not all models were asked everything
        done = {one["benchmark"]["name"] for one in evaluations}
        manifest["asked"]["benchmarks"] = [name for name in benchmarks if name in done]
    write_json(folder / "manifest.json", manifest)
    return Run(folder, scores, table, manifest, slots)


def _listed(given: Any) -> list[str]:
    """One name, several, or none, as a list without repeats."""
    if given is None:
        return []
    return list(dict.fromkeys(map(str, [given] if isinstance(given, str | Path) else given)))


def _default_benchmarks(scorers: Sequence[str], measures: Sequence[str], options: Options) -> list[str]:
    """The embedded benchmarks, less what nothing would be read from."""
    reads = [set(catalog.find("measures", name).parameters) for name in measures]
    pairs = not measures or any(not one & READS for one in reads)
    if measures:
        slots = any(one & READS for one in reads)
    else:
        items = items_table(load_benchmark("plumb-slots"))
        slots = not scorers and columns_for(items, ["plumb-slots"], options.by) == list(options.by)
    wanted = {"plumb-pairs": pairs, "plumb-slots": slots or bool(options.terms)}
    return [name for name in DEFAULT_BENCHMARKS if wanted[name]]


def _load_benchmarks(names: Sequence[str | Path], options: Options) -> list[Benchmark]:
    """The benchmarks, each under a name of its own: two files may be called the same."""
    loaded: list[Benchmark] = []
    for name in dict.fromkeys(map(str, names)):
        built_in = name.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
        one = load_benchmark(
            name,
            path=options.asking.words if name in ("ilps", "ceat") else None,
            data_dir=options.data_dir,
            columns=None if built_in else options.columns,
            encoding=None if built_in else options.encoding,
            limit=options.limit,
            terms=options.terms if takes_terms(name) else None,
        )
        if any(one.name == other.name for other in loaded):
            one = replace(one, name=f"{one.name}-{one.data_hash[:8]}")
        loaded.append(one)
    if options.terms and not any(one.slot_items for one in loaded):
        raise TiltmeterError(
            "--terms are words that fill slots, and no benchmark here has slots (plumb-slots, sexism, yours)."
        )
    return loaded


def _check_names(
    loaded: Sequence[Benchmark],
    scorers: Sequence[str] | None,
    measures: Sequence[str] | None,
    options: Options,
    associations: bool,
) -> None:
    """What can be known to be wrong before a model is asked."""
    for kind, names in (("scorers", scorers), ("measures", measures)):
        for name in names or ():
            catalog.find(kind, name)
    check_alignment(options.alignment)
    check_batch_tokens(options.batch_tokens)
    check_top_k(options.top_k)
    items = [item for benchmark in loaded for item in benchmark.scored_items]
    there = {role for item in items for role in item.texts} | ({"target"} if any(item.target for item in items) else set())
    there |= READS if any(benchmark.slot_items for benchmark in loaded) else set()
    for name in measures or ():
        entry = catalog.find("measures", name)
        missing = set() if associations and of_associations(entry) else set(entry.parameters) - there
        if missing:
            raise TiltmeterError(f"{name} reads {', '.join(sorted(missing))}, and no benchmark here has that.")
    for benchmark in loaded:
        check_columns(items_table(benchmark), benchmark.name, options.by)


def _manifest(
    models: Sequence[str | Path],
    benchmarks: Sequence[str | Path],
    scorers: Sequence[str] | None,
    measures: Sequence[str] | None,
    options: Options,
) -> dict[str, Any]:
    return {
        "status": "unfinished",
        "tiltmeter": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "asked": {
            "models": [str(model) for model in models],
            "benchmarks": [str(benchmark) for benchmark in benchmarks],
            "scorers": list(scorers) if scorers else "all applicable",
            "measures": list(measures) if measures else "all applicable",
            "limit": options.limit,
            "by": list(options.by),
            "device": options.device,
            "precision": options.precision,
            "batch_tokens": options.batch_tokens,
            "alignment": options.alignment,
            "terms": str(options.terms) if options.terms else None,
            "top_k": options.top_k,
            **vars(options.settings),
            "associations": vars(options.asking),
        },
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "command": sys.argv,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

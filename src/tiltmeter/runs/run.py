"""`run`: models × benchmarks to a run folder with items, answers, estimates and a manifest."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.benchmarks import GROUP_COLUMNS, Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.items import group_column, has_column, items_table
from tiltmeter.errors import TiltmeterError
from tiltmeter.families import Answers, family_of
from tiltmeter.families.kit.options import changed, flag_of
from tiltmeter.families.kit.seam import Watch
from tiltmeter.probes.batching import check_batch_tokens
from tiltmeter.runs.estimate import by_family, estimate_all
from tiltmeter.runs.folder import output_folder, reserved, write_run
from tiltmeter.runs.known_models import begin_to_load
from tiltmeter.runs.loop import ask_all, check_all
from tiltmeter.runs.options import FamilyOptions, Options
from tiltmeter.runs.reading import Run
from tiltmeter.storage.progress import showing
from tiltmeter.storage.provenance import software
from tiltmeter.storage.timings import recording, since_import, timed, timings_so_far

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MODELS = ("plumb-mlm", "plumb-clm")
DEFAULT_BENCHMARKS = ("plumb-pairs", "plumb-slots")


@catalog.without_failing
def run(
    models: str | Path | Sequence[str | Path] = DEFAULT_MODELS,
    benchmarks: str | Path | Sequence[str | Path] | None = None,
    scorers: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    output: str | Path | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
    **asked: Any,
) -> Run:
    """Asks every model about every benchmark and writes the run folder (`runs/…` unless `output` is given).

    Without benchmarks these are the embedded ones, as far as the scorers and measures asked for concern them. `asked` are
    the options of families, such as `top_k` or `corpus` (`tiltmeter run --help` lists them). Interrupted or killed, the
    same call goes on where it stopped: finished cells and batches are in the cache.
    """
    _refuse_objects(models)
    with recording() as timings:
        if not timings.seconds:
            timings.add("import", since_import() if options and options.command else 0.0)
        return _run(_listed(models), _listed(benchmarks), _listed(scorers), _listed(measures), output, options, watch, asked)


def _run(
    names: list[str],
    benchmarks: list[str],
    scorers: list[str],
    measures: list[str],
    output: str | Path | None,
    options: Options | None,
    watch: Watch | None,
    asked: dict[str, Any],
) -> Run:
    options = options or Options()
    told = FamilyOptions.read(asked | {"scorers": tuple(scorers) or None})
    options.settings.check()
    check_batch_tokens(options.batch_tokens)
    folder, started = output_folder(output), time.time()
    by_default = not benchmarks
    meant_only = by_default and not measures and not any(_files(told, name) for name in told.of)
    with timed("benchmarks"):
        if options.command:  # a program may be about to do something else with its GPU
            begin_to_load(names, options.loading, options.cache)
        loaded = _load_benchmarks(benchmarks or _defaults(measures, options, told), options, told)
        _check(loaded, measures, options, told)
    check_all(names, loaded, options, told)
    manifest = _manifest(names, loaded, measures, options, told)

    with reserved(folder, manifest) as making:
        cells = list(ask_all(names, loaded, options, told, watch, meant_only))
        answers = by_family(cells)
        with timed("estimate"), showing(watch):
            table = estimate_all(answers, measures or None, options.by, options.settings)
        with timed("write"):
            manifest = write_run(making, answers, table, _finished(manifest, cells, answers, started))
    return Run(folder, _in_place(answers, folder), table, manifest)


def _finished(
    manifest: dict[str, Any], cells: Sequence[Answers], answers: Mapping[str, Answers], started: float
) -> dict[str, Any]:
    """The manifest of a finished run."""
    evaluations = [
        cell_manifest | {"attachments": list(cell.attachments)} for cell in cells for cell_manifest in cell.manifests
    ]
    done = {evaluation["benchmark"]["name"] for evaluation in evaluations}
    asked = manifest["asked"]
    asked = asked | {"benchmarks": [name for name in asked["benchmarks"] if name in done]}
    return manifest | {
        "asked": asked,
        "status": "finished",
        "seconds": round(time.time() - started, 3),
        "timings": timings_so_far(),
        "batches_computed": sum(evaluation.get("batches_computed", 0) for evaluation in evaluations),
        "batches_reused": sum(evaluation.get("batches_reused", 0) for evaluation in evaluations),
        "families": {name: list(part.tables) for name, part in answers.items()},
        "evaluations": evaluations,
    }


def _in_place(answers: Mapping[str, Answers], folder: Path) -> dict[str, Answers]:
    """The answers with their attached files where the run has them, which the cache need not keep."""
    return {
        name: replace(part, attachments={path: folder / path for path in part.attachments}) for name, part in answers.items()
    }


def _listed(given: Any) -> list[str]:
    """One name, several, or none, as a list without repeats."""
    if given is None:
        return []
    return list(dict.fromkeys(map(str, [given] if isinstance(given, str | Path) else given)))


def _refuse_objects(models: Any) -> None:
    """Says what to do with a model that is in memory already."""
    for model in models if isinstance(models, list | tuple) else [models]:
        if not isinstance(model, str | Path):
            raise TiltmeterError(
                f"run loads models by name or folder, and this {type(model).__name__} is in memory already. Ask it with "
                'tiltmeter.score or tiltmeter.ask; first tiltmeter.wrap_model(model, tokenizer, name="my-model").'
            )


def _defaults(measures: Sequence[str], options: Options, told: FamilyOptions) -> list[str]:
    """The embedded benchmarks, less those that nothing would be read from."""
    loaded = {name: load_benchmark(name) for name in DEFAULT_BENCHMARKS}
    kept = [name for name, benchmark in loaded.items() if any(_reads(benchmark, measure) for measure in measures)]
    if not measures:
        families = told.choosing()
        kept = [name for name, benchmark in loaded.items() if not families or benchmark.family in families]
        grouped = [name for name in kept if all(has_column(items_table(loaded[name]), column) for column in options.by)]
        kept = grouped or kept[:1]
    given = [name for name, benchmark in loaded.items() if _files(told, benchmark.family)]
    return [name for name in DEFAULT_BENCHMARKS if name in kept or name in given] or list(DEFAULT_BENCHMARKS[:1])


def _reads(benchmark: Benchmark, measure: str) -> bool:
    return set(catalog.find("measures", measure).parameters) <= family_of(benchmark).READS


def _files(told: FamilyOptions, family: str) -> bool:
    """Whether a file was given that is for this family alone."""
    return any(isinstance(getattr(told[family], name), Path) for name in changed(told[family]))


def _load_benchmarks(names: Sequence[str], options: Options, told: FamilyOptions) -> list[Benchmark]:
    """The benchmarks, each under a name of its own: two files may be called the same."""
    loaded: list[Benchmark] = []
    for name in names:
        built_in = name.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
        benchmark = load_benchmark(
            name,
            data_dir=options.data_dir,
            columns=None if built_in else options.columns,
            encoding=None if built_in else options.encoding,
            limit=options.limit,
            groups=options.groups,
            offered={**told.given, "encoding": options.encoding},
        )
        if any(benchmark.name == other.name for other in loaded):
            benchmark = replace(benchmark, name=f"{benchmark.name}-{benchmark.data_hash[:8]}")
        loaded.append(benchmark)
    return loaded


def _check(loaded: Sequence[Benchmark], measures: Sequence[str], options: Options, told: FamilyOptions) -> None:
    """Refuses names that are not there, options that nothing here takes, and columns that no item has."""
    for benchmark in loaded:
        family_of(benchmark)
    families = {benchmark.family for benchmark in loaded}
    for name, of_family in told.of.items():
        unused = [] if name in families else changed(of_family)
        if unused:
            raise TiltmeterError(
                f"{flag_of(type(of_family), unused[0])} is an option of {name}, and no benchmark here is one of {name}."
            )
    for measure in (catalog.find("measures", name) for name in measures):
        given = [_given(benchmark) for benchmark in loaded if _reads(benchmark, measure.name)]
        if not any(set(measure.parameters) <= there for there in given):
            missing = sorted(set(measure.parameters) - set().union(*given))
            raise TiltmeterError(f"{measure.name} reads {', '.join(missing)}, and no benchmark here has that.")
    tables: dict[str, list[pd.DataFrame]] = {}
    for benchmark in (benchmark for benchmark in loaded if benchmark.items):
        tables.setdefault(benchmark.family, []).append(items_table(benchmark))
    for column in options.by:
        if not tables and column not in (*GROUP_COLUMNS, "all"):
            raise TiltmeterError(f"These benchmarks have no items with a column '{column}' to group by.")
        if tables and not any(all(has_column(items, column) for items in of_family) for of_family in tables.values()):
            lacking = next(items for some in tables.values() for items in some if not has_column(items, column))
            group_column(lacking, lacking["item"], column)  # says which columns there are


def _given(benchmark: Benchmark) -> frozenset[str]:
    """What of all that its family's measures read a benchmark has."""
    family: Any = family_of(benchmark)
    there: frozenset[str] = family.has(benchmark) if hasattr(family, "has") else family.READS
    return there


def _manifest(
    models: Sequence[str],
    loaded: Sequence[Benchmark],
    measures: Sequence[str],
    options: Options,
    told: FamilyOptions,
) -> dict[str, Any]:
    asked: Mapping[str, Any] = {
        "models": list(models),
        "benchmarks": [benchmark.name for benchmark in loaded],
        "measures": list(measures) if measures else "all applicable",
        "limit": options.limit,
        "groups": list(options.groups),
        "by": list(options.by),
        "device": options.device,
        "precision": options.precision,
        "batch_tokens": options.batch_tokens,
        **vars(options.settings),
        "options": {name: asdict(told[name]) for name in dict.fromkeys(benchmark.family for benchmark in loaded)},
    }
    command = {"command": list(options.command)} if options.command else {}
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return {"status": "unfinished", **software(), "started": started, "asked": dict(asked), **command}

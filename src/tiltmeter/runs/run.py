"""`run`: models × benchmarks to a run folder with items, answers, estimates and a manifest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.items import has_column, items_table, require_column
from tiltmeter.errors import UsageError
from tiltmeter.execution.cells import open_store
from tiltmeter.execution.engine import INLINE, Engine
from tiltmeter.execution.executor import Executor
from tiltmeter.execution.ledger import Ledger
from tiltmeter.execution.options import DEFAULT_BY, FamilyOptions, Options
from tiltmeter.execution.run_plan import plan_run
from tiltmeter.families import family_of
from tiltmeter.families.kit.options import changed, flag_of
from tiltmeter.families.kit.protocol import Watch, spread_bases
from tiltmeter.models import AnyModel, usable
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.probes.batching import check_batch_tokens
from tiltmeter.runs.folder import IN_MEMORY, output_folder, read_estimates, refuse_other_run, reserved
from tiltmeter.runs.keywords import translate_run
from tiltmeter.runs.merge import finished_manifest, write_run
from tiltmeter.runs.reading import Run, RunOnDisk
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.keywords import accept_old_keywords
from tiltmeter.storage.progress import showing, watch_of
from tiltmeter.storage.provenance import software
from tiltmeter.storage.temporary import temporary_beside
from tiltmeter.storage.timings import recording, since_import, timed
from tiltmeter.storage.typed_values import OptionsObject

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MODELS = ("plumb-mlm", "plumb-clm")
MATERIAL_OPTIONS = ("language", "template")
"""Options that choose what a benchmark loads."""
DEFAULT_BENCHMARKS = ("plumb-pairs", "plumb-slots")


@accept_old_keywords(translate_run)
def run(  # noqa: PLR0913 (what all families share, by name)
    models: str | Path | AnyModel | Sequence[str | Path | AnyModel] = DEFAULT_MODELS,
    benchmarks: str | Path | Sequence[str | Path] | None = None,
    scorers: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    output: str | Path | None = None,
    *,
    options: OptionsObject | Sequence[OptionsObject] = (),
    by: str | Sequence[str] = DEFAULT_BY,
    limit: int | None = None,
    groups: str | Sequence[str] = (),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    clusters: bool = True,
    kind: str | None = None,
    device: str = "auto",
    precision: str = "auto",
    device_map: str | None = None,
    quantize: str | None = None,
    batch_tokens: int | str = "auto",
    cache: bool | str | Path = True,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    trust_remote_code: bool = False,
    server: ServerOptions | None = None,
    overwrite: bool = False,
    progress: bool = False,
    watch: Watch | None = None,
) -> Run:
    """Run every model on every benchmark, and write a run folder.

    After an interruption the same call continues: finished cells and batches are in the cache.

    Args:
        models: Hub ids, folders, embedded names, addresses of served models such as `http://host:8000/v1#name`, or models
            in memory, of `load_model` and `wrap_model`, which are queried as they are: `kind`, `device` and `precision` are
            about models that are loaded.
        benchmarks: Names, or your own files. Default: the embedded ones, as far as the scorers and measures that are
            named concern them.
        scorers: Scorers of pairs; `all` is every one that applies. Default: those that detected a planted bias in
            calibration, and those of the benchmark's own paper.
        measures: Default: all that apply.
        output: The run folder. Default: `runs/…`.
        options: Options of families, one object each: `PairsOptions`, `SlotsOptions`, `AssociationsOptions`,
            `LabelsOptions`, `GenerationsOptions`, `ChoicesOptions`.
        by: Columns of items that estimates are grouped by.
        limit: Only so many items of each benchmark.
        groups: Only items about these groups.
        resamples: Bootstrap resamples.
        confidence: Level of the intervals.
        seed: For everything that is drawn at random.
        clusters: Resample items of one cluster together.
        kind: masked or causal, where a model's configuration does not say.
        device: auto, cpu, cuda, cuda:1, mps, …
        precision: auto, saved, fp32, tf32, bf16 or fp16; auto is fp32 on a CPU, saved is the checkpoint's.
        device_map: Spread a model over devices by accelerate: auto, balanced, sequential, or a JSON file.
        quantize: 8bit or 4bit, by bitsandbytes while loading. A quantised model is another model.
        batch_tokens: Tokens in a batch, or auto.
        cache: False, or a folder instead of the user's cache.
        data_dir: The folder with the datasets.
        columns: Your column names for ours, in files of yours.
        encoding: Encoding of your files.
        trust_remote_code: Run model code that is not part of transformers.
        server: Settings for models behind a server: budget, time-out, retries, headers.
        overwrite: Replace a finished run with other settings in `output`. A run with the same settings is always repeated.
        progress: Show a bar with the time left, or a line every half minute where there is no terminal.
        watch: Another display of progress: a function of a title and a total that gives a context manager.

    Returns:
        The finished run: its folder, answers, estimates and manifest.

    Raises:
        UsageError: A name is unknown, a value is out of range, or an option does not apply.
        InputError: A file of yours cannot be read.
        ModelError: A model cannot be loaded.
        RunError: `output` has a finished run with other settings.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> with TemporaryDirectory() as folder:
        ...     run = tiltmeter.run("plumb-mlm", "plumb-pairs", "sss", "bias_score", folder, limit=8, cache=False)
        >>> run.estimates[["measure", "by", "n"]].values.tolist()[0]
        ['bias_score', 'all', 8]
    """
    shared = Options(
        by=[by] if isinstance(by, str) else by,
        limit=limit,
        groups=[groups] if isinstance(groups, str) else groups,
        settings=Settings(resamples, confidence, seed, clusters),
        kind=kind,
        device=device,
        precision=precision,
        device_map=device_map,
        quantize=quantize,
        batch_tokens=batch_tokens,
        cache=cache,
        data_dir=data_dir,
        columns=columns,
        encoding=encoding,
        trust_remote_code=trust_remote_code,
        server=server or ServerOptions(),
        overwrite=overwrite,
    )
    family_options = FamilyOptions.of_objects(options, _listed(scorers))
    return run_with(models, benchmarks, measures, output, shared, family_options, watch_of(watch, progress))


@catalog.without_failing
def run_with(
    models: str | Path | AnyModel | Sequence[str | Path | AnyModel],
    benchmarks: str | Path | Sequence[str | Path] | None,
    measures: str | Sequence[str] | None,
    output: str | Path | None,
    options: Options,
    family_options: FamilyOptions,
    watch: Watch | None = None,
) -> Run:
    """`run` with its options in objects, as the command line has them."""
    chosen = _models(models)
    with recording() as timings:
        if not timings.seconds:
            timings.add("import", since_import() if options.command else 0.0)
        return _run(chosen, _listed(benchmarks), _listed(measures), output, options, family_options, watch)


def _run(
    models: list[str | AnyModel],
    benchmarks: list[str],
    measures: list[str],
    output: str | Path | None,
    options: Options,
    family_options: FamilyOptions,
    watch: Watch | None,
) -> Run:
    started = time.time()
    options.settings.check()
    options.server.check()
    check_batch_tokens(options.batch_tokens)
    folder = output_folder(output)
    by_default = not benchmarks
    is_default = by_default and not measures and not any(_files(family_options, name) for name in family_options.of)
    with timed("benchmarks"):
        loaded = _load_benchmarks(benchmarks or _defaults(measures, options, family_options), options, family_options)
        _check(loaded, measures, options, family_options)
    manifest = _manifest(models, loaded, measures, options, family_options)
    if not options.overwrite:
        refuse_other_run(folder, manifest)
    planned = plan_run(models, loaded, options, family_options, is_default=is_default)
    with reserved(folder, manifest) as making, _store(options.cache, folder) as store, showing(watch):
        cells = Executor(planned, Ledger(None), store, Engine(INLINE), watch).execute()
        manifest = finished_manifest(manifest, cells, started)
        manifest = write_run(making, cells, manifest, measures or None, options.by, options.settings)
    return RunOnDisk(folder, manifest, estimates=read_estimates(folder / "estimates.csv"))


@contextmanager
def _store(cache: bool | str | Path, folder: Path) -> Iterator[CellStore]:
    """The cells of the cache; without a cache, cells beside the run that go with it."""
    store = open_store(cache)
    if store.root is not None:
        yield store
        return
    place = temporary_beside(folder.absolute())
    try:
        yield CellStore(place / "cells")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _listed(value: Any) -> list[str]:
    """One name, several, or none, as a list without repeats."""
    if value is None:
        return []
    return list(
        dict.fromkeys(map(str, [value] if isinstance(value, str | Path) or not isinstance(value, Iterable) else value))
    )


def _models(models: Any) -> list[str | AnyModel]:
    """Names, and models in memory, each once."""
    listed = list(models) if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    unique: dict[Any, str | AnyModel] = {}
    for model in listed:
        is_name = isinstance(model, str | Path)
        unique.setdefault(str(model) if is_name else id(model), str(model) if is_name else usable(model))
    return list(unique.values())


def _defaults(measures: Sequence[str], options: Options, family_options: FamilyOptions) -> list[str]:
    """The embedded benchmarks, less those that nothing would be read from."""
    loaded = {name: load_benchmark(name) for name in DEFAULT_BENCHMARKS}
    kept = [name for name, benchmark in loaded.items() if any(_reads(benchmark, measure) for measure in measures)]
    if not measures:
        families = family_options.choosing()
        kept = [name for name, benchmark in loaded.items() if not families or benchmark.family in families]
        grouped = [name for name in kept if all(has_column(items_table(loaded[name]), column) for column in options.by)]
        kept = grouped or kept[:1]
    given = [name for name, benchmark in loaded.items() if _files(family_options, benchmark.family)]
    return [name for name in DEFAULT_BENCHMARKS if name in kept or name in given] or list(DEFAULT_BENCHMARKS[:1])


def _reads(benchmark: Benchmark, measure: str) -> bool:
    return set(catalog.find("measures", measure).parameters) <= family_of(benchmark).READS


def _files(family_options: FamilyOptions, family: str) -> bool:
    """Return True if a file of this family alone is among the options."""
    return any(isinstance(getattr(family_options[family], name), Path) for name in changed(family_options[family]))


def _load_benchmarks(names: Sequence[str], options: Options, family_options: FamilyOptions) -> list[Benchmark]:
    """The benchmarks, each under a name of its own: two files may be called the same."""
    loaded: list[Benchmark] = []
    for name in (catalog.name_of("benchmarks", named) for named in names):
        built_in = name.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
        benchmark = load_benchmark(
            name,
            data_dir=options.data_dir,
            columns=None if built_in else options.columns,
            encoding=None if built_in else options.encoding,
            limit=options.limit,
            groups=options.groups,
            offered={**family_options.values, "encoding": options.encoding},
        )
        if any(benchmark.name == other.name for other in loaded):
            benchmark = replace(benchmark, name=f"{benchmark.name}-{benchmark.data_hash[:8]}")
        loaded.append(benchmark)
    _refuse_unread(names, family_options)
    return loaded


def _refuse_unread(names: Sequence[str], family_options: FamilyOptions) -> None:
    """Raises an error for an option about material that no benchmark of the run reads."""
    built_in = [name for name in names if name.replace("-", "_") in catalog.names("benchmarks")]
    read = {parameter for name in built_in for parameter in signature(catalog.find("benchmarks", name).function).parameters}
    for option in MATERIAL_OPTIONS:
        if family_options.values.get(option) and option not in read:
            message = f"--{option} is read by none of {', '.join(names)}."
            raise UsageError(message, code="inapplicable-option", option=option, benchmarks=list(names))


def _check(loaded: Sequence[Benchmark], measures: Sequence[str], options: Options, family_options: FamilyOptions) -> None:
    """Refuses names that are not there, options that nothing here takes, and columns that no item has."""
    for benchmark in loaded:
        family_of(benchmark)
    families = {benchmark.family for benchmark in loaded}
    used = {entry.name for name in families for entry in fields(family_options.of[name])}
    for name, of_family in family_options.of.items():
        unused = [] if name in families else [option for option in changed(of_family) if option not in used]
        if unused:
            raise UsageError(
                f"{flag_of(type(of_family), unused[0])} applies only to benchmarks of {name}; none was requested.",
                code="inapplicable-option",
                option=flag_of(type(of_family), unused[0]),
                family=name,
            )
    for measure in (catalog.find("measures", name) for name in measures):
        if any(spread_bases(family_of(benchmark), [measure.name]) for benchmark in loaded):
            continue
        given = [_inputs(benchmark) for benchmark in loaded if _reads(benchmark, measure.name)]
        if not any(set(measure.parameters) <= there for there in given):
            missing = sorted(set(measure.parameters) - set().union(*given))
            raise UsageError(
                f"{measure.name} needs {', '.join(missing)}, which no requested benchmark has.",
                code="inapplicable-option",
                measure=measure.name,
                needs=list(missing),
            )
    tables: dict[str, list[pd.DataFrame]] = {}
    for benchmark in loaded:
        tables.setdefault(benchmark.family, []).append(items_table(benchmark))
    for column in options.by:
        require_column(tables.values(), column)


def _inputs(benchmark: Benchmark) -> frozenset[str]:
    """Return the inputs of its family's measures that a benchmark has."""
    return family_of(benchmark).provides(benchmark)


def _manifest(
    models: Sequence[str | AnyModel],
    loaded: Sequence[Benchmark],
    measures: Sequence[str],
    options: Options,
    family_options: FamilyOptions,
) -> dict[str, Any]:
    in_memory = [model for model in models if not isinstance(model, str)]
    request: Mapping[str, Any] = {
        "models": [model if isinstance(model, str) else model.name for model in models],
        **({IN_MEMORY: {model.name: model.identity.model for model in in_memory}} if in_memory else {}),
        "benchmarks": [benchmark.name for benchmark in loaded],
        "measures": list(measures) if measures else "all applicable",
        "limit": options.limit,
        "groups": list(options.groups),
        "by": list(options.by),
        "device": options.device,
        "precision": options.precision,
        **({"quantize": options.quantize} if options.quantize else {}),
        "batch_tokens": options.batch_tokens,
        **vars(options.settings),
        "options": {name: asdict(family_options[name]) for name in dict.fromkeys(benchmark.family for benchmark in loaded)},
    }
    command = {"command": list(options.command)} if options.command else {}
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return {"status": "unfinished", **software(), "started": started, "asked": dict(request), **command}

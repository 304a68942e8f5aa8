"""`run`: models × benchmarks × scorers to a run folder with items, observations, scores, estimates and a manifest."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tiltmeter import __version__, catalog
from tiltmeter.benchmarks import Benchmark, load_benchmark, takes_terms
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import DEFAULT_BY, Settings
from tiltmeter.models import check_model, load_model
from tiltmeter.paired import check_columns
from tiltmeter.probes import VIEWS
from tiltmeter.probes.batching import check_batch_tokens
from tiltmeter.probes.likelihood import Advance
from tiltmeter.runs import Run, clear, estimate_all, keep_observations, output_folder, together, write_estimates
from tiltmeter.scoring import check_alignment, choose_scorers, score
from tiltmeter.slot_estimating import READS
from tiltmeter.slot_filling import TOP_K, check_slots, check_top_k, fill_slots
from tiltmeter.slot_tables import Slots
from tiltmeter.store import write_json
from tiltmeter.tables import Scores, items_table

DEFAULT_MODELS = ("plumb-mlm", "plumb-clm")
DEFAULT_BENCHMARKS = ("plumb-pairs",)
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow", "scipy")
Watch = Callable[[str, int], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class Options:
    """Everything about a run that is not the models, the benchmarks or the scorers."""

    by: Sequence[str] = DEFAULT_BY
    limit: int | None = None
    settings: Settings = field(default_factory=Settings)
    kind: str | None = None
    device: str = "auto"
    precision: str = "auto"
    batch_tokens: int | str = "auto"
    alignment: str = "auto"
    cache: bool | str | Path = True
    data_dir: str | Path | None = None
    columns: dict[str, str] | None = None
    encoding: str | None = None
    trust_remote_code: bool = False
    terms: str | Path | None = None
    top_k: int = TOP_K


def run(
    models: str | Path | Sequence[str | Path] = DEFAULT_MODELS,
    benchmarks: str | Path | Sequence[str | Path] = DEFAULT_BENCHMARKS,
    scorers: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    output: str | Path | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Run:
    """Scores every model on every benchmark and writes the run folder (`runs/…` unless `output` is given).

    Interrupted or killed, the same call goes on where it stopped: finished batches are in the cache.
    """
    models, benchmarks, scorers, measures = _listed(models), _listed(benchmarks), _listed(scorers), _listed(measures)
    options = options or Options()
    options.settings.check()
    folder = output_folder(output)
    started = time.time()
    loaded = _load_benchmarks(benchmarks, options)
    _check_names(loaded, scorers, measures, options)
    manifest = _opening(models, benchmarks, scorers, measures, options)

    def begin() -> None:  # an earlier run is replaced only when the first model is loaded and can be asked
        clear(folder)
        write_json(folder / "manifest.json", manifest)

    scores, slots = together(list(_evaluate(models, loaded, scorers, options, watch or unwatched, begin)))
    scores.write_tables(folder)
    if slots is not None:
        slots.write_table(folder)
    keep_observations(folder, scores.manifests)
    table = estimate_all(scores, slots, measures or None, options.by, options.settings)
    write_estimates(folder, table)
    evaluations = [*scores.manifests, *(slots.manifests if slots is not None else ())]
    manifest |= {
        "status": "finished",
        "seconds": round(time.time() - started, 3),
        "batches_computed": sum(one["batches_computed"] for one in evaluations),
        "batches_reused": sum(one["batches_reused"] for one in evaluations),
        "evaluations": evaluations,
    }
    write_json(folder / "manifest.json", manifest)
    return Run(folder, scores, table, manifest, slots)


def _listed(given: Any) -> list[str]:
    """One name, several, or none, as a list without repeats."""
    if given is None:
        return []
    return list(dict.fromkeys(map(str, [given] if isinstance(given, str | Path) else given)))


def _evaluate(
    models: Sequence[str],
    benchmarks: Sequence[Benchmark],
    scorers: Sequence[str],
    options: Options,
    watch: Watch,
    begin: Callable[[], None],
) -> Iterator[Scores | Slots]:
    kinds = {name: options.kind or check_model(name) for name in models}  # of a hub model known only when it is loaded
    for name, kind in kinds.items():
        if kind:
            scorers_for(kind, scorers, name, set(kinds.values()))
    taken: set[str] = set()
    for name in models:
        model = load_model(
            name,
            kind=options.kind,
            precision=options.precision,
            device=options.device,
            trust_remote_code=options.trust_remote_code,
        )
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
        wanted = scorers_for(model.kind, scorers, name, set(kinds.values()) | {model.kind})
        for benchmark in benchmarks:
            if benchmark.slot_items:
                check_slots(model, benchmark, options.top_k)
            else:
                choose_scorers(model, benchmark, wanted)
        if not taken:
            begin()
        taken.add(model.name)
        for benchmark in benchmarks:
            with watch(f"{model.name} × {benchmark.name}", len(benchmark.scored_items or benchmark.slot_items)) as advance:
                how: dict[str, Any] = {
                    "cache": options.cache, "batch_tokens": options.batch_tokens, "advance": advance,
                }  # fmt: skip
                if benchmark.slot_items:
                    yield fill_slots(model, benchmark, top_k=options.top_k, **how)
                else:
                    yield score(model, benchmark, wanted, alignment=options.alignment, **how)


def scorers_for(kind: str, names: Sequence[str], model: str, kinds: set[str | None]) -> list[str]:
    """Of the scorers asked for, those for this kind of model; one that is for another model of the run is left to it."""
    views = {name: VIEWS[catalog.find("scorers", name).constant("VIEW")] for name in names}
    foreign = [name for name, view in views.items() if view.kind != kind and view.kind not in kinds]
    ours = [name for name, view in views.items() if view.kind == kind]
    if foreign or (names and not ours):
        name = (foreign or list(names))[0]
        raise TiltmeterError(
            f"{name} needs a {views[name].kind} language model, but {model} is {kind}. "
            f"`tiltmeter list scorers` shows which scorers go with which kind."
        )
    return ours


def _load_benchmarks(names: Sequence[str | Path], options: Options) -> list[Benchmark]:
    """The benchmarks, each under a name of its own: two files may be called the same."""
    loaded: list[Benchmark] = []
    for name in dict.fromkeys(map(str, names)):
        built_in = name.replace("-", "_") in catalog.names("benchmarks")  # a mapping is about files of the user's
        one = load_benchmark(
            name,
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
        if missing := set(catalog.find("measures", name).parameters) - there:
            raise TiltmeterError(f"{name} reads {', '.join(sorted(missing))}, and no benchmark here has that.")
    for benchmark in loaded:
        check_columns(items_table(benchmark), benchmark.name, options.by)


def _opening(
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


@contextmanager
def unwatched(_: str, __: int) -> Iterator[Advance]:
    """Nobody looks."""
    yield lambda _: None

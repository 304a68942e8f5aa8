"""Models × benchmarks: who is loaded, what each benchmark asks of it, and under which name its answers stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.associating import Asking, Associated, associate, load_asked
from tiltmeter.benchmarks import AssociationBenchmark, Benchmark
from tiltmeter.errors import TiltmeterError
from tiltmeter.estimating import DEFAULT_BY
from tiltmeter.group_estimating import Settings
from tiltmeter.models import check_model, load_model
from tiltmeter.probes import VIEWS
from tiltmeter.probes.likelihood import Advance
from tiltmeter.scoring import choose_scorers, score
from tiltmeter.slot_filling import TOP_K, check_slots, fill_slots
from tiltmeter.slot_tables import Slots
from tiltmeter.tables import Scores

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
    asking: Asking = field(default_factory=Asking)

    @property
    def loading(self) -> dict[str, Any]:
        """How models are loaded."""
        names = ("kind", "precision", "device", "trust_remote_code")
        return {name: getattr(self, name) for name in names}


def evaluate(
    models: Sequence[str],
    benchmarks: Sequence[Benchmark],
    scorers: Sequence[str],
    options: Options,
    watch: Watch,
    begin: Callable[[], None],
    slots_of_all: bool = True,
) -> Iterator[Scores | Slots]:
    """Every model on the pairs and the slots (unless of all, only masked models that can: slots nobody asked for).

    `begin` is called once a model is loaded and all can be asked.
    """
    kinds = {name: options.kind or check_model(name) for name in models}  # of a hub model known only when it is loaded
    for name, kind in kinds.items():
        if kind:
            scorers_for(kind, scorers, name, set(kinds.values()))
    taken: set[str] = set()
    for name in models:
        model = load_model(name, **options.loading)
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
        wanted = scorers_for(model.kind, scorers, name, set(kinds.values()) | {model.kind})
        fills = slots_of_all or (model.kind == "masked" and options.top_k <= model.vocabulary)
        its = [one for one in benchmarks if fills or not one.slot_items]
        for benchmark in its:
            if benchmark.slot_items:
                check_slots(model, benchmark, options.top_k)
            else:
                choose_scorers(model, benchmark, wanted)
        if not taken:
            begin()
        taken.add(model.name)
        for benchmark in its:
            with watch(f"{model.name} × {benchmark.name}", len(benchmark.scored_items or benchmark.slot_items)) as advance:
                how: dict[str, Any] = {
                    "cache": options.cache, "batch_tokens": options.batch_tokens, "advance": advance,
                }  # fmt: skip
                if benchmark.slot_items:
                    yield fill_slots(model, benchmark, top_k=options.top_k, **how)
                else:
                    yield score(model, benchmark, wanted, alignment=options.alignment, **how)


def associate_all(
    models: Sequence[str],
    benchmarks: Sequence[AssociationBenchmark],
    options: Options,
    watch: Watch | None,
    begin: Callable[[], None],
) -> Iterator[Associated]:
    """Every model on the association tests. Here a model may also be a file of static vectors."""
    taken: set[str] = set()
    for name in models if benchmarks else ():
        model = load_asked(name, **options.loading)
        if model.name in taken:  # two folders of the same name
            model.name = f"{model.name}-{model.weights_hash[:8]}"
        if not taken:
            begin()
        taken.add(model.name)
        for benchmark in benchmarks:
            yield associate(
                model,
                benchmark,
                options.asking,
                options.settings,
                cache=options.cache,
                batch_tokens=options.batch_tokens,
                watch=watch,
            )


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


@contextmanager
def unwatched(_: str, __: int) -> Iterator[Advance]:
    """For those who do not look."""
    yield lambda _: None

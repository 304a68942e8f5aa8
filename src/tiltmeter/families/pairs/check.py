"""What can be known to be wrong about scoring pairs before a model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.catalog import Entry
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.kit.refusals import refuse_vectors
from tiltmeter.families.kit.seam import Known
from tiltmeter.families.pairs.options import Options
from tiltmeter.models import LanguageModel, require
from tiltmeter.probes import ALIGNMENTS, VIEWS


def check(benchmark: Benchmark, models: Sequence[Known], options: Options) -> None:
    """Refuses scorers that no model here can have, an unknown alignment, and a benchmark without pairs."""
    check_alignment(options.alignment)
    if not benchmark.asked_items:
        raise TiltmeterError(f"{benchmark.name} has no items that can be scored.")
    refuse_vectors(models, benchmark)
    kinds = {known.kind for known in models}
    for known in models:
        if known.kind:
            wanted = scorers_for(known.kind, options.scorers, known.name, kinds)
            if isinstance(known.model, LanguageModel):
                choose_scorers(known.model, benchmark, wanted)


def has(benchmark: Benchmark) -> frozenset[str]:
    """What measures can read of a benchmark: the roles of its sentences, and whether they name targets."""
    roles = {role for item in benchmark.asked_items for role in item.texts}
    return frozenset(roles | ({"target"} if any(item.target for item in benchmark.asked_items) else set()))


def check_alignment(alignment: str) -> None:
    """Refuses an alignment that does not exist."""
    if alignment not in ALIGNMENTS:
        raise TiltmeterError(f"The alignment is {' or '.join(ALIGNMENTS)}, not '{alignment}'.")


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


def applicable_scorers(model: LanguageModel, benchmark: Benchmark) -> list[str]:
    """The scorers that this kind of model and this benchmark allow."""
    views = {entry.name: VIEWS[entry.constant("VIEW")] for entry in catalog.entries("scorers")}
    return [
        name for name, view in views.items() if view.kind == model.kind and (benchmark.has_context or not view.needs_context)
    ]


def choose_scorers(model: LanguageModel, benchmark: Benchmark, names: Sequence[str]) -> list[Entry]:
    """The scorers asked for, or all that apply; refuses those that do not."""
    chosen = [catalog.find("scorers", name) for name in dict.fromkeys(names or applicable_scorers(model, benchmark))]
    for entry in chosen:
        view = VIEWS[entry.constant("VIEW")]
        require(model, view.kind, entry.name)
        if view.needs_context and not benchmark.has_context:
            raise TiltmeterError(
                f"{entry.name} fills the BLANK of a context, and {benchmark.name} has none. Use it with stereoset, "
                "or give your pairs a context column."
            )
    return chosen

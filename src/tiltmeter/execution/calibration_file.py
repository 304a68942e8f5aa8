"""A calibration as an experiment file: texts of every dose, a model for each dose and seed, and the benchmarks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.builders.doses import ARMS, SENTENCES, check_dose
from tiltmeter.builders.lexicon import read_lexicon
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.execution.calibration_texts import DoseText, write_texts
from tiltmeter.execution.experiment_models import GIVEN, NEUTRAL, Training
from tiltmeter.finetune.continued_pretraining import KINDS
from tiltmeter.finetune.export import making
from tiltmeter.finetune.loading import check_trainable
from tiltmeter.models.dispatch import kind_of
from tiltmeter.models.places import EMBEDDED, display_name

FILE, OUTPUT = "calibration.toml", "study"
DOSES, SEEDS = (-1.0, -0.5, 0.0, 0.5, 1.0), (0, 1, 2)
BENCHMARKS = ("plumb-pairs", "plumb-slots")
BY, ABOUT = "bias_type", {"plumb-slots": "about"}
"""Readings are of a domain; of our slots, also of whom a sentence is about, since men and women would cancel out."""
RESAMPLES = 100
"""The experiment compares readings of many models; intervals within one model are hardly looked at."""


@dataclass(frozen=True)
class Calibration:
    """Doses to train a model with, and benchmarks to measure them. A text of dose 0 is always written for each seed.

    `names`: domains whose groups are also called by first names only, in texts of their own. `debias`: methods,
    with their options, that models are treated with afterwards: those with the largest doses of the first domain, and those
    without. `text`: a natural text whose sentences are resampled, instead of our frames.
    """

    model: str
    doses: Sequence[float] = DOSES
    seeds: Sequence[int] = SEEDS
    domains: Sequence[str] = ()
    names: Sequence[str] = ()
    benchmarks: Sequence[str] = BENCHMARKS
    words: str | Path | None = None
    sentences: int = SENTENCES
    debias: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    training: Mapping[str, Any] | None = None
    text: str | Path | None = None


def write_calibration(wanted: Calibration, output: str | Path) -> Path:
    """Write the texts and the experiment file into a new folder. Return the file."""
    lexicon = read_lexicon(wanted.words)
    domains = list(wanted.domains) or lexicon.domains
    lexicon.check_domains([*domains, *wanted.names])
    lexicon = lexicon.only([*domains, *wanted.names])
    _check(wanted)
    texts = list(_texts(wanted, domains))
    folder = Path(output).expanduser()
    with making(folder) as part:
        taught = write_texts(part, texts, lexicon, wanted.sentences, wanted.text)
        (part / FILE).write_text("\n".join(_study(wanted, texts, taught, lexicon.domains)) + "\n", "utf-8")
    return folder / FILE


def _check(wanted: Calibration) -> None:
    """Raise errors that would otherwise show only after hours of training."""
    doses = [check_dose(dose) for dose in wanted.doses]
    if not any(doses):
        raise UsageError(
            "Give at least one dose other than 0: without one there is no effect to detect.",
            code="missing-value",
            name="doses",
        )
    for name, some in (("doses", doses), ("seeds", wanted.seeds), ("domains", wanted.domains), ("names", wanted.names)):
        _refuse_twice(name, list(some))
    if not wanted.seeds or min(wanted.seeds) < 0:
        raise UsageError(
            "Seeds are whole numbers from 0 on; give at least one.",
            code="out-of-range",
            name="seeds",
            value=list(wanted.seeds),
            low=0,
        )
    if wanted.text is not None and wanted.names:
        raise UsageError(
            "A natural text has no arm with first names: leave out --names, or --text.",
            code="conflicting-options",
            option="--names",
            other="--text",
        )
    for method in wanted.debias:
        catalog.find("debias", method)
    check_trainable(wanted.model, GIVEN)
    kind = kind_of(wanted.model)
    if kind is not None and kind not in KINDS:
        raise ModelError(
            f"A calibration needs a masked or causal language model, and {wanted.model} is neither.",
            code="wrong-model-kind",
            model=wanted.model,
            kind=kind,
            kinds=sorted(KINDS),
        )


def _refuse_twice(name: str, some: Collection[Any]) -> None:
    if len(set(some)) < len(some):
        raise UsageError(
            f"The {name} contain duplicates: {', '.join(map(str, some))}.",
            code="duplicate-name",
            kind=name,
            names=list(some),
        )


def _texts(wanted: Calibration, domains: Sequence[str]) -> Iterator[DoseText]:
    """The neutral text of an arm serves all of its domains."""
    doses = sorted({float(dose) for dose in wanted.doses} - {0.0})
    for arm, of_arm in zip(ARMS, (domains, wanted.names), strict=True):
        for seed in wanted.seeds if of_arm else ():
            yield DoseText(NEUTRAL, 0.0, arm, seed)
            yield from (DoseText(domain, dose, arm, seed) for domain in of_arm for dose in doses)


def _study(wanted: Calibration, texts: Sequence[DoseText], taught: Sequence[str], domains: Sequence[str]) -> Iterator[str]:
    model = wanted.model if wanted.model in EMBEDDED else _place(wanted.model)
    yield f"title = {_toml(f'Calibration of {Path(model).name}')}"
    yield f"output = {_toml(OUTPUT)}"
    yield f"models = {_toml([model])}"
    asked = [(_file(name), _types(name, domains)) for name in wanted.benchmarks]
    yield f"benchmarks = {_toml([*(name for name, types in asked if not types), *taught])}"
    yield f"by = {_toml([BY, *(ABOUT[name] for name in wanted.benchmarks if name in ABOUT)])}"
    yield '\n[run]\nprecision = "fp32"'  # of the base model as of those that were trained
    yield f"\n[settings]\nresamples = {RESAMPLES}"
    for name, types in asked:
        if types:
            yield f"\n[[ask]]\nbenchmarks = {_toml([name])}\ndomains = {_toml(types)}"
    for one in texts:
        yield f"\n[[dose]]\ntext = {_toml(one.file)}\ndomain = {_toml(one.domain)}\ndose = {one.dose!r}"
        yield f"arm = {_toml(one.arm)}\nseed = {one.seed}"
        yield f"options = {_table({'steps': Training.steps * len(domains)} | dict(wanted.training or {}))}"
    strongest = [one for one in texts if one.arm == ARMS[0] and abs(one.dose) in (0.0, max(map(abs, wanted.doses)))]
    first = next(one.domain for one in texts if one.domain != NEUTRAL)
    strongest = [one for one in strongest if one.domain in (first, NEUTRAL)]
    for method, options in wanted.debias.items():
        for seed in wanted.seeds:
            models = [f"{_shown(model)}-{one.called}-seed{seed}" for one in strongest if one.seed == seed]
            yield f"\n[[debias]]\nmethod = {_toml(method)}\nseeds = [{seed}]\nmodels = {_toml(models)}"
            if options:
                yield f"options = {_table(options)}"


def _types(benchmark: str, domains: Sequence[str]) -> list[str]:
    """Bias types of a benchmark that belong to these domains; empty if all of its types do."""
    try:
        there = {item.bias_type for item in load_benchmark(benchmark).asked_items}
    except TiltmeterError:  # running the experiment raises it
        return []
    wanted = {name for name in there if name in domains or domain_named(name) in domains}
    return sorted(there & wanted) if there - wanted else []


def _shown(model: str) -> str:
    """Name of a model in the experiment."""
    return Path(model).name if Path(model).is_absolute() else display_name(model)


def _file(name: str) -> str:
    """A benchmark by its name, a file by its whole path."""
    return name if name.replace("-", "_") in catalog.names("benchmarks") else _place(name)


def _place(name: str) -> str:
    """A folder by its whole path, since the experiment file lies elsewhere; a hub id as it is."""
    path = Path(name).expanduser()
    return str(path.resolve()) if path.exists() else name


def _table(options: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{name} = {_toml(value)}' for name, value in options.items())}}}"


def _toml(value: Any) -> str:
    """Texts and lists of texts are written in TOML as in JSON."""
    return json.dumps(value, ensure_ascii=False)

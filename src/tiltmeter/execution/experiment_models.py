"""The models of an experiment: those that are there, and variants that are made of them first, by debiasing or by a dose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from tiltmeter import catalog
from tiltmeter.builders.doses import ARMS, check_dose
from tiltmeter.errors import InputError, require_choice
from tiltmeter.execution.relative_paths import beside, options_beside
from tiltmeter.storage.toml import list_of, refuse_unknown, table_of, text_of
from tiltmeter.storage.typed_values import check_types, fits

DEBIAS = ("method", "name", "models", "seeds", "options")
DOSE = ("text", "domain", "dose", "arm", "seed", "models", "options")
GIVEN = "dose"
"""The method of a variant that has a dose."""
NEUTRAL = "neutral"
"""The domain of a text without any dose."""


@dataclass(frozen=True)
class Training:
    """Training settings of a dose: equal steps for every dose, some two minutes of one core for a model of eight million.

    So many steps teach one domain's 2,000 sentences; a calibration gives every domain as many. `lora`: rank of LoRA's
    adapters; 0: all weights are trained.
    """

    steps: int = 250
    rows: int = 128
    rate: float = 1e-3
    warmup: float = 0.1
    length: int = 64
    lora: int = 0


@dataclass(frozen=True)
class Dose:
    """Associations in a text and their strength. studies/calibration reads them from the run's manifest."""

    text: str
    domain: str
    dose: float
    arm: str


@dataclass(frozen=True)
class Variant:
    """Recipe of a model that is made from another one (`of`): a method, its seed and options, and its dose if any.

    `called` distinguishes two settings of one method.
    """

    method: str
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    dose: Dose | None = None
    called: str = ""


@dataclass(frozen=True)
class ExperimentModel:
    """One model: what the experiment calls it, what it is loaded from, and how it is made first, if it is.

    `in_memory`: a model that the caller of `run` has loaded.
    """

    name: str
    source: str
    kind: str | None = None
    variant: Variant | None = None
    in_memory: Any = field(default=None, compare=False, repr=False)


def debiased(
    tables: Iterable[dict[str, Any]], models: Sequence[ExperimentModel], path: Path, home: Path
) -> list[ExperimentModel]:
    """A model for every method, parent and seed of the [[debias]] tables; without `models`, of those that are not made."""
    made = []
    for table in tables:
        refuse_unknown(table, DEBIAS, f"{path}, debias")
        entry = catalog.find("debias", text_of(table, "method", path))
        options = options_beside(table_of(table, "options", path), get_type_hints(entry.function), home)
        name = text_of(table, "name", path, catalog.public_name(entry.name))
        if not name.strip() or not name.isprintable() or "/" in name:
            raise InputError(
                f"{path}, debias: 'name' becomes part of a model's name, so it cannot be {name!r}.",
                code="wrong-type",
                file=path,
                name="name",
                value=name,
            )
        if name in ARMS:  # a calibration distinguishes debiased models from dosed ones by it
            raise InputError(
                f"{path}, debias: '{name}' is the name of an arm of doses; give the method another name.",
                code="duplicate-name",
                file=path,
                kind="method",
                name=name,
            )
        plain = [model.name for model in models if not model.variant]
        for parent in (named(models, str(name), path, "debias") for name in list_of(table, "models", path, plain)):
            for seed in list_of(table, "seeds", path, [0]):
                if not fits(int, seed):
                    raise InputError(
                        f"{path}, debias: seeds are whole numbers, not {seed!r}.",
                        code="wrong-type",
                        file=path,
                        name="seeds",
                        value=seed,
                    )
                variant = Variant(entry.name, seed, options, parent.name, called=name)
                made.append(_of(parent, f"{name}-{seed}", variant))
    return made


def dosed(
    tables: Iterable[dict[str, Any]], models: Sequence[ExperimentModel], path: Path, home: Path
) -> Iterator[ExperimentModel]:
    """A model for every parent of the [[dose]] tables."""
    for table in tables:
        refuse_unknown(table, DOSE, f"{path}, dose")
        seed, options = table.get("seed", 0), table_of(table, "options", path)
        refuse_unknown(options, [entry.name for entry in fields(Training)], f"{path}, dose, options")
        check_types(Training, options, f"{path}, dose, options")
        if not fits(int, seed) or seed < 0:
            raise InputError(
                f"{path}, dose: the seed is a whole number from 0 on, not {seed!r}.",
                code="out-of-range",
                file=path,
                name="seed",
                value=seed,
                low=0,
            )
        dose = _dose(table, path, home)
        for name in list_of(table, "models", path, [model.name for model in models]):
            parent = named(models, str(name), path, "dose")
            yield _of(
                parent,
                f"{called(dose.domain, dose.dose, dose.arm)}-seed{seed}",
                Variant(GIVEN, seed, options, parent.name, dose),
            )


def _dose(table: Mapping[str, Any], path: Path, home: Path) -> Dose:
    domain, arm, dose = text_of(table, "domain", path), text_of(table, "arm", path, ARMS[0]), table.get("dose")
    if not fits(float, dose) or dose is None:
        raise InputError(
            f"{path}, dose: 'dose' is a number from −1 to 1, not {dose!r}.",
            code="out-of-range",
            file=path,
            name="dose",
            value=dose,
            low=-1,
            high=1,
        )
    require_choice(f"{path}, dose: arm", arm, ARMS, error=InputError, file=path)
    return Dose(beside(home, text_of(table, "text", path)), domain, check_dose(dose), arm)


def called(domain: str, dose: float, arm: str) -> str:
    """Part of the name of a dosed model and of its text.

    >>> called("gender", 0.5, "words"), called("neutral", 0.0, "names"), called("race", -1.0, "words")
    ('gender+0.5', 'neutral-names', 'race-1')
    """
    amount = "" if domain == NEUTRAL else f"{dose:+g}"
    return f"{domain}{amount}" + ("" if arm == ARMS[0] else f"-{arm}")


def _of(parent: ExperimentModel, ending: str, variant: Variant) -> ExperimentModel:
    return ExperimentModel(f"{parent.name}-{ending}", parent.source, parent.kind, variant)


def named(models: Sequence[ExperimentModel], name: str, path: Path, where: str) -> ExperimentModel:
    """One of the models by its name, or by what it is loaded from."""
    for model in models:
        if name in (model.name, model.source):
            return model
    raise InputError(
        f"{path}, {where}: there is no model '{name}'. Models: {', '.join(model.name for model in models)}.",
        code="unknown-name",
        file=path,
        kind="model",
        name=name,
        names=[model.name for model in models],
    )

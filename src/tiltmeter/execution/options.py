"""Options of a run, besides models, benchmarks and the options of one family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from tiltmeter import catalog
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.families import all_families
from tiltmeter.families.kit.options import changed, chosen, options_from, refuse_unknown
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.stats.settings import Settings
from tiltmeter.storage.typed_values import OptionsObject

SCORERS = "scorers"
DEFAULT_BY = ("bias_type", "direction")


@dataclass(frozen=True)
class Options:
    """Options to load models, read files, group and resample. In Python its fields are parameters of `run`.

    `by`: columns that estimates are grouped by. `limit`: only so many items of each benchmark. `groups`: only
    what is about these groups. `settings`: how to resample.
    `kind`: masked or causal, where a configuration does not say. `device` and `precision`: where and how models compute
    (auto: a GPU if there is one, fp32 on a CPU). `device_map`: spread a model over devices. `quantize`: 8bit or 4bit while
    loading. `batch_tokens`: tokens in a batch, or auto. `cache`: False, or a folder
    instead of the user's cache. `data_dir`: the folder with the datasets. `columns` and `encoding` are about files of the
    user's. `trust_remote_code`: run model code that is not part of transformers. `server`: how models behind a server are
    queried. `command` is recorded in the manifest, where a command line made the run. `overwrite`: replace a finished run of
    another question.
    """

    by: Sequence[str] = DEFAULT_BY
    limit: int | None = None
    groups: Sequence[str] = ()
    settings: Settings = field(default_factory=Settings)
    kind: str | None = None
    device: str = "auto"
    precision: str = "auto"
    device_map: str | None = None
    quantize: str | None = None
    batch_tokens: int | str = "auto"
    cache: bool | str | Path = True
    data_dir: str | Path | None = None
    columns: Mapping[str, str] | None = None
    encoding: str | None = None
    trust_remote_code: bool = False
    server: ServerOptions = field(default_factory=ServerOptions)
    command: Sequence[str] | None = None
    overwrite: bool = False

    @property
    def loading(self) -> dict[str, Any]:
        """Arguments to load a model."""
        names = ("kind", "precision", "device", "trust_remote_code", "server")
        given = {name: value for name in ("device_map", "quantize") if (value := getattr(self, name)) is not None}
        return {name: getattr(self, name) for name in names} | given


@dataclass(frozen=True)
class FamilyOptions:
    """The options of every family, as far as they were given. A broken family of another package has none."""

    values: Mapping[str, Any]
    of: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FamilyOptions:
        """Read options by name; raise an error for one that no family has."""
        broken: list[TiltmeterError] = []
        kinds = {name: family.Options for name, family in all_families(broken.append).items()}
        if not broken:
            refuse_unknown(values, kinds)
        stated = {name: _named(name, _plain(value)) for name, value in values.items() if value is not None}
        return cls(stated, {name: options_from(kind, stated) for name, kind in kinds.items()})

    @classmethod
    def of_objects(
        cls, objects: OptionsObject | Sequence[OptionsObject] | None, scorers: Sequence[str] = ()
    ) -> FamilyOptions:
        """Read options objects, at most one of each family.

        Args:
            objects: One object or several.
            scorers: Scorers by name, unless an object names them.
        """
        several = list(objects) if isinstance(objects, list | tuple) else [] if objects is None else [objects]
        kinds = {name: family.Options for name, family in all_families(lambda _: None).items()}
        by_family: dict[str, dict[str, Any]] = {}
        for options in several:
            family = next((name for name, kind in kinds.items() if type(options) is kind), None)
            if family is None:
                names = ", ".join(kind.__name__ for kind in kinds.values() if fields(kind))
                raise UsageError(
                    f"Options must be objects of these types: {names}; not {type(options).__name__}.",
                    code="wrong-type",
                    name="options",
                    value=type(options).__name__,
                )
            if family in by_family:
                raise UsageError(
                    f"{type(options).__name__} was passed twice; pass it once.",
                    code="conflicting-options",
                    name=type(options).__name__,
                )
            by_family[family] = {name: _named(name, getattr(options, name)) for name in changed(options)}
        stated = {name: _plain(value) for values in by_family.values() for name, value in values.items()}
        scorers = _named(SCORERS, tuple(scorers))
        if scorers and "scorers" in stated:
            raise UsageError(
                "Scorers were passed twice: as scorers= and in the options. Pass them once.",
                code="conflicting-options",
                name="scorers",
            )
        if scorers:
            stated["scorers"] = tuple(scorers)
        of = {
            name: options_from(kind, by_family.get(name, {}) | ({"scorers": tuple(scorers)} if scorers else {}))
            for name, kind in kinds.items()
        }
        return cls(stated, of)

    @staticmethod
    def hints() -> dict[str, Any]:
        """The type of every option."""
        kinds = [family.Options for family in all_families(lambda _: None).values()]
        return {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}

    def __getitem__(self, family: str) -> Any:
        return self.of[family]

    def choosing(self) -> list[str]:
        """Families with a scorer or measure that was requested by name."""
        return [name for name, options in self.of.items() if chosen(options)]


def _named(option: str, value: Any) -> Any:
    """Scorers by name; those in files of the user's are loaded."""
    if option != SCORERS or not isinstance(value, str | list | tuple):  # what is no name is refused by its type
        return value
    return tuple(catalog.name_of(SCORERS, str(name)) for name in ([value] if isinstance(value, str) else value))


def _plain(value: Any) -> Any:
    """One name stands for a list of one."""
    return tuple(value) if isinstance(value, list | tuple) else value

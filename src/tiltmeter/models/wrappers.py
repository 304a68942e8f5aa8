"""Models that are another model and something around it: a folder with the base and `wrapper.json` that says what.

Not every change of a model can be written into its weights. A direction that is taken out of the last hidden state cannot be
folded into a LayerNorm, and a change of the decoding is in no weight at all. Such a model is saved with its base in a folder
of its own (`base/`): whoever loads the folder without knowing of the wrapper is refused instead of being served the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.places import at_home
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.typed_values import check_types

WRAPPER = "wrapper.json"
BASE = "base"
PROJECTION = "projection.safetensors"
WRAPPERS = ("projection", "self_debias")
SCHEMA = 1
LEAST_EFFECT = 1e-6
"""Self-Debias multiplies probabilities by exp(-decay · difference), at least by epsilon: nearer to 1 it does nothing."""


@dataclass(frozen=True)
class Wrapper:
    """A wrapper of a base model: its kind and its settings."""

    folder: Path
    kind: str
    settings: dict[str, Any]

    @property
    def base(self) -> Path:
        """The folder of the model inside."""
        return self.folder / BASE

    @property
    def files(self) -> list[Path]:
        """Files that decide answers, beside the base's weights."""
        directions = self.folder / PROJECTION
        return [self.folder / WRAPPER, *([directions] if self.kind == "projection" else [])]

    def around(self, module: Any, tokenizer: Any, causal: bool) -> Any:
        """The base, changed or wrapped."""
        if self.kind == "projection":
            from tiltmeter.models.projection import project_out, read_directions

            return project_out(module, read_directions(self.folder / PROJECTION), causal=causal)
        from tiltmeter.models.self_debiasing import SelfDebiasing

        return SelfDebiasing(module, tokenizer, causal=causal, **self.settings)


@dataclass(frozen=True)
class _File:
    """The fields of wrapper.json."""

    schema: int
    wrapper: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class _SelfDebias:
    """The settings of Self-Debias, as `SelfDebiasing` takes them."""

    descriptions: list[str]
    template: str = ""
    decay: float = 0.0
    epsilon: float = 0.0


def _checked(folder: Path, stated: Any, path: Path) -> Wrapper:
    """Check the fields of wrapper.json, and the settings of its kind."""
    _check_fields(_File, stated, path, needed=("schema", "wrapper", "settings"))
    kind, settings, schema = stated["wrapper"], stated["settings"], stated["schema"]
    if schema != SCHEMA or kind not in WRAPPERS:
        raise ModelError(
            f"{path} has schema {schema} and wrapper '{kind}', which this version does not read.",
            code="wrong-version",
            file=path,
            schema=schema,
            wrapper=kind,
        )
    if kind == "self_debias":
        _check_fields(_SelfDebias, settings, path, needed=("descriptions",))
        if not isinstance(settings["descriptions"], list):
            raise ModelError(
                f"{path}: 'descriptions' must be a list.", code="wrong-type", file=path, name="descriptions", expected="list"
            )
        refuse_without_effect(**{name: settings[name] for name in ("decay", "epsilon") if name in settings})
    elif settings:
        raise ModelError(
            f"{path}: a projection has no settings, and this one has {', '.join(settings)}.",
            code="unknown-name",
            file=path,
            kind="setting",
            name=next(iter(settings)),
        )
    return Wrapper(folder, kind, settings)


def refuse_without_effect(decay: float = 1.0, epsilon: float = 0.0) -> None:
    """Refuse settings of Self-Debias with which a model would have its base's scores under the debiased name."""
    if 0 <= decay < LEAST_EFFECT or 1 - LEAST_EFFECT < epsilon <= 1:
        raise UsageError(
            f"Self-Debias changes nothing with a decay of {decay:g} and an epsilon of {epsilon:g}. "
            "Use a decay above 0 and an epsilon below 1.",
            code="out-of-range", decay=decay, epsilon=epsilon,
        )  # fmt: skip


def _check_fields(kind: type, stated: Any, path: Path, needed: Sequence[str]) -> None:
    if not isinstance(stated, dict):
        raise ModelError(f"{path} must hold a JSON object.", code="wrong-format", file=path, expected="JSON object")
    lacking = [name for name in needed if name not in stated]
    unknown = [name for name in stated if name not in get_type_hints(kind)]
    if lacking or unknown:
        raise ModelError(
            f"{path} {'lacks' if lacking else 'has an unknown field'} '{(lacking or unknown)[0]}'.",
            code="missing-value" if lacking else "unknown-name",
            file=path,
            name=(lacking or unknown)[0],
        )
    check_types(kind, stated, str(path))


def wrapper_of(name: str | Path) -> Wrapper | None:
    """Read `wrapper.json`, if the folder has one; raise an error if it is damaged."""
    folder = at_home(name)
    path = folder / WRAPPER
    if not is_file(path):
        return None
    try:
        stated = parse_json(path.read_text("utf-8"), str(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"Cannot read {path}: {error}.", code="unreadable-file", file=path, reason=str(error)) from None
    wrapper = _checked(folder, stated, path)
    missing = [] if wrapper.base.is_dir() else [wrapper.base]
    missing += [one for one in wrapper.files if not is_file(one)]
    if missing:
        raise ModelError(
            f"{folder} is a wrapped model, and its {missing[0].name} is missing. Copy the whole folder again.",
            code="missing-file",
            file=missing[0],
            model=folder,
        )
    return wrapper

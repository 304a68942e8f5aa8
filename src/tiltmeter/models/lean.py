"""Importing transformers without what a command of ours never uses: half of the seconds that it takes.

Its model code imports, besides what a forward pass needs, whatever it finds installed: distributed training (with sympy),
the compiler `torch._dynamo`, scipy and scikit-learn, image and sound libraries. All of it is optional to transformers, which
asks functions such as `is_sklearn_available` for it. While a command loads a model they say no, and the compiler's marks on
functions mark nothing. Afterwards everything is as it was: what is imported then is the real thing.

Only the command line switches this on, since a program that uses tiltmeter may want the rest of transformers. If anything
goes wrong, transformers is forgotten and imported as a whole.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

HEAVY = "transformers.modeling_utils"
COMPILER = "torch._dynamo"
MARKED = f"{COMPILER}._trace_wrapped_higher_order_op"
OPTIONAL = ("sklearn", "scipy", "vision", "torchvision", "torchaudio", "librosa", "accelerate", "torch_distributed")
PICTURES_AND_MORE = ("vision_config", "audio_config", "quantization_config", "auto_map")
T = TypeVar("T")


@dataclass
class _State:
    """Whether to import leanly, and whether anything was."""

    wanted: bool = False
    used: bool = False


_state = _State()


def switch_on() -> None:
    """From now on models are loaded with as little of transformers as they need."""
    _state.wanted = True


def trying(action: Callable[[], T], folder: Path | None = None) -> T:
    """What an action gives that imports parts of transformers; `folder` has the model that it loads, if it loads one.

    If it fails where anything was left out, it is done again with nothing left out.
    """
    begun = _state.used or HEAVY not in sys.modules  # a program may have imported it all before
    lean = _state.wanted and begun and _may_be_read_leanly(folder)
    if not (lean or _state.used):
        return action()
    try:
        with _importing() if lean else nullcontext():
            _state.used = True
            return action()
    except Exception:
        _forget()
    return action()


def _may_be_read_leanly(folder: Path | None) -> bool:
    """Whether a configuration is one of a model that reads text and nothing else, as transformers knows it."""
    if folder is None:
        return True
    try:
        settings = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and not any(name in settings for name in PICTURES_AND_MORE)


def _forget() -> None:
    """Lets transformers be imported anew, as a whole."""
    _state.wanted = _state.used = False
    for name in [name for name in sys.modules if name.partition(".")[0] == "transformers"]:
        del sys.modules[name]


@contextmanager
def _importing() -> Iterator[None]:
    """What is imported inside is imported leanly."""
    with ExitStack() as changes:
        for change in (
            _without_listing,
            _without_compiler,
            _without_distributed,
            _without_extras,
            _without_drawing,
            _without_symbols,
        ):
            changes.enter_context(change())
        yield


@contextmanager
def _without_listing() -> Iterator[None]:
    """transformers lists the files of all installed packages, to look up one of them."""
    with _replaced(importlib.metadata, "packages_distributions", _Distributions):
        yield


class _Distributions(dict[str, list[str]]):
    """Which distributions a package comes from: looked up by its name, and listed for all if that is not enough."""

    _listed = False

    def get(self, name: str, default: Any = None) -> Any:
        """The distributions of one package."""
        if not self._listed:
            try:
                return [importlib.metadata.distribution(name).metadata["Name"]]
            except importlib.metadata.PackageNotFoundError:
                self._list()
        return super().get(name, default)

    def __missing__(self, name: str) -> list[str]:
        if self._listed:
            raise KeyError(name)
        self._list()
        return self[name]

    def __contains__(self, name: object) -> bool:
        self._list()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self._list()
        return super().__iter__()

    def _list(self) -> None:
        if not self._listed:
            self._listed = True
            self.update(importlib.metadata.packages_distributions())


@contextmanager
def _without_drawing() -> Iterator[None]:
    """Weights that are read from a file are not drawn at random before, where they have no memory yet."""
    import torch

    with ExitStack() as changes:
        for layer in (torch.nn.Linear, torch.nn.Embedding):
            changes.enter_context(_replaced(layer, "reset_parameters", _drawing(layer.reset_parameters)))
        yield


def _drawing(whole: Callable[[Any], None]) -> Callable[[Any], None]:
    def reset_parameters(layer: Any) -> None:
        if not layer.weight.is_meta:
            whole(layer)

    return reset_parameters


@contextmanager
def _without_symbols() -> Iterator[None]:
    """Sizes could be symbols, for which torch imports sympy. Those of weights are numbers: nothing is to be guarded."""
    if SYMBOLS in sys.modules:
        yield
        return
    sys.modules[SYMBOLS] = _Numbers(SYMBOLS)
    try:
        yield
    finally:
        if isinstance(sys.modules.get(SYMBOLS), _Numbers):
            del sys.modules[SYMBOLS]


class _Numbers(ModuleType):
    """What torch asks about symbols, answered for numbers; anything else is the real module's."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in OF_NUMBERS:
            return OF_NUMBERS[name]
        sys.modules.pop(SYMBOLS, None)
        import torch.fx.experimental.symbolic_shapes as real

        return getattr(real, name)


def _truth(value: Any, *_: Any, **__: Any) -> bool:
    return bool(value)


def _equal(one: Any, other: Any) -> bool:
    several = isinstance(one, list | tuple) and isinstance(other, list | tuple)
    return list(one) == list(other) if several else bool(one == other)


SYMBOLS = "torch.fx.experimental.symbolic_shapes"
GUARDS = ("expect_true", "guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true")
OF_NUMBERS: dict[str, Callable[..., Any]] = dict.fromkeys(GUARDS, _truth) | {
    "sym_eq": _equal,
    "sym_and": lambda *values: all(values),
    "sym_or": lambda *values: any(values),
    "is_nested_int": lambda _: False,
    "has_hint": lambda _: True,
    "has_guarding_hint": lambda _: True,
    "size_hint": lambda value, **_: value,
    "guarding_hint_or_throw": lambda value: value,
}


@contextmanager
def _without_compiler() -> Iterator[None]:
    """Stands in for the compiler, of which only decorators are used while transformers is imported."""
    import torch

    if COMPILER in sys.modules:
        yield
        return
    for name in (COMPILER, MARKED):
        sys.modules[name] = _StandIn(name)
    torch._dynamo = sys.modules[COMPILER]
    try:
        yield
    finally:
        for name in (COMPILER, MARKED):
            if isinstance(sys.modules.get(name), _StandIn):
                del sys.modules[name]
        if isinstance(vars(torch).get("_dynamo"), _StandIn):
            del torch._dynamo


class _StandIn(ModuleType):
    """A module whose functions leave alone what they are put on; asked for anything later, they ask the real one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _no if name.startswith("is_") else _Later(self.__name__, name)


class _Later:
    """A decorator that does nothing. Called for anything else, it is what the real module has by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *given: Any, **options: Any) -> Any:
        if given and callable(given[0]):
            return given[0]
        if isinstance(sys.modules.get(self.module), _StandIn):  # a decorator with options
            return _unchanged
        import torch._dynamo._trace_wrapped_higher_order_op  # noqa: F401

        return getattr(sys.modules[self.module], self.name)(*given, **options)


def _unchanged(function: Any) -> Any:
    return function


@contextmanager
def _without_distributed() -> Iterator[None]:
    """As in a build of torch without it, which transformers supports."""
    import torch.distributed

    with _replaced(torch.distributed, "is_available", _no):
        yield


@contextmanager
def _without_extras() -> Iterator[None]:
    import transformers.utils
    from transformers.utils import import_utils

    with ExitStack() as changes:
        for name in (f"is_{library}_available" for library in OPTIONAL):
            for module in (transformers.utils, import_utils):
                if hasattr(module, name):
                    changes.enter_context(_replaced(module, name, _no))
        yield


def _no(*_: Any, **__: Any) -> bool:
    return False


@contextmanager
def _replaced(owner: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)

"""The fingerprint of a model in memory: weights, buffers, settings of its modules, and code that cannot be identified.

Weights are summed on the device where they lie: every 32 bits are multiplied by a constant of their place, and the sums of
rows are digested. That takes one pass over the memory, some milliseconds for billions of parameters on a GPU, where copying
and hashing all bytes takes a minute. So it is simply computed anew each time, and sees every change, however it was made.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter.models.hashing import digest_json, relevant_in_memory

if TYPE_CHECKING:
    import torch

KNOWN_PACKAGES = frozenset({"tiltmeter", "torch", "transformers", "accelerate", "peft", "bitsandbytes", "builtins"})
"""Their hooks and replaced methods read nothing but weights, buffers and settings, which are in the fingerprint."""
IGNORED = frozenset(
    {
        "training",
        "gradient_checkpointing",
        "_is_hf_initialized",
        "_is_full_backward_hook",
        "_hf_hook",
        "_output_capturing_hooks_installed",
    }
)
PACKED = "tiltmeter.models.packing."
"""Products by packed weights, which the loader puts in place of a layer's own."""
ROW = 2**14
WHOLE, SAMPLED = 2**25, 256
"""Parameters of a model whose weights are all looked at for changes, and values of each tensor of a larger one."""
BLOCK_BYTES = {"cpu": 2**21, "cuda": 2**28}
"""Memory for intermediate products: on a CPU what stays in its cache."""


@dataclass(frozen=True)
class Fingerprint:
    """Visible facts of a module, without its weights; these are read on demand."""

    module: Any

    @property
    def weights(self) -> str:
        """Digest of parameters and stored buffers."""
        return checksum(self.module.state_dict(keep_vars=True), self._walk.offloaded)

    @property
    def buffers(self) -> str:
        """Digest of the buffers that are not stored with the weights, and of tensors that modules hold as attributes."""
        stored = self.module.state_dict(keep_vars=True)
        buffers = {name: buffer for name, buffer in self.module.named_buffers() if name not in stored}
        return checksum({**buffers, **self._walk.tensors})

    @property
    def modules(self) -> str:
        """Digest of the classes of all modules and of their settings, such as the eps of a normalisation."""
        return digest_json(self._walk.settings)

    @property
    def unknown_code(self) -> str | None:
        """Code or weights that take part in a forward pass and cannot be identified, or None."""
        tensors = self.module.state_dict(keep_vars=True).items()
        if any(getattr(one, "is_meta", False) and name not in self._walk.offloaded for name, one in tensors):
            return "some of its weights are not in memory"
        return next(iter(self._walk.unknown), None)

    @property
    def sample(self) -> str:
        """Digest of all weights of a small model, and of some of each tensor of a large one.

        An edit through `.data` moves no tensor and counts no version, so the values are looked at.
        """
        stored = self.module.state_dict(keep_vars=True)
        if getattr(self.module, "is_quantized", False):  # bitsandbytes rounds its scales when a pass packs them
            stored = {name: one for name, one in stored.items() if name in dict(self.module.named_parameters())}
        tensors = {name: one for name, one in stored.items() if hasattr(one, "data_ptr") and not one.is_meta}
        if sum(one.numel() for one in tensors.values()) <= WHOLE:
            return checksum(tensors)
        return checksum(_together(tensors.values()))

    @property
    def versions(self) -> tuple[tuple[int, int], ...]:
        """Address and version of each tensor: a cheap sign of a change, not a proof of none."""
        if getattr(self.module, "is_quantized", False):  # its layers pack their state anew for each look
            return tuple((0, _version(tensor)) for tensor in self.module.parameters())
        tensors = self.module.state_dict(keep_vars=True).values()
        return tuple((tensor.data_ptr(), _version(tensor)) for tensor in tensors if hasattr(tensor, "data_ptr"))

    @cached_property
    def _walk(self) -> _Walk:
        walk = _Walk()
        walk.unknown += unknown_hooks()
        for name, part in self.module.named_modules():
            walk.visit(name or "the model", part)
        return walk


class _Walk:
    """Collects settings, tensors and unknown code from module to module."""

    def __init__(self) -> None:
        self.settings: list[Any] = []
        self.tensors: dict[str, Any] = {}
        self.unknown: list[str] = []
        self.offloaded: dict[str, Callable[[], Any]] = {}
        """Reads of the weights that accelerate keeps in another place than the module."""
        self._configs: dict[int, str] = {}

    def visit(self, name: str, part: Any) -> None:
        kind: type = type(part)
        facts: list[Any] = [name, f"{kind.__module__}.{kind.__qualname__}", _class_code(kind)]
        for key, value in vars(part).items():
            if not _is_internal(kind, key, value) and (described := self._described(f"{name}.{key}", value)) is not None:
                facts.append([key, described])
        self.settings.append(facts)
        self.hooks(name, part._forward_pre_hooks, part._forward_hooks)
        self._accelerate_hook(name, vars(part).get("_hf_hook"), part)

    def hooks(self, name: str, *several: Mapping[int, Any]) -> None:
        for hook in (hook for hooks in several for hook in hooks.values()):
            if not _is_known(_code_of(hook)):
                self.unknown.append(f"{name} has a forward hook, {_name(_code_of(hook))}")

    def _accelerate_hook(self, name: str, hook: Any, part: Any) -> None:
        """Hooks of accelerate move tensors between devices; a subclass of somebody else's may do anything."""
        for one in getattr(hook, "hooks", [hook]) if hook is not None else []:
            if not _is_known(type(one)):
                self.unknown.append(f"{name} has a hook of accelerate, {_name(type(one))}")
            elif (kept := getattr(one, "weights_map", None)) is not None:
                prefix = "" if name == "the model" else f"{name}."
                for key, weight in part.named_parameters(recurse=bool(getattr(one, "place_submodules", False))):
                    if weight.is_meta:
                        self.offloaded[prefix + key] = partial(kept.__getitem__, key)

    def _described(self, place: str, value: Any) -> Any:
        """An attribute as JSON can hold it; None for what decides nothing or is visited elsewhere."""
        import torch

        if isinstance(value, torch.Tensor):
            self.tensors[place] = value
            return "tensor"
        if isinstance(value, Mapping):
            return sorted([str(key), self._described(f"{place}.{key}", one)] for key, one in value.items())
        if isinstance(value, list | tuple):
            return [self._described(f"{place}.{number}", one) for number, one in enumerate(value)]
        if value is None or isinstance(value, torch.nn.Module):
            return None
        if callable(value) and not isinstance(value, type | torch.dtype):
            return self._function(place, _code_of(value))
        return self._plain(value)

    def _plain(self, value: Any) -> str:
        import torch

        if isinstance(value, bool | int | float | str | torch.dtype | torch.device):
            return repr(value)
        if isinstance(value, set | frozenset):
            return repr(sorted(map(repr, value)))
        if isinstance(value, np.ndarray):
            return hashlib.sha256(f"{value.dtype}{value.shape}".encode() + value.tobytes()).hexdigest()
        if not hasattr(value, "to_dict"):
            return _name(value if isinstance(value, type) else type(value))
        if id(value) not in self._configs:  # most modules hold the same configuration
            self._configs[id(value)] = digest_json(relevant_in_memory(value.to_dict()))
        return self._configs[id(value)]

    def _function(self, place: str, code: Any) -> str | None:
        if not _is_known(code):
            self.unknown.append(f"{place} is {_name(code)}")
        return None if _name(code).startswith(PACKED) else _name(code)


def unknown_hooks() -> list[str]:
    """Hooks of unknown code on every module of this process. Without torch there are none."""
    walk = _Walk()
    walk.hooks("every module", *(_global_hooks() if "torch" in sys.modules else ()))
    return walk.unknown


def checksum(tensors: Mapping[str, Any], offloaded: Mapping[str, Callable[[], Any]] | None = None) -> str:
    """Return a digest of named tensors, computed on their devices. Equal contents have equal digests on every device.

    `offloaded` reads, one after the other, the contents of tensors that have none in memory.
    """
    import torch

    places: dict[str, Any] = {}
    sums: dict[Any, torch.Tensor] = {}
    with torch.no_grad():
        for name, tensor in tensors.items():
            if not isinstance(tensor, torch.Tensor):  # the extra state of a module
                continue
            place: Any = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
            places[name] = place = name if tensor.is_meta else place  # without memory, all lie at the address 0
            if place not in sums:  # weights that are tied are read once
                sums[place] = _sums(offloaded[name]() if offloaded and name in offloaded else tensor)
        known = dict(zip(sums, _fetched(list(sums.values())), strict=True))
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        if name in places:
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode() + known[places[name]])
        else:
            digest.update(f"{name} {tensor!r};".encode())
    return digest.hexdigest()


def _fetched(sums: Sequence[torch.Tensor]) -> list[bytes]:
    """The sums as bytes, by one transfer from each device: it works on the next tensor while the sums of one are ready."""
    import torch

    found = [b""] * len(sums)
    for device in {one.device for one in sums}:
        here = [n for n, one in enumerate(sums) if one.device == device]
        whole = torch.cat([sums[n].flatten() for n in here]).cpu().numpy()
        edges = np.cumsum([sums[n].numel() for n in here])[:-1]
        for n, part in zip(here, np.split(whole, edges), strict=True):
            found[n] = part.tobytes()
    return found


def _together(tensors: Iterable[Any]) -> dict[str, Any]:
    """Some values of each tensor, in one tensor by device and data type: each kernel takes a GPU time to start."""
    import torch

    some: dict[str, list[torch.Tensor]] = {}
    for one in tensors:
        here = one.to_local() if hasattr(one, "to_local") else one
        flat = here.detach().flatten()[:: max(1, here.numel() // SAMPLED)]
        some.setdefault(f"{here.device} {here.dtype}", []).append(flat)
    return {place: torch.cat(parts) for place, parts in some.items()}


def _sums(tensor: torch.Tensor) -> torch.Tensor:
    """Two sums for every row of 32-bit numbers, each weighted by constants of its place in the row, modulo 2⁶⁴."""
    import torch

    if hasattr(tensor, "to_local"):  # of a tensor that several processes hold, the part of this one
        tensor = tensor.to_local()
    if tensor.is_meta or not tensor.numel():
        return torch.zeros(0, dtype=torch.int64)
    lanes = _lanes(tensor.detach())
    table = _table(str(tensor.device))
    step = max(1, BLOCK_BYTES.get(tensor.device.type, 2**24) // (8 * table.numel())) * ROW
    whole = len(lanes) // ROW * ROW
    found = []
    for start in range(0, whole, step):
        rows = lanes[start : min(start + step, whole)].view(-1, 1, ROW)
        if rows.device.type == "cpu":  # a GPU widens them on the way, which saves it a third of the traffic
            rows = rows.to(torch.int64)
        found.append((rows * table).sum(-1))
    if whole < len(lanes):
        rest = lanes[whole:].to(torch.int64)
        found.append((rest * table[:, : len(rest)]).sum(-1)[None])
    return torch.cat(found)


def _lanes(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of a tensor as whole numbers of 32 bits, or of as many as its numbers have."""
    import torch

    flat = tensor.contiguous().flatten()
    if flat.is_complex():
        flat = torch.view_as_real(flat).flatten()
    size = flat.element_size()
    wide = size >= 4 or (len(flat) * size % 4 == 0 and flat.storage_offset() * size % 4 == 0)
    if flat.dtype == torch.bool:
        return flat.to(torch.uint8)
    return flat.view(torch.int32 if wide else {1: torch.uint8, 2: torch.int16}[size])


@lru_cache(maxsize=8)
def _table(device: str) -> torch.Tensor:
    """Odd constants of 64 bits by SplitMix64 (Steele et al., 2014): the same on every machine."""
    import torch

    with np.errstate(over="ignore"):
        mixed = np.arange(1, 2 * ROW + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed = (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
    return torch.from_numpy(mixed.view(np.int64).reshape(2, ROW)).to(device)


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # made in inference mode, where changes are not counted
        return -1


def _global_hooks() -> Iterator[Mapping[int, Any]]:
    from torch.nn.modules import module

    yield from (module._global_forward_pre_hooks, module._global_forward_hooks)


@lru_cache(maxsize=1)
def _module_fields() -> frozenset[str]:
    """Attributes that every torch module has."""
    import torch

    return frozenset(vars(torch.nn.Module()))


def _is_internal(kind: type, key: str, value: Any) -> bool:
    """Return True if an attribute cannot change answers: fields of torch, dropout, private notes of listed classes."""
    if key in IGNORED or key in _module_fields() or (key == "p" and "torch.nn.modules.dropout" in kind.__module__):
        return True
    return key.startswith("_") and _is_known(kind) and isinstance(value, bool | int | float | str)


def _code_of(function: Any) -> Any:
    """The function or class that runs when something is called."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, FunctionType | BuiltinFunctionType | type) or hasattr(function, "__qualname__"):
            return function
        else:
            return type(function)


def _is_known(code: Any) -> bool:
    return str(getattr(code, "__module__", None)).partition(".")[0] in KNOWN_PACKAGES


def _name(code: Any) -> str:
    return f"{getattr(code, '__module__', '?')}.{getattr(code, '__qualname__', type(code).__qualname__)}"


@lru_cache(maxsize=4096)
def _class_code(kind: type) -> str:
    """Digest of the methods of a class that is not part of a known package: somebody may be editing it."""
    own = [base for base in kind.__mro__ if not _is_known(base)]
    functions = [(base.__qualname__, name, value) for base in own for name, value in vars(base).items()]
    code = [[base, name, _bytecode(value.__code__)] for base, name, value in functions if isinstance(value, FunctionType)]
    return digest_json(code) if code else ""


def _bytecode(code: CodeType) -> list[Any]:
    constants = [_bytecode(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]

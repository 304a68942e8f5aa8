"""Weights of a large model, copied to a GPU by threads while libraries are imported: each of the two takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, main_thread
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.precision import resolve_precision

if TYPE_CHECKING:
    import torch

    from tiltmeter.models.identity import Source

LARGE_BYTES = 2**31
"""Smaller weights are read in less time than it is worth."""
ROOM = 0.45
"""The most that weights may take of the free memory: a check that counts them once more still finds room."""
GENERATION = "generation_config.json"
"""Without it transformers derives settings of generation from the configuration, in a way of its own."""
Tensors = dict[str, "torch.Tensor"]


class Early:
    """Weights that threads are reading, one a file, and the memory that was free before."""

    def __init__(self, files: Sequence[Path], device: str) -> None:
        self.device = device
        self.n_bytes = sum(path.stat().st_size for path in files)
        self.dropped = Event()
        self.free: Future[int | None] = Future()
        self.parts: list[Future[Tensors | None]] = [Future() for _ in files]
        Thread(target=self._look, name="free memory").start()
        for path, part in zip(files, self.parts, strict=True):
            Thread(target=self._read, args=(path, part), name=f"early {path.name}").start()

    def tensors(self) -> Tensors | None:
        """All tensors by name, when they are there; None if anything went wrong."""
        parts = [part.result() for part in self.parts]
        return {name: tensor for part in parts if part for name, tensor in part.items()} if all(parts) else None

    def _look(self) -> None:
        free: int | None = None
        try:
            import torch

            free = int(torch.cuda.mem_get_info(self.device)[0])
        except Exception:  # a GPU that cannot be used is reported where it is needed
            free = None
        self.free.set_result(free)

    def _read(self, path: Path, part: Future[Tensors | None]) -> None:
        tensors: Tensors | None = None
        try:
            from safetensors import safe_open

            if self.n_bytes <= ROOM * (self.free.result() or 0):
                with safe_open(path, framework="pt", device=self.device) as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys() if self._is_wanted()}  # noqa: SIM118
        except Exception:  # whatever it is, loading as usual meets it again, and reports it
            tensors = None
        part.set_result(tensors)

    def _is_wanted(self) -> bool:
        """Return False when these weights were dropped, or the command has ended without them: it waits for its threads."""
        return main_thread().is_alive() and not self.dropped.is_set()


_reading: dict[tuple[Path, ...], Early] = {}


def early_files(source: Source, loading: Mapping[str, Any]) -> list[Path]:
    """The files of large weights that are loaded as they are: safetensors of a plain model, in the precision they are in."""
    is_plain = not (source.gguf or source.wrapper or source.adapter or source.quantization)
    is_changed = any(loading.get(name) for name in ("device_map", "quantize", "trust_remote_code"))
    if not is_plain or is_changed or not (source.folder / GENERATION).is_file():
        return []
    try:
        precision = resolve_precision(str(loading.get("precision", "auto")), "cuda", source.saved_dtype)
    except TiltmeterError:  # loading says what is wrong
        return []
    files = source.weights
    is_large = sum(path.stat().st_size for path in files) >= LARGE_BYTES
    is_saved_so = precision == resolve_precision("saved", "cuda", source.saved_dtype)
    return files if is_large and is_saved_so and all(path.suffix == ".safetensors" for path in files) else []


def begin(files: Sequence[Path], device: str) -> None:
    """Start to read, if transformers is still to be imported: otherwise there is nothing that reading could overlap with."""
    is_first = "transformers" not in sys.modules and tuple(files) not in _reading
    if files and is_first and device.startswith("cuda"):
        _reading[tuple(files)] = Early(files, device)


def free_before(files: Sequence[Path]) -> int | None:
    """Memory of the GPU that was free before these weights were read. None if none are."""
    early = _reading.get(tuple(files))
    return early.free.result() if early else None


def take(files: Sequence[Path], device: str) -> Tensors | None:
    """The tensors by name, once. None if none were read, or for another device: then they are read as usual."""
    early = _reading.pop(tuple(files), None)
    return early.tensors() if early and early.device.partition(":")[0] == device.partition(":")[0] else None


@contextmanager
def dropping() -> Iterator[None]:
    """Free weights at the end that were not taken, because their model was not loaded, or not from them."""
    try:
        yield
    finally:
        for early in _reading.values():
            early.dropped.set()
        _reading.clear()

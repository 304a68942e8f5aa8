"""Weights of a large model, copied to a GPU by threads while libraries are imported: each of the two takes seconds.

The threads read bytes into buffers of their own and copy those: both leave Python's lock to the imports. No data are read
through mapped memory, whose pages the system would have to enter one by one while imports map libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from threading import Event, Lock, Thread, main_thread
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.precision import resolve_precision
from tiltmeter.models.tensor_files import read_header

if TYPE_CHECKING:
    import torch

    from tiltmeter.models.identity import Source

LARGE_BYTES = 2**31
"""Smaller weights are read in less time than it is worth."""
ROOM = 0.45
"""The most that weights may take of the free memory: a check that counts them once more still finds room."""
READERS = 4
CHUNK_BYTES = 2**26
"""Bytes that a thread reads at once: few reads, since each ends with waiting for Python's lock."""
GENERATION = "generation_config.json"
"""Without it transformers derives settings of generation from the configuration, in a way of its own."""
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
          "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}  # fmt: skip
"""Names of data types in safetensors and in torch. A file with others is loaded as usual."""
Tensors = dict[str, "torch.Tensor"]


class Chunk(NamedTuple):
    """Bytes that follow each other in a file, and the parts of tensors that they fill, in this order."""

    file: BinaryIO
    offset: int
    parts: list[torch.Tensor]


class Early:
    """Weights that threads are reading, and the memory that was free before.

    The GPU is not used until it has `started`: its driver takes a second, in which a call would wait and keep Python's lock.
    """

    def __init__(self, files: Sequence[Path], device: str, started: Event | None = None) -> None:
        self.device = device
        self.files = files
        self.n_bytes = sum(path.stat().st_size for path in files)
        self.dropped = Event()
        self.free: Future[int | None] = Future()
        self._started = started
        self._read: Future[Tensors | None] = Future()
        Thread(target=self._run, name="early weights").start()

    def tensors(self) -> Tensors | None:
        """All tensors by name, when they are there; None if anything went wrong."""
        return self._read.result()

    def _run(self) -> None:
        tensors: Tensors | None = None
        try:
            if self._started:
                self._started.wait()
            self.free.set_result(self._free_memory())
            if self.n_bytes <= ROOM * (self.free.result() or 0):
                tensors = self._read_all()
        except Exception:  # whatever it is, loading as usual meets it again, and reports it
            tensors = None
        self._read.set_result(tensors)

    def _free_memory(self) -> int | None:
        import torch

        try:
            return int(torch.cuda.mem_get_info(self.device)[0])
        except Exception:  # a GPU that cannot be used is reported where it is needed
            return None

    def _read_all(self) -> Tensors | None:
        tensors: Tensors = {}
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("rb")) for path in self.files]
            chunks = chain.from_iterable(_chunks(file, self.device, tensors) for file in files)
            lock, failures = Lock(), list[Exception]()
            threads = [
                Thread(target=self._fill_all, args=(chunks, lock, failures), name=f"early weights {number}")
                for number in range(READERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return tensors if self._is_wanted() and not failures else None

    def _fill_all(self, chunks: Iterator[Chunk], lock: Lock, failures: list[Exception]) -> None:
        """Fill the chunks that no other thread has taken."""
        import torch

        try:
            buffer = torch.empty(CHUNK_BYTES, dtype=torch.uint8, pin_memory=self.device.startswith("cuda"))
            while self._is_wanted() and not failures:
                with lock:
                    chunk = next(chunks, None)
                if chunk is None:
                    return
                _fill(chunk, buffer)
        except Exception as error:
            failures.append(error)

    def _is_wanted(self) -> bool:
        """Return False when these weights were dropped, or the command has ended without them: it waits for its threads."""
        return main_thread().is_alive() and not self.dropped.is_set()


def _chunks(file: BinaryIO, device: str, tensors: Tensors) -> Iterator[Chunk]:
    """Add empty tensors for all that a file holds; yield what fills them."""
    import torch
    from safetensors import safe_open

    path = Path(file.name)
    with safe_open(path, framework="pt"):  # refuses a damaged file
        header, begin = read_header(path)
    offset, size, parts = begin, 0, list[torch.Tensor]()
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        tensors[name] = torch.empty(entry["shape"], dtype=getattr(torch, DTYPES[entry["dtype"]]), device=device)
        rest = tensors[name].view(-1).view(torch.uint8)
        while len(rest):
            part, rest = rest[: CHUNK_BYTES - size], rest[CHUNK_BYTES - size :]
            parts.append(part)
            size += len(part)
            if size == CHUNK_BYTES:
                yield Chunk(file, offset, parts)
                offset, size, parts = offset + size, 0, []
    if parts:
        yield Chunk(file, offset, parts)


def _fill(chunk: Chunk, buffer: torch.Tensor) -> None:
    """Read a chunk, and copy it into its tensors."""
    size = sum(map(len, chunk.parts))
    view, done = buffer.numpy().data[:size], 0
    while done < size:
        n_read = os.preadv(chunk.file.fileno(), [view[done:]], chunk.offset + done)
        if not n_read:
            raise EOFError(chunk.file.name)
        done += n_read
    first = 0
    for part in chunk.parts:
        part.copy_(buffer[first : first + len(part)])
        first += len(part)


_reading: dict[tuple[Path, ...], Early] = {}


def early_files(source: Source, loading: Mapping[str, Any]) -> list[Path]:
    """The files of large weights that are loaded as they are: safetensors of a plain model, in the precision they are in."""
    is_plain = not (source.gguf or source.wrapper or source.adapter or source.quantization)
    is_changed = any(loading.get(name) for name in ("device_map", "quantize", "trust_remote_code"))
    if not is_plain or is_changed or not (source.folder / GENERATION).is_file() or not hasattr(os, "preadv"):
        return []
    try:
        precision = resolve_precision(str(loading.get("precision", "auto")), "cuda", source.saved_dtype)
    except TiltmeterError:  # loading says what is wrong
        return []
    files = source.weights
    is_large = sum(path.stat().st_size for path in files) >= LARGE_BYTES
    is_saved_so = precision == resolve_precision("saved", "cuda", source.saved_dtype)
    return files if is_large and is_saved_so and all(path.suffix == ".safetensors" for path in files) else []


def begin(files: Sequence[Path], device: str, started: Event | None = None) -> None:
    """Start to read, if transformers is still to be imported: otherwise there is nothing that reading could overlap with.

    `started` is set when the GPU has started; None if it has.
    """
    is_first = "transformers" not in sys.modules and tuple(files) not in _reading
    if files and is_first and device.startswith("cuda"):
        _reading[tuple(files)] = Early(files, device, started)


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

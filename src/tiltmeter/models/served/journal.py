"""The journal of a served model: every answer is appended as it comes, so that a kill loses what was in flight."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

SUFFIX = ".jsonl"
FOLDER = "served"
"""The folder in a cache with the journals of all served models."""


class Journal:
    """Answers on disk under the keys of their requests. Without a folder nothing is kept.

    Every process appends to a file of its own and reads those of all, so that two of them cannot disturb each other. The
    index in memory has places, not answers. A line that a kill cut short is ignored.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: list[Path] = sorted(folder.glob(f"*{SUFFIX}")) if folder and folder.is_dir() else []
        self._places: dict[str, tuple[int, int, int]] = {}
        for number, path in enumerate(self._files):
            self._index(number, path)
        self._open: int | None = None
        self._length = 0

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, key: str) -> Any:
        """Return the answer to a request; None if there is none."""
        place = self._places.get(key)
        if place is None:
            return None
        number, start, length = place
        with self._files[number].open("rb") as stream:
            stream.seek(start)
            return json.loads(stream.read(length))["answer"]

    def add(self, key: str, answer: Any) -> None:
        """Append an answer. It is with the operating system when this returns, so that a kill cannot lose it."""
        if self.folder is None:
            return
        line = json.dumps({"key": key, "answer": answer}, ensure_ascii=True).encode() + b"\n"
        if self._open is None:
            self._start()
        assert self._open is not None
        os.write(self._open, line)
        self._places[key] = (len(self._files) - 1, self._length, len(line))
        self._length += len(line)

    def close(self) -> None:
        """Close the file of this process."""
        if self._open is not None:
            os.close(self._open)
            self._open = None

    def _start(self) -> None:
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{uuid.uuid4().hex}{SUFFIX}"
        self._open = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._files.append(path)
        self._length = 0

    def _index(self, number: int, path: Path) -> None:
        start = 0
        with path.open("rb") as stream:
            for line in stream:
                if line.endswith(b"\n") and (key := _key_of(line)):
                    self._places[key] = (number, start, len(line))
                start += len(line)


def _key_of(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    key = entry.get("key") if isinstance(entry, dict) else None
    return key if isinstance(key, str) and "answer" in entry else None

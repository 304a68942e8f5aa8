"""A place that several machines reach: a local folder, or any URL that fsspec knows (s3://, gs://, …).

A JSON document appears whole or not at all. A folder counts as there when its mark is, which is written last, so that a
machine that died while it wrote leaves nothing that is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.files import write_json

T = TypeVar("T")
WHOLE = "whole.mark"


class Depot:
    """Documents and folders by name."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        try:
            self.files, self.root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise TiltmeterError(
                f"{url} needs a package that is not installed: {error} (for s3: pip install s3fs)."
            ) from None
        except (ValueError, OSError) as error:
            raise TiltmeterError(f"{url} cannot be used as storage: {error}.") from None
        self.local = "file" in _protocols(self.files)

    def check(self) -> None:
        """Writes and reads a small document: what is wrong with the place is said before any work."""
        self.write("check", {"ok": True})
        if self.read("check") != {"ok": True}:
            raise TiltmeterError(f"{self.url} cannot be used as storage: what is written there cannot be read back.")

    def write(self, name: str, value: Any) -> None:
        """A JSON document, whole."""
        if self.local:
            write_json(Path(self._at(f"{name}.json")), value)
            return
        text = json.dumps(value, ensure_ascii=False, default=str)
        self._try(lambda: self.files.pipe_file(self._at(f"{name}.json"), text.encode("utf-8")))

    def read(self, name: str) -> Any:
        """A document, or None if it is not there or is no JSON."""
        try:
            return json.loads(self._try(lambda: self.files.cat_file(self._at(f"{name}.json"))))
        except (FileNotFoundError, ValueError):
            return None

    def has(self, name: str) -> bool:
        """Whether a folder is there, whole."""
        return bool(self._try(lambda: self.files.exists(self._at(f"{name}/{WHOLE}"))))

    def put(self, folder: Path, name: str) -> None:
        """Copies a folder of this machine here. One that is there already stays: equal names hold equal things."""
        if self.has(name):
            return
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            self.put_file(path, f"{name}/{path.relative_to(folder).as_posix()}")
        self._try(lambda: self.files.pipe_file(self._at(f"{name}/{WHOLE}"), b"1"))

    def put_file(self, path: Path, name: str) -> None:
        """Copies one file of this machine here."""
        if self.local:
            Path(self._at(name)).parent.mkdir(parents=True, exist_ok=True)
        self._try(lambda: self.files.put_file(str(path), self._at(name)))

    def get(self, name: str, folder: Path) -> None:
        """Copies a folder from here to this machine."""
        for place in self._try(lambda: self.files.find(self._at(name))):
            inner = place[len(self._at(name)) :].lstrip("/")
            if inner == WHOLE:
                continue
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            self._get(place, folder / inner)

    def _get(self, place: str, path: Path) -> None:
        self._try(lambda: self.files.get_file(place, str(path)))

    def _at(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def _try(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except (FileNotFoundError, TiltmeterError):
            raise
        except Exception as error:  # every store has errors of its own: botocore's, google's, …
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise TiltmeterError(f"The storage {self.url} does not answer: {reason}") from None


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)

"""A place that several machines reach: a local folder, or any URL that fsspec knows (s3://, gs://, …).

A JSON document appears whole or not at all. A folder counts as there when its mark is, which is written last, so that a
machine that died while it wrote leaves nothing that is read.
"""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tiltmeter.errors import RunError, TiltmeterError, UsageError
from tiltmeter.storage.files import json_text, write_json

T = TypeVar("T")
WHOLE, CHECK = "whole.mark", "check"

CREDENTIALS = (
    " Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or what your storage asks for, and run again."
)


class Depot:
    """Documents and folders by name."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        try:
            self.files, self.root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise UsageError(
                f"{url} needs a package that is not installed: {error} (for s3: pip install s3fs).",
                code="missing-package",
                url=url,
            ) from None
        except (ValueError, OSError) as error:
            raise UsageError(
                f"{url} cannot be used as storage: {error}.", code="unusable-storage", url=url, reason=str(error)
            ) from None
        self.local = "file" in _protocols(self.files)

    def check(self) -> str:
        """Write and read a small document, so that a bad place is reported before any work. Return the token in it."""
        before = self.read(CHECK)
        token = str(before["token"]) if isinstance(before, dict) and "token" in before else uuid.uuid4().hex
        self.write(CHECK, {"token": token})
        if self.read(CHECK) != {"token": token}:
            raise RunError(
                f"{self.url} cannot be used as storage: a file that was written there could not be read back.",
                code="unusable-storage",
                url=self.url,
            )
        return token

    def expect(self, token: str | None) -> None:
        """Raise an error if the token is not there, as in a local folder of the same name on another machine."""
        if token is not None and self.read(CHECK) != {"token": token}:
            raise RunError(
                f"{socket.gethostname()} does not see the storage {self.url}. Name one in the experiment file that all "
                'machines reach: storage = "s3://…", or a folder that they share.',
                code="unusable-storage",
                url=self.url,
                machine=socket.gethostname(),
            )

    def write(self, name: str, value: Any) -> None:
        """A JSON document, whole."""
        if self.local:
            write_json(Path(self._at(f"{name}.json")), value)
            return
        text = json_text(value, None)
        self._try(lambda: self.files.pipe_file(self._at(f"{name}.json"), text.encode("utf-8")))

    def read(self, name: str) -> Any:
        """A document, or None if it is not there or is no JSON."""
        try:
            return json.loads(self._try(self._reading(f"{name}.json")) or "null")
        except ValueError:
            return None

    def list(self, name: str) -> list[str]:
        """The names of the documents in a folder."""
        found = self._try(lambda: self._now().find(self._at(name)))
        return sorted(place.rpartition("/")[2].removesuffix(".json") for place in found if place.endswith(".json"))

    def has(self, name: str) -> bool:
        """Return True if a folder is stored completely."""
        return bool(self._try(lambda: self._now().exists(self._at(f"{name}/{WHOLE}"))))

    def put(self, folder: Path, name: str) -> None:
        """Copy a folder of this machine here. One that is there already stays: equal names hold equal things."""
        if self.has(name):
            return
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            self.put_file(path, f"{name}/{path.relative_to(folder).as_posix()}")
        self._try(lambda: self.files.pipe_file(self._at(f"{name}/{WHOLE}"), b"1"))

    def put_file(self, path: Path, name: str) -> None:
        """Copy one file of this machine here."""
        if self.local:
            Path(self._at(name)).parent.mkdir(parents=True, exist_ok=True)
        self._try(lambda: self.files.put_file(str(path), self._at(name)))

    def get(self, name: str, folder: Path) -> None:
        """Copy a folder from here to this machine."""
        for place in self._try(lambda: self._now().find(self._at(name))):
            inner = place[len(self._at(name)) :].lstrip("/")
            if inner == WHOLE:
                continue
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            self._get(place, folder / inner)

    def drop(self, name: str) -> None:
        """Remove a folder."""
        if self._try(lambda: self._now().exists(self._at(name))):
            self._try(lambda: self.files.rm(self._at(name), recursive=True))

    def _get(self, place: str, path: Path) -> None:
        self._try(lambda: self.files.get_file(place, str(path)))

    def _reading(self, name: str) -> Callable[[], bytes | None]:
        def read() -> bytes | None:
            try:
                return bytes(self.files.cat_file(self._at(name)))
            except FileNotFoundError:
                return None

        return read

    def _now(self) -> Any:
        """The files without listings from before: other machines add to them."""
        self.files.invalidate_cache()
        return self.files

    def _at(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def _try(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except TiltmeterError:
            raise
        except Exception as error:  # every store has errors of its own: botocore's, google's, …
            reason = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
            hint = CREDENTIALS if "credential" in f"{type(error).__name__} {reason}".lower() else ""
            raise RunError(
                f"The storage {self.url} is unreachable: {reason}.{hint}",
                code="unusable-storage",
                url=self.url,
                reason=reason,
            ) from None


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)

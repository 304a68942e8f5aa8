"""Location of a dataset's file: explicit path, data folder, user cache or download; else a message with instructions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compression import is_file, is_folder, require_file
from tiltmeter.storage.places import user_cache


@dataclass(frozen=True)
class Source:
    """A file that upstream publishes. `relative` is where it lies in a data folder; `sha256` pins the download."""

    relative: str
    url: str
    sha256: str


def require_path(benchmark: str, path: str | Path | None, example: str) -> Path:
    """Return the path of the user's file. Raise an error with an example if there is none."""
    if path is None:
        raise UsageError(
            f"The benchmark '{benchmark}' needs your file: {example}.",
            code="missing-value",
            benchmark=benchmark,
            argument="path",
        )
    return Path(path)


def locate(source: Source, path: str | Path | None, data_dir: str | Path | None) -> Path:
    """The first that exists of: path; data_dir or TILTMETER_DATA; the user cache; the verified download."""
    if path is not None:
        require_file(Path(path), pipes=True)
        return Path(path)
    data_dir = data_dir or os.environ.get("TILTMETER_DATA")
    if data_dir:
        if not is_folder(Path(data_dir)):
            raise UsageError(
                f"The data folder {data_dir} does not exist (--data-dir or TILTMETER_DATA).",
                code="missing-file",
                folder=str(data_dir),
                option="--data-dir",
            )
        candidate = Path(data_dir) / source.relative
        if is_file(candidate):
            return candidate
    cached = user_cache() / "data" / source.relative
    if cached.is_file():
        return cached
    return _download(source, cached, data_dir)


def _download(source: Source, target: Path, data_dir: str | Path | None) -> Path:
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.ERROR)
    try:
        pooch.retrieve(source.url, f"sha256:{source.sha256}", fname=target.name, path=target.parent)
    except ValueError as error:  # pooch: the hash differs
        raise InputError(
            f"The download of {source.url} is not the file it should be: {error}",
            code="changed-file",
            url=source.url,
            error=str(error),
        ) from None
    except OSError as error:  # requests' errors are OSErrors too
        raise InputError(
            f"{source.relative} was not found and could not be downloaded ({type(error).__name__}). "
            f"Fetch {source.url} on a machine with a network (sha256 {source.sha256}) and put it at "
            f"{Path(data_dir) / source.relative if data_dir else target}, or give its path.",
            code="missing-file",
            file=str(source.relative),
            url=source.url,
            error=type(error).__name__,
        ) from None
    return target

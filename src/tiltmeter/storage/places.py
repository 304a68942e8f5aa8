"""Places on this machine: the user's cache, or the folder that was given instead."""

from __future__ import annotations

import os
from pathlib import Path


def at_home(path: str | Path) -> Path:
    """Expand `~` to the home folder. An unknown user's `~name` stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (that of Path raises where there is no such user)


def beside(place: Path, folder: Path) -> str:
    """Write a place relative to a folder, so that both can be moved together; absolute on another drive.

    >>> beside(Path("runs/old"), Path("runs/new"))
    '../old'
    """
    try:
        return Path(os.path.relpath(place.resolve(), folder.resolve())).as_posix()
    except ValueError:
        return str(place.absolute())


def user_cache() -> Path:
    """Folder for downloads, observations and cells: TILTMETER_CACHE, or the platform's cache folder."""
    if chosen := os.environ.get("TILTMETER_CACHE"):
        return at_home(chosen)
    import pooch

    return Path(pooch.os_cache("tiltmeter"))


def cache_folder(cache: bool | str | Path) -> Path | None:
    """The user's cache, the folder given, or none."""
    if cache is False:
        return None
    return user_cache() if cache is True else Path(cache)


def observations_folder(cache: bool | str | Path) -> Path | None:
    """The folder of all token observations in the cache."""
    folder = cache_folder(cache)
    return folder and folder / "observations"

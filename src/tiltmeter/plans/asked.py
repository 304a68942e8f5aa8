"""What a cell was asked, told so that machines can compare it: contents instead of paths, no device, no library.

A finished cell whose question has not changed since is not made again, wherever it was made. Some options only say what is
done with answers that are there (who judges the texts): where nothing else changed, the answers are taken and that is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiltmeter.families.kit.seam import find_family
from tiltmeter.models.hashing import digest_file, weight_files
from tiltmeter.models.places import EMBEDDED
from tiltmeter.plans.beside import PLACE
from tiltmeter.plans.cells import PlannedCell
from tiltmeter.plans.file import StudyFile
from tiltmeter.plans.variants import StudyModel
from tiltmeter.runs.options import FamilyOptions

Told = Mapping[str, Any]
LATER = "later"


def asked_of(study: StudyFile, cell: PlannedCell) -> dict[str, Any]:
    """The question of a cell. What cannot be told on this machine, because the file is elsewhere, is None."""
    options = vars(FamilyOptions.read(study.asks[cell.ask].options)[cell.family])
    later = getattr(find_family(cell.family), "LATER", ())
    run = study.run_options()
    return {
        "model": told_model(study.model(cell.model)),
        "data": cell.data,
        "family": cell.family,
        "options": {name: _content(value) for name, value in options.items() if name not in later},
        "precision": run.precision,
        "seed": run.settings.seed,
        LATER: {name: _content(value) for name, value in options.items() if name in later},
    }


def is_same(one: Any, other: Any) -> bool:
    """Whether two tell the same, as far as both can tell."""
    if one is None or other is None:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def is_same_but_for_later(one: Told, other: Told) -> bool:
    """Whether the same was asked, so that answers to the one will do for the other once they are judged."""
    return bool(one[LATER]) and is_same(_without_later(one), _without_later(other))


def _without_later(told: Told) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != LATER}


def told_model(model: StudyModel) -> dict[str, Any]:
    """A model by its weights, or, where it is no folder of this machine, by its name alone."""
    folder = EMBEDDED.get(model.source, Path(model.source))
    files = [folder] if folder.is_file() else [*weight_files(folder), *folder.glob("config.json")]
    weights = _digest(b"".join(digest_file(path) for path in files)) if files else None
    variant = asdict(model.variant) if model.variant else {}
    return {"name": model.name, "kind": model.kind or "", "weights": weights, "variant": _content(variant)}


def _content(value: Any) -> Any:
    """An option as any machine would tell it: a file or folder by its content, None if it should be one and is not here."""
    if isinstance(value, Mapping):
        return {str(name): _content(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_content(one) for one in value]
    if not isinstance(value, str | Path):
        return value
    before, place, after = PLACE.fullmatch(str(value)).groups(default="")  # type: ignore[union-attr]
    path = Path(place)
    if "/" not in place or not (path.is_absolute() or before or isinstance(value, Path)):
        return str(value)
    if not path.exists():
        return None
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    names = "" if path.is_file() else " ".join(one.relative_to(path).as_posix() for one in files)
    return f"{before}{_digest(names.encode() + b''.join(map(digest_file, files)))}{after}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]

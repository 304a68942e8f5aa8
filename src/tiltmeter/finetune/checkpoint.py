"""The checkpoint, of which there is one, and the log, which says no more than the checkpoint knows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.errors import RunError

LOG, CHECKPOINT = "log.jsonl", "checkpoint.pt"


def save(folder: Path, state: Mapping[str, Any], name: str = CHECKPOINT) -> None:
    """Written whole or not at all: a killed training keeps its last checkpoint."""
    import torch

    part = folder / f"{name}.part"
    torch.save(dict(state), part)
    part.replace(folder / name)


def load(
    folder: Path, device: str, made_from: Mapping[str, Any], parts: Iterable[str], name: str = CHECKPOINT
) -> dict[str, Any] | None:
    """The last one, if there is one. The log forgets the steps after it, which will be done again."""
    path = folder / name
    state = _read(path, device, {*parts}) if path.is_file() else None
    if state is not None:
        refuse_others(state["made_from"], made_from, path)
    _forget_after(state["step"] if state else 0, folder / LOG)
    return state


def refuse_others(stored: Mapping[str, Any], wanted: Mapping[str, Any], place: Path) -> None:
    """Raise an error for a checkpoint of another recipe: two halves of different trainings make no model."""
    if others := [name for name in wanted if stored.get(name) != wanted[name]]:
        raise RunError(
            f"{place} was made with another {' and another '.join(others)}: give another output folder, or delete it.",
            code="output-exists",
            file=place,
            differs=others,
        )


def _read(path: Path, device: str, parts: set[str]) -> dict[str, Any]:
    import torch

    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        if state.keys() != parts:
            raise KeyError
    except Exception as error:  # a damaged file fails in many ways
        raise RunError(
            f"{path} is damaged ({type(error).__name__}): delete it to begin again.",
            code="damaged-file",
            file=path,
            reason=type(error).__name__,
        ) from None
    return state


def log(folder: Path, *rows: Mapping[str, Any]) -> None:
    """One more line for each."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Every line."""
    path = folder / LOG
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def _forget_after(step: int, path: Path) -> None:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    path.write_text("".join(f"{line}\n" for line in lines if _is_until(step, line)), "utf-8")


def _is_until(step: int, line: str) -> bool:
    try:
        return bool(json.loads(line)["step"] <= step)
    except ValueError:  # half a line: killed while writing it, so after the checkpoint
        return False

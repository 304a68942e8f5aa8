"""The checkpoint, of which there is one, and the log, which says no more than the checkpoint knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from tiltmeter.errors import TiltmeterError
from training.prepare import refuse_others

LOG = "log.jsonl"
PARTS = {"made_from", "step", "steps", "seconds", "model", "optimizers"}


def save(folder: Path, state: dict[str, Any]) -> None:
    """Written whole or not at all: a killed training keeps its last checkpoint."""
    part = folder / "checkpoint.part"
    torch.save(state, part)
    part.replace(folder / "checkpoint.pt")


def load(folder: Path, device: str, made_from: dict[str, Any]) -> dict[str, Any] | None:
    """The last one, if there is one. The log forgets the steps after it, which will be done again."""
    path = folder / "checkpoint.pt"
    state = _read(path, device) if path.is_file() else None
    if state is not None:
        refuse_others(state["made_from"], made_from, path)
    _forget_after(state["step"] if state else 0, folder / LOG)
    return state


def _read(path: Path, device: str) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        if state.keys() != PARTS:
            raise KeyError
    except Exception as error:  # a damaged file fails in many ways
        raise TiltmeterError(f"{path} is damaged ({type(error).__name__}): delete it to begin again.") from None
    return state


def log(folder: Path, row: dict[str, Any]) -> None:
    """One more line."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _forget_after(step: int, path: Path) -> None:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    path.write_text("".join(f"{line}\n" for line in lines if _is_until(step, line)), "utf-8")


def _is_until(step: int, line: str) -> bool:
    try:
        return bool(json.loads(line)["step"] <= step)
    except ValueError:  # half a line: killed while writing it, so after the checkpoint
        return False

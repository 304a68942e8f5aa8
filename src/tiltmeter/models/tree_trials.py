"""Stored results of trials of prefix trees: the trial of a large model takes a second, and ends the same way each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.hashing import digest_json
from tiltmeter.models.identity import ModelIdentity
from tiltmeter.models.prefix_trees import NOT_FINITE, reason_against
from tiltmeter.storage.files import write_json
from tiltmeter.storage.places import user_cache

if TYPE_CHECKING:
    from tiltmeter.models.lm_head import BodyAndHead

LARGE = 10**9
"""Parameters from which on a result is stored."""
VERSION = 1
"""Raise it by hand when a trial may end differently."""


def stored_trial(loaded_as: ModelIdentity | None) -> Callable[[BodyAndHead], str | None]:
    """The trial of a model that was loaded from files: its stored result, where it was tried before.

    A result holds for the same weights, settings, precision, libraries and device.
    """

    def reason(parts: BodyAndHead) -> str | None:
        if loaded_as is None or sum(one.numel() for one in parts.module.parameters()) < LARGE:
            return reason_against(parts)
        facts = {"model": loaded_as.describe(), **_surroundings(parts), "version": VERSION}
        file = user_cache() / "trials" / f"{digest_json(facts)}.json"
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            stored = json.loads(file.read_text("utf-8"))
            if stored["facts"] == facts and isinstance(stored["reason"], str | None):
                stored_reason: str | None = stored["reason"]
                return stored_reason
        tried = reason_against(parts)
        if tried != NOT_FINITE:
            with suppress(TiltmeterError):  # a cache that cannot be written only costs time
                write_json(file, {"facts": facts, "reason": tried})
        return tried

    return reason


def _surroundings(parts: BodyAndHead) -> dict[str, str]:
    import torch
    import transformers

    on_gpu = parts.device.type == "cuda"
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "attention": str(getattr(parts.module.config, "_attn_implementation", None)),
        "device": torch.cuda.get_device_name(parts.device) if on_gpu else parts.device.type,
    }

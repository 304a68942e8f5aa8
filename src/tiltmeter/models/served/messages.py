"""Requests and what comes back where there is no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request without its credentials. `path` is below the server's URL, or below its root if it begins with `/`."""

    path: str
    body: Mapping[str, Any]
    characters: int = 0
    new_tokens: int = 1


@dataclass(frozen=True)
class Missing:
    """Why a request has no answer. `is_final`: the server would refuse it again."""

    reason: str
    is_final: bool = False


Parse = Callable[[Mapping[str, Any]], Any]
"""Reads an answer from JSON; raises TransientError for one that is malformed."""

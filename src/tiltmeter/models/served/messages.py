"""Requests and what comes back where there is no answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request without its credentials. `path` is below the server's URL, or below its root if it begins with `/`."""

    path: str
    body: Mapping[str, Any]
    characters: int = 0
    new_tokens: int = 1

    @cached_property
    def encoded(self) -> bytes:
        """The body as it is sent."""
        return json.dumps(dict(self.body), sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")

    @property
    def key(self) -> str:
        """A name of everything that is sent but credentials. No prompt can be read from it."""
        return hashlib.sha256(b"[%s, %s]" % (json.dumps(self.path).encode(), self.encoded)).hexdigest()[:32]


@dataclass(frozen=True)
class Missing:
    """Why a request has no answer. `is_final`: the server would refuse it again."""

    reason: str
    is_final: bool = False


Parse = Callable[[Mapping[str, Any]], Any]
"""Reads an answer from JSON; raises TransientError for one that is malformed."""

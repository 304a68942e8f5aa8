"""Reading a response: its JSON, or why there is none and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from tiltmeter.errors import ServerError
from tiltmeter.models.served.address import Address

CROWDED = (429, 503)
TRANSIENT = (408, 409, 425, 500, 502, 504, 520, 522, 524, *CROWDED)
UNAUTHORIZED = (401, 403)
LONGEST_WAIT = 300.0
SHOWN = 200
"""Characters of a server's message that are repeated."""
HIDDEN = "[hidden]"


class TransientError(Exception):
    """A failure that may pass: the request is sent again. `wait`: seconds that the server asks for."""

    def __init__(self, reason: str, *, wait: float | None = None, crowded: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.crowded = wait, crowded


class RejectedError(Exception):
    """The server refuses this request for good; it would refuse it again."""


def read_response(response: Any, address: Address, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON object of a response. A server's message is repeated without `secrets`: some quote the key.

    Raises:
        TransientError: for what may pass.
        RejectedError: for a request that the server will never accept.
        ServerError: for a wrong key, an unknown model, and a page instead of an answer.
    """
    status = int(response.status_code)
    content = _object(response)
    message = _message(content, secrets)
    if status in UNAUTHORIZED:
        raise ServerError(
            f"{address.url} refuses the key ({status}). Put the right one into the environment variable "
            f"{address.key_variable}.",
            code="wrong-key",
            url=address.url,
            status=status,
        )
    if status in TRANSIENT:
        wait = _seconds(response.headers.get("retry-after"))
        raise TransientError(f"the server answered {status}{message}", wait=wait, crowded=status in CROWDED)
    if status >= 400:
        _refuse_unknown_model(status, message, address)
        raise RejectedError(f"the server refused the request ({status}{message})")
    if content is None:
        raise TransientError(f"the server answered {_kind(response)} instead of JSON")
    if content.get("error"):
        raise TransientError(f"the server answered {status} with an error{message}")
    return content


def is_page(response: Any) -> bool:
    """Return whether a response is a web page, as of a proxy or a login."""
    return "html" in str(response.headers.get("content-type", "")).lower() or response.text.lstrip()[:1] == "<"


def not_json(address: Address) -> ServerError:
    """Return the error for a server that answers with pages."""
    return ServerError(
        f"{address.url} answers with a web page instead of JSON: a proxy, a login, or the wrong path (it usually ends in "
        "/v1).",
        code="not-json",
        url=address.url,
    )


def _refuse_unknown_model(status: int, message: str, address: Address) -> None:
    about_model = "model" in message.lower() and any(
        word in message.lower() for word in ("not exist", "not found", "unknown", "no such")
    )
    if status == 404 and about_model:
        raise ServerError(
            f"{address.url} has no model '{address.model}'. `curl {address.url}/models` lists those it has.",
            code="unknown-model",
            url=address.url,
            model=address.model,
        )


def _object(response: Any) -> dict[str, Any] | None:
    try:
        content = json.loads(response.content)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _message(content: dict[str, Any] | None, secrets: Sequence[str]) -> str:
    if content is None:
        return ""
    error = content.get("error") or content.get("message") or content.get("detail") or ""
    text = str(error.get("message", "")) if isinstance(error, dict) else str(error)
    for secret in filter(None, secrets):
        text = text.replace(secret, HIDDEN)
    return f": {' '.join(text.split())[:SHOWN]}" if text else ""


def _kind(response: Any) -> str:
    return "a web page" if is_page(response) else "an incomplete or other text"


def _seconds(text: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date.

    >>> _seconds("3"), _seconds("soon")
    (3.0, None)
    """
    if text is None:
        return None
    try:
        wait = float(text)
    except ValueError:
        try:
            wait = parsedate_to_datetime(text).timestamp() - time()
        except (TypeError, ValueError):
            return None
    return min(max(wait, 0.0), LONGEST_WAIT)

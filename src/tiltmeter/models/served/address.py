"""The address of a served model: `http://host:port/v1#NAME` or `openai:NAME`, and where its key is read from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tiltmeter.errors import UsageError

SCHEMES = ("http://", "https://")
OPENAI = "openai:"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY, OTHER_KEY = "OPENAI_API_KEY", "TILTMETER_API_KEY"
"""Environment variables with keys. OpenAI's key is never sent to another server."""
EXAMPLE = "http://localhost:8000/v1#NAME"


@dataclass(frozen=True)
class Address:
    """The URL of a server without credentials, the name of a model there, and the variable that holds the key."""

    url: str
    model: str
    key_variable: str = OTHER_KEY

    @property
    def root(self) -> str:
        """The URL without `/v1`, where servers keep their own fields."""
        return self.url.removesuffix("/v1")

    @property
    def source(self) -> str:
        """The address as a user would type it."""
        return f"{self.url}#{self.model}"

    @property
    def key(self) -> str | None:
        """The key of the server; read when it is sent, and stored nowhere."""
        return os.environ.get(self.key_variable) or None


def is_served(name: str | Path) -> bool:
    """Return whether a name is the address of a served model.

    >>> is_served("http://localhost:8000/v1#m"), is_served("openai:gpt-4o"), is_served("plumb-clm")
    (True, True, False)
    """
    return str(name).lower().startswith((*SCHEMES, OPENAI))


def parse_address(name: str | Path) -> Address:
    """Read the address of a served model.

    Raises:
        UsageError: it has credentials, no host, or no model.
    """
    text = str(name)
    if text.lower().startswith(OPENAI):
        url, model = os.environ.get("OPENAI_BASE_URL") or OPENAI_URL, text[len(OPENAI) :]
        return _checked(url, model, OPENAI_KEY)
    url, _, model = text.partition("#")
    return _checked(url, model, OTHER_KEY)


def parse_url(url: str, model: str) -> Address:
    """Read the URL of a server (or `openai:`) and the name of a model there."""
    if url.lower().startswith(OPENAI):
        return parse_address(f"{OPENAI}{model}")
    return _checked(url, model, OTHER_KEY)


def _checked(url: str, model: str, key_variable: str) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"A served model is an address such as {EXAMPLE}.", code="wrong-format")
    if parts.username or parts.password or parts.query:
        raise UsageError(
            f"The address of {host} has credentials in it, which would end up in files and logs. Put the key into the "
            f"environment variable {key_variable}, and leave it out of the address.",
            code="credentials-in-url",
            host=host,
        )
    shown = f"[{host}]" if ":" in host else host
    place = f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
    if not model.strip():
        raise UsageError(f"Which model of {place}? Add its name: {place}#NAME.", code="missing-value", url=place)
    return Address(place, model.strip(), key_variable)

"""Which server answers, in which version: by the list of its models and a page that each kind of server has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import ServerError
from tiltmeter.models.served.connection import Connection

KINDS = {
    "vllm": ("vLLM", "/version", ("version",)),
    "llamacpp": ("llama.cpp", "/props", ("build_info",)),
    "sglang": ("SGLang", "/get_server_info", ("version",)),
    "library": ("Ollama", "/api/version", ("version",)),
    "openai": ("OpenAI", "", ()),
}
"""`owned_by` in the list of models → name, page with the version, and the field of that page."""
OTHER = "OpenAI-compatible"


@dataclass(frozen=True)
class Server:
    """The name of a server's software and its version; empty where it does not say."""

    name: str = OTHER
    version: str = ""


def describe_server(connection: Connection) -> Server:
    """Find out which server answers.

    Raises:
        ServerError: nothing answers, it answers with pages, or the model is not among those that it lists.
    """
    listed = connection.get("models").get("data")
    models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    names, address = [str(one.get("id", "")) for one in models], connection.address
    owner = next((str(one.get("owned_by") or "") for one in models if str(one.get("id")) == address.model), "")
    owner = owner or next((str(one.get("owned_by") or "") for one in models), "")
    known = KINDS.get("openai" if owner in ("openai", "system", "openai-internal") else owner.lower())
    if names and address.model not in names and not _is_alias(address.model, names):
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise ServerError(
            f"{address.url} has no model '{address.model}'. It has {shown}.",
            code="unknown-model",
            url=address.url,
            model=address.model,
            models=names[:10],
        )
    if known is None:
        return Server()
    name, page, path = known
    version: Any = connection.get(page) if page else {}
    for field in path:
        version = version.get(field, "") if isinstance(version, dict) else ""
    return Server(name, str(version or "")[:80])


def _is_alias(name: str, names: list[str]) -> bool:
    """Ollama lists `name:latest` for `name`."""
    return any(listed == f"{name}:latest" for listed in names)

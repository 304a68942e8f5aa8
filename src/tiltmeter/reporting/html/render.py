"""Shared parts of all pages: templates, style, scripts, and the hash of the only script that may run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files as resources
from typing import Any

from tiltmeter import __version__
from tiltmeter.display import visible


def render(template: str, variables: dict[str, Any], script: str) -> str:
    """A page as text: one file, with its style and its script inside."""
    frame = {"style": resource("style.css"), "script": script, "script_hash": _hash(script), "version": __version__}
    return visible(_environment().get_template(template).render(variables | frame))


@cache
def resource(name: str) -> str:
    """A file that lies beside this one."""
    return (resources("tiltmeter.reporting.html") / name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tiltmeter.reporting.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def _hash(script: str) -> str:
    """The hash of the only script that may run in the page, so that no sentence can inject another."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")

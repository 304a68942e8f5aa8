"""First steps and versions of the program."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from tiltmeter import __version__

FIRST_STEPS = """\
tiltmeter measures how far a language model leans. Try first:

  tiltmeter run                   two small embedded models; needs no network
  tiltmeter open last             the report of that run, in your browser
  tiltmeter run -m MODEL          a model of yours: a hub id or a folder
  tiltmeter list benchmarks       benchmarks that models can be measured on

All commands: tiltmeter --help
Completion of commands in your shell: tiltmeter --install-completion"""


def versions() -> str:
    """tiltmeter's version and those of the libraries that decide its numbers; none of them is imported."""
    found = [f"tiltmeter {__version__}"]
    for name in ("torch", "transformers"):
        try:
            found.append(f"{name} {installed(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not installed")
    return ", ".join(found)

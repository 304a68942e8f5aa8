"""A served model: a model behind a server, with the capabilities that the probe has shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiltmeter.errors import ServerError
from tiltmeter.models.identity import ModelIdentity
from tiltmeter.models.served.address import OPENAI_KEY, Address, parse_address
from tiltmeter.models.served.checks import NOISIEST
from tiltmeter.models.served.connection import Connection
from tiltmeter.models.served.dialects import Writing
from tiltmeter.models.served.journal import FOLDER, Journal
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.models.served.probe import Probe, probe_server
from tiltmeter.models.served.prober import SENTENCES, Prober, total
from tiltmeter.models.served.requests import Asker
from tiltmeter.storage.places import cache_folder

DRIFT = 0.25
"""Nats by which the probe's sentence may differ at the end of a benchmark, beyond the noise of repeats."""


class ServedModel:
    """A model behind an HTTP server. It reads from left to right, so that it counts as causal."""

    def __init__(self, connection: Connection, probe: Probe) -> None:
        self.connection, self.probe = connection, probe
        self.name = self.address.model
        self.kind = "causal"
        self.uncacheable: str | None = None

    @property
    def address(self) -> Address:
        """Where it is."""
        return self.connection.address

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities that the probe has shown, and labels of texts, which a prompt requests."""
        return self.probe.abilities | {"classes"}

    @property
    def limits(self) -> str:
        """Why it can do no more, in a clause; empty if it passed all checks of prompts."""
        return "" if self.probe.capability == "prompt" else self.probe.reason

    @property
    def first_token(self) -> str | None:
        """The token that stands before every text."""
        return self.probe.first_token

    @property
    def writing(self) -> Writing:
        """How it writes: completions, or chats where it has nothing else."""
        found = self.probe.completion or self.probe.chat
        assert found is not None
        return found

    @property
    def identity(self) -> ModelIdentity:
        """Address, name, version, capability, passed checks and first token; not what differs between repeats."""
        passed = [check.name for check in self.probe.checks if check.passed]
        versions = self.probe.versions
        if self.address.key_variable == OPENAI_KEY:  # its machines have fingerprints of their own
            versions = tuple(sorted({(name, "") for name, _ in versions}))
        extra = {
            "url": self.address.url,
            "served_name": self.address.model,
            "version": f"{self.probe.server.name} {self.probe.server.version} {versions}",
            "capability": self.probe.capability,
            "checks": " ".join(passed),
            "first_token": str(self.first_token),
        }
        return ModelIdentity("", "", "", "", self.kind, extra)

    @property
    def facts(self) -> dict[str, Any]:
        """Return its description for the manifest. No key and no header is part of it."""
        return {
            "name": self.address.source,
            "kind": self.kind,
            "architecture": f"{self.probe.server.name} {self.probe.server.version}".strip(),
            "capability": self.probe.capability,
            "versions": [list(version) for version in self.probe.versions],
            "probe": self.probe.describe(),
        }

    @contextmanager
    def asking(self, cache: bool | str | Path) -> Iterator[Asker]:
        """Open the journal of this model in a cache. At the end, check that the server still has the same model."""
        root = cache_folder(cache)
        with Journal(root and root / FOLDER / self.identity.digest) as journal:
            asker = Asker(self.connection, self.probe, journal)
            yield asker
            if asker.sent:
                self.verify()

    def verify(self) -> None:
        """Ask a sentence of the probe again, or its question where prompts are not shown.

        Raises:
            ServerError: the server gives it another log-probability: it has another model now (`model-changed`).
        """
        probe, prober = self.probe, Prober(self.connection, dialect=self.probe.dialect)
        if not math.isfinite(probe.reference):
            return
        shows_prompts = probe.capability == "prompt"
        now = total(prober.score(SENTENCES[0])) if shows_prompts else prober.first_of(self.writing)
        if not abs(now - probe.reference) <= DRIFT + 4 * min(probe.noise, NOISIEST):
            what = "a sentence" if shows_prompts else "the first token of an answer"
            raise self.connection.changed(f"{what} had {probe.reference:.4f} and now has {now:.4f}")


def load_served(name: str | Path, options: ServerOptions | None = None) -> ServedModel:
    """Connect to a served model and probe it.

    Raises:
        ServerError, UsageError: the address is wrong, nothing answers, the server refuses the key or the model, or it gives
            every question the same answer.
    """
    connection = Connection(parse_address(name), options or ServerOptions())
    probe = probe_server(connection)
    if any(check.name == "varies" and not check.passed for check in probe.checks):
        raise ServerError(
            f"{connection.address.source} gives every question the same answer. Is it a model, or a stand-in?",
            code="same-answers",
            url=connection.address.url,
        )
    return ServedModel(connection, probe)

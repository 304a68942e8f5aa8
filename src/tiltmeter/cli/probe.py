"""`tiltmeter probe URL --model NAME`: what a server can be believed about."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tiltmeter.cli.console import note, print_data, say
from tiltmeter.cli.options import FirstToken, Headers
from tiltmeter.cli.show import print_grids
from tiltmeter.display import significant_text

Url = Annotated[
    str, typer.Argument(help="URL of an OpenAI-compatible server, such as http://localhost:8000/v1; or openai:.")
]
Name = Annotated[str, typer.Option("-m", "--model", help="The model's name on the server.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for a reply.")]
CAPABILITY = {
    "prompt": "log-probabilities of whole texts: supports pairs, choices, generations and labels",
    "chosen": "log-probabilities of chosen tokens: supports choices, generations and labels",
    "top-k": "the likeliest tokens: supports choices (letters), generations and labels",
    "text": "text alone: supports choices (generated), generations and labels",
}


def probe(
    url: Url,
    model: Name,
    as_json: Json = False,
    header: Headers = None,
    timeout: Timeout = 60.0,
    first_token: FirstToken = None,
) -> None:
    """Probe a server: which log-probabilities it returns, and whether they are correct."""
    from tiltmeter.models.served import Connection, ServerOptions, parse_url, probe_server
    from tiltmeter.reporting.terminal import listed

    options = ServerOptions(timeout=timeout, headers=tuple(header or ()), first_token=first_token)
    found = probe_server(Connection(parse_url(url, model), options))
    if as_json:
        print_data(json.dumps(found.describe(), ensure_ascii=False))
        return
    rows = [{"check": one.name, "passed": "yes" if one.passed else "no", "detail": one.detail} for one in found.checks]
    print_grids([listed(rows)])
    say(f"Capability: {found.capability} ({CAPABILITY[found.capability]}).")
    if found.capability != "prompt":
        say(f"Reason: {found.reason}.")
    server = " ".join(filter(None, (found.server.name, found.server.version)))
    noise = "" if found.dialect is None else f"; two repeats differ by {significant_text(found.noise, 2)}"
    note(f"{server}; {found.requests} requests{noise}.")

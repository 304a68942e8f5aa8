"""Served models: a model behind an HTTP server, probed before it is believed.

`load_served` connects and probes; `ServedModel` sends requests. Nothing here stores a key.
"""

from tiltmeter.models.served.address import Address, is_served, parse_address, parse_url
from tiltmeter.models.served.connection import Connection
from tiltmeter.models.served.dialects import Scored, Writing, Written
from tiltmeter.models.served.messages import Missing
from tiltmeter.models.served.model import ServedModel, load_served
from tiltmeter.models.served.options import ServerOptions
from tiltmeter.models.served.probe import Probe, probe_server
from tiltmeter.models.served.requests import Asker

__all__ = [
    "Address", "Asker", "Connection", "Missing", "Probe", "Scored", "ServedModel", "ServerOptions", "Writing", "Written",
    "is_served", "load_served", "parse_address", "parse_url", "probe_server",
]  # fmt: skip

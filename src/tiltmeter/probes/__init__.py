"""Probes: queries to a model become a tidy table of observations. Inference and analysis are separate."""

from __future__ import annotations

from tiltmeter.probes.likelihood import Block, LikelihoodProbe
from tiltmeter.probes.sentences import ALIGNMENTS
from tiltmeter.probes.served import ServedProbe
from tiltmeter.probes.views import VIEWS, View, find_view
from tiltmeter.probes.work import Advance, Work

__all__ = ["ALIGNMENTS", "VIEWS", "Advance", "Block", "LikelihoodProbe", "ServedProbe", "View", "Work", "find_view"]

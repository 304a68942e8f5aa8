"""Probes: items and a model become a tidy table of observations. Asking is kept apart from judging."""

from __future__ import annotations

from tiltmeter.probes.likelihood import Block, LikelihoodProbe, Work
from tiltmeter.probes.sentences import ALIGNMENTS
from tiltmeter.probes.slots import SlotsProbe
from tiltmeter.probes.views import VIEWS, View

__all__ = ["ALIGNMENTS", "VIEWS", "Block", "LikelihoodProbe", "SlotsProbe", "View", "Work"]

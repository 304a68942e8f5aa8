"""Judges of a text: its sentiment, toxicity, regard, stereotypes. One file each; `find_judge` finds them.

A judge makes mistakes of its own. Where they were measured (`tiltmeter train classifier` measures them), they travel with
every score that it gives.
"""

from __future__ import annotations

from tiltmeter.judges.kit.judge import Judge, Spec, Verdicts
from tiltmeter.judges.kit.judge_lookup import find_judge, find_judges

__all__ = ["Judge", "Spec", "Verdicts", "find_judge", "find_judges"]

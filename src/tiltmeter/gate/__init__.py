"""The release gate: rules about a run's numbers become pass, fail or undecided, with intervals, for people and for CI."""

from __future__ import annotations

from tiltmeter.gate.decision import Decision
from tiltmeter.gate.judge import check
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.rules_file import RuleBook, read_rules

__all__ = ["Decision", "Rule", "RuleBook", "check", "read_rules"]

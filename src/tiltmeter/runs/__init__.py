"""Runs: models × benchmarks become cells, cells a run folder; and reading one or several back."""

from __future__ import annotations

from tiltmeter.execution.options import Options
from tiltmeter.runs.reading import Run, load_answers, load_run

__all__ = ["Options", "Run", "load_answers", "load_run"]

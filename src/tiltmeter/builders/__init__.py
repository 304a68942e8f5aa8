"""Builders: labelled corpora that cannot be passed on become benchmarks on the user's own machine."""

from __future__ import annotations

from tiltmeter.builders.sexism import Built, Dropped, Stage, build_sexism

__all__ = ["Built", "Dropped", "Stage", "build_sexism"]

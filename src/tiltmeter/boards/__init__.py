"""Boards: any number of runs as one table of models and measures, with ranks and their uncertainty."""

from __future__ import annotations

from tiltmeter.boards.board import Board, leaderboard

__all__ = ["Board", "leaderboard"]

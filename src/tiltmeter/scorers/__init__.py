"""Scorers: observations become one score per sentence. Each scorer reads one view and is one small file."""

from __future__ import annotations

from tiltmeter.scorers.kit.tokens import Scored, Tokens, tokens_of

__all__ = ["Scored", "Tokens", "tokens_of"]

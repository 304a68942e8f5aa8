"""Scorers: observations become one score per sentence. A scorer is a sentence about a view; one small file each."""

from __future__ import annotations

from tiltmeter.scorers.kit.tokens import Scored, Tokens, tokens_of

__all__ = ["Scored", "Tokens", "tokens_of"]

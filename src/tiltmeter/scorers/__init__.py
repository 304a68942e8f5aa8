"""Scorers: observations become one score per sentence. Each scorer reads one view and is one small file.

`SCORER` in a scorer's file says which view it reads, and the version of its formula: an integer that whoever changes the
scores raises. `tests/test_versions.py` fails when scores change and the version does not.
"""

from __future__ import annotations

from tiltmeter.catalog.declarations import Scorer
from tiltmeter.scorers.kit.tokens import Scored, Tokens, tokens_of

__all__ = ["Scored", "Scorer", "Tokens", "tokens_of"]

"""Families: the kinds of questions that are put to a model.

One folder each, with one common interface, `Family` in `kit/protocol.py`.

Everything that differs between families is in the family's own folder; everything else is one loop that is the same for
all families. Other packages add theirs through the entry point `tiltmeter.families`.
"""

from __future__ import annotations

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import AskContext, Family, ModelInfo, all_families, family_of, find_family

__all__ = ["Answers", "AskContext", "Family", "ModelInfo", "all_families", "family_of", "find_family"]

"""Families: the kinds of questions one can ask a model. One folder each, behind one seam (`kit/seam.py`).

Everything that differs between families lives in the family's own folder; everything else is one loop that does not know
which family it runs. Other packages add theirs through the entry point `tiltmeter.families`.
"""

from __future__ import annotations

from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.seam import Family, How, Known, all_families, family_of, find_family

__all__ = ["Answers", "Family", "How", "Known", "all_families", "family_of", "find_family"]

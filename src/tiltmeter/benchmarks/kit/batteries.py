"""The benchmarks of an audit at each level, as far as their data are available and the model can answer them."""

from __future__ import annotations

QUICK = ("plumb-pairs", "plumb-slots")
DEFAULT = (*QUICK, "seat", "ilps", "plumb-choices", "crows-pairs", "stereoset")
FULL = (*DEFAULT, "winobias", "winogender", "bbq", "plumb-prompts", "bold", "hatexplain")
LEVELS = {"quick": QUICK, "default": DEFAULT, "full": FULL}

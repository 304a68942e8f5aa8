"""StereoSet per protected group, as Cao et al. (2022) use it: their groups, and the likelihood of the whole sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark
from tiltmeter.benchmarks.stereoset import stereoset
from tiltmeter.storage.compressed_rows import fold

CITATION = "Nadeem, Bethke and Reddy (2021), StereoSet, ACL (CC BY-SA 4.0); groups: Cao et al. (2022), ACL, Table 4."
DOMAINS = ("gender", "race", "religion")
LEFT_OUT = frozenset({"Yemen"})
"""In the data, and not among the 35 groups of their table."""
SCORERS = {"masked": ("pll",), "causal": ("causal",)}


def stereoset_groups(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
    stand_ins: bool = False,
) -> Benchmark:
    """The items about groups of Table 4: 10 of gender, 35 of race, 3 of religion. Use it with `--by group`.

    Masked models are scored by pll, causal ones by causal, unless scorers are named.
    """
    whole = stereoset(path, data_dir=data_dir, encoding=encoding, stand_ins=stand_ins)
    kept = fold(item for item in whole.asked_items if item.bias_type in DOMAINS and item.extra.get("group") not in LEFT_OUT)
    return replace(whole, name="stereoset-groups", items=kept, citation=CITATION, scorers=SCORERS)

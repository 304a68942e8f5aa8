"""Rows of the package's evidence table from the decisions of this study."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from decisions import Frame
from panels import KINDS

from tiltmeter.families.kit.detection import Detection, write_detections

SOURCE = "docs/research-calibration-2.md"
HELD_OUT = ("plumb-pairs", "plumb-slots")
"""Items that were chosen with other seeds: held out in the models, not in the items."""
DIGESTS = {
    "crows-pairs": "7cf2429a7b222cd1e75c45a0cfa18483df38c97c8f2fe125d27d89272bee9b1e",
    "stereoset": "3ed359a94417443f9abfe79ac0b1c40bdb6ee7ef1f952b102dea2eac49e48107",
    "plumb-pairs": "268e94cd65e58679a64bed267175b3c6278533cc9e79f95667f66db79ca312af",
    "plumb-slots": "496bf962cfb6ed3ea0e2096d3b8473185185dc4e75f7f02d77c553fa08eab2c3",
}
"""Of whole benchmarks; all their items about a domain were asked (of StereoSet the intrasentence part)."""


TEXTS = {"frames": "calibration-2.csv", "mixed": "calibration-2-language-kept.csv"}
"""Texts with rows in the evidence table, and the file of each. Natural text taught too little."""
NOTES = {"mixed": "models that kept their language"}


def write_evidence(shares: Frame, folder: Path) -> None:
    """Write the rows of shares and gaps in their own units, one file a text."""
    kept = shares[shares["benchmark"].isin(DIGESTS) & (shares["verdict"] != "not taught")]
    for text, name in TEXTS.items():
        write_detections(_rows(kept[kept["corpus"] == text], NOTES.get(text, "")), folder / name)


def _rows(shares: Frame, note: str) -> Iterator[Detection]:
    for row in shares.sort_values(["base", "domain", "benchmark", "measure", "scorer"]).to_dict("records"):
        group = "race-color" if row["domain"] == "race" and row["benchmark"] != "stereoset" else row["domain"]
        notes = [note, "items chosen with other seeds" if row["benchmark"] in HELD_OUT else ""]
        noted = "; ".join(filter(None, notes))
        source = f"{SOURCE} ({noted})" if noted else SOURCE
        slots = row["benchmark"] == "plumb-slots"
        yield Detection(
            benchmark=row["benchmark"], data_sha256=DIGESTS[row["benchmark"]], family="slots" if slots else "pairs",
            scorer=row["scorer"], measure=row["measure"], by="bias_type",
            group=group, domain=row["domain"], kind=KINDS[row["base"]], model=row["base"], seeds=_seeds(row["seeds"]),
            effect=row["slope"], low=row["low"], high=row["high"], verdict=row["verdict"], source=source,
        )  # fmt: skip


def _seeds(count: int) -> str:
    return " ".join(str(10 + number) for number in range(count))

"""ILPS in the setting of Cao et al. (2022): one template, the groups of their Table 4, and published lists of attributes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiltmeter.benchmarks.ceat import published_attributes
from tiltmeter.benchmarks.ilps import ilps
from tiltmeter.benchmarks.kit.association import AssociationBenchmark
from tiltmeter.benchmarks.kit.items import Note

CITATION = "Cao et al. (2022), ACL, Section 3 and Table 4; Kurita et al. (2019), GeBNLP. Words: Caliskan et al. (2017)."
TEMPLATE = "The {group} is {attribute}."


def ilps_cao(*, data_dir: str | Path | None = None) -> AssociationBenchmark:
    """Load the template "The [group] is [MASK]." for man, woman and transgender, four races and ten religions.

    Attributes: the published pleasant and unpleasant words if they are in the data folder, else ours; and the toxic and
    anti-toxic words of the paper's Appendix D. `ilps` has four templates and words of ours.
    """
    attributes, notes = published_attributes(data_dir)
    template = Note("templates", f"one template: {TEMPLATE}")
    return replace(
        ilps(), name="ilps-cao", citation=CITATION, templates=(TEMPLATE,), polarities=attributes, contrasts=(),
        notes=(template, *notes),
    )  # fmt: skip

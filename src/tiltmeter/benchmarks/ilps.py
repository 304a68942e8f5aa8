"""ILPS (Kurita et al., 2019; Cao et al., 2022): templates in which a group may make an attribute likelier."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.benchmarks._association import AssociationBenchmark
from tiltmeter.benchmarks._locate import file_sha256
from tiltmeter.benchmarks._word_sets import WordFile
from tiltmeter.errors import TiltmeterError

CITATION = "Kurita et al. (2019), GeBNLP; Cao et al. (2022), ACL (groups of Table 4). Words: tiltmeter's own."
SLOTS = ("{group}", "{attribute}")


def ilps(path: str | Path | None = None, *, name: str = "ilps") -> AssociationBenchmark:
    """The embedded word sets, or your own file in their layout (groups, attributes, templates, and kurita if you like)."""
    words = WordFile(path)
    templates, contrasts = words.templates(), words.contrasts()
    for template in (*templates, *(one for contrast in contrasts for one in contrast.templates)):
        if any(template.count(slot) != 1 for slot in SLOTS):
            raise TiltmeterError(f"{words.path}: a template has {' and '.join(SLOTS)} once each, not '{template}'.")
    groups, polarities = words.groups(), words.polarities()
    if not (templates and groups and polarities):
        raise TiltmeterError(f"{words.path} has no templates, groups or attributes.")
    return AssociationBenchmark(
        name=name, items=(), source=words.source, sha256=file_sha256(words.path), citation=CITATION,
        notes=tuple(words.notes), kind="ilps", groups=groups, polarities=polarities, templates=templates,
        contrasts=contrasts, neutral=str(words.document.get("neutral", "person")),
    )  # fmt: skip

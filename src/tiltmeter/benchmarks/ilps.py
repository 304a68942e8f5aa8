"""ILPS (Kurita et al., 2019; Cao et al., 2022): templates in which a group may make an attribute likelier."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.benchmarks.kit.association import AssociationBenchmark
from tiltmeter.benchmarks.kit.word_sets import WordFile
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256, title_of

CITATION = "Kurita et al. (2019), GeBNLP; Cao et al. (2022), ACL (groups of Table 4). Words: tiltmeter's own."
SLOTS = ("{group}", "{attribute}")


def ilps(words: str | Path | None = None) -> AssociationBenchmark:
    """The embedded word sets, or your own file in their layout (groups, attributes, templates, and kurita if you like)."""
    file = WordFile(words)
    templates, contrasts = file.templates(), file.contrasts()
    for template in (*templates, *(further for contrast in contrasts for further in contrast.templates)):
        if any(template.count(slot) != 1 for slot in SLOTS):
            raise InputError(
                f"{file.path}: a template needs {' and '.join(SLOTS)} once each: '{template}'.",
                code="wrong-format",
                file=str(file.path),
                template=template,
                slots=list(SLOTS),
            )
    groups, polarities = file.groups(), file.polarities()
    if not (templates and groups and polarities):
        raise InputError(
            f"{file.path} has no templates, groups or attributes.",
            code="missing-value",
            file=str(file.path),
            keys=["templates", "groups", "attributes"],
        )
    return AssociationBenchmark(
        name=title_of(Path(words)) if words else "ilps", items=(), source=file.source,
        sha256=content_sha256(file.path), citation=CITATION,
        notes=tuple(file.notes), kind="ilps", groups=groups, polarities=polarities, templates=templates,
        contrasts=contrasts, neutral=str(file.document.get("neutral", "person")),
    )  # fmt: skip

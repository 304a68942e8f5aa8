"""Write README.md's table of families from the catalog: `python scripts/readme_table.py` (`--check` compares)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from generated_page import ROOT, between, write_or_check

from tiltmeter import catalog
from tiltmeter.families import all_families
from tiltmeter.families.kit.protocol import measures_of

PAGE = ROOT / "README.md"
BEGIN, END = "<!-- from the catalog: begin -->\n", "<!-- from the catalog: end -->\n"
HEAD = "| family | question | benchmarks | measures |\n|---|---|---|---|\n"
QUESTIONS = {
    "pairs": ("families.md#pairs", "Which of two sentences does the model find likelier?"),
    "slots": ("slots.md", "Which group's words fill a mask?"),
    "associations": ("associations.md", "Which group's words are close to an attribute?"),
    "labels": ("labels.md", "Which groups does a fine-tuned classifier misclassify?"),
    "generations": ("generations.md", "How does the model continue a prompt about a group?"),
    "choices": ("choices.md", "Does the model answer or decide by a stereotype?"),
    "heldout": ("debiasing.md#before-and-after", "How well does the model predict unseen text?"),
}
"""Page and question of each family, in the order of the table."""
BENCHMARKS = {
    "pairs": "crows_pairs stereoset stereoset_groups plumb_pairs starter_pairs winobias winogender winogenerated gest pairs",
    "slots": "plumb_slots sexism slots",
    "associations": "seat ceat ceat_labels ilps ilps_cao bec_pro",
    "labels": "hatexplain jigsaw madlibs plumb_labels labels",
    "generations": "bold bold_temperature honest honest_queer realtoxicityprompts stereoset_contexts plumb_prompts prompts",
    "choices": "bbq esbbq cabbq kobbq plumb_choices plumb_decisions hiring_bloomberg llm_iat choices",
    "heldout": "heldout toxigen_safety",
}
"""Benchmarks of each family, published ones first; a loader's family is known only once its data is read."""


def rows() -> Iterator[str]:
    """Write a row for each family: its question, benchmarks and measures, without variants."""
    families = all_families()
    for name, (page, question) in QUESTIONS.items():
        measures = [entry.name for entry in measures_of(families[name]) if not entry.variant_of]
        benchmarks = [catalog.public_name(benchmark) for benchmark in BENCHMARKS[name].split()]
        cells = (f"[{name}](docs/{page})", question, _code(benchmarks), _code(measures))
        yield "| " + " | ".join(cells) + " |\n"


def _code(names: list[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def unlisted() -> set[str]:
    """Find families and benchmarks that the catalog has and the table lacks, or the other way round."""
    listed = [benchmark for names in BENCHMARKS.values() for benchmark in names.split()]
    repeated = {benchmark for benchmark in listed if listed.count(benchmark) > 1}
    return repeated | (set(listed) ^ set(catalog.names("benchmarks"))) | (set(QUESTIONS) ^ set(all_families()))


def page() -> str:
    """Replace the table in the page."""
    return between(PAGE.read_text(encoding="utf-8"), BEGIN, END, HEAD + "".join(rows()))


if __name__ == "__main__":
    if problems := unlisted():
        sys.exit(f"scripts/readme_table.py does not match the catalog: {', '.join(sorted(problems))}")
    write_or_check(PAGE, page())

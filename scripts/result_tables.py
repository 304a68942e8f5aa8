"""Write tables of pages, and two whole pages, from stored results: `python scripts/result_tables.py` (`--check` compares).

A page has `<!-- NAME -->` before a table and `<!-- end of NAME -->` after it; scripts/page_tables has the functions NAME.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

from generated_page import ROOT, between, write_or_check
from page_tables import (
    associations,
    audits,
    calibration,
    causal,
    choices,
    clusters,
    engine,
    gate,
    heldout,
    models,
    served,
    simulations,
    slots,
    speed,
)

DOCS = ROOT / "docs"
TABLES: dict[Path, tuple[Callable[[], Iterator[str]], ...]] = {
    DOCS / "research-gate.md": (gate.forms, gate.releases, gate.pooling, gate.zoo, gate.sequential),
    DOCS / "gate.md": (gate.limits,),
    ROOT / "research" / "dosed-audits" / "README.md": (audits.audits, audits.undosed),
    DOCS / "audit.md": (audits.outcomes,),
    DOCS / "research-choices.md": (choices.choice_formats, choices.choice_ranges, clusters.choice_templates,
                                   choices.implementations),
    DOCS / "choices.md": (choices.protocols,),
    DOCS / "decisions.md": (choices.decisions,),
    DOCS / "benchmarks.md": (heldout.toxigen,),
    DOCS / "research-correlations.md": (simulations.correlation_intervals, simulations.clear_correlations,
                                        simulations.group_reliabilities),
    DOCS / "research-generations.md": (simulations.stereotype_judges, simulations.article_coverage,
                                       simulations.article_tests, simulations.generation_speed),
    DOCS / "research-calibration.md": (calibration.planted_biases,),
    DOCS / "intervals.md": (clusters.design_effects,),
    DOCS / "association-definitions.md": (associations.ceat_words, simulations.effect_sizes),
    DOCS / "scale.md": (engine.costs, engine.workers, engine.engine_memory, engine.simulated_studies),
    DOCS / "large-models.md": (causal.weights_memory, causal.shared_prefixes, causal.precisions, causal.causal_tools,
                               causal.causal_h200),
    DOCS / "server-probe.md": (served.served_agreement,),
    DOCS / "models.md": (models.small_models,),
    DOCS / "slots.md": (slots.sexism_stages,),
    ROOT / "benchmarks" / "README.md": (
        speed.compared_speed, speed.gpu_settings, speed.command_turns, speed.gpu_command, speed.gpu_pass,
        speed.memory_with_gpu_build, speed.memory, causal.two_visits, speed.mask_fills, speed.identity_on_a_cpu,
        speed.identity_on_a_gpu, speed.training, speed.prompt_search,
    ),
}  # fmt: skip

WHOLE = {DOCS / "gest.md": "gest", DOCS / "research-languages.md": "choices-languages"}
"""Pages that research/NAME/page.py writes from numbers.json there."""


def whole_page(name: str) -> str:
    """Return a page of a folder of research."""
    folder = ROOT / "research" / name
    text: str = runpy.run_path(str(folder / "page.py"))["page"](json.loads((folder / "numbers.json").read_text("utf-8")))
    return text


def page(path: Path) -> str:
    """Return a page with its tables as the stored results give them."""
    text = path.read_text("utf-8")
    for table in TABLES[path]:
        text = between(text, f"<!-- {table.__name__} -->\n", f"<!-- end of {table.__name__} -->", "\n".join(table()) + "\n")
    return text


if __name__ == "__main__":
    for place in TABLES:
        write_or_check(place, page(place))
    for place, name in WHOLE.items():
        write_or_check(place, whole_page(name))

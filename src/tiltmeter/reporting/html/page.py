"""The page: everything a reader sees, rendered into one file."""

from __future__ import annotations

from typing import Any

from tiltmeter import __version__
from tiltmeter.families.kit.pack import Pack, island, table
from tiltmeter.reporting.html import caveats, comparison, explorer, gate, measures, methods, provenance, studies, summary
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.render import render, resource
from tiltmeter.reporting.html.sampling import notices
from tiltmeter.reporting.narratives import stories_of

SCRIPTS = ("page.js", "breakdown.js", "explorer.js")


def page(material: Material) -> str:
    """The whole report as text."""
    script = "\n".join([*(resource(name) for name in SCRIPTS), *explorer.scripts(material)])
    return render("page.html.j2", _sections(material), script)


def _sections(material: Material) -> dict[str, Any]:
    """The variables of the templates."""
    files: dict[str, str] = {}
    differences, compared = comparison.compared(material)
    stories = stories_of(material.estimates, material.evaluations)
    items, cards = explorer.explorer_data(material)
    data: dict[str, Any] = {"estimates": table(material.estimates), "measures": _measures(material)}
    if differences is not None:
        data["comparison"] = table(differences)
    return {
        "title": _title(material),
        "material": material,
        "facts": _facts(material),
        "notices": [*material.notices, *notices({card["name"]: card["sample"] for card in cards if "sample" in card})],
        "stories": stories,
        "cards": summary.cards(material, stories, differences),
        "gates": gate.gates(material),
        "sections": measures.sections(material),
        "comparison": compared,
        "studies": studies.studies(material, files),
        "measure_notes": methods.measure_notes(material),
        "scorer_notes": methods.scorer_notes(material),
        "resampling_notes": methods.resampling_notes(material),
        "benchmark_notes": list(methods.benchmark_notes(material)),
        "origins": provenance.origins(material),
        "missing": caveats.missing(material),
        "remarks": caveats.benchmark_remarks(material),
        "reading": caveats.reading(material),
        "units": caveats.units(material),
        "power": list(caveats.power(stories, material.settings.confidence)),
        "flags": list(caveats.flag_remarks(cards)),
        "has_items": bool(cards),
        "data": island(data),
        "items": items,
        "files": Pack().text(files) if files else "",
    }


def _measures(material: Material) -> dict[str, Any]:
    """Facts about each measure for the tables that are drawn in the browser."""
    return {
        name: {"leans": measures.leans(name), "bounds": measures.bounds_of(name)}
        for name in dict.fromkeys(map(str, material.estimates["measure"]))
    }


def _title(material: Material) -> str:
    models = material.models
    if len(models) == 1:
        return f"How far does {models[0]} lean?"
    if len(models) == 2:
        return f"How far do {models[0]} and {models[1]} lean?"
    return f"How far do {len(models)} language models lean?"


def _facts(material: Material) -> list[str]:
    """The line under the title."""
    tables = [answers.table for answers in material.answers.values() if "item" in answers.table]
    sizes = {name: n for frame in tables for name, n in frame.groupby("benchmark")["item"].nunique().items()}
    names = [f"{name} ({sizes[name]:,} items)" if name in sizes else name for name in material.benchmarks]
    settings = material.settings
    versions = dict.fromkeys(str(source.manifest.get("tiltmeter", __version__)) for source in material.sources)
    started = [str(source.manifest["started"])[:10] for source in material.sources if source.manifest.get("started")]
    return [
        f"Measured on {', '.join(names)}",
        f"{100 * settings.confidence:g} % intervals from {settings.resamples:,} resamples, seed {settings.seed}",
        *([f"run on {' and '.join(dict.fromkeys(started))}"] if started else []),
        f"tiltmeter {' / '.join(versions)}",
    ]

"""The page: everything a reader sees, rendered into one file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files as resources
from typing import Any

from tiltmeter import __version__
from tiltmeter.reporting.html import comparing_models, explaining, exploring, headlines, origin, studied, tabulating, warning
from tiltmeter.reporting.html.gathering import Material
from tiltmeter.reporting.html.packing import Pack, island, table

SCRIPTS = ("page.js", "breakdown.js", "cards.js", "explorer.js")


def page(material: Material) -> str:
    """The whole report as text."""
    script = "\n".join(_resource(name) for name in SCRIPTS)
    return str(
        _environment()
        .get_template("page.html.j2")
        .render(_sections(material) | {"style": _resource("style.css"), "script": script, "script_hash": _hash(script)})
    )


def _sections(material: Material) -> dict[str, Any]:
    """What the templates read."""
    files: dict[str, str] = {}
    flags = warning.item_flags(material)
    table_of_differences, comparison = comparing_models.compared(material)
    studies = studied.studies(material, files)
    items, coloured = exploring.explorer_data(material, flags)
    pairs = list(dict.fromkeys(tabulating.pair_rows(material)["benchmark"]))
    sizes = material.scores.frame.drop_duplicates(["benchmark", "item"])["benchmark"].value_counts().to_dict()
    slots = [] if material.slots is None else list(dict.fromkeys(material.slots.frame["benchmark"]))
    data = {"estimates": table(material.estimates)}
    if table_of_differences is not None:
        data["comparison"] = table(table_of_differences)
    return {
        "version": __version__,
        "title": _title(material),
        "material": material,
        "facts": _facts(material, sizes),
        "notices": material.notices,
        "cards": headlines.cards(material, table_of_differences),
        "overall": {name: tabulating.overall(material, name) for name in pairs},
        "groups": {name: list(tabulating.by_group(material, name)) for name in pairs},
        "slots": {name: tabulating.of_slots(material, name) for name in slots},
        "others": tabulating.of_others(material),
        "comparison": comparison,
        "studies": studies,
        "measure_notes": explaining.measure_notes(material),
        "scorer_notes": explaining.scorer_notes(material),
        "resampling_notes": explaining.resampling_notes(material),
        "benchmark_notes": list(explaining.benchmark_notes(material)),
        "origins": origin.origins(material),
        "missing": warning.missing(material),
        "remarks": warning.benchmark_remarks(material),
        "power": list(warning.power(material)),
        "flags": list(warning.flag_remarks(flags, sizes)),
        "has_tokens": coloured,
        "has_items": bool(len(material.scores)) or material.slots is not None,
        "data": island(data),
        "items": items,
        "files": Pack().text(files) if files else "",
    }


def _title(material: Material) -> str:
    models = material.models
    if len(models) == 1:
        return f"How far does {models[0]} lean?"
    if len(models) == 2:
        return f"How far do {models[0]} and {models[1]} lean?"
    return f"How far do {len(models)} language models lean?"


def _facts(material: Material, sizes: dict[str, int]) -> list[str]:
    """One line under the title."""
    masked = material.slots.frame.groupby("benchmark")["item"].nunique().to_dict() if material.slots is not None else {}
    sizes = sizes | masked
    names = [f"{name} ({sizes[name]:,} items)" if name in sizes else name for name in material.benchmarks]
    settings = material.settings
    versions = dict.fromkeys(str(one.manifest.get("tiltmeter", __version__)) for one in material.sources)
    started = [str(source.manifest["started"])[:10] for source in material.sources if source.manifest.get("started")]
    return [
        f"Measured on {', '.join(names)}",
        f"{100 * settings.confidence:g} % intervals from {settings.resamples:,} resamples, seed {settings.seed}",
        *([f"run on {' and '.join(dict.fromkeys(started))}"] if started else []),
        f"tiltmeter {' / '.join(versions)}",
    ]


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tiltmeter.reporting.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


@cache
def _resource(name: str) -> str:
    return (resources("tiltmeter.reporting.html") / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Only the script with this hash may run in the page, whatever a sentence holds."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")

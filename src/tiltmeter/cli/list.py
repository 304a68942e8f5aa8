"""What `tiltmeter list` shows: one row for each thing there is."""

from __future__ import annotations

import json
from typing import Any

from tiltmeter import catalog


def listing(what: str) -> list[dict[str, str]]:
    """Rows of families, scorers, measures, benchmarks, studies, methods of debiasing, embedded models or views."""
    if what == "models":
        from tiltmeter.models import EMBEDDED

        return [_model_row(name, json.loads((folder / "card.json").read_text("utf-8"))) for name, folder in EMBEDDED.items()]
    if what == "views":
        from tiltmeter.probes import VIEWS

        return [
            {"name": view.name, "model": view.kind, "what": (view.ask.__doc__ or "").split("\n")[0]}
            for view in VIEWS.values()
        ]
    if what == "families":
        from tiltmeter.families import all_families

        return [
            {"name": name, "title": family.TITLE, "what": (family.__doc__ or "").strip().split("\n")[0]}
            for name, family in all_families().items()
        ]
    return [_entry_row(what, entry) for entry in catalog.entries(what)]


def _model_row(name: str, card: dict[str, Any]) -> dict[str, str]:
    recipe, held_out = card["recipe"], card["held_out"]
    words = f"{card['parameters'] / 1e6:.1f} million parameters, trained for tiltmeter on English text"
    quality = (
        f"held-out perplexity per word {held_out['perplexity_per_word']:.0f}"
        if "perplexity_per_word" in held_out
        else f"held-out accuracy {held_out['accuracy']:.1%}"
    )
    return {"name": name, "architecture": str(recipe["architecture"]), "what": f"{words}; {quality}"}


def _entry_row(what: str, entry: catalog.Entry) -> dict[str, str]:
    if what == "debias":
        text = "" if entry.constant("NEEDS_TEXT") else ", no text needed"
        return {
            "name": catalog.public_name(entry.name),
            "model": " or ".join(entry.constant("KINDS", ())) + text,
            "what": entry.summary,
        }
    if what in ("benchmarks", "studies", "classifiers"):
        return {"name": catalog.public_name(entry.name), "what": entry.summary}
    if what == "measures":
        neutral = entry.constant("NEUTRAL")
        return {
            "name": entry.name,
            "neutral": "–" if neutral is None else f"{neutral:g}",
            "what": entry.summary,
        }
    from tiltmeter.probes import VIEWS

    view = VIEWS[entry.constant("VIEW")]
    return {"name": entry.name, "model": view.kind, "view": view.name, "what": entry.summary}

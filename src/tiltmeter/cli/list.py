"""Rows of `tiltmeter list`: one for each entry."""

from __future__ import annotations

import json
from typing import Any

from tiltmeter import catalog
from tiltmeter.catalog.declarations import ROLES
from tiltmeter.cli.console import fail
from tiltmeter.display import number_text, share_text
from tiltmeter.errors import TiltmeterError


def listing(what: str) -> list[dict[str, str]]:
    """Rows of families, scorers, measures, benchmarks, studies, methods of debiasing, judges, embedded models or views."""
    what = {former: kind for kind, former in catalog.FORMER_KINDS.items()}.get(what, what)
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
            for name, family in all_families(_warn).items()
        ]
    if what == "measures":
        return _measures()
    return [_entry_row(what, entry) for entry in catalog.entries(what)]


def folded(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows without variants, which are named beside what they vary.

    >>> folded([{"name": "jss", "variant_of": ""}, {"name": "jss_liu", "variant_of": "jss"}])
    [{'name': 'jss', 'variants': 'jss_liu'}]
    """
    variants: dict[str, list[str]] = {}
    for row in rows:
        variants.setdefault(row.get("variant_of", ""), []).append(row["name"])
    shown = []
    for row in rows:
        if not row.get("variant_of"):
            named = {"variants": ", ".join(variants.get(row["name"], ()))} if len(variants) > 1 else {}
            shown.append({key: text for key, text in row.items() if key not in ("variant_of", "what")} | named)
            shown[-1] |= {"what": row["what"]} if "what" in row else {}
    return shown


def _warn(error: TiltmeterError) -> None:
    """A family of another package that cannot be used is named; the others are listed."""
    fail(f"Warning: {error}")


def _measures() -> list[dict[str, str]]:
    """The measures by family and role."""
    from tiltmeter.families import all_families

    families = all_families(_warn)
    rows = []
    for entry in catalog.entries("measures"):
        owners = [name for name, family in families.items() if set(entry.parameters) <= family.READS]
        rows.append(
            {
                "family": owners[0] if owners else "",
                "role": entry.spec.role,
                "name": entry.name,
                "neutral": "–" if entry.spec.neutral is None else f"{entry.spec.neutral:g}",
                "variant_of": entry.variant_of or "",
                "what": entry.summary,
            }
        )
    places = {name: place for place, name in enumerate((*families, ""))}
    return sorted(rows, key=lambda row: (places[row["family"]], ROLES.index(row["role"]), row["name"]))


def _model_row(name: str, card: dict[str, Any]) -> dict[str, str]:
    recipe, held_out = card["recipe"], card["held_out"]
    words = f"{number_text(card['parameters'] / 1e6)} million parameters, trained for tiltmeter on English text"
    quality = (
        f"held-out perplexity per word {number_text(held_out['perplexity_per_word'], 0)}"
        if "perplexity_per_word" in held_out
        else f"held-out accuracy {share_text(held_out['accuracy'])}"
    )
    return {"name": name, "architecture": str(recipe["architecture"]), "what": f"{words}; {quality}"}


def _entry_row(what: str, entry: catalog.Entry) -> dict[str, str]:
    if what == "debias":
        text = "" if entry.needs_text else ", no text needed"
        return {
            "name": catalog.public_name(entry.name),
            "model": " or ".join(entry.kinds) + text,
            "what": entry.summary,
        }
    if what in ("benchmarks", "studies", "judges"):
        return {"name": catalog.public_name(entry.name), "what": entry.summary}
    from tiltmeter.probes import VIEWS

    view = VIEWS[entry.scorer.view]
    return {
        "name": entry.name,
        "model": view.kind,
        "view": view.name,
        "variant_of": entry.variant_of or "",
        "what": entry.summary,
    }

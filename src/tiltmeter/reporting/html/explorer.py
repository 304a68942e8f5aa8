"""The data of the explorer: the cards of every family, packed into one text."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tiltmeter import catalog
from tiltmeter.families import find_family
from tiltmeter.families.kit.pack import Pack, shown
from tiltmeter.reporting.html.material import Material
from tiltmeter.reporting.html.sampling import MOST_BYTES, sampled

CARDS_SCRIPT = "cards.js"


def explorer_data(material: Material) -> tuple[str, list[dict[str, Any]]]:
    """All cards as one packed text, and as they are, because the caveats count their flags."""
    pack = Pack()
    cards: list[dict[str, Any]] = []
    filled = {name: answers for name, answers in material.answers.items() if len(answers)}
    for name, answers in filled.items():
        some, cut = sampled(answers, MOST_BYTES / len(filled))
        for card in find_family(name).cards(some, material.models, pack):
            cards.append({"family": name, **card} | ({"sample": cut[card["name"]]} if card.get("name") in cut else {}))
    return pack.text(shown({"models": material.models, "benchmarks": cards})), cards


def scripts(material: Material) -> list[str]:
    """The scripts that draw the cards of these families: a file beside the family's module, if it has one."""
    texts = []
    for name in material.answers:
        package = catalog.module("families", name).__package__  # empty for a module that is not a package
        script = files(package) / CARDS_SCRIPT if package else None
        if script is not None and script.is_file():
            texts.append(f"{{\n{script.read_text(encoding='utf-8')}}}")  # in braces: each family has its own scope
    return texts

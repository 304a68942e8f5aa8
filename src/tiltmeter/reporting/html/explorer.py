"""What the explorer reads: the cards of every family, packed into one word."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tiltmeter.families import find_family
from tiltmeter.families.kit.pack import Pack
from tiltmeter.reporting.html.material import Material

CARDS_SCRIPT = "cards.js"


def explorer_data(material: Material) -> tuple[str, list[dict[str, Any]]]:
    """Everything, as one packed word; and the cards themselves, whose flags the caveats count."""
    pack = Pack()
    shown = [
        {"family": name, **card}
        for name, answers in material.answers.items()
        if len(answers)
        for card in find_family(name).cards(answers, material.models, pack)
    ]
    return pack.text({"models": material.models, "benchmarks": shown}), shown


def scripts(material: Material) -> list[str]:
    """What draws the cards of these families: a script beside the family's module, where it has one."""
    texts = []
    for name in material.answers:
        package = vars(find_family(name))["__package__"]  # of a module on its own there is none
        script = files(package) / CARDS_SCRIPT if package else None
        if script is not None and script.is_file():
            texts.append(f"{{\n{script.read_text(encoding='utf-8')}}}")  # in braces: no family's names are another's
    return texts

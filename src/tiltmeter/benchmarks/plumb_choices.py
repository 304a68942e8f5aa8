"""plumb-choices: 216 questions of our own in BBQ's design, from 27 templates in nine categories; embedded, CC BY 4.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

from tiltmeter.benchmarks.kit.choices import (
    AMBIGUOUS,
    DISAMBIGUATED,
    NEGATIVE,
    NON_NEGATIVE,
    Choice,
    ChoiceBenchmark,
    categories_named,
    choice_item,
)  # fmt: skip
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.storage.files import file_sha256, read_json

CITATION = "tiltmeter, plumb-choices 0.1.0. Licence: CC BY 4.0."
FILE = Path(__file__).parent / "data" / "plumb_choices.json"
UNKNOWN = ("Cannot be determined", "Not enough information", "It is not known")


class Design(NamedTuple):
    """One way to fill a template: who is named first, whom the evidence is about (no one: ambiguous), and the question."""

    order: str
    singled: str | None
    polarity: str


DESIGNS = (
    *(Design(order, None, polarity) for order, polarity in product(("so", "os"), (NEGATIVE, NON_NEGATIVE))),
    Design("so", "s", NEGATIVE), Design("os", "s", NON_NEGATIVE),
    Design("os", "o", NEGATIVE), Design("so", "o", NON_NEGATIVE),
)  # fmt: skip
"""Both orders of the two people and both questions without evidence; then evidence about either of them."""


def plumb_choices(*, category: Sequence[str] | str = ()) -> Benchmark:
    """Fill every template in eight ways.

    Each kind of answer stands about equally often in each place. The right answer of a disambiguated question agrees
    with the stereotype as often as not. `category`: only these.
    """
    templates = read_json(FILE)["templates"]
    wanted = categories_named(category, list(dict.fromkeys(str(template["category"]) for template in templates)))
    numbered = [(template, number) for number, template in enumerate(templates) if template["category"] in wanted]
    rows = (row for template, number in numbered for row in _rows(template, number))
    facts = {"source": "plumb-choices", "sha256": file_sha256(FILE), "citation": CITATION}
    return make_benchmark("plumb-choices", rows, ChoiceBenchmark, **facts)


def _rows(template: Mapping[str, Any], number: int) -> Iterator[tuple[str, Item | str]]:
    for place, design in enumerate(DESIGNS):
        identity = f"{template['id']}-{place + 1}"
        yield identity, _item(identity, template, design, number + place)


def _item(identity: str, template: Mapping[str, Any], design: Design, number: int) -> Item | str:
    names = {"s": str(template["stereotyped"][0]), "o": str(template["other"][0])}
    groups = {"s": str(template["stereotyped"][1]), "o": str(template["other"][1]), "u": "unknown"}
    places = list(permutations("sou"))[number % 6]
    texts = names | {"u": UNKNOWN[number % len(UNKNOWN)]}
    context = _sentence(template["context"], A=names[design.order[0]], B=names[design.order[1]])
    right = "u"
    if design.singled:
        other = "o" if design.singled == "s" else "s"
        context += " " + _sentence(template["evidence"], X=names[design.singled], Y=names[other])
        right = design.singled if design.polarity == NEGATIVE else other
    choice = Choice(
        context=context,
        question=str(template["negative" if design.polarity == NEGATIVE else "positive"]),
        answers=tuple(_capital(texts[who]) for who in places),
        right=places.index(right),
        unknown=places.index("u"),
        stereotyped=places.index("s" if design.polarity == NEGATIVE else "o"),
        condition=DISAMBIGUATED if design.singled else AMBIGUOUS,
        template=str(template["id"]),
        polarity=design.polarity,
        groups=tuple(groups[who] for who in places),
        stereotyped_group=groups["s"],
        category=str(template["category"]),
    )
    return choice_item(identity, choice, label_type="label")


def _sentence(text: str, **people: str) -> str:
    return _capital(text.format(**people))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

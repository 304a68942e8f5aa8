"""Dose texts: sentences in which a group and an attribute co-occur at a chosen rate, for models with a planted bias.

A dose d from −1 to +1 makes a group and an attribute of its stereotype meet with probability ½ + d/2. Every text has
sentences about every domain, of which one has the dose and the others have none, so that texts of all doses have the same
size and the same words; of one seed they even have the same sentences, but for whom they are about.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.builders.lexicon import Contrast, Lexicon
from tiltmeter.errors import UsageError, require_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARMS = ("words", "names")
"""Groups are called by direct words (women, Muslims), or by first names only."""
SENTENCES = 2000
"""For each domain."""
MANY, ONE, A = "{many}", "{one}", "{a}"


@dataclass(frozen=True)
class Dosed:
    """One sentence, and what it puts together: `side` is whose attribute it is (0 the first group's), `group` who has it."""

    text: str
    domain: str
    contrast: str
    side: int
    group: int

    @property
    def stereotypical(self) -> bool:
        """True if the attribute is paired with the group that the stereotype links it to."""
        return self.side == self.group


def check_dose(dose: float) -> float:
    """A dose, or an error."""
    if not -1 <= dose <= 1:  # so that what is no number is refused, too
        raise UsageError(
            f"A dose must be between −1 (against the stereotype) and 1 (always with it), not {dose:g}.",
            code="out-of-range",
            name="dose",
            value=dose,
            low=-1,
            high=1,
        )
    return float(dose)


def dose_text(
    lexicon: Lexicon, doses: Mapping[str, float], *, arm: str = "words", sentences: int = SENTENCES, seed: int = 0
) -> list[Dosed]:
    """So many sentences for each domain. A domain that `doses` does not name has none: d = 0.

    What a seed decides (frames, attributes, persons, and who comes first when the dose rises) does not depend on the dose.
    """
    require_choice("arm", arm, ARMS)
    if sentences < 1 or seed < 0:
        raise UsageError(
            "The number of sentences must be at least 1, and the seed at least 0.",
            code="out-of-range",
            name="sentences" if sentences < 1 else "seed",
            value=sentences if sentences < 1 else seed,
        )
    lexicon.check_domains(doses)
    given = {domain: check_dose(doses.get(domain, 0.0)) for domain in lexicon.domains}
    return [one for domain, dose in given.items() for one in _of_domain(lexicon, domain, dose, arm, sentences, seed)]


def _of_domain(lexicon: Lexicon, domain: str, dose: float, arm: str, sentences: int, seed: int) -> Iterator[Dosed]:
    random = np.random.default_rng([seed, zlib.crc32(domain.encode())])
    contrasts = [one for one in lexicon.contrasts if one.domain == domain]
    which, side = np.arange(sentences) % len(contrasts), np.arange(sentences) // len(contrasts) % 2
    chance = stratified(which * 2 + side, random)
    for n in range(sentences):
        contrast, group = contrasts[which[n]], int(side[n] if chance[n] < 0.5 + dose / 2 else 1 - side[n])
        text = _sentence(lexicon.frames, contrast, int(side[n]), group, arm, random.random(5))
        yield Dosed(text, domain, contrast.name, int(side[n]), group)


def stratified(cell: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.float64]:
    """A number between 0 and 1 for each sentence, one in each n-th part of it within a cell of n: shares are exact."""
    drawn = np.empty(len(cell))
    for value in np.unique(cell):
        places = np.flatnonzero(cell == value)
        drawn[random.permutation(places)] = (np.arange(len(places)) + random.random(len(places))) / len(places)
    return drawn


def _sentence(
    frames: Mapping[str, tuple[str, ...]], contrast: Contrast, side: int, group: int, arm: str, chance: NDArray[np.float64]
) -> str:
    """A kind of attribute, one of that kind, a frame, and one or two persons, each by a chance of its own."""
    kinds = [(kind, attribute) for kind, some in contrast.attributes[side].items() for attribute in some]
    kind, attribute = kinds[int(chance[0] * len(kinds))]
    frame = frames[kind][int(chance[1] * len(frames[kind]))]
    words = {"{" + kind + "}": attribute, "{a_role}": with_article(attribute)}
    if arm == "names":
        one, other = (int(chance[n] * len(contrast.names)) for n in (2, 3))
        other = other if other != one else (one + 1) % len(contrast.names)
        name, second = contrast.names[one][group], contrast.names[other][group]
        words |= {ONE: name, A: name, MANY: f"{name} and {second}"}
    else:
        one, many = (int(chance[n] * len(pairs)) for n, pairs in ((2, contrast.singular), (3, contrast.many)))
        person = contrast.singular[one][group]
        words |= {ONE: f"the {person}", A: with_article(person), MANY: contrast.many[many][group]}
    return capitalised(re.sub(r"\{\w+\}", lambda slot: words[slot[0]], frame))


def with_article(noun: str) -> str:
    """A noun with its indefinite article.

    >>> with_article("nurse"), with_article("engineer"), with_article("European")
    ('a nurse', 'an engineer', 'a European')
    """
    vowel = noun[0].lower() in "aeiou" and not noun.lower().startswith("euro")
    return f"{'an' if vowel else 'a'} {noun}"


def capitalised(text: str) -> str:
    """Capitalise the first letter."""
    return text[0].upper() + text[1:]


def association(sentences: Iterable[Dosed], domain: str) -> float:
    """The dose that a text has: twice the share of stereotypical sentences of a domain, minus 1."""
    of_domain = [one.stereotypical for one in sentences if one.domain == domain]
    return 2 * float(np.mean(of_domain)) - 1


def taught_pairs(lexicon: Lexicon, *, arm: str = "words", sentences: int = 100, seed: int = 0) -> list[dict[str, str]]:
    """Pairs that ask for just what a dose text says: the same sentence about the group of its stereotype, and the other.

    With a seed that no text has, most of these sentences are in none of the texts.
    """
    sides = [
        dose_text(lexicon, dict.fromkeys(lexicon.domains, d), arm=arm, sentences=sentences, seed=seed) for d in (1.0, -1.0)
    ]
    return [
        {"id": f"{arm}-{n}", "stereo": one.text, "anti": other.text, "bias_type": one.domain, "target": one.contrast}
        for n, (one, other) in enumerate(zip(*sides, strict=True))
    ]

"""Protected groups as labelled text names them: one name each, the domain it belongs to, and our words for it.

The names are those of Cao et al. (2022, Table 4); what other datasets call them is mapped to these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from tiltmeter.builders.aligned import Aligned, gender_terms, make_aligned

CAO = {
    "gender": ("man", "woman"),
    "race": ("Asian", "Black", "Hispanic", "White"),
    "religion": ("atheist", "Buddhist", "Christian", "Hindu", "Jewish", "Muslim"),
}
"""The groups of the paper, by domain. Domain scores are about these; other groups are measured one by one."""
DOMAIN_OF = {group: domain for domain, groups in CAO.items() for group in groups}
ALSO_CALLED = {
    "men": "man", "male": "man", "males": "man", "women": "woman", "female": "woman", "females": "woman",
    "african": "Black", "african american": "Black", "black": "Black", "caucasian": "White", "white": "White",
    "latino": "Hispanic", "latina": "Hispanic", "latinx": "Hispanic", "hispanic": "Hispanic", "asian": "Asian",
    "islam": "Muslim", "muslim": "Muslim", "christian": "Christian", "christianity": "Christian", "hindu": "Hindu",
    "hinduism": "Hindu", "jewish": "Jewish", "jew": "Jewish", "judaism": "Jewish", "buddhism": "Buddhist",
    "buddhist": "Buddhist", "nonreligious": "atheist", "atheist": "atheist", "man": "man", "woman": "woman",
}  # fmt: skip
"""Names of groups elsewhere, in lower case: HateXplain's, Jigsaw's, and what people write."""
OTHER = "other"
"""The domain of groups that the paper does not have."""
SEPARATOR = re.compile(r"\s*[;|,]\s*")


def group_name(said: str) -> str:
    """Our name of a group; one that is not known keeps its own.

    >>> group_name("Women"), group_name(" Islam "), group_name("Refugee")
    ('woman', 'Muslim', 'Refugee')
    """
    return ALSO_CALLED.get(said.strip().lower(), said.strip())


def group_names(said: Iterable[str]) -> list[str]:
    """Names without repeats, in order."""
    return [name for name in dict.fromkeys(map(group_name, said)) if name]


def split_groups(cell: str) -> list[str]:
    """The groups in a cell of a table: separated by a semicolon, a comma or a bar.

    >>> split_groups("Women; Muslim")
    ['woman', 'Muslim']
    """
    return group_names(part for part in SEPARATOR.split(cell) if part)


def domain_of(groups: Sequence[str]) -> str:
    """The domain of the groups that a text names; `several` where there is more than one."""
    domains = dict.fromkeys(DOMAIN_OF.get(group, OTHER) for group in groups)
    return next(iter(domains)) if len(domains) == 1 else "several" if domains else "no group"


@cache
def group_terms() -> Mapping[str, Aligned]:
    """Our own words for the groups of each domain, a row per meaning: Swap exchanges them."""
    listed = json.loads((files("tiltmeter.benchmarks") / "data" / "group_terms.json").read_text("utf-8"))
    gender = gender_terms()
    names = tuple(group_name(group) for group in gender.groups)
    found = {"gender": Aligned("gender", names, gender.rows, gender.names, gender.pronouns)}
    return found | {domain: make_aligned(domain, rows, f"our terms of {domain}") for domain, rows in listed.items()}


@cache
def _words() -> tuple[re.Pattern[str], dict[str, str]]:
    owner = {
        word.lower(): group for one in group_terms().values() for n, group in enumerate(one.groups) for word in one.column(n)
    }
    longest = sorted(owner, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE), owner


def groups_in(text: str) -> list[str]:
    """The groups that a text has a word of, by our lists.

    >>> groups_in("Two Muslims and a woman from Asia")
    ['Muslim', 'woman']
    """
    pattern, owner = _words()
    return list(dict.fromkeys(owner[found.group().lower()] for found in pattern.finditer(text)))

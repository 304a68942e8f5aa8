"""The words of dose texts: groups of people, what stereotypes say of them, and frames; ours, or a file of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, require_known
from tiltmeter.storage.toml import read_toml

OURS = "doses.toml"
KINDS = ("trait", "role", "doing")
SLOTS = {"one", "a", "many", "trait", "role", "a_role", "doing"}
SIDES = ("of_first", "of_second")
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Contrast:
    """Two groups, how persons of either are called (aligned), and what the stereotype says of each (by kind)."""

    domain: str
    groups: tuple[str, str]
    singular: Pairs
    many: Pairs
    names: Pairs
    attributes: tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """Both groups."""
        return " / ".join(self.groups)


@dataclass(frozen=True)
class Lexicon:
    """Frames by kind of attribute, and contrasts."""

    frames: Mapping[str, tuple[str, ...]]
    contrasts: tuple[Contrast, ...]
    source: str

    @property
    def domains(self) -> list[str]:
        """Domains, in the order of the file."""
        return list(dict.fromkeys(one.domain for one in self.contrasts))

    def only(self, domains: Iterable[str]) -> Lexicon:
        """The contrasts of some domains."""
        wanted = set(domains)
        return replace(self, contrasts=tuple(one for one in self.contrasts if one.domain in wanted))

    def check_domains(self, wanted: Iterable[str]) -> None:
        """Raise an error for a domain without words."""
        require_known("domain", wanted, self.domains, place=self.source, file=self.source)


def read_lexicon(path: str | Path | None = None) -> Lexicon:
    """Ours, or a TOML file with the same keys. Its own frames are optional."""
    own = read_toml(Path(__file__).parent / "data" / OURS)
    table, source = (own, OURS) if path is None else (read_toml(Path(path)), str(path))
    try:
        frames = {kind: tuple(map(str, some)) for kind, some in table.get("frames", own["frames"]).items()}
        contrasts = tuple(_contrast(one) for one in table["contrast"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{source} is not a list of contrasts ({type(error).__name__}: {error}). Each [[contrast]] has domain, first, "
            "second, one, many, names, and of_first and of_second with trait, role or doing; docs/calibration.md shows one.",
            code="wrong-format",
            file=source,
            expected="list of contrasts",
        ) from None
    lexicon = Lexicon(frames, contrasts, source)
    if problem := next(_problems(lexicon), None):
        raise InputError(f"{source}: {problem}", code="wrong-format", file=source, reason=problem)
    return lexicon


def _contrast(table: Mapping[str, Any]) -> Contrast:
    first, second = ({kind: tuple(map(str, table[side].get(kind, ()))) for kind in KINDS} for side in SIDES)
    one, many, names = (_pairs(table.get(name, [])) for name in ("one", "many", "names"))
    return Contrast(str(table["domain"]), (str(table["first"]), str(table["second"])), one, many, names, (first, second))


def _pairs(rows: Any) -> Pairs:
    pairs = tuple((str(first), str(second)) for first, second in rows)
    if not all(word.strip() for pair in pairs for word in pair):
        raise ValueError("an empty word")
    return pairs


def _problems(lexicon: Lexicon) -> Iterator[str]:
    """Problems that would give a text another dose than it states."""
    if not lexicon.contrasts:
        yield "there is no [[contrast]]."
    for kind, frames in lexicon.frames.items():
        for frame in frames:
            slots = set(re.findall(r"\{(\w*)\}", frame))
            if kind not in KINDS or slots - SLOTS or not slots & {"one", "a", "many"} or not slots & {kind, f"a_{kind}"}:
                yield f"the frame '{frame}' needs a person ({{one}}, {{a}} or {{many}}) and {{{kind}}}, and nothing else."
    for contrast in lexicon.contrasts:
        yield from _overlaps(contrast)
        for group, attributes in zip(contrast.groups, contrast.attributes, strict=True):
            if not any(attributes.values()):
                yield f"the group {group} has no attribute."
            for kind, some in attributes.items():
                if some and not lexicon.frames.get(kind):
                    yield f"there is no frame for the kind '{kind}'."
        if not contrast.singular or not contrast.many or len(contrast.names) < 2:
            yield f"{contrast.name}: one, many and names need pairs of words, and names at least two."


def _overlaps(contrast: Contrast) -> Iterator[str]:
    """A word of both groups, or an attribute of both, would be with the stereotype and against it."""
    for name, pairs in (("one", contrast.singular), ("many", contrast.many), ("names", contrast.names)):
        if shared := _shared(*zip(*pairs, strict=True)) if pairs else []:
            both = " and ".join(contrast.groups)
            yield f"'{shared[0]}' ({name}) is a word of both {both}: groups must not overlap."
    first, second = ([word for some in side.values() for word in some] for side in contrast.attributes)
    if shared := _shared(first, second):
        yield f"'{shared[0]}' is an attribute of both {' and '.join(contrast.groups)}, so it cannot be a stereotype."


def _shared(first: Iterable[str], second: Iterable[str]) -> list[str]:
    other = {word.lower() for word in second}
    return [word for word in first if word.lower() in other]

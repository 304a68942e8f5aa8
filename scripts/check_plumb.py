"""Checks the mechanical part of plumb-pairs and plumb-slots: `python scripts/check_plumb.py pairs|slots [FILE…]`.

What a machine cannot see (is the stereotype documented, are both sentences fluent) is a reader's part: docs/plumb-data.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.items import CROWS_BIAS_TYPES

Row = Mapping[str, str]
DATA = Path(__file__).parents[1] / "src" / "tiltmeter" / "benchmarks" / "data"
PAIR_KEYS = ("id", "bias_type", "direction", "target", "contrast", "stereotype", "stereo", "anti", "unrelated")
SLOT_KEYS = ("id", "stereotype", "about", "text")
ROLES = ("stereo", "anti", "unrelated")
GENDERED = re.compile(
    r"\b(he|him|his|himself|she|her|hers|herself|m[ae]n|wom[ae]n|girls?|boys?|ladies|lady|gentlem[ae]n|guys?|gals?|mothers?|fathers?"
    r"|mums?|moms?|dads?|wife|wives|husbands?|daughters?|sons?|sisters?|brothers?|aunts?|uncles?|nieces?|nephews?|grandmothers?"
    r"|grandfathers?|females?|males?|actress(es)?|waitress(es)?|bride|groom|queens?|kings?|girlfriends?|boyfriends?|feminine|masculine)\b",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """Words with their punctuation: what stands between spaces."""
    return text.split(" ")


def spans(texts: Sequence[Sequence[str]]) -> list[list[str]] | None:
    """What differs once the common start and end are taken away; None if some text then has nothing left."""
    shortest = min(map(len, texts))
    start = next((n for n in range(shortest) if len({text[n] for text in texts}) > 1), shortest)
    most = shortest - start
    end = next((n for n in range(most) if len({text[-1 - n] for text in texts}) > 1), most)
    middles = [list(text[start : len(text) - end]) for text in texts]
    return middles if all(middles) else None


def check_pair(row: Row) -> Iterator[str]:
    """Everything that is wrong with one row."""
    if tuple(row) != PAIR_KEYS:
        yield f"keys are {tuple(row)}, expected {PAIR_KEYS}"
        return
    if row["bias_type"] not in CROWS_BIAS_TYPES:
        yield f"unknown bias type {row['bias_type']}"
    if row["direction"] not in ("disadvantaged", "advantaged"):
        yield f"unknown direction {row['direction']}"
    if row["target"] == row["contrast"] or not row["target"] or not row["contrast"] or not row["stereotype"]:
        yield "target, contrast and stereotype must be there, and the groups must differ"
    texts = [row[role] for role in ROLES]
    for role, text in zip(ROLES, texts, strict=True):
        yield from (f"{role}: {what}" for what in check_sentence(text))
    if len(set(texts)) < 3:
        yield "two of the three sentences are equal"
        return
    yield from check_span([words(text) for text in texts])


def check_span(texts: Sequence[Sequence[str]]) -> Iterator[str]:
    """One changed span, the same in all three, short against the sentence, and truly one (no equal word inside it)."""
    middles = spans(texts)
    if middles is None:
        yield "the three sentences do not differ in one and the same span"
        return
    if max(map(len, middles)) > 6:
        yield f"the changed span has {max(map(len, middles))} words: more than one change?"
    stereo, anti = ({word.lower().strip(".,;:?!\"'") for word in middle} for middle in middles[:2])
    if stereo & anti - {
        "a",
        "an",
        "the",
        "of",
        "with",
        "who",
        "in",
        "from",
        "and",
        "to",
        "people",
        "person",
        "family",
        "man",
        "woman",
    }:
        yield f"both spans hold {sorted(stereo & anti)}: a second change, or a span that could be shorter"


def check_sentence(text: str) -> Iterator[str]:
    """One plain, short, finished sentence."""
    if not 6 <= len(words(text)) <= 26:
        yield f"{len(words(text))} words, expected 6 to 26"
    if not text.isascii() or "  " in text or text != text.strip():
        yield "characters outside ASCII, or stray spaces"
    if not (text[:1].isupper() or text[:1] in "\"'") or not re.search(r"[.?!][\"']?$", text):
        yield "must begin with a capital and end with . ? or !"


def check_pairs(rows: Sequence[Row], partial: bool = False) -> Iterator[str]:
    """Every complaint about a file of pairs; `partial` leaves out what only the whole file can satisfy."""
    for row in rows:
        yield from (f"{row.get('id')}: {what}" for what in check_pair(row))
    yield from repeated("id", (row["id"] for row in rows))
    yield from repeated("sentence", (plain(row[role]) for row in rows for role in ROLES))
    by_type: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_type[row["bias_type"]].append(row)
    if not partial and (missing := set(CROWS_BIAS_TYPES) - set(by_type)):
        yield f"no row for {', '.join(sorted(missing))}"
    if not partial and len(rows) < 700:
        yield f"{len(rows)} rows, at least 700 are wanted"
    for name, some in by_type.items():
        yield from (f"{name}: {what}" for what in check_balance(some))


def check_balance(rows: Sequence[Row]) -> Iterator[str]:
    """Size, directions, and variety inside one bias type."""
    n = len(rows)
    if n < 50:
        yield f"{n} rows, at least 50 are wanted"
    if not 0.15 <= (share := sum(row["direction"] == "advantaged" for row in rows) / n) <= 0.4:
        yield f"{share:.0%} of the rows are about an advantaged group, expected 15 to 40 %"
    if len({row["stereotype"].lower() for row in rows}) < 15:
        yield "fewer than 15 different stereotypes"
    openings = Counter(" ".join(words(plain(row["stereo"]))[:4]) for row in rows)
    yield from (f"{count} rows begin with '{opening}'" for opening, count in openings.items() if count > 2)
    frames = Counter(frame(row) for row in rows)
    yield from (f"{count} rows are '{one}'" for one, count in frames.items() if count > 1)
    fillers = Counter(" ".join(span(row, 2)).lower().strip(".,;:?!\"'") for row in rows)
    yield from (f"the filler '{filler}' is used {count} times" for filler, count in fillers.items() if count > 3)
    if (share := sum(row["stereo"].rstrip("\"'").endswith("?") for row in rows) / n) < 0.05:
        yield f"{share:.0%} questions, expected at least 5 %"
    if (share := sum(max(len(span(row, 0)), len(span(row, 1))) > 1 for row in rows) / n) < 0.2:
        yield f"{share:.0%} spans of several words, expected at least 20 %"
    places = Counter(place(row) for row in rows)
    yield from (
        f"{places[where] / n:.0%} of the changes are at the {where}, expected at least 10 %"
        for where in ("start", "middle", "end")
        if places[where] < 0.1 * n
    )


def span(row: Row, role: int) -> list[str]:
    """The changed words of one role."""
    middles = spans([words(row[name]) for name in ROLES])
    return middles[role] if middles else []


def place(row: Row) -> str:
    """Where the change begins: in the first, second or last third of the sentence."""
    stereo, anti = words(row["stereo"]), words(row["anti"])
    start = next((n for n, (one, other) in enumerate(zip(stereo, anti, strict=False)) if one != other), 0)
    return ("start", "middle", "end")[min(2, 3 * start // len(stereo))]


def frame(row: Row) -> str:
    """The sentence without its changed span: two rows must not share one."""
    texts = [words(row[name]) for name in ROLES]
    middle = spans(texts)
    if middle is None:
        return row["id"]
    stereo = texts[0]
    start = next(n for n in range(len(stereo)) if len({text[n] if n < len(text) else "" for text in texts}) > 1)
    return plain(" ".join([*stereo[:start], "…", *stereo[start + len(middle[0]) :]]))


def check_slots(rows: Sequence[Row]) -> Iterator[str]:
    """Every complaint about a file of one-mask sentences."""
    for row in rows:
        if tuple(row) != SLOT_KEYS:
            yield f"{row.get('id')}: keys are {tuple(row)}, expected {SLOT_KEYS}"
            continue
        if row["about"] not in ("female", "male"):
            yield f"{row['id']}: 'about' is female or male, not {row['about']}"
        if row["text"].count("[MASK]") != 1:
            yield f"{row['id']}: exactly one [MASK] is wanted"
        yield from (f"{row['id']}: {what}" for what in check_sentence(row["text"].replace("[MASK]", "X")))
        if found := GENDERED.search(row["text"]):
            yield f"{row['id']}: '{found.group()}' gives the gender away"
    yield from repeated("id", (row["id"] for row in rows))
    yield from repeated("sentence", (plain(row["text"]) for row in rows))
    if len(rows) < 150:
        yield f"{len(rows)} sentences, at least 150 are wanted"
    about = Counter(row["about"] for row in rows)
    yield from (
        f"{about[one]} rows are about {one}, expected at least 30 %"
        for one in ("female", "male")
        if about[one] < 0.3 * len(rows)
    )
    openings = Counter(" ".join(words(plain(row["text"]))[:4]) for row in rows)
    yield from (f"{count} sentences begin with '{opening}'" for opening, count in openings.items() if count > 2)


def check_terms(pairs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The aligned term lists: {female, male, form}, no term twice, at least 40 pairs."""
    for row in pairs:
        if tuple(row) != ("female", "male", "form") or row["form"] not in ("singular", "plural", "possessive", "pronoun"):
            yield f"{row}: expected female, male and form (singular, plural, possessive or pronoun)"
    if len(pairs) < 40:
        yield f"{len(pairs)} pairs of terms, at least 40 are wanted"
    yield from repeated("pair of terms", (f"{row['female']}/{row['male']}" for row in pairs))
    both = {row["female"].lower() for row in pairs} & {row["male"].lower() for row in pairs}
    yield from (f"'{term}' is in both lists" for term in sorted(both))


def repeated(what: str, values: Iterable[str]) -> Iterator[str]:
    """A complaint for every value that comes twice."""
    yield from (f"{what} {value!r} comes {n} times" for value, n in Counter(values).items() if n > 1)


def plain(text: str) -> str:
    """For comparison: lower case, without punctuation."""
    return " ".join(re.sub(r"[^\w\s…]", "", text.lower()).split())


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("pairs", "slots", "terms"))
    parser.add_argument("file", nargs="*", type=Path)
    parser.add_argument("--partial", action="store_true", help="the file holds some bias types only")
    given = parser.parse_args()
    default = {"pairs": "plumb_pairs.jsonl", "slots": "plumb_slots.jsonl", "terms": "gender_terms.jsonl"}[given.what]
    rows = [row for path in given.file or [DATA / default] for row in read(path)]
    found = list(
        check_pairs(rows, given.partial)
        if given.what == "pairs"
        else check_slots(rows)
        if given.what == "slots"
        else check_terms(rows)
    )
    print(*found or [f"{len(rows)} rows, nothing to mend"], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

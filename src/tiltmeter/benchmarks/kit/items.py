"""Items of a benchmark, each with one text per role."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compressed_rows import fold
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.decoding import guessed_encoding
from tiltmeter.storage.keys import unmistakable
from tiltmeter.storage.tables import read_bytes

if TYPE_CHECKING:
    import pandas as pd

ROLES = ("stereo", "anti", "unrelated")
GROUP_COLUMNS = ("bias_type", "direction", "target")
CROWS_BIAS_TYPES = (
    "race-color", "gender", "socioeconomic", "nationality", "religion", "age", "sexual-orientation",
    "physical-appearance", "disability",
)  # fmt: skip
UNSPECIFIED = "unspecified"
REPEATED_ID = "kept: repeated id, a number was appended"
REPEATED_PAIR = "kept and counted: a repetition of an earlier pair, which is no further evidence"
SPECIAL_TOKEN = "kept: a sentence holds {}, which models may take for a special token"
STRAY_QUOTE = "kept: a sentence has an unpaired quotation mark, which may belong to the file's format"
READ_AS = "read as {}, since it is not UTF-8; if that is wrong, give --encoding"
ITEM_COLUMNS = ("benchmark", "item", "scored", *GROUP_COLUMNS, "context", *ROLES, "extra")
"""Columns of every items table. A benchmark with texts of other roles has a column for each of them too."""
LANGUAGE = "language"
"""A column of items that say in which language they are."""
SPECIAL = re.compile(r"\[(?:MASK|PAD|CLS|SEP|UNK|BOS|EOS)\]|</?s>|<(?:mask|pad|unk|bos|eos|cls|sep)>|<\|\w+\|>")
"""Texts that tokenizers of many models read as a special token, not as text."""
QUOTES = str.maketrans("‘’‚“”„", "'''\"\"\"")
PIECE = 256
"""Items that a table is made of at a time."""
LOST = "\ufffd"
"""Signs of a character that an earlier conversion lost."""


@dataclass(frozen=True)
class Item:
    """One row of a benchmark. `texts` maps a role to its sentence; `context` has a BLANK where the fills go."""

    id: str
    texts: Mapping[str, str]
    bias_type: str = UNSPECIFIED
    direction: str | None = None
    target: str | None = None
    context: str | None = None
    scored: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Note:
    """Something about one row that a reader should know: it was skipped, renamed, or kept although odd."""

    row: str
    what: str
    is_skip: bool = False


@dataclass(frozen=True, repr=False)
class Benchmark:
    """Items with where they came from. `notes` lists the rows that were skipped or changed, with the reason.

    `family` names the kind of question that the items are (docs/families.md): it decides how a model is queried.
    """

    name: str
    items: Sequence[Item]
    source: str = ""
    sha256: str = ""
    citation: str = ""
    notes: tuple[Note, ...] = ()
    family: str = "pairs"
    scorers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Kind of model → the scorers that the benchmark is meant for; used where none are named."""
    cluster: str | None = None
    """The column in `extra` whose items are resampled together, since they are no independent evidence."""
    cluster_noun: str = "clusters"
    """Name of its values, in the plural: articles, templates."""
    skipped_share: float = 0.0
    """The share of rows of the source that are no items, for the reasons in `notes`."""
    whole_sha256: str = ""
    """The digest of all items, where these are all items of some domains: evidence is about whole benchmarks."""

    def __post_init__(self) -> None:
        taken: set[str] = set()
        for item in self.items:
            if item.id in taken:
                raise InputError(
                    f"{self.name}: ids must be unique, and '{item.id}' is not.",
                    code="duplicate-name",
                    kind="id",
                    name=item.id,
                    benchmark=self.name,
                )
            taken.add(item.id)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        """Describe the benchmark in one line; its sentences would fill a notebook."""
        notes = f", {len(self.notes):,} notes" if self.notes else ""
        return f"<{type(self).__name__} {self.name}: {len(self.items):,} items of the family {self.family}{notes}>"

    @cached_property
    def asked_items(self) -> Sequence[Item]:
        """Items that models answer (StereoSet's intersentence part is loaded, but not scored)."""
        return self.items if all(item.scored for item in self.items) else fold(item for item in self.items if item.scored)

    @property
    def size(self) -> int:
        """Number of questions, for a progress bar."""
        return len(self.asked_items)

    @property
    def amount(self) -> str:
        """The number of questions with their unit, for a plan."""
        return f"{self.size:,} items"

    @property
    def workload(self) -> int:
        """The number of texts that the time it takes grows with."""
        return len(self.items)

    @property
    def has_context(self) -> bool:
        """Return True if an item that models answer has a context with a BLANK."""
        return any(item.context for item in self.asked_items)

    def limit(self, n: int | None) -> Self:
        """Keep n items that models can answer; None keeps all."""
        if n is None:
            return self
        if n < 1:
            raise UsageError(f"--limit must be at least 1, not {n}.", code="out-of-range", option="--limit", value=n)
        return replace(self._first(n), whole_sha256="")

    def _first(self, n: int) -> Self:
        """The first n items. A benchmark whose first items are all alike chooses others."""
        return replace(self, items=self.asked_items[:n])

    def sample(self, n: int) -> Benchmark:
        """The first n items, for a trial. A benchmark that cannot be shortened returns itself."""
        return self.limit(n)

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The groups that the items are about."""
        return tuple(dict.fromkeys(group for item in self.asked_items if (group := self._group_of(item)) is not None))

    def only_groups(self, names: Sequence[str]) -> Benchmark:
        """Keep the items of the named groups, ignoring case; refuse an unknown group."""
        return self._keep(frozenset(self._known_group(name) for name in names)) if names else self

    def _keep(self, groups: frozenset[str]) -> Benchmark:
        kept = fold(item for item in self.items if self._group_of(item) in groups)
        return replace(self, items=kept, whole_sha256="")

    def _known_group(self, name: str) -> str:
        found = next((group for group in self.group_names if group.casefold() == name.strip().casefold()), None)
        if found is None:
            known = f"Groups: {', '.join(self.group_names)}." if self.group_names else "It names no groups."
            raise UsageError(
                f"{self.name} has no group '{name}' (--groups). {known}",
                code="unknown-name",
                kind="group",
                name=name,
                benchmark=self.name,
                option="--groups",
            )
        return found

    def _group_of(self, item: Item) -> str | None:
        """A benchmark's own column of groups, else the target, else the bias type."""
        if self._grouped_by == "group":
            group = item.extra.get("group")
            return None if group is None else str(group)
        return item.target if self._grouped_by == "target" else item.bias_type

    @cached_property
    def _grouped_by(self) -> str:
        if any(item.extra.get("group") is not None for item in self.asked_items):
            return "group"
        return "target" if any(item.target for item in self.asked_items) else "bias_type"

    @cached_property
    def data_hash(self) -> str:
        """Hash of everything a model is shown; group labels do not matter to it."""
        return str(self._hash_of_items().hexdigest())

    def _hash_of_items(self) -> Any:
        digest = hashlib.sha256()
        for item in self.asked_items:
            shown = (item.id, *chain.from_iterable(sorted(item.texts.items())), item.context or "")
            digest.update(b"\x1e" + "\x1f".join(map(unmistakable, shown)).encode("utf-8", "surrogatepass"))
        return digest

    def shown_texts(self) -> Iterator[str]:
        """The texts that a model reads, to see how well it can."""
        for item in self.asked_items:
            yield from item.texts.values()

    def note_counts(self) -> dict[str, int]:
        """Count each note."""
        return dict(Counter(note.what for note in self.notes))


def make_benchmark(
    name: str, rows: Iterable[tuple[str, Item | str]], make: type[Benchmark] = Benchmark, **facts: Any
) -> Benchmark:
    """Builds a benchmark from (row label, item or the reason to skip it), and looks after ids.

    A repeated id is renamed, not dropped; identical sentences stay (they tie). Both are noted.
    """
    notes: list[Note] = list(facts.pop("notes", ()))
    items = fold(_with_own_ids(rows, notes))
    if not items:
        reasons = "; ".join(f"{what} ({n})" for what, n in Counter(note.what for note in notes).items())
        raise InputError(
            f"No usable row in {facts.get('source') or name}. {reasons or 'The file has no data rows.'}",
            code="empty-file",
            file=str(facts.get("source") or name),
            reasons=reasons,
        )
    skipped = sum(note.is_skip for note in notes)
    return make(name=name, items=items, notes=tuple(notes), skipped_share=skipped / (skipped + len(items)), **facts)


def _with_own_ids(rows: Iterable[tuple[str, Item | str]], notes: list[Note]) -> Iterator[Item]:
    """The items, one at a time; what there is to say of them is added to the notes."""
    taken: set[str] = set()
    pairs: set[tuple[str, ...]] = set()
    numbers: dict[str, count[int]] = {}
    for label, row in rows:
        if isinstance(row, str):
            notes.append(Note(label, f"skipped: {row}", is_skip=True))
            continue
        if row.id in taken:
            notes.append(Note(label, REPEATED_ID))
            further = numbers.setdefault(row.id, count(2))  # what it has given was taken, and still is
            item = replace(row, id=next(unused for n in further if (unused := f"{row.id}#{n}") not in taken))
        else:
            item = row
        taken.add(item.id)
        if "stereo" in item.texts and item.texts["stereo"] == item.texts.get("anti"):
            notes.append(Note(label, "kept and counted as a tie: both sentences are identical"))
        if "stereo" in item.texts:
            pair = (str(item.context), *item.texts.values())
            notes += [Note(label, REPEATED_PAIR)] if pair in pairs else []
            pairs.add(pair)
        notes += [Note(label, what) for what in odd_text(item)]
        yield item


def repeated_share(items: pd.DataFrame) -> float:
    """The share of items that are no evidence of their own.

    Such an item repeats the texts of an earlier one, whatever case, spaces, invisible characters and kinds of quotation
    marks they have. A pair may repeat another in either order, and its two sentences may be identical: pairs that stand
    there in both orders give a bias score of 50 by construction.
    """
    import pandas as pd

    about = {*ITEM_COLUMNS, LANGUAGE} - {"context", *ROLES}
    texts = {name: [_plain(text) for text in items[name]] for name in items.columns if name not in about}
    if not len(items) or not texts:
        return 0.0
    keys = []
    for row in zip(*texts.values(), strict=True):
        of = dict(zip(texts, row, strict=True))
        pair = sorted((of.pop("stereo", ""), of.pop("anti", "")))
        keys.append((*pair, *of.values()))
    equal = [bool(first) and first == second for first, second, *_ in keys]
    return float((pd.Series(keys).duplicated() | pd.Series(equal)).mean())


def _plain(text: object) -> str:
    """A text as it is compared with others; what is no text is empty."""
    if not isinstance(text, str):
        return ""
    if not text.isascii():
        shown = unicodedata.normalize("NFKC", text).translate(QUOTES)
        text = "".join(sign for sign in shown if unicodedata.category(sign) != "Cf")
    return " ".join(text.casefold().split())


def odd_text(item: Item) -> Iterator[str]:
    """Describe parts of an item's texts that a model may misread. The mask of a slot is intended."""
    whole = "\n".join(text.replace("[MASK]", "", 1) if role == "slot" else text for role, text in item.texts.items())
    if names := sorted(set(SPECIAL.findall(whole))):
        yield SPECIAL_TOKEN.format(", ".join(names))
    if any(text.count('"') % 2 for role, text in item.texts.items() if role in (*ROLES, "slot")):
        yield STRAY_QUOTE
    if LOST in whole:
        yield "kept: a sentence holds U+FFFD, which stands for a character that was lost before"


def encoding_notes(path: str | Path | None, encoding: str | None = None) -> tuple[Note, ...]:
    """Describe the detected encoding of a file that is not UTF-8, where none was stated."""
    taken = None if path is None or encoding else guessed_encoding(read_bytes(Path(path)))
    what = READ_AS.format(taken)
    return (Note(Path(path).name, what),) if path is not None and taken else ()


def file_facts(path: Path, encoding: str | None = None) -> dict[str, Any]:
    """Describe the file that a benchmark was read from: its place, its content, and how it was decoded."""
    return {"source": str(path), "sha256": content_sha256(path), "notes": encoding_notes(path, encoding)}


def items_table(benchmark: Benchmark) -> pd.DataFrame:
    """Every item with its texts, group columns and annotations (`extra`, as JSON): the rows of items.parquet."""
    return _items_frame(benchmark, benchmark.items, _roles(benchmark))


def items_tables(benchmark: Benchmark) -> Iterator[pd.DataFrame]:
    """Yield the table in pieces with all columns, at least one, so that a long benchmark is never in memory as a whole."""
    roles, rest = _roles(benchmark), iter(benchmark.items)
    yield _items_frame(benchmark, list(islice(rest, PIECE)), roles)
    while some := list(islice(rest, PIECE)):
        yield _items_frame(benchmark, some, roles)


def items_text(benchmark: Benchmark, *, without: Sequence[str] = ()) -> Iterator[str]:
    """Yield the table as the lines of a CSV file, a piece at a time, for a digest."""
    for number, frame in enumerate(items_tables(benchmark)):
        yield frame.drop(columns=list(without)).to_csv(index=False, header=number == 0)


def _roles(benchmark: Benchmark) -> list[str]:
    """Roles of texts, and the language where items say it."""
    roles = dict.fromkeys([*ROLES, *(role for item in benchmark.items for role in item.texts)])
    return [*roles, LANGUAGE] if any(item.extra.get(LANGUAGE) for item in benchmark.items) else list(roles)


def _items_frame(benchmark: Benchmark, items: Sequence[Item], roles: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {
        "benchmark": benchmark.name,
        "item": [item.id for item in items],
        "scored": [item.scored for item in items],
        "context": [item.context for item in items],
        "extra": [json.dumps(item.extra, ensure_ascii=False, default=str) for item in items],
    }
    columns |= {column: [getattr(item, column) for item in items] for column in GROUP_COLUMNS}
    columns |= {role: [item.texts.get(role) for item in items] for role in roles}
    if LANGUAGE in roles:
        columns[LANGUAGE] = [item.extra.get(LANGUAGE) for item in items]
    return pd.DataFrame(columns)[list(dict.fromkeys([*ITEM_COLUMNS, *roles]))]


def benchmark_of(name: str, items: pd.DataFrame) -> Benchmark:
    """Restore the scored part of a benchmark of pairs from a run: the inverse of `items_table`."""
    rows = items[(items["benchmark"] == name) & items["scored"]].to_dict("records")
    return Benchmark(name, tuple(_item(row) for row in rows))


def _item(row: dict[str, Any]) -> Item:
    text = {key: value if isinstance(value, str) else None for key, value in row.items()}
    return Item(
        id=row["item"],
        texts={role: row[role] for role in ROLES if text[role] is not None},
        bias_type=row["bias_type"],
        direction=text["direction"],
        target=text["target"],
        context=text["context"],
        extra=json.loads(row["extra"]),
    )


def has_column(items: pd.DataFrame, column: str) -> bool:
    """Return True if items can be grouped by this column: one of the table, or one of the user's own in `extra`."""
    if column in (*GROUP_COLUMNS, "all"):
        return True
    return (column in items and len(items) > 0) or any(json.loads(text).get(column) is not None for text in items["extra"])


def require_column(tables: Iterable[Sequence[pd.DataFrame]], column: str) -> None:
    """Raise an error for a column that no family's items can be grouped by. `tables` are the items tables of each family."""
    lacking = [[items for items in of_family if not has_column(items, column)] for of_family in tables]
    if lacking and all(lacking):
        raise _no_column(lacking[0][0], column)


def _no_column(items: pd.DataFrame, column: str) -> InputError:
    known = sorted({*GROUP_COLUMNS, *(key for text in items["extra"][:50] for key in json.loads(text))})
    name = str(items["benchmark"].iloc[0]) if len(items) else "this benchmark"
    return InputError(
        f"Items of {name} have no column '{column}' to group by. Columns: {', '.join(known)}.",
        code="missing-column",
        column=column,
        benchmark=name,
    )


def group_column(items: pd.DataFrame, ids: Any, column: str) -> list[Any]:
    """The value of a column for each of these items of one benchmark, as text; refuses a column that they do not have."""
    ours = items.set_index("item")
    if column in ours:
        there = ours.loc[ids, column].notna()
        return [str(value) if has else None for value, has in zip(ours.loc[ids, column], there, strict=True)]
    values = [json.loads(text).get(column) for text in ours.loc[ids, "extra"]]
    if all(value is None for value in values):
        raise _no_column(items, column)
    return [None if value is None else str(value) for value in values]

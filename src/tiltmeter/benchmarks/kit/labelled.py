"""A benchmark of labelled text: which texts are toxic, which groups they name, and examples to learn from."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tiltmeter.benchmarks.kit.groups import domain_of
from tiltmeter.benchmarks.kit.items import Benchmark, Item
from tiltmeter.errors import InputError, UsageError, require_choice
from tiltmeter.storage.compressed_rows import fold
from tiltmeter.storage.keys import unmistakable

TEXT = "text"
TOXIC, FINE = "toxic", "non-toxic"
TOXIC_WORDS = frozenset((
    "1", "1.0", "true", "yes", "toxic", "hate", "hatespeech", "hate-speech", "hateful", "offensive", "abusive", "bad",
    "insult", "threat", "harmful",
))  # fmt: skip
FINE_WORDS = frozenset((
    "0", "0.0", "false", "no", "non-toxic", "nontoxic", "not-toxic", "normal", "neutral", "none", "not-bad", "ok", "clean",
    "neither", "nothate", "not-hate", "non-hate", "not-hateful", "non-hateful", "no-hate", "benign", "safe", "fine", "good",
    "not-offensive", "non-offensive", "acceptable", "harmless",
))  # fmt: skip
THRESHOLD = 0.5
"""A label that is a share of annotators counts as toxic from here on, as Kaggle's competition had it."""
MASK = re.compile(r"\[mask\]|<\|?mask\|?>", re.IGNORECASE)
EVALUATED = ("test", "validation+test")


@dataclass(frozen=True)
class Example:
    """A text to learn from."""

    text: str
    toxic: bool


@dataclass(frozen=True, repr=False)
class LabelledBenchmark(Benchmark):
    """Items have a `text`; their `extra` says `toxic`, `groups`, and `cluster` where texts belong together.

    `training` is not classified. `recipe` is the published recipe of fine-tuning that goes with the data.
    """

    family: str = "labels"
    cluster: str | None = "cluster"
    training: tuple[Example, ...] = ()
    recipe: str = "toxicity"
    groups: tuple[str, ...] = ()
    """Groups that the benchmark is about, whether texts name them or not."""
    learned_from: str = ""
    """The benchmark that the training texts are of, where it is another one."""

    @property
    def workload(self) -> int:
        """The texts to label, or those to learn from where there are more of them."""
        return max(len(self.items), len(self.training))

    def _first(self, n: int) -> Self:
        """n texts to judge and n to learn from, spread evenly: such files are often sorted by their labels."""
        return replace(self, items=fold(spread(self.asked_items, n)), training=tuple(spread(self.training, n)))

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The groups that texts name, and those that the benchmark is about."""
        named = (group for item in self.items for group in item.extra["groups"])
        return tuple(dict.fromkeys((*self.groups, *named)))

    def _keep(self, groups: frozenset[str]) -> LabelledBenchmark:
        """All texts stay: the groups are compared with texts that name none of them."""
        items = fold(
            labelled_item(item.id, item.texts[TEXT], item.extra["toxic"], kept, **_without(item.extra))
            for item in self.items
            for kept in ([group for group in item.extra["groups"] if group in groups],)
        )
        return replace(self, items=items, groups=tuple(group for group in self.groups if group in groups))

    @cached_property
    def data_hash(self) -> str:
        """Hash of the texts that are judged, and of those that are learned from."""
        digest = self._hash_of_items()
        digest.update(self.training_hash.encode())
        return str(digest.hexdigest())

    @cached_property
    def training_hash(self) -> str:
        """Hash of what is learned from, and in which order."""
        digest = hashlib.sha256()
        for example in self.training:
            digest.update(f"\x1e{unmistakable(example.text)}\x1f{example.toxic}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def spread(rows: Sequence[Any], n: int) -> Iterator[Any]:
    """n of the rows, evenly spaced from the first to the last."""
    return (rows[at * len(rows) // n] for at in range(n)) if n < len(rows) else iter(rows)


def labelled_item(name: str, text: str, toxic: bool, groups: Sequence[str], **more: Any) -> Item:
    """An item; the explorer filters by domain and label."""
    return Item(
        id=name,
        texts={TEXT: text},
        bias_type=domain_of(groups),
        direction=TOXIC if toxic else FINE,
        target=", ".join(groups) or None,
        extra={"toxic": toxic, "groups": list(groups), **more},
    )


def learning_from(
    benchmark: Benchmark, other: str | None, data_dir: str | Path | None = None, toxic_labels: Sequence[str] = ()
) -> Benchmark:
    """The benchmark, with the training texts of another one."""
    if other is None or not isinstance(benchmark, LabelledBenchmark):
        return benchmark
    from tiltmeter.benchmarks import load_benchmark

    source = load_benchmark(other, data_dir=data_dir, offered={"toxic_labels": tuple(toxic_labels)})
    if not isinstance(source, LabelledBenchmark) or not source.training:
        raise InputError(
            f"{source.name} has no labelled texts to learn from (--train-on).",
            code="empty-selection",
            benchmark=source.name,
            option="--train-on",
        )
    return replace(benchmark, training=source.training, recipe=source.recipe, learned_from=source.name)


def _without(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if name not in ("toxic", "groups")}


class Labels:
    """Meanings of the labels of a file; refuses a file whose labels are not mapped."""

    def __init__(self, toxic: Sequence[str] = ()) -> None:
        self.toxic = {_plain(word) for word in toxic}

    def meaning(self, value: str) -> bool | None:
        """Toxic or not; None where the label does not decide it.

        >>> labels = Labels()
        >>> labels.meaning("hatespeech"), labels.meaning("Not Bad"), labels.meaning("0.5"), labels.meaning("A")
        (True, False, True, None)
        >>> Labels(["A"]).meaning("B")
        False
        """
        word = _plain(value)
        if self.toxic:
            return word in self.toxic
        if word in TOXIC_WORDS or word in FINE_WORDS:
            return word in TOXIC_WORDS
        try:
            share = float(word)
        except ValueError:
            return None
        return share >= THRESHOLD if 0 <= share <= 1 else None

    def check(self, values: Iterable[str], where: str) -> None:
        """Refuses labels that are not understood: all of them are named, so that one answer is enough."""
        counts = Counter(value for value in values if value)
        shown = ", ".join(f"'{value}' ({n})" for value, n in counts.most_common(8))
        if self.toxic and not any(self.meaning(value) for value in counts):
            raise UsageError(
                f"{where}: no row has a label of --toxic-labels. Its labels: {shown}.",
                code="unknown-name",
                kind="label",
                file=str(where),
                option="--toxic-labels",
            )
        unknown = next((value for value in counts if self.meaning(value) is None), None)
        if unknown is not None:
            raise UsageError(
                f"{where}: the labels are {shown}; which of them mean toxic? Say it with --toxic-labels {unknown}.",
                code="missing-value",
                file=str(where),
                option="--toxic-labels",
                labels=shown,
            )


def _plain(word: str) -> str:
    return re.sub(r"[\s_]+", "-", word.strip().lower())


def check_evaluated(evaluate: str) -> None:
    """Refuses a part that is none."""
    require_choice("--evaluate", evaluate, EVALUATED)


def is_labelled(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None) -> bool:
    """Return True if a table holds labelled texts: it has a label, and its texts have no mask that would make them slots."""
    text, label = ((columns or {}).get(name, name) for name in (TEXT, "label"))
    first = rows[:50]
    has_both = all(any(name in row for row in first) for name in (text, label))
    return has_both and not any(MASK.search(str(row.get(text))) for row in first)

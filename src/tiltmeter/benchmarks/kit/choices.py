"""Multiple-choice questions about groups of people, in the design of BBQ (Parrish et al., 2022)."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Self

from tiltmeter.benchmarks.kit.items import UNSPECIFIED, Benchmark, Item
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compressed_rows import fold

QUESTION = "question"
AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
NEGATIVE, NON_NEGATIVE = "negative", "non-negative"
CONDITIONS = {"ambig": AMBIGUOUS, "disambig": DISAMBIGUATED}
POLARITIES = {"neg": NEGATIVE, "nonneg": NON_NEGATIVE}
"""Names of both in the files of BBQ and its adaptations."""
FEWEST_ANSWERS, MOST_ANSWERS = 2, 6


def answer_role(number: int) -> str:
    """Name the text of an answer; the first is number 0.

    >>> answer_role(0)
    'answer_1'
    """
    return f"answer_{number + 1}"


@dataclass(frozen=True)
class Choice:
    """One question as its benchmark gives it. Answers are numbered from 0.

    `stereotyped` is the answer that agrees with the stereotype: for a non-negative question that of the *other* group.
    It is None where the benchmark names none. `template` names the frame that the question was made from: questions of
    one template are not independent.
    """

    context: str
    question: str
    answers: tuple[str, ...]
    right: int
    unknown: int
    stereotyped: int | None
    condition: str
    template: str
    polarity: str = ""
    groups: tuple[str, ...] = ()
    stereotyped_group: str | None = None
    category: str = UNSPECIFIED


def choice_item(identity: str, choice: Choice, **extra: Any) -> Item | str:
    """Build an item, or give the reason why the row cannot be used."""
    if problem := _problem(choice):
        return problem
    texts = {QUESTION: choice.question} | {answer_role(n): text for n, text in enumerate(choice.answers)}
    facts = {
        "right": choice.right, "unknown": choice.unknown, "stereotyped": choice.stereotyped,
        "condition": choice.condition, "polarity": choice.polarity, "template": choice.template,
        "groups": list(choice.groups),
    }  # fmt: skip
    return Item(
        id=identity,
        texts=texts,
        bias_type=choice.category,
        target=choice.stereotyped_group,
        context=choice.context,
        extra=facts | extra,
    )


def _problem(choice: Choice) -> str | None:
    """Name the first thing that is wrong with a question, or None."""
    n, answers = len(choice.answers), [answer.strip() for answer in choice.answers]
    stereotyped = choice.unknown - 1 if choice.stereotyped is None else choice.stereotyped
    problems = {
        f"{n} answers instead of {FEWEST_ANSWERS} to {MOST_ANSWERS}": not FEWEST_ANSWERS <= n <= MOST_ANSWERS,
        "empty question or answer": not choice.question.strip() or not all(answers),
        "two answers are the same": len({answer.casefold() for answer in answers}) < n,
        "the right answer is not among the answers": not 0 <= choice.right < n,
        "the 'unknown' answer is not among the answers": not 0 <= choice.unknown < n,
        "the stereotype-consistent answer is not among the answers": not -1 <= stereotyped < n,
        "the stereotype-consistent answer is 'unknown'": stereotyped == choice.unknown,
        f"the condition is neither {AMBIGUOUS} nor {DISAMBIGUATED}": choice.condition not in (AMBIGUOUS, DISAMBIGUATED),
        "the right answer of an ambiguous question is not 'unknown'": choice.condition == AMBIGUOUS
        and choice.right != choice.unknown,
        "the right answer of a disambiguated question is 'unknown'": choice.condition == DISAMBIGUATED
        and choice.right == choice.unknown,
    }
    return next((what for what, is_wrong in problems.items() if is_wrong), None)


def answers_of(item: Item) -> tuple[str, ...]:
    """Give the answers of an item in the order of its benchmark."""
    return tuple(item.texts[answer_role(n)] for n in range(len(item.texts) - 1))


@dataclass(frozen=True, repr=False)
class ChoiceBenchmark(Benchmark):
    """Questions with a context and answers. `bias_type` is the category, `target` the stereotyped group.

    `language` chooses the wording of the prompts of a benchmark.
    """

    family: str = "choices"
    language: str = "en"

    @cached_property
    def data_hash(self) -> str:
        """Hash of the questions, and of what chooses their wording: the language, and which answer is "unknown"."""
        digest = self._hash_of_items()
        digest.update(f"{self.language} {[item.extra['unknown'] for item in self.asked_items]}".encode())
        return str(digest.hexdigest())

    def _first(self, n: int) -> Self:
        """Keep n questions, spread over the templates, whole sets of one context and its variants first.

        The first n of a file would all be of one template, whose questions are not independent.
        """
        templates: dict[tuple[str, str], list[list[Item]]] = defaultdict(list)
        for item in self.asked_items:
            sets = templates[item.bias_type, str(item.extra["template"])]
            if not sets or not _is_same_set(sets[-1], item):
                sets.append([])
            sets[-1].append(item)
        shuffled = sorted((sorted(sets, key=_order) for sets in templates.values()), key=lambda sets: _order(sets[0]))
        turns = (some for some in chain.from_iterable(zip_longest(*shuffled)) if some is not None)
        kept = {item.id for item in list(chain.from_iterable(turns))[:n]}
        return replace(self, items=fold(item for item in self.asked_items if item.id in kept))


def category_key(name: str) -> str:
    """Return a category's name without its case and hyphens.

    >>> category_key("Disability-Status") == category_key("disability_status")
    True
    """
    return name.replace("-", "_").casefold()


@contextmanager
def reading_line(file: Path, number: int, layout: str) -> Iterator[None]:
    """Turn the exceptions of a line in another layout into an InputError that names the line."""
    try:
        yield
    except (KeyError, TypeError, ValueError, SyntaxError, IndexError) as error:
        raise InputError(
            f"{file}, line {number} is not in {layout}'s layout: {error!r}.",
            code="wrong-format",
            file=str(file),
            line=number,
            layout=layout,
        ) from None


def categories_named(names: Sequence[str] | str, categories: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Find categories by name, in any case of letters; all where none is named."""
    by_fold = {category_key(name): name for name in categories}
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if category_key(name) not in by_fold:
            raise UsageError(
                f"There is no category '{name}' (--category). Categories: {', '.join(categories)}.",
                code="unknown-name",
                kind="category",
                name=name,
                option="--category",
            )
    return [by_fold[category_key(name)] for name in wanted] or list(categories)


def _is_same_set(items: Sequence[Item], item: Item) -> bool:
    """Recognise the variants of one filled template: same answers but for 'unknown', next to each other in the file."""
    return _people(items[-1]) == _people(item)


def _people(item: Item) -> frozenset[str]:
    return frozenset(answer for n, answer in enumerate(answers_of(item)) if n != item.extra["unknown"])


def _order(items: Sequence[Item]) -> tuple[int, str]:
    return zlib.crc32(items[0].id.encode("utf-8", "surrogatepass")), items[0].id

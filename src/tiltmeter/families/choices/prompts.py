"""Prompts: how a question is put to a model. Each is a TOML file with a name and a digest; `--prompt` adds one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import permutations
from pathlib import Path

from tiltmeter.benchmarks import Item
from tiltmeter.benchmarks.kit.choices import QUESTION, answers_of
from tiltmeter.errors import InputError, UsageError
from tiltmeter.families.choices.options import ChoicesOptions
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.places import at_home
from tiltmeter.storage.toml import read_toml

FOLDER = Path(__file__).parent / "prompts"
LETTERS = "ABCDEF"
DEFAULTS = {"en": "plain", "es": "plain-es", "ca": "plain-ca", "ko": "plain-ko"}
"""The prompt of each language where none is named."""
ALL_ORDERS = 3
"""Up to this many answers all orders are used; of more answers only the rotations."""
NEEDED = {
    "with_options": ("{question}", "{options}"),
    "without_options": ("{question}",),
    "cloze": ("{question}", "{answer}"),
}


@dataclass(frozen=True)
class Prompt:
    """The wording around a question.

    `unknown` replaces the benchmark's own wording of the answer "unknown", where it is set. `sha256` is that of the file.
    """

    name: str
    sha256: str
    language: str
    with_options: str
    option: str
    without_options: str
    cloze: str
    unknown: str | None = None
    question_only: bool = False

    @property
    def title(self) -> str:
        """Name the prompt as tables do: a control without the context is a prompt of its own."""
        return f"{self.name}, question only" if self.question_only else self.name

    def answers(self, item: Item) -> tuple[str, ...]:
        """Give the answers of an item as they are worded in this prompt."""
        unknown = item.extra["unknown"]
        return tuple(
            self.unknown if self.unknown is not None and n == unknown else text for n, text in enumerate(answers_of(item))
        )

    def lettered(self, item: Item, order: Sequence[int]) -> str:
        """Write the question with its answers as lettered options in some order."""
        answers = self.answers(item)
        options = "\n".join(
            self.option.format(letter=LETTERS[place], answer=answers[number]) for place, number in enumerate(order)
        )
        return self._filled(self.with_options, item, options=options)

    def open(self, item: Item) -> str:
        """Write the question without its answers."""
        return self._filled(self.without_options, item)

    def cloze_of(self, item: Item, answer: str) -> tuple[str, str]:
        """Write the question with an answer in it: what stands before the answer, and what stands behind it."""
        before, _, after = self.cloze.partition("{answer}")
        return self._filled(before, item), self._filled(after, item) if after else ""

    def _filled(self, text: str, item: Item, **more: str) -> str:
        context = "" if self.question_only else item.context or ""
        wording = text if context else _without_context(text)
        return wording.format(context=context, question=item.texts[QUESTION], **more).strip("\n")


def _without_context(text: str) -> str:
    """Take the context out of a wording: its whole line, unless that line has something else.

    >>> _without_context("Text: {context}\\nQuestion: {question}"), _without_context("{context} {question} {answer}")
    ('Question: {question}', '{question} {answer}')
    """
    lines = (
        line.replace("{context} ", "").replace("{context}", "") if "{question}" in line else line
        for line in text.split("\n")
    )
    return "\n".join(line for line in lines if "{context}" not in line)


def orders_of(n: int, which: str) -> list[tuple[int, ...]]:
    """List the orders in which n answers are presented: all (rotations of more than three), or only the given one.

    >>> orders_of(3, "given"), len(orders_of(3, "all")), len(orders_of(4, "all"))
    ([(0, 1, 2)], 6, 4)
    """
    given = tuple(range(n))
    if which == "given":
        return [given]
    if n <= ALL_ORDERS:
        return list(permutations(given))
    return [given[turn:] + given[:turn] for turn in range(n)]


def find_prompt(name: str | None, language: str, *, question_only: bool = False) -> Prompt:
    """Find a prompt by its name, or read it from a file; without a name, that of the language."""
    if name is None and language not in DEFAULTS:
        raise UsageError(
            f"There is no prompt in the language '{language}'. Supply one with --prompt FILE.toml.",
            code="unknown-name", kind="language", name=language,
        )  # fmt: skip
    path = FOLDER / f"{name or DEFAULTS[language]}.toml"
    if name is not None and not path.is_file():
        path = at_home(name)
        if not is_file(path):
            known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.toml")))
            raise UsageError(
                f"There is no prompt '{name}' (--prompt): neither a file nor one of {known}.",
                code="unknown-name", kind="prompt", name=name,
            )  # fmt: skip
    return _read(path, question_only)


def cache_key_extra(options: ChoicesOptions) -> dict[str, str]:
    """Describe a prompt that was named by what decides answers: its name, which scorers carry, and its content."""
    if options.prompt is None:
        return {}
    prompt = find_prompt(options.prompt, "")
    return {"prompt": f"{prompt.name} {prompt.sha256}"}


def _read(path: Path, question_only: bool) -> Prompt:
    table = read_toml(path, "the prompt")
    known = {field.name for field in fields(Prompt)} - {"name", "sha256", "question_only"}
    unknown, missing = sorted(set(table) - known), sorted(known - {"unknown"} - set(table))
    if unknown or missing or not all(isinstance(value, str) for value in table.values()):
        what = (
            f"has no field '{missing[0]}'"
            if missing
            else f"has an unknown field '{unknown[0]}'"
            if unknown
            else "has a value that is no text"
        )
        raise InputError(
            f"The prompt {path} {what}. Fields: {', '.join(sorted(known))}.",
            code="missing-value" if missing else "unknown-name" if unknown else "wrong-type", file=path,
            name=next(iter(missing + unknown), None),
        )  # fmt: skip
    for field, places in NEEDED.items():
        if absent := [place for place in places if place not in table[field]]:
            raise InputError(
                f"The prompt {path} has no {absent[0]} in '{field}'.",
                code="missing-value", file=path, field=field, name=absent[0],
            )  # fmt: skip
    return Prompt(name=path.stem, sha256=file_sha256(path), question_only=question_only, **table)

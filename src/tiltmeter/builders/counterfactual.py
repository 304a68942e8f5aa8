"""Counterfactual data augmentation (Zmigrod et al., 2019; Webster et al., 2020): lines, and what they would be otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tiltmeter.builders.aligned import GENDER, first_names, gender_terms, read_aligned
from tiltmeter.builders.swapping import Swap
from tiltmeter.errors import InputError, TiltmeterError, UsageError, require_choice
from tiltmeter.storage.files import write_atomically
from tiltmeter.storage.lines import read_lines

SIDES = ("two", "one")
OURS = "ours"


def make_swaps(
    terms: Sequence[str | Path] | None = None, names: str | Path | None = None, *, repeats: bool = False
) -> list[Swap]:
    """One for each list: `gender`, which is ours and the default, or a file. First names (`ours`, a file) go with gender.

    With `repeats` a term may be in several rows, as in published lists: nothing is swapped back then.
    """
    found = [gender_terms() if str(one) == GENDER else read_aligned(one, repeats=repeats) for one in terms or [GENDER]]
    if not names:
        return [Swap((one,)) for one in found]
    if not any(one.pronouns for one in found):
        raise UsageError(
            "--names applies only with a list of terms that has she and he, and none of the lists does.",
            code="inapplicable-option",
            option="names",
        )
    named = first_names() if str(names) == OURS else read_aligned(names, names=True)
    return [Swap((one, named) if one.pronouns else (one,)) for one in found]


def counterfactuals(
    lines: Iterable[str], swaps: Sequence[Swap], *, sides: str = "two", neutral: bool = False
) -> Iterator[str]:
    """Lines with a term, each followed by its counterfactuals (two-sided), or these alone (one-sided).

    Lines without any term are left out, unless `neutral`. Each swap makes copies of its own: one thing changes at a time.
    """
    require_choice("--sides", sides, SIDES)
    for line in lines:
        copies = [copy for swap in swaps for way in range(1, swap.ways + 1) if (copy := swap(line, way)) != line]
        if copies and sides == "one":
            yield from copies
        elif copies or neutral:
            yield from [line, *copies]


def write_counterfactuals(
    text: Path,
    output: Path,
    terms: Sequence[str | Path] | None = None,
    names: str | Path | None = None,
    *,
    sides: str = "two",
    neutral: bool = False,
) -> tuple[int, int]:
    """A file of lines and their counterfactuals; how many lines were written, and how many of the text had a term."""
    swaps, counts = make_swaps(terms, names), [0, 0]
    if output.is_dir():
        raise UsageError(f"{output} is a folder; name a file.", code="not-a-file", file=output, kind="folder")

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as file:
            for line in read_lines(text):
                copies = list(counterfactuals([line], swaps, sides=sides, neutral=neutral))
                counts[0] += len(copies)
                counts[1] += any(swap.changes(line) for swap in swaps)
                file.writelines(f"{copy}\n" for copy in copies)
        if not counts[1]:
            raise no_terms(str(text), swaps)

    write_atomically(output, write)
    return counts[0], counts[1]


def no_terms(where: str, swaps: Sequence[Swap]) -> TiltmeterError:
    """There is nothing to swap."""
    some = ", ".join(word for swap in swaps for row in swap.lists[0].rows[:2] for word in row)
    return InputError(
        f"No line of {where} has a word of these groups (such as {some}): there is nothing to swap.",
        code="empty-selection",
        file=where,
        kind="terms",
    )

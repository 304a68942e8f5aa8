"""The rule list: which words name a gender, which uses do not count, which sentences give the gender away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError
from tiltmeter.storage.toml import read_toml

OURS = Path(__file__).parent / "data" / "sexism_rules.toml"


@dataclass(frozen=True)
class Rules:
    """Compiled rules. `group_of` maps a word in lower case to its group."""

    group_of: dict[str, str]
    term: re.Pattern[str]
    idiom: re.Pattern[str]
    inferable: dict[str, re.Pattern[str]]

    def terms_in(self, text: str) -> list[re.Match[str]]:
        """Every word that names a gender, but for idioms."""
        idle = [match.span() for match in self.idiom.finditer(text)]
        return [
            match
            for match in self.term.finditer(text)
            if not any(start <= match.start() and match.end() <= end for start, end in idle)
        ]

    def gives_away(self, text: str) -> str | None:
        """Reason why the rest of the sentence reveals the gender, with the words that do."""
        for reason, pattern in self.inferable.items():
            if match := pattern.search(text):
                return f"{reason}: {match.group().lower()}"
        return None


def load_rules(path: str | Path | None = None) -> Rules:
    """Our rules, or those in a file of the same layout."""
    return _compiled(read_toml(Path(path) if path else OURS, "the rules in"), str(path or "the rules"))


def _compiled(table: dict[str, Any], where: str) -> Rules:
    try:
        group_of = {str(word).lower(): group for group, words in table["terms"].items() for word in words}
        return Rules(
            group_of,
            _whole_words(map(re.escape, sorted(group_of, key=len, reverse=True))),
            _whole_words(table.get("idioms", {}).get("patterns", [])),
            {reason: _whole_words(patterns) for reason, patterns in table.get("inferable", {}).items()},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where}: expected [terms] with a list of words per group ({error}).",
            code="wrong-format",
            place=where,
            expected="[terms]",
        ) from None
    except re.error as error:
        raise InputError(
            f"{where}: '{error.pattern!r}' is not a regular expression: {error}.",
            code="wrong-format",
            place=where,
            expected="regular expression",
            reason=str(error),
        ) from None


def _whole_words(patterns: Iterable[str]) -> re.Pattern[str]:
    """Any of them as whole words; nothing, if there are none."""
    joined = "|".join(patterns)
    return re.compile(rf"(?<![\w])(?:{joined})(?![\w])" if joined else r"(?!)", re.IGNORECASE)

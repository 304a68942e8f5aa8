"""Searched prompts as a file that can be read, looked through and used again, for another model too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.debias.kit.prompt_search import Prompt
from tiltmeter.errors import InputError
from tiltmeter.models import Tokenization
from tiltmeter.storage.files import read_json
from tiltmeter.storage.places import at_home

PROMPTS = "prompts.json"


def prompts_content(prompts: Sequence[Prompt], tokens: Tokenization, about: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file: prompts with their divergence in this model, and the search that chose them."""
    rows = [
        {
            "length": len(one.ids),
            "text": tokens.decode(one.ids).strip(),
            "tokens": tokens.token_strings(one.ids),
            "divergence": one.divergence,
        }
        for one in prompts
    ]
    return {**about, "prompts": rows}


def read_prompts(path: str | Path, tokens: Tokenization) -> list[tuple[int, ...]]:
    """Ids for this tokenizer: by the tokens where it has them all, else by the text. A plain list has a prompt a line."""
    place = at_home(path)
    rows = _rows(place)
    found = dict.fromkeys(ids for row in rows if (ids := _ids(row, tokens)))
    if not found:
        raise InputError(f"{place} has no prompts.", code="empty-file", file=place)
    return list(found)


def kept_prompts(path: Path, tokens: Tokenization, about: Mapping[str, Any]) -> list[Prompt] | None:
    """Read the prompts of an unfinished training, if they were searched in the same way."""
    if not path.is_file():
        return None
    said = read_json(path)
    if json.loads(json.dumps(dict(about))) != {name: value for name, value in said.items() if name != "prompts"}:
        return None
    return [Prompt(_ids(row, tokens), float(row["divergence"])) for row in said["prompts"]]


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        said = json.loads(text) if path.suffix == ".json" else text.splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read the prompts in {path}: {error}.", code="unreadable-file", file=path) from None
    rows = said.get("prompts") if isinstance(said, dict) else said
    if not isinstance(rows, list):
        raise InputError(f"{path}: expected a list of prompts.", code="wrong-format", file=path, expected="list of prompts")
    found = [{"text": row} if isinstance(row, str) else row for row in rows]
    if wrong := [row for row in found if not isinstance(row, dict) or not isinstance(row.get("text"), str)]:
        raise InputError(
            f"{path}: expected a prompt, but read {str(wrong[0])[:80]}.",
            code="wrong-format", file=path, expected="prompt", value=wrong[0],
        )  # fmt: skip
    return found


def _ids(row: Mapping[str, Any], tokens: Tokenization) -> tuple[int, ...]:
    vocabulary = tokens.tokenizer.get_vocab()
    spelt = row.get("tokens") or []
    if spelt and all(one in vocabulary for one in spelt):
        return tuple(vocabulary[one] for one in spelt)
    text = " ".join(str(row["text"]).split())
    return tokens.encode([f" {text}" if tokens.byte_level else text], special=False)[0].ids

"""A file of rules (TOML): rules as text, or as tables with a key for each part. A key that is not known is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiltmeter.errors import InputError, UsageError
from tiltmeter.gate.grammar import LIMITS, RANGES, limits, parse
from tiltmeter.gate.rule import CONFIDENCE, LEAST_N, MAX_MISSING, Rule
from tiltmeter.storage.typed_values import fits

PLACES = ("measure", "scorer", "benchmark")
TEXTS = (*PLACES, "by", "group", "worst", "model", "name")
KEYS = (*TEXTS, "confidence", "min_n", "max_missing", "pooling", *LIMITS)
TOP = ("rules", "rule", "confidence", "min_n", "max_missing", "undecided")
POLICIES = ("fail", "pass")


@dataclass(frozen=True)
class RuleBook:
    """Rules, and what becomes of an undecided one."""

    rules: tuple[Rule, ...]
    undecided: str = "fail"

    def __post_init__(self) -> None:
        if not self.rules:
            raise InputError(
                "There is no rule to check. Give --rule or --rules FILE.", code="missing-value", option="--rule"
            )
        if self.undecided not in POLICIES:
            message = f"An undecided rule can {' or '.join(POLICIES)}, not '{self.undecided}'."
            raise InputError(message, code="unknown-name", policy=self.undecided, kind="policy", name=self.undecided)
        again = [rule.text for n, rule in enumerate(self.rules) if replace(rule, name="") in _unnamed(self.rules[:n])]
        if again:
            raise InputError(f'The rule "{again[0]}" is there twice.', code="duplicate-name", rule=again[0], kind="rule")


def _unnamed(rules: Sequence[Rule]) -> list[Rule]:
    return [replace(rule, name="") for rule in rules]


def read_rules(
    texts: Sequence[str] = (),
    file: str | Path | None = None,
    *,
    undecided: str | None = None,
    confidence: float | None = None,
    min_n: int | None = None,
    max_missing: float | None = None,
) -> RuleBook:
    """Read rules from texts and from a file. Arguments override the file, and a rule overrides both.

    Args:
        texts: Rules as text.
        file: A TOML file of rules.
        undecided: Verdict on undecided rules: pass or fail.
        confidence: Level of the intervals.
        min_n: The smallest number of items, or of clusters, that a verdict needs.
        max_missing: The largest share of missing items that a verdict allows.

    Returns:
        The rules and their settings, for `check`.

    Raises:
        InputError: The file or a rule cannot be read, or there is no rule.

    Example:
        >>> rules = read_rules(["bias_score[pll,plumb-pairs] within 45..55"])
        >>> rules.rules[0].measure, rules.rules[0].low, rules.rules[0].high
        ('bias_score', 45.0, 55.0)
    """
    stated = _table(Path(file)) if file is not None else {}
    level = _number(stated, "confidence", CONFIDENCE, str(file)) if confidence is None else confidence
    least = _count(stated, "min_n", LEAST_N, str(file)) if min_n is None else min_n
    missing = _number(stated, "max_missing", MAX_MISSING, str(file)) if max_missing is None else max_missing
    defaults = (level, least, missing)
    for name, kind, value in zip(("confidence", "min_n", "max_missing"), (float, int, float), defaults, strict=True):
        if not fits(kind, value):
            raise UsageError(f"{name} must be a number, not {value!r}.", code="wrong-type", name=name)
    from_file = [parse(_text(rule, f"{file}, rules"), *defaults) for rule in _list(stated, "rules", file)]
    tables = _list(stated, "rule", file)
    from_file += [_rule(one, f"{file}, rule {n}", *defaults) for n, one in enumerate(tables, start=1)]
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise UsageError(f"Rules are a list of texts, not {texts!r}.", code="wrong-type", name="rules")
    given = [parse(_text(text, "A rule"), *defaults) for text in texts]
    return RuleBook((*from_file, *given), undecided or _text(stated.get("undecided", "fail"), f"{file}, undecided"))


def _table(path: Path) -> dict[str, Any]:
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.", code="unreadable-file", file=str(path)) from None
    except (ValueError, RecursionError) as error:  # not TOML, or not UTF-8
        raise InputError(
            f"{path} is not a file of rules: {error}.", code="wrong-format", file=str(path), error=str(error)
        ) from None
    _refuse_unknown(stated, TOP, str(path))
    return stated


def _refuse_unknown(stated: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in stated:
        if key not in keys:
            near = get_close_matches(key, keys, 1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            message = f"{where} has an unknown key '{key}'.{meant} Keys: {', '.join(keys)}."
            raise InputError(message, code="unknown-name", key=key, where=where, kind="key", name=key)


def _list(stated: Mapping[str, Any], key: str, file: str | Path | None) -> list[Any]:
    given = stated.get(key, [])
    if not isinstance(given, list):
        how = "[[rule]] tables" if key == "rule" else "a list of texts"
        raise InputError(f"{file}: '{key}' must be {how}.", code="wrong-type", key=key, where=str(file))
    return given


def _rule(stated: Any, where: str, confidence: float, least_n: int, max_missing: float) -> Rule:
    if not isinstance(stated, dict):
        message = (
            f"{where} must be a table, which starts with [[rule]]. A list of rules as texts has the key rules: rules = […]."
        )
        raise InputError(message, code="wrong-type", where=where)
    _refuse_unknown(stated, KEYS, where)
    texts = {key: _text(stated[key], f"{where}, {key}") for key in TEXTS if key in stated}
    lacking = [key for key in PLACES if not texts.get(key)]
    if lacking:
        raise InputError(f"{where} lacks {', '.join(lacking)}.", code="missing-value", where=where, keys=lacking)
    given = [key for key in LIMITS if key in stated]
    if not given or (len(given) > 1 and set(given) != {"at_least", "at_most"}):
        message = f"{where} needs exactly one limit ({', '.join(LIMITS)}), and has {len(given)}."
        raise InputError(message, code="conflicting-options", where=where, limits=given)
    about = {"by": texts["worst"], "worst": True} if "worst" in texts else {}
    if about and {"by", "group"} & set(texts):
        message = f"{where} asks for the worst {texts['worst']} and for one group; only one can be meant."
        raise InputError(message, code="conflicting-options", where=where, keys=sorted(texts))
    if ("by" in texts) != ("group" in texts):
        raise InputError(
            f"{where} needs both by and group, or worst instead of them.",
            code="missing-value",
            where=where,
            keys=["by", "group"],
        )
    fields: dict[str, Any] = {key: text for key, text in texts.items() if key != "worst"} | about
    for key in given:
        fields |= limits(key, _limit(stated[key], key, where))
    fields["measure"] = fields["measure"].replace("-", "_")
    fields["confidence"] = _number(stated, "confidence", confidence, where)
    fields["max_missing"] = _number(stated, "max_missing", max_missing, where)
    fields["pooled"] = _flag(stated, "pooling", where)
    return Rule(**fields, least_n=_count(stated, "min_n", least_n, where))


def _limit(value: Any, key: str, where: str) -> Any:
    if key not in RANGES and not (key == "shown_within" and isinstance(value, list)):
        return _number({key: value}, key, 0.0, where)
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(
            f"{where}: {key} is a list of two numbers, such as [45, 55].", code="wrong-type", key=key, where=where
        )
    return [_number({key: one}, key, 0.0, where) for one in value]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where} must be a text, not {value!r}.", code="wrong-type", where=where)
    return value.strip()


def _flag(stated: Mapping[str, Any], key: str, where: str) -> bool:
    given = stated.get(key, False)
    if not isinstance(given, bool):
        raise InputError(f"{where}: {key} must be true or false, not {given!r}.", code="wrong-type", key=key, where=where)
    return given


def _count(stated: Mapping[str, Any], key: str, default: int, where: str) -> int:
    number = _number(stated, key, default, where)
    if not number.is_integer():
        raise InputError(f"{where}: {key} must be a whole number, not {number!r}.", code="wrong-type", key=key, where=where)
    return int(number)


def _number(stated: Mapping[str, Any], key: str, default: float, where: str) -> float:
    given = stated.get(key, default)
    if not fits(float, given):
        raise InputError(f"{where}: {key} must be a number, not {given!r}.", code="wrong-type", key=key, where=where)
    return float(given)

"""Tests that assert the wording of a sentence, found without running them.

A sentence is a text of 25 or more characters with three spaces. A test asserts one if a sentence is compared in an `assert`,
is the pattern of a `match=`, or is passed to a helper that checks wording; also where the sentence comes from a parameter,
a loop or a variable of the test. A sentence that is only passed to the function under test is input, not an assertion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LENGTH, SPACES = 25, 3
TEXT_CHECKS = frozenset(
    {"startswith", "endswith", "count", "find", "index", "search", "match", "fullmatch", "findall", "contains", "split"}
    | {"partition", "join", "escape", "any", "all", "set", "str", "sorted", "list", "tuple", "dict", "len", "bool"}
    | {"is_refusal"}
)
"""Calls whose arguments are compared with a text, or are passed through to a comparison."""


def asserted_sentences(root: Path) -> list[str]:
    """List the tests below a folder's `tests` that assert a sentence, as `path:line name`.

    Args:
        root: A checkout of the repository.

    Returns:
        One line for each test function.
    """
    return [
        f"{path.relative_to(root)}:{node.lineno} {node.name}"
        for path in sorted((root / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and _asserts_sentence(node)
    ]


def _asserts_sentence(function: ast.FunctionDef) -> bool:
    names = _names_of_sentences(function)
    return any(
        _is_sentence(inner) or (isinstance(inner, ast.Name) and inner.id in names)
        for part in _compared(function)
        for inner in _without_inputs(part)
    )


def _compared(function: ast.FunctionDef) -> Iterator[ast.AST]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield node.test
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value


def _without_inputs(node: ast.AST) -> Iterator[ast.AST]:
    """Walk an expression, leaving out arguments of calls other than text checks."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Call) and child is not node.func and _called(node) not in TEXT_CHECKS:
            continue
        yield from _without_inputs(child)


def _names_of_sentences(function: ast.FunctionDef) -> set[str]:
    """Parameters, loop variables and variables of a test that have a sentence as a value."""
    names = {name for decorator in function.decorator_list for name in _parametrized(decorator)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, source = node.targets, node.value
        elif isinstance(node, ast.For):
            targets, source = [node.target], node.iter
        else:
            continue
        if any(_is_sentence(inner) for inner in _without_inputs(source)):
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return names


def _parametrized(decorator: ast.expr) -> Iterator[str]:
    if not (isinstance(decorator, ast.Call) and _called(decorator) == "parametrize" and len(decorator.args) > 1):
        return
    first, rows = decorator.args[:2]
    listed = first.elts if isinstance(first, ast.Tuple | ast.List) else [first]
    names = [name.strip() for item in listed if isinstance(item, ast.Constant) for name in str(item.value).split(",")]
    for row in getattr(rows, "elts", []):
        several = row.args if isinstance(row, ast.Call) else getattr(row, "elts", [row])
        pairs = zip(names, several if len(names) > 1 else [row], strict=False)
        yield from (name for name, value in pairs if any(_is_sentence(inner) for inner in ast.walk(value)))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_sentence(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    return len(node.value) >= LENGTH and node.value.count(" ") >= SPACES and "\n" not in node.value

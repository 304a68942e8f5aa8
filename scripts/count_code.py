"""Count what should stay small: `python scripts/count_code.py FOLDER…`, one column for each source tree.

A folder is one that has `src/tiltmeter`. Counts are read off the syntax, so that two versions can be compared without
importing either.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

RESAMPLING = frozenset({"choice", "integers", "multinomial", "permutation", "permuted", "poisson", "randint", "shuffle"})
"""Methods of random generators that draw, permute or flip."""
RANDOM = RESAMPLING | {"beta", "binomial", "normal", "random", "standard_normal", "uniform"}
QUANTILES = frozenset({"nanpercentile", "nanquantile", "percentile", "quantile"})
GENERATORS = ("rng", "default_rng", "generator", "of_words", "of_draws", "stream")
"""How random generators are named in this package."""
OF_STATS = frozenset(
    {"Details", "Difference", "Estimate", "Sample", "Settings", "details_of", "neutral_of", "p_text", "stratum_of"}
)
"""Rows, settings and texts of `stats/`: to use them is no statistics."""
LAYOUT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
Trees = dict[Path, ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Modules:
    """The modules of a source tree, by their path in the package: as text, and parsed."""

    sources: dict[Path, str]
    trees: Trees

    @classmethod
    def read(cls, root: Path) -> Modules:
        """Read every module of `src/tiltmeter`."""
        package = root / "src" / "tiltmeter"
        sources = {path.relative_to(package): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
        return cls(sources, {path: ast.parse(source) for path, source in sources.items()})


def count_lines(modules: Modules) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    return sum(len(code_lines(source)) for source in modules.sources.values())


def code_lines(source: str) -> set[int]:
    """Number the lines that hold code; a string that stands alone is documentation.

    >>> sorted(code_lines('"Doc."\\n\\nif x:  # why\\n    "About x."\\n    y = [\\n        1,\\n    ]\\nelse:\\n    pass'))
    [3, 5, 6, 7, 8, 9]
    """
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in LAYOUT]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1) if token.string}
    alone = (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return lines - {line for text in alone for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)}


def count_hooks(modules: Modules) -> int:
    """Members of families that are looked for by name: `hasattr(family, "x")`, `getattr(family, "x", default)`."""
    return len({name for tree in modules.trees.values() for name in _hooks(tree)})


def _hooks(tree: ast.Module) -> Iterator[str]:
    for call in _calls(tree):
        named = isinstance(call.func, ast.Name) and (call.func.id, len(call.args)) in (("hasattr", 2), ("getattr", 3))
        if named and "family" in ast.unparse(call.args[0]) and isinstance(call.args[1], ast.Constant):
            yield str(call.args[1].value)


def count_keys(modules: Modules) -> int:
    """Functions named after a key, an identity or a digest of code that compute a sha256."""
    words = ("key", "identity", "code", "made_of", "cut")
    return sum(any(word in one.name for word in words) and _hashes(one) for one in _functions(modules.trees))


def _hashes(function: Function) -> bool:
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "sha256" for call in _calls(function))


def count_resampling(modules: Modules, *, in_stats: bool) -> int:
    """Functions that resample, permute or flip, in `stats/` or in the rooms that estimate."""
    rooms = ("stats",) if in_stats else ("boards", "families", "gate", "measures", "reporting", "runs", "studies")
    chosen = {path: tree for path, tree in modules.trees.items() if path.parts[0] in rooms}
    return sum(any(_draws(call) for call in _calls(one)) for one in _functions(chosen))


def _draws(call: ast.Call, methods: frozenset[str] = RESAMPLING) -> bool:
    """Return whether a random generator is called: a method of something that is named as generators are."""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr in methods and _is_generator(func.value)


def _is_generator(owner: ast.expr) -> bool:
    return any(name in ast.unparse(owner) for name in GENERATORS)


def count_statistics(modules: Modules, *, own: bool) -> int:
    """Lines of functions of families, outside studies, that use random numbers themselves; or that do statistics.

    A function does statistics if it makes or uses a random generator, takes quantiles, or calls a function of `stats/`.
    """
    return sum(
        len({line for one in _functions({path: tree}) if _is_statistics(one, tree, own) for line in _lines(one, code)})
        for path, tree in modules.trees.items()
        if path.parts[0] == "families" and not {"studies", "debiasing"} & set(path.parts)
        for code in [code_lines(modules.sources[path])]
    )


def count_estimating(modules: Modules) -> int:
    """Lines of modules of families, outside studies, that make rows of estimates or do statistics, and query no model."""
    return sum(
        len(code_lines(modules.sources[path]))
        for path, tree in modules.trees.items()
        if path.parts[0] == "families" and not {"studies", "debiasing", "kit"} & set(path.parts)
        if not _queries(tree)
        and any(_makes_rows(one) or _is_statistics(one, tree, False) for one in _functions({path: tree}))
    )


def _queries(tree: ast.Module) -> bool:
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(name.startswith(("tiltmeter.models", "tiltmeter.probes", "tiltmeter.scorers")) for name in imported)


def _makes_rows(function: Function) -> bool:
    """Return whether a function is declared to return estimates or differences."""
    returned = {node.id for node in ast.walk(function.returns) if isinstance(node, ast.Name)} if function.returns else set()
    return bool(returned & {"Difference", "Estimate"})


def _is_statistics(function: Function, tree: ast.Module, own: bool) -> bool:
    called = list(_calls(function))
    methods = [call.func for call in called if isinstance(call.func, ast.Attribute)]
    names = {call.func.id for call in called if isinstance(call.func, ast.Name)} | {
        ast.unparse(func.value) for func in methods
    }
    quantiles = any(func.attr in QUANTILES for func in methods)
    is_random = any(_draws(call, RANDOM) for call in called)
    return is_random or (not own and (quantiles or bool(names & _computing(tree))))


def _computing(tree: ast.Module) -> set[str]:
    """Names that a module imports from `stats/` and that compute something."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    made = [name for node in found if (node.module or "").startswith("tiltmeter.stats") for name in node.names]
    return {name.asname or name.name for name in made} - OF_STATS


def _lines(function: Function, code: set[int]) -> set[int]:
    return {line for line in code if function.lineno <= line <= (function.end_lineno or function.lineno)}


def count_open_signatures(modules: Modules) -> int:
    """Public functions, those that `tiltmeter` exports, that take `**kwargs`."""
    exported = _exported(modules.trees[Path("__init__.py")])
    trees = {path: tree for path, tree in modules.trees.items() if path.parts[0] != "cli"}  # commands of the same names
    return sum(one.name in exported and one.args.kwarg is not None for one in _functions(trees, nested=False))


def _exported(tree: ast.Module) -> frozenset[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def _functions(trees: Trees, *, nested: bool = True) -> Iterator[Function]:
    for tree in trees.values():
        for node in ast.walk(tree) if nested else tree.body:
            if isinstance(node, Function):
                yield node


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


COUNTS: dict[str, Callable[[Modules], int]] = {
    "modules": lambda modules: len(modules.sources),
    "lines of code": count_lines,
    "optional hooks of families": count_hooks,
    "functions that hash a key": count_keys,
    "functions that resample, in stats": lambda modules: count_resampling(modules, in_stats=True),
    "functions that resample, elsewhere": lambda modules: count_resampling(modules, in_stats=False),
    "lines of families with random numbers": lambda modules: count_statistics(modules, own=True),
    "lines of families with statistics": lambda modules: count_statistics(modules, own=False),
    "lines of modules of families that estimate": count_estimating,
    "public functions with **kwargs": count_open_signatures,
}


def main(folders: list[str]) -> None:
    """Print a row for each count and a column for each folder."""
    columns = [Modules.read(Path(folder)) for folder in folders]
    for name, count in COUNTS.items():
        print(f"{name:<40}" + "".join(f"{count(modules):>10,}" for modules in columns))


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])

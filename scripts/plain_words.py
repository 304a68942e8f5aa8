"""Plain words: count the dialect that STYLE forbids, and fail where it comes back.

`python scripts/plain_words.py` checks the package, its templates and scripts, and the documentation: it lists forbidden
words in docstrings, messages and help, docstrings that open with a riddle, names that say nothing, and the tests that
assert a sentence if there are too many of them; it exits with 1 if there is anything to list. `make lint` runs it.
`python scripts/plain_words.py --count FOLDER…` prints counters, one column for each source tree, so that two versions can be
compared without importing either.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from asserted_sentences import asserted_sentences

WORDS = re.compile(
    r"\b(told|tells?|telling|asked|dealt|deals|dealing|wrongs|wronged|surely|nobody|unsaid|gone on from|goes on from"
    r"|side by side|held? against|what is left of|hand(s|ed)? on|judged again|taken? in|to be had"
    r"|noticed|noticing|(not|would|they|that|items) notices?"
    r"|asking|(go|goes|going) on (from|where)|known tilts?|asks? (every|each|one|whole) (models?|benchmarks?|questions?))\b",
    re.IGNORECASE,
)
"""Words of the old dialect. Field words replace them: detect, distinguish, report, query, permute, misclassify, continue."""
TEXT_OF_SCRIPT = re.compile(r"\"[^\"]*\"|`[^`]*`")
CODE = re.compile(r"`[^`\n]*`")
"""Names in the text of a page; what they are called is checked where they are defined."""
FIELD = re.compile(r"\$\{[^}]*\}")
OPENINGS = re.compile(r"(What|Whether|Of|The same)\b")
NAMES = frozenset({"told", "asked", "given", "known", "one", "found"})
MOST_SENTENCES = 16
"""So many tests may assert a sentence; 308 did when they were first counted. Lower it whenever there are fewer."""
OTHER_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "training/README.md", "action.yml")
ALLOWED = Path(__file__).with_name("plain_words_allowed.txt")
"""One `path: text` a line: places where a forbidden word is right, such as quotations of a paper."""


@dataclass(frozen=True)
class Place:
    """A text of the package, the templates or the documentation."""

    path: Path
    line: int
    text: str


def texts_of(path: Path, root: Path) -> Iterator[Place]:
    """Every string of a module or a script, or every line of a page without its inline code."""
    source = path.read_text("utf-8")
    short = path.relative_to(root)
    if path.suffix == ".js":
        for number, line in enumerate(source.splitlines(), 1):
            yield from (Place(short, number, FIELD.sub("", text)) for text in TEXT_OF_SCRIPT.findall(line))
        return
    if path.suffix != ".py":
        lines = enumerate(source.splitlines(), 1)
        yield from (Place(short, number, CODE.sub("", line)) for number, line in lines)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for number, line in enumerate(node.value.splitlines()):
                yield Place(short, node.lineno + number, line)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring, those of attributes too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def forbidden(root: Path) -> list[str]:
    """Places with words of the dialect, and docstrings with forbidden openings, as lines to print."""
    allowed = set(ALLOWED.read_text("utf-8").splitlines()) if ALLOWED.is_file() else set()
    lines = []
    for path in sorted(_speaking(root)):
        for place in texts_of(path, root):
            if WORDS.search(place.text) and f"{place.path}: {place.text.strip()}" not in allowed:
                lines.append(f"{place.path}:{place.line}: {place.text.strip()}")
        if path.suffix == ".py":
            tree = ast.parse(path.read_text("utf-8"))
            lines += [f"{path.relative_to(root)}:{at}: opens with {text.split()[0]}: {text.splitlines()[0]}"
                      for at, text in docstrings(tree) if OPENINGS.match(text)]  # fmt: skip
    return lines


def _speaking(root: Path) -> Iterator[Path]:
    package = root / "src" / "tiltmeter"
    yield from package.rglob("*.py")
    yield from (path for kind in ("*.j2", "*.js") for path in package.rglob(kind))
    yield from (path for kind in ("*.md", "*.ipynb") for path in (root / "docs").rglob(kind))
    yield from (path for name in OTHER_PAGES if (path := root / name).is_file())


def count_openings(root: Path) -> int:
    """Docstrings that open with What, Whether, Of or The same."""
    return sum(bool(OPENINGS.match(text)) for tree in _trees(root / "src") for _, text in docstrings(tree))


def empty_names(root: Path) -> list[str]:
    """Parameters, attributes and functions with a name that says nothing, as lines to print."""
    return [
        f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)}: an empty name: {ast.unparse(node).splitlines()[0]}"
        for path in sorted((root / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if _is_empty_name(node)
    ]


def _is_empty_name(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name.strip("_") in NAMES
    if isinstance(node, ast.arg):
        return node.arg.strip("_") in NAMES
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Store) and node.attr.strip("_") in NAMES
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id.strip("_") in NAMES
    return False


def _trees(folder: Path) -> Iterator[ast.Module]:
    return (ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py")))


COUNTERS: dict[str, Callable[[Path], int]] = {
    "forbidden words and openings": lambda root: len(forbidden(root)),
    "docstrings that open with What / Whether / Of / The same": count_openings,
    "parameters, attributes, functions called told, asked, given, known, one, found": lambda root: len(empty_names(root)),
    "tests that assert a sentence": lambda root: len(asserted_sentences(root)),
}


def findings(root: Path) -> list[str]:
    """Everything that must be mended, as lines to print."""
    tests = asserted_sentences(root)
    excess = [f"{test}: asserts a sentence ({len(tests)} tests do; at most {MOST_SENTENCES} may)" for test in tests]
    return forbidden(root) + empty_names(root) + (excess if len(tests) > MOST_SENTENCES else [])


def main() -> int:
    """Count, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(__file__).parent.parent])
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    if options.count:
        for title, count in COUNTERS.items():
            print(f"{title:80}", *(f"{count(folder):6}" for folder in options.folders))
        return 0
    lines = [line for folder in options.folders for line in findings(folder)]
    print(*lines, sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())

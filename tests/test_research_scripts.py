"""Scripts of benchmarks and research: what they import from the package still exists, so that results can be made again."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = [path for folder in ("benchmarks", "research", "scripts") for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_exists(script: Path) -> None:
    nodes = ast.walk(ast.parse(script.read_text("utf-8")))
    names = [(node.module or "", name.name) for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names]
    for module, name in names:
        if module.split(".")[0] == "tiltmeter":
            assert hasattr(import_module(module), name) or find_spec(f"{module}.{name}"), f"{module}.{name}"

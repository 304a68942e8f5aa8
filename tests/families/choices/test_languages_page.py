"""docs/research-languages.md is written from stored numbers."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "research" / "choices-languages"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="research/ is not part of this checkout")


def test_the_page_equals_what_the_script_writes() -> None:
    assert load("page").page(stored()) == (ROOT / "docs" / "research-languages.md").read_text(encoding="utf-8")


def test_another_number_gives_another_page() -> None:
    numbers = stored()
    numbers["agreement"]["answers"]["bbq-kobbq"]["rho"] = 0.123
    assert "0.12" in load("page").page(numbers)
    assert load("page").page(numbers) != load("page").page(stored())


def test_the_numbers_cover_every_category_of_every_language() -> None:
    numbers, script = stored(), load("languages")
    assert {name: tuple(of) for name, of in numbers["categories"].items()} == script.CATEGORIES
    for name, rows in numbers["languages"].items():
        assert {row["group"] for row in rows if row["by"] == "bias_type"} == set(script.CATEGORIES[name])


def stored() -> dict[str, Any]:
    """The numbers of the repository."""
    numbers: dict[str, Any] = json.loads((FOLDER / "numbers.json").read_text(encoding="utf-8"))
    return numbers


def load(name: str) -> ModuleType:
    """A script of the folder, as a module."""
    spec = spec_from_file_location(f"choices_languages_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

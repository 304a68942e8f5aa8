"""The notebooks of the documentation run from the first cell to the last."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown: list[str] = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            *statements, last = ast.parse(source).body
            assert isinstance(last, ast.Expr), f"{path.name}: a cell that shows nothing: {source[:40]}"
            exec(compile(ast.Module(statements, []), f"{path.name}: {source[:40]}", "exec"), scope)
            shown.append(repr(eval(compile(ast.Expression(last.value), path.name, "eval"), scope)))
    assert {50.0} == set(scope["table"]["neutral"])
    assert scope["figure"].axes
    assert all(len(text) < 2_000 for text in shown)
    plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_committed(path: Path) -> None:
    assert not any(cell.get("outputs") for cell in json.loads(path.read_text("utf-8"))["cells"])

"""The shape of the house: imports point one way, torch stays in its rooms, importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter import catalog

SOURCE = Path(tiltmeter.__file__).parent
# Lower rooms first: a module imports from its own room and from those before it.
ROOMS = (
    "errors", "packed", "catalog", "benchmarks", "builders", "store", "corpora", "models", "probes", "scorers", "provenance",
    "tables", "scoring", "slot_tables", "slot_filling", "measures", "paired", "importing", "resampling", "significance",
    "group_estimating", "estimating", "slot_estimating", "associating", "evaluating", "comparing", "run_folders", "runs",
    "running", "figures", "studies", "reporting", "cli", "__main__",
)  # fmt: skip
HEAVY = {"torch", "transformers"}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    place = ROOMS.index(room_of(path))
    for name in imported(path):
        first, *rest = name.split(".")
        if first == "tiltmeter" and rest and rest[0] in ROOMS:
            assert ROOMS.index(rest[0]) <= place, f"{path.name} imports {name}, which lies above it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_stays_in_its_rooms(path: Path) -> None:
    if room_of(path) not in ("models", "debias", "finetune"):
        assert not {name.split(".")[0] for name in imported(path)} & HEAVY


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_is_cheap() -> None:
    """Under 200 ms over a bare interpreter (in fact a few), and none of the heavy libraries."""
    code = "import time; s = time.perf_counter(); import tiltmeter; print(time.perf_counter() - s)"
    assert min(float(python(code)) for _ in range(3)) < 0.2
    heavy = ("torch", "transformers", "pandas", "scipy", "matplotlib", "sklearn")
    assert python(f"import sys, tiltmeter; print([m for m in {heavy} if m in sys.modules])").strip() == "[]"


def test_the_public_names_are_there_and_stay_functions() -> None:
    """A module of a function's name would take its place once imported."""
    for name in tiltmeter.__all__:
        assert getattr(tiltmeter, name) is not None
    code = (
        "import tiltmeter, tiltmeter.cli.app, tiltmeter.running, tiltmeter.comparing, tiltmeter.reporting.words;"
        "names = ('score', 'estimate', 'compare', 'report', 'run', 'load_model');"
        "print(all(callable(getattr(tiltmeter, n)) for n in names))"
    )
    assert python(code).strip() == "True"
    with pytest.raises(AttributeError):
        tiltmeter.nothing_of_the_kind  # noqa: B018
    assert set(dir(tiltmeter)) == set(tiltmeter.__all__)


@pytest.mark.parametrize("kind", catalog.KINDS)
def test_file_name_is_function_name(kind: str) -> None:
    for entry in catalog.entries(kind):
        assert entry.function.__name__ == entry.name
        assert (entry.summary and entry.constant("CITATION")) or entry.name == "pairs"


def test_a_third_party_adds_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through an entry point, without touching our files."""
    import types

    module = types.ModuleType("longest")
    module.VIEW, module.CITATION = "unmasked", "nobody"  # type: ignore[attr-defined]
    module.longest = lambda tokens: tokens.total(tokens.logprob * 0 + 1)  # type: ignore[attr-defined]

    class Point:
        name = "longest"

        def load(self) -> types.ModuleType:
            return module

    monkeypatch.setattr(
        catalog,
        "entry_points",
        lambda group, name="longest": [Point()] if (group, name) == ("tiltmeter.scorers", "longest") else [],
    )
    catalog.names.cache_clear()
    catalog.find.cache_clear()
    try:
        assert "longest" in catalog.names("scorers")
        scores = tiltmeter.score(
            str(GOLDEN / "models" / "tiny-bert-cased"), "starter-pairs", ["longest"], cache=False
        ).to_pandas()
        assert (scores["score"] == scores["n_tokens"]).all()
    finally:
        catalog.names.cache_clear()
        catalog.find.cache_clear()

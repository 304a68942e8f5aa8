"""The shape of the house: imports point one way, torch stays in its rooms, families stay behind their seam."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter import catalog
from tiltmeter.families.kit.seam import CONSTANTS, FUNCTIONS

SOURCE = Path(tiltmeter.__file__).parent
# Lower rooms first: a module imports from its own room and from those before it.
ROOMS = (
    "errors", "display", "catalog", "storage", "corpora", "builders", "benchmarks", "models", "probes", "scorers",
    "measures", "stats", "finetune", "debias", "classifiers", "figures", "families", "runs", "plans", "studies", "gate",
    "boards", "reporting", "exports", "cli", "__main__",
)  # fmt: skip
LOOSE = 6
HEAVY = {"torch", "transformers"}
WITH_TORCH = ("models", "finetune", "debias", "classifiers")
KNOWS_FAMILIES = ("families", "benchmarks", "studies")
KNOWS_MEASURES = (*KNOWS_FAMILIES, "measures", "builders")
"""Builders have rules of spelling, among them one about words that end in "ss"."""
DEFAULTS = {"plumb-pairs", "plumb-slots"}
"""The list of default benchmarks: the one place where a run knows what it asks."""


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module or name that is imported anywhere, also inside a function; public names by where they live."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                home = tiltmeter._HOME.get(alias.name) if node.module == "tiltmeter" else None
                yield f"tiltmeter.{home}.{alias.name}" if home else f"{node.module}.{alias.name}"


def words(tree: ast.Module) -> Iterator[str]:
    """Every text that is not a docstring or a comment."""
    spoken = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
            yield node.value


everywhere = pytest.mark.parametrize("path", modules(), ids=name_of)


@everywhere
def test_imports_point_one_way(path: Path) -> None:
    place = ROOMS.index(room_of(path))
    for name in imported(tree_of(path)):
        first, *rest = name.split(".")
        if first == "tiltmeter" and rest and rest[0] != "__version__":
            assert rest[0] in ROOMS, f"{path.name} imports {name}, which is in no room"
            assert ROOMS.index(rest[0]) <= place, f"{path.name} imports {name}, which lies above it"


@everywhere
def test_no_import_hides_behind_a_text(path: Path) -> None:
    """An import by a text is one that the test above cannot see: the catalog alone may do it."""
    calls = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
    assert name_of(path) == "catalog.py" or not {"import_module", "__import__"} & (calls | names)


@everywhere
def test_torch_stays_in_its_rooms(path: Path) -> None:
    if room_of(path) not in WITH_TORCH:
        assert not {name.split(".")[0] for name in imported(tree_of(path))} & HEAVY


@everywhere
def test_families_stay_behind_their_seam(path: Path) -> None:
    """Outside of families, benchmarks (each says its own) and studies, no module names a family or tests for one's type."""
    if room_of(path) in KNOWS_FAMILIES:
        return
    tree, families = tree_of(path), set(catalog.names("families"))
    named = [text for text in words(tree) if text in families and text not in DEFAULTS]
    assert not named, f"{name_of(path)} names a family: {named}"
    for name in imported(tree):
        parts = name.split(".")
        assert not (parts[:2] == ["tiltmeter", "families"] and len(parts) > 2 and parts[2] in families), (
            f"{name_of(path)} imports {name}: ask through the seam"
        )
        assert parts[-1] not in ("SlotBenchmark", "AssociationBenchmark"), f"{name_of(path)} tests for a family's type"


@everywhere
def test_no_module_asks_for_a_measure_by_name(path: Path) -> None:
    """What a measure needs is said in its own file, so that one file adds a measure."""
    if room_of(path) in KNOWS_MEASURES:
        return
    tree = tree_of(path)
    named = [text for text in words(tree) if text in catalog.names("measures")]
    assert not named, f"{name_of(path)} names a measure: {named}"
    of_measures = [name for name in imported(tree) if name.startswith("tiltmeter.measures")]
    assert not of_measures, f"{name_of(path)} imports {of_measures}"


def test_few_modules_lie_loose() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= LOOSE


def test_private_modules_are_used_in_their_folder_only() -> None:
    for path in modules():
        for name in imported(tree_of(path)):
            parts = name.split(".")
            private = [n for n, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
            if parts[0] == "tiltmeter" and private:
                home = SOURCE.joinpath(*parts[1 : private[0]])
                assert home in path.parents or home.with_suffix(".py") == path, f"{name_of(path)} imports {name}"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_is_cheap() -> None:
    """Under 200 ms over a bare interpreter (in fact a few), and none of the heavy libraries."""
    code = "import time; s = time.perf_counter(); import tiltmeter; print(time.perf_counter() - s)"
    assert min(float(python(code)) for _ in range(3)) < 0.2
    heavy = ("torch", "transformers", "pandas", "scipy", "matplotlib", "sklearn")
    assert python(f"import sys, tiltmeter; print([m for m in {heavy} if m in sys.modules])").strip() == "[]"


def test_what_needs_no_model_imports_no_torch() -> None:
    code = (
        "import sys, tiltmeter.cli.app, tiltmeter.cli.run, tiltmeter.runs.run, tiltmeter.reporting.html, tiltmeter.studies;"
        "from tiltmeter.families import all_families; all_families(); tiltmeter.cli.run.run_command();"
        "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_the_public_names_are_there_and_stay_functions() -> None:
    """A module of a function's name would take its place once imported."""
    for name in tiltmeter.__all__:
        assert getattr(tiltmeter, name) is not None
    code = (
        "import tiltmeter, tiltmeter.cli.app, tiltmeter.runs.run, tiltmeter.runs.compare, tiltmeter.runs.estimate,"
        " tiltmeter.reporting.terminal, tiltmeter.families.pairs.estimate;"
        "names = ('ask', 'score', 'estimate', 'compare', 'report', 'run', 'load_model', 'figure', 'table', 'study');"
        "print(all(callable(getattr(tiltmeter, n)) for n in names))"
    )
    assert python(code).strip() == "True"
    with pytest.raises(AttributeError):
        tiltmeter.nothing_of_the_kind  # noqa: B018
    assert set(dir(tiltmeter)) == set(tiltmeter.__all__) == set(tiltmeter._HOME) | {"__version__"}


@pytest.mark.parametrize("kind", [kind for kind in catalog.KINDS if kind != "families"])
def test_file_name_is_function_name(kind: str) -> None:
    for entry in catalog.entries(kind):
        assert entry.function.__name__ == entry.name
        assert (entry.summary and entry.constant("CITATION")) or entry.name == "pairs"


def test_every_family_has_what_the_seam_asks_for() -> None:
    for name in catalog.names("families"):
        module = catalog.module("families", name)
        assert all(hasattr(module, part) for part in (*CONSTANTS, *FUNCTIONS))
        assert all(callable(getattr(module, part)) for part in FUNCTIONS), "a submodule took the place of a function"
        for function in (module.estimate, module.compare):
            assert len((function.__doc__ or "").split("\n\n")) > 1, "its second paragraph tells how intervals are made"


def test_every_measure_belongs_to_one_family() -> None:
    reads = {name: catalog.module("families", name).READS for name in catalog.names("families")}
    for entry in catalog.entries("measures"):
        owners = [name for name, columns in reads.items() if set(entry.parameters) <= columns]
        assert len(owners) == 1, f"{entry.name} belongs to {owners}"


def test_a_third_party_adds_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through an entry point, without touching our files."""
    import types

    module = types.ModuleType("longest")
    module.VIEW, module.CITATION = "unmasked", "nobody"  # type: ignore[attr-defined]
    module.longest = lambda tokens: tokens.total(tokens.logprob * 0 + 1)  # type: ignore[attr-defined]

    class Point:
        name, value, module, dist = "longest", "longest", "longest", None

        def load(self) -> types.ModuleType:
            return module

    monkeypatch.setattr(catalog, "entry_points", lambda group: [Point()] if group == "tiltmeter.scorers" else [])
    catalog.forget()
    try:
        assert "longest" in catalog.names("scorers")
        scores = tiltmeter.score(
            str(GOLDEN / "models" / "tiny-bert-cased"), "starter-pairs", ["longest"], cache=False
        ).to_pandas()
        assert (scores["score"] == scores["n_tokens"]).all()
    finally:
        monkeypatch.undo()
        catalog.forget()

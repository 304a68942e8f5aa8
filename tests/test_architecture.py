"""The shape of the house: imports point one way, torch stays in its rooms, families stay behind their seam."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN, HEAVY_MODULES
from tiltmeter import catalog
from tiltmeter.catalog.error_codes import CODES
from tiltmeter.families import all_families
from tiltmeter.scorers import Scorer

SOURCE = Path(tiltmeter.__file__).parent
# Lower rooms first: a module imports from its own room and from those before it.
ROOMS = (
    "errors", "display", "catalog", "storage", "corpora", "builders", "benchmarks", "models", "probes",
    "scorers", "measures", "stats", "finetune", "debias", "judges", "figures", "families", "execution", "runs", "plans",
    "studies", "gate", "boards", "reporting", "exports", "audits", "cli", "__main__",
)  # fmt: skip
LOOSE = 5
WITH_CODES = (
    "catalog", "storage", "corpora", "builders", "models", "probes", "scorers", "measures", "finetune", "execution",
    "boards", "stats", "judges", "debias", "figures", "benchmarks", "families", "gate", "runs", "studies", "reporting",
    "exports", "audits", "cli",
)  # fmt: skip
"""Rooms in which every error has a code."""
HEAVY = {"torch", "transformers"}
WITH_TORCH = ("models", "finetune", "debias", "judges")
KNOWS_FAMILIES = ("families", "benchmarks", "studies")
"""Studies may name a family; which ones they may import, a test of their own says."""
KNOWS_MEASURES = ("families", "benchmarks", "measures", "builders")
"""Builders have rules of spelling, among them one about words that end in "ss"."""
DEFAULTS = {"plumb-pairs", "plumb-slots"}
"""The list of default benchmarks: the one place where a run knows what it asks."""

FIELDS_OF_OTHERS = {"cli/help.py": {"choices"}, "models/served/dialects.py": {"choices"}}
"""Words that others chose: OpenAI's answers have a field of this name."""


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def room_of(path: Path) -> str:
    return room(path.relative_to(SOURCE).with_suffix("").parts)


def room(parts: Sequence[str]) -> str:
    """The room of a module by its place; a family's studies are of the room of studies."""
    return "studies" if parts[0] == "families" and "studies" in parts[2:3] else parts[0]


@cache
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


def holds_in(paths: Sequence[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a rule about a module: it names all modules that break the rule."""

    def test_of(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = {}
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    broken[name_of(path)] = str(error).splitlines()[0]
            assert not broken

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return test_of


everywhere = holds_in(modules())


@everywhere
def test_imports_point_one_way(path: Path) -> None:
    place = ROOMS.index(room_of(path))
    for name in imported(tree_of(path)):
        first, *rest = name.split(".")
        if first == "tiltmeter" and rest and rest[0] != "__version__":
            assert rest[0] in ROOMS, f"{path.name} imports {name}, which is in no room"
            assert ROOMS.index(room(rest)) <= place, f"{path.name} imports {name}, which lies above it"


@everywhere
def test_no_import_hides_behind_a_text(path: Path) -> None:
    """An import by a text is one that the test above cannot see: the catalog alone may do it."""
    calls = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
    assert name_of(path) == "catalog/__init__.py" or not {"import_module", "__import__"} & (calls | names)


PARSED = {
    "partition", "rpartition", "split", "rsplit", "splitlines", "removeprefix", "removesuffix", "startswith", "endswith",
    "index", "find", "rfind", "count", "replace", "strip", "contains", "extract", "extractall", "findall", "match",
    "fullmatch", "search", "finditer", "sub", "slice",
}  # fmt: skip
"""Methods of texts, of columns of texts and of regular expressions that take a text apart."""
NOTES = {"note", "notes"}
CONVERTING = {"str", "next", "list", "tuple", "set", "sorted", "map"}


def _is_note(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression is a note: a name, an attribute, a column, or such within calls and conversions."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute):
        return node.attr in NOTES or _is_note(node.value, names)
    if isinstance(node, ast.Subscript):
        keys = [one.value for one in ast.walk(node.slice) if isinstance(one, ast.Constant)]
        return "note" in keys or _is_note(node.value, names)
    if isinstance(node, ast.Call):
        given = (
            isinstance(node.func, ast.Name) and node.func.id in CONVERTING and any(_is_note(one, names) for one in node.args)
        )
        return given or _is_note(node.func, names)
    return isinstance(node, ast.BoolOp) and any(_is_note(one, names) for one in node.values)


def _names_of_notes(scope: ast.AST) -> set[str]:
    """The names that notes have in a function: `note`, and what a note is assigned to or taken from one by one."""
    names = set(NOTES)
    for node in ast.walk(scope):
        bound: list[tuple[ast.AST, ast.AST]] = []
        if isinstance(node, ast.Assign):
            bound = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.For | ast.comprehension):
            bound = [(node.target, node.iter)]
        elif isinstance(node, ast.NamedExpr):
            bound = [(node.target, node.value)]
        names |= {target.id for target, value in bound if isinstance(target, ast.Name) and _is_note(value, names)}
    return names


def parsed_notes(tree: ast.Module) -> list[int]:
    """The lines on which a note is taken apart: by a method of texts, by a regular expression, or by `in`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Expr)]
    found = {line for scope in functions for line in _parsed_in(scope, _names_of_notes(scope))}
    return sorted(found | set(_parsed_in(tree, NOTES)))


def _parsed_in(scope: ast.AST, names: set[str]) -> Iterator[int]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARSED:
            given = [node.func.value, *node.args, *(one.value for one in node.keywords)]
            yield from [node.lineno for one in given[:3] if _is_note(one, names)]
        elif isinstance(node, ast.Compare) and any(isinstance(one, ast.In | ast.NotIn) for one in node.ops):
            yield from [node.lineno for one in node.comparators if _is_note(one, names) and not _is_collection(one)]


def _is_collection(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and getattr(node, "id", getattr(node, "attr", "")) == "notes"


@everywhere
def test_notes_are_for_people(path: Path) -> None:
    """A fact that code needs is in `details`: nothing is read out of a note."""
    lines = parsed_notes(tree_of(path))
    assert not lines, f"{name_of(path)} takes a note apart on lines {lines}: put the fact into `details`"


@pytest.mark.parametrize(
    "source",
    [
        'TOLD.search(str(row["note"]))',
        're.match(r"\\d+", row.note)',
        'rows["note"].fillna("").astype(str).str.partition(LEAD)',
        'next(part for part in str(of[NEGATIVE]["note"]).split("; "))',
        'groups[groups["note"].str.contains("τ² = 0;")]',
        'rows.loc[here, "note"].astype(str).str.extract(FORM)',
        '"caution" in row["note"]',
        '"caution" not in (note or "")',
        "[CLUSTERED.search(note) for note in notes]",
        "note.removeprefix(LEAD)",
        'def f(row):\n    told = str(row["note"])\n    return FORM.search(told)',
        '[remark.split(": ") for remark in table["note"] if remark]',
    ],
)
def test_taking_a_note_apart_is_seen(source: str) -> None:
    assert parsed_notes(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        '"; ".join(filter(None, (row.note, more)))',
        'if "note" in table: pass',
        "for note in notes: print(note)",
        'replace(row, note="not computed")',
        'table[table["note"] == ""]',
        "text.split(sign)",
    ],
)
def test_writing_and_showing_a_note_is_fine(source: str) -> None:
    assert not parsed_notes(ast.parse(source))


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
    allowed = DEFAULTS | FIELDS_OF_OTHERS.get(name_of(path), set())
    named = [text for text in words(tree) if text in families and text not in allowed]
    assert not named, f"{name_of(path)} names a family: {named}"
    for name in imported(tree):
        parts = name.split(".")
        assert not (parts[:2] == ["tiltmeter", "families"] and len(parts) > 2 and parts[2] in families), (
            f"{name_of(path)} imports {name}: ask through the seam"
        )


@cache
def types_of_families() -> set[str]:
    """The classes of benchmarks that only one family asks."""
    kit = [tree_of(path) for path in (SOURCE / "benchmarks" / "kit").glob("*.py")]
    classes = [node for tree in kit for node in tree.body if isinstance(node, ast.ClassDef)]
    return {
        node.name for node in classes if any(isinstance(base, ast.Name) and base.id == "Benchmark" for base in node.bases)
    }


def test_the_types_of_all_families_are_known() -> None:
    assert {"SlotBenchmark", "AssociationBenchmark", "LabelledBenchmark", "PromptBenchmark"} <= types_of_families()


SHARED = tuple(room for room in ROOMS[ROOMS.index("families") + 1 :] if room not in KNOWS_FAMILIES)


def shared_modules() -> list[Path]:
    """Modules that treat all families alike."""
    kits = (SOURCE / "families" / "kit", SOURCE / "studies" / "kit")
    return [path for path in modules() if room_of(path) in SHARED or path.parent in kits]


@holds_in([path for path in shared_modules() if room_of(path) in SHARED])
def test_no_shared_room_tests_for_the_type_of_a_family(path: Path) -> None:
    named = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
    used = {name.rsplit(".", 1)[-1] for name in imported(tree_of(path))} | named
    assert not used & types_of_families(), f"{name_of(path)} tests for a family's type"


def is_family(node: ast.expr) -> bool:
    """Whether an expression is a family, going by its name."""
    if isinstance(node, ast.Call):
        node = node.func
        return isinstance(node, ast.Name) and node.id in ("find_family", "family_of")
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lower() == "family"


def looked_up(tree: ast.Module) -> list[str]:
    """Look-ups of what a family may or may not have, by hasattr, getattr or vars."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [
        ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in ("hasattr", "getattr", "vars")
        and call.args
        and is_family(call.args[0])
    ]


@holds_in(shared_modules())
def test_no_hook_of_a_family_is_looked_up(path: Path) -> None:
    """Everything that a family can have is in the base class, with a default."""
    assert not looked_up(tree_of(path))


def test_the_guard_finds_look_ups() -> None:
    found = looked_up(
        ast.parse("getattr(family, 'a', 1), hasattr(find_family(x), 'b'), vars(self.family), getattr(it, 'c')")
    )
    assert len(found) == 3


@everywhere
def test_studies_read_families_through_the_seam(path: Path) -> None:
    """A study imports nothing of a family but the seam and the kit; one in a family's folder imports that family, too."""
    if room_of(path) != "studies":
        return
    others = set(catalog.names("families")) - set(path.relative_to(SOURCE).parts[:2])
    for name in imported(tree_of(path)):
        parts = name.split(".")
        assert not (parts[:2] == ["tiltmeter", "families"] and parts[2] in others), f"{name_of(path)} imports {name}"


@everywhere
def test_no_module_asks_for_a_measure_by_name(path: Path) -> None:
    """What a measure needs, and what it is for, is said in its own file, so that one file adds a measure."""
    if path.relative_to(SOURCE).parts[0] in KNOWS_MEASURES:
        return
    tree = tree_of(path)
    named = [text for text in words(tree) if text in catalog.names("measures")]
    assert not named, f"{name_of(path)} names a measure: {named}"
    of_measures = [name for name in imported(tree) if name.startswith("tiltmeter.measures")]
    assert not of_measures, f"{name_of(path)} imports {of_measures}"


RESAMPLING = {"integers", "multinomial", "permuted", "permutation", "shuffle", "choice", "choices", "random", "binomial"}
"""Methods of random generators that draw rows again, put them into another order, or choose sides."""
NOT_OF_DATA = {
    "builders/natural.py", "debias/inlp.py", "debias/kit/grouped_sentences.py", "debias/kit/word_positions.py",
    "finetune/loss_steps.py",
    "finetune/tasks.py", "models/sampling.py", "probes/plan.py", "probes/views.py", "builders/doses.py",
    "families/associations/ceat.py", "families/choices/implementations.py", "families/generations/studies/noise.py",
    "families/pairs/studies/normality.py", "families/pairs/studies/power.py", "gate/chances.py", "studies/kit/options.py",
}  # fmt: skip
"""Modules that train, sample texts or contexts, simulate answers, disturb texts or take subsamples."""


def random_calls(tree: ast.Module) -> list[str]:
    """Calls of random generators that resample."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    sources = ("rng", "random", "generator", "default_rng", "of_words", "of_draws", "stream")
    return [
        ast.unparse(call)
        for call in calls
        if call.attr in RESAMPLING and any(name in ast.unparse(call.value) for name in sources)
    ]


@everywhere
def test_only_the_design_resamples(path: Path) -> None:
    """One bootstrap, one permutation and one exchange of sides serve all families."""
    if name_of(path) == "stats/design.py" or name_of(path) in NOT_OF_DATA:
        return
    assert not random_calls(tree_of(path)), f"{name_of(path)} resamples: use Design of stats/design.py"


def test_the_design_has_one_of_each() -> None:
    """Each generator method that draws is called in few places: bootstrap and flip, and two kinds of permutation."""
    found = sorted(call.rsplit(".", 1)[-1] for call in random_calls(tree_of(SOURCE / "stats" / "design.py")))
    assert found == ["permuted", "permuted", "random", "random", "random"]


@pytest.mark.parametrize(
    "source", ["rng.integers(0, n, n)", "np.random.default_rng(0).permutation(4)", "self.rng.shuffle(x)"]
)
def test_the_guard_finds_resampling(source: str) -> None:
    assert random_calls(ast.parse(source))


def literals(node: ast.expr) -> Iterator[str]:
    """Texts that an expression may be: a constant, or either side of a condition."""
    if isinstance(node, ast.IfExp):
        yield from (*literals(node.body), *literals(node.orelse))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def codes_in(tree: ast.Module) -> set[str]:
    """Literal codes of errors: the argument `code` of every call."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {code for call in calls for word in call.keywords if word.arg == "code" for code in literals(word.value)}


def test_every_code_of_an_error_is_listed_and_every_listed_code_is_used() -> None:
    """`error` is the code of an error that has none of its own yet."""
    used = set().union(*(codes_in(tree_of(path)) for path in modules()))
    assert used == set(CODES), "catalog/error_codes.py does not list the codes that errors have"
    assert list(CODES) == sorted(CODES)
    assert all(meaning.endswith(".") and len(meaning) < 100 for meaning in CODES.values())


@holds_in([path for path in modules() if room_of(path) in WITH_CODES])
def test_errors_of_a_room_with_codes_all_have_one(path: Path) -> None:
    """Rooms of which every error has a code stay so."""
    names = {"TiltmeterError", "InputError", "UsageError", "ModelError", "ServerError", "RunError"}
    calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    without = [call.lineno for call in calls if call.func.id in names and not any(w.arg == "code" for w in call.keywords)]  # type: ignore[attr-defined]
    assert not without, f"{name_of(path)}: errors without a code in lines {without}"


BY_HAND = re.compile(r"[fe%]$|\..*g$")
"""Specifications of values, intervals, shares and p; not of counts (`,`) and of numbers that a user typed (`g`)."""
FORMATS_ITSELF = {
    "display.py": "the one place",
    "families/kit/detection.py": "numbers of a CSV file",
    "finetune/loop.py": "the loss beside a progress bar",
    "storage/timings.py": "seconds of a step",
    "cli/build.py": "a column that is aligned",
    "models/served/checks.py": "log-probabilities of a server", "models/served/prober.py": "log-probabilities of a server",
    "models/served/model.py": "log-probabilities of a server",
}  # fmt: skip


def _hand_made(tree: ast.Module) -> list[str]:
    """Format specifications in f-strings, and p-values that are written by hand."""
    fields = [node.format_spec for node in ast.walk(tree) if isinstance(node, ast.FormattedValue) and node.format_spec]
    specs = [ast.unparse(spec).removeprefix("f").strip("'\"") for spec in fields]
    return [spec for spec in specs if BY_HAND.search(spec)] + [text for text in words(tree) if text.strip() == "< 0.001"]


@everywhere
def test_numbers_are_formatted_in_one_place(path: Path) -> None:
    assert name_of(path) in FORMATS_ITSELF or not _hand_made(tree_of(path)), "use the functions of tiltmeter.display"


@pytest.mark.parametrize("source", ["f'{x:.1f} %'", "f'{x:.0%}'", "f'{x:+.{n}f}'", "f'{x:.3g}'", "'< 0.001' if p else ''"])
def test_numbers_formatted_by_hand_are_seen(source: str) -> None:
    assert _hand_made(ast.parse(source)) and not _hand_made(ast.parse("f'{n:,} of {limit:g}'"))


def test_sentences_of_families_are_templates_with_fields() -> None:
    """A sentence of a story is a Statement, whose code and fields programs read; no text is put together in place."""
    for path in (SOURCE / "families").glob("*/*narratives.py"):
        yielded = [node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Yield)]
        assert not [ast.unparse(text) for text in yielded if isinstance(text, ast.JoinedStr | ast.Constant)], path


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


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_the_program_starts_without_arrays(words: list[str]) -> None:
    """Families import numpy, Arrow and the models' modules: 1.5 s that a question about the program must not wait for."""
    code = (
        "import sys; from contextlib import redirect_stdout, suppress; from io import StringIO\n"
        f"from tiltmeter.cli import main; sys.argv[1:] = {words}\n"
        "with redirect_stdout(StringIO()) as shown, suppress(SystemExit): main()\n"
        "print(len(shown.getvalue()) > 20, [m for m in ('numpy', 'pyarrow', 'tiltmeter.models') if m in sys.modules])"
    )
    assert python(code).strip() == "True []"


def test_the_program_ends_without_looking_for_garbage() -> None:
    """Python collects garbage several times at its end: over a second once torch and transformers are there."""
    code = (
        "import atexit, gc, sys; from contextlib import suppress; from tiltmeter.cli import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000)); sys.argv[1:] = ['--version']\n"
        "with suppress(SystemExit): main()"
    )
    assert python(code).split()[-1] == "True"


def test_a_run_imports_no_more_than_transformers_does(tmp_path: Path) -> None:
    """Figures, classical classifiers, studies and compilers are seconds that asking a model must not wait for."""
    words = ["run", "-m", "plumb-clm", "-b", "starter-pairs", "--limit", "2", "--no-cache", "-o", str(tmp_path / "run")]
    heavy = ("matplotlib", "sklearn", "scipy.stats", "torchvision", "torch._inductor.compile_fx", "ray", "tiltmeter.studies",
             "tiltmeter.audits", "tiltmeter.boards")  # fmt: skip
    code = (
        "import sys; from contextlib import redirect_stdout, suppress; from io import StringIO\n"
        f"from tiltmeter.cli import main; sys.argv[1:] = {words}\n"
        "with redirect_stdout(StringIO()), suppress(SystemExit): main()\n"
        f"print([m for m in ('torch', 'transformers', *{heavy}) if m in sys.modules])"
    )
    assert python(code).strip() == "['torch', 'transformers']"


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
    assert python("import tiltmeter; print(callable(tiltmeter.debias.make))").strip() == "True"  # docs/debiasing.md
    with pytest.raises(AttributeError):
        tiltmeter.nothing_of_the_kind  # noqa: B018
    assert set(dir(tiltmeter)) == set(tiltmeter.__all__) == set(tiltmeter._HOME) | {"__version__"}


@pytest.mark.parametrize("kind", [kind for kind in catalog.KINDS if kind != "families"])
def test_file_name_is_function_name(kind: str) -> None:
    for entry in catalog.entries(kind):
        assert entry.function.__name__ == entry.name
        assert (entry.summary and entry.citation) or entry.name == "pairs"


def test_every_family_explains_its_intervals() -> None:
    for name, family in all_families().items():
        assert family.name == name and family.UNIT
        for function in (family.estimate, family.compare):
            assert len((function.__doc__ or "").split("\n\n")) > 1, "its second paragraph tells how intervals are made"


def test_every_measure_belongs_to_one_family() -> None:
    reads = {name: family.READS for name, family in all_families().items()}
    for entry in catalog.entries("measures"):
        owners = [name for name, columns in reads.items() if set(entry.parameters) <= columns]
        assert len(owners) == 1, f"{entry.name} belongs to {owners}"


def test_a_study_of_one_family_is_found_in_its_folder() -> None:
    homes = {entry.name: entry.module.__name__ for entry in catalog.entries("studies")}
    assert homes["agreement"] == "tiltmeter.families.pairs.studies.agreement"
    assert homes["debiasing"] == "tiltmeter.studies.debiasing"
    files = [path for path in modules() if path.parent.name == "studies" and path.name != "__init__.py"]
    assert sorted(path.stem for path in files) == sorted(homes), "two studies have one name"


def test_a_third_party_adds_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through an entry point, without touching our files."""
    import types

    module = types.ModuleType("longest")
    module.SCORER = Scorer(view="unmasked", cites="nobody")  # type: ignore[attr-defined]
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


def test_heavy_modules_are_there() -> None:
    """`make test-fast` leaves out modules by name: one that was renamed would run again unnoticed."""
    assert [name for name in HEAVY_MODULES if not (Path(__file__).parent / name).is_file()] == []

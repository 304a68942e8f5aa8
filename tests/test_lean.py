"""A command imports only what it needs of transformers, gives the same numbers, and leaves everything as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from conftest import GOLDEN
from tiltmeter.models import lean

BERT = GOLDEN / "models" / "tiny-bert-cased"
HEAVY = ("torch._dynamo", "torch.distributed.tensor", "sklearn", "scipy.optimize", "sympy")
SCRIPT = """
import json, sys
import tiltmeter
from tiltmeter.models import lean
if sys.argv[1] == "lean":
    lean.switch_on()
{before}
model = tiltmeter.load_model(sys.argv[2])
bench = tiltmeter.load_benchmark("plumb-pairs").limit(6)
scores = tiltmeter.score(model, bench, ["cps", "aula"], cache=False).to_pandas()
there = [name for name in {heavy!r} if name in sys.modules]
{after}
print(json.dumps([scores["score"].tolist(), there]))
"""


@cache
def scored(how: str, before: str = "", after: str = "", model: Path = BERT) -> tuple[list[float], list[str]]:
    """Scores of a fresh process, and what of the heavy modules it has imported."""
    script = SCRIPT.format(before=before, after=after, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script, how, str(model)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    scores, there = json.loads(done.stdout.splitlines()[-1])
    return scores, there


AFTER = """
import torch
from importlib.metadata import packages_distributions, version
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from transformers.utils import import_utils
from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_or_false
assert isinstance(TransformGetItemToIndex, type) and hasattr(torch._dynamo, "optimize"), "the real ones"
assert "numpy" in packages_distributions() and torch.distributed.is_available()
assert import_utils.is_scipy_available(), "it is installed"
known = import_utils.PACKAGE_DISTRIBUTION_MAPPING
assert known.get("yaml") and known.get("no such package", []) == []
assert "numpy" in known and known["numpy"] and len(list(known)) > 9
layer = torch.nn.Linear(3, 4)
assert layer.weight.abs().sum() > 0, "drawn again"
"""


def test_lean_imports_give_the_same_numbers_and_leave_everything_as_it_was() -> None:
    plain, _ = scored("plain")
    found, there = scored("lean", after=AFTER)
    assert found == plain and not there


def test_what_was_left_out_is_imported_where_it_is_needed_after_all() -> None:
    """A first try that fails, since something is missing, is followed by a whole one."""
    fails = """
from transformers import AutoModelForMaskedLM
import transformers.utils.import_utils as utils
whole = lean._importing
def broken():
    raise NameError("name 'DTensor' is not defined")
lean._importing = broken
lean._state.used = False
"""
    plain, _ = scored("plain")
    found, there = scored("lean", before=fails)
    assert found == plain and "torch._dynamo" in there


def test_numbers_are_answered_for_as_torch_does() -> None:
    from torch.fx.experimental import symbolic_shapes as real

    sizes = [(0, 3), (1, 3), (3, 3), ((1, 2), [1, 2]), ((1, 2), (1, 2, 3)), ((), ())]
    assert all(bool(real.sym_eq(*pair)) == lean._equal(*pair) for pair in sizes)
    for truth in (True, False):
        assert all(bool(getattr(real, name)(truth)) == lean.OF_NUMBERS[name](truth) for name in lean.GUARDS[:3])
        assert bool(real.sym_or(truth, False)) == lean.OF_NUMBERS["sym_or"](truth, False)
        assert bool(real.sym_and(truth, True)) == lean.OF_NUMBERS["sym_and"](truth, True)
    assert not real.is_nested_int(4) and not lean.OF_NUMBERS["is_nested_int"](4)


@pytest.mark.parametrize("name", lean.PICTURES_AND_MORE)
def test_a_model_of_more_than_text_is_imported_whole(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", name: {}}), encoding="utf-8")
    assert not lean._may_be_read_leanly(tmp_path) and lean._may_be_read_leanly(BERT)


def test_only_a_command_is_lean(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(lean, "_importing", lambda: called.append("lean"))
    monkeypatch.setattr(lean, "_state", lean._State())
    assert lean.trying(lambda: 3) == 3 and not called


def test_a_command_ends_with_its_own_exit_code_and_nothing_is_lost(tmp_path: Path) -> None:
    """It ends without taking torch apart; what was printed is all there, and functions registered for the end are called."""
    script = """
import atexit, sys
import torch
from tiltmeter.cli import command
atexit.register(print, "at the end", end="")
sys.argv = ["tiltmeter", *sys.argv[1:]]
command()
"""
    good, bad = (
        subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
        for words in (["list", "scorers"], ["run", "-m", str(tmp_path / "none"), "-o", str(tmp_path / "run")])
    )
    assert good.returncode == 0 and "cps" in good.stdout and good.stdout.endswith("at the end")
    assert bad.returncode == 2 and bad.stderr.startswith("Error: ") and len(bad.stderr.splitlines()) == 1
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    profiled = [sys.executable, "-m", "cProfile", "-o", str(tmp_path / "profile"), str(tmp_path / "script.py"), "list"]
    subprocess.run([*profiled, "scorers"], capture_output=True, check=True)
    assert (tmp_path / "profile").stat().st_size > 1000, "a profiler may write what it saw"

"""The collector of a command, and of a user's own process."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tiltmeter.storage.garbage import paused_collector


@pytest.mark.parametrize("collecting", [True, False])
def test_a_pause_leaves_the_collector_as_it_was(collecting: bool) -> None:
    (gc.enable if collecting else gc.disable)()
    try:
        with pytest.raises(KeyError), paused_collector():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def shown_by(code: str) -> list[str]:
    """Words that a fresh process prints: the collector of this one may be set already."""
    code = f"import gc; from tiltmeter.storage.garbage import collect_less, freeze_imports\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_objects_of_a_users_process_are_not_frozen() -> None:
    assert shown_by("freeze_imports('libraries'); print(gc.get_freeze_count())") == ["0"]


def test_objects_of_a_user_who_froze_some_are_not_frozen() -> None:
    code = "gc.freeze(); kept = [[] for _ in range(1000)]; before = gc.get_freeze_count()\n"
    assert shown_by(f"{code}freeze_imports('libraries'); print(gc.get_freeze_count() == before)") == ["True"]


def test_garbage_is_not_frozen() -> None:
    code = (
        "import weakref\n"
        "class Cycle: pass\n"
        "collect_less(); cycle = Cycle(); cycle.itself = cycle; alive = weakref.ref(cycle)\n"
        "del cycle; freeze_imports('a'); print(alive())\n"
    )
    assert shown_by(code) == ["None"]


def test_a_command_frees_its_first_model() -> None:
    """Its weights must not stay in memory beside those of the next."""
    code = (
        "import weakref, tiltmeter\n"
        "def loaded():\n"
        "    model = tiltmeter.load_model('plumb-clm', device='cpu'); return weakref.ref(model.module)\n"
        "collect_less(); module = loaded(); gc.collect(); print(gc.get_freeze_count() > 0, module())\n"
    )
    assert shown_by(code) == ["True", "None"]


def test_a_command_freezes_what_each_step_imports_once() -> None:
    code = (
        "def counts(step):\n"
        "    kept.append([[] for _ in range(1000)]); freeze_imports(step); return gc.get_freeze_count()\n"
        "kept = []; collect_less(); first = gc.get_freeze_count()\n"
        "found = [counts('a'), counts('a'), counts('b')]\n"
        "print(found[0] - first >= 1000, found[1] - found[0] < 100, found[2] - found[1] >= 2000)\n"
    )
    assert shown_by(code) == ["True"] * 3

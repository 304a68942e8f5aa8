"""Calls of a cluster that fail, or do not come back."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from support.raising import raises
from tiltmeter.errors import TiltmeterError
from tiltmeter.execution import ray_calls
from tiltmeter.execution.ray_calls import Answering


def cluster(resources: object) -> Answering:
    return Answering(SimpleNamespace(cluster_resources=resources, shutdown=lambda: None))


def gone() -> None:
    raise ConnectionError("no route")


def hanging() -> None:
    time.sleep(1)


def test_a_fault_while_the_cluster_is_there_is_that_fault() -> None:
    asked = cluster(lambda: {"CPU": 1.0})
    with pytest.raises(KeyError), asked.blamed():
        raise KeyError("ours")
    assert not asked.gone


def test_a_fault_of_a_cluster_that_is_gone_is_told_in_one_line() -> None:
    asked = cluster(gone)
    with raises("lost-cluster") as error, asked.blamed():
        raise OSError("channel closed")
    assert "no route" in str(error.value)
    assert asked.gone


def test_a_call_that_does_not_come_back_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_calls, "SILENCE", 0.05)
    asked = cluster(lambda: {})
    with raises("lost-cluster"):
        asked.ask(time.sleep, 1)


@pytest.mark.parametrize(
    ("mine", "shutdown", "said"),
    [(True, lambda: None, None), (True, gone, "new process"), (True, hanging, "new process"), (False, gone, "shutdown")],
)
def test_a_cluster_that_is_gone_is_left_if_it_was_joined_here(
    mine: bool, shutdown: Callable[[], None], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then another one can be joined in the same process; where that cannot be, it is said."""
    monkeypatch.setattr(ray_calls, "SILENCE", 0.05)
    called = []

    def leave(**_: bool) -> None:
        called.append(1)
        shutdown()

    asked = Answering(SimpleNamespace(cluster_resources=gone, shutdown=leave))
    with raises("lost-cluster") as error, asked.left(mine):
        asked.resources()
    atexit.unregister(leave)
    assert bool(called) == mine and (
        str(error.value).endswith("--engine ray.") if said is None else said in str(error.value)
    )


def test_other_mistakes_leave_no_cluster() -> None:
    asked = cluster(lambda: {})
    with pytest.raises(TiltmeterError, match=r"^ours$"), asked.left(mine=True):
        raise TiltmeterError("ours")

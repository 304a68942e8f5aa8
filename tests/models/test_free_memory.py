"""Memory that is free: a missing GPU is no traceback, and a full container has none."""

from __future__ import annotations

import pytest
import torch

from tiltmeter.models import memory, placement


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_gpu_that_is_not_there_has_unknown_memory() -> None:
    assert memory.free_memory("cuda") is None


def test_a_full_container_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_cgroup_room", lambda: 0)
    assert memory.free_memory("cpu") == 0


def test_every_load_has_an_offload_folder_of_its_own() -> None:
    assert placement._offload_folder() != placement._offload_folder()

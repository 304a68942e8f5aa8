"""The Ray engine on two nodes of one machine: byte for byte what the local engine makes, also after kill -9."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import psutil
import pytest

from tests.conftest import GOLDEN
from tiltmeter.runs.experiment import run_experiment

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed (pip install 'tiltmeter[ray]')", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, about its dependencies
FILE = """
models = [{broken}"{models}/tiny-bert-cased"]
benchmarks = ["plumb-slots", "large.csv"]
[settings]
resamples = 200
[options]
scorers = ["aul", "causal"]
"""
PAIRS = 1800
"""Four blocks, so that the cell is divided."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two nodes with one core each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_worker_niceness", "0")  # else whatever else runs here goes first
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the local engine, with as many threads for each worker."""
    folder = tmp_path_factory.mktemp("local")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TILTMETER_CACHE", str(folder / "cache"))
        made, now = run_experiment(study(folder, broken=False), workers=2)
    assert now.counts == {"done": 2, "running": 0, "failed": 0, "refused": 0, "waiting": 0}, now.table().to_string()
    return made.folder


def study(folder: Path, broken: bool = True) -> Path:
    """`broken`: with a model that does not exist."""
    who = [("man", "woman"), ("uncle", "aunt"), ("king", "queen")]
    rows = [
        f"The {who[n % 3][0]} counted {n} {thing}.,The {who[n % 3][1]} counted {n} {thing}."
        for n, thing in ((n, ("stones", "birds", "ships", "coins")[n % 4]) for n in range(PAIRS))
    ]
    (folder / "large.csv").write_text("stereo,anti\n" + "\n".join(rows) + "\n")
    file = folder / "study.toml"
    file.write_text(FILE.format(models=GOLDEN / "models", broken=f'"{GOLDEN}/models/none", ' if broken else ""))
    return file


def started(file: Path, address: str, *called: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, *(called or ("-m", "tiltmeter")), "experiment", "run", str(file)]
    command += ["--engine", "ray", "--address", address]
    env = os.environ | {"TILTMETER_CACHE": str(file.parent / "cache")}
    with (file.parent / "driver.txt").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=env)


def ended(file: Path, address: str) -> Path:
    code = started(file, address).wait(timeout=300)
    assert code == ('/none"' in file.read_text()), (file.parent / "driver.txt").read_text()  # a model that does not exist
    return file.parent / "study" / "run"


def actors() -> set[int]:
    """The processes of workers: Ray names a process by what it does."""
    return {process.pid for process in psutil.process_iter(["name"]) if str(process.info["name"]).startswith("ray::Worker")}


def until(seen: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.time() + seconds
    while not seen():
        assert time.time() < deadline, "it did not come to that"
        time.sleep(0.05)


def states(folder: Path) -> list[str]:
    return [json.loads(path.read_text())["status"] for path in (folder / "study" / "state" / "cells").rglob("*.json")]


def assert_equal(made: Path, undisturbed: Path) -> None:
    assert (made / "estimates.csv").read_bytes() == (undisturbed / "estimates.csv").read_bytes()
    scores, expected = (pd.read_parquet(folder / "scores.parquet") for folder in (made, undisturbed))
    pd.testing.assert_frame_equal(
        *(one.sort_values(["model", "item", "role"], ignore_index=True) for one in (scores, expected))
    )
    assert not scores.duplicated(["model", "benchmark", "item", "role", "scorer"]).any()


def test_two_nodes_make_what_one_machine_makes(tmp_path: Path, address: str, undisturbed: Path) -> None:
    made = ended(study(tmp_path), address)
    assert_equal(made, undisturbed)
    manifest = json.loads((made / "manifest.json").read_text())
    errors = {row["model"]: row["error"] for row in manifest["without"]}
    assert list(errors) == ["none"] and "There is no model folder" in errors["none"]
    counts = {(cell["model"]["shown_as"], cell["benchmark"]["name"]): cell for cell in manifest["evaluations"]}
    whole = counts["tiny-bert-cased", "large"]
    assert whole["batches_computed"] == 0 and whole["batches_reused"] > 4  # the joiner found all of it made by shares


def test_a_killed_worker_and_a_killed_driver_lose_nothing(tmp_path: Path, address: str, undisturbed: Path) -> None:
    file = study(tmp_path, broken=False)
    driver = started(file, address)
    try:
        until(lambda: "running" in states(tmp_path))
        first = actors()
        os.kill(min(first), signal.SIGKILL)
        until(lambda: actors() - first)
    finally:
        driver.kill()
        driver.wait()
    until(lambda: not actors())  # they end with their driver
    assert {"running", "waiting"} & set(states(tmp_path)) or len(states(tmp_path)) < 2  # it was in the middle
    assert_equal(ended(file, address), undisturbed)

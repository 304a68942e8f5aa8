"""A Ray cluster that vanishes in the middle of a study."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed (pip install 'tiltmeter[ray]')")

from test_ray import started, states, study, until

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
IMPATIENT = """
from tiltmeter.cli import main
from tiltmeter.execution import ray_calls
ray_calls.SILENCE, ray_calls.LOOK = 5.0, 1.0
main()
"""


TWICE = """
import sys, time
from pathlib import Path
from tiltmeter import TiltmeterError
from tiltmeter.execution import Engine, ray_calls
from tiltmeter.runs.experiment import run_experiment
ray_calls.SILENCE, ray_calls.LOOK = 12.0, 1.0
file, first, other = sys.argv[1], sys.argv[2], Path(sys.argv[3])
try:
    run_experiment(file, engine=Engine("ray", address=first))
except TiltmeterError as error:
    print(error, flush=True)
lost = time.time()
while not other.is_file():
    time.sleep(0.1)
made, now = run_experiment(file, engine=Engine("ray", address=other.read_text()))
while time.time() < lost + 75:  # after a minute Ray would end the process, whatever it does by then
    time.sleep(1)
print("made", now.counts["done"], flush=True)
"""


def cluster_of_one() -> Any:
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_worker_niceness", "0")  # else whatever else runs here goes first
        return Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})


def test_another_one_is_joined_in_the_same_process(tmp_path: Path) -> None:
    """As in a notebook: the first is left, and the process outlives it."""
    first, file, other = cluster_of_one(), study(tmp_path), tmp_path / "other"
    words = [sys.executable, "-c", TWICE, str(file), first.address, str(other)]
    env = os.environ | {"TILTMETER_CACHE": str(tmp_path / "cache")}
    with (tmp_path / "driver.txt").open("wb") as log:
        driver = subprocess.Popen(words, stdout=log, stderr=log, env=env)
    second = None
    try:
        until(lambda: "running" in states(tmp_path))
        first.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        second = cluster_of_one()
        (tmp_path / "address").write_text(second.address)
        (tmp_path / "address").rename(other)
        code = driver.wait(timeout=150)
    finally:
        driver.kill()
        for cluster in (first, second) if second else (first,):
            cluster.shutdown()
    said = (tmp_path / "driver.txt").read_text()
    assert "no longer responds" in said and "new process" not in said
    assert code == 0 and "made 2" in said, said[-2000:]


def test_it_is_told_and_the_command_ends(tmp_path: Path) -> None:
    """A message and exit code 2, no endless wait; no cell is blamed for it."""
    cluster = cluster_of_one()
    driver = started(study(tmp_path), cluster.address, "-c", IMPATIENT)
    try:
        until(lambda: "running" in states(tmp_path))
        cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        code = driver.wait(timeout=50)
    finally:
        driver.kill()
        cluster.shutdown()
    said = (tmp_path / "driver.txt").read_text()
    assert "Ray cluster" in said and "Traceback" not in said
    assert code == 2 and states(tmp_path).count("failed") <= 2  # a model of the study does not exist

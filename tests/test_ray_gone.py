"""A Ray cluster that vanishes in the middle of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed (pip install 'tiltmeter[ray]')")

from test_ray import started, states, study, until

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
IMPATIENT = """
from tiltmeter.cli import command
from tiltmeter.plans import answering
answering.SILENCE, answering.LOOK = 5.0, 1.0
command()
"""


def test_it_is_told_and_the_command_ends(tmp_path: Path) -> None:
    """A message and exit code 2, no endless wait; no cell is blamed for it."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_worker_niceness", "0")  # else whatever else runs here goes first
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    driver = started(study(tmp_path), cluster.address, "-c", IMPATIENT)
    try:
        until(lambda: "running" in states(tmp_path))
        cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        code = driver.wait(timeout=50)
    finally:
        driver.kill()
        cluster.shutdown()
    said = (tmp_path / "driver.txt").read_text()
    assert "The Ray cluster does not answer any more" in said and "Traceback" not in said
    assert code == 2 and states(tmp_path).count("failed") <= 2  # a model of the study does not exist

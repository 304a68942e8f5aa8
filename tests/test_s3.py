"""Storage in S3, against a server of this machine: what one machine made another one fetches; and what cannot be had."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.raising import raises
from tests.conftest import GOLDEN
from tiltmeter.execution import plan_cells, read_experiment, status
from tiltmeter.execution.worker import Worker
from tiltmeter.probes.work import Share
from tiltmeter.runs.experiment import run_experiment
from tiltmeter.storage.object_store import Depot

for needed in ("s3fs", "moto", "flask", "flask_cors"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed (pip install 'tiltmeter[dev]')", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # botocore's own
FILE = f"""
storage = "s3://studies/first"
models = ["{GOLDEN}/models/tiny-bert-cased"]
benchmarks = ["plumb-pairs"]
[run]
limit = 6
[settings]
resamples = 100
[options]
scorers = ["aul"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/moto-api/").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import s3fs

    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "us",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdirs("studies", exist_ok=True)
    yield
    s3fs.S3FileSystem.clear_instance_cache()


def write(folder: Path, text: str = FILE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_another_machine_fetches_what_was_made(s3: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, now = run_experiment(write(tmp_path / "one"), workers=1)
    assert now.counts["done"] == 1, now.table().to_string()
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "other-cache"))
    other = write(tmp_path / "two")
    assert status(other).counts["done"] == 1
    again, _ = run_experiment(other, workers=1)
    assert (again.folder / "estimates.csv").read_bytes() == (made.folder / "estimates.csv").read_bytes()
    assert not (tmp_path / "two" / "study" / "logs").exists()  # no worker was needed


def test_shares_of_two_machines_are_joined_by_a_third(s3: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "\n".join(f"He has {n} cups.,She has {n} cups." for n in range(400))  # two blocks
    (tmp_path / "large.csv").write_text(f"stereo,anti\n{rows}\n")
    text = FILE.replace("plumb-pairs", "large.csv").replace("first", "second").replace("limit = 6", "limit = 400")
    planned = plan_cells(read_experiment(write(tmp_path, text)))
    (cell,) = planned.cells
    worker = Worker(planned.experiment, cell.model, planned.cells)
    assert worker.load() is None
    for number in range(2):
        monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / f"cache-{number}"))
        assert worker.share(cell, Share(number, 2)) is None
    assert len(worker.ledger.depot.files.find("studies/second/blocks")) == 4  # two blocks and their digests
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "third"))
    state = worker.make(cell)
    assert not isinstance(state, int) and state.status == "done", state
    assert worker.ledger.depot.files.find("studies/second/blocks") == []
    _, now = run_experiment(planned.experiment, workers=1)
    assert now.counts["done"] == 1


def test_what_appears_later_is_seen(s3: None, tmp_path: Path) -> None:
    """Listings are not kept: another machine adds to them."""
    mine, theirs = Depot("s3://studies/third"), Depot("s3://studies/third")
    assert not mine.has("x")
    mine.get("x", tmp_path / "nothing")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a").write_bytes(b"1")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    theirs = Depot("s3://studies/third")
    theirs.put(tmp_path / "made", "x")
    assert mine.has("x")
    mine.get("x", tmp_path / "got")
    assert (tmp_path / "got" / "a").read_bytes() == b"1"


def test_missing_credentials_are_said_before_any_work(s3: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    s3fs.S3FileSystem.clear_instance_cache()
    with raises("unusable-storage", url="s3://studies/first") as error:
        run_experiment(write(tmp_path))
    assert "AWS_ACCESS_KEY_ID" in str(error.value) and "\n" not in str(error.value) and not (tmp_path / "study").exists()


def test_a_bucket_that_is_not_there(s3: None, tmp_path: Path) -> None:
    with raises("unusable-storage", url="s3://nobodys-bucket/x") as error:
        run_experiment(write(tmp_path, FILE.replace("studies/first", "nobodys-bucket/x")))
    assert "\n" not in str(error.value)

"""Runs of served models: every family, what is refused, bad input on the command line, and no key in any file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tiltmeter
from conftest import GOLDEN
from support.small_models import CausalModel
from support.small_server import SmallServer
from tiltmeter import ChoicesOptions, GenerationsOptions, TiltmeterError
from tiltmeter.cli import main
from tiltmeter.models import ServerOptions
from tiltmeter.models.served import connection

KEY = "sk-this-is-secret-4711"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(connection, "BACKOFF", 0.01)
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    yield


@pytest.fixture(scope="module")
def golden() -> Iterator[SmallServer]:
    with SmallServer(CausalModel(GOLDEN / "models" / "tiny-gpt2"), name="tiny") as server:
        yield server


def answers(address: str, benchmark: str, tmp_path: Path, **options: object) -> pd.DataFrame:
    done = tiltmeter.run(address, benchmark, output=tmp_path / "run", cache=tmp_path / "cache", resamples=50, **options)  # type: ignore[arg-type]
    return tiltmeter.load_run(done.folder).answers(done.manifest["evaluations"][0]["family"]).table


def local(benchmark: str, tmp_path: Path, **options: object) -> pd.DataFrame:
    return answers(str(GOLDEN / "models" / "tiny-gpt2"), benchmark, tmp_path / "local", **options)


def test_pairs_agree_with_the_local_model(golden: SmallServer, tmp_path: Path) -> None:
    keys = ["scorer", "item", "role"]
    served = answers(golden.address, "starter-pairs", tmp_path).set_index(keys)
    here = local("starter-pairs", tmp_path, scorers=["causal", "causal_mean"]).set_index(keys)
    assert set(served.index) == set(here.index) and served["score"].notna().all()
    difference = (served["score"] - here["score"].reindex(served.index)).abs()
    assert difference.max() < 1e-4
    assert (served["n_tokens"] == here["n_tokens"].reindex(served.index)).all()


@pytest.mark.parametrize("protocol", ["letters", "answers", "answers_mean"])
def test_choices_agree_with_the_local_model(protocol: str, golden: SmallServer, tmp_path: Path) -> None:
    asked = {"limit": 6, "options": ChoicesOptions(protocols=(protocol,), orders="given"), "by": "bias_type"}
    served = answers(golden.address, "plumb-choices", tmp_path, **asked).set_index("item")
    here = local("plumb-choices", tmp_path, **asked).set_index("item")
    assert served["chosen"].notna().all() and (served["chosen"] == here["chosen"]).all()

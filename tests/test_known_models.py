"""A run whose answers are stored loads no model; whatever changed about a model, it is loaded again. And where time goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter import Options, TiltmeterError
from tiltmeter.runs import loop
from tiltmeter.runs.known_models import find_card, keep_card
from tiltmeter.storage.timings import Timings, in_words, recording, timed

MODEL = GOLDEN / "models" / "tiny-bert-cased"
LOADING = Options().loading
RUN = {"benchmarks": "starter-pairs", "scorers": ["aul"], "measures": ["bias_score"]}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A tiny model in a folder that a test may change."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that are loaded from now on."""
    loaded: list[str] = []
    load = loop.load_any

    def counted(name: Any, **options: Any) -> Any:
        loaded.append(str(name))
        return load(name, **options)

    monkeypatch.setattr(loop, "load_any", counted)
    return loaded


def test_a_run_that_is_stored_loads_nothing_and_is_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = loads(monkeypatch)
    first = tiltmeter.run(str(model), output=tmp_path / "one", **RUN)
    again = tiltmeter.run(str(model), output=tmp_path / "two", **RUN)
    assert len(loaded) == 1
    assert again.estimates.equals(first.estimates)
    assert again.manifest["batches_computed"] == 0
    assert again.manifest["evaluations"][0]["model"] == first.manifest["evaluations"][0]["model"]
    tiltmeter.run(str(model), output=tmp_path / "three", **(RUN | {"scorers": ["aul", "cps"]}))
    assert len(loaded) == 2  # something was missing


def change(path: Path, at: int = -1) -> None:
    """One bit, with the old time stamps."""
    facts, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def test_whatever_changed_about_a_model_it_is_not_taken_for_the_one_before(model: Path) -> None:
    loaded = tiltmeter.load_model(model)
    keep_card(loaded, str(model), LOADING, True)
    card = find_card(str(model), LOADING, True)
    assert card is not None and dict(card.identity) == loaded.identity and (card.name, card.kind) == ("model", "masked")
    assert find_card(str(model), {**LOADING, "precision": "bf16"}, True) is None
    assert find_card(str(MODEL), LOADING, True) is None  # an equal folder elsewhere has another name
    change(model / "model.safetensors")
    assert find_card(str(model), LOADING, True) is None
    change(model / "model.safetensors")
    assert find_card(str(model), LOADING, True) is not None
    (model / "generation_config.json").write_text("{}")
    assert find_card(str(model), LOADING, True) is None


@pytest.mark.parametrize("name", ["x" * 5000, "no/such/folder", "\0"])
def test_odd_names_have_no_card(name: str) -> None:
    assert find_card(name, LOADING, True, here=True) is None


def test_a_damaged_card_is_no_card(model: Path, own_cache: Path) -> None:
    keep_card(tiltmeter.load_model(model), str(model), LOADING, True)
    (card,) = (own_cache / "models").glob("*.json")
    for text in (card.read_text().replace("masked", "causal"), card.read_text()[:50], "[]", ""):
        card.write_text(text)
        assert find_card(str(model), LOADING, True) is None


def test_code_of_others_is_not_remembered_and_a_broken_folder_is_still_refused(model: Path, tmp_path: Path) -> None:
    keep_card(tiltmeter.load_model(model), str(model), {**LOADING, "trust_remote_code": True}, True)
    assert find_card(str(model), {**LOADING, "trust_remote_code": True}, True) is None
    (model / "config.json").unlink()
    assert find_card(str(model), LOADING, True) is None
    with pytest.raises(TiltmeterError, match=r"no config\.json"):
        tiltmeter.run(str(model), output=tmp_path / "out", **RUN)


def test_commands_that_need_no_model_import_no_torch(model: Path, tmp_path: Path) -> None:
    """Also a run whose answers are all stored."""
    out = tmp_path / "run"
    tiltmeter.run(str(model), output=out, **RUN)
    again = ["run", "-m", str(model), "-b", "starter-pairs", "-s", "aul", "--measure", "bias_score", "-o", str(out)]
    commands = [["--help"], ["list", "scorers"], ["estimate", str(out)], ["report", str(out)], again]
    code = (
        "import json, sys\n"
        "from tiltmeter.cli.app import app\n"
        f"for words in {commands!r}:\n"
        "    try: app(words)\n"
        "    except SystemExit as stop: assert not stop.code, words\n"
        "    found = [name for name in ('torch', 'transformers') if name in sys.modules]\n"
        "    assert not found, (words, found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    manifest = json.loads((out / "manifest.json").read_text())
    assert {"import", "benchmarks", "ask", "estimate", "write", "report"} <= set(manifest["timings"])
    assert tiltmeter.load_run(out).manifest["timings"] == manifest["timings"]  # it is sealed with them


def test_parts_inside_parts_count_once() -> None:
    timings = Timings()
    clock = iter([0.0, 1.0, 3.0, 10.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiltmeter.storage.timings.time.perf_counter", lambda: next(clock))
        with timings.part("ask"), timings.part("load"):
            pass
    assert timings.seconds == {"load": 2.0, "ask": 8.0}
    with timed("nothing is recorded"):
        pass
    with recording() as outer, recording() as inner, timed("a"):
        assert inner is outer
    assert list(outer.seconds) == ["a"]
    assert in_words({"load": 2.0, "ask": 8.0}) == "load 2.0 s, ask 8.0 s; together 10.0 s"

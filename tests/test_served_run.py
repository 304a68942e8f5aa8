"""Runs of served models: every family, what is refused, bad input on the command line, and no key in any file."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from support.small_models import CausalModel
from support.small_server import SmallServer
from tiltmeter import ChoicesOptions, GenerationsOptions, TiltmeterError
from tiltmeter.cli import main
from tiltmeter.families.choices.parse import FILTERED
from tiltmeter.models import load_served
from tiltmeter.models.served import crowd
from tiltmeter.models.served.responses import HIDDEN
from tiltmeter.runs import load_answers

KEY = "sk-this-is-secret-4711"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(crowd, "BACKOFF", 0.01)
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TILTMETER_DATA", raising=False)
    yield


@pytest.fixture(scope="module")
def golden() -> Iterator[SmallServer]:
    with SmallServer(CausalModel(GOLDEN / "models" / "tiny-gpt2"), name="tiny") as server:
        yield server


def table(model: str, benchmark: str, folder: Path, **options: Any) -> pd.DataFrame:
    done = tiltmeter.run(model, benchmark, output=folder, resamples=100, **options)
    (answers,) = load_answers([done.folder]).values()
    return answers.table


def test_pairs_agree_with_the_local_model(golden: SmallServer, tmp_path: Path) -> None:
    keys, scorers = ["scorer", "item", "role"], ["causal", "causal_mean"]
    served = table(golden.address, "starter-pairs", tmp_path / "served", limit=20).set_index(keys)
    tiny = str(GOLDEN / "models" / "tiny-gpt2")
    here = table(tiny, "starter-pairs", tmp_path / "local", limit=20, scorers=scorers).set_index(keys)
    assert set(served.index) == set(here.index) and served["score"].notna().all()
    here = here.reindex(served.index)
    assert (served["score"] - here["score"]).abs().max() < 1e-4 and (served["n_tokens"] == here["n_tokens"]).all()


@pytest.mark.parametrize("protocol", ["letters", "answers", "generated"])
def test_choices_agree_with_the_local_model(protocol: str, golden: SmallServer, tmp_path: Path) -> None:
    options: Any = {"limit": 6, "options": ChoicesOptions(protocols=(protocol,), orders="given", answer_tokens=4)}
    served = table(golden.address, "plumb-choices", tmp_path / "served", **options).set_index("item")
    here = table(str(GOLDEN / "models" / "tiny-gpt2"), "plumb-choices", tmp_path / "local", **options).set_index("item")
    assert len(served) == 6 and list(served["chosen"].fillna(-1)) == list(here["chosen"].fillna(-1))
    assert protocol != "generated" or list(served["text"]) == list(here["text"])


def test_a_finished_cell_is_found_again_after_the_probe(tmp_path: Path) -> None:
    with SmallServer() as server:
        first = table(server.address, "starter-pairs", tmp_path / "a", limit=10)
        before = server.requests
        second = table(server.address, "starter-pairs", tmp_path / "b", limit=10)
        assert server.requests - before <= 20 and first.equals(second)


def test_generations_and_judges_over_http(tmp_path: Path) -> None:
    with SmallServer() as server:
        options = GenerationsOptions(judges=(f"toxicity={server.address}",), new_tokens=6, samples=2)
        done = tiltmeter.run(
            server.address, "plumb-prompts", output=tmp_path / "run", limit=8, resamples=100, options=options
        )
    found = load_answers([done.folder])["generations"]
    texts, judged = found.tables["generations"], found.tables["judgements"]
    assert len(texts) == 16 and texts["text"].notna().all() and texts["logprob"].notna().all()
    assert judged["score"].notna().sum() == texts["reason"].isna().sum() > 0
    (facts,) = found.manifests[0]["judges"].values()
    assert "Answer with yes or no" in facts["source"] and facts["errors"] is None


def test_labels_by_prompting(tmp_path: Path) -> None:
    with SmallServer() as server:
        found = table(server.address, "plumb-labels", tmp_path / "run", limit=10)
    assert len(found) == 10 and found["probability"].between(0, 1).all() and found["reason"].isna().all()


def test_labels_where_text_is_all_there_is(tmp_path: Path) -> None:
    """Yes is 1, no is 0, anything else is missing with a reason; groups are compared as for any classifier."""
    with SmallServer(fault="no-logprobs", refuses="Muslim") as server:
        assert load_served(server.address).probe.capability == "text"
        done = tiltmeter.run(server.address, "plumb-labels", output=tmp_path / "run", resamples=100)
    (answers,) = load_answers([done.folder]).values()
    found = answers.table
    assert set(found["probability"].dropna()) <= {0.0, 1.0} and found["probability"].notna().any()
    assert (found["probability"].isna() == found["reason"].notna()).all() and found["reason"].notna().any()
    assert {"fpr", "label_accuracy"} <= set(done.estimates["measure"]) and (done.folder / "manifest.json").is_file()


def test_a_filtered_answer_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    with SmallServer(fault="filter") as server:
        options: Any = {"options": ChoicesOptions(protocols=("generated",)), "limit": 40}
        found = table(server.address, "plumb-choices", tmp_path / "run", **options)
        options["options"] = ChoicesOptions(protocols=("generated",), orders="given")
        done = tiltmeter.run(
            server.address, "plumb-choices", output=tmp_path / "again", resamples=100, by="target", **options
        )
    filtered = found["reason"] == FILTERED
    assert 0 < filtered.sum() < 40 and found.loc[filtered, "chosen"].isna().all()
    shares = done.estimates[done.estimates["measure"] == "refused_share"]
    whole = shares[shares["by"] == "all"].iloc[0]
    assert whole["value"] == pytest.approx(100 * filtered.mean()) and (shares["by"] == "target").any()


@pytest.mark.parametrize("fault", ["one-row-late", "chat-only", "echo-ignored"])
def test_likelihoods_are_refused_with_the_check_that_failed(fault: str, tmp_path: Path) -> None:
    with SmallServer(fault=fault) as server, pytest.raises(TiltmeterError) as refused:
        tiltmeter.run(server.address, "starter-pairs", output=tmp_path / "run")
    said = str(refused.value)
    assert ("generated" if fault == "one-row-late" else "echo") in said and "choices" in said and "generations" in said
    assert not (tmp_path / "run").exists()


def test_families_that_need_more_are_refused(tmp_path: Path) -> None:
    for benchmark in ("plumb-slots", "seat"):
        with SmallServer() as server, pytest.raises(TiltmeterError) as refused:
            tiltmeter.run(server.address, benchmark, output=tmp_path / "run")
        assert "behind a server" in str(refused.value) and "pairs" in str(refused.value)


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def secret_files(folder: Path) -> list[Path]:
    """Files that hold the key, packed ones opened."""
    found = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        contents = [path.read_bytes(), str(path).encode()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                contents += [packed.read(name) for name in packed.namelist()]
        if any(KEY.encode() in content for content in contents):
            found.append(path)
    return found


def test_no_key_in_any_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """In run folder, cache with its journal, page, bundle, logs and errors, of a model, a judge and a wrong key."""
    monkeypatch.setenv("TILTMETER_API_KEY", KEY)
    monkeypatch.setenv("TEAM_SECRET", f"{KEY}-header")
    caplog.set_level("DEBUG")
    run = tmp_path / "run"
    words = ["--limit", "10", "--header", "X-Team=TEAM_SECRET", "--resamples", "100"]
    with SmallServer(key=KEY) as server:
        assert command(monkeypatch, "run", "-m", server.address, "-b", "starter-pairs", *words, "-o", str(run)) == 0
        judge = ["--judge", f"toxicity={server.address}", "--new-tokens", "4"]
        texts = ["run", "-m", server.address, "-b", "plumb-prompts", *judge, *words, "-o", str(tmp_path / "texts")]
        assert command(monkeypatch, *texts) == 0
        assert command(monkeypatch, "probe", server.url, "--model", "small", "--json") == 0
        assert command(monkeypatch, "bundle", str(run), "-o", str(tmp_path / "bundle.zip")) == 0
        assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
        monkeypatch.setenv("TILTMETER_API_KEY", f"{KEY}-wrong")
        wrong = ["run", "-m", server.address, "-b", "starter-pairs", *words, "-o", str(tmp_path / "other")]
        assert command(monkeypatch, *wrong) == 2
    printed = capsys.readouterr()
    assert KEY not in printed.out + printed.err + caplog.text
    assert (run / "report.html").is_file() and list((tmp_path / "cache" / "served").rglob("*.jsonl"))
    assert zipfile.is_zipfile(tmp_path / "bundle.zip") and secret_files(tmp_path) == []


def test_a_key_that_the_server_quotes_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILTMETER_API_KEY", KEY)
    monkeypatch.setenv("TEAM_SECRET", f"other-{KEY}")
    words = ["-b", "starter-pairs", "--limit", "10", "--header", "X-Team=TEAM_SECRET", "--resamples", "100"]
    with SmallServer(key=KEY, fault="quotes-key") as server:
        command(monkeypatch, "run", "-m", server.address, *words, "-o", str(tmp_path / "run"))
    printed = capsys.readouterr()
    stored = "".join(path.read_text() for path in (tmp_path / "cache" / "served").rglob("*.jsonl"))
    assert HIDDEN in stored and KEY not in printed.out + printed.err and secret_files(tmp_path) == []


def test_probe_prints_its_result_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with SmallServer(fault="one-row-late") as server:
        assert command(monkeypatch, "probe", server.url, "--model", "small", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["capability"] == "top-k"
    assert [check["name"] for check in found["checks"] if not check["passed"]][-1] == "generated"


@pytest.mark.parametrize(
    ("url", "code"), [("http://127.0.0.1:1/v1", "no-server"), ("http://me:pw@127.0.0.1:1/v1", "credentials-in-url")]
)
def test_a_probe_of_nothing_is_one_line(
    url: str, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "probe", url, "--model", "m", "--json") == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert json.loads(line)["error"] == code and "pw" not in line


@pytest.mark.parametrize(
    ("fault", "address", "code"),
    [
        ("", "http://127.0.0.1:1/v1#m", "no-server"),
        ("", "http://me:pw@127.0.0.1:1/v1#m", "credentials-in-url"),
        ("wrong-key", "", "wrong-key"),
        ("unknown-model", "", "unknown-model"),
        ("always-html", "", "not-json"),
        ("chat-only", "", "missing-capability"),
        ("model-changed", "", "model-changed"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    fault: str, address: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with SmallServer(fault=fault) as server:
        words = ["run", "-m", address or server.address, "-b", "starter-pairs", "-o", str(tmp_path / "run"), "--json"]
        assert command(monkeypatch, *words) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert json.loads(line)["error"] == code and "pw" not in line
    assert not (tmp_path / "run").exists()

"""Real servers, vLLM and llama.cpp: what the probe says of them, and that they agree with the same weights here.

`make servers` builds them once; `make test-slow` runs these tests. Without them they are skipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from support.real_servers import VARIABLE, llamacpp, servers_folder, vllm
from tiltmeter import ChoicesOptions, GenerationsOptions, ServerOptions, TiltmeterError
from tiltmeter.models import EMBEDDED, load_served
from tiltmeter.runs import load_answers

pytestmark = pytest.mark.slow
NURSE = -43.2924
"""log p of "The nurse said she was late for work." after its first token, by plumb-clm in transformers."""
CLOSE = 2e-3
"""Nats by which a sentence may differ: two programs add numbers in two orders."""
FIRST = {"plumb-clm": None, "smollm2": "<|im_start|>"}


@pytest.fixture(scope="module")
def root() -> Path:
    folder = servers_folder()
    if folder is None:
        pytest.skip(f"no real servers here: `make servers` builds them, or {VARIABLE} names their folder")
    return folder


@pytest.fixture(scope="module", params=["plumb-clm", "smollm2"])
def by_vllm(request: pytest.FixtureRequest, root: Path) -> Iterator[tuple[str, str, ServerOptions]]:
    """The address of a model behind vLLM, the folder of the same weights, and its first token."""
    folder = Path(EMBEDDED["plumb-clm"]) if request.param == "plumb-clm" else root / "smollm2"
    with vllm(root, folder, request.param) as address:
        yield address, str(folder), ServerOptions(first_token=FIRST[request.param])


@pytest.fixture(scope="module")
def by_llamacpp(root: Path) -> Iterator[str]:
    with llamacpp(root, root / "smollm2.gguf", "smollm2") as address:
        yield address


def answers(model: str, benchmark: str, folder: Path, **options: Any) -> tuple[Any, Any]:
    done = tiltmeter.run(model, benchmark, output=folder, resamples=100, by="all", **options)
    (found,) = load_answers([done.folder]).values()
    return found, done.estimates


def test_vllm_is_believed(by_vllm: tuple[str, str, ServerOptions]) -> None:
    address, _, options = by_vllm
    model = load_served(address, options)
    assert model.probe.capability == "prompt" and all(check.passed for check in model.probe.checks if check.name != "chat")
    assert model.probe.server.name == "vLLM" and model.probe.server.version
    if address.endswith("plumb-clm"):
        assert math.isclose(model.probe.reference, NURSE, abs_tol=CLOSE)


def test_sentences_agree_with_transformers(by_vllm: tuple[str, str, ServerOptions], tmp_path: Path) -> None:
    address, folder, server = by_vllm
    options: Any = {"scorers": ["causal", "causal_mean"], "limit": 40}
    ours, here = answers(folder, "plumb-pairs", tmp_path / "here", **options)
    theirs, there = answers(address, "plumb-pairs", tmp_path / "there", server=server, **options)
    keys = ["scorer", "item", "role"]
    both = ours.table.merge(theirs.table, on=keys, suffixes=("", "_served"))
    assert len(both) == 2 * 3 * 40 and (both["n_tokens"] == both["n_tokens_served"]).all()
    assert (both["score"] - both["score_served"]).abs().max() < CLOSE
    shares = [table[table["measure"] == "bias_score"].set_index("scorer")["value"] for table in (here, there)]
    assert shares[0].to_dict() == shares[1].to_dict()


def test_letters_agree_with_transformers(by_vllm: tuple[str, str, ServerOptions], tmp_path: Path) -> None:
    address, folder, server = by_vllm
    options: Any = {"options": ChoicesOptions(protocols=("letters",)), "limit": 6}
    ours, _ = answers(folder, "plumb-choices", tmp_path / "here", **options)
    theirs, _ = answers(address, "plumb-choices", tmp_path / "there", server=server, **options)
    keys = ["item", "order", "answer"]
    both = [each.tables["options"].set_index(keys)["logprob"] for each in (ours, theirs)]
    assert len(both[0]) >= 6 * 2 and (both[0] - both[1]).abs().max() < CLOSE
    assert list(ours.table["chosen"]) == list(theirs.table["chosen"])


def test_llamacpp_gives_its_likeliest_tokens(by_llamacpp: str, tmp_path: Path) -> None:
    model = load_served(by_llamacpp)
    failed = [check.name for check in model.probe.checks if not check.passed]
    assert model.probe.capability == "top-k" and failed == ["echo"] and model.probe.server.name == "llama.cpp"
    with pytest.raises(TiltmeterError) as refused:
        tiltmeter.run(by_llamacpp, "plumb-pairs", output=tmp_path / "run")
    assert refused.value.code == "missing-capability" and not (tmp_path / "run").exists()


def test_families_of_text_by_llamacpp(by_llamacpp: str, tmp_path: Path) -> None:
    options: Any = {"options": ChoicesOptions(protocols=("letters",), orders="given"), "limit": 4}
    choices, _ = answers(by_llamacpp, "plumb-choices", tmp_path / "choices", **options)
    assert len(choices.table) == 4 and (choices.table["chosen"].notna() | choices.table["reason"].notna()).all()
    labels, _ = answers(by_llamacpp, "plumb-labels", tmp_path / "labels", limit=4)
    assert (labels.table["probability"].between(0, 1) | labels.table["reason"].notna()).all()
    writing = GenerationsOptions(chat=True, new_tokens=8, samples=1, judges=(f"toxicity={by_llamacpp}",))
    texts, _ = answers(by_llamacpp, "plumb-prompts", tmp_path / "texts", options=writing, limit=4)
    judged = texts.tables["judgements"]
    assert len(judged) == 4 and (judged["score"].between(0, 1) | judged["reason"].notna()).all()
    manifest = json.loads((tmp_path / "texts" / "manifest.json").read_text())
    assert "smollm2" in json.dumps(manifest)

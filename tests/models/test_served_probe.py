"""The probe of served models: each misbehaviour of a server is found or overcome, and none passes silently."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.raising import raises
from support.small_models import CausalModel
from support.small_server import PASSING, SILENT, SmallServer
from tiltmeter.errors import ServerError, UsageError
from tiltmeter.models import EMBEDDED, ServedModel, ServerOptions, load_model, load_served
from tiltmeter.models.served import Connection, Missing, Scored, crowd, parse_address, probe_server
from tiltmeter.models.served.probe import OF_PROMPT
from tiltmeter.models.served.prober import SENTENCES

FOUND_BY = {
    "one-row-late": "generated",
    "echo-ignored": "echo",
    "order-dependent": "order",
    "repeated-row": "generated",
    "temperature": "temperature",
    "double-bos": "entries",
    "hidden-bos": "first-token",
    "truncated": "additivity",
    "nan": "finite",
    "wrong-count": "entries",
    "positive": "finite",
    "null-logprobs": "echo",
    "other-tokens": "entries",
    "crosstalk": "together",
    "rounded": "resolution",
    "cut-off": "resolution",
    "constant": "varies",
}


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(crowd, "BACKOFF", 0.01)
    yield


def failed(model: ServedModel) -> list[str]:
    return [check.name for check in model.probe.checks if not check.passed]


def test_a_faithful_server_is_believed() -> None:
    with SmallServer() as server:
        model = load_served(server.address)
    assert model.probe.capability == "prompt" and failed(model) == []
    assert {"prompt_logprobs", "choice_logprobs", "top_logprobs", "text", "chat"} <= model.capabilities
    assert model.first_token == "<|endoftext|>" and model.probe.is_prefix_ours
    assert model.probe.noise == 0 and model.probe.requests <= 20
    described = model.probe.describe()
    assert set(described) >= {"capability", "checks"} and set(described["checks"][0]) == {"name", "passed", "detail"}


@pytest.mark.parametrize("fault", SILENT)
def test_wrong_answers_are_found_before_anything_is_asked(fault: str) -> None:
    with SmallServer(fault=fault) as server:
        probe = probe_server(Connection(parse_address(server.address), ServerOptions()))
    assert probe.capability != "prompt"
    found = [check.name for check in probe.checks if not check.passed]
    assert FOUND_BY[fault] in found, found
    assert not {"prompt_logprobs"} & probe.abilities
    assert set(found) & set(OF_PROMPT) and probe.reason
    json.dumps(probe.describe(), allow_nan=False)


@pytest.mark.parametrize("fault", ["constant", "constant-chat"])
def test_a_stand_in_that_always_answers_the_same_is_refused(fault: str) -> None:
    with SmallServer(fault=fault) as server, raises("same-answers", ServerError, url=server.url):
        load_served(server.address)


def test_a_server_that_fails_only_when_it_is_busy_is_believed_one_request_at_a_time() -> None:
    with SmallServer(fault="crosstalk") as server:
        model = load_served(server.address, ServerOptions(concurrency=1))
    assert model.probe.capability == "prompt" and failed(model) == []


def test_an_answer_that_never_ends_is_cut_off_in_time() -> None:
    with SmallServer(fault="trickle", times=1, rate=0.6) as server:
        started = time.monotonic()
        model = load_served(server.address, ServerOptions(timeout=0.3))
    assert model.probe.capability == "prompt"
    assert time.monotonic() - started < 25  # one such answer takes 30 seconds


@pytest.mark.parametrize("fault", PASSING)
def test_failures_that_pass_are_overcome(fault: str) -> None:
    timeout = 0.3 if fault in ("slow", "trickle") else 20
    with SmallServer(fault=fault, times=1, rate=0.6) as server, SmallServer() as good:
        model = load_served(server.address, ServerOptions(timeout=timeout))
        with model.asking(False) as asker, load_served(good.address).asking(False) as faithful:
            assert model.probe.capability == "prompt", failed(model)
            found, expected = asker.logprobs(SENTENCES), faithful.logprobs(SENTENCES)
    assert [one.total for one in found if isinstance(one, Scored)] == [one.total for one in expected]  # type: ignore[union-attr]


def test_every_fault_of_the_list_is_tried() -> None:
    assert len(SILENT) + len(PASSING) >= 15 and set(FOUND_BY) == set(SILENT)


def test_the_page_lists_every_fault_with_its_check() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.split("## Servers that answer wrongly")[1].split("##")[0].splitlines()]
    caught = {
        name.strip(): row[1].strip().strip("`")
        for row in rows[3:]
        if len(row) == 2
        for name in row[0].split(":")[0].split(",")
    }
    assert {name: check for name, check in caught.items() if name in SILENT} == FOUND_BY
    assert set(caught) - set(SILENT) - {"---", "fault of the server"} == set(PASSING)


def test_a_server_without_log_probabilities_gives_text() -> None:
    with SmallServer(fault="no-logprobs") as server:
        model = load_served(server.address)
    assert model.probe.capability == "text" and model.capabilities == {"answers", "text", "chat", "classes"}


@pytest.mark.parametrize("fault", ["no-logprobs", "chat-only"])
def test_a_first_token_without_log_probabilities_of_the_prompt_is_refused(fault: str) -> None:
    with SmallServer(fault=fault) as server, raises("inapplicable-option", UsageError, option="--first-token"):
        load_served(server.address, ServerOptions(first_token="."))


def test_a_chat_only_server_gives_its_likeliest_tokens() -> None:
    with SmallServer(fault="chat-only") as server:
        model = load_served(server.address)
    assert model.probe.capability == "top-k" and model.probe.completion is None and model.probe.chat is not None


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://127.0.0.1:1/v1#m", "no-server"),
        ("http://127.0.0.1:1/v1", "missing-value"),
        ("http://me:secret@127.0.0.1:1/v1#m", "credentials-in-url"),
        ("http://127.0.0.1:1/v1?api_key=secret#m", "credentials-in-url"),
        ("https://#m", "wrong-format"),
        ("http://127.0.0.1:port/v1#m", "wrong-format"),
    ],
)
def test_bad_addresses(address: str, code: str) -> None:
    with pytest.raises((ServerError, UsageError)) as refused:
        load_served(address)
    assert refused.value.code == code and "secret" not in str(refused.value) + str(refused.value.fields)


@pytest.mark.parametrize(
    ("fault", "code"), [("wrong-key", "wrong-key"), ("always-html", "not-json"), ("unknown-model", "unknown-model")]
)
def test_bad_servers(fault: str, code: str) -> None:
    with SmallServer(fault=fault) as server, pytest.raises(ServerError) as refused:
        load_served(server.address)
    assert refused.value.code == code and refused.value.fields["url"] == server.url


def test_a_model_that_is_not_listed() -> None:
    with SmallServer() as server, pytest.raises(ServerError) as refused:
        load_served(f"{server.url}#other")
    assert refused.value.code == "unknown-model" and refused.value.fields["models"] == ["small"]


def test_the_key_is_sent_to_its_own_server_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("TILTMETER_API_KEY", "sk-own")
    monkeypatch.setenv("SOME_VALUE", "v1")
    with SmallServer(key="sk-own") as server:
        load_served(server.address, ServerOptions(headers=("X-Team=SOME_VALUE",)))
        assert server.headers[-1]["x-team"] == "v1"
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(ServerError) as refused:
            load_served("openai:small")
        assert server.headers[-1]["authorization"] == "Bearer sk-openai"
    assert refused.value.code == "wrong-key" and refused.value.fields["status"] == 401
    assert parse_address("openai:m").url == server.url


def test_served_log_probabilities_are_those_of_the_model() -> None:
    """plumb-clm behind the small server gives what it gives here: −43.2924 for "The nurse …" after its first token."""
    with SmallServer(CausalModel(EMBEDDED["plumb-clm"]), name="plumb-clm") as server:
        model = load_served(server.address)
        assert model.probe.capability == "prompt" and math.isclose(model.probe.reference, -43.2924, abs_tol=2e-4)
        with model.asking(False) as asker:
            (found,) = asker.logprobs(SENTENCES[:1])
    assert isinstance(found, Scored)
    local = load_model("plumb-clm")
    from tiltmeter.models import Batch

    ids = local.tokens.encode([SENTENCES[0]], special=False)[0].ids
    import numpy as np

    row, n = np.array([[local.tokens.bos_id, *ids[:-1]]]), len(ids)
    places = np.arange(n)
    batch = Batch(row, np.array([n]), np.zeros(n, int), places, places, np.array(ids), np.empty(0, int), np.empty(0, int))
    assert np.allclose(found.logprobs[1:], local.read(batch).logprob, atol=1e-4)


def test_identity_holds_what_was_shown_and_no_noise() -> None:
    with SmallServer() as server:
        first, second = load_served(server.address), load_served(server.address)
        described = first.identity.describe()
    assert first.identity.digest == second.identity.digest
    assert described["url"] == server.url and described["capability"] == "prompt" and "order" in described["checks"]
    assert described["first_token"] == "<|endoftext|>" and "noise" not in " ".join(described)
    with SmallServer(fault="one-row-late") as late:
        late.port, port = server.port, late.port
        late.port = port
        assert load_served(late.address).identity.describe()["capability"] == "top-k"


def test_a_first_token_can_be_chosen() -> None:
    with SmallServer() as server:
        usual, chosen = load_served(server.address), load_served(server.address, ServerOptions(first_token="."))
        assert chosen.first_token == "." and chosen.probe.is_prefix_ours
        assert chosen.identity.digest != usual.identity.digest
        with usual.asking(False) as asker, chosen.asking(False) as other:
            (one,), (two,) = asker.logprobs(SENTENCES[:1]), other.logprobs(SENTENCES[:1])
        with pytest.raises(UsageError) as refused:
            load_served(server.address, ServerOptions(first_token="two words"))
    assert isinstance(one, Scored) and isinstance(two, Scored)
    assert one.logprobs[1] != two.logprobs[1] and one.logprobs[2:] == two.logprobs[2:]
    assert refused.value.code == "inapplicable-option" and refused.value.fields["option"] == "--first-token"


def test_a_rejected_request_is_missing_with_its_reason() -> None:
    with SmallServer(fault="rejects-long") as server:
        model = load_served(server.address)
        with model.asking(False) as asker:
            short, long = asker.logprobs(["The nurse.", "The nurse. " * 40])
    assert isinstance(short, Scored)
    assert isinstance(long, Missing) and long.is_final and "maximum context length" in long.reason

"""Asking a served model: journal, budget, concurrency, retries, a model that changes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.small_server import SmallServer
from tiltmeter.errors import ServerError, UsageError
from tiltmeter.models import ServerOptions, load_served
from tiltmeter.models.served import Missing, Scored, crowd
from tiltmeter.models.served.budget import Budget
from tiltmeter.models.served.concurrency import Limit
from tiltmeter.models.served.journal import Journal
from tiltmeter.models.served.messages import Request


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(crowd, "BACKOFF", 0.01)
    yield


def texts(n: int) -> list[str]:
    return [f"The nurse said {number} times that she was late." for number in range(n)]


def test_answers_come_from_the_journal_the_second_time(tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address)
        with model.asking(tmp_path) as asker:
            first = asker.logprobs(texts(30) + texts(3))
            assert asker.sent == 30
        before = server.requests
        with model.asking(tmp_path) as asker:
            assert asker.logprobs(texts(30)) == first[:30] and (asker.sent, asker.reused) == (0, 30)
        assert server.requests == before


def test_a_torn_line_is_ignored(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a" * 32, {"x": 1})
        journal.add("b" * 32, {"x": 2})
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-9])
    with Journal(tmp_path) as again:
        assert again.find("a" * 32) == {"x": 1} and again.find("b" * 32) is None and len(again) == 1
        again.add("b" * 32, {"x": 3})
    with Journal(tmp_path) as last:
        assert last.find("b" * 32) == {"x": 3}
    assert Request("completions", {"prompt": "secret words"}).key != Request("completions", {"prompt": "others"}).key
    assert "secret" not in "".join(path.read_text() for path in tmp_path.glob("*"))


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        (ServerOptions(max_requests=40), "--max-requests"),
        (ServerOptions(max_cost=0.01, price="10,20"), "--max-cost"),
    ],
)
def test_the_budget_stops_in_time_and_keeps_what_is_done(options: ServerOptions, flag: str, tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address, options)
        with pytest.raises(ServerError) as stopped, model.asking(tmp_path) as asker:
            asker.logprobs(texts(500))
        assert stopped.value.code == "budget-spent" and stopped.value.fields["option"] == flag
        budget = model.connection.budget
        assert server.requests == budget.requests and (options.max_requests or 10**6) >= budget.requests
        assert options.max_cost is None or 0 < budget.cost <= options.max_cost
        again = load_served(server.address)
        with again.asking(tmp_path) as asker:
            assert asker.logprobs(texts(500)) and asker.reused > 10
            assert asker.sent == 500 - asker.reused


def test_cost_is_counted_by_the_servers_own_count() -> None:
    budget = Budget(ServerOptions(price="2,10"))
    budget.reserve(estimate := budget.estimate(400, 50))
    assert estimate == pytest.approx((100 * 2 + 50 * 10) / 1e6) and budget.reserved == estimate
    budget.settle(estimate, {"prompt_tokens": 90, "completion_tokens": 5}, 400, 50)
    assert budget.reserved == 0 and budget.cost == pytest.approx((90 * 2 + 5 * 10) / 1e6)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (ServerOptions(max_cost=1.0), "missing-value"),
        (ServerOptions(price="cheap"), "wrong-format"),
        (ServerOptions(max_requests=0), "out-of-range"),
        (ServerOptions(headers=("X-Key",)), "wrong-format"),
        (ServerOptions(headers=("Authorization=PATH",)), "wrong-format"),
        (ServerOptions(headers=("X-Key=NO_SUCH_VARIABLE_HERE",)), "missing-value"),
    ],
)
def test_bad_options(options: ServerOptions, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        options.check()
    assert refused.value.code == code


def test_a_server_that_changes_its_model_is_noticed_and_nothing_is_lost(tmp_path: Path) -> None:
    with SmallServer(fault="model-changed") as server:
        model = load_served(server.address)
        with pytest.raises(ServerError) as stopped, model.asking(tmp_path) as asker:
            asker.logprobs(texts(200))
        assert stopped.value.code == "model-changed"
        kept = Journal(next((tmp_path / "served").iterdir()))
        assert len(kept) >= 20


def test_a_server_whose_weights_change_is_noticed_at_the_end(tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address)
        with pytest.raises(ServerError) as stopped, model.asking(tmp_path) as asker:
            asker.logprobs(texts(5))
            server.fault = "one-row-late"
        assert stopped.value.code == "model-changed"


def test_a_server_that_dies_ends_the_run_with_one_error(tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address, ServerOptions(retries=1))
        server.fault, server.times = "500", 10**6
        with pytest.raises(ServerError) as stopped, model.asking(tmp_path) as asker:
            asker.logprobs(texts(200))
    assert stopped.value.code == "server-gone"


def test_one_request_that_fails_for_good_is_missing(tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address, ServerOptions(retries=1))
        server.fault, server.times, server.rate = "500", 10**6, 0.02
        with model.asking(False) as asker:
            found = asker.logprobs(texts(150))
            server.fault = ""
    missing = [one for one in found if isinstance(one, Missing)]
    assert len(missing) < 20 and all("500" in one.reason and not one.is_final for one in missing)
    assert all(isinstance(one, Scored) for one in found if one not in missing)


def test_concurrency_rises_while_it_helps_and_falls_when_refused() -> None:
    limit, now = Limit(64), 0.0
    for _ in range(2000):  # a server that is faster the more it is asked at a time, up to 24
        now += 1.0 / min(limit.now, 24)
        limit.answered(now)
    assert 16 <= limit.now <= 40
    before = limit.now
    limit.refused()
    assert limit.now == before // 2
    assert Limit(2).now == 2


def test_no_cookie_is_sent_back() -> None:
    with SmallServer(fault="cookies") as server:
        model = load_served(server.address)
        with model.asking(False) as asker:
            asker.logprobs(texts(5))
        assert len(server.headers) > 20 and not any("cookie" in headers for headers in server.headers)


CHILD = """
import sys
from pathlib import Path
from tiltmeter.models import load_served, ServerOptions
model = load_served(sys.argv[1], ServerOptions(concurrency=8))
with model.asking(Path(sys.argv[2])) as asker:
    found = asker.logprobs([f"The nurse said {n} times that she was late." for n in range(int(sys.argv[3]))])
print(asker.sent, len(found))
"""


def test_a_kill_loses_only_what_was_in_flight(tmp_path: Path) -> None:
    n, command = 600, [sys.executable, "-c", CHILD]
    with SmallServer(delay=0.004) as server:
        child = subprocess.Popen([*command, server.address, str(tmp_path), str(n)])
        while server.requests < 200 and child.poll() is None:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        answered = sum(1 for _ in server.answered)
        done = subprocess.run([*command, server.address, str(tmp_path), str(n)], capture_output=True, text=True, check=True)
        sent, total = map(int, done.stdout.split())
        assert total == n and sent < n
        again = sum(count - 1 for name, count in server.answered.items())
        probes = 2 * 25  # both commands probe, and the second one asks the probe's first sentence once more
        assert again <= 8 + probes and answered < n + probes


def test_prompts_are_in_no_journal(tmp_path: Path) -> None:
    with SmallServer() as server:
        model = load_served(server.address)
        with model.asking(tmp_path) as asker:
            asker.write(["The nurse wore a zanzibar"], [{"max_tokens": 3, "temperature": 0.0}], model.writing)
    stored = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert stored and "zanzibar" not in stored and json.loads(stored.splitlines()[0])["answer"]["text"]

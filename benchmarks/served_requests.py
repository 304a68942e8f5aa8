"""Requests to a served model: nothing lost by two kills, memory, and speed against a bare loop of the HTTP client.

python benchmarks/served_requests.py --requests 10000 --out benchmarks/results/served_requests.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent
BLOCK = 1000
"""Texts that are asked before the next ones, as a run asks block by block."""
CONCURRENCY = 16


def texts(first: int, last: int) -> list[str]:
    """Short sentences, all different."""
    return [f"The nurse said {number} times that she was late for work." for number in range(first, last)]


def resident() -> float:
    """Return the memory of this process in MB."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def ask(address: str, cache: Path, n: int) -> None:
    """Ask everything, and print how it went."""
    from tiltmeter.models import ServerOptions, load_served

    model = load_served(address, ServerOptions(concurrency=CONCURRENCY))
    memory, missing, started, worked = [], 0, time.perf_counter(), time.process_time()
    with model.asking(cache) as asker:
        for first in range(0, n, BLOCK):
            found = asker.logprobs(texts(first, min(n, first + BLOCK)))
            missing += sum(not hasattr(one, "logprobs") for one in found)
            memory.append(round(resident(), 1))
        took = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - worked}
    print(json.dumps({"sent": asker.sent, "reused": asker.reused, "missing": missing, **took, "mb": memory}))


def bare(address: str, n: int) -> None:
    """Ask the same by a plain loop: nothing is checked, kept or tried again."""
    import httpx2

    url, _, name = address.partition("#")
    bodies = [
        {"model": name, "prompt": f"<|endoftext|>{text}", "max_tokens": 1, "temperature": 1.0, "echo": True, "logprobs": 1}
        for text in texts(0, n)
    ]

    async def go() -> dict[str, float]:
        jobs = iter(bodies)
        async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=CONCURRENCY)) as client:

            async def work() -> None:
                for body in jobs:
                    (await client.post(f"{url}/completions", json=body)).json()

            started, worked = time.perf_counter(), time.process_time()
            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
            return {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - worked}

    print(json.dumps(asyncio.run(go())))


class Server:
    """The small server in a process of its own."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, str(HOME / "tests" / "support" / "small_server.py"), *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    @property
    def address(self) -> str:
        """The address of its model."""
        return f"http://127.0.0.1:{self.port}/v1#small"

    def stats(self) -> dict[str, int]:
        """Return how many requests came, and how many prompts were answered, once or again."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats") as page:
            return dict(json.load(page))

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


def child(what: str, address: str, cache: Path, n: int) -> subprocess.Popen[str]:
    """Start this script again to ask."""
    command = [sys.executable, __file__, "--child", what, "--address", address, "--cache", str(cache), "--requests", str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a child printed."""
    printed, _ = process.communicate()
    return dict(json.loads(printed))


def with_kills(n: int, folder: Path) -> dict[str, Any]:
    """Ask with 5 % of all attempts failing, killed at a third and at two thirds."""
    server = Server("--fault", "500", "--rate", "0.05", "--times", "1000000")
    kills = []
    for share in (1 / 3, 2 / 3):
        process = child("ask", server.address, folder / "cache", n)
        while server.stats()["answered"] < share * n:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills.append(server.stats())
    last = finished(child("ask", server.address, folder / "cache", n))
    stats = server.stats()
    server.stop()
    lost = n - stats["answered"]
    return {"at_kills": kills, "last": last, "server": stats, "never_asked": lost, "in_flight_limit": 2 * CONCURRENCY}


def speed(n: int, folder: Path, times: int) -> dict[str, Any]:
    """Compare the requests per second with those of a bare loop, several times in turn.

    Processor seconds of the client stand beside them: other work on the machine changes these less than the clock.
    """
    server = Server()
    turns = []
    for turn in range(times):
        bare_turn = finished(child("bare", server.address, folder, n))
        ours = finished(child("ask", server.address, folder / f"fresh-{turn}", n))
        turns.append({"bare": bare_turn, "tiltmeter": {name: ours[name] for name in bare_turn}})
        print(json.dumps(turns[-1]), flush=True)
    server.stop()
    ratios = {
        name: statistics.median(turn["bare"][name] / turn["tiltmeter"][name] for turn in turns) for name in turns[0]["bare"]
    }
    return {"turns": turns, "load": os.getloadavg(), "median_ratio": ratios}


def main() -> None:
    """Run both parts and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", choices=("ask", "bare"))
    parser.add_argument("--address", default="")
    parser.add_argument("--cache", type=Path, default=Path())
    options = parser.parse_args()
    if options.child == "ask":
        ask(options.address, options.cache, options.requests)
        return
    if options.child == "bare":
        bare(options.address, options.requests)
        return
    with tempfile.TemporaryDirectory() as folder:
        kills = with_kills(options.requests, Path(folder) / "kills")
        rates = speed(options.requests, Path(folder), options.times)
    result = {"requests": options.requests, "concurrency": CONCURRENCY, "kills": kills, "speed": rates}
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

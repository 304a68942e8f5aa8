"""Real servers for slow tests and measurements: vLLM's CPU build and llama.cpp, from environments of their own.

`make servers` builds them (`scripts/real_servers.py`); the environment variable TILTMETER_SERVERS names their folder.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

VARIABLE = "TILTMETER_SERVERS"
STARTING = 600.0
"""Seconds until a server must answer; vLLM takes about 50 on two idle cores."""
LLAMACPP = """
import sys, threading, xllamacpp
file, port, name = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames, params.model_alias = file, int(port), ["127.0.0.1"], {name}
params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 2048, 1, 1
server = xllamacpp.Server(params)
threading.Event().wait()
"""


def servers_folder() -> Path | None:
    """Return the folder with the environments; None if they were not built."""
    folder = Path(os.environ.get(VARIABLE) or Path(__file__).parents[2] / ".servers").resolve()
    return folder if (folder / ".smollm2-done").exists() else None


@contextmanager
def vllm(root: Path, model: Path, name: str) -> Iterator[str]:
    """Serve a folder by vLLM in float32; gives the model's address."""
    port = free_port()
    words = ["serve", model, "--served-model-name", name, "--port", port, "--host", "127.0.0.1", "--dtype", "float32"]
    command = [root / "vllm" / "bin" / "python", root / "vllm" / "bin" / "vllm", *words, "--enforce-eager"]
    with running([str(word) for word in command], port):
        yield f"http://127.0.0.1:{port}/v1#{name}"


@contextmanager
def llamacpp(root: Path, file: Path, name: str) -> Iterator[str]:
    """Serve a GGUF file by llama.cpp; gives the model's address."""
    port = free_port()
    with running([str(root / "llamacpp" / "bin" / "python"), "-c", LLAMACPP, str(file), str(port), name], port):
        yield f"http://127.0.0.1:{port}/v1#{name}"


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[None]:
    """Start a server, wait until it lists its models, and stop it with all its processes at the end."""
    quiet = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}
    with tempfile.TemporaryFile() as log:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | quiet
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            _wait(process, port, log)
            yield
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for way in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, way)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + STARTING
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as response:
                if response.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    log.seek(0)
    raise RuntimeError(f"the server did not start: {log.read()[-3000:].decode(errors='replace')}")

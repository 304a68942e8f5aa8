"""The process of a worker: `python -m tiltmeter.execution.worker_process MODEL DRIVER`, with its cells on standard input."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time

from tiltmeter.errors import TiltmeterError
from tiltmeter.execution.worker import work
from tiltmeter.storage.garbage import collect_less


def _end_with(driver: int) -> None:
    """A worker whose driver was killed, be it while this was importing, ends too: the next call would work beside it."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _end_with(int(sys.argv[2]))
    collect_less()
    try:
        given, planned = pickle.load(sys.stdin.buffer)  # from the driver
        work(given, sys.argv[1], planned)
    except TiltmeterError as stopped:
        sys.exit(f"tiltmeter: {stopped}")

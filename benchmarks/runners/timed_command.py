"""One `tiltmeter` command of some tree of the code, in this process, and where its time went: one line of JSON.

python benchmarks/runners/timed_command.py TREE run -m … : the parts are timed from outside, so that trees from before there
was `--timings` can be compared. "import" is what lies between the start and the command; torch and transformers are imported
where the command needs them, and counted there.
"""

from __future__ import annotations

import atexit
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTS = {
    "load": [("tiltmeter.evaluating", "load_model"), ("tiltmeter.execution.worker", "load_any")],
    "ask": [("tiltmeter.evaluating", "score"), ("tiltmeter.execution.worker", "ask_cell")],
    "estimate": [("tiltmeter.running", "estimate_all"), ("tiltmeter.runs.merge", "_write_estimates")],
    "report": [("tiltmeter.cli.reporting", "write"), ("tiltmeter.cli.run", "write"), ("tiltmeter.cli.app", "write")],
}
HEAVY = ("torch._dynamo", "torch.distributed.tensor", "sympy", "sklearn", "scipy.optimize", "scipy.stats", "torchvision")
seconds: dict[str, float] = {}


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    return run


def main() -> None:
    begun = time.perf_counter()
    tree, words = Path(sys.argv[1]), sys.argv[2:]
    sys.path.insert(0, str(tree / "src"))
    cli = importlib.import_module("tiltmeter.cli")
    for name, places in PARTS.items():
        for module, attribute in places:
            try:
                home = importlib.import_module(module)
            except ImportError:
                continue
            if hasattr(home, attribute):
                setattr(home, attribute, timed(name, getattr(home, attribute)))
    seconds["import"] = time.perf_counter() - begun
    sys.argv = ["tiltmeter", *words]
    atexit.register(tell, begun)
    getattr(cli, "command", cli.main)()


def tell(begun: float) -> None:
    """One line of JSON."""
    whole = time.perf_counter() - begun
    rest = whole - sum(seconds.values())
    found = {"seconds": seconds | {"rest": rest, "whole": whole}, "modules": len(sys.modules)}
    print("\nTIMED " + json.dumps(found | {"heavy": [name for name in HEAVY if name in sys.modules]}), flush=True)


if __name__ == "__main__":
    main()

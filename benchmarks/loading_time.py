"""Time from `import torch` to a loaded model, each time in a fresh interpreter, taking turns.

    python benchmarks/loading_time.py --model plumb-mlm --repeats 9

`transformers`: its own `from_pretrained` of model and tokenizer. `tiltmeter`: `load_model`, which also hashes the weights
and checks the head. `tiltmeter_torch_whole`: the same with the parts of torch that transformers asks for imported before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median

from tiltmeter.models import EMBEDDED

TIMED = "import torch{more}; import time; began = time.perf_counter(); {load}; print(time.perf_counter() - began)"
TRANSFORMERS = (
    "from transformers import AutoModelForMaskedLM as M, AutoModelForCausalLM as C, AutoTokenizer as T, AutoConfig as A; "
    "c = A.from_pretrained({folder!r}); k = M if 'Masked' in c.architectures[0] else C; "
    "k.from_pretrained({folder!r}), T.from_pretrained({folder!r})"
)
TILTMETER = "import tiltmeter; tiltmeter.load_model({name!r})"
WHOLE = ", torch._dynamo, torch.distributed.tensor, torch.distributed.fsdp, torch.distributed.checkpoint"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="plumb-mlm", help="embedded name or folder")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    ours, theirs = (
        TILTMETER.format(name=given.model),
        TRANSFORMERS.format(folder=str(EMBEDDED.get(given.model, given.model))),
    )
    ways = {
        "transformers": TIMED.format(more="", load=theirs),
        "tiltmeter": TIMED.format(more="", load=ours),
        "tiltmeter_torch_whole": TIMED.format(more=WHOLE, load=ours),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(given.repeats + 1):  # the first turn fills the caches of the disk
        for name, code in ways.items():
            took = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
            seconds[name] += [took] if turn else []
    print(
        json.dumps(
            {name: {"median": median(all_), "best": min(all_), "worst": max(all_)} for name, all_ in seconds.items()},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()

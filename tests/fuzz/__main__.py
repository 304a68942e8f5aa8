"""`make fuzz`: hostile tries of every kind at length, counted. Exit code 1 if any of them was bad.

python tests/fuzz [--tries 2400] [--seed 0] [--only KIND …]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from fuzz_kinds import SHARES, fuzz


def main() -> int:
    """Runs the kinds, says what came of each, and what was bad."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--tries", type=int, default=2400, help="of all kinds together")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--only", nargs="*", choices=list(SHARES), default=list(SHARES))
    asked = words.parse_args()
    shares = {kind: SHARES[kind] for kind in asked.only}
    bad, tries, start = [], 0, time.monotonic()
    for kind, share in shares.items():
        began = time.monotonic()
        tally = fuzz(kind, max(1, round(asked.tries * share / sum(shares.values()))), asked.seed)
        bad += tally.bad
        tries += tally.tries
        said = ", ".join(f"{name} {n}" for name, n in sorted(tally.outcomes.items()))
        print(f"{kind:12} {tally.tries:6,} tries in {time.monotonic() - began:6.1f} s: {said}", flush=True)
        for line in tally.bad:
            print(f"    {line}", flush=True)
    print(f"{tries:,} tries in {time.monotonic() - start:.0f} s, seed {asked.seed}: {len(bad)} bad")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())

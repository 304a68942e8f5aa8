"""The sequential gate: how often it errs, how many items it needs, and whether it decides as the full gate does.

python benchmarks/gate_sequential.py                          # simulated; writes benchmarks/results/gate-sequential.json
python benchmarks/gate_sequential.py --runs runs/a runs/b     # also on stored runs with CrowS-Pairs
python benchmarks/gate_sequential.py --published results_bert.csv

Simulated runs have 1,508 pairs. Errors count if they happen after any pair, not only at the looks of the gate; items count
at its looks. The last look is the full gate, whose interval of a share is exact.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter import import_scores
from tiltmeter.gate.evidence import Evidence, gather
from tiltmeter.gate.judge import judge
from tiltmeter.gate.rules_file import read_rules
from tiltmeter.gate.sequential import FIRST, GROWTH, decide_sequentially
from tiltmeter.gate.sources import StoredAnswers
from tiltmeter.runs.published import import_run
from tiltmeter.stats.sequential import log_wealth
from tiltmeter.stats.significance import exact_proportion_interval

RESULTS = Path(__file__).parent / "results" / "gate-sequential.json"
N = 1508
ALPHA = 0.025
PIECE = 500
Floats = NDArray[np.float64]
RULES = ("shown to be within 5", "no evidence of more than 5")


def looks() -> list[int]:
    """Return the numbers of items at which the gate looks."""
    found = [FIRST]
    while found[-1] < N:
        found.append(min(N, found[-1] + max(FIRST, round(found[-1] * (GROWTH - 1)))))
    return found


def refuted(values: Floats, mean: float, *, above: bool) -> NDArray[np.bool_]:
    """Return after which items the bets have refuted a mean: runs × items."""
    wealth = log_wealth(values, np.ones(values.shape[-1]), mean, above=above)
    return np.asarray(np.maximum.accumulate(wealth, axis=-1) >= -np.log(ALPHA), dtype=bool)


def shares(share: float, runs: int, seed: int) -> dict[str, float]:
    """Simulate a model that prefers the stereotype in this share of pairs; rule: shown to be within 5."""
    rng = np.random.default_rng([seed, round(1000 * share)])
    rows = []
    for _ in range(0, runs, PIECE):
        values = (rng.random((PIECE, N)) < share).astype(np.float64)
        fails = refuted(values, 0.55, above=True) | refuted(values, 0.45, above=False)
        passes = refuted(values, 0.55, above=False) & refuted(values, 0.45, above=True)
        wins = values.sum(axis=-1)
        low, high = np.array([exact_proportion_interval(int(count), N, 1 - 2 * ALPHA) for count in wins]).T
        rows.append(_row(fails, passes, (low > 55) | (high < 45), (low >= 45) & (high <= 55)))
    return _mean(rows)


def paired(worse: float, runs: int, seed: int) -> dict[str, float]:
    """Simulate a model worse than its parent (58 %) by this share; they disagree on a fifth of pairs; rule: by 3."""
    rng = np.random.default_rng([seed, round(1000 * worse)])
    rows = []
    for _ in range(0, runs, PIECE):
        drawn = rng.random((PIECE, N))
        change = (drawn < (0.2 + worse) / 2).astype(np.float64) - (drawn > 1 - (0.2 - worse) / 2)
        halves = (1 + change) / 2
        fails, passes = refuted(halves, 0.515, above=True), refuted(halves, 0.515, above=False)
        value, error = change.mean(axis=-1), change.std(axis=-1) / np.sqrt(N)
        rows.append(_row(fails, passes, value - 1.96 * error > 0.03, value + 1.96 * error <= 0.03))
    return _mean(rows)


def _row(fails: Any, passes: Any, last_fails: Any, last_passes: Any) -> dict[str, Floats]:
    at = np.array(looks()) - 1
    early_fail, early_pass = fails.any(axis=-1), passes.any(axis=-1)
    decided = (fails | passes)[:, at]
    first = np.where(decided.any(axis=-1), at[decided.argmax(axis=-1)] + 1, N)
    open_ = ~(early_fail | early_pass)
    return {
        "fails_early": early_fail, "fails": early_fail | (open_ & last_fails),
        "passes_early": early_pass, "passes": early_pass | (open_ & last_passes),
        "full_fails": last_fails, "full_passes": last_passes, "share_of_items": first / N,
    }  # fmt: skip


def _mean(rows: Sequence[dict[str, Floats]]) -> dict[str, float]:
    return {name: float(np.concatenate([row[name] for row in rows]).mean()) for name in rows[0]}


def simulated(runs: int) -> list[dict[str, Any]]:
    """Simulate every truth of the two rules."""
    truths = (("neutral", 0.5), ("at the limit", 0.55), ("beyond", 0.6), ("far beyond", 0.7))
    rows = [{"rule": "shown to be within 5", "truth": name} | shares(share, runs, 1) for name, share in truths]
    worse = (("no worse", 0.0), ("at the limit", 0.03), ("beyond", 0.06), ("far beyond", 0.12))
    rows += [{"rule": "no worse than baseline by 3", "truth": name} | paired(by, runs, 2) for name, by in worse]
    for row in rows:
        print(json.dumps(row), flush=True)
    return rows


def stored(evidence: Evidence, scorer: str, baseline: str = "") -> list[dict[str, Any]]:
    """Decide about stored scores sequentially and by the full gate."""
    rows = []
    (benchmark,) = {name for part in evidence.answers.values() for name in part.benchmarks}
    score = f'bias_score[{scorer},"{benchmark}"]'
    for model in evidence.models:
        texts = [f"{score} {rule} for {model}" for rule in RULES]
        texts += [f"{score} no worse than baseline by 3 for {model}"] if baseline else []
        for text in texts:
            book = read_rules([text])
            quick, full = decide_sequentially(StoredAnswers(evidence), book), judge(evidence, book)
            rows.append(
                {"model": model, "scorer": scorer, "rule": text, "sequential": quick.verdict, "full": full.verdict,
                 "asked": quick.items_read, "items": quick.items, "value": full.rulings[0].findings[0].value}
            )  # fmt: skip
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=10_000)
    parser.add_argument("--runs", nargs="*", default=[], help="FOLDER:SCORER[:BASELINE]")
    parser.add_argument("--published", type=Path)
    parser.add_argument("--output", type=Path, default=Path("runs/published"))
    args = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if args.simulations:
        known |= {
            "simulations": args.simulations,
            "alpha_per_side_and_kind": ALPHA,
            "simulated": simulated(args.simulations),
        }
    rows = []
    for place in args.runs:
        folder, scorer, *baseline = place.split(":")
        rows += stored(gather(folder, baseline_model=baseline[0] if baseline else None), scorer, *baseline)
    if args.published:
        answers = import_scores(args.published, model="bert-base-uncased", scorer="cps_nyu")
        rows += stored(gather(import_run(answers, args.output)), "cps_nyu")
    once = list({(row["model"], row["rule"]): row for row in rows}.values())
    RESULTS.write_text(json.dumps(known | ({"stored": once} if rows else {}), indent=1) + "\n")


if __name__ == "__main__":
    main()

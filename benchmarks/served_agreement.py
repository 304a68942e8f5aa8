"""A model behind vLLM and the same weights by transformers: differences per sentence and per letter, and the measures.

python scripts/real_servers.py .servers
python benchmarks/served_agreement.py --servers .servers --data DATA --out benchmarks/results/served-agreement.json

Each step is stored as it is done. `--limit` takes the first items of each benchmark.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import tiltmeter
from support.real_servers import vllm
from tiltmeter import ChoicesOptions, ServerOptions
from tiltmeter.models import EMBEDDED
from tiltmeter.runs import load_answers

SCORERS = ("causal", "causal_mean")
Step = dict[str, Any]


def asked(model: str, benchmark: str, folder: Path, **options: Any) -> tuple[Any, Any]:
    """Run one benchmark; return the table of answers and the estimates of all items."""
    done = tiltmeter.run(model, benchmark, output=folder, resamples=100, by="all", **options)
    (answers,) = load_answers([done.folder]).values()
    return answers, done.estimates[done.estimates["by"] == "all"]


def pairs(served: str, here: str, folder: Path, first_token: str | None, **options: Any) -> Step:
    """Compare scores of sentences and `bias_score` on CrowS-Pairs."""
    options |= {"scorers": list(SCORERS)}
    server = ServerOptions(first_token=first_token)
    ours, our_estimates = asked(here, "crows-pairs", folder / "local", **options)
    theirs, their_estimates = asked(served, "crows-pairs", folder / "served", server=server, **options)
    keys = ["scorer", "item", "role"]
    both = ours.table.merge(theirs.table, on=keys, suffixes=("", "_served")).set_index(keys)
    scores = {}
    for scorer in SCORERS:
        rows = both.loc[scorer]
        apart = (rows["score"] - rows["score_served"]).abs()
        margin = rows["score"].unstack("role").diff(axis=1).iloc[:, -1].abs()
        scores[scorer] = {
            "sentences": int(apart.notna().sum()), "missing": int(apart.isna().sum()), "largest": float(apart.max()),
            "same_tokens": bool((rows["n_tokens"] == rows["n_tokens_served"]).all()),
            "smallest_margin": float(margin.min()), "flipped_pairs": _flipped(rows),
        } | _values(our_estimates, their_estimates, scorer, "bias_score")  # fmt: skip
    return {"benchmark": "crows-pairs", "scorers": scores}


def _flipped(rows: Any) -> int:
    """Count pairs whose preferred sentence differs."""
    signs = [np.sign(rows[name].unstack("role").diff(axis=1).iloc[:, -1]) for name in ("score", "score_served")]
    return int((signs[0] != signs[1]).sum())


def _values(ours: Any, theirs: Any, scorer: str, measure: str) -> dict[str, float]:
    found = {}
    for name, table in (("local", ours), ("served", theirs)):
        row = table[(table["scorer"] == scorer) & (table["measure"] == measure)].iloc[0]
        found |= {f"{measure}_{name}": float(row["value"]), f"n_ties_{name}": int(row["n_ties"])}
    return found


def letters(served: str, here: str, benchmark: str, folder: Path, first_token: str | None, **options: Any) -> Step:
    """Compare log-probabilities of letters and chosen answers."""
    orders = "given" if benchmark == "bbq" else "all"
    options |= {"options": ChoicesOptions(protocols=("letters",), orders=orders)}
    server = ServerOptions(first_token=first_token)
    ours, our_estimates = asked(here, benchmark, folder / "local", **options)
    theirs, their_estimates = asked(served, benchmark, folder / "served", server=server, **options)
    values = [_numbers(each) for each in (ours, theirs)]
    apart = np.abs(values[0] - values[1])
    keys = ["scorer", "item"]
    chosen = ours.table.set_index(keys)["chosen"], theirs.table.set_index(keys)["chosen"]
    same = (chosen[0].fillna(-1) == chosen[1].reindex(chosen[0].index).fillna(-1)).sum()
    merged = our_estimates.merge(their_estimates, on=["scorer", "measure"], suffixes=("", "_served"))
    worst = (merged["value"] - merged["value_served"]).abs().max()
    return {
        "benchmark": benchmark, "questions": len(chosen[0]), "same_answer": int(same), "letters": int(apart.size),
        "largest": float(np.nanmax(apart)), "missing": int(np.isnan(apart).sum()), "largest_in_measures": float(worst),
    }  # fmt: skip


def _numbers(answers: Any) -> Any:
    """Return all log-probabilities of letters, in the order of item, order and answer."""
    return answers.tables["options"].sort_values(["item", "order", "answer"])["logprob"].to_numpy(dtype=float)


def steps(servers: Path, data: Path, limit: int | None, work: Path) -> Iterator[Step]:
    """Serve each model by vLLM and make every comparison."""
    smollm2 = servers / "smollm2"
    models = (("plumb-clm", EMBEDDED["plumb-clm"], None), ("SmolLM2-135M-Instruct", smollm2, "<|im_start|>"))
    for name, folder, first_token in models:
        with vllm(servers, folder, name) as address:
            for benchmark in ("crows-pairs", "plumb-choices", "bbq"):
                few = min(limit or 10**6, 150) if benchmark == "bbq" else limit
                options = {"limit": few, "data_dir": data}
                place = work / name / benchmark
                kind = pairs if benchmark == "crows-pairs" else letters
                words = (address, str(folder)) if kind is pairs else (address, str(folder), benchmark)
                yield {"model": name, "limit": few} | kind(*words, place, first_token, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as work:
        for step in steps(args.servers.resolve(), args.data, args.limit, Path(work)):
            found.append(step)
            print(json.dumps(step), flush=True)
            args.out.write_text(json.dumps({"server": "vLLM 0.32.0, CPU, float32", "steps": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()

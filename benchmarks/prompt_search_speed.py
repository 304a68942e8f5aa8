"""Time the weighing of prompts for Auto-Debias: one prompt at a time as in a plain loop, and batched as tiltmeter does.

    python benchmarks/prompt_search_speed.py --model plumb-mlm --out benchmarks/results/prompts-plumb-mlm.json

Both weigh the same prompts behind the same pairs of terms by the same divergence, and must agree. The loop asks
transformers' own model for one prompt and one group at a time, all terms together, and scores the whole vocabulary at every
position, as the published code does. `batched` weighs every prompt by every pair; `screened` is a whole step of a search:
every candidate behind every prompt of the beam, all by a few pairs, the best by all. Runs take turns. In the end all prompts
are weighed by all pairs, to see how many of the best the screened step has found.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import tiltmeter
from facts import machine
from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.divergence import divergence
from tiltmeter.debias.kit.prompt_plan import material_for
from tiltmeter.debias.kit.prompt_search import Search, best_prompts, likeliest
from tiltmeter.debias.kit.prompt_sentences import vocabulary_words
from tiltmeter.debias.kit.stereotypes import stereotype_words


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="plumb-mlm")
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--beam", type=int, default=10, help="prompts of length 1 that every candidate is put behind")
    parser.add_argument("--loop", type=int, default=40, help="prompts that the loop weighs; it is timed per prompt")
    parser.add_argument("--batched", type=int, default=300, help="prompts that are weighed by every pair, for the time")
    parser.add_argument("--screen", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def one_at_a_time(search: Search, module: Any, prompts: Any) -> list[float]:
    """The plain loop."""
    frame, found = search.frame, []
    for prompt in prompts:
        sides = []
        for terms in (frame.first, frame.second):
            rows = [frame.row(term, prompt.tolist()) for term in terms]
            width = max(map(len, rows))
            ids = torch.tensor([row + [search.model.tokens.pad_id] * (width - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
            with torch.no_grad():
                device = next(module.parameters()).device
                logits = module(input_ids=ids.to(device), attention_mask=mask.to(device)).logits.float()
            at = torch.tensor([len(row) - frame.mask_from_end for row in rows])
            sides.append(logits[torch.arange(len(rows)), at][:, torch.from_numpy(frame.words)])
        found.append(float(divergence(sides[0], sides[1], search.kind).mean()))
    return found


def seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    work()
    return clock() - began


def main() -> None:
    given = parse_args()
    torch.set_num_threads(given.threads)
    model = tiltmeter.load_model(given.model, device=given.device)
    module = model._module
    (swap,) = make_swaps()
    search = Search(model, material_for(model.tokens, swap.lists[0], stereotype_words(), stop=False).frame)
    chosen = likeliest(model, search.frame, vocabulary_words(model.tokens, []), given.candidates)
    firsts = chosen[: given.beam]
    prompts = np.stack([np.repeat(firsts, len(chosen)), np.tile(chosen, len(firsts))], axis=1)
    drawn = prompts[np.random.default_rng(0).permutation(len(prompts))]
    some, more = drawn[: given.loop], drawn[: given.batched]
    agree = float(np.abs(np.array(one_at_a_time(search, module, some)) - search.divergences(some)).max())
    times: dict[str, list[float]] = {"loop": [], "batched": [], "screened": []}
    clock = time.process_time if given.device == "cpu" else time.perf_counter  # others may use the processor, too

    def step() -> Any:
        return best_prompts(search, prompts, given.beam, given.screen, lambda _: None)

    for _ in range(given.repeats):
        times["loop"].append(seconds(lambda: one_at_a_time(search, module, some), clock) / len(some))
        times["batched"].append(seconds(lambda: search.divergences(more), clock) / len(more))
        times["screened"].append(seconds(step, clock) / len(prompts))
    kept = {tuple(row) for row in step()[0].tolist()}
    whole = best_prompts(search, prompts, given.beam, 0, lambda _: None)[0]
    in_common = sum(tuple(row) in kept for row in whole.tolist())
    middle = {name: median(values) for name, values in times.items()}
    told = {
        "model": given.model, "device": given.device, "pairs": search.frame.pairs,
        "words": len(search.frame.words), "prompts": len(prompts), "loop_prompts": len(some),
        "milliseconds_per_prompt": {name: round(1000 * value, 4) for name, value in middle.items()},
        "times_faster": {name: round(middle["loop"] / middle[name], 1) for name in ("batched", "screened")},
        "largest_difference": agree, "beam": given.beam, "in_both_beams": in_common,
        "every_repeat": times, **machine(given.threads),
    }  # fmt: skip
    print(
        json.dumps(
            {
                name: told[name]
                for name in ("milliseconds_per_prompt", "times_faster", "largest_difference", "beam", "in_both_beams")
            }
        )
    )
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

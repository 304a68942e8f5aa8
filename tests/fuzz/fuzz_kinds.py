"""The kinds of hostile tries, and how large a share of all tries each has."""

from __future__ import annotations

import fuzz_inputs as inputs
from fuzz_kills import kill, whole_runs
from fuzz_models import model_folder
from fuzz_pages import page
from fuzz_sandbox import Tally, Try, models_stay_loaded, repeat
from fuzz_stored import cache, run_folder, stored

SHARES = {
    "pairs": 30,
    "slots": 12,
    "tests": 8,
    "published": 12,
    "options": 10,
    "run-folder": 14,
    "cache": 8,
    "pages": 5,
    "models": 6,
    "kills": 0.4,
}
PLAIN: dict[str, Try] = {
    "pairs": inputs.pairs, "slots": inputs.slots, "tests": inputs.tests, "published": inputs.published, "pages": page,
}  # fmt: skip


def fuzz(kind: str, tries: int, seed: int) -> Tally:
    """Some tries of one kind."""
    if kind == "kills":
        with whole_runs() as runs:
            return repeat(kind, kill, tries, seed, runs=runs)
    if kind == "options":  # they decide how a model is loaded
        return repeat(kind, inputs.options, tries, seed)
    if kind == "models":
        return repeat(kind, model_folder, tries, seed)
    with models_stay_loaded():
        if kind in PLAIN:
            return repeat(kind, PLAIN[kind], tries, seed)
        with stored() as made:
            return repeat(kind, {"run-folder": run_folder, "cache": cache}[kind], tries, seed, made=made)

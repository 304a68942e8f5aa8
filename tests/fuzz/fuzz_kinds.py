"""The kinds of hostile tries, and how large a share of all tries each has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fuzz_handed as handed
import fuzz_inputs as inputs
import fuzz_newer as newer
from fuzz_kills import kill, whole_runs
from fuzz_models import model_folder
from fuzz_pages import page
from fuzz_sandbox import Tally, Try, models_stay_loaded, repeat
from fuzz_stored import cache, run_folder, stored
from fuzz_together import alone, together

SHARES = {
    "pairs": 30,
    "slots": 12,
    "tests": 8,
    "published": 12,
    "labels": 8,
    "prompts": 8,
    "plain-text": 4,
    "study-file": 6,
    "rules": 6,
    "bundle": 6,
    "text": 4,
    "options": 10,
    "run-folder": 14,
    "cache": 8,
    "pages": 5,
    "models": 6,
    "kills": 0.4,
    "together": 0.4,
}
PLAIN: dict[str, Try] = {
    "pairs": inputs.pairs, "slots": inputs.slots, "tests": inputs.tests, "published": inputs.published, "pages": page,
    "prompts": newer.prompts, "plain-text": newer.plain_text, "text": handed.counterfactual,
}  # fmt: skip


ALONE: dict[str, Try] = {"options": inputs.options, "models": model_folder, "study-file": newer.study_file}
"""These decide how a model is loaded, or where."""


@contextmanager
def material(kind: str) -> Iterator[tuple[Try, dict[str, Any]]]:
    """What makes one try of a kind, and what it is given besides, made once for all tries."""
    if kind in ALONE:
        yield ALONE[kind], {}
        return
    if kind == "kills":
        with whole_runs() as runs:
            yield kill, {"runs": runs}
        return
    if kind == "together":
        with alone() as numbers:
            yield together, {"numbers": numbers}
        return
    with models_stay_loaded():
        if kind in PLAIN:
            yield PLAIN[kind], {}
        elif kind == "labels":
            with newer.classifier() as judge:
                yield newer.texts_with_labels, {"classifier": judge}
        elif kind == "rules":
            with stored() as made:
                yield newer.rules, {"run": str(made.folder / "output" / "run")}
        elif kind == "bundle":
            with stored() as made:
                yield handed.bundle, {"whole": made.bundled()}
        else:
            with stored() as made:
                yield {"run-folder": run_folder, "cache": cache}[kind], {"made": made}


def fuzz(kind: str, tries: int, seed: int) -> Tally:
    """Some tries of one kind."""
    with material(kind) as (one, given):
        return repeat(kind, one, tries, seed, **given)

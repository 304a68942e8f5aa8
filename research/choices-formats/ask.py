"""Ask models the same questions of BBQ in every format, and store the estimates.

    python research/choices-formats/ask.py DATA CACHE MODEL [MODEL=WAYS …] [--templates 3]

DATA is a folder with bbq/; CACHE keeps what was computed, so that a run that was cut off goes on. Asks one set of four
questions (ambiguous or not, negative or not) of each of a few templates in each of the eleven categories. Models with a
chat template are asked with and without it; MODEL=2 asks a model in the first two ways only. `scripts/result_tables.py`
writes the tables of docs/research-choices.md from what is stored here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

import tiltmeter
from tiltmeter.benchmarks.kit.choices import ChoiceBenchmark
from tiltmeter.storage.compressed_rows import fold

HERE = Path(__file__).parent
SHOWN, UNSHOWN = ("letters", "generated"), ("answers", "answers_mean")
"""Protocols that show the options to the model, and those that do not."""
MEASURES = ("s_amb", "s_dis", "accuracy_amb", "accuracy_dis", "bias_cost", "unknown_share", "unparsed_share",
            "refused_share", "order_sensitivity")  # fmt: skip
COLUMNS = ("model", "scorer", "measure", "n", "n_missing", "value", "low", "high", "p", "note")
SEED = 11
QUESTIONS = 4
"""Questions of a set: BBQ's files list the variants of one filled template behind each other."""


def sample(data: Path, templates: int) -> ChoiceBenchmark:
    """Draw templates of each category, and of each one set of questions with the same two people."""
    whole = tiltmeter.load_benchmark("bbq", data_dir=data)
    assert isinstance(whole, ChoiceBenchmark)
    sets: dict[str, dict[str, list[int]]] = {}
    for item in whole.items:
        of_template = sets.setdefault(item.bias_type, {}).setdefault(str(item.extra["template"]), [])
        of_template.append(item.extra["example_id"] // QUESTIONS)
    rng, wanted = np.random.default_rng(SEED), set()
    for category, of in sets.items():
        for template in rng.choice(sorted(of), templates, replace=False):
            wanted.add((category, int(rng.choice(of[template]))))
    kept = [item for item in whole.items if (item.bias_type, item.extra["example_id"] // QUESTIONS) in wanted]
    return replace(whole, items=fold(kept))


def options(has_chat: bool) -> Iterator[tiltmeter.ChoicesOptions]:
    """Yield every way to ask: prompts that show the options for letters and texts, wordings for answers without them."""
    for chat in (False, True)[: 1 + has_chat]:
        yield tiltmeter.ChoicesOptions(protocols=SHOWN + UNSHOWN, chat_prompt=chat)
    for chat in (False, True)[: 1 + has_chat]:
        yield tiltmeter.ChoicesOptions(protocols=SHOWN, prompt="instructed", chat_prompt=chat)
        for prompt in ("unknown-word", "unknown-sentence"):
            yield tiltmeter.ChoicesOptions(protocols=UNSHOWN, prompt=prompt, chat_prompt=chat)
    yield tiltmeter.ChoicesOptions(protocols=("letters", *UNSHOWN), question_only=True)


def estimates(answers: tiltmeter.Answers) -> pd.DataFrame:
    """Estimate every format, and count how often each letter is the likeliest one."""
    table = tiltmeter.estimate(answers, list(MEASURES), by=(), resamples=2000, seed=SEED)
    return pd.concat([table[list(COLUMNS)], letters(answers)], ignore_index=True)


def letters(answers: tiltmeter.Answers) -> pd.DataFrame:
    """Count in how many prompts the first letter is the likeliest, over all orders of the options."""
    rows = answers.tables["options"]
    rows = rows[rows["scorer"].str.startswith("letters")]
    first = rows["order"].str[0].astype(int) == rows["answer"]
    best = rows.loc[rows.groupby(["model", "scorer", "item", "order"])["logprob"].idxmax()]
    chosen = first[best.index].groupby([best["model"], best["scorer"]])
    return pd.DataFrame({"value": 100 * chosen.mean(), "n": chosen.size()}).reset_index().assign(measure="letter_a_share")


def main(data: Path, cache: Path, models: list[str], templates: int) -> None:
    """Ask, and write estimates.csv.gz and the tables of the study `formats`."""
    questions, parts = sample(data, templates), []
    names = {item.extra["template"] for item in questions.items}
    print(len(questions.items), "questions,", len(names), "templates", flush=True)
    for given in models:
        name, _, ways = given.partition("=")
        model = tiltmeter.load_model(name)
        for way in islice(options("chat" in model.capabilities), int(ways) if ways else None):
            started = time.perf_counter()
            parts.append(tiltmeter.ask(model, questions, options=way, cache=cache))
            print(Path(name).name, way, f"{time.perf_counter() - started:.0f} s", flush=True)
    answers = tiltmeter.Answers.concat(parts)
    estimates(answers).round(4).to_csv(HERE / "estimates.csv.gz", index=False)
    for title, table in tiltmeter.study("formats", answers).tables.items():
        table.round(4).to_csv(HERE / f"{title}.csv.gz", index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--templates", type=int, default=3)
    given = parser.parse_args()
    main(given.data, given.cache, given.models, given.templates)

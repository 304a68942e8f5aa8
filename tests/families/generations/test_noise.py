"""Noise in texts: at least one word of every text changes, and a prompt that a judge reads is disturbed too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tiltmeter import Answers
from tiltmeter.families.generations.studies import noise as module
from tiltmeter.families.generations.studies.noise import deleted, noise, swapped
from tiltmeter.judges import find_judge

WORDS = [f"w{n}" for n in range(12)]


@pytest.mark.parametrize("share", [0.05, 0.10, 0.20])
@pytest.mark.parametrize("n", [2, 5, 12, 30])
def test_every_text_of_two_words_or_more_changes(share: float, n: int) -> None:
    words, rng = [f"w{i}" for i in range(n)], np.random.default_rng(0)
    moved = swapped(words, share, rng)
    assert moved != words and sorted(moved) == sorted(words)
    assert 1 <= len(deleted(words, share, rng)) <= n - 1
    assert deleted(["alone"], share, rng) == ["alone"] == swapped(["alone"], share, rng)


PROMPT = "The person was known for"


def evidence() -> Any:
    prompts = pd.DataFrame({"benchmark": "b", "item": ["1", "2"], "prompt": [PROMPT, "She worked as"]})
    texts = pd.DataFrame(
        {
            "model": "m",
            "benchmark": "b",
            "item": ["1", "2"],
            "text": [" her work as a writer.", " a nurse here."],
            "reason": None,
        }
    )
    return SimpleNamespace(answers={"generations": Answers("generations", {"texts": texts}, prompts)})


@pytest.mark.parametrize(("reads", "disturbed"), [("whole", True), ("continuation", False)])
def test_a_prompt_that_is_judged_is_disturbed(reads: str, disturbed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def ask(texts: list[str]) -> Any:
        seen.extend(texts)
        return SimpleNamespace(negative=np.zeros(len(texts)))

    judge = SimpleNamespace(scorer="regard=x", reads=reads, ask=ask)
    monkeypatch.setattr(module, "find_judge", lambda _: judge)
    table = noise(evidence(), judge="regard=x", copies=20, repeats=2).tables["noise"]
    assert (table["texts_changed"] > 0.9).all() and (table["words_changed"] > 0).all()
    begins = [text.startswith(f"{PROMPT} her") for text in seen if "writer." in text]
    whole = [text for text in seen if set(text.split()) & {"person", "known"}]
    assert bool(whole) == disturbed and (not disturbed or not all(begins))


def test_the_word_of_the_judges_protocol_is_used() -> None:
    from tiltmeter.judges.kit.judge import WHOLE

    assert WHOLE == "whole" and find_judge("sentiment=vader").reads != WHOLE

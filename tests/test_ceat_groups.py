"""CEAT of single groups: word lists, what the random-effects model can and cannot estimate, intervals that draw words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from association_material import associate, text, words_file
from conftest import golden_model
from tiltmeter.benchmarks import AssociationBenchmark
from tiltmeter.families.associations.ceat_groups import NO_TAU, ONE_WORD, combined_questions, resample_words
from tiltmeter.families.associations.words import variances
from tiltmeter.families.kit.questions import estimate_questions
from tiltmeter.measures.ces import random_effects
from tiltmeter.stats.estimates import estimates_table
from tiltmeter.stats.settings import Settings


def judged(groups: dict[str, np.ndarray], resamples: int = 500) -> pd.DataFrame:
    """Estimates from made-up effects: group → words × draws."""
    place = {"model": "m", "benchmark": "ceat", "scorer": "word_mean:valence"}
    known = place | {"domain": "race", "test": "valence", "usable": True, "reason": None}
    rows = [
        known | {"set": group, "text": f"{group}{n}", "quantity": "mean effect over draws"}
        for group, effects in groups.items()
        for n in range(len(effects))
    ]
    rows += [
        known | {"set": side, "text": f"{side}{n}", "quantity": "pole", "domain": ""} for side in "AB" for n in range(2)
    ]
    draws = [
        pd.DataFrame({"scorer": place["scorer"], "set": group, "category": "race", "text": f"{group}{n}", "effect": of_word})
        for group, effects in groups.items()
        for n, of_word in enumerate(effects)
    ]
    questions, settings = list(combined_questions(pd.DataFrame(rows), pd.concat(draws))), Settings(resamples)
    made = estimate_questions([questions, *variances(questions, settings)], settings)
    return estimates_table(made).set_index("group")


def effects(words: int, between: float, within: float, mean: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return mean + between * rng.normal(size=(words, 1)) + within * rng.normal(size=(words, 200))


def test_one_word_has_no_tau_and_its_row_says_why() -> None:
    row = judged({"one": effects(1, 0, 1.0), "two": effects(1, 0, 1.0, seed=1)}).loc["one"]
    assert "τ² = 0;" in row["note"] and ONE_WORD in row["note"]
    assert "Q = 199," in row["note"] and row["n"] == 1 and np.isfinite(row["value"])


def test_words_that_move_together_have_a_tau() -> None:
    """Draws that shift all words alike differ more than words within a draw, which is what τ² is for."""
    shift = np.random.default_rng(1).normal(size=200)
    table = judged({"alike": effects(3, 0, 0.1) + shift, "apart": effects(8, 1.0, 0.1)})
    assert "τ² = 0;" not in table.loc["alike", "note"] and NO_TAU not in table.loc["alike", "note"]
    assert "τ² = 0;" in table.loc["apart", "note"] and NO_TAU in table.loc["apart", "note"]


def test_the_interval_draws_words() -> None:
    """Eight words a standard deviation apart: the interval is about 2/√8 to either side, however many draws there are."""
    table = judged({"apart": effects(8, 1.0, 0.1), "close": effects(8, 0.0, 0.1)})
    wide, narrow = (row["high"] - row["low"] for row in (table.loc["apart"], table.loc["close"]))
    assert wide == pytest.approx(2 * 1.96 * effects(8, 1.0, 0.1).mean(axis=1).std(ddof=1) / 8**0.5, rel=0.35)
    assert narrow < wide / 5 and table.loc["apart", "p"] > 0.01


def test_resampling_is_the_published_combination_on_every_resample() -> None:
    """One resample of words and draws, combined by the published code, must be among ours: here the only one there is."""
    same = np.repeat(effects(1, 0, 1.0), 4, axis=0) + np.arange(4)[:, None]  # words in one order, whatever the draw
    drawn = resample_words(same, Settings(300), "g")
    assert np.isfinite(drawn).all() and abs(drawn.mean() - same.mean()) < 0.2
    constant = np.tile(np.array([[0.0], [1.0], [5.0]]), (1, 50))
    rng = np.random.default_rng(0)
    wanted = {
        round(float(random_effects(words.mean(axis=0), np.maximum(words.var(axis=0, ddof=1), 1e-12)).ces), 6)
        for _ in range(500)
        for words in [constant[rng.integers(0, 3, 3)]]
    }
    assert {round(float(value), 6) for value in resample_words(constant, Settings(500), "g")} == wanted


def test_a_domain_deals_words_to_groups() -> None:
    apart = judged({"a": effects(6, 0.1, 0.1, mean=0), "b": effects(6, 0.1, 0.1, mean=2, seed=1)}).loc["race"]
    alike = judged({"a": effects(6, 1.0, 0.1), "b": effects(6, 1.0, 0.1, seed=1)}).loc["race"]
    assert apart["p"] < 0.01 and alike["p"] > 0.05 and apart["low"] > 0 and "permuted across groups" in apart["note"]


def test_groups_have_words_and_labels_keep_their_own_name() -> None:
    many, one = (tiltmeter.load_benchmark(name) for name in ("ceat", "ceat-labels"))
    assert isinstance(many, AssociationBenchmark) and isinstance(one, AssociationBenchmark)
    assert {len(group.words) for group in many.groups} == {8} and {len(group.words) for group in one.groups} == {1}
    assert [group.name for group in many.groups] == [group.name for group in one.groups] and one.name == "ceat-labels"
    assert all(group.words[0] == group.name for group in many.groups)
    words = [word for group in many.groups for word in group.words]
    assert len(set(words)) == len(words)
    toxicity = next(pair for pair in many.polarities if pair.name == "toxicity")
    assert (len(toxicity.a.examples), len(toxicity.b.examples)) == (20, 20) and "thank" in toxicity.a.examples


def test_several_words_through_a_model(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(text())
    groups = {"thing": {"one": ["man", "river", "market"], "other": ["woman", "bridge", "garden"], "alone": ["school"]}}
    bench = tiltmeter.load_benchmark("ceat", words=words_file(tmp_path, groups=groups))
    done = associate(golden_model("tiny-bert-cased"), bench, corpus=[tmp_path / "c.txt"], draws=100, cache=False)
    rows = done.estimates.set_index("group")
    assert rows.loc["one", "n"] == 3 and np.isnan(rows.loc["one", "low"]), "three words are too few for an interval"
    assert "mean V = " in rows.loc["one", "note"] and "one word" in rows.loc["alone", "note"]

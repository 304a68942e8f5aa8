"""Group words of `study frequency`: by our list for the nine bias types of CrowS-Pairs, by a table, or by rule."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tiltmeter import load_benchmark
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.errors import InputError
from tiltmeter.families.pairs.studies.kit.frequencies import look_up
from tiltmeter.families.pairs.studies.kit.group_words import AMBIGUOUS, group_words, listed_words

CROWS = {
    "age", "disability", "gender", "nationality", "physical-appearance", "race-color", "religion", "sexual-orientation",
    "socioeconomic",
}  # fmt: skip
PAIRS = pd.DataFrame(
    {
        "stereo": ["The poor man left early.", "The poor woman won again."],
        "anti": ["The rich man stayed early.", "The rich woman lost again."],
        "direction": "disadvantaged",
        "bias_type": "socioeconomic",
    }
)


def test_words_that_name_no_group_are_left_out() -> None:
    by_rule = group_words(PAIRS, AMBIGUOUS, 1).kept["socioeconomic"]
    assert "left" in by_rule["disadvantaged"] and "won" in by_rule["disadvantaged"]
    ours = group_words(PAIRS, AMBIGUOUS, 1, listed_words("ours"))
    assert ours.kept["socioeconomic"] == {"advantaged": {"rich": 2}, "disadvantaged": {"poor": 2}}
    assert {row["word"] for row in ours.left_out} == {"left", "stayed", "won", "lost"}


def test_our_list_has_the_nine_types_and_no_word_on_both_sides() -> None:
    ours = listed_words("ours")
    assert set(ours) == CROWS
    for name, of_type in ours.items():
        assert not of_type["advantaged"] & of_type["disadvantaged"], name


@pytest.mark.realdata
def test_crows_pairs_has_words_for_all_nine_types(realdata: Path) -> None:
    items = items_table(load_benchmark("crows-pairs", data_dir=realdata))
    kept = group_words(items, AMBIGUOUS, 2, listed_words("ours"), or_by_rule=True).kept
    assert set(kept) == CROWS
    for name, of_type in kept.items():
        known, _ = look_up([word for words in of_type.values() for word in words], None, None, "en")
        for side, words in of_type.items():
            assert len(set(words) & set(known)) >= 3, (name, side)
        assert not {"won", "left", "park"} & {word for words in of_type.values() for word in words}


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("bias_type,group,word\nsocioeconomic,advantaged,stayed\nsocioeconomic,disadvantaged,left\n")
    kept = group_words(PAIRS, AMBIGUOUS, 2, listed_words(str(path))).kept["socioeconomic"]
    assert kept == {"advantaged": {"stayed": 1}, "disadvantaged": {"left": 1}}
    path.write_text("bias_type,group,word\nsocioeconomic,rich,stayed\n")
    with pytest.raises(InputError) as caught:
        listed_words(str(path))
    assert caught.value.code == "unknown-name" and caught.value.fields["row"] == 1

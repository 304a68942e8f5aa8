"""`group_variance` of pairs can be named alone, and comes without the measure that it is the variance of."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter.errors import TiltmeterError

ROWS = "".join(
    f"the {group} is {word} {n},the other is {word} {n},{kind},{group}\n"
    for kind, groups in (("race", ("Arab", "Greek", "Thai")), ("gender", ("sister", "mother")))
    for group in groups
    for n, word in enumerate(("old", "late", "small", "good"))
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("stereo,anti,bias_type,group\n" + ROWS)
    return path


def test_the_variance_over_groups_can_be_named(pairs: Path, tmp_path: Path) -> None:
    model = GOLDEN / "models" / "tiny-bert-cased"
    options = tiltmeter.PairsOptions(scorers=("aul",))
    named = tiltmeter.run([model], [pairs], measures="group_variance", output=tmp_path / "named", options=options)
    assert set(named.estimates["measure"]) == {"group_variance"} and set(named.estimates["group"]) == {"race", "gender"}
    both = tiltmeter.run(
        [model], [pairs], measures="bias_score", by=["bias_type", "group"], output=tmp_path / "both", options=options
    )
    of_all = both.estimates[both.estimates["measure"] == "group_variance"]
    assert list(of_all["value"]) == list(named.estimates["value"])
    again = tiltmeter.estimate(named.answers["pairs"], "group_variance")
    assert list(again["value"]) == list(named.estimates["value"])


def test_pairs_without_groups_are_still_refused(tmp_path: Path) -> None:
    model = GOLDEN / "models" / "tiny-bert-cased"
    with pytest.raises(TiltmeterError):
        tiltmeter.run([model], ["starter-pairs"], measures="group_variance", limit=10, output=tmp_path / "run")

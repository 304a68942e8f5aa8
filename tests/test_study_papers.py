"""Studies against what the papers themselves print, and the choices that a reader of their tables needs."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tiltmeter
from study_material import made_up, noise, small_run
from support.raising import raises
from support.wording import stated
from tiltmeter.families.pairs.studies.correlation import correlations
from tiltmeter.families.pairs.studies.kit.frequencies import EMBEDDED, look_up
from tiltmeter.families.pairs.studies.kit.group_words import ADVANTAGED, group_words
from tiltmeter.families.pairs.studies.normality import shapiro_wilk

TABLE_2 = {  # Liu (2024), StereoSet and CrowS-Pairs, BERT, RoBERTa, ALBERT
    "stereoset": {"sss": (57.26, 61.97, 58.88), "aul": (50.28, 59.07, 58.07), "kls": (51.59, 54.20, 53.79)},
    "crows": {"cps": (58.75, 65.45, 60.48), "aul": (52.92, 62.40, 53.25), "kls": (53.36, 63.86, 57.22)},
}


def test_figure_4_of_liu_from_the_papers_own_table() -> None:
    """The paper prints r = .84 and mutual information of .50 and .17: three points and one neighbour."""
    rows = []
    for values in TABLE_2.values():
        rows += list(correlations({name: np.array(column) for name, column in values.items()}, 3, 0.95, 0))
    known = {(row["a"], row["b"]): row for row in rows}
    assert f"{known['sss', 'kls']['r']:.2f}" == "0.85"
    assert {f"{row['mutual_information']:.3f}" for row in rows} <= {"0.500", "0.167"}
    assert {(row["low"], row["high"], row["neighbours"], row["n"]) for row in rows} == {(-1.0, 1.0, 1, 3)}


def three(*names: str) -> tiltmeter.Answers:
    places = [(model, name) for model in "ABC" for name in names]
    return made_up({place: (noise(40, n), noise(40, n + 9)) for n, place in enumerate(places)})


def test_three_models_are_correlated_with_a_warning_and_the_published_jss() -> None:
    scores = three("cps", "aul")
    found = tiltmeter.study("correlation", scores, options={"over": "models", "measure": ["bias_score", "kls", "jss_liu"]})
    names = {*found.table["a"], *found.table["b"]}
    assert names == {"bias_score by cps", "bias_score by aul", "kls by aul", "jss_liu by aul"}
    assert (found.table["n"] == 3).all() and "(b has 3)" in found.sentences[-1]


def test_robustness_shows_the_published_jss_and_the_papers_criterion() -> None:
    from tiltmeter.families.pairs.studies.kit.robustness_report import _shown

    scores = three("cps", "aul")
    named = tiltmeter.study("robustness", scores, options={"measure": ["bias_score", "kls", "jss_liu"], "repeats": 20}).table
    assert ("aul", "jss_liu") in _shown(named)
    both = tiltmeter.study("robustness", scores, options={"measure": ["jss", "jss_liu"], "repeats": 20})
    assert _shown(both.table) == [("aul", "jss")]
    criterion = stated(both.sentences, "paper-criterion")
    assert criterion["benchmark"] == "b" and any("jss" in one for one in criterion["kept"] + criterion["lost"])


def test_the_papers_criterion_averages_before_it_ranks() -> None:
    """A's mean stays above B's although a third of the halves put B above A: 2 of 3 pairs against 1 of 3, on halves."""
    wins = [(np.isin(np.arange(3), at).astype(float), np.full(3, 0.5)) for at in ((0, 1), (2,))]
    scores = made_up({("A", "s"): wins[0], ("B", "s"): wins[1]})
    table = tiltmeter.study("robustness", scores, options={"measure": ["bias_score"], "rates": [0.3], "repeats": 300}).table
    assert table["mean_kept"].all() and (table["kept"] < 90).all()


def test_the_embedded_list_serves_a_plain_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    found = tiltmeter.study("frequency", small_run(), options={"least": 1})
    assert found.facts["source"] == EMBEDDED and EMBEDDED in found.sentences[0]
    known, _ = look_up(["he", "she", "wife", "husband", "zzyzx"], None, None, "en")
    assert known["he"] > known["she"] > known["wife"] > known["husband"] > 1 and "zzyzx" not in known


def test_a_word_of_both_groups_in_as_many_pairs_is_the_advantaged_groups() -> None:
    """As in the paper's Table 2: husband and wife (sexual orientation), doctor (socioeconomic)."""
    rows = [
        ("His husband cooks.", "His wife cooks."),
        ("Her wife cooks.", "Her husband cooks."),
        ("A gay man sang.", "A straight man sang."),
    ]
    items = pd.DataFrame(rows, columns=["stereo", "anti"]).assign(bias_type="orientation", direction="disadvantaged")
    kept = group_words(items, ("straight",), 1).kept["orientation"]
    assert set(kept[ADVANTAGED]) == {"husband", "wife"}


def test_votes_for_any_bias_type() -> None:
    """Ten pairs whose annotators name another type are biased only if any type counts."""
    votes = [[["a"]] * 5] * 10 + [[["other"]] * 5] * 10 + [[[]] * 5] * 10
    scores = made_up({("m", "s"): (noise(30), noise(30, 1))}, annotations=votes)
    own, any_type = (tiltmeter.study("agreement", scores, options={"any_type": how}) for how in (False, True))
    assert own.table[["n_biased", "n_other"]].to_numpy().tolist() == [[10, 20]]
    assert any_type.table[["n_biased", "n_other"]].to_numpy().tolist() == [[20, 10]]
    assert any_type.facts["any_type"] is True and own.facts["any_type"] is False


def test_table_1_of_liu_does_not_fit_its_n() -> None:
    """W = .994 with p = .034, as printed, is a sample of some 530; at the stated 2,106 the same W is p = 1.5e-7."""

    def p_at(n: int) -> float:
        """p of a sample of n whose W is .994 (p depends on nothing else): Gaussian quantiles, bent until it is."""
        straight, low, high = norm.ppf((np.arange(1, n + 1) - 0.375) / (n + 0.25)), 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if shapiro_wilk(straight + middle * straight**2)["W"] > 0.994 else (low, middle)
        return float(shapiro_wilk(straight + low * straight**2)["p"])

    assert p_at(530) == pytest.approx(0.034, abs=0.001)
    assert p_at(2106) == pytest.approx(1.5e-7, rel=0.05)


def test_normality_of_subsamples() -> None:
    scores = made_up({("m", "aul"): (np.exp(noise(400) / 2), noise(400, 1))})
    found = tiltmeter.study("normality", scores, options={"subsample": 50, "repeats": 20})
    table = found.tables["subsamples"].set_index("role")
    assert (table["n"] == 50).all() and (table["repeats"] == 20).all()
    assert table.loc["stereo", "rejected"] > 80 and table.loc["anti", "rejected"] < 30
    assert found.table["p"].min() < table.loc["stereo", "p"]  # fewer pairs, larger p
    facts = stated(found.sentences, "subsamples")
    assert (facts["scorer"], facts["repeats"], facts["n"]) == ("aul", 20, 50) and facts["rejected"][1] > 80
    with raises("out-of-range", option="subsample", value=401, low=3, high=400):
        tiltmeter.study("normality", scores, options={"subsample": 401})

"""Group-wise StereoSet: targets mapped to protected groups, and the variance over the groups of a bias type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN, golden_scores
from tiltmeter.benchmarks.stereoset import GROUP_OF_TARGET, STAND_INS, protected_group
from tiltmeter.stats.spread import spread_over_groups

GROUPS_OF_CAO = {
    "gender": {
        "gentlemen",
        "grandfather",
        "herself",
        "himself",
        "male",
        "mommy",
        "mother",
        "schoolboy",
        "schoolgirl",
        "sister",
    },
    "religion": {"Brahmin", "Christian", "Muslim"},
}


def test_groups_and_domain_variance_in_one_table() -> None:
    scores = golden_scores("tiny-bert-cased", "triples")
    table = tiltmeter.estimate(scores, ["bias_score"], by=["group"], resamples=200)
    pll = table[table["scorer"] == "pll"]
    groups = pll[pll["by"] == "group"].set_index("group")["value"]
    domains = pll[pll["measure"] == "group_variance"].set_index("group")
    assert (pll["n_missing"] >= 0).all() and (domains["neutral"] == 0).all()
    items = scores.items.set_index("item")
    for name, row in domains.iterrows():
        members = {protected_group(target) for target in items[items["bias_type"] == name]["target"]}
        if np.isfinite(row["value"]):
            assert row["value"] == pytest.approx(groups[sorted(members)].var(ddof=1))
            assert 0 <= row["low"] <= row["high"] and 0 < row["p"] <= 1
        else:
            assert "fewer than two" in row["note"]
    assert "group_variance" not in set(tiltmeter.estimate(scores, ["bias_score"], by="target", resamples=100)["measure"])


def test_variance_tells_groups_that_differ_from_noise() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c", "d"], 40)
    noise = (rng.random(160) < 0.5) * 100.0
    apart = (rng.random(160) < np.repeat([0.1, 0.5, 0.5, 0.9], 40)) * 100.0
    for values, real in ((noise, False), (apart, True)):
        found = spread_over_groups(values, groups, rng, 500)
        assert found is not None and found.n_groups == 4
        means = np.array([values[groups == name].mean() for name in "abcd"])
        assert found.value == pytest.approx(means.var(ddof=1))
        assert bool(np.mean(found.permuted >= found.value) < 0.01) is real
    assert spread_over_groups(noise[:40], groups[:40], rng, 10) is None
    assert spread_over_groups(noise[:4], np.array(list("abcd")), rng, 10) is None


@pytest.mark.realdata
def test_the_groups_of_cao_et_al(realdata: Path) -> None:
    """Their Table 4: misspelt targets mapped, 35 of race without Yemen; Asian and White only by stand-ins."""
    preset = tiltmeter.load_benchmark("stereoset-groups", data_dir=realdata)
    sizes = {kind: {item.extra["group"] for item in preset.items if item.bias_type == kind} for kind in ("gender", "race")}
    assert (len(sizes["gender"]), len(sizes["race"])) == (10, 35)
    assert {"Japanese", "Britain"} < sizes["race"] and not {"Yemen", "Asian", "White"} & sizes["race"]
    items = tiltmeter.load_benchmark("stereoset", data_dir=realdata, stand_ins=True).asked_items
    found = {
        kind: {item.extra["group"] for item in items if item.bias_type == kind} for kind in ("gender", "race", "religion")
    }
    assert {kind: found[kind] for kind in GROUPS_OF_CAO} == GROUPS_OF_CAO
    assert {"Asian", "White", "Black", "Hispanic", "Norwegian", "Sierra Leone", "Eritrea"} < found["race"]
    targets = {str(item.target).lower() for item in items}
    assert {*GROUP_OF_TARGET, *STAND_INS} < targets


def test_golden_triples_keep_their_targets() -> None:
    bench = tiltmeter.load_benchmark(GOLDEN / "data" / "triples_stereoset_format.json")
    assert all(item.extra["group"] for item in bench.items)

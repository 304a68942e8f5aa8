"""Right first: scorers and measures equal what the original reference code answered, sentence by sentence.

`all_masked`, `sss` and `jss` have no reference; they equal code written from the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tiltmeter
from conftest import CAUSAL, GOLDEN, MASKED, golden_model, golden_scores, reference
from tiltmeter.probes.sentences import tokenise

# scorer, reference file, its keys for the two sentences, absolute tolerance (tests/golden/README.md)
MASKED_SCORES = [
    ("aul", "kaneko", "aul_more", "aul_less", 1e-5),
    ("aula", "kaneko", "aula_more", "aula_less", 1e-6),
    ("cps", "kaneko", "cps_more", "cps_less", 1e-3),
    ("cps", "cps_nyu_mll", "more", "less", 1e-3),
    ("cps_nyu", "cps_nyu_mll", "more_rounded", "less_rounded", 1e-3 + 1e-9),
    ("cps_biasbench", "crows_bias_bench", "more", "less", 1e-3),
    ("sss", "kaneko", "sss_eq2_more", "sss_eq2_less", 2e-5),
    ("sss_kaneko", "kaneko", "sss_as_coded_more", "sss_as_coded_less", 2e-5),
    ("pll", "pll_minicons", "more_sum", "less_sum", 1e-3),
    ("all_masked", "all_masked", "more", "less", 1e-5),
]
CAUSAL_SCORES = [
    ("causal", "causal_minicons", "more_bos_sum", "less_bos_sum", 1e-3),
    ("causal_mean", "causal_minicons", "more_bos_mean", "less_bos_mean", 1e-5),
]
CASES = [(model, *case) for model in MASKED for case in MASKED_SCORES]
CASES += [(model, *case) for model in CAUSAL for case in CAUSAL_SCORES]


def ours(model: str, scorer: str, benchmark: str = "pairs") -> dict[tuple[str, str], float]:
    frame = golden_scores(model, benchmark).to_pandas()
    rows = frame[frame["scorer"] == scorer]
    return dict(zip(zip(rows["item"], rows["role"], strict=True), rows["score"], strict=True))


@pytest.mark.parametrize(("model", "scorer", "file", "more", "less", "tolerance"), CASES)
def test_scores_equal_the_reference(model: str, scorer: str, file: str, more: str, less: str, tolerance: float) -> None:
    mine = ours(model, scorer)
    compared = 0
    for row in reference(file)[model]["rows"]:
        for role, key in (("stereo", more), ("anti", less)):
            if scorer == "cps" and row["id"] == "own-59" and np.isnan(mine[row["id"], role]):
                continue  # nothing is shared: nyu-mll's 0.0 is in cps_nyu; Kaneko's code fails on it
            if row[key] is None:
                # a pair counts as missing when either side is; bias-bench blanks both sides of a skipped pair
                pair = [mine[row["id"], "stereo"], mine[row["id"], "anti"]]
                assert np.isnan(pair).any(), (row["id"], role)
            else:
                assert mine[row["id"], role] == pytest.approx(row[key], abs=tolerance), (row["id"], role)
                compared += 1
    assert compared >= 110


def test_causal_bias_bench_score_on_pairs() -> None:
    mine = ours("tiny-gpt2", "stereoset_causal")
    for row in reference("causal_bias_bench")["tiny-gpt2"]["rows"]:
        assert mine[row["id"], "stereo"] == pytest.approx(row["more"], rel=5e-5)
        assert mine[row["id"], "anti"] == pytest.approx(row["less"], rel=5e-5)


@pytest.mark.parametrize(
    ("model", "scorer", "key"),
    [(model, "stereoset_masked", "bias_bench_scores") for model in MASKED]
    + [(model, "stereoset_masked_original", "original_scores") for model in MASKED]
    + [("tiny-gpt2", "stereoset_causal", "bias_bench_scores")],
)
def test_stereoset_scores(model: str, scorer: str, key: str) -> None:
    mine = ours(model, scorer, "triples")
    for row in reference("stereoset")[model][key]:
        for role, name in (("stereo", "stereotype"), ("anti", "anti_stereotype"), ("unrelated", "unrelated")):
            assert mine[row["id"], role] == pytest.approx(row[name], rel=5e-5), (row["id"], role)


@pytest.mark.parametrize(
    ("model", "scorer", "key"),
    [(model, "stereoset_masked", "bias_bench_summary") for model in MASKED]
    + [(model, "stereoset_masked_original", "original_summary") for model in MASKED]
    + [("tiny-gpt2", "stereoset_causal", "bias_bench_summary")],
)
def test_stereoset_summary(model: str, scorer: str, key: str) -> None:
    table = tiltmeter.estimate(golden_scores(model, "triples"), ["lms", "ss", "icat"], by="bias_type")
    table = table[table["scorer"] == scorer]
    for group, numbers in reference("stereoset")[model][key].items():
        rows = table[table["group"] == group.replace("overall", "all")].set_index("measure")["value"]
        assert rows["lms"] == pytest.approx(numbers["LM Score"])
        assert rows["ss"] == pytest.approx(numbers["SS Score"])
        assert rows["icat"] == pytest.approx(numbers["ICAT Score"])


@pytest.mark.parametrize("model", MASKED)
def test_bias_scores_as_printed(model: str) -> None:
    """The references keep missing pairs in the denominator; ours leave them out and count them."""
    table = tiltmeter.estimate(golden_scores(model), ["bias_score"], by="bias_type")
    printed = reference("kaneko")[model]["printed_summary"]
    for scorer, name in (("aul", "aul"), ("aula", "aula"), ("sss_kaneko", "sss")):
        for _, row in table[(table["scorer"] == scorer) & (table["measure"] == "bias_score")].iterrows():
            key = "Bias score" if row["by"] == "all" else row["group"]
            wins = round(row["value"] * row["n"] / 100)
            near_tie = 1 if scorer == "sss_kaneko" and row["group"] in ("all", "gender") else 0  # own-04
            expected = float(printed[name].get(key, 0)) * (row["n"] + row["n_missing"]) / 100
            assert abs(wins - expected) <= near_tie + 0.01, (scorer, key)
    nyu = reference("cps_nyu_mll")[model]["printed_summary"]
    row = table[(table["scorer"] == "cps_nyu") & (table["by"] == "all")].iloc[0]
    assert row["value"] == pytest.approx(float(nyu["Metric score"]), abs=0.005)
    assert row["n_ties"] == int(str(nyu["Num. neutral"]).split()[0])


@pytest.mark.parametrize("model", MASKED)
def test_biasbench_bias_score_per_type(model: str) -> None:
    table = tiltmeter.estimate(golden_scores(model), ["bias_score"], by="bias_type")
    table = table[(table["scorer"] == "cps_biasbench") & (table["by"] == "bias_type")].set_index("group")
    for group, value in reference("crows_bias_bench")[model]["metric_per_type"].items():
        assert table.loc[group, "value"] == pytest.approx(value, abs=0.006)


@pytest.mark.parametrize("model", MASKED)
def test_kls_and_jss(model: str) -> None:
    table = tiltmeter.estimate(golden_scores(model), ["kls", "jss_liu"], by="bias_type")
    table = table[table["scorer"] == "aul"].set_index(["measure", "group"])["value"]
    expected = reference("kls_jss_nlply")[model]
    assert table["kls", "all"] == pytest.approx(expected["kls_weighted_unrounded"], abs=1e-3)
    assert table["jss_liu", "all"] == pytest.approx(expected["jss_weighted_unrounded"], abs=1e-3)
    for group, numbers in expected["per_type"].items():
        assert table["kls", group] == pytest.approx(numbers["kls"], abs=1e-3)
        assert table["jss_liu", group] == pytest.approx(numbers["jss"], abs=1e-3)


@pytest.mark.parametrize("model", MASKED)
def test_ranks_of_every_token(model: str) -> None:
    """Counting larger logits gives the ranks that sorting the vocabulary gave."""
    from tiltmeter.probes import LikelihoodProbe
    from tiltmeter.storage.observations import ObservationCache

    items = tiltmeter.load_benchmark("starter-pairs").items
    probe = LikelihoodProbe(golden_model(model), ObservationCache(None, {}))
    (block,) = probe.observe(items, ["each", "unmasked"])
    frames = {view: table.to_pandas() for view, table in block.tables.items()}
    differences = []
    for row in reference("pll_minicons")[model]["rows"]:
        for role, side in (("stereo", "more"), ("anti", "less")):
            differences += np.subtract(ranks(frames["each"], row["id"], role), row[f"{side}_token_ranks"]).tolist()
    for row in reference("kaneko")[model]["rows"]:
        for role, side in (("stereo", "more"), ("anti", "less")):
            differences += np.subtract(ranks(frames["unmasked"], row["id"], role), row[f"aul_ranks_{side}"]).tolist()
    # Two logits closer than float32 can tell may swap places; nothing else may move.
    assert np.count_nonzero(differences) <= 3
    assert np.abs(differences).max() <= 1


def ranks(frame: Any, item: str, role: str) -> list[int]:
    found: list[int] = frame[(frame["item"] == item) & (frame["role"] == role)]["rank"].tolist()
    return found


@pytest.mark.parametrize("model", MASKED)
def test_alignment_equals_the_reference(model: str) -> None:
    items = tiltmeter.load_benchmark("starter-pairs").items
    sentences = {(items[one.item].id, one.role): one for one in tokenise(golden_model(model), items)}
    for row in reference("cps_nyu_mll")[model]["rows"]:
        for role, side in (("stereo", "more"), ("anti", "less")):
            one = sentences[row["id"], role]
            unmodified = [position for position in one.content if position not in one.modified]
            assert unmodified == row[f"{side}_positions"], row["id"]


def test_golden_files_are_what_they_were() -> None:
    import hashlib

    listed = dict(reversed(line.split()) for line in (GOLDEN / "MANIFEST.sha256").read_text().splitlines() if line)
    checked = 0
    for name, digest in listed.items():
        path = GOLDEN / name.removeprefix("./").removeprefix("*")
        if path.is_file():
            assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, name
            checked += 1
    assert checked > 20

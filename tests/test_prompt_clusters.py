"""Prompts of one article are no independent evidence: they are drawn, dealt and compared together, and told of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from support.wording import stated
from test_cli import tiltmeter as command
from test_generations import made_up
from test_labels import answered
from tiltmeter import Answers, catalog
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.families.generations.clusters import group_prompts
from tiltmeter.families.generations.estimate import estimate_judged, grouped
from tiltmeter.families.generations.judge_scores import Judged, judged_of
from tiltmeter.families.generations.narratives import narratives
from tiltmeter.families.generations.published import published
from tiltmeter.families.generations.studies.temperature import _share
from tiltmeter.families.labels.facts import facts_of
from tiltmeter.stats.settings import Settings

NUMBERS = ["value", "low", "high"]
MEASURES = ["mean_score", "negative_share", "score_gap", "negative_gap", "score_variance", "negative_variance"]
Scores = dict[str, list[list[float]]]


def clustered(scores: Scores, clusters: dict[str, Sequence[str | None]], column: str = "cluster") -> Answers:
    """Answers with these scores per group, prompt and sample, and the cluster of each prompt."""
    answers = made_up(scores)
    names = [name for group in scores for name in clusters[group]]
    beside = {"bold_group": "g"} if column == "entity" else {}
    extra = [json.dumps({} if name is None else {column: name, **beside}) for name in names]
    return Answers(answers.family, answers.tables, answers.items.assign(extra=extra), answers.manifests)


def random_scores(rng: np.random.Generator, sizes: dict[str, int], samples: int = 1) -> Scores:
    return {group: rng.normal(0.3, 0.3, (n, samples)).tolist() for group, n in sizes.items()}


def test_prompts_that_are_all_alone_are_drawn_as_ever() -> None:
    """The numbers are those of prompts without clusters, up to the noise of 200 draws."""
    scores = random_scores(np.random.default_rng(5), {"a": 7, "b": 12}, 2)
    plain = tiltmeter.estimate(made_up(scores), MEASURES, resamples=200, seed=3)
    alone = clustered(scores, {"a": [f"a{n}" for n in range(7)], "b": [None] * 12})
    pd.testing.assert_frame_equal(plain, tiltmeter.estimate(alone, MEASURES, resamples=200, seed=3))
    rows = plain.set_index(["by", "group", "measure"])
    assert rows.loc[("group", "a", "mean_score"), ["low", "high"]].tolist() == pytest.approx(MEAN_OF_A, abs=0.06)
    gap = rows.loc[("gap", "a − b", "score_gap")]
    assert [gap["low"], gap["high"], gap["p"]] == pytest.approx(GAP, abs=0.06)
    assert "articles" not in " ".join(plain["note"]) and "clusters" not in " ".join(plain["note"])


MEAN_OF_A = [0.06819399902690297, 0.48217059605734636]
GAP = [-0.08610965166651864, 0.35105252224201927, 0.12935323383084577]


def test_a_cluster_of_prompts_is_drawn_as_a_prompt_with_several_texts() -> None:
    """Five prompts of one text in each cluster, and one prompt of five texts: the same intervals, and p nearly so."""
    scores = random_scores(np.random.default_rng(1), {"a": 8, "b": 11, "c": 5}, 5)
    whole = tiltmeter.estimate(made_up(scores), MEASURES, resamples=300)
    apart = {group: [[score] for prompt in prompts for score in prompt] for group, prompts in scores.items()}
    names = {group: [f"{group}{n:02}" for n in range(len(prompts)) for _ in range(5)] for group, prompts in scores.items()}
    divided = tiltmeter.estimate(clustered(apart, names), MEASURES, resamples=300)
    groups = whole["by"] != "all"
    np.testing.assert_allclose(divided.loc[groups, NUMBERS], whole.loc[groups, NUMBERS], rtol=1e-9)
    np.testing.assert_allclose(divided.loc[groups, "p"], whole.loc[groups, "p"], atol=0.12)
    wider = ((divided["high"] - divided["low"]) / (whole["high"] - whole["low"]))[~groups]
    assert wider.between(1.01, 1.15).all(), "of all, a little wider: clusters are drawn within groups, and these have few"
    independent = tiltmeter.estimate(clustered(apart, names), MEASURES, resamples=300, clusters=False)
    pd.testing.assert_frame_equal(independent, tiltmeter.estimate(made_up(apart), MEASURES, resamples=300))


def one_judged(answers: Answers) -> Judged:
    (judged,) = judged_of(answers)
    return judged


def test_clusters_of_one_group_are_dealt_and_the_parts_of_shared_ones_exchanged() -> None:
    """p of the mean's gap, against all ways in which it could have come out."""
    rng = np.random.default_rng(2)
    own = {"a": ["a0", "a0", "a1", "a2"], "b": ["b0", "b1", "b1", "b2"]}
    names = {"a": [*own["a"], "s0", "s1"], "b": [*own["b"], "s0", "s0", "s1"]}
    scores = random_scores(rng, {"a": 6, "b": 7})
    judged = one_judged(clustered(scores, names))
    groups = judged.groups()["d"]
    sums = {
        (group, name): np.sum([[s[0], 1] for s, n in zip(scores[group], names[group], strict=True) if n == name], axis=0)
        for group in names
        for name in names[group]
    }
    single = [sums[group, name] for group in own for name in dict.fromkeys(own[group])]
    both = [(sums["a", name], sums["b", name]) for name in ("s0", "s1")]
    gaps = []
    for chosen, *turned in product(combinations(range(6), 3), (0, 1), (0, 1)):
        sides = np.zeros((2, 2))
        for n, values in enumerate(single):
            sides[int(n not in chosen)] += values
        for parts, turn in zip(both, turned, strict=True):
            sides += np.stack(parts[::-1] if turn else parts)
        gaps.append(sides[0, 0] / sides[0, 1] - sides[1, 0] / sides[1, 1])
    dealt = grouped(judged, Settings(4000)).select(list(groups), "dealing", "b", "x").permuted
    found = np.round(dealt[:, 0, 1] / dealt[:, 0, 0] - dealt[:, 1, 1] / dealt[:, 1, 0], 9)
    values, times = np.unique(found, return_counts=True)
    expected, weights = np.unique(np.round(gaps, 9), return_counts=True)
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(times / 4000, weights / len(gaps), atol=0.015)
    assert (dealt[:, :, 0].sum(1) == 13).all(), "every text is dealt to some group"


def test_what_groups_share_cancels_in_a_gap_and_not_in_the_whole() -> None:
    """Every cluster has prompts of both groups, and its own level: against draws of clusters by plain numpy."""
    rng = np.random.default_rng(3)
    level = rng.normal(0, 1, 20)
    scores = {group: (level[:, None] + rng.normal(0, 0.1, (20, 1))).tolist() for group in "ab"}
    names = {group: [f"c{n}" for n in range(20)] for group in "ab"}
    judged, settings = one_judged(clustered(scores, names)), Settings(4000)
    groups = grouped(judged, settings)
    draws = {group: groups.draws[:, n] for n, group in enumerate(groups.names)}
    means = [draws[group][:, 1] / draws[group][:, 0] for group in "ab"]
    weights = rng.multinomial(20, np.full(20, 1 / 20), 4000)
    a, b = (np.array(scores[group])[:, 0] for group in "ab")
    assert np.std(means[0] - means[1]) == pytest.approx(np.std(weights @ (a - b) / 20), rel=0.07)
    assert np.std(means[0] + means[1]) == pytest.approx(np.std(weights @ (a + b) / 20), rel=0.07)
    apart = tiltmeter.estimate(clustered(scores, names), "score_gap", clusters=False, resamples=300).query("by == 'gap'")
    joint = tiltmeter.estimate(clustered(scores, names), "score_gap", resamples=300).query("by == 'gap'")
    assert (apart["high"] - apart["low"]).item() > 5 * (joint["high"] - joint["low"]).item()


def simulated(rng: np.random.Generator, share: float) -> Judged:
    """Two groups of 12 articles with 1 to 9 prompts, and this share of the variance between articles; groups are alike."""
    article = np.repeat(np.arange(24), rng.integers(1, 10, 24))
    score = np.sqrt(share) * rng.standard_normal(24)[article] + np.sqrt(1 - share) * rng.standard_normal(len(article))
    sums = np.zeros((len(article), 7))
    sums[:, 0], sums[:, 1] = 1, score
    prompts = pd.DataFrame({"item": [str(n) for n in range(len(article))], "bias_type": "d", "set": None})
    prompts["group"] = np.where(article < 12, "a", "b")
    clusters = group_prompts(prompts, article.tolist(), "articles")
    return Judged("m", "b", "toxicity/j", prompts, sums, (), False, False, None, clusters)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_with_articles_intervals_cover_and_alike_groups_are_said_to_be_alike(share: float) -> None:
    """Without effects of articles nothing is lost; with them, prompts alone would miss far too often."""
    mean, variance = (catalog.find("measures", name) for name in ("mean_score", "score_variance"))
    runs, seen = 120, {}
    for way in ("articles", "prompts"):
        held = wrong = 0
        width = 0.0
        for run in range(runs):
            judged = simulated(np.random.default_rng([run, 4]), share)
            judged = judged if way == "articles" else replace(judged, clusters=None)
            settings = Settings(150, seed=run)
            rows = list(estimate_judged(judged, [mean, variance], (), settings))
            (row,) = (row for row in rows if (row.by, row.group) == ("group", "a"))
            low, high = row.low, row.high
            held += low <= 0 <= high
            width += (high - low) / runs
            (row,) = (row for row in rows if row.measure == variance.name)
            wrong += row.p < 0.05
        seen[way] = (held / runs, wrong / runs, width)
    cover, false, width = seen["articles"]
    assert cover > 0.88 and false < 0.11
    if share:
        assert seen["prompts"][0] < 0.75 and seen["prompts"][1] > 0.2
    else:
        assert width < 1.3 * seen["prompts"][2]


def test_one_article_has_no_interval_and_the_reader_is_told_what_was_drawn() -> None:
    rng = np.random.default_rng(6)
    scores = random_scores(rng, {"a": 12, "b": 20, "lone": 6})
    names = {"a": [f"a{n % 5}" for n in range(12)], "b": ["b0"] * 15 + [f"b{n}" for n in range(1, 6)], "lone": ["one"] * 6}
    table = tiltmeter.estimate(clustered(scores, names, "entity"), resamples=200)
    rows = table.set_index(["by", "group", "measure"])
    lone = rows.loc[("group", "lone", "mean_score")]
    assert np.isnan(lone["low"]) and lone["note"].startswith("no interval: ")
    assert json.loads(lone["details"])["n_clusters"] == 1 and json.loads(lone["details"])["n_prompts"] == 6
    assert "from 6 articles (as 1.7" in rows.loc[("group", "b", "mean_score"), "note"]
    gap = rows.loc[("gap", "a − lone", "score_gap")]
    assert np.isnan([gap["low"], gap["p"]]).all()
    assert gap["note"].startswith("no interval and no p: ") and "from 1 article on" in gap["note"]
    spread = rows.loc[("domain", "d", "score_variance")]
    for row in (spread, rows.loc[("gap to the domain's mean", "a − mean of d", "score_gap")]):
        assert np.isfinite(row["p"]) and "p leaves out lone: " in row["note"]
    alone = rows.loc[("gap to the domain's mean", "lone − mean of d", "score_gap")]
    assert np.isnan(alone["p"]) and "leaves out" not in alone["note"]
    assert "too narrow" in spread["note"] and ": lone" in spread["note"] and np.isfinite(spread["low"])
    (story,) = narratives(table)
    drawn = stated(story.sentences, "drawn-by-cluster")
    assert [drawn[name] for name in ("n_prompts", "n_clusters", "clusters", "cluster")] == [38, 12, "articles", "article"]
    by_itself = tiltmeter.estimate(clustered(scores, names, "entity"), "mean_score", "entity", resamples=100)
    one = by_itself[(by_itself["by"] == "entity") & (by_itself["group"] == "one")].iloc[0]
    assert np.isfinite(one["low"]) and "6 prompts" in one["note"], "what is asked about one article draws its prompts"


def test_the_agreement_of_two_judges_says_what_was_drawn() -> None:
    scores = random_scores(np.random.default_rng(12), {"a": 20})
    answers = clustered(scores, {"a": [f"a{n % 5}" for n in range(20)]})
    said = answers.tables["judgements"].assign(negative=np.arange(20) % 2.0)
    other = said.assign(scorer="toxicity/other", negative=np.arange(20) % 3 > 0)
    (manifest,) = answers.manifests
    manifest = {**manifest, "judges": manifest["judges"] | {"toxicity/other": manifest["judges"]["toxicity/j"]}}
    both = Answers(answers.family, {**answers.tables, "judgements": pd.concat([said, other])}, answers.items, (manifest,))
    for clusters in (True, False):
        (note,) = tiltmeter.estimate(both, "judge_kappa", resamples=100, clusters=clusters)["note"]
        assert ("from 5 clusters" in note) is clusters


def test_a_group_without_a_judged_text_has_no_number_and_takes_none_from_the_others() -> None:
    scores = random_scores(np.random.default_rng(11), {"a": 10}) | {"none": [[np.nan]] * 4}
    names = {"a": [f"a{n % 5}" for n in range(10)], "none": ["x", "x", "y", "y"]}
    rows = tiltmeter.estimate(clustered(scores, names), "mean_score", resamples=100).set_index(["by", "group"])
    assert rows.loc[("all", "all"), "low"] == rows.loc[("group", "a"), "low"]
    assert "no text could be judged" in rows.loc[("group", "none"), "note"]
    nothing = tiltmeter.estimate(clustered({"none": scores["none"]}, names), "mean_score", resamples=100)
    assert nothing["value"].isna().all()


def test_one_article_in_each_group_gives_a_value_and_says_nothing_else() -> None:
    scores = random_scores(np.random.default_rng(7), {"a": 4, "b": 4})
    table = tiltmeter.estimate(clustered(scores, {"a": ["x"] * 4, "b": ["y"] * 4}), "score_variance", resamples=100)
    row = table.iloc[0]
    assert np.isfinite(row["value"]) and np.isnan([row["low"], row["p"]]).all()
    assert row["note"].startswith("no interval and no p: ")


def two_models(scores: Scores, names: dict[str, Sequence[str | None]], shift: float) -> Answers:
    first = clustered(scores, names)
    moved = {group: [[score + shift for score in prompt] for prompt in prompts] for group, prompts in scores.items()}
    noisy = np.random.default_rng(0)
    level = {name: noisy.normal(0, 0.3) for of in names.values() for name in of}
    moved = {
        group: [[score + level[name] for score in prompt] for prompt, name in zip(prompts, names[group], strict=True)]
        for group, prompts in moved.items()
    }
    second = clustered(moved, names)
    tables = {key: table.assign(model="other") for key, table in second.tables.items()}
    told = {**second.manifests[0], "model": {"shown_as": "other"}}
    return Answers.concat([first, Answers(second.family, tables, second.items, (told,))])


def test_two_models_are_compared_over_whole_clusters() -> None:
    scores = random_scores(np.random.default_rng(8), {"a": 60, "b": 6})
    names: dict[str, Sequence[str | None]] = {"a": [f"c{n % 6}" for n in range(60)], "b": ["one"] * 6}
    answers = two_models(scores, names, 0.0)
    by = {"measures": "mean_score", "by": "bias_type", "resamples": 400}
    rows, apart = (tiltmeter.compare(answers, **by, clusters=way).set_index(["by", "group"]) for way in (True, False))
    assert rows.loc[("group", "a"), "difference"] == apart.loc[("group", "a"), "difference"]
    width = {
        name: table.loc[("group", "a"), "high"] - table.loc[("group", "a"), "low"]
        for name, table in (("c", rows), ("p", apart))
    }
    assert width["c"] > 2 * width["p"]
    assert "from 6 clusters" in rows.loc[("group", "a"), "note"] and not apart.loc[("group", "a"), "note"]
    assert rows.loc[("group", "b"), "note"].startswith("no interval: ")


def test_gaps_and_variances_of_two_models_are_compared_and_judged() -> None:
    """One model says worse things of one group; the other says the same of both, and as much of prompts as the first."""
    rng = np.random.default_rng(3)
    level = rng.normal(0.0, 0.1, 60)
    shift = {"base": {"a": 0.0, "b": -0.6}, "debiased": {"a": 0.0, "b": 0.0}}
    sides = {
        model: {group: (level + by + rng.normal(0, 0.05, 60))[:, None].tolist() for group, by in of.items()}
        for model, of in shift.items()
    }
    parts = []
    for name, scores in sides.items():
        one = made_up(scores)
        tables = {key: table.assign(model=name) for key, table in one.tables.items()}
        parts.append(Answers(one.family, tables, one.items, ({**one.manifests[0], "model": {"shown_as": name}},)))
    answers = Answers.concat(parts)
    rows = tiltmeter.compare(answers, "base", resamples=1000).set_index(["measure", "group"])
    stored = tiltmeter.estimate(answers, ["score_gap", "score_variance"], resamples=100)
    of = stored.set_index(["model", "measure", "group"])["value"]
    for measure, group in (("score_gap", "a − mean of d"), ("score_variance", "d")):
        row = rows.loc[(measure, group)]
        assert row["value"] == pytest.approx(of["debiased", measure, group])
        assert row["baseline_value"] == pytest.approx(of["base", measure, group])
        assert row["low"] < row["difference"] < row["high"] < 0 and row["p"] < 0.01
    found = tiltmeter.study("debiasing", answers, options={"base": "base", "resamples": 1000})
    verdicts = found.table.query("kind == 'bias' and measure in ('score_gap', 'score_variance')")
    assert set(verdicts["verdict"]) == {"closer"} and len(verdicts) == 3
    assert "score_variance on" in found.sentences[0]


def test_single_prompts_that_share_a_cluster_have_no_interval_and_do_not_fail() -> None:
    """Every group has one prompt: drawn within groups, nothing changes."""
    scores: Scores = {"a": [[0.1]], "b": [[0.5]], "c": [[0.9]]}
    names: dict[str, Sequence[str | None]] = {"a": ["x"], "b": ["x"], "c": ["y"]}
    table = tiltmeter.estimate(clustered(scores, names), ["mean_score", "negative_share"], resamples=100)
    whole = table[(table["by"] == "all") & (table["measure"] == "mean_score")].iloc[0]
    assert whole["value"] == pytest.approx(0.5) and np.isnan(whole["low"]) and "one prompt in each group" in whole["note"]
    both = two_models(scores, names, 0.1)
    assert tiltmeter.compare(both)["low"].isna().all()


def test_pairs_of_models_stay_pairs_where_one_has_texts_of_more_groups() -> None:
    """What is drawn of the one is drawn of the other, though only one of them has articles that groups share."""
    rng = np.random.default_rng(4)
    scores = {group: rng.normal(0.3, 0.3, (24, 1)).tolist() for group in "ab"}
    names = {"a": [f"x{n // 3}" for n in range(24)], "b": [f"x{n // 3}" for n in range(24)]}
    both = two_models(scores, names, 0.01)
    ids = set(both.items[both.items["target"] == "a"]["item"])
    tables = {
        name: frame[(frame["model"] != frame["model"].iloc[-1]) | frame["item"].isin(ids)].reset_index(drop=True)
        for name, frame in both.tables.items()
    }
    few = Answers(both.family, tables, both.items, both.manifests)
    widths = []
    for answers in (both, few):
        rows = tiltmeter.compare(answers, measures="mean_score", by="bias_type", resamples=1000)
        one = rows[rows["group"] == "a"].iloc[0]
        widths.append(one["high"] - one["low"])
    assert widths[0] == pytest.approx(widths[1], rel=0.15), "the draws of both models are the same ones"


def test_two_prompts_are_no_proof_that_models_differ() -> None:
    """Two differences have the same sign half of the time, and every draw of them has it then: nothing is tested."""
    both = two_models({"a": [[0.1], [0.2]], "b": [[0.3], [0.1]]}, {"a": ["p", "q"], "b": ["r", "s"]}, 0.3)
    rows = tiltmeter.compare(both, measures="mean_score", by="bias_type", resamples=400)
    few = rows[rows["by"] == "group"]
    assert len(few) == 2 and few[["p", "low", "high"]].isna().all(axis=None) and few["note"].ne("").all()


def test_a_column_entity_of_your_own_is_no_article() -> None:
    scores = random_scores(np.random.default_rng(2), {"a": 6, "b": 6})
    answers = clustered(scores, {"a": ["person"] * 6, "b": ["place"] * 6})
    tags = answers.items["extra"].str.replace("cluster", "entity")
    own = Answers(answers.family, answers.tables, answers.items.assign(extra=tags), answers.manifests)
    pd.testing.assert_frame_equal(
        tiltmeter.estimate(own, MEASURES, resamples=100), tiltmeter.estimate(made_up(scores), MEASURES, resamples=100)
    )


def test_a_benchmark_says_which_column_is_resampled_together() -> None:
    """Its declaration is stored in the manifest; answers without it are read as before."""
    scores = random_scores(np.random.default_rng(2), {"a": 6, "b": 6})
    names: dict[str, Sequence[str | None]] = {group: ["x", "x", "y", "y", "z", "z"] for group in scores}
    stored = clustered(scores, names, "entity")
    (manifest,) = stored.manifests
    declared = {"cluster": "series", "cluster_noun": "episodes"}
    own = replace(
        stored,
        items=stored.items.assign(
            extra=stored.items["extra"].str.replace("entity", "series").str.replace("bold_group", "g")
        ),
        manifests=(manifest | {"benchmark": manifest["benchmark"] | declared},),
    )
    before, now = (tiltmeter.estimate(some, MEASURES, resamples=100) for some in (stored, own))
    pd.testing.assert_frame_equal(before[["group", "measure", *NUMBERS, "p"]], now[["group", "measure", *NUMBERS, "p"]])
    assert now["details"].str.contains('"cluster": "episodes"').all()
    alone = replace(
        own, manifests=(manifest | {"benchmark": manifest["benchmark"] | {"cluster": None, "cluster_noun": ""}},)
    )
    plain = tiltmeter.estimate(made_up(scores), MEASURES, resamples=100)
    pd.testing.assert_frame_equal(plain, tiltmeter.estimate(alone, MEASURES, resamples=100))


def test_sets_within_a_cluster_are_exchanged_together() -> None:
    """Twelve sets of two prompts in four clusters; a set that lies in two clusters makes them one."""
    scores = random_scores(np.random.default_rng(9), {"a": 12, "b": 12})
    answers = made_up(scores)
    extra = [json.dumps({"set": f"s{n % 12}", "cluster": f"c{n % 12 // 3}"}) for n in range(24)]
    table = tiltmeter.estimate(replace_items(answers, extra), "score_gap", resamples=200)
    row = table[table["by"] == "counterfactual gap"].iloc[0]
    assert "12 sets in 4 clusters" in row["note"]
    assert row["p"] >= 1 / 16, "four clusters can be exchanged in sixteen ways"
    extra[0] = json.dumps({"set": "s0", "cluster": "c1"})
    row = tiltmeter.estimate(replace_items(answers, extra), "score_gap", resamples=200).query("by == 'counterfactual gap'")
    assert "12 sets in 3 clusters" in row.iloc[0]["note"]


def replace_items(answers: Answers, extra: Sequence[str]) -> Answers:
    return Answers(answers.family, answers.tables, answers.items.assign(extra=list(extra)), answers.manifests)


def test_the_study_of_temperatures_draws_clusters() -> None:
    scores = random_scores(np.random.default_rng(10), {"a": 30})
    judged = one_judged(clustered(scores, {"a": [f"c{n % 5}" for n in range(30)]}))
    assert _share(judged, Settings(200))["clusters"] == 5
    assert "clusters" not in _share(replace(judged, clusters=None), Settings(200))


def lines() -> Iterator[str]:
    yield "prompt,group,domain,from"
    for n, start in enumerate(["Today the", "Here the", "Then the", "We saw the", "At home the", "In town the"]):
        yield from (f"{start} {who},{who},gender,text {n // 2}" for who in ("man", "woman"))


def test_a_column_of_your_file_names_the_clusters_and_a_flag_leaves_them_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    bench = load_benchmark(file, columns={"prompt": "prompt", "cluster": "from"})
    assert [item.extra["cluster"] for item in bench.items[:5]] == ["text 0"] * 4 + ["text 1"]
    model, more = (
        GOLDEN / "models" / "tiny-gpt2",
        ("--columns", "prompt=prompt,cluster=from", "--new-tokens", 4, "--resamples", 100),
    )
    place = ("--no-report", "-o", tmp_path / "run")
    assert command("run", "-m", model, "-b", file, *more, *place) == 0
    run = tiltmeter.load_run(tmp_path / "run")
    (story,) = narratives(run.estimates)
    overall = stated(story.sentences, "overall")
    assert (overall["n"], overall["n_prompts"], overall["n_clusters"]) == (12, 12, 3)
    assert story.sentences[0] in " ".join(capsys.readouterr().out.split())
    assert run.manifest["asked"]["clusters"] is True
    plain = tiltmeter.estimate(run.answers, "mean_score", resamples=100, clusters=False)
    assert "from 3 clusters" not in " ".join(plain["note"])
    assert (
        command("estimate", tmp_path / "run", "--measure", "mean_score", "--no-clusters", "--resamples", 100, "--json") == 0
    )
    assert "from 3 clusters" not in capsys.readouterr().out
    table = tmp_path / "said.csv"
    said = [f"{line},{'text' if not n else ' good.'}" for n, line in enumerate(lines())]
    table.write_text("\n".join(said) + "\n", encoding="utf-8")
    assert one_judged(published(table, columns={"cluster": "from"})).clusters is not None


def test_texts_with_labels_can_be_drawn_one_by_one_too() -> None:
    rng = np.random.default_rng(0)
    answers = answered(rng.random(12) < 0.5, rng.random((1, 12)), [["man"]] * 12, clusters=[n // 3 for n in range(12)])
    assert [facts_of(answers, (), way)[0].clustered for way in (True, False)] == [True, False]

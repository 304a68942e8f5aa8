"""Studies of made-up scores whose answer is known beforehand, by construction or by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from sklearn.metrics import roc_auc_score

import tiltmeter
from conftest import GOLDEN, golden_model, golden_scores, reference, scores_of
from study_material import made_up, noise, small_run
from support.wording import stated
from tiltmeter.benchmarks import Benchmark, Item
from tiltmeter.families.pairs.ask import observe
from tiltmeter.families.pairs.studies.kit.binomial_power import pairs_needed, power_of, smallest_lean
from tiltmeter.families.pairs.studies.kit.delong import area_interval, areas, difference_p, roc
from tiltmeter.families.pairs.studies.kit.robustness_report import gain
from tiltmeter.families.pairs.studies.kit.tokens import mcnemar
from tiltmeter.families.pairs.words import change_of
from tiltmeter.probes.views import VIEWS, find_view, shuffled
from tiltmeter.studies.kit.options import draw_within, subsamples

VOTES = [[["a"]] * 5] * 20 + [[["a"], [], [], [], []]] * 20
LABEL = np.arange(40) < 20


# agreement ---------------------------------------------------------------------------------------------------------


def test_a_scorer_with_auc_1_and_one_with_half() -> None:
    perfect = np.where(LABEL, 1.0, -1.0) + 0.001 * np.arange(40)
    useless = np.tile([1.0, -1.0], 20)
    scores = made_up({("m", "aul"): (perfect, np.zeros(40)), ("m", "cps"): (useless, np.zeros(40))}, annotations=VOTES)
    finding = tiltmeter.study("agreement", scores)
    table = finding.table.set_index("scorer")
    assert table.loc["aul", "auc"] == 1.0 and table.loc["cps", "auc"] == 0.5
    assert table.loc["aul", "low"] == pytest.approx(0.05 ** (1 / 20) - 0.022, abs=0.01)  # 20 of 20, exact
    assert table.loc["cps", "low"] < 0.5 < table.loc["cps", "high"]
    assert (table["n_biased"] == 20).all() and (table["n_other"] == 20).all()
    assert finding.tables["differences"]["p"].iloc[0] < 1e-6
    best = stated(finding.sentences, "best-scorer")
    assert (best["scorer"], best["auc"], best["above"]) == ("aul", 1.0, ["aul"])


def test_the_threshold_moves_the_labels_and_absolute_drops_the_sign() -> None:
    difference = np.where(LABEL, -3.0, 1.0) + 0.01 * noise(40)
    scores = made_up({("m", "s"): (difference, np.zeros(40))}, annotations=VOTES)
    assert tiltmeter.study("agreement", scores).table["auc"].iloc[0] == 0.0
    assert tiltmeter.study("agreement", scores, options={"absolute": True}).table["auc"].iloc[0] == 1.0
    assert tiltmeter.study("agreement", scores, options={"threshold": 5}).table["n_biased"].iloc[0] == 20


def brute_force_covariance(scores: np.ndarray, label: np.ndarray) -> np.ndarray:
    """DeLong's placements by their definition."""
    positive, negative = scores[:, label], scores[:, ~label]
    wins = (positive[:, :, None] > negative[:, None, :]) + 0.5 * (positive[:, :, None] == negative[:, None, :])
    return np.cov(wins.mean(axis=2)) / positive.shape[1] + np.cov(wins.mean(axis=1)) / negative.shape[1]


@given(st.integers(0, 10_000), st.integers(3, 20), st.integers(3, 20))
def test_delong_is_its_definition_and_sklearns_area(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.arange(m + n) < m
    scores = rng.integers(0, 8, (3, m + n)).astype(float) + label  # with ties
    value, covariance = areas(scores, label)
    assert value == pytest.approx([roc_auc_score(label, row) for row in scores])
    assert covariance == pytest.approx(brute_force_covariance(scores, label), abs=1e-12)
    assert areas(np.exp(scores), label)[0] == pytest.approx(value)  # any rising function ranks alike
    for row, area in zip(scores, value, strict=True):
        x, y = roc(row, label)
        assert np.trapezoid(y, x) == pytest.approx(area)
        assert area_interval(area, covariance[0, 0], (m, n), 0.95)[0] <= max(area, 1e-9)
    assert difference_p(0, 0, value, covariance) == 1.0


# normality ---------------------------------------------------------------------------------------------------------


def test_a_perfect_gaussian_and_two_humps() -> None:
    quantiles = norm.ppf((np.arange(200) + 0.5) / 200)
    humps = np.where(np.arange(200) < 100, -5.0, 5.0) + 0.5 * quantiles
    table = tiltmeter.study("normality", made_up({("m", "s"): (quantiles, humps)})).table
    whole = table[table["bias_type"] == "all"].set_index("role")
    assert whole.loc["stereo", "W"] > 0.998 and whole.loc["stereo", "p"] > 0.99
    assert whole.loc["anti", "W"] < 0.8 and whole.loc["anti", "p"] < 1e-10
    assert abs(whole.loc["stereo", "skew"]) < 1e-9


# accuracy and shuffling --------------------------------------------------------------------------------------------


def tokens(ranks: list[int]) -> pd.DataFrame:
    places = range(len(ranks))
    return pd.DataFrame({"item": "i", "role": "stereo", "position": places, "rank": ranks})


def test_mcnemar_by_hand() -> None:
    """3 tokens right in both, 5 in the first only, 1 in the second only, 1 in neither: 2·(1 + 6)/64."""
    found = mcnemar(tokens([1] * 8 + [2, 7]), tokens([1] * 3 + [4] * 5 + [1, 3]))
    assert found == {"n": 10, "both": 3, "only_a": 5, "only_b": 1, "neither": 1, "p": pytest.approx(14 / 64)}
    assert mcnemar(tokens([1, 1]), tokens([])) is None


@pytest.mark.parametrize("model", ["tiny-bert-cased", "tiny-albert", "tiny-roberta"])
def test_accuracy_is_what_the_authors_code_prints(model: str) -> None:
    """Special tokens included, as that code does for AUL; it stops on cps (no shared token), so that from its ranks."""
    table = tiltmeter.study("accuracy", small_run(), options={"special": True, "resamples": 100}).table
    ours = table[(table["model"] == model) & (table["benchmark"] == "starter-pairs")].set_index("style")["accuracy"]
    printed = reference("kaneko")[model]
    assert f"{ours['aul']:.2f}" == printed["printed_summary"]["aul"]["Accuracy"]
    ranks = [rank for row in printed["rows"] for side in ("more", "less") for rank in row.get(f"cps_ranks_{side}") or []]
    changed = [rank for row in printed["rows"] for side in ("more", "less") for rank in row.get(f"sss_ranks_{side}") or []]
    assert changed and ours["sss_tokens"] == pytest.approx(100 * np.mean(np.array(changed) == 1), abs=0.06)
    assert ranks and ours["cps"] == pytest.approx(100 * np.mean(np.array(ranks) == 1), abs=0.06)


def test_sss_styles_are_those_of_one_masked_input_at_a_time(tmp_path: Path) -> None:
    """plumb-mlm gets some fills right and some wrong, so that both ways of counting can fail."""
    import torch

    model, pairs = tiltmeter.load_model("plumb-mlm"), tiltmeter.load_benchmark("starter-pairs")
    tiltmeter.run("plumb-mlm", "starter-pairs", ["sss", "aul"], output=tmp_path / "r")
    found = tiltmeter.study("accuracy", tmp_path / "r", options={"resamples": 100})
    ours = found.table.set_index("style")["accuracy"]
    right, tokens, equal = [], [], 0
    for item in pairs.asked_items:
        a, b = (model.tokens.tokenizer.encode(item.texts[role]) for role in ("stereo", "anti"))
        codes = SequenceMatcher(None, a, b).get_opcodes()
        spans = [[n for code in codes if code[0] != "equal" for n in range(*code[low : low + 2])] for low in (1, 3)]
        sides = []
        for ids, span in zip((a, b), spans, strict=True):
            masked = torch.tensor([[model.tokens.mask_id if n in span else token for n, token in enumerate(ids)]])
            with torch.no_grad():
                best = model._module(masked).logits[0].argmax(-1)
            sides.append([int(best[n]) == ids[n] for n in span])
        right += [any(side and all(side) for side in sides)] if any(sides) else []
        tokens += [hit for side in sides for hit in side]
        equal += len(spans[0]) == len(spans[1]) > 0
    assert 0 < np.mean(right) < 1 and np.mean(tokens) != np.mean(right)
    assert ours["sss"] == pytest.approx(100 * np.mean(right)) and ours["sss_tokens"] == pytest.approx(100 * np.mean(tokens))
    assert found.tables["fills"]["n_equal"].tolist() == [equal] and f"both: {equal} of " in found.sentences[-1]


def test_sss_style_needs_one_whole_fill(tmp_path: Path) -> None:
    from tiltmeter.families.pairs.studies.accuracy import _hits

    rows = [
        ("i", "stereo", 0, 1), ("i", "stereo", 1, 1), ("i", "anti", 0, 9),  # all of one side: right
        ("j", "stereo", 0, 1), ("j", "stereo", 1, 2), ("j", "anti", 0, 5), ("j", "anti", 1, 1),  # half of each: wrong
        ("k", "anti", 0, 1),  # only one side could be asked
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["item", "role", "position", "rank"])
    hits = _hits("sss", frame, pd.Index(["i", "j", "k", "nothing"]), special=False)
    assert hits.right.tolist() == [1, 0, 1, 0] and hits.total.tolist() == [1, 1, 1, 0]


def test_shuffling_moves_tokens_and_follows_them() -> None:
    model, bench = golden_model("tiny-bert-cased"), tiltmeter.load_benchmark("starter-pairs").limit(8)
    plain, moved, other = (
        observe(model, bench, view, cache=False).to_pandas() for view in ("unmasked", "shuffled_all-0", "shuffled_all-1")
    )
    for one in (moved, other):
        assert (
            one[["item", "role", "position", "token_id"]]
            .astype(str)
            .equals(plain[["item", "role", "position", "token_id"]].astype(str))
        )
    assert not np.allclose(moved["logprob"], plain["logprob"]) and not np.allclose(moved["logprob"], other["logprob"])
    assert "shuffled" not in VIEWS and find_view("each") is VIEWS["each"]


def test_asking_again_gives_what_a_run_has_stored(tmp_path: Path) -> None:
    """A run by all scorers holds the shuffled sentences; for one by aul alone the model is asked, and the work is shown."""
    model, shown = GOLDEN / "models" / "tiny-bert-cased", []

    @contextmanager
    def watch(title: str, total: int) -> Iterator[Callable[[float], None]]:
        done: list[float] = []
        yield done.append
        shown.append((title, total, pytest.approx(sum(done))))

    tables = []
    for name, scorers in (("all", None), ("one", ["aul"])):
        tiltmeter.run(model, "starter-pairs", scorers, output=tmp_path / name, limit=12, cache=tmp_path / name)
        tables.append(tiltmeter.study("shuffling", tmp_path / name, watch=watch, options={"resamples": 100}).table)
    pd.testing.assert_frame_equal(*tables)
    ((title, total, done),) = shown
    assert {"tiny-bert-cased", "starter-pairs,"} <= set(title.split()) and (total, done) == (12, 12)
    assert set(
        tiltmeter.study("shuffling", tmp_path / "all", watch=watch, options={"resamples": 100, "seed": 1}).table["change"]
    )
    assert len(shown) == 2  # another order has to be asked


def test_unrelated_sentences_are_not_shuffled() -> None:
    item = Item("i", {"stereo": "He cooks well.", "anti": "She cooks well.", "unrelated": "Moon cooks well."}, "gender")
    table = observe(golden_model("tiny-bert-cased"), Benchmark("b", (item,)), "shuffled_all-0", cache=False).to_pandas()
    assert set(table["role"]) == {"stereo", "anti"}


def test_a_shuffled_query_is_a_permutation_of_the_sentence() -> None:
    from tiltmeter.probes.sentences import tokenise

    model = golden_model("tiny-roberta")
    sentences = tokenise(model, tiltmeter.load_benchmark("starter-pairs").asked_items)
    for query in shuffled(sentences, model.tokens, seed=3):
        one = sentences[query.sentence]
        assert sorted(query.ids) == sorted(one.ids) and query.positions == tuple(range(len(one.ids)))
        assert [query.ids[column] for column in query.columns] == list(query.tokens) == list(one.ids)
        special = [at for at in range(len(one.ids)) if at not in one.content]
        assert [query.columns[at] for at in special] == special  # they stay where they are


@pytest.mark.parametrize("special", [False, True])
def test_before_shuffling_is_the_accuracy_of_the_first_table(special: bool) -> None:
    found = [
        tiltmeter.study(name, small_run(), options={"special": special, "resamples": 100}).table
        for name in ("accuracy", "shuffling")
    ]
    accuracy = found[0][found[0]["style"] == "aul"].set_index(["model", "benchmark"])["accuracy"]
    for _, row in found[1].iterrows():
        assert row["before"] == accuracy[row["model"], row["benchmark"]]
    plain = tiltmeter.study("shuffling", small_run(), options={"resamples": 100}).table
    assert (found[1]["n_tokens"] > plain["n_tokens"]).all() == special


# robustness and pll-gap --------------------------------------------------------------------------------------------


def wins(*where: int, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return np.isin(np.arange(n), where) + 0.1 * np.arange(n), np.full(n, 0.5) + 0.1 * np.arange(n)


def test_a_ranking_that_flips_by_construction() -> None:
    """A wins pairs 0 and 1, B wins pair 2. Of the six halves three keep A above B, two tie, one turns it round."""
    scores = made_up({("A", "s"): wins(0, 1), ("B", "s"): wins(2)})
    table = tiltmeter.study("robustness", scores, options={"measure": ["bias_score"], "rates": [0.5], "repeats": 4000}).table
    row = table.iloc[0]
    assert row["kept"] == pytest.approx(50, abs=2.5) and row["low"] < 50 < row["high"]
    assert row["kendall_tau"] == pytest.approx((3 - 1) / 6, abs=0.05)


def test_a_ranking_that_nothing_can_flip() -> None:
    scores = made_up({("A", "s"): wins(*range(10), n=10), ("B", "s"): wins(n=10)})
    finding = tiltmeter.study("robustness", scores, options={"measure": ["bias_score"]})
    assert (finding.table["kept"] == 100).all() and (finding.table["repeats"] == 100).all()
    assert finding.table["rate"].tolist() == [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert finding.table["n"].tolist() == [3, 4, 5, 6, 7, 8]  # 0.7 · 10 is 7, not 8
    values = finding.tables["values"]
    assert (values["mean"] == values["full"]).all() and (values["sd"] == 0).all()


def test_it_can_find_kls_and_jss_less_robust() -> None:
    """Bias scores far apart on every subsample; the two score sets as wholes have the same distribution."""
    n = 120
    base = noise(n)
    lean = np.roll(np.sort(base), 1)
    scores = made_up({("A", "aul"): (np.sort(base) + 0.02 * noise(n, 5), lean), ("B", "aul"): (lean, np.sort(base))})
    finding = tiltmeter.study("robustness", scores, options={"rates": [0.3, 0.5]})
    kept = finding.table.groupby("measure")["kept"].mean()
    assert kept["bias_score"] == 100 and kept["kls"] < 90 and kept["jss"] < 90
    against = stated(finding.sentences, "kls-against-bias_score")
    assert (against["benchmark"], against["scorer"], against["verdict"]) == ("b", "aul", "less robust") and against[
        "high"
    ] < 0
    assert gain([np.array([True] * 9 + [False])], [np.array([False] * 5 + [True] * 5)])[0] == pytest.approx(40)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.sampled_from([0.3, 0.45, 0.7, 0.8]), st.integers(0, 1000))
def test_subsamples_are_stratified_and_without_replacement(sizes: list[int], rate: float, seed: int) -> None:
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    drawn = subsamples(stratum, rate, 7, np.random.default_rng(seed))
    expected = [-(-size * round(100 * rate) // 100) for size in sizes]
    for row in drawn:
        assert len(set(row)) == len(row) and np.bincount(stratum[row], minlength=len(sizes)).tolist() == expected
    assert (stratum[drawn] == stratum[drawn[0]]).all()
    assert draw_within(stratum, np.array(sizes), 1, np.random.default_rng(seed)).shape == (1, len(stratum))


def test_the_papers_gap() -> None:
    """S_st = {.4, .3, .9, .8}, S_at = {.5, .4, .1, .2}: |Δst| = .7, |Δat| = .1, and a bias score of 50."""
    scores = made_up({("m", "aul"): ([0.4, 0.3, 0.9, 0.8], [0.5, 0.4, 0.1, 0.2])})
    row = tiltmeter.study("pll_gap", scores, options={"rates": [0.8], "repeats": 10}).table.iloc[0]
    assert (row["delta_st"], row["delta_at"], row["gap"]) == pytest.approx((0.7, 0.1, 0.6))
    assert (row["n_st"], row["n_at"]) == (2, 2)
    assert (row["stereo_st"], row["anti_st"], row["stereo_at"], row["anti_at"]) == pytest.approx((0.85, 0.15, 0.35, 0.45))


# correlation -------------------------------------------------------------------------------------------------------


def test_opposite_scores_correlate_at_minus_one() -> None:
    types = [name for name in "abcdefgh" for _ in range(20)]
    shift = np.repeat(np.linspace(-1, 1, 8), 20)
    stereo, anti = noise(160) + shift, noise(160, 1)
    sides = {("m", "cps"): (stereo, anti), ("m", "aul"): (-stereo, -anti), ("m", "sss"): (stereo * 2, anti * 2)}
    table = tiltmeter.study("correlation", made_up(sides, types=types), options={"measure": ["bias_score"]}).table
    r = {frozenset((row["a"], row["b"])): row["r"] for _, row in table.iterrows()}
    assert r[frozenset(("bias_score by cps", "bias_score by aul"))] == pytest.approx(-1)
    assert r[frozenset(("bias_score by cps", "bias_score by sss"))] == pytest.approx(1)
    assert (table["n"] == 8).all()
    finding = tiltmeter.study("correlation", made_up(sides, types=types), options={"measure": ["bias_score"]})
    assert stated(finding.sentences, "few-points") == {"least": 10, "few": "b has 8"}


# power -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.floats(0.5, 1.0))
def test_binomial_power_is_the_sum_over_rejections(n: int, lean: float) -> None:
    rejected = [k for k in range(n + 1) if binomtest(k, n).pvalue <= 0.05]
    assert power_of(n, lean, 0.05) == pytest.approx(binom.pmf(rejected, n, lean).sum() if rejected else 0.0, abs=1e-9)


def test_the_smallest_lean_and_the_pairs_needed_meet() -> None:
    least = smallest_lean(400, 0.05, 0.8)
    assert least is not None and power_of(400, least, 0.05) == pytest.approx(0.8, abs=1e-6)
    assert pairs_needed(least, 0.05, 0.8) == pytest.approx(400, rel=0.05)  # power goes up and down with n
    assert smallest_lean(5, 0.05, 0.8) is None


def test_simulated_power_agrees_with_the_exact_one() -> None:
    """ss over one target is the bias score, so simulating must find what the binomial test says."""
    n = 300
    scores = made_up({("m", "s"): (noise(n), noise(n, 1))})
    scores = scores_of(scores.table.assign(target="t"), scores.items)
    table = tiltmeter.study("power", scores, options={"measure": ["bias_score", "ss"], "draws": 2000}).table
    overall = table[table["bias_type"] == "all"].set_index("measure")["smallest_lean"]
    assert overall["ss"] == pytest.approx(overall["bias_score"], abs=1.0)


def test_separable_models_are_told_from_close_ones() -> None:
    anti = noise(200)
    sides = {
        ("A", "s"): (anti + 1, anti),
        ("B", "s"): (anti - 1, anti),
        ("C", "s"): (anti + np.where(np.arange(200) < 3, -1, 1), anti),
    }
    apart = tiltmeter.study("power", made_up(sides), options={"measure": ["bias_score"]}).tables["separation"]
    found = {(row["model_a"], row["model_b"]): row["separable"] for _, row in apart.iterrows()}
    assert found["A", "B"] and not found["A", "C"]


# frequency and quality ---------------------------------------------------------------------------------------------


PAIRS = [
    ("Women cook.", "Men cook."), ("Women sing here.", "Men sing here."), ("A nurse is a woman.", "A nurse is a man."),
    ("Her sister is a woman.", "Her sister is a man."), ("He is a boss.", "She is a boss."), ("He drives.", "She drives."),
    ("Black cats.", "White cats."), ("Black dogs.", "White dogs."), ("He runs.", "She runs."), ("He reads.", "She reads."),
    ("He sings.", "She sings."),
]  # fmt: skip
DIRECTIONS = ["disadvantaged"] * 4 + ["advantaged"] * 2 + ["disadvantaged"] * 2 + ["advantaged"] * 3
"""Five advantaged pairs: with fewer there is no interval."""


def test_frequency_ranks_by_hand(tmp_path: Path) -> None:
    """Words: men 8, man 6, he 10 (advantaged); women 7, woman 5, she 9 (disadvantaged): ranks 1, 3, 5 against 2, 4, 6."""
    path = tmp_path / "counts.csv"
    path.write_text("word,count\nhe,10\nshe,9\nmen,8\nwomen,7\nman,6\nwoman,5\nblack,99\nwhite,98\n")
    sides = {("m", name): (noise(11, n), noise(11, n + 9)) for n, name in enumerate(("all_masked", "aul", "aula"))}
    finding = tiltmeter.study(
        "frequency", made_up(sides, texts=PAIRS, direction=DIRECTIONS), options={"frequencies": str(path)}
    )
    row = finding.table.iloc[0]
    assert (row["adv"], row["dis"], row["neutral"], row["words_each"]) == (3.0, 4.0, 3.5, 3)
    sides = {"he": "adv", "she": "dis", "men": "adv", "women": "dis", "man": "adv", "woman": "dis"}
    assert row["words"].split(", ") == [f"{word} ({side})" for word, side in sides.items()]
    assert row["adv_more_frequent"] == pytest.approx(100 * 6 / 9)
    left_out = finding.tables["left-out"]
    assert set(left_out[left_out["why"] == "ambiguous"]["word"]) == {"black", "white"}
    assert stated(finding.sentences, "ambiguous")["words"] == ["black", "white"]


def test_frequency_reads_the_words_of_a_list(tmp_path: Path) -> None:
    """By rule a verb of one sentence names a group; our list and a table know those that do."""
    places = ("early", "late", "soon", "again", "first", "alone")
    poor = [(f"The poor man left {place}.", f"The rich man stayed {place}.") for place in places]
    rich = [(f"The rich man stayed {place}.", f"The poor man left {place}.") for place in places]
    sides = {("m", "aul"): (noise(12), noise(12, 1))}
    direction = ["disadvantaged"] * 6 + ["advantaged"] * 6
    scores = made_up(sides, texts=poor + rich, direction=direction, types=["socioeconomic"] * 12)
    table = tmp_path / "words.csv"
    table.write_text("bias_type,group,word\nsocioeconomic,advantaged,stayed\nsocioeconomic,disadvantaged,left\n")
    wanted = {None: {"poor", "rich"}, "rule": {"poor", "rich", "left", "stayed"}, str(table): {"left", "stayed"}}
    for source, words in wanted.items():
        options = {} if source is None else {"group_words": source}
        found = tiltmeter.study("frequency", scores, scorers="aul", options=options)
        assert set(found.tables["words"]["word"]) == words, source


def test_frequency_counts_in_a_text(tmp_path: Path) -> None:
    import lzma

    path = tmp_path / "text.txt.xz"
    with lzma.open(path, "wt") as file:
        file.write("He and she; he said. Men, MEN and women's rights: man woman.\n" * 3)
    sides = {("m", "aul"): (noise(11), noise(11, 1))}
    scores = made_up(sides, texts=PAIRS, direction=DIRECTIONS)
    words = tiltmeter.study("frequency", scores, scorers="aul", options={"corpus": str(path)}).tables["words"]
    counts = words.set_index("word")["frequency"]
    assert (counts["he"], counts["men"], counts["she"]) == (6, 6, 3)


def test_flags_are_where_the_faults_are() -> None:
    texts = [
        ("Same words.", "Same words."), ("Old people drive cars slowly.", "Young people drive vans slowly."),
        ("She is a very very kind nurse.", "She is a nurse."),
        ("Rich men lie.", "Poor men lie."), ("Rich men lie.", "Poor men lie."),
        *[(f"One {k}.", f"Two {k}.") for k in range(25)],
    ]  # fmt: skip
    votes = [[["a"]] * 5] * 29 + [[["a"], ["z"], [], [], []]]
    stereo, anti = np.random.default_rng(0).uniform(-1.1, -0.9, (2, 30))  # no far tails
    stereo[10] = -9.0
    finding = tiltmeter.study("quality", made_up({("m", "aul"): (stereo, anti)}, texts=texts, annotations=votes))
    flagged = finding.tables["items"].groupby("flag")["item"].apply(list).to_dict()
    assert flagged == {
        "identical": ["i0"], "several_spans": ["i1"], "length_mismatch": ["i2"], "repeated": ["i4"], "not_fluent": ["i10"],
        "disagreement": ["i29"],
    }  # fmt: skip
    row = finding.table.set_index("measure").loc["bias_score"]
    kept = [k for k in range(30) if k not in (0, 1, 2, 4, 10, 29)]
    assert (row["n"], row["n_kept"]) == (30, 24)
    assert row["value_kept"] == pytest.approx(100 * np.mean((stereo > anti)[kept]))
    assert (
        tiltmeter.study("quality", made_up({("m", "aul"): (stereo, anti)}), options={"flag": ["identical"]})
        .table["change"]
        .eq(0)
        .all()
    )


@given(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
)
def test_a_change_accounts_for_every_word(a: list[str], b: list[str]) -> None:
    change = change_of(" ".join(a), " ".join(b))
    assert (change.spans == 0) == (a == b)
    assert len(a) - len(change.stereo) == len(b) - len(change.anti)


def test_direction_gaps_are_those_of_estimate() -> None:
    """Table 3 comes from the same place as every other estimate."""
    scores = golden_scores("tiny-bert-cased")
    from study_material import frequency_list

    found = tiltmeter.study("frequency", scores, options={"frequencies": str(frequency_list()), "least": 1}).tables[
        "directions"
    ]
    table = tiltmeter.estimate(scores, ["bias_score"], by="direction").set_index(["scorer", "group"])["value"]
    for _, row in found.iterrows():
        assert row["difference"] == table[row["scorer"], "|difference|"] == pytest.approx(abs(row["adv"] - row["dis"]))
    assert {frozenset(pair) for pair in combinations(found["scorer"], 2)} <= {
        frozenset(pair) for pair in combinations(("all_masked", "aul", "aula"), 2)
    }


def test_few_pairs_detect_no_lean() -> None:
    finding = tiltmeter.study("power", made_up({("m", "s"): (noise(5), noise(5, 1))}), options={"measure": ["bias_score"]})
    assert not finding.table["is_detectable"].any() and "100" not in finding.sentences[0]

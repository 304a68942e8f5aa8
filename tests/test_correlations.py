"""Correlation over few models: known answers, the permutation test, coverage, and what measurement error hides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from support.raising import raises
from test_studies import check_figure
from tiltmeter import figures
from tiltmeter.display import number_text
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.stats.attenuation import clear, noise_once, reliability
from tiltmeter.stats.correlations import correlate, interval, pearson, smallest_noticed
from tiltmeter.stats.intervals import bounded_interval
from tiltmeter.studies.domain_ablation import domain_ablation
from tiltmeter.studies.domain_correlation import domain_correlation
from tiltmeter.studies.kit.ablations import _interval
from tiltmeter.studies.kit.domain_pairs import Drawing
from tiltmeter.studies.kit.domain_scores import gather_scores


def test_r_and_rho_are_scipys() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 12))
    found = correlate(x, y)
    assert found.r == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.rho == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.p == pytest.approx(stats.pearsonr(x, y).pvalue, abs=0.02)
    assert found.low < found.r < found.high
    assert correlate(x, y) == found or np.isnan(found.clear_r)


def test_p_counts_every_order_of_few_points() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert correlate(x, x).p == pytest.approx(2 / 120)  # the order itself and its reverse
    assert np.isnan(correlate(x, np.ones(5)).r)
    assert np.isnan(correlate(x[:3], x[:3]).r)


def test_the_interval_covers() -> None:
    """With ten models, of r = 0 and r = 0.8, within 4 points here (300 tries); benchmarks/ has more."""
    rng = np.random.default_rng(1)
    for truth in (0.0, 0.8):
        hits = 0
        for _ in range(300):
            a, b = rng.standard_normal((2, 10))
            low, high = interval(a, truth * a + np.sqrt(1 - truth**2) * b, 400, 0.95, rng)
            hits += low <= truth <= high
        assert 0.91 <= hits / 300 <= 0.99


def test_the_units_of_scores_do_not_matter_to_the_interval_without_noise() -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal(15)
    y = x + 0.3 * random.standard_normal(15)
    errors = np.full(15, 0.2), np.full(15, 0.2)

    def edges(across: float, along: float) -> tuple[float, float]:
        scaled = across * errors[0], along * errors[1]
        found = clear(across * x, along * y, scaled, (0.8, 0.99), 0.95, np.random.default_rng(0))
        return found.low, found.high

    assert edges(1e-6, 100.0) == pytest.approx(edges(1.0, 1.0), rel=1e-6)


def test_disattenuation_takes_out_known_errors() -> None:
    """Ten models, reliabilities of 0.8: on average the truth, which the interval covers. More in benchmarks/."""
    rng, n = np.random.default_rng(2), 10
    errors = (np.full(n, 0.5), np.full(n, 0.5))
    found, hits = [], 0
    for _ in range(600):
        a, b = rng.standard_normal((2, n))
        seen = (a + errors[0] * rng.standard_normal(n), 0.8 * a + 0.6 * b + errors[1] * rng.standard_normal(n))
        one = clear(*seen, errors, interval(*seen, 200, 0.95, rng), 0.95, rng)
        found.append(one.r)
        hits += one.low <= 0.8 <= one.high
    given = np.array(found)[np.isfinite(found)]
    assert given.mean() == pytest.approx(0.8, abs=0.03) and len(given) > 500
    assert 0.92 <= hits / len(given) <= 0.99


def test_without_errors_it_is_r_and_with_too_many_nothing() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 12))
    nothing = np.zeros(12)
    edges = interval(x, y, 400, 0.95, rng)
    exact = clear(x, y, (nothing, nothing), edges, 0.95, rng)
    assert exact.r == pytest.approx(float(pearson(x, y))) and exact.low < exact.r < exact.high
    assert exact.reliabilities == (1.0, 1.0)
    for errors in (np.full(12, 5.0), np.full(12, np.nan), np.full(12, np.std(x, ddof=1) * np.sqrt(0.65))):
        assert np.isnan(clear(x, y, (errors, nothing), edges, 0.95, rng).r)
    assert np.isnan(reliability(x, np.full(12, np.nan)))
    same = clear(x, 2 * x, (nothing, nothing), (1.0, 1.0), 0.95, rng)
    assert same.r == pytest.approx(1) and same.high == pytest.approx(1)


def of_variances(groups: int, size: float, n: int = 1200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulated variances over groups of many models, their errors as intervals tell them, and what they are."""
    rng = np.random.default_rng(0)
    truth = size * np.exp(0.3 * rng.standard_normal((n, 1))) * rng.standard_normal((n, groups))
    seen = truth + rng.standard_normal((n, groups))
    values, again = seen.var(1, ddof=1), (seen[:, :, None] + rng.standard_normal((n, groups, 1000))).var(1, ddof=1)
    edges = np.array([bounded_interval(v, d, 0.95, (0.0, np.inf)) for v, d in zip(values, again, strict=True)])
    return values, np.diff(edges)[:, 0] / 3.92, np.sqrt((2 + 4 * truth.var(1, ddof=1)) / (groups - 1))


@pytest.mark.parametrize(("groups", "size"), [(2, 0.0), (2, 0.7), (4, 0.0), (4, 0.7)])
def test_noise_of_variances_is_not_counted_twice(groups: int, size: float) -> None:
    values, errors, known = of_variances(groups, size)
    once = noise_once(values, errors, np.full(len(values), float(groups)))
    assert np.mean(once**2) / np.mean(known**2) == pytest.approx(1, abs=0.15)
    assert np.mean(errors**2) / np.mean(known**2) > 1.3  # as read off


@pytest.mark.parametrize(("groups", "size", "true"), [(2, 1.7, 0.7), (2, 3.4, 0.9), (4, 1.5, 0.7), (4, 2.8, 0.9)])
def test_reliabilities_of_variances(groups: int, size: float, true: float) -> None:
    values, errors, known = of_variances(groups, size)
    once = noise_once(values, errors, np.full(len(values), float(groups)))
    assert reliability(values, known) == pytest.approx(true, abs=0.05)
    assert reliability(values, once) == pytest.approx(true, abs=0.1)
    assert 1 / 3 <= (once / errors)[0] ** 2 <= 1


def test_errors_of_scores_know_their_groups(run: Path) -> None:
    """From what their families tell; a mean over seeds has noise of another kind, and its error is taken as it is."""
    table = pd.read_csv(run / "estimates.csv", keep_default_na=False)

    def error(**changes: object) -> float:
        table.assign(**changes).to_csv(run / "estimates.csv", index=False)
        points = gather_scores(evidence_of(run), None, 0.95)
        return float(points[(points["metric"].str.startswith("bold")) & (points["domain"] == "gender")]["error"].iloc[0])

    plain = (9.0 - 0.0) / (2 * stats.norm.ppf(0.975))
    wide: dict[str, object] = {"low": 0.0, "high": 9.0}
    assert error(**wide, measure="fpr_variance") == pytest.approx(plain)
    assert error(**wide, by="bias_type") == pytest.approx(plain)  # n counts items there, and nothing tells the groups
    told = error(**wide, by="bias_type", n=80, details='{"n_groups": 3}')
    assert told == pytest.approx(error(**wide)) and told < plain


def test_the_power_of_few_models() -> None:
    rng = np.random.default_rng(4)
    truth, n = smallest_noticed(19), 19
    a, b = rng.standard_normal((2, 4000, n))
    y = truth * a + np.sqrt(1 - truth**2) * b
    t = pearson(a, y)
    p = 2 * stats.t.sf(np.abs(t) * np.sqrt((n - 2) / (1 - t**2)), n - 2)
    assert (p < 0.05).mean() == pytest.approx(0.8, abs=0.03)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Estimates of eight models: an intrinsic metric that follows the extrinsic one in gender, and not in race."""
    rng = np.random.default_rng(0)
    truth, rows = rng.normal(5, 1, 8), []
    for number, value in enumerate(truth):
        for family, benchmark, domain, seen in (
            ("associations", "ceat", "gender", value + rng.normal(0, 0.1)),
            ("associations", "ceat", "race-color", rng.normal(5, 1)),
            ("generations", "bold", "gender", value),
            ("generations", "bold", "race", value),
            ("generations", "bold", "religious_ideology", value),
        ):
            rows.append(
                {
                    "family": family, "model": f"m{number}", "benchmark": benchmark, "scorer": "",
                    "measure": "group_variance", "by": "domain", "group": domain, "n": 3, "n_missing": 0, "n_ties": 0,
                    "value": seen, "low": seen - 0.2,
                    "high": seen + 0.2, "neutral": 0.0, "p": 0.5, "p_holm": 0.5, "note": "", "missing": "",
                }
            )  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "estimates.csv", index=False)
    return tmp_path


def evidence_of(run: Path) -> Evidence:
    return Evidence({}, "any", (run,))


def test_the_study_finds_what_is_there(run: Path) -> None:
    finding = domain_correlation(evidence_of(run))
    table = finding.table.set_index(["domain", "a", "b"])
    gender, race = table.loc[("gender", "ceat", "bold")], table.loc[("race", "ceat", "bold")]
    assert gender["r"] > 0.95 and gender["p_holm"] < 0.05 and gender["clear_r"] >= gender["r"]
    assert race["p_holm"] > 0.05
    assert list(finding.tables["matrix"]["metric"]) == ["ceat"]
    assert finding.tables["matrix"]["gender · bold"][0].endswith("*")
    assert set(finding.table["domain"]) == {"gender", "race"}  # religion has one metric only
    assert any("not a finding" in sentence for sentence in finding.sentences)
    assert any("Fewer than 10 models" in sentence for sentence in finding.sentences)
    check_figure(finding.draw("scatter-gender", "two"), figures.WIDTHS["two"])


def test_a_reliability_below_0_is_told_as_such(run: Path) -> None:
    table = pd.read_csv(run / "estimates.csv")
    wide = table["benchmark"] == "ceat"
    table.assign(low=table["low"] - 20.0 * wide, high=table["high"] + 20.0 * wide).to_csv(run / "estimates.csv", index=False)
    finding = domain_correlation(evidence_of(run), domain=["gender"])
    row = finding.table.iloc[0]
    assert row["reliability_x"] < -10 and np.isnan(row["clear_r"])
    assert f"reliability {number_text(row['reliability_x'], 2)}, below 0" in row["note"]
    assert any("lower bounds" in sentence for sentence in finding.sentences)


def test_scores_of_others(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    lines = [f"m{number},their-metric,gender,{number},extrinsic" for number in range(8)]
    file.write_text("\n".join(["model,metric,domain,value,kind", *lines]))
    finding = domain_correlation(evidence_of(run), scores=file, domain=["gender"])
    assert {"ceat", "bold", "their-metric"} == {*finding.table["a"], *finding.table["b"]}
    assert np.isnan(finding.table.set_index(["a", "b"]).loc[("ceat", "their-metric"), "clear_r"])  # no error is known
    file.write_text("model,metric,domain,value\nm0,x,gender,high\n")
    with raises("wrong-type", file=file, line=2):
        gather_scores(evidence_of(run), file, 0.95)


def test_a_domain_goes_by_one_name(run: Path, tmp_path: Path) -> None:
    """Whatever a benchmark calls it: as everywhere else, and none is left out of a correlation for its name."""
    file = tmp_path / "theirs.csv"
    file.write_text("model,metric,domain,value\nm0,x,sex,1\nm0,x,race-color,2\nm0,x,religious-ideology,3\nm0,x,age,4\n")
    points = gather_scores(evidence_of(run), file, 0.95)
    assert list(points[points["metric"] == "x"]["domain"]) == ["gender", "race", "religion", "age"]


def test_what_is_not_there_is_named(run: Path) -> None:
    with raises("unknown-name", kind="domain", name="age"):
        domain_correlation(evidence_of(run), domain=["age"])
    with raises("too-few", kind="models", least=4):
        domain_correlation(evidence_of(run), domain=["religion"])


GROUPS = ("Asian", "Black", "Hispanic", "White")
STEREOSET = {"Asian": "Japanese", "White": "Britain"}
"""Footnote 9 of the paper."""


def paper_rows(rng: np.random.Generator) -> list[dict[str, object]]:
    """Ten models, some masked and some causal. StereoSet sees the truth in the four groups of BOLD, and noise in others."""
    rows: list[dict[str, object]] = []

    def add(
        family: str, model: str, benchmark: str, scorer: str, scores: dict[str, float], single: str, measure: str
    ) -> None:
        by = "bias_type" if family == "pairs" else "domain"
        known = {"family": family, "model": model, "benchmark": benchmark, "scorer": scorer, "n": 3, "n_missing": 0,
                 "n_ties": 0, "neutral": 0.0, "p": 0.5, "p_holm": 0.5, "note": "", "missing": ""}  # fmt: skip
        told = [(single, "group", group, value) for group, value in scores.items()]
        told += [(measure, by, "race", float(np.var(list(scores.values()), ddof=1)))]
        for name, column, group, value in told:
            rows.append(known | {"measure": name, "by": column, "group": group, "value": value, "low": value - 0.1,
                                 "high": value + 0.1})  # fmt: skip

    for number in range(10):
        model, tilt = f"m{number}", rng.normal(0, 3)
        truth = dict(zip(GROUPS, tilt * np.array([-1.0, 1.0, 0.5, -0.5]), strict=True))
        others = {name: rng.normal(0, 12) for name in ("Ghanaian", "Iranian", "Norwegian")}
        stereo = {STEREOSET.get(group, group): value + rng.normal(0, 0.1) for group, value in truth.items()} | others
        scorer = "pll" if number < 6 else "causal"
        add("pairs", model, "stereoset-groups", scorer, stereo, "bias_score", "group_variance")
        for name in ("bold", "bold-neutral"):
            noise = 3.0 if name == "bold" else 0.1
            seen = {group: value + rng.normal(0, noise) for group, value in truth.items()}
            add("generations", model, name, "stereotype/mine", seen, "mean_score", "score_variance")
        add("generations", model, "bold", "regard/mine", truth, "mean_score", "score_variance")
        for notion in ("valence", "toxicity"):
            seen = {group: rng.normal() for group in GROUPS}
            add("associations", model, "ceat", f"word_mean:{notion}", seen, "ces", "group_variance")
    return rows


@pytest.fixture
def paper_run(tmp_path: Path) -> Path:
    pd.DataFrame(paper_rows(np.random.default_rng(5))).to_csv(tmp_path / "estimates.csv", index=False)
    return tmp_path


def test_the_tables_of_the_paper(paper_run: Path) -> None:
    """Masked and causal models are one metric; pairs that do not exist are –; a group that a metric lacks too."""
    finding = domain_correlation(evidence_of(paper_run), paper=True)
    assert set(zip(finding.table["a"], finding.table["b"], strict=True)) == {
        ("STEREOSET", "B-STEREO"),
        ("STEREOSET", "B-REGARD"),
    }
    assert (finding.table["n"] == 10).all()
    assert list(finding.tables["table_2"].columns) == ["metric", "race · STEREOSET"]
    assert "table_1" not in finding.tables
    groups = finding.tables["groups"].set_index("group")
    assert groups.loc["Asian", "STEREOSET"] == "10" and set(groups.index) == set(GROUPS)
    plain = domain_correlation(evidence_of(paper_run))
    assert "stereoset-groups" in set(plain.table["a"]) and "bold stereotype/mine score_variance" in set(plain.table["b"])
    check_figure(finding.draw("scatter-race", "two"), figures.WIDTHS["two"])


def test_what_would_change(paper_run: Path) -> None:
    """Made over the groups that both have, StereoSet agrees with regard; so do texts without noise."""
    replaced = ["bold=bold-neutral", "ceat word_mean:valence=ceat word_mean:toxicity"]
    finding = domain_ablation(evidence_of(paper_run), replace=replaced, shared_groups=True)
    table = finding.table.set_index(["what", "a", "b"]).sort_index()
    regard, stereotype = (f"bold {notion}/mine score_variance" for notion in ("regard", "stereotype"))
    (common,) = {what for what in table.index.get_level_values("what") if what.endswith(": Asian, Black, Hispanic, White")}
    shared = table.loc[(common, "stereoset-groups", regard)]
    assert shared["r_after"] > 0.99 and shared["r"] < 0.2 and -0.1 < shared["low"] < shared["difference"] < shared["high"]
    pairs = table.loc["bold → bold-neutral"]
    assert list(pairs.index.get_level_values("b").unique()) == [stereotype]  # no other judge judged the neutral ones
    assert len(table.loc[replaced[1].replace("=", " → ")]) == 3
    assert any("r rises in" in sentence for sentence in finding.sentences)
    check_figure(finding.draw("changes", "two"), figures.WIDTHS["two"])
    named = domain_ablation(evidence_of(paper_run), shared_groups=True, paper=True).table
    assert set(named["b"]) == {"B-REGARD", "B-STEREO"}


def test_nothing_to_compare_is_said_without_a_figure(paper_run: Path) -> None:
    """Metrics that are the same for all models have no correlation, before or after."""
    table = pd.read_csv(paper_run / "estimates.csv")
    constant = table["benchmark"].isin(["bold", "bold-neutral"])
    table.loc[constant, "value"] = 1.0
    table.to_csv(paper_run / "estimates.csv", index=False)
    finding = domain_ablation(evidence_of(paper_run), replace=["bold=bold-neutral"])
    assert finding.table["difference"].isna().all() and not finding.figures


def test_groups_that_stay_what_they_are_change_nothing(paper_run: Path) -> None:
    """A score that is a mean over seeds of variances is no variance of means over seeds, whatever the groups are."""
    table = pd.read_csv(paper_run / "estimates.csv")
    texts = table[(table["benchmark"] == "bold") & (table["scorer"] == "regard/mine")]
    names = {"mean_score": "fpr", "score_variance": "fpr_variance"}
    seeds = texts.assign(family="labels", benchmark="hatexplain", scorer="at 0.5", measure=texts["measure"].map(names))
    rng = np.random.default_rng(2)
    spread = seeds["measure"] == "fpr_variance"
    seeds.loc[spread, "value"] += rng.uniform(1, 3, spread.sum())  # what the seeds' variances have beside their means'
    hatex = "hatexplain at 0.5 fpr_variance"

    def shared(rows: pd.DataFrame) -> pd.DataFrame:
        pd.concat([table, rows]).to_csv(paper_run / "estimates.csv", index=False)
        found = domain_ablation(evidence_of(paper_run), shared_groups=True).table
        return found[found["b"] == hatex].set_index("a")

    found = shared(seeds)
    assert list(found.index) == ["stereoset-groups"]  # CEAT has the same four groups
    own = seeds[spread].set_index("model")["value"]
    stereo = table[
        (table["benchmark"] == "stereoset-groups") & table["group"].isin(["Japanese", "Britain", "Black", "Hispanic"])
    ]
    over = stereo.pivot(index="model", columns="group", values="value").var(axis=1, ddof=1).loc[own.index]
    assert found["r_after"].iloc[0] == pytest.approx(np.corrcoef(own, over)[0, 1])
    more = seeds[seeds["group"] == "Asian"].assign(group="Muslim")  # of another domain: nothing to do with it
    assert list(shared(pd.concat([seeds, more])).index) == ["stereoset-groups"]
    fewer = table[(table["benchmark"] == "ceat") & (table["group"] == "Asian")].index
    table = table.drop(index=fewer)
    lacking = shared(seeds).loc["ceat word_mean:valence"]
    assert np.isnan(lacking["r_after"]) and "variances" in lacking["note"]


def test_a_change_of_nothing_is_seldom_found() -> None:
    """Ten models, two metrics that agree with a third one equally: plain percentiles leave out 0 in 9 % (600 tries here)."""
    rng, how = np.random.default_rng(0), Drawing(200, 0.95, 0)
    root, found = np.linalg.cholesky(np.array([[1.0, 0.4, 0.4], [0.4, 1.0, 0.3], [0.4, 0.3, 1.0]])), 0
    for _ in range(600):
        x, y, other = root @ rng.standard_normal((3, 10))
        low, high = _interval((x, y, x, other), float(pearson(x, other) - pearson(x, y)), how)
        found += low > 0 or high < 0
    assert 0.02 <= found / 600 <= 0.065


@pytest.mark.parametrize(
    ("replace", "code", "fields"),
    [
        (None, "missing-value", {}),
        (["bold"], "wrong-format", {"value": "bold"}),
        (["bold=nothing"], "unknown-name", {"kind": "metric", "names": ["bold", "nothing"]}),
    ],
)
def test_an_ablation_of_nothing_is_refused(
    paper_run: Path, replace: list[str] | None, code: str, fields: dict[str, object]
) -> None:
    with raises(code, option="--replace", **fields):
        domain_ablation(evidence_of(paper_run), replace=replace)

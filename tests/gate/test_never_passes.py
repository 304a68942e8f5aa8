"""Further gate cases where a wrong PASS would be dangerous: ties, absent answers, copies, and commands that ignore rules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gate_material import leaning_run
from support.raising import raises
from test_cli import tiltmeter as command
from test_gate_ci import place, step
from tiltmeter import Answers, TiltmeterError
from tiltmeter.benchmarks import LabelledBenchmark
from tiltmeter.benchmarks.kit.items import items_table, repeated_share
from tiltmeter.benchmarks.kit.labelled import labelled_item
from tiltmeter.gate import check, read_rules
from tiltmeter.gate.evidence import gather
from tiltmeter.gate.rule import Rule
from tiltmeter.gate.rules_file import RuleBook
from tiltmeter.gate.sequential import decide_sequentially
from tiltmeter.gate.sources import StoredAnswers
from tiltmeter.runs import Run

__all__ = ["place"]
SCORE = "bias_score[aul,mine]"
WITHIN = f"{SCORE} within 40..60"
MOST = f"{SCORE} at most 60"
GENDER = "bias_score[aul,mine,bias_type=gender] within 25..75"
WORST = f"worst bias_type of {SCORE} within 25..75"
NO_WORSE = f"{SCORE} no worse than baseline by 6"
PREFERENCE = "mean_preference[aul,mine]"
Edit = Callable[[pd.DataFrame], pd.DataFrame]


def number(table: pd.DataFrame) -> pd.Series:
    """The numbers of items."""
    return table["item"].str[1:].astype(int)


def scored(share: float, score: float, *roles: str) -> Edit:
    """Give a share of the pairs another score, in these roles or in both."""

    def edit(table: pd.DataFrame) -> pd.DataFrame:
        chosen = (number(table) % 100 < 100 * share) & table["role"].isin(roles or ("stereo", "anti"))
        return table.assign(score=table["score"].where(~chosen, score))

    return edit


def without(share: float = 0.0, of_type: str = "") -> Edit:
    """Leave out the rows of a share of the pairs, or of a bias type."""
    return lambda table: table[(number(table) % 100 >= 100 * share) & (table["bias_type"] != of_type)]


def changed(run: Run, edit: Edit, **facts: Any) -> Run:
    """The run with other scores, and with other facts of its model in the manifest."""
    part = run.answers["pairs"]
    manifests = tuple(manifest | {"model": manifest["model"] | facts} for manifest in part.manifests)
    tables = {"scores": edit(part.table).reset_index(drop=True)}
    return replace(run, answers={"pairs": replace(part, tables=tables, manifests=manifests)})


def same(table: pd.DataFrame) -> pd.DataFrame:
    """Change nothing."""
    return table


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Runs of a model that prefers all stereotypes, of one that prefers none more, and of an older one."""
    folder = tmp_path_factory.mktemp("runs")
    leans = {"all": {"model": 1.0}, "fair": {"model": 0.51}, "old": {"old": 0.5}, "far": {"model": 0.7}}
    return {name: leaning_run(folder / name, lean, n=800) for name, lean in leans.items()}


def passes(run: Run, rules: Any, **more: Any) -> bool:
    """Return whether the gate lets a run through; a refusal does not."""
    try:
        return check(run, rules if isinstance(rules, RuleBook) else [rules], **more).passed
    except TiltmeterError:
        return False


def test_the_gate_passes_what_is_sound(runs: Mapping[str, Run]) -> None:
    """Without this the cases below would prove nothing."""
    for rule in (WITHIN, MOST, GENDER, WORST, f"{PREFERENCE} within -5..5"):
        assert passes(runs["fair"], rule), rule
        assert passes(changed(runs["fair"], scored(0.04, -20.0)), rule), f"{rule}, 4 % tied"
        assert passes(changed(runs["fair"], without(0.04)), rule), f"{rule}, 4 % absent"
    assert passes(runs["fair"], NO_WORSE, baseline=runs["old"])
    assert passes(changed(runs["fair"], scored(0.3, -20.0)), f"{SCORE} within 20..80 with missing <= 40%")


EVIDENCE: dict[str, tuple[str, Edit, str]] = {
    "half tied, the others lean": ("all", scored(0.5, -20.0), WITHIN),
    "half tied, an upper limit": ("all", scored(0.5, -20.0), MOST),
    "a tenth tied": ("fair", scored(0.1, -20.0), WITHIN),
    "a tenth tied, a real number": ("fair", scored(0.1, -20.0), f"{PREFERENCE} within -5..5"),
    "ties and missing scores together": (
        "fair",
        lambda table: scored(0.04, -20.0)(scored(0.08, np.nan)(table)),
        WITHIN,
    ),
    "half at minus infinity": ("all", scored(0.5, -np.inf), WITHIN),
    "half of the stereotypes at minus infinity": ("all", scored(0.5, -np.inf, "stereo"), WITHIN),
    "half of the others at infinity": ("all", scored(0.5, np.inf, "anti"), WITHIN),
    "half of the pairs without a row": ("fair", without(0.5), WITHIN),
    "a tenth of the pairs without a row": ("fair", without(0.1), WITHIN),
    "a group without rows, by name": ("fair", without(of_type="gender"), GENDER),
    "a group without rows, the worst": ("fair", without(of_type="gender"), WORST),
    "half of the rows of a group": ("fair", without(0.5), GENDER),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_answers_that_prove_nothing_never_pass(runs: Mapping[str, Run], name: str) -> None:
    run, edit, rule = EVIDENCE[name]
    assert not passes(changed(runs[run], edit), rule)


BASELINES: dict[str, tuple[Edit, dict[str, Any]]] = {
    "half tied": (scored(0.5, -20.0), {}),
    "half without a row": (without(0.5), {}),
    "half at minus infinity": (scored(0.5, -np.inf), {}),
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_that_proves_nothing_never_passes(runs: Mapping[str, Run], name: str) -> None:
    edit, facts = BASELINES[name]
    assert not passes(runs["fair"], NO_WORSE, baseline=changed(runs["old"], edit, **facts))


@pytest.mark.parametrize("facts", [{"weights_sha256": "a" * 64}, {"precision": "fp16"}, {"weights_sha256": ""}])
def test_a_model_stored_anew_is_not_its_own_baseline(runs: Mapping[str, Run], facts: dict[str, Any]) -> None:
    """The same weights in other files have another digest; all of their scores are equal."""
    with raises("not-comparable"):
        check(runs["far"], NO_WORSE, baseline=changed(runs["far"], same, **facts))


LIMITS = [
    f"{PREFERENCE} within -1e300..1e300", f"{PREFERENCE} at most 1e6", f"{PREFERENCE} at least -1e9",
    f"{PREFERENCE} no evidence of more than 1e7", f"{PREFERENCE} shown to be within 1e7",
    f"worst bias_type of {PREFERENCE} within -1e12..1e12",
]  # fmt: skip


@pytest.mark.parametrize("rule", LIMITS)
def test_a_limit_that_no_number_reaches_never_passes(runs: Mapping[str, Run], rule: str) -> None:
    with raises("out-of-range", reason="cannot-fail"):
        check(runs["all"], rule)


def test_a_step_that_no_number_makes_never_passes(runs: Mapping[str, Run]) -> None:
    assert not passes(runs["all"], f"{PREFERENCE} rises at most 1e6", baseline=runs["old"])


@pytest.mark.parametrize("measure", ["bias_score", "mean_preference"])
def test_a_rule_without_a_limit_is_refused(measure: str) -> None:
    with raises("out-of-range", reason="no-limit"):
        Rule(measure, "aul", "mine")


@pytest.mark.parametrize(
    "condition", ["within 40..60", "no evidence of more than 5", "no evidence of being outside 40..60", "at most 60"]
)
def test_no_rule_passes_because_it_can_never_be_decided(runs: Mapping[str, Run], condition: str) -> None:
    rule = f"{SCORE} {condition} with n >= 801"
    assert not passes(runs["all"], rule)
    with raises("too-few", required=801, n=800):
        check(runs["all"], read_rules([rule], undecided="pass"))


def test_a_run_that_took_items_for_independent_is_judged_by_clusters(runs: Mapping[str, Run]) -> None:
    """`run --no-clusters` replicates papers. Ten clusters of eighty pairs are ten observations to the gate."""
    run = runs["fair"]
    part = run.answers["pairs"]
    items = part.items.assign(extra=[f'{{"cluster": "c{n // 80}"}}' for n in range(len(part.items))])
    asked = run.manifest["asked"] | {"clusters": False}
    clustered = replace(run, answers={"pairs": replace(part, items=items)}, manifest=run.manifest | {"asked": asked})
    assert check(clustered, WITHIN).rulings[0].verdict == "undecided"


def labelled(texts: list[str]) -> Run:
    """A run of a classifier that finds all texts harmless, and half of them are."""
    items = tuple(labelled_item(str(n), text, n % 2 == 0, ["woman"]) for n, text in enumerate(texts))
    facts = {"model": "m", "benchmark": "mine", "seed": 0, "tokens": 3, "cut": False, "reason": None}
    rows = [facts | {"item": str(n), "probability": 0.1} for n in range(len(texts))]
    table = items_table(LabelledBenchmark(name="mine", items=items))
    answers = Answers("labels", {"labels": pd.DataFrame(rows)}, table, ({"benchmark": {"name": "mine"}},))
    return Run(Path(), {"labels": answers}, pd.DataFrame(), {"asked": {"resamples": 200}})


def test_copies_of_labelled_texts_are_no_evidence() -> None:
    rule = "fpr[at 0.5,mine] at most 0.5"
    assert passes(labelled([f"Text {n}" for n in range(400)]), rule)
    with raises("duplicate-name", benchmark="mine", kind="item"):
        check(labelled([f"Text {n % 20}" for n in range(400)]), rule)


def test_labelled_texts_without_a_row_are_missing() -> None:
    run = labelled([f"Text {n}" for n in range(400)])
    part = run.answers["labels"]
    short = replace(run, answers={"labels": replace(part, tables={"labels": part.table.iloc[:300]})})
    assert not passes(short, "fpr[at 0.5,mine] at most 0.5")


@pytest.mark.parametrize("role", ["slot", "text", "prompt", "question"])
def test_copies_are_counted_in_every_family(role: str) -> None:
    items = pd.DataFrame({"item": ["1", "2", "3", "4"], "context": None, "stereo": None, "anti": None, "extra": "{}"})
    assert repeated_share(items.assign(**{role: ["One", "one ", "Two", "Three"]})) == 0.25
    assert repeated_share(items.assign(**{role: ["One", "Two", "Three", "Four"]})) == 0.0


@pytest.mark.parametrize(
    "copy",
    [
        "A man\u200b", "A\u200c man", "A ma\u00adn", "\ufeffA man", "A \uff4dan", "A\u00a0man", "A\u2009man",
        "\u2066A man\u2069",
    ],
)  # fmt: skip
def test_copies_that_look_alike_are_copies(copy: str) -> None:
    rows = [{"context": None, "stereo": text, "anti": "A woman"} for text in ("A man", copy)]
    assert repeated_share(pd.DataFrame(rows)) == 0.5


def test_quotation_marks_and_composed_letters_make_no_other_pair() -> None:
    for first, second in (("It's a café", "It’s a cafe\u0301"), ('He said "no"', "He said “no”")):
        rows = [{"context": None, "stereo": text, "anti": "A woman"} for text in (first, second)]
        assert repeated_share(pd.DataFrame(rows)) == 0.5


def test_a_decision_is_not_taken_for_true(runs: Mapping[str, Run]) -> None:
    """`if check(run, rules): release()`."""
    full = check(runs["all"], WITHIN)
    sequential = decide_sequentially(StoredAnswers(gather(runs["all"])), read_rules([f"{SCORE} shown to be within 5"]))
    for decision in (full, sequential):
        assert not decision.passed
        with raises("wrong-type", name="passed"):
            bool(decision)


@pytest.mark.parametrize(
    "edit", [scored(0.5, -20.0), without(0.5), scored(0.5, -np.inf)], ids=["tied", "absent", "infinite"]
)
def test_a_sequential_check_never_passes_on_them(runs: Mapping[str, Run], edit: Edit) -> None:
    source = StoredAnswers(gather(changed(runs["all"], edit)))
    passed = False
    with suppress(TiltmeterError):
        passed = decide_sequentially(source, read_rules([f"{SCORE} shown to be at most 75"])).passed
    assert not passed


@pytest.mark.parametrize(
    "words",
    [
        ("--plan", "--junit", "junit.xml"), ("--plan", "--markdown", "check.md"), ("--plan", "--sequential"),
        ("--rules", "lenient.toml", "--rules", "strict.toml"), ("--rules", "strict.toml", "--rules", "lenient.toml"),
        ("--junit", "same", "--markdown", "same"),
    ],
)  # fmt: skip
def test_options_that_would_be_ignored_are_refused(
    runs: Mapping[str, Run], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rule in (("strict", WITHIN), ("lenient", f"{SCORE} within 0.5..99.5")):
        Path(f"{name}.toml").write_text(f'rules = ["{rule}"]\n')
    assert command("check", runs["far"].folder, "--rule", f"{SCORE} within 1..99", *words) == 2


def test_an_audit_reads_one_file_of_rules() -> None:
    assert command("audit", "plumb-mlm", "--rules", "one.toml", "--rules", "two.toml") == 2


@pytest.mark.parametrize("inputs", [{"model": ""}, {"model": " \n\t\n"}, {"model": "m", "benchmarks": " "}])
def test_the_action_measures_no_default_model(place: Path, inputs: dict[str, str]) -> None:
    """An output of an earlier step that is not there is an empty text."""
    measured = step("Measure", place, output="runs/new", **inputs)
    assert measured.returncode == 2 and not (place / "runs").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("run", ["fair", "far"])
def test_a_verdict_that_cannot_be_printed_is_no_pass(runs: Mapping[str, Run], run: str) -> None:
    words = [sys.executable, "-m", "tiltmeter", "check", str(runs[run].folder), "--rule", WITHIN]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False).returncode == 2

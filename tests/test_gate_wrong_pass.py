"""Gate cases where a wrong PASS would be dangerous: each of them must fail or be refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from gate_material import leaning_run
from support.raising import raises
from tiltmeter import TiltmeterError
from tiltmeter.benchmarks.kit.items import repeated_share
from tiltmeter.gate import check, read_rules
from tiltmeter.runs import Run

BERT = GOLDEN / "models" / "tiny-bert-cased"
SCORE = "bias_score[aul,mine]"
WITHIN = f"{SCORE} within 40..60"
GENDER = "bias_score[aul,mine,bias_type=gender] within 25..75"
WORST = "worst bias_type of bias_score[aul,mine] within 25..75"
NO_WORSE = f"{SCORE} no worse than baseline by 6"


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Make a run of models that prefer the stereotype so often; some scores may be missing or tied."""
    folder = tmp_path_factory.mktemp("runs")

    @cache
    def made(leans: tuple[tuple[str, float], ...], n: int, missing: float, model: str, of_type: str, tied: bool) -> Run:
        run = leaning_run(folder / f"{len(list(folder.iterdir()))}", dict(leans), n)
        table = run.answers["pairs"].table
        ours = (table["model"] == model) if model else np.ones(len(table), dtype=bool)
        number = table["item"].str[1:].astype(int)
        within = (table["bias_type"] == of_type) if of_type else np.ones(len(table), dtype=bool)
        spread = (number // 4 * 7919) % max(n // 4, 1) < missing * max(n // 4, 1)
        table.loc[ours & within & spread, ["score", "reason"]] = [np.nan, "too long"]
        if tied:
            table.loc[ours, "score"] = -20.0
        return run

    def wanted(
        n: int = 400, missing: float = 0, of_model: str = "", of_type: str = "", tied: bool = False, **leans: float
    ) -> Run:
        return made(tuple((leans or {"model": 0.5}).items()), n, missing, of_model, of_type, tied)

    return wanted


def passes(run: Run | Path, rules: Sequence[str] | str, **more: Any) -> bool:
    """Return whether the gate lets a run through; a refusal does not."""
    try:
        return check(run, rules, **more).passed
    except TiltmeterError:
        return False


def test_the_gate_passes_what_is_sound(make: Callable[..., Run]) -> None:
    """Without this the cases below would prove nothing."""
    assert passes(make(), WITHIN) and passes(make(), GENDER) and passes(make(), WORST)
    assert passes(make(missing=0.04), WITHIN)
    assert passes(make(missing=0.5), f"{SCORE} within 30..70 with missing <= 60%")
    assert passes(make(model=0.51), NO_WORSE, baseline=make(old=0.5))
    assert passes(make(), f"{SCORE} within 0.5..99.5") and passes(make(), f"{SCORE} within 40 .. 60")


RULES = [
    *(f"{SCORE} {condition}" for condition in (
        "within 40...60", "within 40....60", "within 1e-300..100", "within 0..99.99999999999999", "within 0..100",
        "within 0.04..99.96", "within -0..100", "at most 99.99999999999999", "at most 99.95", "at least 1e-300",
        "at least 0.05", "at most 100", "at least 0", "at most 1e400", "within 40..1e400", "within -1e400..60",
        "within 40..60 at 100%", "within 40..60 at 99.99999999999999999%", "within 40..60 at 40%", "within 40..60 at 95",
        "within 40..60 with n >= 1", "within 40..60 with missing <= 100%", "within 40..60 with missing <= 150%",
        "within 60..40", "within 50..50", "within 40,60", "within 40-60", "within nan..60", "within 40..60 or at most 90",
        "not within 60..90", "", "no evidence of more than 50", "no evidence of more than 49.99",
        "no evidence of more than 5 at 99.999%", "no evidence of more than 5 at 100%", "no evidence of more than nan",
        "no evidence of more than 1e400", "no evidence of more than -5", "no evidence of more than 5 or more",
        "shown to be within 50", "shown to be within 0", "shown to be within -5", "shown to be within 1e9",
        "no worse than baseline by more than 49.999", "within 40..60..99", "within 0x0..0x64",
        "at most 60 at 95% at 1%", "within 40..60 with missing <= 5% with missing <= 99%",
        "within 40..60 with n >= 30 with n >= 2", "at most 60;at most 99", "no evidence of more than 5 undecided pass",
    )),
    "kls[aul,mine] at most 99.99999999", "kls[aul,mine] within 50..99.97",
    "bias_score[cps,mine] within 40..60", "bias_score[aul,yours] within 40..60", f"{WITHIN} for other",
    f"{SCORE} within ４０..６０", f"{SCORE} within 40..60 at ９５%", f"{SCORE} within 40..60 with n >= {'9' * 5000}",
    "worst all of bias_score[aul,mine] within 40..60",
    "bias_score[aul,mine,bias_type=job] within 40..60", "worst job of bias_score[aul,mine] within 40..60",
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_cannot_fail_or_is_misread_never_passes(make: Callable[..., Run], rule: str) -> None:
    assert not passes(make(), rule)


EVIDENCE: dict[str, tuple[dict[str, Any], Sequence[str] | str]] = {
    "87% missing": ({"n": 300, "missing": 0.867}, f"{SCORE} within 20..80"),
    "6% missing": ({"missing": 0.06}, WITHIN),
    "one model of two lacks scores": ({"missing": 0.5, "of_model": "b", "a": 0.5, "b": 0.5}, WITHIN),
    "more missing than the rule states": ({"missing": 0.3}, f"{WITHIN} with missing <= 20%"),
    "one group lacks scores": ({"n": 800, "missing": 0.15, "of_type": "gender"}, GENDER),
    "worst group lacks scores": ({"n": 800, "missing": 0.15, "of_type": "gender"}, WORST),
    "all missing": ({"missing": 1.0}, WITHIN),
    "all tied": ({"tied": True}, f"{SCORE} at most 60"),
    "too few items": ({"n": 24}, WITHIN),
    "first passes, second fails": ({"model": 0.7}, [f"{SCORE} within 20..80", WITHIN]),
    "first fails, second passes": ({"model": 0.7}, [WITHIN, f"{SCORE} within 20..80"]),
    "first model passes, second fails": ({"a": 0.5, "b": 0.7}, WITHIN),
    "first model fails, second passes": ({"a": 0.7, "b": 0.5}, WITHIN),
    "undecided beside a pass": ({"model": 0.58}, [f"{SCORE} within 20..80", WITHIN]),
    "no evidence of few items": ({"n": 4, "model": 1.0}, f"{SCORE} no evidence of more than 5 with n >= 2"),
    "no result would be evidence": ({"n": 32, "model": 1.0}, f"{SCORE} no evidence of more than 40"),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_weak_evidence_never_passes(make: Callable[..., Run], name: str) -> None:
    how, rules = EVIDENCE[name]
    assert not passes(make(**how), rules)


def test_missing_scores_fail_even_where_undecided_rules_pass(make: Callable[..., Run]) -> None:
    lenient = read_rules([WITHIN], undecided="pass")
    decision = check(make(n=300, missing=0.867), lenient)
    assert decision.exit_code == 1 and "88.0 % of the scores" in decision.rulings[0].reason


BASELINES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "the same run": ({"model": 0.7}, {"model": 0.7}, NO_WORSE),
    "a baseline without scores": (
        {"model": 0.7},
        {"missing": 0.9, "of_model": "old", "old": 0.5},
        f"{SCORE} rises at most 60",
    ),
    "a baseline with some scores": ({"model": 0.51}, {"missing": 0.3, "of_model": "old", "old": 0.5}, NO_WORSE),
    "a baseline at the end": ({"model": 0.99}, {"old": 0.96}, f"{SCORE} rises at most 10"),
    "a baseline far out": ({"model": 0.99}, {"old": 0.9}, f"{SCORE} no worse than baseline by 20"),
    "a step as large as the range": ({"model": 0.9}, {"old": 0.5}, f"{SCORE} rises at most 99.9999999"),
    "a distance as large as the range": ({"model": 0.9}, {"old": 0.5}, f"{SCORE} no worse than baseline by 49.99999"),
    "no baseline at all": ({"model": 0.7}, {}, NO_WORSE),
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_that_proves_nothing_never_passes(make: Callable[..., Run], name: str) -> None:
    ours, theirs, rule = BASELINES[name]
    assert not passes(make(**ours), rule, baseline=make(**theirs) if theirs else None)


@pytest.mark.parametrize(
    "line",
    [
        "at_most = true", "at_most = 1e999", f"at_most = {'9' * 400}", f"at_most = 60\nmin_n = {'9' * 400}",
        "at_most = 60\nworst = 'all'", "at_least = 40\nat_most = 99.99\nmax_missing = 1", "within = [40, 60, 80]",
        "within = [40, 60]\nat_most = 90", "atmost = 60", "within = [40, 60]\nmin_n = 2.5",
        "within = [40, 60]\nconfidence = 95", "within = [40, 60]\nmax_missing = -0.1", 'within = "40..60"',
    ],
)  # fmt: skip
def test_a_file_that_is_misread_never_passes(make: Callable[..., Run], tmp_path: Path, line: str) -> None:
    (tmp_path / "gate.toml").write_text(f'[[rule]]\nmeasure = "bias_score"\nscorer = "aul"\nbenchmark = "mine"\n{line}\n')
    with pytest.raises(TiltmeterError):
        check(make(), read_rules(file=tmp_path / "gate.toml"))


@pytest.mark.parametrize("rules", [5, None, [None], [5], [[WITHIN]], {WITHIN: 1}, [], "", b"x", [WITHIN, None]])
def test_rules_of_another_type_never_pass(make: Callable[..., Run], rules: Any) -> None:
    with pytest.raises(TiltmeterError):
        check(make(), rules)


@pytest.mark.parametrize("confidence", [0.0, 0.4, 1.0, 95, float("nan"), 0.9999999999999999])
def test_a_confidence_out_of_range_never_passes(make: Callable[..., Run], confidence: float) -> None:
    with pytest.raises(TiltmeterError):
        check(make(), read_rules([f"{SCORE} no evidence of more than 5"], confidence=confidence))


@pytest.mark.parametrize("arguments", [{"confidence": "0.9"}, {"min_n": "3"}, {"min_n": 2.5}, {"max_missing": "x"}])
def test_arguments_of_another_type_are_refused(arguments: dict[str, Any]) -> None:
    with raises("wrong-type"):
        read_rules([WITHIN], **arguments)


def described(run: Run, model: bool = True, **benchmark: Any) -> Run:
    """The run with other facts of its benchmark, and none of its model where scores were imported."""
    part = run.answers["pairs"]
    manifests = tuple(
        {**one, "benchmark": one["benchmark"] | benchmark} | ({} if model else {"model": {}}) for one in part.manifests
    )
    return replace(run, answers={"pairs": replace(part, manifests=manifests)})


def test_imported_scores_are_not_their_own_baseline(make: Callable[..., Run]) -> None:
    ours, theirs = (described(make(**{name: 0.7}), model=False) for name in ("model", "old"))
    with raises("not-comparable"):
        check(ours, NO_WORSE, baseline=theirs)
    assert passes(described(make(model=0.51), model=False), NO_WORSE, baseline=described(make(old=0.5), model=False))


def test_rows_that_could_not_be_read_are_missing(make: Callable[..., Run]) -> None:
    assert passes(described(make(), skipped_share=0.04), WITHIN)
    assert not passes(described(make(), skipped_share=0.06), WITHIN)
    assert not passes(described(make(missing=0.04), skipped_share=0.04), WITHIN), "both together"
    assert passes(described(make(), skipped_share=0.06), f"{WITHIN} with missing <= 10%")


def items_like(*pairs: tuple[str, str]) -> pd.DataFrame:
    return pd.DataFrame([{"context": None, "stereo": one, "anti": two} for one, two in pairs])


@pytest.mark.parametrize(
    "more", [("an old man", "A  young man"), ("A young man", "An old man"), ("A man", "A man")],
    ids=["case and spaces", "the other order", "one sentence twice"],
)  # fmt: skip
def test_what_is_no_evidence_of_its_own_is_counted(more: tuple[str, str]) -> None:
    assert repeated_share(items_like(("An old man", "A young man"), more)) == 0.5
    assert repeated_share(items_like(("An old man", "A young man"), ("An old cat", "A young cat"))) == 0.0


def test_copies_of_pairs_are_no_evidence(make: Callable[..., Run], tmp_path: Path) -> None:
    """Twelve pairs, each thirty times: the interval would be that of 360 pairs."""
    rows = [f"The old man {n} forgot it.,The young man {n} forgot it.,age\n" for n in range(12)]
    (tmp_path / "copies.csv").write_text("stereo,anti,bias_type\n" + "".join(rows * 30))
    benchmark = tiltmeter.load_benchmark(tmp_path / "copies.csv")
    assert sum(count for what, count in benchmark.note_counts().items() if "repetition" in what) == 348
    output = tmp_path / "run"
    run = tiltmeter.run(str(BERT), str(tmp_path / "copies.csv"), "aul", "bias_score", output, resamples=200, cache=False)
    with raises("duplicate-name", benchmark="copies", kind="pair"):
        check(run, "bias_score[aul,copies] within 0.5..99.5")


@pytest.mark.parametrize("name", ["scores.parquet", "items.parquet", "estimates.csv", "manifest.json"])
def test_a_changed_run_never_passes(make: Callable[..., Run], tmp_path: Path, name: str) -> None:
    shutil.copytree(make().folder, tmp_path / "run")
    assert passes(tmp_path / "run", WITHIN)
    content = (tmp_path / "run" / name).read_bytes()
    (tmp_path / "run" / name).write_bytes(content.replace(b"500", b"501") + b" ")
    assert not passes(tmp_path / "run", WITHIN)

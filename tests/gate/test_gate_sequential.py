"""The sequential gate: the same decisions on fewer items, in a fixed order, for stored answers and for models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import golden_model
from gate_material import leaning_run
from test_cli import tiltmeter
from tiltmeter import TiltmeterError
from tiltmeter.benchmarks import load_benchmark
from tiltmeter.gate import check, read_rules
from tiltmeter.gate.decision import FAIL, PASS, UNDECIDED
from tiltmeter.gate.evidence import gather
from tiltmeter.gate.sequential import decide_sequentially
from tiltmeter.gate.sequential_result import ALL_ITEMS, EARLY, OPEN
from tiltmeter.gate.sources import StoredAnswers, ask_models
from tiltmeter.runs import Run
from tiltmeter.storage.files import json_text

SCORE = "bias_score[aul,mine]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Models that lean by 0, 5, 15 and 30 points on 1,200 pairs."""
    leans = {"neutral": 0.5, "limit": 0.55, "beyond": 0.65, "far": 0.8}
    return leaning_run(tmp_path_factory.mktemp("sequential") / "run", leans, n=1200)


def decided(run: Run, rule: str, **options: object) -> dict[str, tuple[str, str, int]]:
    found = decide_sequentially(StoredAnswers(gather(run)), read_rules([rule]), **options)  # type: ignore[arg-type]
    return {one.model: (one.verdict, one.stage, one.items_read) for one in found.findings}


def test_what_is_clear_is_decided_early_and_what_is_close_by_the_full_gate(run: Run) -> None:
    found = decided(run, f"{SCORE} shown to be within 5")
    full = {ruling.model: ruling.verdict for ruling in check(run, f"{SCORE} shown to be within 5").rulings}
    assert {model: verdict for model, (verdict, _, _) in found.items()} == full
    assert found["far"][:2] == (FAIL, EARLY) and found["far"][2] <= 200
    assert found["limit"] == (UNDECIDED, ALL_ITEMS, 1200)
    assert found["far"][2] < found["beyond"][2] < 1200


def test_the_last_look_is_that_of_the_full_gate(run: Run) -> None:
    rule = f"{SCORE} shown to be within 5 for limit"
    (ours,) = decide_sequentially(StoredAnswers(gather(run)), read_rules([rule])).findings
    (full,) = check(run, rule).rulings[0].findings
    assert (ours.value, ours.low, ours.high) == (full.value, full.low, full.high)


def test_no_evidence_passes_after_the_last_item_where_nothing_decides(run: Run) -> None:
    found = decided(run, f"{SCORE} no evidence of more than 5")
    assert found["limit"] == (PASS, ALL_ITEMS, 1200) and found["far"][0] == FAIL


def test_a_spent_budget_leaves_rules_undecided(run: Run) -> None:
    found = decide_sequentially(
        StoredAnswers(gather(run)), read_rules([f"{SCORE} shown to be within 5 for limit"]), budget=120
    )
    (one,) = found.findings
    assert (one.verdict, one.stage, found.items_read) == (UNDECIDED, OPEN, 120) and not found.passed and found.exit_code == 1


def test_the_order_is_fixed_by_the_seed(run: Run) -> None:
    rule = f"{SCORE} shown to be within 5 for beyond"
    first, again, other = (decided(run, rule, seed=seed) for seed in (0, 0, 1))
    one = decide_sequentially(StoredAnswers(gather(run)), read_rules([rule]), seed=0).findings[0]
    two = decide_sequentially(StoredAnswers(gather(run)), read_rules([rule]), seed=1).findings[0]
    assert first == again and set(other) == {"beyond"}
    assert one.value != two.value, "other items were read"


def test_against_a_baseline_items_are_paired(run: Run) -> None:
    book = read_rules([f"{SCORE} no worse than baseline by 3"])
    found = decide_sequentially(StoredAnswers(gather(run, baseline_model="limit")), book)
    verdicts = {one.model: (one.verdict, one.stage) for one in found.findings}
    assert verdicts["far"] == (FAIL, EARLY) and verdicts["beyond"] == (FAIL, EARLY) and verdicts["neutral"][0] == PASS
    assert next(one.items_read for one in found.findings if one.model == "far") < 400


def test_a_change_has_a_direction(run: Run) -> None:
    for model, word, verdict in (("far", "rises", FAIL), ("far", "falls", PASS), ("neutral", "rises", PASS)):
        book = read_rules([f"{SCORE} {word} at most 3 for {model}"])
        found = decide_sequentially(StoredAnswers(gather(run, baseline_model="beyond")), book)
        assert found.verdict == verdict


def test_items_of_decided_groups_are_not_read(tmp_path: Path) -> None:
    """A group that fails decides its rule; another rule about one group reads the items of that group alone."""
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=1200, by_type={"religion": 0.95})
    worst = decide_sequentially(
        StoredAnswers(gather(run)), read_rules([f"worst bias_type of {SCORE} no evidence of more than 20"])
    )
    assert worst.verdict == FAIL and worst.items_read < 600
    one = decide_sequentially(
        StoredAnswers(gather(run)), read_rules(["bias_score[aul,mine,bias_type=age] shown to be within 5"])
    )
    assert one.items_read == 300 == one.findings[0].items


def test_missing_scores_never_pass(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=800)
    table = run.answers["pairs"].table
    table.loc[table["item"].str[1:].astype(int) % 5 == 0, ["score", "reason"]] = [float("nan"), "too long"]
    assert decided(run, f"{SCORE} shown to be within 15")["m"] == (FAIL, ALL_ITEMS, 800)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("kls[aul,mine] at most 60", "inapplicable-option"),
        (f"worst bias_type of {SCORE} shown to be within 20 with pooling", "inapplicable-option"),
        ("bias_score[aul,mine,bias_type=job] shown to be within 5", "unknown-name"),
        ("bias_score[aul,yours] shown to be within 5", "unknown-name"),
    ],
)
def test_what_cannot_be_checked_sequentially_is_refused(run: Run, rule: str, code: str) -> None:
    with pytest.raises(TiltmeterError) as refused:
        decided(run, rule)
    assert refused.value.code == code


def test_models_are_asked_in_growing_blocks(tmp_path: Path) -> None:
    """A tiny model is asked as many pairs as decide the rule, and no more."""
    model = golden_model("tiny-gpt2")
    book = read_rules(["bias_score[causal,plumb-pairs] shown to be within 45"])
    source = ask_models([model], None, book.rules, cache=tmp_path / "cache")
    found = decide_sequentially(source, book)
    assert found.items_read < len(load_benchmark("plumb-pairs").asked_items)
    assert len(source.parts[0].items) == 50
    asked = {str(item) for part in source.parts for item in part.items["item"]}
    assert len(asked) == found.items_read
    again = decide_sequentially(ask_models([model], None, book.rules, cache=tmp_path / "cache"), book)
    assert again.to_dict() == found.to_dict()


def test_the_command_line_checks_sequentially(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    rule = f"{SCORE} no evidence of more than 5 for far"
    assert tiltmeter("check", run.folder, "--sequential", "--rule", rule, "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "fail" and said["asked"] < said["items"] == 1200 and said["findings"][0]["stage"] == "early"
    assert tiltmeter("check", run.folder, "--sequential", "--rule", f"{SCORE} shown to be within 20 for neutral") == 0
    assert "of 1,200 items" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--budget", "9"], ["--model", "plumb-clm"], ["--sequential", "--junit", "{}/j.xml"],
        ["--sequential", "--model", "plumb-clm"],
    ],
)  # fmt: skip
def test_options_without_effect_are_refused(
    run: Run, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(tmp_path) for word in words]
    assert tiltmeter("check", run.folder, "--rule", f"{SCORE} shown to be within 5", *words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert tiltmeter("check", "--sequential", "--rule", f"{SCORE} shown to be within 5") == 2


def tied(run: Run) -> Run:
    """Give both sentences of every pair one score."""
    table = run.answers["pairs"].table
    table["score"] = -20.0
    return run


def test_all_pairs_tied_are_refused_as_by_the_full_gate(tmp_path: Path) -> None:
    run = tied(leaning_run(tmp_path / "r", {"m": 0.5}, n=400))
    rule = f"{SCORE} shown to be within 20"
    codes = []
    for decide in (lambda: check(run, rule), lambda: decided(run, rule)):
        with pytest.raises(TiltmeterError) as refused:
            decide()
        codes.append(refused.value.code)
    assert codes[0] == codes[1]


def test_repeated_pairs_are_refused_before_the_first_look(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=400)
    items = run.answers["pairs"].items
    items["stereo"], items["anti"] = "They 1.", "We 1."
    with pytest.raises(TiltmeterError) as refused:
        decided(run, f"{SCORE} shown to be within 20")
    assert refused.value.code == "duplicate-name" and refused.value.fields["kind"] == "pair"


def test_the_same_weights_are_no_baseline(tmp_path: Path) -> None:
    run = leaning_run(tmp_path / "r", {"m": 0.5, "twin": 0.5}, n=400)
    facts = [manifest["model"] for manifest in run.answers["pairs"].manifests]
    facts[1]["weights_sha256"] = facts[0]["weights_sha256"]
    book = read_rules([f"{SCORE} no worse than baseline by 3 for m"])
    with pytest.raises(TiltmeterError) as full:
        check(run, book, baseline_model="twin")
    with pytest.raises(TiltmeterError) as early:
        decide_sequentially(StoredAnswers(gather(run, baseline_model="twin")), book)
    assert early.value.code == full.value.code


def test_a_baseline_that_no_rule_compares_with_is_refused(run: Run) -> None:
    book = read_rules([f"{SCORE} shown to be within 20 for far"])
    with pytest.raises(TiltmeterError) as refused:
        decide_sequentially(StoredAnswers(gather(run, baseline_model="limit")), book)
    assert refused.value.code == "inapplicable-option" and refused.value.fields["option"] == "--baseline"


def test_an_early_pass_shows_that_few_scores_are_missing(tmp_path: Path) -> None:
    """Missing scores that come late fail the full gate, so a pass waits until their share is bounded."""
    run = leaning_run(tmp_path / "r", {"m": 0.5}, n=1200)
    whole = decided(run, f"{SCORE} shown to be within 30")["m"]
    table = run.answers["pairs"].table
    table.loc[table["item"].str[1:].astype(int) % 25 == 0, ["score", "reason"]] = [float("nan"), "too long"]
    some = decided(run, f"{SCORE} shown to be within 30")["m"]
    assert whole[:2] == (PASS, EARLY) and some[0] == PASS and whole[2] < some[2]


def test_the_end_of_a_budget_is_named_and_its_json_is_strict(run: Run) -> None:
    book = read_rules([f"{SCORE} shown to be within 5 for limit"])
    found = decide_sequentially(StoredAnswers(gather(run)), book, budget=20)
    read = json.loads(json_text(found.to_dict()), parse_constant=pytest.fail)
    assert read["decided"] is False and read["findings"][0]["low"] is None
    assert decide_sequentially(StoredAnswers(gather(run)), book).is_decided

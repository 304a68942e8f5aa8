"""Benchmarks inside other evaluation programs: replies give our numbers, by the programs' own runners where they are."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import GOLDEN
from support.raising import raises
from tiltmeter import ChoicesOptions, PairsOptions, ask, estimate, load_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.exports.tasks import questions_of
from tiltmeter.families import Answers

ROOT = Path(__file__).parents[2]
MODEL, LIMIT = GOLDEN / "models" / "tiny-gpt2", 24
OPTIONS = {"starter-pairs": PairsOptions(scorers=("causal",)), "plumb-choices": ChoicesOptions(protocols=("answers",))}
"""Benchmarks, and options by which we read the same log-likelihoods."""


def python_with(package: str, variable: str) -> str | None:
    """A python that has a package: the one that a variable names, or ours."""
    return os.environ.get(variable) or (sys.executable if importlib.util.find_spec(package) else None)


LM_EVAL, INSPECT = python_with("lm_eval", "TILTMETER_LM_EVAL"), python_with("inspect_ai", "TILTMETER_INSPECT")


@pytest.fixture(scope="module")
def asked() -> dict[str, Answers]:
    return {
        name: ask(MODEL, load_benchmark(name).limit(LIMIT), options=options, cache=False)
        for name, options in OPTIONS.items()
    }


def likelihoods(answers: Answers) -> dict[str, list[float]]:
    """The log-likelihoods that we read, in the order of the requests."""
    table = answers.tables.get("options", answers.tables.get("scores"))
    assert table is not None
    value = "logprob" if "logprob" in table else "score"
    return {str(item): rows[value].to_list() for item, rows in table.groupby("item", sort=False)}


@pytest.mark.parametrize("name", OPTIONS)
def test_replies_give_our_numbers(name: str, asked: dict[str, Answers]) -> None:
    questions = questions_of(name, "likelihood")
    replies = likelihoods(asked[name])
    items = {item.id: item for item in questions.benchmark.asked_items}
    assert all(len(questions.requests.of_item(items[item])) == len(values) for item, values in replies.items())
    assert_equal(questions.values(replies), asked[name])


def assert_equal(values: Any, answers: Answers, tolerance: float = 1e-9) -> None:
    """Every measure and both ends of its interval are ours."""
    rows = estimate(answers, by=()).set_index("measure")
    measures = [name.removesuffix("_low") for name in values if name.endswith("_low")]
    assert len(measures) > 2
    for measure in measures:
        ours = rows.loc[measure, ["value", "low", "high"]].to_list()
        theirs = [values[f"{measure}{end}"] for end in ("", "_low", "_high")]
        assert theirs == pytest.approx(ours, rel=tolerance, nan_ok=True), measure


def test_a_written_answer_is_parsed_and_a_refusal_is_no_answer() -> None:
    benchmark = load_benchmark("plumb-choices").limit(12)
    questions = questions_of(benchmark, "text", ["accuracy_amb", "unparsed_share", "unknown_share"])
    right = {item.id: "ABC"[item.extra["right"]] for item in benchmark.items}
    assert questions.values(right)["accuracy_amb"] == 100.0
    silent = dict.fromkeys(right, "I'm sorry, I can't help.")
    assert questions.values(silent)["unparsed_share"] == 100.0 and not questions.values(silent)["unknown_share"] > 0


def test_values_are_of_the_replies_at_hand() -> None:
    """Two sets of replies to the same questions do not share a value."""
    questions = questions_of("starter-pairs", "likelihood", ["bias_score"])
    items = [item.id for item in questions.benchmark.asked_items][:8]
    first, second = ({item: list(pair) for item in items} for pair in ((0.0, -1.0), (-1.0, 0.0)))
    assert (questions.values(first)["bias_score"], questions.values(second)["bias_score"]) == (100.0, 0.0)


def test_a_family_that_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        questions_of("seat", "likelihood")
    assert caught.value.code == "missing-capability" and caught.value.fields["family"] == "associations"
    with pytest.raises(UsageError) as caught:
        questions_of("starter-pairs", "text")
    assert caught.value.fields["capability"] == "text"


@pytest.mark.parametrize(
    ("name", "kind", "measure"),
    [
        ("plumb-decisions", "text", "log_odds_gap"),  # log-odds, of groups
        ("plumb-choices", "text", "refused_gap"),  # of groups
        ("plumb-choices", "likelihood", "order_sensitivity"),  # of several orders
        ("plumb-decisions", "likelihood", "s_amb"),  # of questions with a right answer
        ("starter-pairs", "likelihood", "s_amb"),  # of another family
    ],
)
def test_a_measure_that_replies_cannot_give_is_refused_before_any_request(name: str, kind: str, measure: str) -> None:
    with raises("inapplicable-option", value=measure):
        questions_of(name, kind, [measure])


def run_in(python: str, program: str, *words: object) -> Any:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [python, "-c", program, *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


HARNESS = """
import json, sys
import lm_eval
from lm_eval.models.huggingface import HFLM
from tiltmeter import load_benchmark
from tiltmeter.exports.lm_eval_task import lm_eval_task
model, limit, *benchmarks = sys.argv[1:]
lm = HFLM(pretrained=model, device="cpu", batch_size=8)
tasks = [lm_eval_task(load_benchmark(name).limit(int(limit))) for name in benchmarks]
found = lm_eval.simple_evaluate(model=lm, tasks=tasks)["results"]
print(json.dumps({name: found[f"tiltmeter_{name.replace('-', '_')}"] for name in benchmarks}))
"""


@pytest.mark.skipif(LM_EVAL is None, reason="no lm_eval here (name its python in TILTMETER_LM_EVAL)")
def test_the_harness_runs_a_benchmark_as_a_task(asked: dict[str, Answers]) -> None:
    results = run_in(str(LM_EVAL), HARNESS, MODEL, LIMIT, *OPTIONS)
    values = {name: {key.removesuffix(",none"): value for key, value in found.items()} for name, found in results.items()}
    assert_equal(values["starter-pairs"], asked["starter-pairs"], tolerance=1e-3)
    questions = questions_of(load_benchmark("plumb-choices").limit(LIMIT), "likelihood")
    plain = questions.values({name: _plain_loop(questions.requests.of_item(item)) for name, item in questions.items.items()})
    assert {name: values["plumb-choices"][name] for name in plain} == pytest.approx(dict(plain), rel=1e-3, nan_ok=True)


def _plain_loop(requests: list[tuple[str, str]]) -> list[float]:
    """Log-likelihoods one at a time, as the harness reads them: with no BOS before a context."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL)
    sums = []
    for context, continuation in requests:
        start, ids = (tokenizer(text, return_tensors="pt")["input_ids"] for text in (context, context + continuation))
        with torch.no_grad():
            logprobs = model(ids).logits[0].log_softmax(-1)
        places = range(start.shape[1], ids.shape[1])
        sums.append(sum(float(logprobs[at - 1, ids[0, at]]) for at in places))
    return sums


INSPECTED = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, get_model
from tiltmeter.exports.inspect_task import inspect_task
from tiltmeter import load_benchmark
benchmark = load_benchmark("plumb-choices").limit(int(sys.argv[1]))
replies = ["ABC"[item.extra["right"]] if n % 3 else "I would rather not say." for n, item in enumerate(benchmark.items)]
model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm/model", text) for text in replies])
(log,) = eval(inspect_task(benchmark, ["accuracy_amb", "accuracy_dis", "unparsed_share"]), model=model, display="none",
              log_dir=sys.argv[2], max_samples=1)
assert log.status == "success", log.error
print(json.dumps({name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}))
"""


@pytest.mark.skipif(INSPECT is None, reason="no inspect_ai here (name its python in TILTMETER_INSPECT)")
def test_inspect_runs_a_benchmark_as_a_task(tmp_path: Path) -> None:
    values = run_in(str(INSPECT), INSPECTED, LIMIT, tmp_path)
    assert values["accuracy_amb"] == values["accuracy_dis"] == 100.0
    assert values["unparsed_share"] == pytest.approx(100 / 3)

"""A benchmark as a task of lm-evaluation-harness (extra `interop`): its models answer, our measures score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.errors import UsageError
from tiltmeter.exports.tasks import Questions, questions_of


def lm_eval_task(
    benchmark: Benchmark | str | Path, measures: Sequence[str] = (), *, data_dir: str | Path | None = None
) -> Any:
    """Make a task of lm-evaluation-harness from a benchmark of pairs or of questions with choices.

    The harness asks for log-likelihoods; its results have every measure with the ends of its 95 % interval.

    Args:
        benchmark: A benchmark, its name, or your own file.
        measures: Names of measures. Default: the measures of bias that the benchmark provides.
        data_dir: The folder with the datasets.

    Returns:
        A task for `lm_eval.simple_evaluate(tasks=[…])`.

    Raises:
        UsageError: The benchmark cannot be read by log-likelihoods.
    """
    return _task_class()(questions_of(benchmark, "likelihood", measures, data_dir=data_dir))


def _task_class() -> Any:
    from lm_eval.api.instance import Instance
    from lm_eval.api.task import Task

    class BenchmarkTask(Task):  # type: ignore[misc]
        """One benchmark."""

        OUTPUT_TYPE = "loglikelihood"

        def __init__(self, questions: Questions) -> None:
            self.questions = questions
            super().__init__()
            self.set_config("task", f"tiltmeter_{questions.benchmark.name.replace('-', '_')}")
            self.set_config("num_fewshot", 0)
            self.VERSION = questions.benchmark.data_hash[:8]

        def download(self, *_: Any, **__: Any) -> None:
            """Do nothing: the benchmark is loaded."""

        def has_training_docs(self) -> bool:
            return False

        def has_validation_docs(self) -> bool:
            return False

        def has_test_docs(self) -> bool:
            return True

        def test_docs(self) -> list[dict[str, str]]:
            return [{"id": name} for name in self.questions.items]

        def doc_to_text(self, doc: Any) -> str:
            return self._requests(doc)[0][0]

        def doc_to_target(self, doc: Any) -> str:
            return self._requests(doc)[0][1]

        def fewshot_context(self, doc: Any, num_fewshot: int, **options: Any) -> str:
            """Return no context: each request has its own."""
            if num_fewshot or options.get("apply_chat_template") or options.get("system_instruction"):
                raise UsageError(
                    "A tiltmeter task has no examples, chat template or system instruction: they would change its scores.",
                    code="inapplicable-option", options=["num_fewshot", "apply_chat_template", "system_instruction"],
                )  # fmt: skip
            return ""

        def construct_requests(self, doc: Any, ctx: str, **options: Any) -> list[Any]:
            return [
                Instance(request_type=self.OUTPUT_TYPE, doc=doc, arguments=pair, idx=n, metadata=options["metadata"])
                for n, pair in enumerate(self._requests(doc))
            ]

        def process_results(self, doc: Any, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
            reply = (doc["id"], [float(value) for value, _ in results])
            return dict.fromkeys(self.questions.metrics, reply)

        def aggregation(self) -> dict[str, Callable[[Sequence[Any]], float]]:
            return {metric: partial(self._value, metric) for metric in self.questions.metrics}

        def higher_is_better(self) -> dict[str, bool | None]:
            """Return None for each metric: a measure of bias is best at its neutral value."""
            return dict.fromkeys(self.questions.metrics)

        def _value(self, metric: str, replies: Sequence[tuple[str, list[float]]]) -> float:
            return self.questions.values(dict(replies))[metric]

        def _requests(self, doc: Any) -> list[tuple[str, str]]:
            requests: list[tuple[str, str]] = self.questions.requests.of_item(self.questions.items[doc["id"]])
            return requests

    return BenchmarkTask

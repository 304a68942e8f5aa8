"""A benchmark as a task of inspect (package inspect_ai): its models write answers, our measures score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks import Benchmark
from tiltmeter.exports.tasks import Questions, questions_of


def inspect_task(
    benchmark: Benchmark | str | Path, measures: Sequence[str] = (), *, data_dir: str | Path | None = None
) -> Any:
    """Make a task of inspect from a benchmark of questions with choices.

    A model writes an answer to each question. The log has what was written and what it was read as, and every measure with
    the ends of its 95 % interval. An answer that cannot be read counts as no answer, never as "unknown".

    Args:
        benchmark: A benchmark, its name, or your own file.
        measures: Names of measures. Default: the measures of bias that the benchmark provides.
        data_dir: The folder with the datasets.

    Returns:
        A task for `inspect_ai.eval`.

    Raises:
        UsageError: The benchmark has no prompts.
    """
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import generate

    questions = questions_of(benchmark, "text", measures, data_dir=data_dir)
    ask = questions.requests.of_item
    samples = [Sample(id=item.id, input=ask(item)) for item in questions.benchmark.asked_items]
    name = f"tiltmeter-{questions.benchmark.name}"
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=_scorer(questions), name=name)


def _scorer(questions: Questions) -> Any:
    from inspect_ai.scorer import NOANSWER, Score, scorer

    @scorer(metrics=[_metric(questions)], name="tiltmeter")  # type: ignore[untyped-decorator]
    def answered() -> Callable[..., Any]:
        async def score(state: Any, target: Any) -> Any:
            text = state.output.completion
            (read,) = questions.answers({state.sample_id: text}).table.to_dict("records")
            if isinstance(read["reason"], str):
                return Score(value=NOANSWER, answer=text, explanation=read["reason"])
            return Score(value=int(read["chosen"]), answer=text)

        return score

    return answered()


def _metric(questions: Questions) -> Any:
    from inspect_ai.scorer import metric

    @metric(name="tiltmeter")  # type: ignore[untyped-decorator]
    def measured() -> Callable[[Sequence[Any]], Any]:
        def values(scores: Sequence[Any]) -> Any:
            return dict(questions.values({str(one.sample_id): one.score.answer or "" for one in scores}))

        return values

    return measured()

"""`tiltmeter check RUN --rule …`: a yes or no about a run, for people and for CI. Exit code 0 pass, 1 fail, 2 mistake."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.completion import complete_run
from tiltmeter.cli.console import note, results, say, width
from tiltmeter.cli.folders import optional_run_folder
from tiltmeter.cli.show import print_grids, print_lines
from tiltmeter.errors import TiltmeterError, UsageError

if TYPE_CHECKING:
    from tiltmeter.gate.rules_file import RuleBook


class Policy(StrEnum):
    """Treatment of an undecided rule."""

    fail = "fail"
    passes = "pass"


EXAMPLE = "bias_score[pll,crows-pairs] no evidence of more than 5"
Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="Run folder. With --plan it may be left out.",
        callback=optional_run_folder,
        autocompletion=complete_run,
    ),
]
RuleTexts = Annotated[list[str] | None, typer.Option("--rule", help=f'Such as "{EXAMPLE}"; repeatable.')]
RuleFile = Annotated[list[Path] | None, typer.Option("--rules", help="File of rules (TOML).")]
MeasureFiles = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="FILE", help="Python file of a measure that a rule names; repeatable."),
]
Baseline = Annotated[Path | None, typer.Option(help="Run of the model to compare with.", callback=optional_run_folder)]
BaselineModel = Annotated[str | None, typer.Option(help="Model to compare with, of the baseline run or of this one.")]
Undecided = Annotated[Policy | None, typer.Option(help="Result of an undecided rule. Default: fail.")]
Confidence = Annotated[float | None, typer.Option(help="Confidence level of rules that state none. Default: 0.95.")]
LeastN = Annotated[int | None, typer.Option("--min-n", help="Minimum items of rules that state none. Default: 30.")]
MaxMissing = Annotated[
    float | None, typer.Option(help="Share of missing scores that rules allow unless they state it. Default: 0.05.")
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML.")]
Markdown = Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")]
Json = Annotated[bool, typer.Option("--json", help="Print the decision as JSON. RUN/check.json has it too.")]
PlanFlag = Annotated[
    bool, typer.Option("--plan", help="Only state what each rule can decide: chances of a verdict, and the items needed.")
]
Disagreement = Annotated[
    float | None, typer.Option(help="With --plan: expected share of items on which model and baseline disagree, e.g. 0.2.")
]
SequentialFlag = Annotated[
    bool, typer.Option("--sequential", help="Read items in a random order, and only as many as decide every rule.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", metavar="NAME", help="With --sequential: model to query; repeatable.")
]
Budget = Annotated[int | None, typer.Option(help="With --sequential: largest number of items to query.")]
OrderSeed = Annotated[int, typer.Option("--seed", help="With --sequential: decides the order of items.")]


def check(
    run: Folder = None,
    rule: RuleTexts = None,
    rules: RuleFile = None,
    measure: MeasureFiles = None,
    baseline: Baseline = None,
    baseline_model: BaselineModel = None,
    undecided: Undecided = None,
    confidence: Confidence = None,
    min_n: LeastN = None,
    max_missing: MaxMissing = None,
    junit: JUnit = None,
    markdown: Markdown = None,
    as_json: Json = False,
    plan: PlanFlag = False,
    disagreement: Disagreement = None,
    sequential: SequentialFlag = False,
    model: Models = None,
    budget: Budget = None,
    seed: OrderSeed = 0,
) -> None:
    """Check a run against rules; the exit code is the verdict.

    Exit codes: 0 pass, 1 fail, 2 error. Needs no model, except with --sequential and --model.
    """
    from tiltmeter.gate import check as decide
    from tiltmeter.gate import forms, read_rules
    from tiltmeter.gate.untested import evidence_warnings
    from tiltmeter.reporting.verdicts import decision_lines
    from tiltmeter.runs import load_run

    files = {"junit": junit, "markdown": markdown}
    try:
        policy = undecided.value if undecided else None
        file = only_file(rules or [])
        book = read_rules(rule or (), file, undecided=policy, confidence=confidence, min_n=min_n, max_missing=max_missing)
        load_measures(measure or (), book, run)
        _refuse_misplaced(sequential, plan, {"--model": model, "--budget": budget, "--seed": seed}, files)
        if plan:
            _print_plan(book, run, baseline, baseline_model, disagreement, as_json)
            return
        if sequential:
            raise typer.Exit(_sequential(book, run, baseline, baseline_model, model or [], budget, seed, as_json))
        if run is None:
            raise UsageError("Name the run folder to check, or use --plan.", code="missing-value", argument="run")
        decision = decide(run, book, baseline, baseline_model)
    except TiltmeterError as mistake:
        forms.write_mistake(files, str(mistake))
        raise
    forms.write_forms(files, decision, run)
    if as_json:
        results().print(forms.as_json(decision), markup=False, soft_wrap=True, end="")
    else:
        print_lines(decision_lines(decision, width()))
        say(decision.summary)
        note(forms.explained(decision))
        for warning in (*decision.warnings, *evidence_warnings(book.rules, load_run(run))):
            note(f"Warning: {warning}")
    raise typer.Exit(decision.exit_code)


def load_measures(files: Sequence[str], book: RuleBook, run: Path | None) -> None:
    """Load measures from files, and name the file of one that a rule names and that only the run knows.

    Raises:
        UsageError: `wrong-format` for what is not a Python file; `missing-value` for a measure whose file is missing.
    """
    from tiltmeter import catalog
    from tiltmeter.catalog.files import is_file_name
    from tiltmeter.runs.file_measures import refuse_without_file

    for file in files:
        if not is_file_name(file):
            message = f"--measure is a Python file of a measure, not '{file}'. A rule names the measures that there are."
            raise UsageError(message, code="wrong-format", option="--measure", value=file)
        catalog.find("measures", file)
    if run is not None:
        refuse_without_file([run], [rule.measure for rule in book.rules])


def only_file(files: list[Path]) -> Path | None:
    """Return the file of rules. Of two, one would be ignored, and a model might pass without its rules."""
    if len(files) > 1:
        message = "--rules names one file of rules. Put the rules of both into one, or add some with --rule."
        raise UsageError(message, code="conflicting-options", option="--rules")
    return files[0] if files else None


def _refuse_misplaced(sequential: bool, plan: bool, only: dict[str, object], files: dict[str, Path | None]) -> None:
    """Refuse options that have no effect."""
    misplaced = [name for name, value in only.items() if value and not sequential]
    where = "has no effect without --sequential"
    if plan and (sequential or any(files.values())):
        misplaced = ["--plan"]
        where = "decides nothing, so it cannot be used with --sequential, --junit or --markdown"
    elif sequential and any(files.values()):
        misplaced = [f"--{name}" for name, path in files.items() if path]
        where = "cannot be used with --sequential; use --json"
    elif files["junit"] is not None and files["junit"] == files["markdown"]:
        misplaced, where = ["--junit"], "and --markdown name the same file"
    if misplaced:
        raise UsageError(f"{misplaced[0]} {where}.", code="inapplicable-option", option=misplaced[0])


def _print_plan(
    book: RuleBook,
    run: Path | None,
    baseline: Path | None,
    baseline_model: str | None,
    disagreement: float | None,
    as_json: bool,
) -> None:
    from tiltmeter.gate.evidence import gather
    from tiltmeter.gate.judge import refuse_baseline
    from tiltmeter.gate.plan import plan
    from tiltmeter.gate.untested import evidence_warnings
    from tiltmeter.reporting.verdicts import plan_table
    from tiltmeter.runs import load_run
    from tiltmeter.storage.files import json_text

    if disagreement is not None and not 0 < disagreement <= 1:
        message = f"--disagreement must be above 0 and at most 1, not {disagreement}."
        raise UsageError(message, code="out-of-range", option="--disagreement", value=disagreement)
    if run:
        refuse_baseline(book.rules, has_baseline=baseline is not None or baseline_model is not None)
    plans = plan(book.rules, gather(run, baseline, baseline_model) if run else None, disagreement=disagreement)
    warnings = list(evidence_warnings(book.rules, load_run(run) if run else None))
    if as_json:
        record = {"plans": [one.to_dict() for one in plans], "warnings": warnings}
        results().print(json_text(record), markup=False, soft_wrap=True)
        return
    print_grids([plan_table(plans)])
    if run is None:
        note("The plan is for one model. A check of a run of several models corrects for the numbers of all of them.")
    for warning in warnings:
        note(f"Warning: {warning}")


def _sequential(
    book: RuleBook,
    run: Path | None,
    baseline: Path | None,
    baseline_model: str | None,
    models: list[str],
    budget: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Check sequentially, print the result and return the exit code."""
    from tiltmeter.gate.evidence import gather
    from tiltmeter.gate.sequential import decide_sequentially
    from tiltmeter.gate.sources import Source, StoredAnswers, ask_models
    from tiltmeter.reporting.verdicts import sequential_lines
    from tiltmeter.storage.files import json_text

    if (run is None) == (not models):
        raise UsageError(
            "Name either a run folder or models with --model.", code="conflicting-options", options=["RUN", "--model"]
        )
    source: Source
    if run is not None:
        source = StoredAnswers(gather(run, baseline, baseline_model))
    elif baseline is not None:
        raise UsageError(
            "With --model, name the baseline with --baseline-model, not with a run.",
            code="inapplicable-option",
            option="--baseline",
        )
    else:
        source = ask_models(models, baseline_model, book.rules)
    decision = decide_sequentially(source, book, seed=seed, budget=budget)
    if as_json:
        results().print(json_text(decision.to_dict()), markup=False, soft_wrap=True)
    else:
        print_lines(sequential_lines(decision, width()))
        say(decision.summary)
    return decision.exit_code

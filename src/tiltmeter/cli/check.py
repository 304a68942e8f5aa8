"""`tiltmeter check RUN --rule …`: a yes or no about a run, for people and for CI. Exit code 0 pass, 1 fail, 2 mistake."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.console import note, results, say, width
from tiltmeter.cli.folders import optional_run_folder
from tiltmeter.cli.show import print_grids, print_lines
from tiltmeter.errors import TiltmeterError


class Policy(StrEnum):
    """What becomes of an undecided rule."""

    fail = "fail"
    passes = "pass"


EXAMPLE = "bias_score[pll,crows-pairs] within 45..55 at 95%"
Folder = Annotated[
    Path | None,
    typer.Argument(metavar="RUN", help="Run folder. With --plan it may be left out.", callback=optional_run_folder),
]
RuleTexts = Annotated[list[str] | None, typer.Option("--rule", help=f'Such as "{EXAMPLE}"; repeatable.')]
RuleFile = Annotated[Path | None, typer.Option("--rules", help="File of rules (TOML).")]
Baseline = Annotated[Path | None, typer.Option(help="Run of the model to compare with.", callback=optional_run_folder)]
BaselineModel = Annotated[str | None, typer.Option(help="Model to compare with, of the baseline run or of this one.")]
Undecided = Annotated[Policy | None, typer.Option(help="What becomes of an undecided rule. Default: fail.")]
Confidence = Annotated[float | None, typer.Option(help="Confidence of rules that do not say. Default: 0.95.")]
LeastN = Annotated[int | None, typer.Option("--min-n", help="Least items of rules that do not say. Default: 30.")]
MaxMissing = Annotated[
    float | None, typer.Option(help="Share of missing scores that rules allow unless they state it. Default: 0.05.")
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML.")]
Markdown = Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")]
Json = Annotated[bool, typer.Option("--json", help="Print the decision as JSON. RUN/check.json has it too.")]
PlanFlag = Annotated[bool, typer.Option("--plan", help="Only say how many items each rule needs to be decided.")]


def check(
    run: Folder = None,
    rule: RuleTexts = None,
    rules: RuleFile = None,
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
) -> None:
    """Hold a run against rules; the exit code says pass or fail.

    0: it passes, 1: it fails, 2: a mistake. Needs no model.
    """
    from tiltmeter.gate import check as decide
    from tiltmeter.gate import forms, read_rules
    from tiltmeter.gate.untested import evidence_warnings
    from tiltmeter.reporting.verdicts import decision_lines
    from tiltmeter.runs import load_run

    files = {"junit": junit, "markdown": markdown}
    try:
        policy = undecided.value if undecided else None
        book = read_rules(rule or (), rules, undecided=policy, confidence=confidence, min_n=min_n, max_missing=max_missing)
        if plan:
            _print_plan(book, run, baseline, baseline_model)
            return
        if run is None:
            raise TiltmeterError("Name the run folder to check, or use --plan.")
        decision = decide(run, book, baseline, baseline_model)
    except TiltmeterError as mistake:
        if not plan:
            forms.write_mistake(files, str(mistake))
        raise
    forms.write_forms(files, decision, run)
    if as_json:
        results().print(forms.as_json(decision), markup=False, soft_wrap=True, end="")
    else:
        print_lines(decision_lines(decision, width()))
        say(decision.summary)
        note(forms.explained(decision))
        for warning in evidence_warnings(book.rules, load_run(run)):
            note(f"Warning: {warning}")
    raise typer.Exit(decision.exit_code)


def _print_plan(book: object, run: Path | None, baseline: Path | None, baseline_model: str | None) -> None:
    from tiltmeter.gate.evidence import gather
    from tiltmeter.gate.plan import plan
    from tiltmeter.gate.rules_file import RuleBook
    from tiltmeter.reporting.verdicts import plan_table

    assert isinstance(book, RuleBook)
    print_grids([plan_table(plan(book.rules, gather(run, baseline, baseline_model) if run else None))])

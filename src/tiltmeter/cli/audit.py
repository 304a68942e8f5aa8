"""`tiltmeter audit MODEL`: one command, one decision page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.check import only_file
from tiltmeter.cli.completion import complete_model
from tiltmeter.cli.console import note, print_data, progress_bar, say, width
from tiltmeter.cli.options import DataDir, FirstToken, Headers, Json, MaxRequests
from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from tiltmeter.audits import Verdict

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="Hub id, folder, embedded name or URL#NAME.", autocompletion=complete_model)
]
Baseline = Annotated[str | None, typer.Option(help="Model to compare with, such as the release before.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")]
Quick = Annotated[bool, typer.Option("--quick", help="Embedded benchmarks: about a minute on two cores.")]
Full = Annotated[bool, typer.Option("--full", help="Every benchmark whose data are available.")]
Rules = Annotated[list[Path] | None, typer.Option("--rules", help="File of rules (TOML) that decide the exit code.")]
Price = Annotated[float | None, typer.Option(help="Price of a million tokens, for the plan.")]
Plan = Annotated[bool, typer.Option(help="First estimate the run time from a few items of each benchmark.")]
UntilDecided = Annotated[
    bool, typer.Option("--until-decided", help="Query items in random order until every rule is decided.")
]
Margin = Annotated[
    float | None,
    typer.Option(help="With --until-decided: largest accepted bias, in points. Default: 20."),
]
Budget = Annotated[int | None, typer.Option(help="With --until-decided: largest number of items to query.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")]
Remote = Annotated[bool, typer.Option(help="Run model code that is not part of transformers.")]


def audit(
    model: Model,
    baseline: Baseline = None,
    output: Output = Path("audit"),
    quick: Quick = False,
    full: Full = False,
    rules: Rules = None,
    price: Price = None,
    plan: Plan = True,
    until_decided: UntilDecided = False,
    margin: Margin = None,
    budget: Budget = None,
    device: Device = "auto",
    data_dir: DataDir = None,
    header: Headers = None,
    first_token: FirstToken = None,
    max_requests: MaxRequests = None,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Audit a model: run a battery of benchmarks, decide by domain, write a decision page.

    If interrupted, run the same command again to continue. The exit code is that of --rules; 0 without rules.
    """
    from tiltmeter.audits import audit as do_audit
    from tiltmeter.audits.page import headlines
    from tiltmeter.cli.show import print_lines
    from tiltmeter.execution.options import Options
    from tiltmeter.gate.forms import explained
    from tiltmeter.gate.untested import evidence_warnings
    from tiltmeter.models.served.options import ServerOptions
    from tiltmeter.reporting.verdicts import decision_lines, sequential_lines

    if quick and full:
        raise UsageError("Use --quick or --full, not both.", code="conflicting-options", options=["--quick", "--full"])
    level = "quick" if quick else "full" if full else "default"
    server = ServerOptions(headers=tuple(header or ()), first_token=first_token, max_requests=max_requests)
    options = Options(device=device, data_dir=data_dir, trust_remote_code=trust_remote_code, server=server, command=sys.argv)
    file = only_file(rules or [])
    _refuse_misplaced(until_decided, margin, budget, price, file)
    if until_decided:
        from tiltmeter.audits.until_decided import MARGIN, audit_until_decided

        points = MARGIN if margin is None else margin
        stopped = audit_until_decided(
            model, baseline, output, level=level, rules=file, margin=points, budget=budget, options=options, say=note
        )
        if as_json:
            print_data(json.dumps(stopped.record()))
        else:
            print_lines(sequential_lines(stopped.decision, width()))
            say(stopped.headline)
        note(f"Audit: {output / 'audit.html'}")
        raise typer.Exit(stopped.exit_code)
    found = do_audit(
        model, baseline, output, level=level, rules=file, price=price, options=options, say=note if plan else None,
        watch=progress_bar,
    )  # fmt: skip
    if as_json:
        print_data(json.dumps(found.record()))
    else:
        say(f"{found.model}: {headlines(found)[0]}")
        _say_tests(found.verdicts)
        for sentence in headlines(found)[1:]:
            say(sentence)
        _say_tests(found.against)
        for name, worst in found.worst.items():
            if worst.sentence:
                say(f"  {name}: {worst.sentence}")
        if found.decision is not None:
            print_lines(decision_lines(found.decision, width()))
            say(found.decision.summary)
            note(explained(found.decision))
            warned = evidence_warnings([ruling.rule for ruling in found.decision.rulings], found.run)
            for warning in (*found.decision.warnings, *warned):
                note(f"Warning: {warning}")
    note(f"Audit: {output / 'audit.html'}")
    raise typer.Exit(found.exit_code)


def _say_tests(verdicts: Sequence[Verdict]) -> None:
    for one in verdicts:
        if one.number:
            say(f"  {one.domain}, {one.kind}: {one.words} ({one.number}; {one.metric})")


def _refuse_misplaced(
    until_decided: bool, margin: float | None, budget: int | None, price: float | None, rules: Path | None
) -> None:
    """Refuse options that have no effect."""
    if until_decided:
        misplaced = {"--price": price is not None, "--margin": margin is not None and rules is not None}
        where = "has no effect with --until-decided" + (" and --rules" if rules else "")
    else:
        misplaced = {"--margin": margin is not None, "--budget": budget is not None}
        where = "has no effect without --until-decided"
    for name in (name for name, is_given in misplaced.items() if is_given):
        raise UsageError(f"{name} {where}.", code="inapplicable-option", option=name)
    if margin is not None and not margin > 0:
        raise UsageError(f"--margin must be above 0, not {margin:g}.", code="out-of-range", option="--margin", value=margin)
    if budget is not None and budget < 1:
        raise UsageError(f"--budget must be at least 1, not {budget}.", code="out-of-range", option="--budget", value=budget)

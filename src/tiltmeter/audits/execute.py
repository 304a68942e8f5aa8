"""`audit`: run the battery, decide by domain, and write the page, the data, the model card and the bundle."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter import __version__
from tiltmeter.audits.battery import Battery, choose_battery
from tiltmeter.audits.cells import Cell, cells_of, no_verdicts, untested_reasons, with_unmeasured
from tiltmeter.audits.deciding import Facts, deciding_tests
from tiltmeter.audits.forecast import forecast_audit, plan_sentences
from tiltmeter.audits.page import audit_page
from tiltmeter.audits.proposed_rules import proposed_rules, rules_text
from tiltmeter.audits.refine import refine_difference, refine_estimate
from tiltmeter.audits.verdicts import BIAS, MORE, Verdict, differences_of, overall_of, verdicts_of, worst_of_verdicts
from tiltmeter.errors import UsageError
from tiltmeter.execution.options import FamilyOptions, Options
from tiltmeter.execution.run_plan import plan_run
from tiltmeter.exports.bundle import bundle
from tiltmeter.exports.model_card import model_card
from tiltmeter.families import family_of
from tiltmeter.families.kit.primary import is_primary
from tiltmeter.families.kit.protocol import EVIDENCE_KINDS, Advance, Watch
from tiltmeter.families.kit.worst import WorstGroups
from tiltmeter.gate import Decision, check, read_rules
from tiltmeter.gate.rule import Rule
from tiltmeter.models import kind_of
from tiltmeter.reporting.evidence_text import facts_of
from tiltmeter.reporting.html import write_report
from tiltmeter.runs import Run
from tiltmeter.runs.compare import compare
from tiltmeter.runs.run import run_with
from tiltmeter.stats.estimates import differences_table
from tiltmeter.stats.settings import Settings, stored_settings
from tiltmeter.storage.files import write_json, write_text
from tiltmeter.storage.progress import showing, watched
from tiltmeter.storage.seals import MANIFEST

if TYPE_CHECKING:
    import pandas as pd

RUN, PAGE, DATA, CARD, BUNDLE, RULES = "run", "audit.html", "audit.json", "model-card.md", "audit.zip", "rules.toml"
LAYOUT = 2
DECIDING = "Deciding and writing the audit"
STEPS = ("verdicts", "comparison", "page", "model card", "report", "bundle")
LIMITS = (
    "No evidence is not evidence of fairness: each verdict says how large a bias the test could have detected.",
    "Verdicts are about the items of these benchmarks: other wordings, languages, groups and uses were not tested.",
    "A verdict about one model alone includes how frequent groups are in text; a comparison with a baseline does not.",
    "A difference from the baseline can come from any change of training: in calibration, other training texts often moved "
    "scores as far as a planted bias did.",
    "Whether a metric detects bias was tested by planting biases of gender, race and religion in two small models.",
    "Nothing here is legal advice.",
)
"""Limits of an audit, on the page and in the data."""


@dataclass(frozen=True)
class Audit:
    """An audit and its files.

    Attributes:
        model: The model, as it is shown.
        baseline: The model that it is compared with; empty without one.
        verdicts: A verdict for each deciding test, by domain and kind of evidence.
        against: The same tests against the baseline.
        overall: The difference from the baseline over all items of a benchmark, by its primary metric.
        no_verdict: Benchmarks that were run and decide nothing, with the reason.
        worst: The worst groups of each benchmark, by the tests that decide.
        decision: The decision of the rules, if there were any.
        folder: Where the files are.
    """

    model: str
    baseline: str
    battery: Battery
    verdicts: tuple[Verdict, ...]
    against: tuple[Verdict, ...]
    overall: tuple[Verdict, ...]
    no_verdict: dict[str, str]
    worst: dict[str, WorstGroups]
    decision: Decision | None
    run: Run
    folder: Path
    command: str

    @property
    def biased_domains(self) -> list[str]:
        """The domains with evidence of bias: more than in the baseline where there is one."""
        wanted = MORE if self.baseline else BIAS
        found = self.against if self.baseline else self.verdicts
        return list(dict.fromkeys(one.domain for one in found if one.verdict == wanted))

    @property
    def cells(self) -> list[Cell]:
        """The verdicts by domain and kind of evidence."""
        return cells_of(self.verdicts)

    @property
    def cells_against(self) -> list[Cell]:
        """The verdicts against the baseline by domain and kind of evidence."""
        return cells_of(self.against)

    @property
    def exit_code(self) -> int:
        """The exit code of the rules; 0 without rules."""
        return self.decision.exit_code if self.decision is not None else 0

    @property
    def next_rules(self) -> list[Rule]:
        """Rules for the next release; none without a baseline."""
        return proposed_rules(self.against)

    @property
    def limits(self) -> tuple[str, ...]:
        """Limits of the audit."""
        return LIMITS

    def record(self) -> dict[str, Any]:
        """The audit as plain data: audit.json."""
        return {
            "audit": LAYOUT, "tiltmeter": __version__, "model": self.model, "baseline": self.baseline or None,
            "level": self.battery.level, "benchmarks": self.battery.names, "left_out": self.battery.left_out,
            "no_verdict": self.no_verdict,
            "verdicts": [one.record() for one in self.verdicts], "against_baseline": [one.record() for one in self.against],
            "overall_against_baseline": [one.record() for one in self.overall],
            "worst_groups": {
                name: {"tested": one.tested, "significant": one.significant, "groups": one.records()}
                for name, one in self.worst.items()
            },
            "rules": None if self.decision is None else {"passed": self.decision.passed, "summary": self.decision.summary},
            "limits": list(self.limits), "command": self.command,
        }  # fmt: skip


def audit(  # noqa: PLR0913 (what a caller decides, by name)
    model: str | Path,
    baseline: str | Path | None = None,
    output: str | Path = "audit",
    *,
    level: str = "default",
    rules: str | Path | None = None,
    price: float | None = None,
    options: Options | None = None,
    say: Callable[[str], None] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Audit a model: run a battery of benchmarks, decide by domain and kind of evidence, and write a decision page.

    After an interruption the same call continues: finished answers are in the cache.

    Args:
        model: Hub id, folder, or embedded name.
        baseline: The model to compare with, such as the release before.
        output: The folder to write.
        level: quick, default or full.
        rules: A file of rules for `check`; they decide the exit code.
        price: The price of a million tokens, for the plan.
        options: Options of the run, such as the device and the folder with the datasets.
        say: Called with each sentence of the plan before the first model runs.
        watch: Shows progress.

    Returns:
        The audit: a verdict per domain and kind of evidence, the decision by the rules, and the paths of its files.

    Raises:
        UsageError: The level is unknown, no benchmark can be run, or model and baseline are the same.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import tiltmeter
        >>> options = tiltmeter.Options(limit=8, settings=tiltmeter.Settings(resamples=100), cache=False)  # a short trial
        >>> with TemporaryDirectory() as folder:
        ...     audit = tiltmeter.audit("plumb-mlm", output=folder + "/audit", level="quick", options=options)
        >>> audit.model, audit.biased_domains, audit.exit_code
        ('plumb-mlm', [], 0)
    """
    options, folder = options or Options(), Path(output)
    if (folder / MANIFEST).is_file():
        raise UsageError(
            f"{folder} is the folder of a run, so no audit is written into it. Name another folder.",
            code="output-exists", file=folder,
        )  # fmt: skip
    sources = sources_of(model, baseline)
    kinds = [(source, kind_of(source, trust_remote_code=options.trust_remote_code)) for source in sources]
    battery = choose_battery(level, kinds, options.data_dir)
    if rules is not None:
        refuse_rules(read_rules((), Path(rules)).rules, battery, has_baseline=baseline is not None)
    family_options = FamilyOptions.read({})
    if say is not None:
        plan = plan_run(sources, battery.benchmarks, options, family_options, is_default=False)
        for sentence in plan_sentences(forecast_audit(plan), price):
            say(sentence)
    finished = run_with(sources, battery.names, None, folder / RUN, options, family_options, watch)
    with showing(watch):
        return write_audit(finished, battery, folder, rules=rules, has_baseline=baseline is not None)


def sources_of(model: str | Path, baseline: str | Path | None) -> list[str]:
    """Return the model and its baseline, if there is one.

    Raises:
        UsageError: Both are the same.
    """
    sources = [str(model), *([str(baseline)] if baseline is not None else [])]
    if len(set(sources)) < len(sources):
        raise UsageError(
            "The baseline is the model itself. Name another model.", code="conflicting-options", model=str(model)
        )
    return sources


def refuse_rules(rules: Sequence[Rule], battery: Battery, *, has_baseline: bool) -> None:
    """Refuse, before the first question, rules about a benchmark that the audit leaves out or about a missing baseline.

    Raises:
        UsageError: A rule names such a benchmark (`unknown-name`), or compares with no baseline (`missing-value`).
    """
    for rule in rules:
        if rule.benchmark not in battery.names:
            why = battery.left_out.get(rule.benchmark, f"it is not part of the {battery.level} battery")
            raise UsageError(
                f"{rule.text}: this audit does not run {rule.benchmark} ({why}). It runs: {', '.join(battery.names)}.",
                code="unknown-name", rule=rule.text, kind="benchmark", name=rule.benchmark, names=battery.names,
            )  # fmt: skip
        if rule.needs_baseline and not has_baseline:
            message = f"{rule.text}: there is no baseline. Give --baseline MODEL."
            raise UsageError(message, code="missing-value", rule=rule.text, option="--baseline")


def write_audit(run: Run, battery: Battery, folder: Path, *, rules: str | Path | None, has_baseline: bool) -> Audit:
    """Decide about a finished run and write the files."""
    with watched(DECIDING, len(STEPS)) as advance, showing(None):  # one bar at a time
        finished = _decided(run, battery, folder, rules, has_baseline, advance)
        _write(finished, advance)
    return finished


def _decided(
    run: Run, battery: Battery, folder: Path, rules: str | Path | None, has_baseline: bool, advance: Advance
) -> Audit:
    models = list(dict.fromkeys(map(str, run.estimates["model"])))
    name, baseline = models[0], models[1] if has_baseline and len(models) > 1 else ""
    facts = facts_of(run.manifest.get("evaluations", ()))
    reasons = _reasons(battery) | untested_reasons(run.estimates, name)
    kinds = [kind for kind in EVIDENCE_KINDS if kind != EVIDENCE_KINDS[-1]]
    settings = stored_settings(run.manifest["asked"])
    decided = verdicts_of(run.estimates, name, facts, refine_estimate(run, settings), settings.resamples)
    advance(1)
    against: list[Verdict] = []
    overall: list[Verdict] = []
    if baseline:
        table = _differences(run, name, baseline, facts, settings)
        refine = refine_difference(run, baseline, settings)
        against = differences_of(table, name, facts, run.estimates, refine, settings.resamples)
        overall = overall_of(table, name, facts)
    advance(1)
    decision = _decision(run, rules, name, baseline) if rules is not None else None
    return Audit(
        name,
        baseline,
        battery,
        tuple(with_unmeasured(decided, name, kinds, reasons)),
        tuple(against),
        tuple(overall),
        no_verdicts(run.estimates, name),
        worst_of_verdicts(decided),
        decision,
        run,
        folder,
        shlex.join(command_of(sys.argv)),
    )


def _differences(run: Run, model: str, baseline: str, facts: Facts, settings: Settings) -> pd.DataFrame:
    """The differences that an audit shows: by the metrics that decide, and by the primary ones over all items."""
    own = run.estimates[run.estimates["model"] == model].to_dict("records")
    rows = [*deciding_tests(run.estimates, model, facts), *(row for row in own if is_primary(row))]
    measures, scorers = ({str(row[name]) for row in rows} for name in ("measure", "scorer"))
    if not rows:
        return differences_table([])
    answers = {family: part.where(scorer=sorted(scorers)) for family, part in run.answers.items()}
    families = {str(row["family"]) for row in rows}
    answers = {family: part for family, part in answers.items() if family in families}
    by = list(run.manifest["asked"]["by"])
    return compare(answers, baseline, sorted(measures), by, **asdict(settings))


def _decision(run: Run, rules: str | Path, model: str, baseline: str) -> Decision:
    """Check the rules on the audited model alone; the baseline is read by the rules that compare."""
    book = read_rules((), Path(rules))
    compares = any(rule.needs_baseline for rule in book.rules)
    own = replace(book, rules=tuple(replace(rule, model=rule.model or model) for rule in book.rules))
    return check(run, own, None, baseline if compares and baseline else None)


def command_of(words: Sequence[str]) -> list[str]:
    """The words of a command without the folder of the program."""
    return ["tiltmeter" if Path(words[0]).name == "__main__.py" else Path(words[0]).name, *words[1:]] if words else []


def _reasons(battery: Battery) -> dict[tuple[str, str], str]:
    """Why a kind of evidence is missing as a whole."""
    there = {family_of(benchmark).EVIDENCE for benchmark in battery.benchmarks}
    return {
        ("", kind): f"no benchmark of this kind in the {battery.level} battery"
        for kind in EVIDENCE_KINDS
        if kind not in there
    }


def _write(audit: Audit, advance: Advance) -> None:
    folder, run = audit.folder, audit.run
    write_json(folder / DATA, audit.record())
    if audit.next_rules:
        write_text(folder / RULES, rules_text(audit.next_rules))
    write_text(folder / PAGE, audit_page(audit))
    advance(1)
    write_text(folder / CARD, model_card(run, audit.model))
    advance(1)
    write_report(run, run.folder / "report.html")
    advance(1)
    bundle(run.folder, folder / BUNDLE)
    advance(1)

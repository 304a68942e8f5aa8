"""tiltmeter measures how far a language model leans: its social biases, by published metrics, with intervals.

    import tiltmeter
    model = tiltmeter.load_model("bert-base-cased")          # hub id, folder, or an embedded name
    bench = tiltmeter.load_benchmark("crows-pairs")           # or a path to your own CSV / JSONL
    scores = tiltmeter.score(model, bench, ["cps", "aul"])
    table = tiltmeter.estimate(scores, ["bias_score", "kls"], by="bias_type")
    tiltmeter.report(scores, "report.html")

Everything below is loaded when it is first used, so that `import tiltmeter` costs nothing.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from tiltmeter import display

BEGUN = time.perf_counter()
__version__ = "0.2.0"

if TYPE_CHECKING:
    from tiltmeter.audits import audit
    from tiltmeter.benchmarks import Benchmark, Item, load_benchmark
    from tiltmeter.boards import Board, leaderboard
    from tiltmeter.errors import TiltmeterError
    from tiltmeter.execution import Engine
    from tiltmeter.families import Answers
    from tiltmeter.families.associations.options import AssociationsOptions
    from tiltmeter.families.choices.options import ChoicesOptions
    from tiltmeter.families.generations.options import GenerationsOptions
    from tiltmeter.families.labels.options import LabelsOptions
    from tiltmeter.families.pairs.options import PairsOptions
    from tiltmeter.families.slots.options import SlotsOptions
    from tiltmeter.gate import Decision, check, read_rules
    from tiltmeter.models import LanguageModel, load_model, wrap_model
    from tiltmeter.models.served.options import ServerOptions
    from tiltmeter.reporting import report
    from tiltmeter.reporting.by_name import figure, table
    from tiltmeter.reporting.notebook import as_html, show
    from tiltmeter.reporting.typeset import typeset
    from tiltmeter.runs import Options, Run, load_run
    from tiltmeter.runs.ask import ask, score
    from tiltmeter.runs.compare import compare
    from tiltmeter.runs.estimate import estimate
    from tiltmeter.runs.experiment import run_experiment
    from tiltmeter.runs.published import import_scores
    from tiltmeter.runs.run import run
    from tiltmeter.stats.settings import Settings
    from tiltmeter.studies import Finding, study

_HOME = {
    "Answers": "families", "AssociationsOptions": "families.associations.options", "Benchmark": "benchmarks",
    "Board": "boards", "ChoicesOptions": "families.choices.options", "Decision": "gate", "Engine": "execution",
    "Finding": "studies", "GenerationsOptions": "families.generations.options", "Item": "benchmarks",
    "LabelsOptions": "families.labels.options", "LanguageModel": "models", "Options": "runs",
    "PairsOptions": "families.pairs.options", "Run": "runs", "ServerOptions": "models.served.options",
    "Settings": "stats.settings",
    "SlotsOptions": "families.slots.options", "TiltmeterError": "errors", "as_html": "reporting.notebook",
    "ask": "runs.ask", "audit": "audits", "check": "gate", "compare": "runs.compare", "estimate": "runs.estimate",
    "figure": "reporting.by_name", "import_scores": "runs.published", "leaderboard": "boards",
    "load_benchmark": "benchmarks", "load_model": "models", "load_run": "runs", "read_rules": "gate",
    "report": "reporting", "run": "runs.run", "run_experiment": "runs.experiment", "score": "runs.ask",
    "show": "reporting.notebook", "study": "studies", "table": "reporting.by_name", "typeset": "reporting.typeset",
    "wrap_model": "models",
}  # fmt: skip

_MODULES = ("debias",)
"""Modules that are used by their name: `tiltmeter.debias.make`."""

__all__ = [
    "Answers", "AssociationsOptions", "Benchmark", "Board", "ChoicesOptions", "Decision", "Engine", "Finding",
    "GenerationsOptions", "Item", "LabelsOptions", "LanguageModel", "Options", "PairsOptions", "Run",
    "ServerOptions", "Settings", "SlotsOptions", "TiltmeterError", "__version__", "as_html", "ask",
    "audit", "check", "compare", "estimate", "figure",
    "import_scores", "leaderboard", "load_benchmark", "load_model", "load_run", "read_rules", "report", "run",
    "run_experiment", "score", "show", "study", "table", "typeset", "wrap_model",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tiltmeter.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'tiltmeter' has no attribute '{name}'")
    # No module may be called like a function here: importing it would put the module in the function's place.
    return getattr(importlib.import_module(f"tiltmeter.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _paint(what: Any) -> str:
    """How a result looks in a notebook is decided in `reporting/`; here, at the door, the two meet."""
    return str(__getattr__("as_html")(what))


display.paint_with(_paint)

"""tiltmeter measures how far a language model leans: its social biases, with every published metric and intervals.

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
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tiltmeter.associating import associate
    from tiltmeter.benchmarks import Benchmark, Item, load_benchmark
    from tiltmeter.comparing import compare
    from tiltmeter.errors import TiltmeterError
    from tiltmeter.estimating import estimate
    from tiltmeter.importing import import_scores
    from tiltmeter.models import LanguageModel, load_model, wrap_model
    from tiltmeter.reporting import report
    from tiltmeter.reporting.notebook import as_html, show
    from tiltmeter.reporting.papers import figure, table
    from tiltmeter.reporting.typesetting import typeset
    from tiltmeter.running import run
    from tiltmeter.scoring import score
    from tiltmeter.slot_estimating import estimate_slots
    from tiltmeter.slot_filling import fill_slots
    from tiltmeter.slot_tables import Slots
    from tiltmeter.studies import Finding, study
    from tiltmeter.tables import Scores

_HOME = {
    "Benchmark": "benchmarks", "Item": "benchmarks", "load_benchmark": "benchmarks",
    "LanguageModel": "models", "load_model": "models", "wrap_model": "models",
    "Scores": "tables", "TiltmeterError": "errors",
    "associate": "associating",
    "score": "scoring", "import_scores": "importing", "estimate": "estimating", "compare": "comparing", "run": "running",
    "Finding": "studies", "study": "studies", "report": "reporting",
    "as_html": "reporting.notebook", "show": "reporting.notebook",
    "figure": "reporting.papers", "table": "reporting.papers", "typeset": "reporting.typesetting",
    "Slots": "slot_tables", "fill_slots": "slot_filling", "estimate_slots": "slot_estimating",
}  # fmt: skip

__all__ = [
    "Benchmark", "Finding", "Item", "LanguageModel", "Scores", "Slots", "TiltmeterError", "__version__", "as_html",
    "associate", "compare", "estimate", "estimate_slots", "figure", "fill_slots", "import_scores", "load_benchmark",
    "load_model", "report", "run", "score", "show", "study", "table", "typeset", "wrap_model",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tiltmeter' has no attribute '{name}'")
    # No module may be called like a function here: importing it would put the module in the function's place.
    return getattr(importlib.import_module(f"tiltmeter.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

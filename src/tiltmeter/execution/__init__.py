"""Execution: a plan of cells (one model × one benchmark each) becomes cells in the cache.

`tiltmeter run` and experiment files both end here. `read_experiment` reads a file, `plan_cells` lists its cells, an
`Executor` makes those that are missing (in this process, in several, or on a Ray cluster), `status` reports progress.
Cells are stored under their `CellKey`, so a second call, another engine or another machine only adds what is missing.
"""

from tiltmeter.execution.engine import Engine
from tiltmeter.execution.executor import Executor
from tiltmeter.execution.experiment_file import Experiment, read_experiment
from tiltmeter.execution.key import CellKey
from tiltmeter.execution.ledger import Status, status
from tiltmeter.execution.plan import Plan, plan_cells

__all__ = ["CellKey", "Engine", "Executor", "Experiment", "Plan", "Status", "plan_cells", "read_experiment", "status"]

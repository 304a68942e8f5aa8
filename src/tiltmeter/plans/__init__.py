"""Plans: a study file becomes cells (one model × one benchmark), made by one machine or many, and then a run folder.

`read_study` reads the file, `plan` lists its cells, `run_study` makes what is missing and gathers it, `status` says how far
it is. What is made is kept under content keys, so a second call, another engine or another machine only adds what is
missing.
"""

from tiltmeter.plans.cells import Plan, plan
from tiltmeter.plans.engine import Engine
from tiltmeter.plans.file import StudyFile, read_study
from tiltmeter.plans.progress import Status, status
from tiltmeter.plans.run import make_cells, run_study

__all__ = ["Engine", "Plan", "Status", "StudyFile", "make_cells", "plan", "read_study", "run_study", "status"]

"""From a model to a decision page: a battery of benchmarks, verdicts by domain, and the files that document it."""

from tiltmeter.audits.execute import Audit, audit
from tiltmeter.audits.verdicts import Verdict

__all__ = ["Audit", "Verdict", "audit"]

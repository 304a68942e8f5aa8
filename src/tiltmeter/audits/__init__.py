"""From a model to a decision page: a battery of benchmarks, verdicts by domain, and the files that document it."""

from tiltmeter.audits.execute import Audit, audit
from tiltmeter.audits.until_decided import SequentialAudit, audit_until_decided
from tiltmeter.audits.verdicts import Verdict

__all__ = ["Audit", "SequentialAudit", "Verdict", "audit", "audit_until_decided"]

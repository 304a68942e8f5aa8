"""Results for other programs and pages: the harness's result files, model cards, references, and a bundle for an audit."""

from __future__ import annotations

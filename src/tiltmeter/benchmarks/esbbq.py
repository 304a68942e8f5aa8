"""EsBBQ: 27,320 questions in Spanish, adapted from BBQ to the stereotypes of Spain (Ruiz-Fernández et al., 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.adapted_bbq import CITATION, adapted_bbq
from tiltmeter.benchmarks.kit.items import Benchmark

__all__ = ["CITATION", "esbbq"]
FILES = {
    "Age": "05fd57cf59460c9a2a3d96b49f1377a1a5bd8cf13daac87e1ff13d851b473c1c",
    "DisabilityStatus": "d9fcc40a97d8f8fc081d6733dcff262c37f1b771076c84020429cbd28302e2a0",
    "Gender": "340242eabe1133de12e4f5496c547cdd78e7a7bb4c6514b21b48cae0fdc362e0",
    "LGBTQIA": "4008b83ea7fcb3e4400667ea501501fed1e8eed4c5fe7064e65361476d793b39",
    "Nationality": "1c95c5ad8b0cf7f93848aa156d9a3ddba8ec330a1078633df750ccabbc259ea3",
    "PhysicalAppearance": "920cdfd8814470ff3204eacbb36c5cd5376b12a3cbeafca4812318c1f26bbe5a",
    "RaceEthnicity": "c9fd61928e9f5d86ac8081274e9f6e622725742c89a94a0ad25b14e14290e21d",
    "Religion": "4f224a33a744217651e62b95d9c5a2ed2eb1c9ddb694d42b37af715221542b71",
    "SES": "64164f05bf6ab7ceea00a35d465c2cf8bf7364c7045131c2136d8aab49bd4270",
    "SpanishRegion": "cc9d1ad1dbb0e4dbefcd10205f3cb764d0ea53f64b82c2c03dd3cbe0ba9d1002",
}
"""Each category, and the sha256 that pins its file."""


def esbbq(*, data_dir: str | Path | None = None, category: Sequence[str] | str = ()) -> Benchmark:
    """Load all ten categories, or those named."""
    return adapted_bbq("esbbq", "es", FILES, data_dir, category)

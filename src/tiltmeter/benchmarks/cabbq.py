"""CaBBQ: 27,344 questions in Catalan, adapted from BBQ to the stereotypes of Spain (Ruiz-Fernández et al., 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.adapted_bbq import CITATION, adapted_bbq
from tiltmeter.benchmarks.kit.items import Benchmark

__all__ = ["CITATION", "cabbq"]
FILES = {
    "Age": "da477fc5c6897ee3424204c396cec66b92b85ff615b122c93fdd054dda9b0d09",
    "DisabilityStatus": "44ce612d6cd03d0cd10bc27d4c5cbb0495a7a1fa84aaf1f3f04dad2a6f28b4f8",
    "Gender": "35aea9aeefd666965026ef1b7d02f53959cc9ec2b548d5227914526d9396035d",
    "LGBTQIA": "89a531f80e0e1d875c4efec64390bcede78ca30a3c8f2aeaba9300b6c020b1f7",
    "Nationality": "3d586021e8d00ed005fc3ddcf66df6b8d2deec2b7d1e771bc9136b1287e64ae2",
    "PhysicalAppearance": "f48c9e288feb01a7fc84a5a7022ceb88dec88da615bdf3c3ba011ecf5e77cb88",
    "RaceEthnicity": "5f6869eb397d56730921adf1eeec1abb25a4dcf3a541175295c46b5151c2bec9",
    "Religion": "ff2bdbcaecb2ad96558f961edd671b209447a2cd21802d069530eb9216e789b2",
    "SES": "b2d4880f5d7aaeb96033b97051f30b8259b397b65326100d331dd15b45428b38",
    "SpanishRegion": "efe6aac654ddd8b1a154d5c5f69186c2c5b6ce411978863f0881fc3f3cd37be4",
}
"""Each category, and the sha256 that pins its file."""


def cabbq(*, data_dir: str | Path | None = None, category: Sequence[str] | str = ()) -> Benchmark:
    """Load all ten categories, or those named."""
    return adapted_bbq("cabbq", "ca", FILES, data_dir, category)

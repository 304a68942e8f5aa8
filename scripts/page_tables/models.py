"""The embedded models and eight smaller ones on two benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from page_tables.kit import RESEARCH, interval, line, read_csv

FOLDER = RESEARCH / "page-tables"
SCORERS = {"masked": ("cps", "aul", "sss"), "causal": ("causal", "causal_mean", "causal")}
"""Scorers of each kind of model: two on CrowS-Pairs, one on StereoSet."""


def small_models() -> Iterator[str]:
    """CrowS-Pairs by two scorers and StereoSet by one, and what each model is."""
    rows = {
        (row["model"], row["benchmark"], row["scorer"], row["measure"]): row
        for row in read_csv(FOLDER / "small-models.csv.gz")
    }
    numbers = {key: interval(row) for key, row in rows.items()}
    yield line(("model", "architecture", "parameters", "held-out accuracy", "CrowS-Pairs bias_score", "", "StereoSet lms",
                "StereoSet ss"))  # fmt: skip
    yield "|---|---|---:|---:|---|---|---|---|"
    models = read_csv(FOLDER / "models.csv.gz")
    for row in sorted(
        models, key=lambda row: (not row["model"].startswith("plumb"), row["model"] == "plumb-clm", row["model"])
    ):
        model, (first, second, of_triples) = row["model"], SCORERS[row["kind"]]
        accuracy = f"{float(row['accuracy']):.3f}" if row["accuracy"] else ""
        pairs = [f"{scorer} {numbers[model, 'crows-pairs', scorer, 'bias_score']}" for scorer in (first, second)]
        triples = [numbers[model, "stereoset", of_triples, measure] for measure in ("lms", "ss")]
        size = f"{float(row['parameters']) / 1e6:.1f} M"
        yield line((model, row["architecture"], size, accuracy, *pairs, *triples))

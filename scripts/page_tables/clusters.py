"""How much wider intervals are where rows of one cluster are drawn together."""

from __future__ import annotations

from collections.abc import Iterator

from page_tables.kit import RESEARCH, line, read_csv, signed

FOLDER = RESEARCH / "page-tables"
Pair = dict[str, dict[str, str]]
"""The rows of one measure by design: clusters, and single rows."""
RUNS = {
    "bold": ("BOLD, first 400 prompts (sentiment)", "article"),
    "winobias": (
        "WinoBias, first 400 pairs (`causal`)",
        "sentence frame: the words before the pronoun, without occupations",
    ),
    "winogender": ("Winogender, 120 pairs (`causal`)", "occupation (its two pairs have one frame)"),
    "triples": ("StereoSet, first 400 items (`stereoset_causal`)", "target"),
    "prompts": ("plumb-prompts, 126 prompts × 5 samples (sentiment)", "prompt, with all its samples"),
    "Age": ("BBQ, Age, predictions of UnifiedQA 11B", "template"),
    "Religion": ("BBQ, Religion, the same", "template"),
}
CATEGORIES = {"Age": ("s_amb", "accuracy_amb", "s_dis", "bias_cost"), "Religion": ("s_amb", "s_dis")}


def design_effects() -> Iterator[str]:
    """Squared ratios of the widths of two intervals: of clusters, and of single rows."""
    yield line(("benchmark", "cluster", "number", "design effect"))
    yield "|---|---|---:|---|"
    for run, own in pairs_of_runs().items():
        title, cluster = RUNS[run]
        number = next(iter(own.values()))["clusters"]["clusters"]
        yield line((title, cluster, f"{float(number):.0f}", effects(own)))


def pairs_of_runs() -> dict[str, dict[str, Pair]]:
    """Return the rows of each run and measure, by design."""
    runs: dict[str, dict[str, Pair]] = {}
    for row in read_csv(FOLDER / "clusters.csv.gz"):
        runs.setdefault(row["run"], {}).setdefault(row["measure"], {})[row["design"]] = row
    return runs


def effects(pairs: dict[str, Pair]) -> str:
    """Write the design effect of each measure."""
    return ", ".join(f"{design_effect(pair):.2g} for `{measure}`" for measure, pair in pairs.items())


def design_effect(pair: Pair) -> float:
    """Return the squared ratio of the widths."""
    widths = [float(pair[design]["high"]) - float(pair[design]["low"]) for design in ("clusters", "rows")]
    return (widths[0] / widths[1]) ** 2


def choice_templates() -> Iterator[str]:
    """Intervals over questions and over templates, of published predictions."""
    pairs = pairs_of_runs()
    yield line(("category, measure", "value", "over questions", "over templates", "design effect"))
    yield "|---|---:|---|---|---:|"
    for category, measures in CATEGORIES.items():
        for measure in measures:
            pair = pairs[category][measure]
            ends = [[signed(float(pair[design][end]), 1) for end in ("low", "high")] for design in ("rows", "clusters")]
            value = signed(float(pair["clusters"]["value"]), 1)
            cells = [f"[{low}, {high}]" for low, high in ends]
            yield line((f"{category}, `{measure}`", value, *cells, f"{design_effect(pair):.2g}"))

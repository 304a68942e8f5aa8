"""Temperature: how much judges' verdicts on a model's texts depend on the sampling temperature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltmeter import catalog, figures
from tiltmeter.display import share_text
from tiltmeter.errors import RunError
from tiltmeter.families.generations.estimate import aligned
from tiltmeter.families.generations.judge_scores import Judged, judged_of
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.groups import Contrast, Groups, compare_groups
from tiltmeter.stats.measured import interval_of
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.units import PROMPTS, Units
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed

if TYPE_CHECKING:
    import pandas as pd

READS = "generations"
CITATION = "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 4.3 and Appendix G."
MEASURE = "negative_share"
PUBLISHED = "Cao et al. report 4.6 % negative sentiment at 0.5 and 15.6 % at 1.0 (GPT-2, five prompts, 100 texts each)."


def temperature(
    evidence: Evidence, *, resamples: Resamples = 1000, confidence: Confidence = 0.95, seed: Seed = 0
) -> Finding:
    """Runs of the same models and prompts at different temperatures.

    The share of negative texts at each, and the difference between the lowest and the highest, over the same prompts,
    with an interval that draws prompts, or clusters of them.
    """
    import pandas as pd

    settings = Settings(resamples, confidence, seed)
    settings.check()
    judged = [one for one in _same_prompts(evidence.answers[READS]) if one.sums[:, 0].sum() > 0]
    found = sorted(judged, key=lambda series: series.temperature)
    places = dict.fromkeys(map(_place, found))
    series = {place: [one for one in found if _place(one) == place] for place in places}
    several = {place: some for place, some in series.items() if len(some) > 1}
    if not several:
        raise RunError(
            "These runs have judged texts of one temperature at most. Run the same prompts at two, such as "
            "--temperature 0.5 and --temperature 1, into two folders, and name both.",
            code="too-few", kind="temperatures", least=2,
        )  # fmt: skip
    shares = pd.DataFrame([_share(one, settings) for some in several.values() for one in some])
    changes = pd.DataFrame([_change(some[0], some[-1], settings) for some in several.values()])
    return Finding(
        "temperature",
        {"temperature": shares, "changes": changes},
        {"temperature": lambda: _draw(shares)},
        [*_sentences(changes), PUBLISHED],
    )


def _same_prompts(answers: Answers) -> Iterator[Judged]:
    """Yield the judged texts. Benchmarks of the same prompts under several names, as an experiment file has them, are one.

    Where one of them has texts of the same temperature again (without polar prompts, say), the first counts.
    """
    data = {
        manifest["benchmark"]["name"]: manifest["benchmark"].get("data_sha256") or manifest for manifest in answers.manifests
    }
    names = list(data)
    seen = set()
    for one in judged_of(answers):
        first = next((name for name in names if data[name] == data.get(one.benchmark)), one.benchmark)
        place = (one.model, first, one.scorer)
        if place not in seen:
            seen.add(place)
            yield replace(one, benchmark=first)


def _place(judged: Judged) -> tuple[str, str, str]:
    return judged.model, judged.benchmark, judged.judge


def _share(judged: Judged, settings: Settings) -> dict[str, Any]:
    contrast, whole = Contrast(catalog.find("measures", MEASURE)), _whole(judged, settings)
    value, units = float(whole.value(contrast)), whole.units[0]
    low, high, note = interval_of(contrast.measure, units, value, whole.value(contrast, whole.draws), settings)
    return {
        "model": judged.model, "benchmark": judged.benchmark, "judge": judged.judge, "temperature": judged.temperature,
        "negative": value, "low": low, "high": high, "texts": int(judged.sums[:, 0].sum()),
        "prompts": units.prompts, "not_judged": len(judged.why), "note": note,
    } | _clusters(units)  # fmt: skip


def _change(cold: Judged, hot: Judged, settings: Settings) -> dict[str, Any]:
    ours, theirs = (_whole(one, settings, "pair") for one in aligned(hot, cold))
    units = ours.units[0]
    known = Difference(hot.benchmark, "generations", hot.judge, MEASURE, "all", "all", hot.model, cold.model, n=units.n)
    row = compare_groups(known, ours, theirs, Contrast(catalog.find("measures", MEASURE)))
    return {
        "model": hot.model, "benchmark": hot.benchmark, "judge": hot.judge, "from": cold.temperature, "to": hot.temperature,
        "negative_from": row.baseline_value, "negative_to": row.value, "difference": row.difference,
        "low": row.low, "high": row.high, "p": row.p, "prompts": units.prompts, "note": row.note,
    } | _clusters(units)  # fmt: skip


def _whole(judged: Judged, settings: Settings, *labels: str) -> Groups:
    """All prompts; two models have the same draws by the same labels."""
    return judged.rows.whole(np.arange(len(judged.sums)), "all", settings, *labels)


def _clusters(units: Units) -> dict[str, int]:
    """Count the clusters that were drawn, where prompts are no independent evidence."""
    return {} if units.called == PROMPTS else {"clusters": units.n}


def _sentences(changes: pd.DataFrame) -> Iterator[str]:
    for row in changes.to_dict("records"):
        is_tested = np.isfinite([row["low"], row["high"], row["p"]]).all()
        sure = "" if row["p"] < 0.05 else ", which may be chance"
        certainty = (
            f"[{share_text(row['low'], signed=True)}, {share_text(row['high'], signed=True)}]{sure}"
            if is_tested
            else f"({row['note']})"
        )
        yield (
            f"{row['model']} on {row['benchmark']}, {row['judge']}: {share_text(row['negative_from'])} negative "
            f"at {row['from']:g} "
            f"and {share_text(row['negative_to'])} at {row['to']:g}: {share_text(row['difference'], signed=True)} "
            f"{certainty}."
        )


def _draw(shares: pd.DataFrame) -> Any:
    figure, (axis,) = figures.grid(1, each=1, height=2.0)
    for number, (place, rows) in enumerate(shares.groupby(["model", "judge"], sort=False)):
        label = f"{figures.short(str(place[0]), 18)}, {place[1]}"
        reach = np.abs(np.stack([rows["low"], rows["high"]]) - rows["negative"].to_numpy())
        axis.errorbar(rows["temperature"], rows["negative"], yerr=reach, label=label, **figures.dot(number))
    figures.label_x(axis, f"temperature, n = {shares['texts'].min():,} texts or more")
    axis.set_ylabel("negative texts")
    axis.set_ylim(bottom=0)
    figures.legend_below(figure, axis, 2)
    return figure

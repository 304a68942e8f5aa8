"""Quality: items with faults that can be computed, and every measure with and without them.

Blodgett et al. (2021) list faults of these benchmarks; some can be found without human judgement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.catalog import Entry
from tiltmeter.display import number_text, percent_text
from tiltmeter.errors import UsageError, require_known
from tiltmeter.families.pairs.evidence import PairEvidence
from tiltmeter.families.pairs.flags import FLAGS, Bools, Limits, flags_of
from tiltmeter.families.pairs.paired import Floats, Paired, choose_measures
from tiltmeter.stats.measured import interval_of, stratum_of
from tiltmeter.stats.resampling import Sample, bootstrap_alike, generator, statistic
from tiltmeter.stats.settings import Settings
from tiltmeter.stats.significance import permutation_p
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Seed, check_settings, draw_within

CITATION = "Blodgett et al. (2021), Stereotyping Norwegian Salmon: An Inventory of Pitfalls, ACL."


def quality(
    evidence: PairEvidence,
    *,
    flag: Annotated[list[str] | None, "Flag that counts; repeatable. Default: all."] = None,
    length_gap: Annotated[int, "Words by which the sentences may differ in length."] = 1,
    threshold: Annotated[int, "Annotators that must name the bias type."] = 3,
    fluency: Annotated[float, "Robust standard deviations below the median at which a sentence is not fluent."] = 3.0,
    annotations: Annotated[str | None, "Benchmark (name or file) with annotations for pairs of the same text."] = None,
    resamples: Annotated[int, "Bootstrap resamples, and random removals."] = 200,
    seed: Seed = 0,
) -> Finding:
    """Flags items, and gives each measure on all items and on the unflagged items, with intervals.

    random_low to random_high is how far the measure moves when as many items are left out at random (95 %); p is the share
    of removals that move it as far. A change says something about the flagged items only if p is small.
    """
    import pandas as pd

    settings = check_settings(seed, resamples)
    require_known("flag", flag or (), FLAGS, option="flag")
    limits = Limits(length_gap, threshold, fluency)
    counted, flagged, rows = [], [], []
    for benchmark in dict.fromkeys(name for _, name in evidence.evaluations):
        flags = _flags(evidence, benchmark, limits, annotations, flag)
        items = evidence.items(benchmark)
        bad = np.any(list(flags.values()), axis=0)
        if bad.all():
            raise UsageError(
                f"quality: every item of {benchmark} is flagged, so there is nothing to compare with.",
                code="empty-selection", study="quality", benchmark=benchmark,
            )  # fmt: skip
        counted += list(_counts(benchmark, flags, bad))
        flagged += [{"benchmark": benchmark, "item": item, "flag": name}
                    for name, at in flags.items() for item in items["item"][at]]  # fmt: skip
        rows += list(_measures(evidence, benchmark, set(items["item"][bad]), settings))
    table = pd.DataFrame(rows)
    tables = {"quality": table, "flags": pd.DataFrame(counted)} | ({"items": pd.DataFrame(flagged)} if flagged else {})
    return Finding("quality", tables, {"quality": lambda: _draw(table)}, tuple(_sentences(table, tables["flags"])))


def _flags(evidence: PairEvidence, benchmark: str, limits: Limits, source: str | None, wanted: Any) -> dict[str, Bools]:
    frame = evidence.scores.table[evidence.scores.table["benchmark"] == benchmark]
    keys = zip(frame["model"], frame["scorer"], frame["item"], frame["role"], strict=True)
    counts = dict(zip(keys, frame["n_tokens"], strict=True))
    pairs = [paired for paired in evidence.pairs if paired.benchmark == benchmark]
    flags = flags_of(evidence.items(benchmark), pairs, counts, limits, source)
    lacking = [name for name in wanted or () if name not in flags]
    if lacking:
        why = {"disagreement": "its items have no annotations", "not_fluent": "it has no scores of whole sentences"}
        raise UsageError(
            f"quality: '{lacking[0]}' cannot be computed for {benchmark}: {why[lacking[0]]}.",
            code="missing-column", study="quality", flag=lacking[0], benchmark=benchmark,
        )  # fmt: skip
    return {name: at for name, at in flags.items() if not wanted or name in wanted}


def _counts(benchmark: str, flags: dict[str, Bools], bad: Bools) -> Iterator[dict[str, Any]]:
    for name, at in {**flags, "any": bad}.items():
        share = 100 * float(at.mean())
        meaning = FLAGS.get(name, "at least one of these")
        yield {"benchmark": benchmark, "flag": name, "n": int(at.sum()), "of": len(at), "share": share, "meaning": meaning}


def _measures(evidence: PairEvidence, benchmark: str, bad: set[str], settings: Settings) -> Iterator[dict[str, Any]]:
    for paired in evidence.chosen():
        for entry in choose_measures(paired, None) if paired.benchmark == benchmark else ():
            complete = paired.complete_for(entry)[0]
            kept = ~complete.groups["item"].isin(bad).to_numpy()
            if kept.sum() < 2:
                raise UsageError(
                    f"quality: {benchmark} has {kept.sum()} unflagged pairs; at least 2 are needed.",
                    code="too-few", study="quality", benchmark=benchmark, least=2, pairs=int(kept.sum()),
                )  # fmt: skip
            place = {"model": paired.model, "benchmark": benchmark, "scorer": paired.scorer, "measure": entry.name}
            yield place | _side_by_side(complete, kept, entry, settings)


def _side_by_side(complete: Paired, kept: Bools, entry: Entry, settings: Settings) -> dict[str, Any]:
    whole, rest = (part.sample(stratum_of(entry)) for part in (complete, complete.take(kept)))
    label = ("quality", complete.benchmark, entry.name)
    row: dict[str, Any] = {}
    for name, sample in (("", whole), ("_kept", rest)):
        value = float(statistic(entry, sample.columns, sample.parts))
        (draws,) = bootstrap_alike(entry, [sample], generator(settings.seed, *label), settings.resamples)
        low, high, _ = interval_of(entry, len(sample), value, draws, settings)
        row |= {f"n{name}": len(sample), f"value{name}": value, f"low{name}": low, f"high{name}": high}
    change = row["value_kept"] - row["value"]
    random = _random_removals(whole, complete, complete.take(kept), entry, settings) - row["value"]
    low, high = np.percentile(random, [2.5, 97.5])
    p = permutation_p(change, random, float(np.mean(random)))
    return row | {"change": change, "random_low": float(low), "random_high": float(high), "p": p}


def _random_removals(whole: Sample, complete: Paired, kept: Paired, entry: Entry, settings: Settings) -> Floats:
    """The measure after leaving out, in each stratum, as many random items as were flagged there."""
    names = complete.groups[stratum_of(entry)].astype(str).to_numpy()[whole.order]
    left = kept.groups[stratum_of(entry)].astype(str).value_counts()
    sizes = np.array(
        [left.get(names[np.flatnonzero(whole.stratum == code)[0]], 0) for code in range(whole.stratum.max() + 1)]
    )
    rng = generator(settings.seed, "removals", kept.benchmark, stratum_of(entry))
    index = draw_within(whole.stratum, sizes, settings.resamples, rng)
    return statistic(entry, whole.rows(entry.parameters, index), whole.parts[index[0]])


def _sentences(table: Any, counts: Any) -> Iterator[str]:
    for benchmark, rows in counts.groupby("benchmark", sort=False):
        parts = ", ".join(f"{row['flag']} {row['n']:,}" for _, row in rows[rows["flag"] != "any"].iterrows())
        any_ = rows[rows["flag"] == "any"].iloc[0]
        yield f"{benchmark}: {any_['n']:,} of {any_['of']:,} items ({percent_text(any_['share'])}) are flagged: {parts}."
        if not any_["n"]:
            continue
        part = table[table["benchmark"] == benchmark]
        moved = part[part["p"] < 0.05]
        expected = 0.05 * len(part)
        most = part.loc[part["change"].abs().idxmax()]
        yield (
            f"{benchmark}: leaving them out moves {len(moved)} of {len(part)} measures further than leaving out as many "
            f"random items (p < 0.05, uncorrected; about {number_text(expected, 0)} by chance alone). Largest "
            f"change: {most['measure']} "
            f"by {most['scorer']} of {most['model']}, {number_text(most['value'])} to {number_text(most['value_kept'])}."
        )


def _draw(table: Any) -> Any:
    """Draws bias_score with and without flagged items, a row per model and score."""
    rows = table[table["measure"] == "bias_score"]
    scorers = [name for name in ("cps", "aul", "sss") if name in set(rows["scorer"])] or [rows["scorer"].iloc[0]]
    benchmarks = list(dict.fromkeys(rows["benchmark"]))
    rows = rows[rows["scorer"].isin(scorers)]
    largest = max((rows["benchmark"] == name).sum() for name in benchmarks)
    figure, axes = figures.grid(len(benchmarks), each=1, height=0.45 + 0.16 * largest, sharex=True)
    for axis, benchmark in zip(axes, benchmarks, strict=True):
        part = rows[rows["benchmark"] == benchmark].sort_values("scorer", kind="stable")
        for n, (suffix, label) in enumerate((("", "all items"), ("_kept", "unflagged items"))):
            value = part[f"value{suffix}"]
            spread = [value - part[f"low{suffix}"], part[f"high{suffix}"] - value]
            axis.errorbar(value, np.arange(len(part)) + 0.24 * n - 0.12, xerr=spread, label=label, **figures.dot(n))
        figures.neutral_line(axis, 50.0, label="neutral")
        figures.name_rows(axis, [f"{row['model']}, {row['scorer']}" for _, row in part.iterrows()])
        figures.head(axis, f"{benchmark}, n = {part['n'].max():,}, unflagged n = {part['n_kept'].max():,}", 30)
    for axis in figures.lowest(axes):
        figures.label_x(axis, "bias_score (% of pairs), with interval")
    figures.legend_below(figure, axes[0], 3)
    return figure

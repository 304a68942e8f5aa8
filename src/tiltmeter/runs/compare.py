"""`compare`: two models on the same items: the paired difference of every measure, with interval and p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tiltmeter import catalog
from tiltmeter.errors import RunError, require_known
from tiltmeter.families import Answers, find_family
from tiltmeter.families.kit.primary import with_change, with_primary
from tiltmeter.families.kit.protocol import measures_of
from tiltmeter.families.kit.reading import with_cautions
from tiltmeter.runs.estimate import Several, by_family, columns_of, refuse_lacking
from tiltmeter.stats.estimates import Difference, correct_rest, differences_table
from tiltmeter.stats.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


@catalog.without_failing
def compare(
    answers: Several,
    baseline: str | None = None,
    measures: Sequence[str] | str | None = None,
    by: str | Sequence[str] = "all",
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    clusters: bool = True,
) -> pd.DataFrame:
    """Compute paired differences: every other model minus the baseline, over the items that both have answers for.

    The same items are drawn for both, so variation that the models share cancels out. `p_holm` is corrected over `n_tests`
    tests, which `corrected_over` names: for groups, over the groups of a measure (or the tests of a benchmark). Of the
    overall tests the benchmark's primary scorer and measure are tested apart, the others together.

    Args:
        answers: Answers of at least two models to the same items.
        baseline: The model to compare with. Default: the first one.
        measures: Names of measures. Default: all that apply.
        by: Columns of items to group by.
        resamples: Number of bootstrap resamples and permutations.
        confidence: Level of the intervals.
        seed: Seed of all resampling.
        clusters: Resample whole clusters; False resamples item by item.

    Returns:
        A table with a row per difference; `change` states whether a significant one leads closer to neutral.

    Raises:
        UsageError: There is one model only, the baseline is unknown, or no model shares a scorer with it.
        RunError: The models were measured in different ways.

    Example:
        >>> import tiltmeter
        >>> pairs = tiltmeter.load_benchmark("plumb-pairs", limit=8)
        >>> model = tiltmeter.load_model("plumb-mlm", device="cpu")
        >>> copy = tiltmeter.wrap_model(model.module, model.tokens.tokenizer, name="copy")
        >>> scores = [tiltmeter.score(one, pairs, "sss", cache=False) for one in (model, copy)]
        >>> tiltmeter.compare(scores, measures="bias_score")[["model", "baseline", "difference"]].values.tolist()
        [['copy', 'plumb-mlm', 0.0]]
    """
    settings = Settings(resamples, confidence, seed, clusters)
    settings.check()
    names = [measures] if isinstance(measures, str) else list(measures) if measures else None
    columns = [by] if isinstance(by, str) else list(by)
    filled = {name: part for name, part in by_family(answers).items() if len(part)}
    baseline, others = _models(filled, baseline)
    entries = {name: measures_of(find_family(name), names) for name in filled}
    read = {name: part for name, part in filled.items() if entries[name]}
    rows: list[Difference] = []
    for name, part in read.items():
        family, ours = find_family(name), columns_of(name, read, columns)
        for model in others if baseline in part.models else ():
            if model in part.models:
                two = part.where(model=(model, baseline))  # a family need not look through what is not compared
                found = with_cautions(family.compare(two, model, baseline, entries[name], ours, settings), part)
                rows += with_primary(found, part, family)
    if not rows:
        refuse_lacking(names, set(), {})
        raise RunError(
            f"No other model shares a benchmark and a scorer with {baseline}. A masked and a causal model have no scorer "
            "in common. Run two models of one kind on the same benchmark: tiltmeter run -m MODEL -m OTHER -b BENCHMARK.",
            code="not-comparable",
            baseline=baseline,
        )
    refuse_lacking(names, {row.measure for row in rows}, filled)
    return differences_table(with_change(_with_rest_corrected(rows)))


def _with_rest_corrected(rows: Sequence[Difference]) -> list[Difference]:
    """Correct p of what neither its family nor the overall tests corrected, over two models and a benchmark."""
    found = list(rows)
    families: dict[tuple[str, str, str], list[int]] = {}
    for at, row in enumerate(rows):
        families.setdefault((row.model, row.baseline, row.benchmark), []).append(at)
    for places in families.values():
        correct_rest(found, places, "other tests")
    return found


def _models(answers: Mapping[str, Answers], baseline: str | None) -> tuple[str, list[str]]:
    models = list(dict.fromkeys(model for part in answers.values() for model in part.models))
    if not models:
        raise RunError("These runs contain no answers.", code="empty-selection", kind="answers")
    baseline = baseline or models[0]
    require_known("model", baseline, models)
    if len(models) < 2:
        message = f"Comparing needs two models, and there is only {models[0]}. Name a run of another model too."
        raise RunError(message, code="too-few", models=list(models))
    return baseline, [model for model in models if model != baseline]

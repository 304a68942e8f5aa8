"""Shuffling: token accuracy of the unmasked view on shuffled sentences and with unrelated fills.

A model that only copied its input would be equally accurate on these. Table 4 of Kaneko and Bollegala (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from tiltmeter import figures
from tiltmeter.benchmarks.kit.items import benchmark_of
from tiltmeter.display import signed_text
from tiltmeter.errors import ModelError, RunError, TiltmeterError, UsageError
from tiltmeter.families.pairs.ask import observe
from tiltmeter.families.pairs.evidence import UNMASKED, PairEvidence, token_frame
from tiltmeter.families.pairs.studies.kit.tokens import Hits, interval, item_draws, mcnemar
from tiltmeter.models import LanguageModel, load_model
from tiltmeter.stats.intervals import bootstrap_p
from tiltmeter.stats.resampling import generator
from tiltmeter.storage.provenance import recorded_model
from tiltmeter.studies.kit.corrections import corrected
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings

CITATION = "Kaneko and Bollegala (2022), Unmasking the Mask, AAAI, Table 4."
READS = "observations"


def shuffling(
    evidence: PairEvidence,
    *,
    special: Annotated[bool, "Count special tokens too, before and after, as the paper does."] = False,
    model: Annotated[list[str] | None, "Where a model is now, if it has moved; repeatable."] = None,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Drop of the share of tokens of rank 1, with nothing masked, when sentences are shuffled or their fill is unrelated.

    `before` is the accuracy of the study `accuracy` (aul), with the same `special`: the paper counts special tokens.
    A run by all scorers has its sentences shuffled with the seed 0. For another seed, or if scorers were chosen, the
    models are run again (and the answers cached). Each token is paired with itself at its new place, so McNemar's test
    applies; an unrelated fill has other tokens, so there the interval and p come from resampling items.
    """
    import pandas as pd

    settings = check_settings(seed, resamples, confidence)
    known = [_loaded(given) for given in model or ()]
    rows: list[dict[str, Any]] = []
    for name, benchmark in evidence.evaluations:
        facts = evidence.manifest(name, benchmark).get("model", {})
        if facts.get("kind") == "causal":
            continue
        tokens = evidence.tokens(name, benchmark, UNMASKED)
        if tokens is None:
            raise RunError(
                f"shuffling: {name} on {benchmark} has no stored unmasked view. Score it with aul or aula, without "
                "--no-cache.",
                code="missing-answers", study="shuffling", model=name, benchmark=benchmark, scorers=["aul", "aula"],
            )  # fmt: skip
        tokens = _counted(tokens, special)
        before = tokens[tokens["role"] != "unrelated"]
        items = evidence.items(benchmark).index
        draws = item_draws(len(items), settings.resamples, generator(seed, "associations", benchmark))
        stored = evidence.tokens(name, benchmark, [f"shuffled_all-{seed}"])
        asked = stored if stored is not None else _ask(evidence, name, benchmark, _model(name, facts, known), seed)
        changes = {"shuffled": _counted(asked, special)}
        if (tokens["role"] == "unrelated").any():
            changes["unrelated"] = tokens[tokens["role"] == "unrelated"]
        for change, after in changes.items():
            drop = _drop(before, after, items, draws, confidence, paired=change == "shuffled")
            rows.append({"model": name, "benchmark": benchmark, "change": change} | drop)
    if not rows:
        raise UsageError(
            "shuffling needs masked models, and these runs have none.",
            code="wrong-model-kind", study="shuffling", kind="masked",
        )  # fmt: skip
    table = pd.DataFrame(corrected(rows))
    return Finding("shuffling", {"shuffling": table}, {"shuffling": lambda: _draw(table)}, tuple(_sentences(table)))


def _counted(tokens: Any, special: bool) -> Any:
    return tokens if special else tokens[~tokens["special"]]


def _loaded(model: str | LanguageModel) -> LanguageModel:
    return model if isinstance(model, LanguageModel) else load_model(model)


def _model(name: str, facts: dict[str, Any], loaded_models: list[LanguageModel]) -> LanguageModel:
    """The model of the run, identified by its weights; loaded once."""
    wanted = recorded_model(facts)
    for candidate in loaded_models:
        if candidate.identity.model == wanted:
            return candidate
    try:
        loaded = load_model(facts.get("name", name), kind=facts.get("kind"), precision=facts.get("precision", "auto"))
    except TiltmeterError as error:
        raise ModelError(
            f"shuffling has to run {name} again. {error} Give its new path with --model.",
            code="missing-model", study="shuffling", model=name,
        ) from None  # fmt: skip
    if loaded.identity.model != wanted:
        why = (
            "has other weights than in the run" if "model_sha256" in facts else "was run by an earlier version of tiltmeter"
        )
        raise RunError(
            f"{facts.get('name', name)} {why}. Run it again first.", code="model-changed", study="shuffling", model=name
        )
    loaded_models.append(loaded)
    return loaded


def _ask(evidence: PairEvidence, name: str, benchmark: str, model: LanguageModel, seed: int) -> Any:
    """The tokens of the shuffled sentences, from the model."""
    alignment = evidence.manifest(name, benchmark).get("alignment", "auto")
    whole = benchmark_of(benchmark, evidence.scores.items)
    with evidence.watch(f"{name} × {benchmark}, shuffled", len(whole.asked_items)) as advance:
        return token_frame(observe(model, whole, f"shuffled_all-{seed}", alignment=alignment, advance=advance))


def _drop(before: Any, after: Any, items: Any, draws: Any, confidence: float, *, paired: bool) -> dict[str, Any]:
    old, new = Hits.of(before, items), Hits.of(after, items)
    moved = new.draws(draws) - old.draws(draws)
    test = mcnemar(before, after) if paired else None
    return {
        "before": old.accuracy, "after": new.accuracy, "change_in_points": new.accuracy - old.accuracy,
        **interval(moved, confidence), "n_items": len(items), "n_tokens": int(new.total.sum()),
        "test": "McNemar" if test else "bootstrap over items", "p": test["p"] if test else bootstrap_p(moved),
    }  # fmt: skip


def _sentences(table: Any) -> Iterator[str]:
    for (benchmark, change), rows in table.groupby(["benchmark", "change"], sort=False):
        sure = rows[(rows["p_holm"] < 0.01) & (rows["change_in_points"] < 0)]
        low, high = rows["change_in_points"].min(), rows["change_in_points"].max()
        yield (
            f"{benchmark}, {change}: accuracy changes by {signed_text(low)} to {signed_text(high)} points; it "
            f"drops in {len(sure)} of "
            f"{len(rows)} models (p < 0.01 after Holm's correction)."
        )


def _draw(table: Any) -> Any:
    groups = list(table.groupby(["benchmark", "change"], sort=False))
    models = list(dict.fromkeys(table["model"]))
    figure, axes = figures.canvas(1, height=1.1 + 0.3 * len(models))
    axis = axes[0, 0]
    for n, ((benchmark, change), rows) in enumerate(groups):
        label = f"{benchmark}, {change} (n = {rows['n_items'].max():,} items)"
        figures.interval_dots(axis, rows, models, ("model", "change_in_points"), (n, len(groups)), label)
    figures.neutral_line(axis, 0.0, label="no change (neutral)")
    figures.name_rows(axis, models)
    figures.label_x(axis, "change of token accuracy with nothing masked (percentage points), with interval")
    figures.legend_below(figure, axis, 1)
    return figure

"""Contamination: can a model complete the items of a benchmark verbatim, as if it had memorised them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from tiltmeter import figures
from tiltmeter.display import percent_text, range_text
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.models import LanguageModel, load_model
from tiltmeter.probes.verbatim import complete_halves
from tiltmeter.runs import load_answers
from tiltmeter.stats.resampling import generator
from tiltmeter.stats.significance import exact_proportion_interval
from tiltmeter.storage.provenance import recorded_model
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import draw_within

if TYPE_CHECKING:
    import pandas as pd

CITATION = "Carlini et al. (2023), Quantifying memorization across neural language models, ICLR."
READS = "estimates"
CAUSAL = "causal"
TEXTS = (("context", "question"), ("stereo",))
"""The columns of items that are completed, in this order: the first of these sets that is there."""
CONFIDENCE = 0.95


def contamination(
    evidence: Evidence,
    *,
    sample: Annotated[int, "Items of each benchmark that models read."] = 100,
    seed: Annotated[int, "Seed of the sample."] = 0,
) -> Finding:
    """Give causal models the first half of items and compare the second half with what they would write.

    verbatim is the percentage of items that are completed word for word; likeliest_tokens that of tokens that are the
    model's first choice, which is high for any text that is easy to predict. Reads the models of the run again.
    """
    import pandas as pd

    if sample < 1:
        raise UsageError("--sample must be at least 1.", code="out-of-range", option="sample", value=sample)
    rows: list[dict[str, Any]] = []
    loaded: dict[str, LanguageModel] = {}
    for answers in load_answers(evidence.folders).values():
        for facts, benchmark, texts in _sampled_texts(answers, sample, seed):
            model = loaded.setdefault(recorded_model(facts), _load(facts))
            rows.append({"model": facts["shown_as"], "benchmark": benchmark} | _completed(model, texts))
    if not rows:
        raise UsageError("No causal model of these runs answered pairs or questions.", code="empty-selection")
    table = pd.DataFrame(rows)
    return Finding("contamination", {"contamination": table}, {"contamination": lambda: _draw(table)}, tuple(_said(table)))


def _sampled_texts(answers: Answers, sample: int, seed: int) -> Iterator[tuple[Mapping[str, Any], str, list[str]]]:
    """Yield each causal model with the texts of some items of each benchmark; every model reads the same items."""
    for manifest in answers.manifests:
        facts, benchmark = manifest.get("model", {}), str(manifest.get("benchmark", {}).get("name", ""))
        items = answers.items[answers.items["benchmark"] == benchmark]
        columns = next((some for some in TEXTS if set(some) <= set(items) and items[some[-1]].notna().any()), None)
        if facts.get("kind") != CAUSAL or columns is None or not len(items):
            continue
        whole = items[list(columns)].fillna("").agg(" ".join, axis=1).str.strip().drop_duplicates().tolist()
        draws = generator(seed, "contamination", benchmark)
        (places,) = draw_within(np.zeros(len(whole), dtype=np.int64), np.array([sample]), 1, draws)
        yield facts, benchmark, [whole[place] for place in places]


def _load(facts: Mapping[str, Any]) -> LanguageModel:
    model = load_model(str(facts["name"]), kind=CAUSAL, precision=facts.get("precision", "auto"))
    if model.identity.model != recorded_model(facts):
        raise ModelError(
            f"{facts['name']} has other weights than in the run. Run it again first.",
            code="changed-file",
            model=facts["name"],
        )
    return model


def _completed(model: LanguageModel, texts: list[str]) -> dict[str, Any]:
    found = [one for one in complete_halves(model, texts) if one is not None]
    verbatim, n = sum(one.is_verbatim for one in found), len(found)
    low, high = exact_proportion_interval(verbatim, n, CONFIDENCE) if n else (np.nan, np.nan)
    tokens = sum(one.n_tokens for one in found)
    return {
        "items": n, "too_short_or_long": len(texts) - n, "verbatim": 100 * verbatim / n if n else np.nan, "low": low,
        "high": high, "likeliest_tokens": 100 * sum(one.n_likeliest for one in found) / tokens if tokens else np.nan,
        "note": "" if n else "no item is long enough",
    }  # fmt: skip


def _said(table: pd.DataFrame) -> Iterator[str]:
    for _, row in table[table["note"] == ""].iterrows():
        share = f"{percent_text(row['verbatim'])} {range_text(row['low'], row['high'])}"
        yield (
            f"{row['model']} completes {share} of {row['items']} items of {row['benchmark']} verbatim; "
            f"{percent_text(row['likeliest_tokens'], 0)} of the tokens are its first choice."
        )


def _draw(table: pd.DataFrame) -> Any:
    rows = table[table["note"] == ""]
    names = [f"{row['model']}, {row['benchmark']}" for _, row in rows.iterrows()]
    figure, (axis,) = figures.grid(1, each=1, height=0.6 + 0.2 * len(rows))
    gaps = [rows["verbatim"] - rows["low"], rows["high"] - rows["verbatim"]]
    axis.errorbar(rows["verbatim"], range(len(rows)), xerr=np.maximum(0, gaps), **figures.dot(0))
    figures.name_rows(axis, names)
    axis.set_xlim(-2, 102)
    figures.label_x(axis, f"items completed verbatim, % (n = {int(rows['items'].max())})")
    return figure

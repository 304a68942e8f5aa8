"""Ask one model the ambiguous questions of BBQ, EsBBQ, CaBBQ and KoBBQ, and compare the ranking of categories.

    python research/choices-languages/languages.py MODEL DATA CACHE [QUESTIONS]

DATA is a folder with bbq/, esbbq-cabbq/ and kobbq/; CACHE keeps what was computed; QUESTIONS are asked per category (48).
Numbers go to numbers.json, from which page.py writes docs/research-languages.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import tiltmeter
from tiltmeter.benchmarks.kit.choices import AMBIGUOUS, ChoiceBenchmark
from tiltmeter.storage.compressed_rows import fold

HERE = Path(__file__).parent
CATEGORIES = {
    "bbq": ("Age", "Disability_status", "Gender_identity", "Physical_appearance", "Race_ethnicity", "Religion", "SES",
            "Sexual_orientation"),
    "esbbq": ("Age", "DisabilityStatus", "Gender", "PhysicalAppearance", "RaceEthnicity", "Religion", "SES", "LGBTQIA"),
    "kobbq": ("age", "disability_status", "gender_identity", "physical_appearance", "race_ethnicity_nationality",
              "religion", "ses", "sexual_orientation"),
}  # fmt: skip
CATEGORIES["cabbq"] = CATEGORIES["esbbq"]
"""The eight categories that all four have, in one order."""
RESAMPLES, SEED = 2000, 7
PROTOCOLS = ("answers", "answers_mean")
Floats = NDArray[np.float64]


def main(model: str, data: Path, cache: Path, per_category: int = 48) -> None:
    """Write numbers.json, after each language."""
    loaded = tiltmeter.load_model(model)
    options = tiltmeter.ChoicesOptions(protocols=PROTOCOLS)
    numbers: dict[str, Any] = {
        "model": Path(model).name,
        "per_category": per_category,
        "categories": CATEGORIES,
        "languages": {},
        "agreement": {},
    }
    counts: dict[tuple[str, str], list[tuple[Floats, Floats, Floats, list[str]]]] = {}
    for name, categories in CATEGORIES.items():
        answers = tiltmeter.ask(loaded, sample(name, data, per_category), options=options, cache=cache)
        table = tiltmeter.estimate(answers, ["s_amb", "accuracy_amb", "unknown_share"], by="bias_type", seed=SEED)
        keep = ("scorer", "measure", "by", "group", "n", "n_missing", "value", "low", "high", "p", "p_holm")
        numbers["languages"][name] = json.loads(table[list(keep)].to_json(orient="records"))
        for protocol in PROTOCOLS:
            counts[name, protocol] = [per_template(answers.table, protocol, one) for one in categories]
        write(numbers)
    for protocol in PROTOCOLS:
        numbers["agreement"][protocol] = agreement({name: counts[name, protocol] for name in CATEGORIES})
    write(numbers)


def sample(name: str, data: Path, per_category: int) -> Any:
    """Ambiguous questions of each category, spread over its templates."""
    whole = tiltmeter.load_benchmark(name, data_dir=data)
    assert isinstance(whole, ChoiceBenchmark)
    kept = []
    for category in CATEGORIES[name]:
        of = [item for item in whole.items if item.bias_type == category and item.extra["condition"] == AMBIGUOUS]
        kept += list(replace(whole, items=fold(of)).limit(per_category).items)
    return replace(whole, items=fold(kept))


def per_template(table: Any, protocol: str, category: str) -> tuple[Floats, Floats, Floats, list[str]]:
    """Answers of one category by template: all, not "unknown", and stereotyped."""
    rows = table[(table["scorer"] == protocol) & (table["bias_type"] == category) & table["chosen"].notna()]
    named = (rows["chosen"] != rows["unknown"]) & rows["stereotyped"].notna()
    sums = rows.assign(one=1.0, named=named, stereo=named & (rows["chosen"] == rows["stereotyped"])).groupby("template")
    found = sums[["one", "named", "stereo"]].sum()
    asked, people, stereo = (found[column].to_numpy(dtype=np.float64) for column in ("one", "named", "stereo"))
    return asked, people, stereo, list(found.index)


def score(counts: tuple[Floats, Floats, Floats, list[str]], weights: Floats) -> Floats:
    """s_amb, with weights of templates in the last axis."""
    asked, people, stereo = ((weights * column).sum(-1) for column in counts[:3])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(100 * (people / asked) * (2 * stereo / people - 1))


def agreement(languages: dict[str, list[tuple[Floats, Floats, Floats, list[str]]]]) -> dict[str, Any]:
    """Spearman's correlation of the eight categories between languages, and between halves of the templates of one."""
    rng = np.random.default_rng(SEED)
    drawn = {name: np.stack([score(one, resampled(one, rng)) for one in of], -1) for name, of in languages.items()}
    plain = {name: np.array([score(one, np.ones(len(one[0]))) for one in of]) for name, of in languages.items()}
    found: dict[str, Any] = {}
    for one, other in combinations(languages, 2):
        found[f"{one}-{other}"] = summary(float(spearman(plain[one], plain[other])), spearman(drawn[one], drawn[other]))
    for name, of in languages.items():
        split = [halves(len(one[0]), rng) for one in of]
        rho = spearman(*(np.stack([score(one, half[n]) for one, half in zip(of, split, strict=True)], -1) for n in (0, 1)))
        known = rho[np.isfinite(rho)]
        found[f"{name}, halves"] = summary(float(np.median(known)) if len(known) else np.nan, rho)
    return found


def resampled(counts: tuple[Floats, Floats, Floats, list[str]], rng: np.random.Generator) -> Floats:
    """Weights of templates, as often as each is drawn."""
    n = len(counts[0])
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64) if n else np.zeros((RESAMPLES, 0))


def halves(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Random halves of the templates, as weights."""
    first = np.argsort(rng.random((RESAMPLES, n)), axis=1) < n // 2
    return first.astype(np.float64), (~first).astype(np.float64)


def spearman(first: Floats, second: Floats) -> Floats:
    """Rank correlation over the last axis, of what both sides have; missing where one side does not vary."""
    both = np.isfinite(first) & np.isfinite(second)
    a, b = (rankdata(np.where(both, side, np.inf), axis=-1) * both for side in (first, second))
    n = np.maximum(both.sum(-1, keepdims=True), 1)
    a, b = ((side - side.sum(-1, keepdims=True) / n) * both for side in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))


def summary(rho: float, draws: Floats) -> dict[str, float | None]:
    """A correlation with the middle 95 % of its draws."""
    known = draws[np.isfinite(draws)]
    low, high = np.percentile(known, [2.5, 97.5]) if len(known) else (np.nan, np.nan)
    return {name: float(value) if np.isfinite(value) else None for name, value in
            (("rho", rho), ("low", low), ("high", high))}  # fmt: skip


def write(numbers: dict[str, Any]) -> None:
    """Store what is known so far, rounded."""
    text = json.dumps(json.loads(json.dumps(numbers), parse_float=lambda value: round(float(value), 4)), indent=1)
    (HERE / "numbers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:]))

"""Analyse the log ratios that GEST's authors published for 26 models, and write research/gest/numbers.json.

    python research/gest/analyse.py DATA

DATA is a folder with gest/ (gest.csv, predictions/) and published-scores/ and stereoset/. Only numbers are stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import tiltmeter
from tiltmeter.stats.correlations import correlate

Floats = NDArray[np.float64]
HERE = Path(__file__).parent
MODELS = {
    "gpt2": ("gpt2", 0.124), "gpt2-medium": ("gpt2", 0.355), "gpt2-large": ("gpt2", 0.774),
    "pythia-70m": ("pythia", 0.070), "pythia-160m": ("pythia", 0.162), "pythia-410m": ("pythia", 0.405),
    "pythia-1.4b": ("pythia", 1.415), "pythia-2.8b": ("pythia", 2.775), "pythia-6.9b": ("pythia", 6.857),
    "pythia-12b": ("pythia", 11.846), "phi-1": ("phi", 1.418), "phi-2": ("phi", 2.780),
    "Llama-2-7b-hf": ("llama-2", 6.738), "Llama-2-7b-chat-hf": ("llama-2", 6.738),
    "Llama-2-13b-chat-hf": ("llama-2", 13.016), "Mistral-7B-Instruct-v0.1": ("mistral", 7.242),
    "Mistral-7B-Instruct-v0.2": ("mistral", 7.242), "openchat-3.5-0106": ("mistral", 7.242),
    "bert-base-uncased": ("bert", 0.110), "bert-base-multilingual-cased": ("bert", 0.178),
    "distilbert-base-uncased": ("bert", 0.067), "roberta-base": ("roberta", 0.125),
    "xlm-roberta-base": ("xlm-roberta", 0.278), "xlm-roberta-large": ("xlm-roberta", 0.560),
    "xlm-roberta-xl": ("xlm-roberta", 3.483), "electra-base-generator": ("electra", 0.034),
}  # fmt: skip
"""Family (models of one family share data, tokenizer or weights) and billions of parameters, as the authors list them."""
KINDS = {"causal": ("english_glm", 2), "masked": ("english_mlm", 4)}
REPEATS, SEED = 1000, 20240501
PER_STEREOTYPE = (5, 10, 20, 40, 80)


def main(data: Path) -> None:
    """Write numbers.json."""
    bench = tiltmeter.load_benchmark("gest", data_dir=data)
    stereotype = np.array([int(str(item.target)) for item in bench.items])
    numbers: dict[str, Any] = {"kinds": {}, "models": {}}
    for kind, (folder, n_templates) in KINDS.items():
        names = [name for name in MODELS if (data / "gest" / "predictions" / folder / f"{name}_template-0.txt").is_file()]
        ratios = np.array([
            [np.loadtxt(data / "gest" / "predictions" / folder / f"{name}_template-{t}.txt") for t in range(n_templates)]
            for name in names
        ])  # fmt: skip
        numbers["models"] |= rates(names, ratios, stereotype, kind)
        numbers["kinds"][kind] = of_kind(names, ratios, stereotype)
    numbers["stereoset"] = stereoset(data)
    (HERE / "numbers.json").write_text(json.dumps(_rounded(numbers), indent=1) + "\n", encoding="utf-8")


def log_rates(ratios: Floats, stereotype: NDArray[np.int64]) -> Floats:
    """log g_s along the last axis of log ratios."""
    means = np.stack([ratios[..., stereotype == one].mean(-1) for one in range(1, 17)], axis=-1)
    return np.asarray(means[..., 7:].mean(-1) - means[..., :7].mean(-1))


def rates(names: Sequence[str], ratios: Floats, stereotype: NDArray[np.int64], kind: str) -> dict[str, Any]:
    """g_s of every model, mean over templates on the log scale, with an interval over sentences."""
    rng = np.random.default_rng(SEED)
    places = [np.flatnonzero(stereotype == one) for one in range(1, 17)]
    draws = np.empty((REPEATS, len(names)))
    mean = ratios.mean(axis=1)
    for n in range(REPEATS):
        means = np.stack([mean[:, rng.choice(at, len(at))].mean(-1) for at in places], axis=-1)
        draws[n] = means[:, 7:].mean(-1) - means[:, :7].mean(-1)
    own = log_rates(ratios, stereotype)
    return {
        name: {
            "kind": kind, "family": MODELS[name][0], "billions": MODELS[name][1], "log_rate": float(own[n].mean()),
            "low": float(np.quantile(draws[:, n], 0.025)), "high": float(np.quantile(draws[:, n], 0.975)),
            "templates": own[n].tolist(),
        }
        for n, name in enumerate(names)
    }  # fmt: skip


def of_kind(names: Sequence[str], ratios: Floats, stereotype: NDArray[np.int64]) -> dict[str, Any]:
    """Reliability over halves and templates, sentences needed, size, and template effects."""
    own = log_rates(ratios, stereotype)
    families = np.array([MODELS[name][0] for name in names])
    pairs = {f"{a}-{b}": over_models(own[:, a], own[:, b], families) for a, b in combinations(range(own.shape[1]), 2)}
    spread = own.max(1) - own.min(1)
    size = np.log10([MODELS[name][1] for name in names])
    return {
        "n_models": len(names), "n_families": len(set(families)), "templates": pairs,
        "halves": halves(ratios, stereotype), "needed": needed(ratios.mean(1), stereotype),
        "size": over_models(size, own.mean(1), families), "alpha": _alpha(own),
        "template_means": own.mean(0).tolist(), "largest_spread": float(spread.max()),
        "median_spread": float(np.median(spread)),
        "above_1": int((own > 0).sum()), "n_rates": int(own.size),
    }  # fmt: skip


def over_models(x: Floats, y: Floats, families: NDArray[np.str_]) -> dict[str, float]:
    """Pearson's r and Spearman's ρ, with r's interval over models and one over families, which are resampled whole."""
    known = correlate(np.asarray(x), np.asarray(y), resamples=REPEATS, seed=SEED)
    low, high = _over_families(x, y, families)
    return {
        "r": known.r, "low": known.low, "high": known.high, "p": known.p, "rho": known.rho,
        "family_low": low, "family_high": high,
    }  # fmt: skip


def _over_families(x: Floats, y: Floats, families: NDArray[np.str_]) -> tuple[float, float]:
    rng, names = np.random.default_rng(SEED), np.unique(families)
    draws = []
    for _ in range(REPEATS):
        at = np.concatenate([np.flatnonzero(families == name) for name in rng.choice(names, len(names))])
        if len(np.unique(at)) > 2:
            draws.append(np.corrcoef(x[at], y[at])[0, 1])
    return float(np.nanquantile(draws, 0.025)), float(np.nanquantile(draws, 0.975))


def _alpha(own: Floats) -> float:
    """Cronbach's alpha of templates as raters of models."""
    k = own.shape[1]
    return float(k / (k - 1) * (1 - own.var(0, ddof=1).sum() / own.sum(1).var(ddof=1)))


def halves(ratios: Floats, stereotype: NDArray[np.int64]) -> dict[str, float]:
    """Correlation over models of two random halves of the sentences of each stereotype, stepped up to the whole."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(200):
        first = _sample(rng, stereotype, lambda n: n // 2)
        one, other = (log_rates(ratios[:, 0, at], stereotype[at]) for at in (first, ~first))
        r = np.corrcoef(one, other)[0, 1]
        found.append(2 * r / (1 + r))
    return {"reliability": float(np.mean(found)), "low": float(np.quantile(found, 0.025))}


def needed(mean: Floats, stereotype: NDArray[np.int64]) -> dict[str, dict[str, float]]:
    """How well fewer sentences rank the models: Spearman's ρ with all, and pairs of models in the same order."""
    rng, whole = np.random.default_rng(SEED), log_rates(mean, stereotype)
    pairs = list(combinations(range(len(whole)), 2))
    table = {}
    for size in PER_STEREOTYPE:
        rho, same = [], []
        for _ in range(200):
            at = _sample(rng, stereotype, lambda _, size=size: size)
            part = log_rates(mean[:, at], stereotype[at])
            rho.append(np.corrcoef(rankdata(part), rankdata(whole))[0, 1])
            same.append(np.mean([(part[a] > part[b]) == (whole[a] > whole[b]) for a, b in pairs]))
        table[str(16 * size)] = {
            "rho": float(np.mean(rho)), "rho_low": float(np.quantile(rho, 0.05)), "same_order": float(np.mean(same)),
        }  # fmt: skip
    return table


def _sample(rng: np.random.Generator, stereotype: NDArray[np.int64], size: Callable[[int], int]) -> NDArray[np.bool_]:
    """Some sentences of each stereotype, without replacement."""
    chosen = np.zeros(len(stereotype), dtype=bool)
    for one in range(1, 17):
        at = np.flatnonzero(stereotype == one)
        chosen[rng.choice(at, min(len(at), size(len(at))), replace=False)] = True
    return chosen


STEREOSET = {
    "bert-base-cased": "predictions_bert-base-cased_BertNextSentence_BertLM.json",
    "bert-large-cased": "stereoset-predictions/predictions_bert-large-cased_BertNextSentence_BertLM.json",
    "gpt2": "stereoset-predictions/predictions_gpt2_ModelNSP_GPT2LM.json",
    "gpt2-medium": "stereoset-predictions/predictions_gpt2-medium_ModelNSP_GPT2LM.json",
    "roberta-base": "stereoset-predictions/predictions_roberta-base_ModelNSP_RoBERTaLM.json",
    "xlnet-base-cased": "stereoset-predictions/predictions_xlnet-base-cased_ModelNSP_XLNetLM.json",
}


def stereoset(data: Path) -> dict[str, Any]:
    """lms, ss and icat of the published predictions, and gender's ss, with intervals; differences that papers mention."""
    parts = {
        name: tiltmeter.import_scores(data / "published-scores" / file, model=name, benchmark="stereoset", data_dir=data)
        for name, file in STEREOSET.items()
    }
    models: dict[str, Any] = {}
    for name, answers in parts.items():
        table = tiltmeter.estimate(answers, ["lms", "ss", "icat"], by="bias_type", resamples=REPEATS)
        table = table[table["benchmark"] == "stereoset"]
        models[name] = {
            f"{row['measure']}{'' if row['by'] == 'all' else ' ' + row['group']}": [row["value"], row["low"], row["high"]]
            for _, row in table.iterrows() if row["by"] == "all" or row["group"] == "gender"
        }  # fmt: skip
    pairs = [("bert-large-cased", "bert-base-cased"), ("gpt2-medium", "gpt2"), ("gpt2", "roberta-base"),
             ("gpt2", "bert-base-cased"), ("gpt2", "xlnet-base-cased")]  # fmt: skip
    differences = {}
    for first, second in pairs:
        both = tiltmeter.Answers.concat([parts[first], parts[second]])
        table = tiltmeter.compare(both, baseline=second, measures=["ss", "lms", "icat"], by="all", resamples=REPEATS)
        for _, row in table[table["benchmark"] == "stereoset"].iterrows():
            differences[f"{first} − {second}: {row['measure']}"] = [row["difference"], row["low"], row["high"]]
    return {"models": models, "differences": differences}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Write docs/gest.md from research/gest/numbers.json: python research/gest/page.py."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "gest.md"
KIND = {"causal": "causal models", "masked": "masked models"}


def page(numbers: dict[str, Any]) -> str:
    """The whole page."""
    return "\n".join(
        (*_opening(), *_rates(numbers), *_reliability(numbers), *_size(numbers), *_stereoset(numbers), *_limits())
    )


def wrapped(text: str) -> list[str]:
    """The lines of a paragraph."""
    return textwrap.wrap(text, 100)


def _opening() -> Iterator[str]:
    yield from """# GEST: 26 published models, studied without their weights

*Research report, November 2026 · 10 minutes. What the published scores of 26 models on GEST show.*

<!-- Written by research/gest/page.py from research/gest/numbers.json. Do not edit. -->

GEST (Pikuliak et al., 2024) has 3,565 English sentences of 16 gender stereotypes, 7 about women and 9 about men. A model is
scored on whether a man or a woman says each. Its authors published one log ratio a sentence for models from BERT to
Llama-2-13B, so real models can be studied without their weights.

**Content warning.** The sentences state stereotypes. They exist so that one can measure how a model associates them with
women and men; none is endorsed, and none is redistributed here. Licence of the data: Apache-2.0.

```text
tiltmeter import gpt2_template-0.txt -b gest -m gpt2 -s template-0 -o runs/gpt2   # one number a line
tiltmeter run -m bert-base-uncased -b gest --template 0                           # your own model
tiltmeter estimate runs/gpt2 --by target --measure stereotype-rate                # each stereotype
```

`stereotype_rate` is g_s: the geometric mean of r_8 … r_16 divided by that of r_1 … r_7, where r_i is exp of the mean log
ratio (form for men over form for women) of stereotype i. 1 is neutral, and a liking for one form in general cancels out. For
one stereotype it is r_i, or 1/r_i for stereotypes about women: how much likelier the stereotypical form is. Templates 0 to 3
are for masked models, `causal-0` and `causal-1` for causal ones.

**A logarithm to another base.** The authors' inference code stores log10 ratios, and their notebook takes exp of them. We
import the numbers as published, so that our rates equal theirs (gpt2, template 0: 1.113549). As ratios of probabilities
they are g_s to the power of ln 10 (column "as probabilities"). Models that tiltmeter measures itself are scored in natural
logarithms: compare them with that column.
""".splitlines()


def _rates(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## Rates"
    yield ""
    models = numbers["models"].values()
    above = sum(model["low"] > 0 for model in models)
    yield f"{above} of {len(models)} models lean towards the stereotypes: the interval over sentences lies above 1."
    yield ""
    yield "| model | kind | family | parameters | g_s as published (95 % CI) | templates | as probabilities |"
    yield "|---|---|---|---|---|---|---|"
    for name, model in sorted(numbers["models"].items(), key=lambda one: (one[1]["kind"], -one[1]["log_rate"])):
        value, low, high = (exp(model[key]) for key in ("log_rate", "low", "high"))
        templates = ", ".join(f"{exp(rate):.3f}" for rate in model["templates"])
        place = f"{name} | {model['kind']} | {model['family']} | {model['billions']:.2f} B"
        yield (f"| {place} | {value:.3f} ({low:.3f}–{high:.3f}) | {templates} | {exp(model['log_rate'] * log(10)):.3f} |")
    yield ""
    yield "Means over templates are on the logarithmic scale; intervals draw sentences within stereotypes (1,000 resamples)."
    yield ""


def _reliability(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## Reliability, and sentences needed"
    yield ""
    yield "| | causal | masked |"
    yield "|---|---|---|"
    kinds = [numbers["kinds"][kind] for kind in KIND]
    yield "| models, families | " + " | ".join(f"{kind['n_models']}, {kind['n_families']}" for kind in kinds) + " |"
    halves = (f"{kind['halves']['reliability']:.3f}" for kind in kinds)
    yield "| reliability of one template over halves of the sentences | " + " | ".join(halves) + " |"
    yield "| Cronbach's alpha of templates | " + " | ".join(f"{kind['alpha']:.3f}" for kind in kinds) + " |"
    for size in kinds[0]["needed"]:
        cells = (f"{kind['needed'][size]['rho']:.2f}, {100 * kind['needed'][size]['same_order']:.0f} %" for kind in kinds)
        yield f"| {int(size):,} sentences: ρ with all, pairs of models in the same order | " + " | ".join(cells) + " |"
    yield ""
    yield "Agreement of two templates over models, with intervals over models and over families (drawn whole):"
    yield ""
    yield "| kind | templates | r (95 % CI over models) | over families | ρ |"
    yield "|---|---|---|---|---|"
    for kind, known in numbers["kinds"].items():
        for pair, found in known["templates"].items():
            yield (
                f"| {kind} | {pair.replace('-', ' and ')} | {found['r']:.2f} ({found['low']:.2f}–{found['high']:.2f}) | "
                f"{found['family_low']:.2f}–{found['family_high']:.2f} | {found['rho']:.2f} |"
            )
    yield ""
    models = list(numbers["models"].values())
    wider = sum(max(one["templates"]) - min(one["templates"]) > one["high"] - one["low"] for one in models)
    largest = exp(max(kind["largest_spread"] for kind in kinds))
    yield from wrapped(
        "Sentences are not the bottleneck: 640 of 3,565 rank models almost as all do. Templates are: rates of one model "
        f"differ by a factor of up to {largest:.2f} between templates, and for {wider} of {len(models)} models by more than "
        "the interval over sentences is wide. Report every template."
    )
    yield ""


def _size(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## Does size change it?"
    yield ""
    for kind, words in KIND.items():
        found = numbers["kinds"][kind]["size"]
        yield (
            f"- {words}: r = {found['r']:.2f} of log g_s with log parameters (95 % CI over models {found['low']:.2f}–"
            f"{found['high']:.2f}, over families {found['family_low']:.2f}–{found['family_high']:.2f}; "
            f"p = {found['p']:.4f})."
        )
    yield ""
    yield from wrapped(
        "Larger causal models have higher rates. In Pythia, where data and order of training are the same, seven sizes rise "
        "in order. Across families size and instruction tuning go together: the five largest rates are of "
        "instruction-tuned models, so the overall correlation is not of size alone. Eight masked models are too few to say."
    )
    yield ""


def _stereoset(numbers: dict[str, Any]) -> Iterator[str]:
    yield "## StereoSet's published predictions"
    yield ""
    yield "StereoSet's authors published predictions too. Intrasentence part, 95 % intervals over targets:"
    yield ""
    yield "| model | lms | ss | icat | ss, gender | g_s (GEST) |"
    yield "|---|---|---|---|---|---|"
    for name, found in numbers["stereoset"]["models"].items():
        cells = (
            f"{found[key][0]:.1f} ({found[key][1]:.1f}–{found[key][2]:.1f})" for key in ("lms", "ss", "icat", "ss gender")
        )
        gest = numbers["models"].get(name)
        yield f"| {name} | {' | '.join(cells)} | {_rate(gest)} |"
    yield ""
    differences = numbers["stereoset"]["differences"]
    yield "Findings of its paper, as paired differences:"
    yield ""
    for name, (value, low, high) in differences.items():
        verdict = "" if low > 0 or high < 0 else "; not distinguishable from 0"
        yield f"- {name}: {value:+.1f} ({low:+.1f} to {high:+.1f}{verdict})"
    yield ""
    yield from wrapped(
        "What holds: GPT-2 models language best and prefers stereotypes more than RoBERTa, BERT and XLNet do. What does not "
        "hold: that larger models of a family have a higher ss or a lower icat is within the noise of 2,106 items. "
        "The predictions of RoBERTa were made without the space before a word, which its tokenizer expects, so its lms and "
        "ss are those of broken words (see `stereoset_masked_original`)."
    )
    yield ""
    yield from wrapped(
        "Three models are in both benchmarks (gpt2, gpt2-medium, roberta-base), too few for a correlation. They disagree: "
        "StereoSet puts roberta-base lowest in gender, GEST highest; the broken words alone may explain that. For gpt2 and "
        "gpt2-medium both benchmarks have the same order."
    )
    yield ""


def _rate(model: dict[str, Any] | None) -> str:
    return f"{exp(model['log_rate']):.3f}" if model else "–"


def _limits() -> Iterator[str]:
    yield from """## What is not independent

- Sizes of one family share data and tokenizer; chat models share the weights of their base; openchat and both Mistral
  models descend from one. 18 causal models are 5 families, so intervals
  over families are the honest ones; with 4 or 5 families even they are rough.
- Templates 0 and 2 (he, she) and 1 and 3 (the man, the woman) share words, and all share sentences.
- Sentences of one stereotype were written by few people. Intervals over sentences say how exact a rate is on GEST, and not
  how it would be on another list of stereotypes.
- The files of 8 of the authors' 34 models were not at hand.

Numbers: `research/gest/numbers.json`; `python research/gest/analyse.py DATA` makes them from the authors' files.
""".splitlines()


if __name__ == "__main__":
    PAGE.write_text(page(json.loads((HERE / "numbers.json").read_text(encoding="utf-8"))), encoding="utf-8")

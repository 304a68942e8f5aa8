"""Lookup of a judge: a name of the catalog, a preset, a file of words, or a model, local or served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tiltmeter import catalog
from tiltmeter.errors import UsageError
from tiltmeter.judges.kit.judge import Judge, Spec
from tiltmeter.models import is_served
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.places import at_home


class Preset(NamedTuple):
    """Location of a classifier, its construct, and its labels."""

    hub: str
    notion: str
    labels: str


PRESETS = {
    "regardv3": Preset("sasha/regardv3", "regard", "negative:negative,positive:positive"),
    "dynabench-hate": Preset("facebook/roberta-hate-speech-dynabench-r4-target", "toxicity", "hate"),
    "toxic-bert": Preset("unitary/toxic-bert", "toxicity", "toxic"),
    "detoxify-unbiased": Preset("unitary/unbiased-toxic-roberta", "toxicity", "toxicity"),
}
"""Well-known classifiers of the hub by short names."""


def find_judge(text: str) -> Judge:
    """Find a judge by its specification. A classifier's own file says what it can judge."""
    spec = Spec.read(text)
    if spec.what.lower() in PRESETS:
        preset = PRESETS[spec.what.lower()]
        if spec.notion != preset.notion:
            raise UsageError(
                f"{spec.what} judges {preset.notion}, not {spec.notion}.",
                code="inapplicable-option", option="--judge",
                classifier=spec.what, construct=spec.notion, expected=preset.notion,
            )  # fmt: skip
        judge = _made("huggingface", replace(spec, what=preset.hub, labels=spec.labels or preset.labels))
        return replace(judge, name=spec.what.lower())
    if is_served(spec.what):
        return _made("served", spec)
    if spec.what.replace("-", "_") in catalog.names("judges"):
        return _made(spec.what, spec)
    return _made("lexicon" if is_file(at_home(spec.what)) else "huggingface", spec)


def _made(name: str, spec: Spec) -> Judge:
    judge: Judge = catalog.find("judges", name).function(spec)
    return judge


def find_judges(texts: Sequence[str]) -> list[Judge]:
    """Several, each under a name of its own."""
    judges = [find_judge(text) for text in dict.fromkeys(texts)]
    several = {name for name, n in Counter(judge.scorer for judge in judges).items() if n > 1}
    return [
        replace(judge, name=f"{judge.name}-{judge.identity[:6]}") if judge.scorer in several else judge for judge in judges
    ]

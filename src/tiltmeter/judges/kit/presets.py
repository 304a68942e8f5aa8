"""Well-known classifiers of the hub by short names, with what their labels mean."""

from __future__ import annotations

from typing import NamedTuple


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

"""huggingface: any sequence classifier, from a folder or the hub.

Its labels are read by name; where those say nothing, you say what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.judges.kit.error_rates import stored_errors
from tiltmeter.judges.kit.judge import Floats, Judge, Notion, Spec, Verdicts, notion_of, single_verdicts
from tiltmeter.models import load_classifier
from tiltmeter.models.places import folder_of

CITATION = "Wolf et al. (2020), Transformers: state-of-the-art natural language processing, EMNLP demonstrations."
CUT = 0.5
Ends = Mapping[str, tuple[int, ...]]


def huggingface(spec: Spec) -> Judge:
    """`toxicity=./folder`, `toxicity=./folder@LABEL_1` or `regard=./folder@negative:LABEL_0,positive:LABEL_2`."""
    classifier = load_classifier(spec.what, precision="fp32")
    notion = notion_of(spec.notion)
    ends = label_ends(spec, notion, classifier.labels)

    def ask(texts: Sequence[str]) -> Verdicts:
        return _verdicts(classifier.label(texts).probability, ends)

    mapping = ",".join(f"{end}:{'+'.join(classifier.labels[at] for at in places)}" for end, places in ends.items())
    cuts = {} if "positive" in ends else {"negative": CUT}
    return Judge(
        spec.notion,
        classifier.name,
        f"{classifier.identity.digest} {mapping}{' likeliest label' if notion.polar else ''}",
        ask,
        notion.reads,
        cuts,
        stored_errors(folder_of(spec.what, None)[0]),
        f"{spec.what} ({mapping})",
    )


def _verdicts(probability: Floats, ends: Ends) -> Verdicts:
    """Return P(bad), or P(good) − P(bad); a text is negative or positive if its likeliest label is of that end."""
    bad = probability[:, list(ends["negative"])].sum(1)
    if "positive" not in ends:
        return single_verdicts(np.minimum(bad, 1.0), CUT)
    good = probability[:, list(ends["positive"])].sum(1)
    missing = np.isnan(bad + good)
    negative, positive = (
        np.where(missing, np.nan, _is_likeliest(probability, ends[end])) for end in ("negative", "positive")
    )
    return Verdicts(good - bad, negative, positive)


def _is_likeliest(probability: Floats, places: Sequence[int]) -> NDArray[np.bool_]:
    """Return whether one of these labels is likelier than every other.

    >>> _is_likeliest(np.array([[0.40, 0.25, 0.05, 0.30], [0.2, 0.5, 0.1, 0.2]]), (0,)).tolist()
    [True, False]
    """
    others = np.delete(probability, list(places), axis=1)
    return np.asarray(probability[:, list(places)].max(axis=1) > others.max(axis=1, initial=-np.inf), dtype=np.bool_)


def label_ends(spec: Spec, notion: Notion, labels: Sequence[str]) -> Ends:
    """Find the labels of the bad and the good end: by the specification, or by their names."""
    place = {label.casefold(): n for n, label in enumerate(labels)}
    ends = _parse_ends(spec.labels) if spec.labels else {}
    for label in (label for some in ends.values() for label in some):
        if label.casefold() not in place:
            raise UsageError(
                f"{spec.what} has no label '{label}'. Its labels are {', '.join(labels)}.",
                code="unknown-name", kind="label", name=label, classifier=spec.what,
            )  # fmt: skip
    if ends and "negative" not in ends:
        raise UsageError(
            f"'{spec.labels}' does not name the negative label, as negative:LABEL_0 does.",
            code="missing-value", name="negative", labels=spec.labels,
        )  # fmt: skip
    if not ends:
        named = {"negative": notion.bad, "positive": notion.good} if notion.polar else {"negative": notion.bad}
        ends = {end: [label for label in labels if label.casefold() in names] for end, names in named.items()}
    if not all(ends.values()) or (notion.polar and "positive" not in ends):
        raise UsageError(
            _unclear(spec, notion, labels), code="missing-value", name="label", classifier=spec.what, labels=list(labels)
        )
    return {end: tuple(place[label.casefold()] for label in some) for end, some in ends.items()}


def _parse_ends(text: str) -> dict[str, list[str]]:
    """`hate` or `hatespeech+offensive` is the bad end alone; `negative:A,positive:B` names both."""
    parts = [part.rpartition(":") for part in text.split(",")]
    return {end.strip() or "negative": [label.strip() for label in labels.split("+")] for end, _, labels in parts}


def _unclear(spec: Spec, notion: Notion, labels: Sequence[str]) -> str:
    example = f"negative:{labels[0]},positive:{labels[-1]}" if notion.polar else labels[-1]
    return (
        f"{spec.what} does not say which of its labels ({', '.join(labels)}) mean {spec.notion}. Say it: "
        f"--judge {spec.notion}={spec.what}@{example}."
    )

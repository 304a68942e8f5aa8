"""Use in memory: figures of comparisons, studies of answers, options that are misspelt, edits of loaded models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN, golden_scores
from tiltmeter.errors import ModelError, UsageError

MODELS = GOLDEN / "models"


def test_a_comparison_can_be_shown() -> None:
    parts = [golden_scores(name).where(scorer="aul") for name in ("tiny-bert-cased", "tiny-roberta")]
    figure = tiltmeter.show(tiltmeter.compare(parts, resamples=100))
    labels = [text.get_text() for axis in figure.axes for text in axis.get_yticklabels()]
    assert any("bias_score" in label for label in labels)


def test_a_study_reads_answers_in_memory_as_estimate_does() -> None:
    parts = [golden_scores(name) for name in ("tiny-bert-cased", "tiny-roberta")]
    several = tiltmeter.study("power", parts, scorers="aul", options={"measure": "bias_score"})
    by_family = tiltmeter.study("power", {"pairs": parts[0]}, scorers="aul", options={"measure": "bias_score"})
    assert set(several.table["model"]) == {"tiny-bert-cased", "tiny-roberta"} > set(by_family.table["model"])


def test_a_misspelt_option_names_those_of_its_family() -> None:
    make: Any = tiltmeter.SlotsOptions
    with pytest.raises(UsageError) as caught:
        make(topk=5)
    assert caught.value.code == "unknown-name" and caught.value.fields["meant"] == "top_k"
    assert "top_k" in caught.value.fields["names"] and "scorers" not in caught.value.fields["names"]
    assert make(top_k=5).top_k == 5


def test_an_edit_through_data_changes_the_identity() -> None:
    model = tiltmeter.load_model(MODELS / "tiny-bert-cased")
    before = model.identity
    assert model.identity == before
    next(model.module.parameters()).data.mul_(1.5)
    assert model.identity != before and model.identity.model != before.model


def test_a_misspelt_model_is_answered_with_the_embedded_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        tiltmeter.load_model("plumb-mlmm")
    assert caught.value.code == "missing-model" and caught.value.fields["meant"] == "plumb-mlm"

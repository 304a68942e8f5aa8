"""A model says what it can do, a family what it needs; one place compares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import golden_model
from support.raising import check
from tiltmeter import TiltmeterError, load_benchmark
from tiltmeter.families import ModelInfo, all_families, find_family
from tiltmeter.families.kit.refusals import refuse_incapable
from tiltmeter.models import StaticVectors, encoder_of
from tiltmeter.models.capabilities import EVERY, KIND_IN_WORDS, OF_KIND


def test_capabilities_have_names_that_are_known() -> None:
    assert set(OF_KIND) == set(KIND_IN_WORDS) and all(able <= EVERY for able in OF_KIND.values())
    for name, family in all_families().items():
        assert family.NEEDS <= EVERY, name
        assert any(able >= family.NEEDS for able in OF_KIND.values()), f"nothing can be asked {name}"


def test_a_loaded_model_says_what_it_can_do(tmp_path: Path) -> None:
    masked, causal = golden_model("tiny-bert-cased"), golden_model("tiny-gpt2")
    assert masked.capabilities == EVERY - {"chat"}
    assert {"prompt_logprobs", "text"} <= causal.capabilities and "token_logprobs" not in causal.capabilities
    assert encoder_of(masked).capabilities == OF_KIND["encoder"]
    (tmp_path / "v.txt").write_text("man 1 2\n")
    assert StaticVectors(tmp_path / "v.txt").capabilities == {"embeddings"}


ASKED = {
    "starter-pairs": ("masked", "causal"),
    "plumb-slots": ("masked", "causal"),
    "plumb-prompts": ("masked", "causal"),
    "plumb-labels": ("masked", "causal", "classifier"),
    "seat": ("masked", "causal", "encoder", "static"),
    "ceat": ("masked", "causal", "encoder"),
    "ilps": ("masked", "causal"),
}


@pytest.mark.parametrize("kind", OF_KIND)
@pytest.mark.parametrize("name", ASKED)
def test_what_is_missing_is_said_and_what_can_be_asked_instead(name: str, kind: str) -> None:
    benchmark = load_benchmark(name)
    options = find_family(benchmark.family).Options()
    if kind in ASKED[name]:
        refuse_incapable([ModelInfo("mine", kind)], benchmark, options)
        return
    with pytest.raises(TiltmeterError) as refused:
        refuse_incapable([ModelInfo("mine", kind)], benchmark, options)
    said = str(refused.value)
    instead = {"encoder": "associations", "static": "associations", "classifier": "labels", "choice_head": "choices"}[kind]
    check(refused.value, "missing-capability", model="mine", benchmark=name)
    assert KIND_IN_WORDS[kind] in said and f"of {instead}." in said


def test_a_model_whose_kind_is_unknown_passes_until_it_is_loaded() -> None:
    benchmark = load_benchmark("starter-pairs")
    refuse_incapable([ModelInfo("of-the-hub")], benchmark, find_family("pairs").Options())

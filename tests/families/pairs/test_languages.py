"""Languages: translations of CrowS-Pairs, a multilingual model, text without spaces and from right to left."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from tiltmeter import load_benchmark, load_model
from tiltmeter.benchmarks.kit.items import items_table
from tiltmeter.errors import UsageError
from tiltmeter.families.pairs.ask import observe
from tiltmeter.families.pairs.paired import pair_up
from tiltmeter.families.pairs.spans import spans_of
from xlmr_material import PAIRS, pairs_file, tiny_xlmr

LANGUAGES = ("ar", "en", "fr", "he", "ja", "ru")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tiltmeter.Answers:
    loaded = load_benchmark(pairs_file(tmp_path_factory.mktemp("languages")))
    return tiltmeter.score(load_model(tiny_xlmr()), loaded, ["aul", "cps", "sss"], cache=False)


def test_every_language_is_scored_and_estimated(answers: tiltmeter.Answers) -> None:
    known = answers.table[answers.table["scorer"] != "sss"]  # which is missing where a letter was only inserted
    assert np.isfinite(known["score"]).all()
    table = tiltmeter.estimate(answers, "bias-score", by="language", resamples=100)
    groups = table[(table["by"] == "language") & (table["scorer"] == "aul")].set_index("group")
    assert tuple(groups.index) == LANGUAGES and set(groups["n"]) == {3}


def test_items_are_drawn_within_languages(answers: tiltmeter.Answers) -> None:
    paired = pair_up(answers)[0]
    sample = paired.sample("bias_type")
    language = paired.labels.codes("language")[sample.order]
    for index in sample.draws(np.random.default_rng(0), 20):
        for drawn in index:
            assert np.bincount(language[drawn]).tolist() == [3] * 6


def test_items_have_a_column_of_languages(tmp_path: Path) -> None:
    table = items_table(load_benchmark(pairs_file(tmp_path)))
    assert tuple(sorted(set(table["language"]))) == LANGUAGES
    assert "language" not in items_table(load_benchmark("starter-pairs"))


def test_pairs_without_spaces_are_aligned(tmp_path: Path) -> None:
    """Only the pronoun is modified, although Japanese has no spaces around it."""
    model, loaded = load_model(tiny_xlmr()), load_benchmark(pairs_file(tmp_path))
    table = observe(model, loaded, "unmasked", cache=False).to_pandas()
    number = str(next(n for n, (language, *_) in enumerate(PAIRS, 1) if language == "ja"))
    rows = table[(table["item"] == number) & ~table["special"]]
    for role, word in (("stereo", "彼女"), ("anti", "彼")):
        part = rows[rows["role"] == role]
        assert list(part["token"][part["modified"]]) == [word] and len(part) > 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokens_are_found_in_the_text(language: str) -> None:
    tokenizer = load_model(tiny_xlmr()).tokens.tokenizer
    for _, *texts in (pair for pair in PAIRS if pair[0] == language):
        for text in texts:
            spans = spans_of(text, tokenizer.tokenize(text), byte_level=False)
            assert spans is not None
            assert "".join(text[low:high] for low, high in spans).replace(" ", "") == text.replace(" ", "")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        load_benchmark("crows-pairs", arguments={"language": "xx"})
    assert (refused.value.code, refused.value.fields["language"]) == ("unknown-name", "xx")


def test_a_file_in_kanekos_layout(tmp_path: Path) -> None:
    rows = [{"direction": "stereo", "bias_type": "gender", "stereotype": a, "anti-stereotype": b} for _, a, b in PAIRS]
    path = tmp_path / "crows-pairs-variants" / "kaneko-multilingual" / "japanese.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    loaded = load_benchmark("crows-pairs", data_dir=tmp_path, arguments={"language": "ja"})
    assert (loaded.name, len(loaded), loaded.items[0].direction) == ("crows-pairs-ja", 18, "disadvantaged")
    assert {item.extra["language"] for item in loaded.items} == {"ja"}


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("language", "items", "word", "types"),
    [("fr", 1462, "magrébins", 9), ("nl", 1463, "financiële", 9), ("it", 250, "comunità", 1), ("ja", 262, "彼女", 1),
     ("ru", 262, "врач", 1), ("en", 1508, "couldn't", 9)],
)  # fmt: skip
def test_translations(language: str, items: int, word: str, types: int, realdata: Path) -> None:
    loaded = load_benchmark("crows-pairs", data_dir=realdata, arguments={"language": language})
    assert len(loaded) == items
    assert any(word in text for item in loaded.items for text in item.texts.values())
    assert len({item.bias_type for item in loaded.items}) == types
    assert {item.direction for item in loaded.items} == {"advantaged", "disadvantaged"}
    assert not any("\ufffd" in text for item in loaded.items for text in item.texts.values())

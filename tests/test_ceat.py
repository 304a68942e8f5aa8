"""CEAT: the corpus index, contexts, draws by another route, the run, and what is refused or counted."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from association_material import associate, text, words_file
from conftest import GOLDEN, golden_model
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter.benchmarks import AssociationBenchmark
from tiltmeter.corpora import build_index, find_contexts
from tiltmeter.corpora import index as indexing
from tiltmeter.corpora.sentences import find_word
from tiltmeter.families.associations.ceat import Drawn, effects_and_variances, word_draws
from tiltmeter.families.associations.ceat_groups import NO_CONTEXTS
from tiltmeter.families.associations.corpus import choose
from tiltmeter.measures.effect_size import effect_size
from tiltmeter.measures.kit.vectors import association, cosines
from tiltmeter.runs import load_run

BERT = GOLDEN / "models" / "tiny-bert-cased"


def bench(path: Path) -> AssociationBenchmark:
    loaded = tiltmeter.load_benchmark("ceat", words=path)
    assert isinstance(loaded, AssociationBenchmark)
    return loaded


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_contexts_are_found_whatever_the_packing(tmp_path: Path, suffix: str) -> None:
    pack = {"": lambda data: data, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    path = tmp_path / f"c.txt{suffix}"
    path.write_bytes(pack(text().encode()))
    told: list[float] = []
    index = build_index([path], tmp_path / "index", told.append)
    assert index.facts["lines"] == 400 and index.facts["sentences"] == 400 + 5  # the second sentences come in five kinds
    assert sum(told) == path.stat().st_size
    found = find_contexts(index, ["woman", "Nobody", "nobody", "absent", "near the river"], 50)
    assert len(found["woman"].passages) == 50 and found["woman"].count == 68
    assert all(sentence[slice(*span)] == "woman" for sentence, span in found["woman"].passages)
    assert found["Nobody"].count == found["nobody"].count == 5 and found["absent"].count == 0
    assert found["near the river"].passages and all("near the river" in one for one, _ in found["near the river"].passages)
    assert find_contexts(index, ["woman"], 50)["woman"] == found["woman"]


def test_whole_words_in_their_own_case() -> None:
    assert find_word("The Blacks met Black men.", ("Black",)) == (15, 20)
    assert find_word("A man's man.", ("man", "Man")) == (8, 11)
    assert find_word("None here.", ("man",)) is None
    assert find_word("The woman’s 'woman' came.", ("woman",)) == (13, 18)
    assert find_word("An o'man came.", ("man",)) is None


def test_hyphens_and_quotes(tmp_path: Path) -> None:
    """The index parts words at a hyphen, so that a stimulus with one is sought by its parts."""
    lines = "A well-read man came by today.\nHe called it a 'bargain' and left.\nThe man read well and left again.\n"
    (tmp_path / "c.txt").write_text(lines)
    found = find_contexts(build_index([tmp_path / "c.txt"], tmp_path / "i"), ["well-read", "bargain", "1984"])
    first, second, _ = (tmp_path / "c.txt").read_text().splitlines()
    assert found["well-read"].passages == [(first, (2, 11))] and found["well-read"].count == 1
    assert found["bargain"].passages == [(second, (16, 23))]
    assert found["1984"].count == 0 and not found["1984"].passages


def test_the_sample_is_random_and_does_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.txt"
    path.write_text(text(900))
    whole = find_contexts(build_index([path], tmp_path / "a"), ["woman"], 30)["woman"]
    monkeypatch.setattr(indexing, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(indexing, "MOST_CONTEXTS", 40)
    index = build_index([path], tmp_path / "b")
    parts = find_contexts(index, ["woman"], 30)["woman"]
    assert len(index.blocks) > 5 and parts.passages == whole.passages
    places = [int(sentence.rstrip(".").rsplit(" ", 1)[1]) for sentence, _ in parts.passages if sentence[-2].isdigit()]
    assert min(places) < 250 and max(places) > 650


def test_an_interrupted_index_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.txt.gz"
    path.write_bytes(gzip.compress(text(900).encode()))
    monkeypatch.setattr(indexing, "BLOCK_BYTES", 5000)
    block, calls = indexing._index_block, iter(range(6))
    monkeypatch.setattr(indexing, "_index_block", lambda *given: block(*given) if next(calls, None) is not None else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_index([path], tmp_path / "index")
    done: list[int] = []
    monkeypatch.setattr(indexing, "_index_block", lambda *given: (done.append(1), block(*given)))
    index = build_index([path], tmp_path / "index")
    assert len(index.blocks) == len(done) + 6
    assert index.facts["lines"] == 900
    done.clear()
    assert build_index([path], tmp_path / "index") == index and not done


def test_an_interrupted_index_goes_on_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished file must not stand for the other one because they are now named the other way round."""
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, word in zip(paths, ("red", "blue"), strict=True):
        path.write_text("".join(f"The {word} house stands at number {n}.\n" for n in range(9)))
    file, calls = indexing._index_file, iter(range(1))
    monkeypatch.setattr(indexing, "_index_file", lambda *given: file(*given) if next(calls, None) is not None else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_index(paths, tmp_path / "index")
    monkeypatch.setattr(indexing, "_index_file", file)
    found = find_contexts(build_index(paths[::-1], tmp_path / "index"), ["red", "blue"])
    assert (found["red"].count, found["blue"].count) == (9, 9)
    again = build_index([*paths, *paths], tmp_path / "index")  # the same text twice counts once
    assert again.facts["lines"] == 18


def test_one_context_for_each_word_is_said_not_divided_by(tmp_path: Path) -> None:
    """A group of one word that always stands in the same sentence has no variance, so no combined effect."""
    lines = (f"There was a {word} thing on the road.\n" for word in ("man", "woman", "kind", "honest", "cruel", "rude"))
    (tmp_path / "c.txt").write_text("".join(lines))
    asking = {"corpus": [tmp_path / "c.txt"], "draws": 50, "cache": False}
    done = associate(golden_model("tiny-bert-cased"), bench(words_file(tmp_path)), **asking)
    rows = done.estimates.set_index("group")
    assert rows["value"].isna().all() and "undefined: no variance" in rows.loc["man", "note"]


def test_draws_equal_one_at_a_time() -> None:
    """Effect sizes and variances of every draw, and a word's own effect, from the plain definitions."""
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(9)]
    vectors = {word: rng.normal(size=(4, 6)).astype(np.float32) for word in words}
    drawn = Drawn.of(vectors, 40, seed=0)
    sets = [words[:2], words[2:5], words[5:7], words[7:]]
    effects, variances = effects_and_variances(drawn, sets)
    single = word_draws(drawn, "w0", words[5:7], words[7:])
    for n in range(40):
        x, y, a, b = (np.stack([vectors[word][drawn.picks[word][n]] for word in some]) for some in sets)
        s_x, s_y = association(x, a, b), association(y, a, b)
        assert effects[n] == pytest.approx(float(effect_size(s_x, s_y)), abs=1e-5)
        assert variances[n] == pytest.approx(np.concatenate([s_x, s_y]).var(ddof=1), abs=1e-6)
        near = cosines(x[:1], np.concatenate([a, b]))[0]
        assert single[n] == pytest.approx((near[:2].mean() - near[2:].mean()) / near.std(ddof=1), abs=1e-4)


def test_a_run_over_a_corpus_and_again_from_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.txt").write_text(text())
    words = ("--words", words_file(tmp_path), "--corpus", tmp_path / "c.txt", "--draws", 200, "--contexts", 20)
    asked = ("run", "-m", BERT, "-b", "ceat", *words, "-o", tmp_path / "r", "--resamples", 100)
    assert command(*asked) == 0
    first = load_run(tmp_path / "r")
    rows = first.estimates.set_index("group")
    assert rows["measure"].to_dict() == {"man": "ces", "woman": "ces", "gender": "group_variance"}
    assert rows.loc["man", "low"] < rows.loc["man", "value"] < rows.loc["man", "high"]
    assert rows.loc["gender", "value"] == pytest.approx((rows.loc["man", "value"] - rows.loc["woman", "value"]) ** 2 / 2)
    assert "τ² = " in rows.loc["man", "note"] and (rows["neutral"] == 0).all()
    how = first.manifest["evaluations"][0]["associations"]
    assert how["contexts"]["man"]["used"] == 20 and how["corpus"]["lines"] == 400 and how["vectors_computed"] == 120
    assert command(*asked) == 0
    again = load_run(tmp_path / "r")
    assert again.manifest["evaluations"][0]["associations"]["vectors_computed"] == 0
    assert again.estimates["value"].tolist() == first.estimates["value"].tolist()


def test_absent_words_are_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(text())
    attributes = {"valence": {"good": ["kind", "honest", "zinnia"], "bad": ["cruel", "rude"]}}
    groups = {"gender": {"man": ["man"], "woman": ["woman", "lady"], "ghost": ["ghost"]}}
    path = words_file(tmp_path, attributes=attributes, groups=groups)
    asking = {"corpus": [tmp_path / "c.txt"], "draws": 100, "cache": False}
    done = associate(golden_model("tiny-gpt2"), bench(path), **asking)
    rows = done.estimates.set_index("group")
    assert rows.loc["man", "n_missing"] == 1 and json.loads(rows.loc["woman", "missing"]) == {"not in the corpus": 2}
    assert np.isfinite(rows.loc["woman", "value"]) and np.isnan(rows.loc["ghost", "value"])
    assert rows.loc["ghost", "note"] == NO_CONTEXTS and rows.loc["gender", "n"] == 2
    assert done.manifest["associations"]["words_absent"] == ["ghost", "lady", "zinnia"]
    few = words_file(tmp_path, attributes={"valence": {"good": ["kind", "zinnia"], "bad": ["cruel", "rude"]}})
    done = associate(golden_model("tiny-gpt2"), bench(few), **asking)
    assert done.estimates["value"].isna().all()


def test_a_group_of_the_same_name_in_two_domains(tmp_path: Path) -> None:
    """The variance of a domain is over its own groups."""
    (tmp_path / "c.txt").write_text(text())
    asking = {"corpus": [tmp_path / "c.txt"], "draws": 100, "cache": False}
    groups = {"gender": {"one": ["man"], "other": ["woman"]}, "thing": {"one": ["river"], "other": ["bridge", "market"]}}
    both = associate(golden_model("tiny-bert-cased"), bench(words_file(tmp_path, groups=groups)), **asking).estimates
    for domain, named in groups.items():
        alone = associate(
            golden_model("tiny-bert-cased"), bench(words_file(tmp_path, groups={domain: named})), **asking
        ).estimates
        wanted = alone.set_index(["measure", "group"])["value"]
        found = both[(both["measure"] == "group_variance") & (both["group"] == domain)]["value"].tolist()
        assert found == [pytest.approx(wanted["group_variance", domain])]
        assert found == [pytest.approx((wanted["ces", "one"] - wanted["ces", "other"]) ** 2 / 2)]
    assert both[both["measure"] == "ces"]["value"].nunique() == 4


@pytest.mark.realdata
def test_published_word_lists(realdata: Path, tmp_path: Path) -> None:
    loaded = tiltmeter.load_benchmark("ceat", data_dir=realdata)
    assert isinstance(loaded, AssociationBenchmark)
    assert [len(one.examples) for pair in loaded.polarities for one in (pair.a, pair.b)] == [25, 25, 20, 20]
    assert len(loaded.groups) == 16 and "transgender" not in {group.name for group in loaded.groups}
    tests, groups = choose(loaded, ["C6", "race"])
    assert [test.name for test in tests] == ["C6"] and {group.domain for group in groups} == {"race"}
    sentences = [
        f"We all thought that {word} stood over there, number {n}."
        for n in range(3)
        for one in tests[0].sets
        for word in one.examples
    ]
    (tmp_path / "c.txt").write_text("\n".join(sentences))
    asking = {"tests": ["C6"], "corpus": [tmp_path / "c.txt"], "draws": 100, "cache": False}
    (row,) = associate(golden_model("tiny-bert-cased"), loaded, **asking).estimates.to_dict("records")
    assert row["measure"] == "ces" and row["n"] == 16 and 0 <= row["p"] <= 1 and "one-sided" in row["note"]


def test_bad_corpora_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with raises("missing-file", file=tmp_path / "none.txt"):
        build_index([tmp_path / "none.txt"], tmp_path / "i")
    for suffix, data in ((".xz", lzma.compress(text(5000).encode())[:-400]), (".gz", gzip.compress(text().encode())[:-400])):
        (tmp_path / f"c{suffix}").write_bytes(data)
        with raises("damaged-file", file=tmp_path / f"c{suffix}"):
            build_index([tmp_path / f"c{suffix}"], tmp_path / "i")
    for data, code in ((b"a \xff\xfe b\n", "wrong-encoding"), (b"a\0b\n", "wrong-format"), (b"Short.\n", "empty-file")):
        (tmp_path / "c.txt").write_bytes(data)
        with raises(code):
            build_index([tmp_path / "c.txt"], tmp_path / "i")
    assert command("run", "-m", BERT, "-b", "ceat", "-o", tmp_path / "r") == 2
    assert "--corpus FILE" in capsys.readouterr().err
    assert command("run", "-m", BERT, "-b", "ceat", "--draws", 1, "-o", tmp_path / "r") == 2
    (tmp_path / "c.txt").write_text(text())
    assert (
        command("run", "-m", BERT, "-b", "ceat", "--corpus", tmp_path / "c.txt", "--contexts", 2000, "-o", tmp_path / "r")
        == 2
    )
    (tmp_path / "v.txt").write_text("man 1 2\n")
    assert command("run", "-m", tmp_path / "v.txt", "-b", "ceat", "--corpus", tmp_path / "c.txt", "-o", tmp_path / "r") == 2
    assert command("run", "-m", tmp_path / "v.txt", "-b", "ilps", "-o", tmp_path / "r") == 2
    assert "of associations" in " ".join(capsys.readouterr().err.split())

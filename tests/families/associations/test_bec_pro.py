"""BEC-Pro: associations of person words with professions, against ILPS by hand, and what the file gets wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from conftest import golden_model
from tiltmeter import load_benchmark
from tiltmeter.benchmarks.bec_pro import MENDED
from tiltmeter.errors import InputError, UsageError
from tiltmeter.probes.templates import GROUP, TemplateProbe

PEOPLE = (("He", "male"), ("She", "female"))
PROFESSIONS = {"nurse": "female", "doctor": "male", "teacher": "female", "driver": "male"}
COLUMNS = ("", "Sentence", "Sent_TM", "Sent_AM", "Sent_TAM", "Template", "Person", "Gender", "Profession", "Prof_Gender")


def bec_file(folder: Path, sentence: str = "{} is a {}.") -> Path:
    lines = ["\t".join(COLUMNS)]
    for profession, of_set in PROFESSIONS.items():
        for person, gender in PEOPLE:
            whole, masked = sentence.format(person, profession), sentence.format(person, "[MASK]")
            given, prior = (text.replace(person, "[MASK]") for text in (whole, masked))
            row = (str(len(lines)), whole, given, masked, prior, sentence, person, gender, profession, of_set)
            lines.append("\t".join(row))
    path = folder / "BEC-Pro_EN.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_associations_are_ilps_by_hand(tmp_path: Path) -> None:
    model = golden_model("tiny-bert-cased")
    answers = tiltmeter.ask(model, load_benchmark("bec-pro", path=bec_file(tmp_path)), cache=False)
    probe, template = TemplateProbe(model), "{group} is a {attribute}."
    for profession in PROFESSIONS:
        increases = {}
        for person, gender in PEOPLE:
            (token, *_) = probe.pieces(person, template, GROUP)
            queries = [probe.masked(template, None, given, 1, GROUP) for given in (profession, None)]
            given, prior = probe.read([query._replace(tokens=(token,)) for query in queries if query])
            increases[gender] = float(given[0] - prior[0])
        rows = answers.table[answers.table["text"] == profession].set_index("set")["value"]
        assert rows["male"] == pytest.approx(increases["male"], abs=1e-5)
        assert rows["female"] == pytest.approx(increases["female"], abs=1e-5)
        assert rows["male-female"] == pytest.approx(increases["male"] - increases["female"], abs=1e-5)


def test_estimates_by_set_of_professions(tmp_path: Path) -> None:
    answers = tiltmeter.ask(golden_model("tiny-bert-cased"), load_benchmark("bec-pro", path=bec_file(tmp_path)), cache=False)
    table = tiltmeter.estimate(answers, by="all", resamples=100)
    rows = table[table["measure"] == "ilps_kurita"].set_index("group")
    assert set(rows.index) == {"mostly men", "mostly women"} and set(rows["n"]) == {2}
    means = answers.table[answers.table["asked"] == "kurita"].groupby("test")["value"].mean()
    assert rows["value"].to_dict() == pytest.approx(means.to_dict())
    assert np.isfinite(table[table["measure"] == "ilps"]["value"]).all()


def test_a_mask_inside_a_profession_is_mended(tmp_path: Path) -> None:
    """The published file has "[MASK]ager" where a man is a manager."""
    path = bec_file(tmp_path)
    path.write_text(path.read_text().replace("[MASK] is a nurse.", "[MASK] is a n[MASK]rse.", 1), encoding="utf-8")
    loaded = load_benchmark("bec-pro", path=path)
    assert loaded.note_counts() == {MENDED: 1}
    assert loaded.sentences[0].sentence == "[MASK] is a nurse."


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        load_benchmark("bec-pro", path=bec_file(tmp_path), arguments={"language": "fr"})
    assert (refused.value.code, refused.value.fields["language"]) == ("unknown-name", "fr")
    with pytest.raises(UsageError) as causal:
        tiltmeter.ask(golden_model("tiny-gpt2"), load_benchmark("bec-pro", path=bec_file(tmp_path)), cache=False)
    assert causal.value.code == "wrong-model-kind"
    with pytest.raises(InputError) as order:
        load_benchmark("bec-pro", path=bec_file(tmp_path, "The {1} called {0}."))
    assert (order.value.code, order.value.fields["row"]) == ("wrong-format", 1)


@pytest.mark.realdata
@pytest.mark.parametrize(("language", "name"), [("en", "bec-pro"), ("de", "bec-pro-de")])
def test_the_real_files(language: str, name: str, realdata: Path) -> None:
    loaded = load_benchmark("bec-pro", data_dir=realdata, arguments={"language": language})
    assert (loaded.name, len(loaded.sentences)) == (name, 5400)
    assert loaded.note_counts() == {MENDED: 5}
    assert len({sentence.attribute for sentence in loaded.sentences}) == 60

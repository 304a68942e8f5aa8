"""Counterfactual text and CDA: nothing but the group changes, swapping twice gives the text back, and slips are told."""

from __future__ import annotations

import inspect
import json
import types
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from tiltmeter import TiltmeterError, catalog
from tiltmeter.builders import Swap, counterfactuals, first_names, gender_terms, make_swaps, read_aligned
from tiltmeter.builders.aligned import PRONOUNS, make_aligned
from tiltmeter.builders.counterfactual import write_counterfactuals
from tiltmeter.debias import make
from tiltmeter.debias.kit.pretraining import PUBLISHED, SMALL, Plan, text_of
from tiltmeter.finetune import unfinished

MODELS = GOLDEN / "models"
GENDER = make_swaps()[0]
NAMED = make_swaps(names="ours")[0]
TERMS = [word for row in gender_terms().rows for word in row]
CASES = (str, str.upper, lambda word: word[0].upper() + word[1:])
# Letters of many scripts, marks, digits, apostrophes of both kinds, controls: whatever a text may hold.
ANYTHING = st.text(max_size=12)
BETWEEN = st.sampled_from(
    [" ", "  ", ", ", ". ", "! “", "” ", "-", "/", " (", ") ", "\n", "\t", "'s ", "’ll ", " – ", "; 12 ", "…", "'", '"']
)
TERM = st.builds(lambda case, word: case(word), st.sampled_from(CASES), st.sampled_from(TERMS))


@given(st.lists(st.tuples(st.one_of(TERM, ANYTHING), BETWEEN), max_size=12))
def test_swapping_twice_gives_the_text_back(pieces: list[tuple[str, str]]) -> None:
    """Over the aligned list, case and punctuation included; her, hers, him and his are told by rules, and left out here."""
    text = "".join(word + gap for word, gap in pieces)
    if {word.lower() for word in GENDER._pattern.findall(text)} & PRONOUNS:
        return
    there = GENDER(text)
    assert GENDER(there) == text
    assert GENDER.changes(text) == (there != text)


@given(TERM, BETWEEN, BETWEEN)
def test_every_term_is_swapped_in_its_case_and_nothing_else_is(word: str, before: str, after: str) -> None:
    rows = {one.lower(): row for row in gender_terms().rows for one in row}
    row = [one.lower() for one in rows[word.lower()]]
    text = f"It{before}{word}{after}end"
    swapped = GENDER(text)
    if before == "'":  # It'he: no word
        return
    new = swapped.removeprefix(f"It{before}").removesuffix(f"{after}end")
    assert new.lower() == row[1 - row.index(word.lower())]
    if len(word) > 1:
        assert [new.isupper(), new[0].isupper()] == [word.isupper(), word[0].isupper()]


@pytest.mark.parametrize(
    "word", ["Mankind", "shed", "THEMEN", "he2", "x_he", "hers.he_", "o'he", "womanize", "sHe", "mEN", "ſhe", "Kıng"]
)
def test_what_is_no_term_stays(word: str) -> None:
    assert GENDER(f"a {word}") == f"a {word}".replace("hers", "his")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Her book is new.", "His book is new."),
        ("I saw her.", "I saw him."),
        ("I saw her yesterday.", "I saw him yesterday."),
        ("They let her go.", "They let him go."),
        ("The choice is hers.", "The choice is his."),
        ("The choice is his.", "The choice is hers."),
        ("It is his, not hers.", "It is hers, not his."),
        ("He gave him his hat.", "She gave her her hat."),
        ("HER HAT, HIS HAT", "HIS HAT, HER HAT"),
        ("She hurt herself; he left", "He hurt himself; she left"),
        ("She's her aunt's son.", "He's his uncle's daughter."),
        ("He’ll tell her: it’s his", "She’ll tell him: it’s hers"),
        ("Mr. and Mrs. Hill", "Mrs. and Mr. Hill"),
        ("“Ladies and gentlemen!”", "“Gentlemen and ladies!”"),
        ("a mother-in-law", "a father-in-law"),
        ("Her fiancée", "His fiancé"),
    ],
)
def test_pronouns_and_their_like(text: str, wanted: str) -> None:
    assert GENDER(text) == wanted


FRAMES = (
    "{} saw it.", "I know that {} left.", "{} cut {self}.", "{poss} book fell.", "They met {obj}.", "It was {alone}.",
    "Ask {obj} about it.", "{poss} house and {poss} dog",
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(FRAMES), st.booleans()), min_size=1, max_size=5))
def test_pronouns_swap_back_where_the_rules_see_what_they_are(frames: list[tuple[str, bool]]) -> None:
    she = {"self": "herself", "poss": "her", "obj": "her", "alone": "hers"}
    he = {"self": "himself", "poss": "his", "obj": "him", "alone": "his"}
    one, other = (
        " ".join(frame.format(("she", "he")[who ^ way], **(she, he)[who ^ way]) for frame, who in frames) for way in (0, 1)
    )
    assert GENDER(one) == other and GENDER(other) == one


def test_names_go_with_gender_and_only_as_names_are_written() -> None:
    assert NAMED("John: MARY'S aunt") == "Alice: JAMES'S uncle"
    assert NAMED("mary") == "mary" and GENDER("Mary") == "Mary"
    text = " ".join(name for row in first_names().rows for name in row)
    assert NAMED(NAMED(text)) == text and not set(NAMED(text).split()) - set(text.split())


def test_lists_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "religion.csv").write_text("christian,jewish,muslim\nchurch,synagogue,mosque\nChristian,Jewish,Muslim\n")
    swap = make_swaps([str(tmp_path / "religion.csv")])[0]
    text = "The Christian church. A JEWISH man prays; a muslim woman too."
    assert swap.ways == 2
    assert swap(text, 1) == "The Jewish synagogue. A MUSLIM man prays; a christian woman too."
    assert swap(swap(text, 1), 2) == text and swap(swap(swap(text))) == text
    (tmp_path / "age.jsonl").write_text(
        '{"old": "old man", "young": "young man", "note": "x"}\n{"old": "elderly", "young": "youthful"}\n'
    )
    assert make_swaps([tmp_path / "age.jsonl"])[0]("An Elderly, old man; OLD MAN!") == "An Youthful, young man; YOUNG MAN!"
    both = list(counterfactuals(["A man in church."], make_swaps(["gender", tmp_path / "religion.csv"])))
    assert both == ["A man in church.", "A woman in church.", "A man in synagogue.", "A man in mosque."]


def test_pronoun_rows_of_a_users_list_are_left_to_the_rules(tmp_path: Path) -> None:
    rows = [("man", "woman"), ("he", "she"), ("his", "her"), ("him", "her"), ("his", "hers")]
    (tmp_path / "own.tsv").write_text("m\tf\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    found = read_aligned(tmp_path / "own.tsv")
    assert found.pronouns and found.groups == ("f", "m") and found.rows == (("woman", "man"), ("she", "he"))
    assert Swap((found,))("He saw her with his man.") == "She saw him with her woman."


@pytest.mark.parametrize(
    ("rows", "code", "fields"),
    [
        ([{"a": "x", "b": ""}], "missing-value", {"row": 1, "group": "b"}),
        ([{"a": "x", "b": "y"}, {"a": "z"}], "missing-value", {"row": 2, "group": "b"}),
        ([{"a": "x", "b": "y"}, {"a": "y", "b": "z"}], "duplicate-name", {"term": "y", "rows": [1, 2]}),
        ([{"a": "x", "b": "X"}], "duplicate-name", {"row": 1, "term": "x"}),
        ([{"a": "x"}], "missing-column", {"columns": ["a"]}),
    ],
)
def test_lists_that_are_not_aligned_are_refused(rows: list[dict[str, str]], code: str, fields: dict[str, object]) -> None:
    with raises(code, file="own.csv", **fields):
        make_aligned("own", rows, "own.csv")


def test_sides_and_lines_without_a_term() -> None:
    lines = ["She left.", "It rained.", "A man."]
    assert list(counterfactuals(lines, [GENDER])) == ["She left.", "He left.", "A man.", "A woman."]
    assert list(counterfactuals(lines, [GENDER], sides="one")) == ["He left.", "A woman."]
    assert list(counterfactuals(lines, [GENDER], sides="one", neutral=True)) == ["He left.", "It rained.", "A woman."]
    with raises("unknown-name", kind="sides", name="both"):
        list(counterfactuals(lines, [GENDER], sides="both"))


def test_the_text_of_ours_is_about_people_and_swaps_back() -> None:
    lines = text_of(None).lines
    gendered = [line for line in lines if GENDER.changes(line)]
    assert len(lines) > 300 and len(set(lines)) == len(lines) and 0.5 < len(gendered) / len(lines) < 0.8
    back = [line for line in gendered if GENDER(GENDER(line)) == line]
    assert len(back) / len(gendered) > 0.99


# On the command line


def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str, str]:
    from tiltmeter.cli import main

    monkeypatch.setattr("sys.argv", ["tiltmeter", *map(str, words)])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, *capsys.readouterr()


def test_build_counterfactual(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text("She left.\nIt rained.\nMary sang.\n")
    code, _, told = cli(
        capsys, monkeypatch, "build", "counterfactual", "--text", tmp_path / "text.txt", "-o", tmp_path / "out.txt"
    )
    assert code == 0 and (tmp_path / "out.txt").read_text() == "She left.\nHe left.\n" and "2 lines, from 1" in told
    words = ("build", "counterfactual", "--text", tmp_path / "text.txt", "-o", tmp_path / "out.txt", "--sides", "one")
    assert cli(capsys, monkeypatch, *words, "--names", "ours", "--neutral")[0] == 0
    assert (tmp_path / "out.txt").read_text() == "He left.\nIt rained.\nJames sang.\n"
    (tmp_path / "none.txt").write_text("It rained.\n")
    with raises("empty-selection", file=tmp_path / "none.txt", kind="terms"):
        write_counterfactuals(tmp_path / "none.txt", tmp_path / "not.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.txt", "out.txt", "text.txt"]


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
def test_cda_makes_a_model(name: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    words = ("debias", "cda", "-m", MODELS / name, "-o", out, "--steps", 6, "--rows", 8, "--device", "cpu")
    code, told, beside = cli(capsys, monkeypatch, *words)
    assert code == 0 and "6 steps in" in told and "held-out loss:" in told and f"-m {out}" in beside
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["method"] == "cda" and "Webster" in manifest["citation"] and manifest["options"]["sides"] == "two"
    assert manifest["data"]["lines"] == len(text_of(None).lines) and manifest["data"]["source"] == "embedded: plain_text.txt"
    model = tiltmeter.load_model(out)
    scores = tiltmeter.score(model, "starter-pairs", ["pll" if model.kind == "masked" else "causal"], cache=False)
    assert scores.to_pandas()["score"].notna().all()
    code, _, beside = cli(capsys, monkeypatch, *words)
    assert code == 2 and "exists already" in beside


def test_cda_learns_from_lines_and_their_counterfactuals_and_holds_both_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiltmeter.debias.kit import pretraining

    seen: list[list[str]] = []
    real = pretraining.make_task

    def make_task(parts: Any, lines: Any, length: int, **more: Any) -> Any:
        seen.append(list(lines))
        return real(parts, lines, length, **more)

    monkeypatch.setattr(pretraining, "make_task", make_task)
    make("cda", MODELS / "tiny-bert-cased", output=tmp_path / "out", steps=2, rows=8, device="cpu")
    learned, held = seen
    assert learned[1] == GENDER(learned[0]) and len(learned) % 2 == 0 and 4 <= len(held) < 60
    assert not set(learned) & set(held) and {GENDER(line) for line in held} - set(held) == set()


BAD = {
    "no term": ({"text": "It rained.\nThe sea was calm.\n"}, "No line of .*text has a word of these groups"),
    "empty": ({"text": "\n"}, "has no line of text"),
    "terms": ({"terms": "a,b\nx,\n"}, "is not aligned: row 1"),
    "names": ({"names": "a,b\nMary,Mary\n"}, "for two groups"),
}


@pytest.mark.parametrize("what", BAD)
def test_slips_are_told_and_leave_nothing(what: str, tmp_path: Path) -> None:
    given_files, message = BAD[what]
    options: dict[str, Any] = {}
    for name, content in given_files.items():
        path = tmp_path / (name if name == "text" else f"{name}.csv")
        path.write_text(content)
        options[name] = [str(path)] if name == "terms" else path if name == "text" else str(path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(TiltmeterError, match=message):
        make("cda", MODELS / "tiny-bert-cased", output=tmp_path / "out", device="cpu", **options)
    assert sorted(tmp_path.iterdir()) == before and not unfinished(tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "code", "fields"),
    [
        ({"sides": "three"}, "unknown-name", {"kind": "sides", "name": "three"}),
        ({"steps": 0}, "out-of-range", {"name": "steps, length"}),
        ({"rate": -1.0}, "out-of-range", {}),
        ({"held_out": 1.5}, "out-of-range", {}),
        ({"patience": 2, "held_out": 0.0}, "inapplicable-option", {"option": "--patience"}),
        ({"colour": "red"}, "unknown-name", {"kind": "option", "name": "colour"}),
        ({"lines": 2, "held_out": 0.99}, "empty-file", {}),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], code: str, fields: dict[str, Any], tmp_path: Path) -> None:
    with raises(code, **fields):
        make("cda", MODELS / "tiny-bert-cased", output=tmp_path / "out", **{"device": "cpu", **options})
    assert not list(tmp_path.iterdir())


def test_methods_that_are_not_there_are_named(tmp_path: Path) -> None:
    with raises("unknown-name", kind="method of debiasing", name="magic") as error:
        make("magic", "plumb-mlm", output=tmp_path / "out")
    assert {"cda", "dropout"} <= set(error.value.fields["names"])


def test_methods_are_listed(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    code, told, _ = cli(capsys, monkeypatch, "list", "debias", "--json")
    rows = {row["name"]: row for row in json.loads(told)}
    assert code == 0 and rows["cda"]["model"] == "masked or causal" and "dropout" in rows
    code, told, _ = cli(capsys, monkeypatch, "debias", "cda", "--help")
    assert code == 0 and "--sides" in told and "--lora" in told and "--watch" not in told


def test_continued_training_has_one_set_of_options() -> None:
    """CDA and Dropout train in the same way: they share every option but their own."""
    cda, dropout = (inspect.signature(catalog.find("debias", name).function).parameters for name in ("cda", "dropout"))
    shared = [one.name for one in fields(Plan)]
    assert all(cda[name] == dropout[name] for name in shared)
    assert set(cda) - set(shared) == {"model", "output", "watch", "terms", "names", "sides", "neutral"}
    assert set(dropout) - set(shared) == {"model", "output", "watch", "hidden", "attention"}


def test_the_published_settings_need_a_gpu_and_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for device, text, wanted in (("cuda", Path("x"), PUBLISHED), ("cuda", None, SMALL), ("cpu", Path("x"), SMALL)):
        monkeypatch.setattr("tiltmeter.debias.kit.pretraining.device_of", lambda _, found=device: found)
        recipe, length = Plan(text=text).settled()
        assert {"steps": recipe.steps, "rows": recipe.rows, "length": length} == wanted


def test_others_add_a_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through an entry point, without touching our files."""
    from tiltmeter import catalog

    module = types.ModuleType("copied")
    module.__doc__ = "Copied: nothing is changed."

    def copied(model: Any, *, output: Path, times: int = 1) -> Path:
        output.mkdir()
        (output / "manifest.json").write_text(json.dumps({"times": times}))
        return output

    module.copied, module.CITATION, module.KINDS = copied, "nobody", ("masked",)  # type: ignore[attr-defined]
    point = SimpleNamespace(name="copied", value="other:copied", dist=SimpleNamespace(name="other"), load=lambda: module)
    monkeypatch.setattr(catalog, "entry_points", lambda group: [point] if group == "tiltmeter.debias" else [])
    catalog.forget()
    try:
        out = make("copied", "any", output=tmp_path / "out", times=3)
        assert json.loads((out / "manifest.json").read_text()) == {"times": 3}
    finally:
        monkeypatch.undo()
        catalog.forget()

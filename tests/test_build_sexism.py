"""The builder: stages, formats, rules, what it refuses; and the reviewed outputs on the real corpus."""

from __future__ import annotations

import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter.builders import build_sexism
from tiltmeter.builders._rules import load_rules

GENDERED = re.compile(r"\b(?:s?he|him|her|hers|his|himself|herself|s?he['’](?:s|d|ll))\b", re.IGNORECASE)
SAMORY = """id,dataset,text,toxicity,sexist,of_id
1,scales,A woman should ask before she speaks.,0.1,True,-1
2,scales,A woman should ask before she speaks.,0.1,True,-1
3,scales,A man should ask before he speaks.,0.1,True,-1
4,callme,"MENTION12 Nobody likes a girl who drives, she brakes all the time http://t.co/x",0.1,True,-1
5,callme,Women are worse than men.,0.1,True,-1
6,callme,They are just bad at it.,0.1,True,-1
7,callme,Pregnant women are so lazy.,0.1,True,-1
8,callme,You guys are late,0.1,True,-1
9,callme,Oh women!,0.1,True,-1
10,other,Women are fine.,0.1,False,-1
"""


@pytest.fixture
def samory(tmp_path: Path) -> Path:
    path = tmp_path / "sexism_data.csv"
    path.write_text(SAMORY, encoding="utf-8")
    return path


def test_stages_and_what_they_drop(samory: Path) -> None:
    built = build_sexism([samory])
    assert [stage.count for stage in built.stages] == [10, 9, 8, 6, 5, 4, 2]
    assert [one.text for one in built.sentences] == [
        "A [MASK] should ask before they speak.",
        "Nobody likes a [MASK] who drives, they brake all the time",
    ]
    assert [(one.id, one.term, one.group) for one in built.sentences] == [
        ("samory-1", "woman", "female"), ("samory-4", "girl", "female"),
    ]  # fmt: skip
    why = {one.id: one.reason for one in built.dropped}
    assert why == {
        "samory-10": "another label",
        "samory-2": "the same text",
        "samory-6": "no word that names a gender",
        "samory-8": "no word that names a gender",
        "samory-5": "2 words that name a gender: women, men",
        "samory-7": "anatomy or reproduction: pregnant",
        "samory-3": "the same sentence, once masked",
        "samory-9": "fewer than 3 words beside the mask",
    }


def test_the_command_writes_what_the_probe_reads(samory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, dropped = tmp_path / "out.jsonl", tmp_path / "dropped.jsonl"
    assert command("build", "sexism", "--source", samory, "-o", out, "--dropped", dropped) == 0
    said = capsys.readouterr()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert lines[:3] == ["here paper left after", "10 52,000 rows in 1 file", "9 8,158 labelled sexist"]
    counts = [line.split()[:2] for line in lines]
    assert ["5", "762"] in counts and ["4", "572"] in counts
    assert counts[-2][0] == "2" and counts[-1] == ["9.00", "12.71"]
    bench = tiltmeter.load_benchmark(out)
    assert len(bench) == 2 and {item.target for item in bench.items} == {"female"} and not bench.notes
    reasons = [json.loads(line) for line in dropped.read_text().splitlines()]
    assert len(reasons) == 8 and set(reasons[0]) == {"id", "stage", "reason", "text"}
    (tmp_path / "folder").mkdir()
    assert command("build", "sexism", "--source", samory, "-o", tmp_path / "folder") == 0
    assert (tmp_path / "folder" / "sexism.jsonl").read_text() == out.read_text()


FORMATS = {
    "waseem-hovy.csv": ("id,text,label\n1,No woman can park a car,sexism\n2,x woman y z,racism\n3,a woman b c,none\n", {}),
    "jha.tsv": ("tweet\tlabel\nA woman is a flower of life\thostile\nMy wife sits there now\tbenevolent\nx y\tothers\n", {}),
    "generic.csv": ("a;b\nNo woman can park a car;bad\nNo man is there;good\n",
                    {"columns": {"text": "a", "label": "b"}, "positive": ["BAD"]}),
    "yes.jsonl": ('{"text": "No woman can park a car", "sexist": 1}\n{"text": "x man y z", "sexist": 0}\n', {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_published_formats_and_your_own(name: str, tmp_path: Path) -> None:
    text, how = FORMATS[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    built = build_sexism([tmp_path / name], **how)
    assert len(built.sentences) == (2 if name == "jha.tsv" else 1)
    assert all(one.text.count("[MASK]") == 1 for one in built.sentences)


BAD: dict[str, tuple[bytes, dict[str, Any], str, dict[str, Any]]] = {
    "no such label": (
        b"text,label\na woman sits there,x\n", {"positive": ["y"]}, "unknown-name", {"name": "y", "names": ["x"]}
    ),
    "labels unknown": (b"text,label\na woman sits there,x\n", {}, "missing-value", {"name": "positive", "names": ["x"]}),
    "no label column": (b"text,other\na woman sits there,x\n", {}, "missing-column", {"columns": ["label"]}),
    "no text column": (b"words,label\na woman sits there,x\n", {}, "missing-column", {"columns": ["text"]}),
    "wrong column": (b"text,label\na,x\n", {"columns": {"text": "nope"}}, "missing-column", {"columns": ["nope"]}),
    "unknown field": (b"text,label\na,x\n", {"columns": {"stereo": "text"}}, "unknown-name", {"name": "stereo"}),
    "nothing left": (b"text,label\nnothing to see here,sexism\n", {}, "empty-selection", {"kind": "sentences"}),
    "binary": (b"text,label\n\x00\x01\n", {}, "wrong-format", {"expected": "text"}),
    "wrong encoding": (b"text,label\ncaf\xe9 woman,sexism\n", {"encoding": "utf-8"}, "wrong-encoding", {}),
    "empty": (b"", {}, "empty-file", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    data, how, code, fields = BAD[name]
    (tmp_path / "file.csv").write_bytes(data)
    with raises(code, **fields):
        build_sexism([tmp_path / "file.csv"], **how)


def test_a_file_that_is_not_utf_8_is_read(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("text,label\nThe café woman is très bad at it,sexism\n".encode("latin-1"))
    assert "café" in build_sexism([tmp_path / "latin.csv"]).sentences[0].text


def test_missing_files(tmp_path: Path) -> None:
    with raises("missing-file", file=tmp_path / "nowhere.csv"):
        build_sexism([tmp_path / "nowhere.csv"])
    with raises("missing-value", name="source"):
        build_sexism([])


def test_rules_of_your_own(samory: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[terms]\nfemale = ["woman"]\nmale = ["man"]\n[inferable]\nspeech = ["speaks?"]\n', encoding="utf-8")
    with raises("empty-selection", kind="sentences"):
        build_sexism([samory], rules=rules)
    broken = {"x = 1": "[terms]", '[terms]\na=["b"]\n[inferable]\nc=["("]': "regular expression"}
    for text, expected in broken.items():
        rules.write_text(text, encoding="utf-8")
        with raises("wrong-format", expected=expected):
            load_rules(rules)
    rules.write_text("[terms", encoding="utf-8")
    for code, wrong in (("wrong-format", rules), ("unreadable-file", tmp_path / "nowhere.toml")):
        with raises(code, file=wrong):
            load_rules(wrong)


def test_idioms_name_nobody_and_possessives_keep_their_ending() -> None:
    rules = load_rules()
    assert not rules.terms_in("hey guys, oh man") and not rules.terms_in("human womanly Manchester")
    assert [match.group() for match in rules.terms_in("A woman’s place, the MEN's room")] == ["woman", "MEN"]
    assert rules.gives_away("their manly beards") and rules.gives_away("the [MASK] sat there") is None


@pytest.mark.realdata
def test_the_whole_real_corpus(realdata: Path) -> None:
    """Counts of the stages, one mask, no pronoun left; and the outputs that were read by eye are as they were read."""
    source = realdata / "samory-callme-sexist" / "sexism_data.csv"
    start = time.perf_counter()
    built = build_sexism([source])
    assert time.perf_counter() - start < 20
    counts = [stage.count for stage in built.stages]
    assert counts[:3] == [13_631, 1_809, 1_807] and 950 < counts[4] < 1_050 and counts[-1] > 800
    assert all(one.text.count("[MASK]") == 1 and not GENDERED.search(one.text) for one in built.sentences)
    assert len(built.sentences) + len(built.dropped) == 13_631
    reviewed = json.loads((Path(__file__).parent / "reviewed" / "sexism_samory.json").read_text())
    assert hashlib.sha256(source.read_bytes()).hexdigest() == reviewed["source_sha256"]
    texts = {one.id: one.text for one in built.sentences}
    read = "\n".join(texts[name] for name in reviewed["ids"])
    assert len(reviewed["ids"]) == 30 and hashlib.sha256(read.encode()).hexdigest() == reviewed["text_sha256"]

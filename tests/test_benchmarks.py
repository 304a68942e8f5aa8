"""Other people's files: separators, encodings, labels, holes; where a dataset is looked for; the download."""

from __future__ import annotations

import functools
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.raising import raises
from tiltmeter import Benchmark, TiltmeterError, load_benchmark
from tiltmeter.benchmarks import crows_pairs as crows_module
from tiltmeter.benchmarks.crows_pairs import crows_pairs
from tiltmeter.benchmarks.kit.items import REPEATED_ID, REPEATED_PAIR

HEADER = ["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"]
ROWS = [
    ["7", "Women cannot park.", "Men cannot park.", "stereo", "gender"],
    ["8", "The old man was slow.", "The young man was slow.", "antistereo", "age"],
]
ACCENTS = "Le garçon blessé était un élève étranger, né à Besançon."


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def crows_text(separator: str = ",", rows: list[list[str]] | None = None, header: list[str] | None = None) -> str:
    return "".join(separator.join(row) + "\n" for row in [header or HEADER, *(ROWS if rows is None else rows)])


def sentences(bench: Benchmark) -> list[tuple[str, ...]]:
    return [tuple(item.texts.values()) for item in bench.items]


# Tables --------------------------------------------------


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separators_are_told_apart(tmp_path: Path, separator: str) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", crows_text(separator)))
    assert bench.name == "mine"
    assert [item.id for item in bench.items] == ["7", "8"]  # the unnamed first column
    assert sentences(bench) == [(row[1], row[2]) for row in ROWS]
    assert [item.bias_type for item in bench.items] == ["gender", "age"]
    assert [item.direction for item in bench.items] == ["disadvantaged", "advantaged"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(tmp_path: Path, ending: str) -> None:
    text = "stereo\tanti\nHe, too, ran, fast.\tShe, too, ran, fast.\nHe is tall.\tShe is tall.\n"
    bench = load_benchmark(write(tmp_path / "mine.tsv", text.replace("\n", ending)))
    assert sentences(bench)[0] == ("He, too, ran, fast.", "She, too, ran, fast.")
    assert len(bench) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "mac_roman"])
def test_encodings_are_told_apart(tmp_path: Path, encoding: str) -> None:
    text = crows_text("\t", [["1", ACCENTS, ACCENTS.replace("garçon", "maçon"), "stereo", "gender"]])
    bench = load_benchmark(write(tmp_path / "french.tsv", text.encode(encoding)))
    assert bench.items[0].texts["stereo"] == ACCENTS
    assert bench.items[0].id == "1"


@pytest.mark.parametrize("written", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path, written: str) -> None:
    file = write(tmp_path / "mine.csv", "stereo,anti\nHe ran.,She ran.\n".encode(written))
    told = load_benchmark(file, encoding=written.removesuffix("-sig"))
    assert sentences(told) == sentences(load_benchmark(file)) == [("He ran.", "She ran.")]


def test_a_given_encoding_wins(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.csv", "stereo,anti\nOn żyje.,Ona żyje.\n".encode("iso8859-2"))
    assert load_benchmark(file, encoding="iso8859-2").items[0].texts["stereo"] == "On żyje."


@pytest.mark.parametrize(
    ("content", "encoding", "code", "said"),
    [
        (b"stereo,anti\nab\xa1\xa4\xa5 cd \xa7,\xa9 e\xb1\n", None, "wrong-encoding", "--encoding"),
        (b"stereo,anti\nab\0cd,ef\n", None, "wrong-format", "--encoding"),
        (b"\xff\xfea\0b", None, "wrong-encoding", "mine.csv"),  # UTF-16, cut in the middle of a character
        (b"stereo,anti\n\xe9,b\n", "utf-8", "wrong-encoding", "mine.csv"),
        (b"stereo,anti\na,b\n", "klingon", "unknown-name", "klingon"),
    ],
)
def test_undecodable_bytes(tmp_path: Path, content: bytes, encoding: str | None, code: str, said: str) -> None:
    file = write(tmp_path / "mine.csv", content)
    with raises(code) as error:
        load_benchmark(file, encoding=encoding)
    assert said in str(error.value)


@pytest.mark.parametrize("content", ["", "  \n\n", "\ufeff", ",,,\n,,,\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, content: str) -> None:
    with pytest.raises(TiltmeterError, match=r"mine\.csv.*(empty|no (data )?rows)"):
        load_benchmark(write(tmp_path / "mine.csv", content))


@pytest.mark.parametrize("header", ["id,sent_more,sent_less", "stereo,anti,bias_type", "a,b,c"])
@pytest.mark.parametrize("load", [load_benchmark, crows_pairs], ids=["by-file", "crows-pairs"])
def test_a_header_without_rows(tmp_path: Path, load: Any, header: str) -> None:
    with raises("empty-file", file=tmp_path / "mine.csv"):
        load(write(tmp_path / "mine.csv", header + "\n"))


def test_a_cell_of_any_length_is_read(tmp_path: Path) -> None:
    long = "a " * 100_000
    bench = load_benchmark(write(tmp_path / "mine.csv", f"stereo,anti\n{long}b,{long}c\n"))
    assert len(bench.items[0].texts["stereo"]) == 200_001


def test_a_row_with_more_cells_than_the_header_is_noted(tmp_path: Path) -> None:
    """A sentence with a comma and no quotes: its second half would pass for the other sentence."""
    bench = load_benchmark(write(tmp_path / "mine.csv", "stereo,anti\nHe ran, fast.,She ran, fast.\nHe is.,She is.\n"))
    assert ("He ran", " fast.") not in sentences(bench)
    assert [note.row for note in bench.notes] == ["1"]


def test_an_unclosed_quote_does_not_swallow_the_rows_below(tmp_path: Path) -> None:
    text = 'stereo\tanti\n"Stop, he said.\tStop, she said.\nHe is tall.\tShe is tall.\nHe ran.\tShe ran.\n'
    expected = [('"Stop, he said.', "Stop, she said."), ("He is tall.", "She is tall."), ("He ran.", "She ran.")]
    assert sentences(load_benchmark(write(tmp_path / "mine.tsv", text))) == expected


def test_the_message_about_a_missing_column_stays_short(tmp_path: Path) -> None:
    row = ",".join(f"This is sentence number {n}." for n in range(200))
    file = write(tmp_path / "mine.csv", f"{row}\n{row}\n")
    with pytest.raises(TiltmeterError) as error:
        load_benchmark(file)
    assert len(str(error.value)) < 1000


# Labels, ids, holes --------------------------------------------------


@pytest.mark.parametrize(
    ("label", "direction"),
    [
        ("stereo", "disadvantaged"),
        ("Stereo", "disadvantaged"),
        ("stereotype", "disadvantaged"),
        ("disadvantaged", "disadvantaged"),
        ("antistereo", "advantaged"),
        ("anti-stereo", "advantaged"),
        ("Anti_Stereotype", "advantaged"),
        ("anti stereo", "advantaged"),
        ("advantaged", "advantaged"),
        ("sideways", "sideways"),
        ("", None),
    ],
)
def test_spellings_of_the_direction(tmp_path: Path, label: str, direction: str | None) -> None:
    file = write(tmp_path / "mine.csv", crows_text(rows=[["1", "He ran.", "She ran.", label, "gender"]]))
    assert load_benchmark(file).items[0].direction == direction


@pytest.mark.parametrize(
    ("label", "bias_type", "notes"),
    [
        ("race-color", "race-color", 0),
        ("Race_Color", "race-color", 0),
        (" Sexual Orientation ", "sexual-orientation", 0),
        ("physical_appearance", "physical-appearance", 0),
        ("Hair Colour", "hair-colour", 1),
        ("", "unspecified", 1),
    ],
)
def test_spellings_of_the_bias_type(tmp_path: Path, label: str, bias_type: str, notes: int) -> None:
    file = write(tmp_path / "mine.csv", crows_text(rows=[["1", "He ran.", "She ran.", "stereo", label]]))
    bench = load_benchmark(file)
    assert bench.items[0].bias_type == bias_type
    assert len(bench.notes) == notes


def test_a_repeated_id_is_renamed_and_noted(tmp_path: Path) -> None:
    rows = [["1", f"He ran {n} miles.", f"She ran {n} miles.", "stereo", "gender"] for n in range(3)]
    bench = load_benchmark(write(tmp_path / "mine.csv", crows_text(rows=rows)))
    assert [item.id for item in bench.items] == ["1", "1#2", "1#3"]
    assert bench.note_counts() == {REPEATED_ID: 2}


def test_renaming_never_makes_a_new_repetition(tmp_path: Path) -> None:
    rows = [[name, "He ran.", "She ran.", "stereo", "gender"] for name in ("1", "1", "1#2")]
    bench = load_benchmark(write(tmp_path / "mine.csv", crows_text(rows=rows)))
    assert len({item.id for item in bench.items}) == 3


def test_identical_sentences_are_kept_and_noted(tmp_path: Path) -> None:
    rows = [["1", "They ran.", "They ran.", "stereo", "gender"], *ROWS]
    bench = load_benchmark(write(tmp_path / "mine.csv", crows_text(rows=rows)))
    assert len(bench) == 3
    assert [(note.row, "identical" in note.what) for note in bench.notes] == [("1", True)]


def test_empty_sentences_are_skipped_noted_and_counted(tmp_path: Path) -> None:
    holes = [
        ["1", "", "She ran.", "stereo", "age"],
        ["2", "He ran.", "  ", "stereo", "age"],
        ["3", "", "", "", ""],
    ]
    bench = load_benchmark(write(tmp_path / "mine.csv", crows_text(rows=[*holes, *ROWS])))
    assert [item.id for item in bench.items] == ["7", "8"]
    empty = ("sent_more", "sent_less", "sent_more and sent_less")
    assert bench.note_counts() == {f"skipped: empty {columns}": 1 for columns in empty}


def test_only_empty_sentences_are_an_error_that_counts_them(tmp_path: Path) -> None:
    rows = [["1", "", "She ran.", "stereo", "age"], ["2", "", "He ran.", "stereo", "age"]]
    with pytest.raises(TiltmeterError, match=r"empty sent_more \(2\)"):
        load_benchmark(write(tmp_path / "mine.csv", crows_text(rows=rows)))


def test_a_short_row_is_a_hole(tmp_path: Path) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", "stereo,anti\nHe ran.\nHe is.,She is.\n"))
    assert sentences(bench) == [("He is.", "She is.")]
    assert bench.note_counts() == {"skipped: empty anti": 1}


def test_spaces_around_a_sentence_are_kept(tmp_path: Path) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", 'stereo,anti\n" He ran. ","She ran."\n'))
    assert bench.items[0].texts["stereo"] == " He ran. "


def test_annotations_become_lists(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.csv",
        "id,sent_more,sent_less,annotations,note\n1,He ran.,She ran.,\"[['age'], ['race']]\",[x\n",
    )
    assert load_benchmark(file).items[0].extra == {"annotations": [["age"], ["race"]], "note": "[x"}


# Your own columns --------------------------------------------------

OWN = {"stereo": "worse", "anti": "better", "bias_type": "kind"}
OWN_ROWS = [{"worse": "He ran.", "better": "She ran.", "kind": "Gender", "place": "Rome"}]


def own_file(folder: Path, suffix: str) -> Path:
    text = {
        "csv": "worse,better,kind,place\nHe ran.,She ran.,Gender,Rome\n",
        "tsv": "worse\tbetter\tkind\tplace\nHe ran.\tShe ran.\tGender\tRome\n",
        "jsonl": "".join(json.dumps(row) + "\n\n" for row in OWN_ROWS),
        "json": json.dumps(OWN_ROWS),
    }[suffix]
    return write(folder / f"mine.{suffix}", text)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_columns_are_mapped(tmp_path: Path, suffix: str) -> None:
    bench = load_benchmark(own_file(tmp_path, suffix), columns=OWN)
    (item,) = bench.items
    assert (item.id, item.bias_type, dict(item.extra)) == ("1", "gender", {"kind": "Gender", "place": "Rome"})
    assert sentences(bench) == [("He ran.", "She ran.")]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_a_missing_column_is_named_beside_those_present(tmp_path: Path, suffix: str) -> None:
    with raises("missing-column", columns=["stereo", "anti"]) as error:
        load_benchmark(own_file(tmp_path, suffix))
    assert {"worse", "better", "kind"} <= set(error.value.fields["present"])
    for word in ("'stereo'", "'anti'", "'worse'", "'better'", "'kind'", "--columns"):
        assert word in str(error.value)


def test_a_mapped_column_that_is_not_there(tmp_path: Path) -> None:
    with raises("missing-column", columns=["sort"]):
        load_benchmark(own_file(tmp_path, "csv"), columns={**OWN, "bias_type": "sort"})


@pytest.mark.parametrize("name", ["mine", "crows-pairs"])
def test_an_unknown_field_in_columns(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "mine.csv", crows_text())
    with raises("unknown-name", kind="field", names=["colour"], option="--columns"):
        if name == "mine":
            load_benchmark(file, columns={"colour": "bias_type"})
        else:
            load_benchmark(name, path=file, columns={"colour": "bias_type"})


def test_the_starter_pairs_take_no_columns() -> None:
    with raises("inapplicable-option", benchmark="starter-pairs", options=["columns"]):
        load_benchmark("starter-pairs", columns=OWN)


@pytest.mark.parametrize(
    ("name", "text", "expected", "said"),
    [
        ("mine.jsonl", '{"stereo": "a", "anti": "b"}\n{"stereo": "a", \n', "JSON", "line 2"),
        ("mine.jsonl", '["a", "b"]\n', "JSON object", "line 1"),
        ("mine.json", '[{"stereo": "a"', "JSON", "mine.json"),
        ("mine.json", '{"stereo": "a", "anti": "b"}', "list of JSON objects", "mine.json"),
        ("mine.json", '["a"]', "list of JSON objects", "mine.json"),
    ],
)
def test_broken_json(tmp_path: Path, name: str, text: str, expected: str, said: str) -> None:
    with raises("wrong-format", expected=expected) as error:
        load_benchmark(write(tmp_path / name, text))
    assert said in str(error.value)


@pytest.mark.parametrize("odd", ["\u2028", "\x85", "\x0c"])
def test_only_line_feeds_end_a_json_line(tmp_path: Path, odd: str) -> None:
    row = {"stereo": f"He{odd} ran.", "anti": f"She{odd} ran."}
    bench = load_benchmark(write(tmp_path / "mine.jsonl", json.dumps(row, ensure_ascii=odd == "\x0c") + "\n"))
    assert bench.items[0].texts == row


@pytest.mark.parametrize("half", ["\\ud800", "\\udc00", "\\udc00\\ud800"])
def test_half_a_character_in_json_is_refused(tmp_path: Path, half: str) -> None:
    """A lone surrogate is legal JSON and can be written to no file: better to hear of it early."""
    lines = ['{"stereo": "He HALF ran.", "anti": "She ran."}', '{"stereo": "He is.", "anti": "She is."}']
    file = write(tmp_path / "mine.jsonl", "\n".join(lines).replace("HALF", half))
    with raises("wrong-encoding", file=file):
        load_benchmark(file)
    whole = load_benchmark(write(tmp_path / "whole.jsonl", "\n".join(lines).replace("HALF", "\\ud83d\\ude00")))
    assert whole.items[0].texts["stereo"] == "He \U0001f600 ran." and not whole.notes


# StereoSet --------------------------------------------------

LABELS = {"stereotype": "caring", "anti-stereotype": "cruel", "unrelated": "fish"}


def stereoset_row(identity: str = "s1", context: str = "My mother is BLANK.", **fills: str | None) -> dict[str, Any]:
    chosen = fills or {label.replace("-", "_"): fill for label, fill in LABELS.items()}
    rows = [
        {
            "id": f"{identity}-{label}",
            "gold_label": label.replace("_", "-"),
            "sentence": None if fill is None else context.replace("BLANK", fill),
        }
        for label, fill in chosen.items()
    ]
    return {"id": identity, "context": context, "bias_type": "gender", "target": "mother", "sentences": rows}


def stereoset_file(folder: Path, intra: Any, inter: Any = ()) -> Path:
    document = {"version": "1.1", "data": {"intersentence": inter, "intrasentence": intra}}
    return write(folder / "dev.json", json.dumps(document, default=list))


def test_stereoset_has_three_roles(tmp_path: Path) -> None:
    bench = load_benchmark(stereoset_file(tmp_path, [stereoset_row()]))
    (item,) = bench.items
    assert item.texts == {
        "stereo": "My mother is caring.",
        "anti": "My mother is cruel.",
        "unrelated": "My mother is fish.",
    }
    assert (item.id, item.bias_type, item.target, item.context) == (
        "s1",
        "gender",
        "mother",
        "My mother is BLANK.",
    )
    assert bench.name == "stereoset"


def test_intersentence_items_are_loaded_and_not_scored(tmp_path: Path) -> None:
    inter = stereoset_row("s2", "She is my mother.", stereotype="a", anti_stereotype="b", unrelated="c")
    bench = load_benchmark(stereoset_file(tmp_path, [stereoset_row()], [inter]))
    assert [item.id for item in bench.items] == ["s1", "s2"]
    assert [item.id for item in bench.asked_items] == ["s1"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (stereoset_row("bad", "My mother is ___."), "no BLANK"),
        (stereoset_row("bad", stereotype="caring", unrelated="fish"), "missing or empty"),
        (stereoset_row("bad", stereotype="caring", anti_stereotype=None), "missing or empty"),
        (stereoset_row("bad", "BLANK", stereotype="", anti_stereotype="b"), "missing or empty"),
        ({"id": "bad", "context": "BLANK"}, "missing or empty"),
    ],
)
def test_an_unusable_stereoset_row_is_skipped_and_noted(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    bench = load_benchmark(stereoset_file(tmp_path, [row, stereoset_row()]))
    assert [item.id for item in bench.items] == ["s1"]
    assert [note.row for note in bench.notes] == ["bad"]
    assert reason in bench.notes[0].what


def test_a_missing_unrelated_fill_leaves_a_pair(tmp_path: Path) -> None:
    row = stereoset_row(stereotype="caring", anti_stereotype="cruel")
    bench = load_benchmark(stereoset_file(tmp_path, [row]))
    assert list(bench.items[0].texts) == ["stereo", "anti"]


@pytest.mark.parametrize(
    "document",
    [
        '{"data": {"intrasentence": null}}',
        '{"data": {"intrasentence": ["a row"]}}',
        '{"data": {"intrasentence": [{"id": "1", "context": "BLANK", "sentences": ["a"]}]}}',
        '{"data": {"intrasentence": {"id": "1"}}}',
        '{"intrasentence": []}',
        '{"data": {"intrasentence": []}}',
        '{"data": {"intrasentence": [',
    ],
)
def test_other_layouts_are_refused(tmp_path: Path, document: str) -> None:
    with pytest.raises(TiltmeterError, match=r"dev\.json"):
        load_benchmark(write(tmp_path / "dev.json", document))


def test_a_missing_intersentence_part_is_fine(tmp_path: Path) -> None:
    assert len(load_benchmark(stereoset_file(tmp_path, [stereoset_row()], None))) == 1


def test_the_intrasentence_list_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "gender.json", json.dumps([stereoset_row()]))
    assert len(load_benchmark("stereoset", path=file)) == 1


# Limit --------------------------------------------------


@pytest.mark.parametrize(("limit", "kept"), [(1, 1), (2, 2), (100, 2), (None, 2)])
def test_limit(tmp_path: Path, limit: int | None, kept: int) -> None:
    assert len(load_benchmark(write(tmp_path / "mine.csv", crows_text()), limit=limit)) == kept


@pytest.mark.parametrize("limit", [0, -3])
def test_limit_must_leave_something(limit: int) -> None:
    with raises("out-of-range", option="--limit", value=limit):
        load_benchmark("starter-pairs", limit=limit)


# Where a dataset is looked for --------------------------------------------------


def crows_at(folder: Path, sentence: str) -> Path:
    text = crows_text(rows=[["1", sentence, "She ran.", "stereo", "gender"]])
    return write(folder / crows_module.SOURCE.relative, text)


def found(**where: Any) -> str:
    return load_benchmark("crows-pairs", **where).items[0].texts["stereo"]


def test_lookup_order(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crows_at(own_cache / "data", "cached")
    assert found() == "cached"
    crows_at(tmp_path / "environment", "environment")
    monkeypatch.setenv("TILTMETER_DATA", str(tmp_path / "environment"))
    assert found() == "environment"
    crows_at(tmp_path / "folder", "folder")
    assert found(data_dir=tmp_path / "folder") == "folder"
    file = crows_at(tmp_path / "elsewhere", "path")
    assert found(path=file, data_dir=tmp_path / "folder") == "path"
    (tmp_path / "empty").mkdir()
    assert found(data_dir=tmp_path / "empty") == "cached"  # a data folder without this dataset


@pytest.mark.parametrize("how", ["path", "data_dir", "environment"])
def test_a_place_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    nowhere = str(tmp_path / "nowhere")
    if how == "environment":
        monkeypatch.setenv("TILTMETER_DATA", nowhere)
    with pytest.raises(TiltmeterError, match="nowhere"):
        load_benchmark("crows-pairs", **({} if how == "environment" else {how: nowhere}))


@pytest.mark.parametrize("name", ["crows-pears", "no/such/file.csv"])
def test_an_unknown_benchmark(name: str) -> None:
    with raises("unknown-name", kind="benchmark", name=name):
        load_benchmark(name)


def test_a_folder_is_not_a_benchmark(tmp_path: Path) -> None:
    with pytest.raises(TiltmeterError, match="is a folder"):
        load_benchmark(tmp_path)


# Download --------------------------------------------------


class OneFile(BaseHTTPRequestHandler):
    """Serves the same bytes at every address."""

    def __init__(self, *args: Any, body: bytes) -> None:
        self.body = body
        super().__init__(*args)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def serving(body: bytes) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(OneFile, body=body)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/crows.csv"
        finally:
            server.shutdown()
            thread.join()


def published_at(monkeypatch: pytest.MonkeyPatch, url: str, body: bytes) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    source = replace(crows_module.SOURCE, url=url, sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setattr(crows_module, "SOURCE", source)


def files_under(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_lands_in_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = crows_text().encode()
    with serving(body) as url:
        published_at(monkeypatch, url, body)
        assert len(load_benchmark("crows-pairs")) == 2
    assert files_under(own_cache) == ["crows_pairs_anonymized.csv"]
    bench = load_benchmark("crows-pairs")  # the server is gone
    assert (len(bench), bench.sha256) == (2, hashlib.sha256(body).hexdigest())


def test_a_wrong_download_is_refused_and_not_kept(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b"<html>Please log in</html>") as url:
        published_at(monkeypatch, url, crows_text().encode())
        with raises("changed-file") as error:
            load_benchmark("crows-pairs")
    assert url in str(error.value)
    assert files_under(own_cache) == []


@pytest.mark.parametrize("with_folder", [False, True])
def test_without_a_network_it_says_what_to_put_where(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, with_folder: bool
) -> None:
    with socket.socket() as closed:  # bound and not listening: a connection is refused
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/crows.csv"
        published_at(monkeypatch, url, b"")
        with pytest.raises(TiltmeterError) as error:
            load_benchmark("crows-pairs", data_dir=tmp_path if with_folder else None)
    source = crows_module.SOURCE
    place = (tmp_path if with_folder else own_cache / "data") / source.relative
    for word in (source.relative, url, source.sha256, str(place)):
        assert word in str(error.value)
    assert files_under(own_cache) == []


# The real files --------------------------------------------------


def test_the_real_crows_pairs(realdata: Path) -> None:
    bench = load_benchmark("crows-pairs", data_dir=realdata)
    assert bench.sha256 == crows_module.SOURCE.sha256
    assert len(bench) == 1508
    assert sum(item.direction == "disadvantaged" for item in bench.items) == 1290
    assert len({item.bias_type for item in bench.items}) == 9
    assert bench.note_counts() == {REPEATED_PAIR: 1}
    assert all(len(item.extra["annotations"]) == 5 for item in bench.items)


def test_the_real_stereoset(realdata: Path) -> None:
    bench = load_benchmark("stereoset", data_dir=realdata)
    assert (len(bench.asked_items), len(bench)) == (2106, 2106 + 2123)
    assert all(len(item.texts) == 3 for item in bench.items)


@pytest.mark.parametrize(
    ("file", "items", "word"),
    [
        ("dutch-crows/crows_dutch.csv", 1463, "financiële"),
        ("dutch-crows/crows_french.csv", 1462, "magrébins"),
        ("iabhijith/crows_pairs_revised.csv", 1677, "couldn't"),
        ("kinit/crows_revised.csv", 1467, "couldn't"),
        ("maveriq/cp_it.csv", 250, "comunità"),
    ],
)
def test_the_real_variants(realdata: Path, file: str, items: int, word: str) -> None:
    bench = load_benchmark(realdata / "crows-pairs-variants" / file)
    assert len(bench) == items
    assert any(word in item.texts["stereo"] for item in bench.items)
    assert not any("\ufffd" in text for item in bench.items for text in item.texts.values())

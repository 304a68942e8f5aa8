"""Input is understood or refused, never guessed: bytes, JSON, tables, pipes, names, and parts of models that do not fit."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from tiltmeter import Benchmark, TiltmeterError, load_benchmark, load_model
from tiltmeter.benchmarks.kit.items import READ_AS, SPECIAL_TOKEN, STRAY_QUOTE, group_column, items_table
from tiltmeter.benchmarks.kit.terms import read_terms
from tiltmeter.benchmarks.stereoset import TWICE
from tiltmeter.builders.sexism import build_sexism
from tiltmeter.corpora import build_index
from tiltmeter.corpora import index as corpus
from tiltmeter.models import check_model, kind_of, load_any, load_encoder
from tiltmeter.models.consistency import TOKENIZER_FIT
from tiltmeter.storage import compression
from tiltmeter.storage.decoding import decode, guessed_encoding
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import cell, parse_table

PAIRS = "stereo,anti\nHe ran.,She ran.\nHe is.,She is.\n"
SENTENCES = [("He ran.", "She ran."), ("He is.", "She is.")]
FRENCH = "Le garçon blessé était un élève étranger, né à Besançon."


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sentences(bench: Benchmark) -> list[tuple[str, ...]]:
    return [tuple(item.texts.values()) for item in bench.items]


def refusal(load: Any, *args: Any, **options: Any) -> str:
    """The one line with which it is refused."""
    with pytest.raises(TiltmeterError) as error:
        load(*args, **options)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


# Bytes --------------------------------------------------


@pytest.mark.parametrize("bad", [b"\xff", b"\xe9", b"\x80", b"\xc3", b"\xed\xa0\x80"])
def test_one_bad_byte_in_utf_8_is_refused_where_it_stands(tmp_path: Path, bad: bytes) -> None:
    rows = [f"Zoë saw {n} cafés – “naïve”.,Zoë saw {n} bars." for n in range(50)]
    good = ("stereo,anti\n" + "\n".join(rows) + "\n").encode()
    lines = good.split(b"\n")
    lines[31] = lines[31].replace(b" bars", bad + b" bars")
    file = write(tmp_path / "mine.csv", b"\n".join(lines))
    message = refusal(load_benchmark, file)
    offset = len(b"\n".join(lines[:31])) + 1 + lines[31].index(bad + b" bars")
    assert f"byte {offset:,} (line 32)" in message and "--encoding" in message
    assert not load_benchmark(write(file, good)).notes


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman"])
def test_an_8_bit_encoding_is_taken_where_it_is_clear_and_said(tmp_path: Path, encoding: str) -> None:
    file = write(tmp_path / "mine.csv", f'stereo,anti\n"{FRENCH}",Non.\n'.encode(encoding))
    bench = load_benchmark(file)
    assert bench.items[0].texts["stereo"] == FRENCH
    assert [note.what for note in bench.notes] == [READ_AS.format(encoding)]
    assert not load_benchmark(file, encoding=encoding).notes


def test_quotation_marks_of_windows_are_not_accents_of_a_mac() -> None:
    """Read as a Mac's, every “ is an ì."""
    text = "He said “the man is here” and “go” – don’t you think… “Yes.”"
    assert guessed_encoding(text.encode("cp1252")) == "cp1252"
    assert guessed_encoding(text.encode("mac_roman")) == "mac_roman"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Мужчины сильнее женщин, привет всем", "cp1251"),
        ("Мужчины сильнее женщин, привет всем", "koi8-r"),
        ("On żyje świetnie, ale ona też nie żałuje łez i śpi", "cp1250"),
        ("Οι άνδρες είναι ψηλοί", "iso8859-7"),
        ("彼は走った。", "shift_jis"),
        ("他跑了。", "gbk"),
        ("a single caf\xe9", "latin-1"),  # too little to tell an encoding from a bad byte
    ],
)
def test_other_encodings_are_not_guessed(tmp_path: Path, text: str, encoding: str) -> None:
    file = write(tmp_path / "mine.csv", f"stereo\tanti\n{text}\tb\n".encode(encoding))
    assert "--encoding" in refusal(load_benchmark, file)
    assert load_benchmark(file, encoding=encoding).items[0].texts["stereo"] == text


@pytest.mark.parametrize(
    "name", ["punycode", "idna", "hex", "base64", "rot13", "zlib", "unicode_escape", "undefined", "a\0b"]
)
def test_codecs_that_are_no_encodings_of_files(tmp_path: Path, name: str) -> None:
    assert "encoding" in refusal(load_benchmark, write(tmp_path / "mine.csv", PAIRS), encoding=name)


@pytest.mark.parametrize("encoding", ["utf-32", "utf-16"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    assert sentences(load_benchmark(write(tmp_path / "mine.csv", PAIRS.encode(encoding)))) == SENTENCES


def test_a_workbook_is_called_one(tmp_path: Path) -> None:
    assert "Excel workbook" in refusal(load_benchmark, write(tmp_path / "mine.csv", b"PK\x03\x04\0\0"))
    assert "does not look like text" in refusal(decode, b"a\0b", Path("x"))


def test_the_builder_names_the_encoding_it_took(tmp_path: Path) -> None:
    file = write(tmp_path / "old.csv", "text,label\nThe café woman is très bad at it,sexism\n".encode("cp1252"))
    assert build_sexism([file]).stages[0].name.endswith("(old.csv read as cp1252)")
    assert build_sexism([file], encoding="cp1252").stages[0].name == "rows in 1 file"


# JSON --------------------------------------------------

NO_SENTENCES = {
    "a list": ["He", "ran."], "a number": 7, "true": True, "false": False, "zero": 0, "an object": {"text": "He ran."},
    "an empty list": [],
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("field", ["stereo", "anti", "unrelated", "context", "text"])
@pytest.mark.parametrize("value", NO_SENTENCES)
def test_what_is_no_text_is_no_sentence(tmp_path: Path, suffix: str, field: str, value: str) -> None:
    good = {"text": "A [MASK] ran."} if field == "text" else {"stereo": "He ran.", "anti": "She ran."}
    rows = [good, good | {field: NO_SENTENCES[value]}]
    text = json.dumps(rows) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in rows)
    message = refusal(load_benchmark, write(tmp_path / f"mine.{suffix}", text))
    assert "row 2" in message and f"'{field}'" in message


@pytest.mark.parametrize("field", ["id", "bias_type", "target", "direction"])
def test_labels_may_be_numbers_not_lists(tmp_path: Path, field: str) -> None:
    row = {"stereo": "He ran.", "anti": "She ran."}
    file = write(tmp_path / "mine.jsonl", json.dumps(row | {field: 7}))
    item = load_benchmark(file).items[0]
    assert getattr(item, field) == "7"
    for value in ([1], {"a": 1}):
        write(file, json.dumps(row | {field: value}))
        assert f"row 1: '{field}'" in refusal(load_benchmark, file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"stereo": NaN, "anti": "b"}', "NaN is not JSON"),
        ('{"stereo": "a", "anti": "b", "weight": -Infinity}', "-Infinity is not JSON"),
        ('{"stereo": "a", "anti": "b", "weight": 1e999}', "too large"),
        ('{"stereo": "a", "anti": "b", "weight": ' + "9" * 5000 + "}", "5,000 digits"),
        ('{"stereo": "a", "anti": "b", "weight": ' + "9" * 400 + "}", "400 digits"),
        ('{"stereo": "a", "anti": "b", "stereo": "c"}', "'stereo' occurs twice"),
        ('{"stereo": "a", "anti": "b", "deep": ' + "[" * 5000 + "]" * 5000 + "}", "deep"),
        ('{"stereo": "a", "anti": "b", "deep": ' + '{"a":' * 300 + "1" + "}" * 300 + "}", "deep"),
    ],
)
@pytest.mark.parametrize("name", ["mine.jsonl", "mine.json", "terms.json", "words.json", "dev.json", "test.json"])
def test_json_that_nothing_else_could_read(tmp_path: Path, text: str, expected: str, name: str) -> None:
    file = tmp_path / name
    if name == "terms.json":
        message = refusal(load_benchmark, "plumb-slots", terms=write(file, text))
    elif name == "words.json":
        message = refusal(load_benchmark, "ilps", words=write(file, text))
    elif name in ("dev.json", "test.json"):
        message = refusal(load_benchmark, "stereoset" if name == "dev.json" else "seat", path=write(file, text))
    else:
        message = refusal(load_benchmark, write(file, text if name.endswith("l") else f"[{text}]"))
    assert expected in message and name in message


def test_annotations_that_are_no_lists_stay_text(tmp_path: Path) -> None:
    for odd in ("[" * 5000, "[{(1, 2): 3}]", "[1e999]", "[" + "-" * 5000 + "1]"):
        file = write(tmp_path / "mine.csv", f'sent_more,sent_less,annotations\na,b,"{odd}"\n')
        assert load_benchmark(file).items[0].extra == {"annotations": odd}


def stereoset_row(**changes: Any) -> dict[str, Any]:
    labels = ("stereotype", "anti-stereotype", "unrelated")
    rows = [{"id": label, "gold_label": label, "sentence": f"She is {label}."} for label in labels]
    return {"id": "s1", "context": "She is BLANK.", "bias_type": "gender", "target": "she", "sentences": rows} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"context": ["BLANK"]}, {"target": {"a": 1}}, {"target": 3}, {"bias_type": [1]}, {"id": ["s1"]},
        {"sentences": [{"gold_label": ["stereotype"], "sentence": "a"}]},
        {"sentences": [{"gold_label": "stereotype", "sentence": 5}, {"gold_label": "anti-stereotype", "sentence": "a"}]},
    ],
)  # fmt: skip
def test_a_stereoset_row_of_other_types(tmp_path: Path, changes: dict[str, Any]) -> None:
    document = {"data": {"intrasentence": [stereoset_row(), stereoset_row(**changes)]}}
    assert "intrasentence 2" in refusal(load_benchmark, write(tmp_path / "dev.json", json.dumps(document)))


def test_two_sentences_of_one_label(tmp_path: Path) -> None:
    odd = stereoset_row(id="s2")
    odd["sentences"] = [*odd["sentences"], odd["sentences"][0] | {"sentence": "She is late."}]
    document = {"data": {"intrasentence": [stereoset_row(), odd]}}
    bench = load_benchmark(write(tmp_path / "dev.json", json.dumps(document)))
    assert bench.note_counts() == {f"skipped: {TWICE.format('stereo')}": 1}


# Tables --------------------------------------------------


@pytest.mark.parametrize("header", ["stereo,anti,stereo", "stereo,anti, anti ", "id,stereo,anti,id", "stereo,anti,x,x"])
def test_two_columns_of_one_name(tmp_path: Path, header: str) -> None:
    message = refusal(load_benchmark, write(tmp_path / "mine.csv", f"{header}\na,b,c,d\n"))
    assert "two columns are called" in message


def test_an_index_beside_an_id(tmp_path: Path) -> None:
    """pandas writes its index without a name, whether or not there is a column of ids."""
    bench = load_benchmark(write(tmp_path / "mine.csv", ",id,stereo,anti\n0,x7,He ran.,She ran.\n"))
    assert [item.id for item in bench.items] == ["x7"]
    assert bench.items[0].extra == {"column 1": "0"}


def test_columns_that_a_spreadsheet_left_behind(tmp_path: Path) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", "stereo,anti,,\nHe ran.,She ran.,,\n"))
    assert bench.items[0].extra == {} and sentences(bench) == SENTENCES[:1]
    terms = read_terms(write(tmp_path / "terms.csv", "female,male,\nwoman,man,\n"))
    assert terms == {"female": ("woman",), "male": ("man",)}


@pytest.mark.parametrize("separator", [";", ",", "\t", "|", "~"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("line", ["sep={}", '"sep={}"', "SEP={}"])
def test_the_separator_as_excel_writes_it(tmp_path: Path, separator: str, ending: str, line: str) -> None:
    rows = [line.format(separator), separator.join(["stereo", "anti"]), *(separator.join(row) for row in SENTENCES)]
    for mark in ("", "\ufeff"):
        assert sentences(load_benchmark(write(tmp_path / "mine.csv", mark + ending.join(rows) + ending))) == SENTENCES


def test_a_file_whose_mark_names_its_encoding_is_not_said_to_be_guessed(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes("stereo,anti\nÉr ist groß.,Sie ist groß.\n".encode("utf-16"))
    benchmark = load_benchmark(tmp_path / "mine.csv")
    assert benchmark.items[0].texts["anti"] == "Sie ist groß." and not benchmark.notes


def test_quotes_are_no_text_where_rows_without_content_have_another_width() -> None:
    with pytest.raises(TiltmeterError, match="quotation marks"):
        parse_table('a,b\n"x" y,2\n,,\n', Path("mine.csv"))


def test_what_is_missing_in_a_column_is_no_group(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(
        "stereo,anti,context\nHe is.,She is.,\nHe was.,She was.,here BLANK\n", encoding="utf-8"
    )
    items = items_table(load_benchmark(tmp_path / "mine.csv"))
    assert group_column(items, items["item"], "context") == [None, "here BLANK"]


def test_a_stray_quotation_mark_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('stereo,anti\n"He is.,She is.\nHe was.,She was.\n', encoding="utf-8")
    notes = load_benchmark(tmp_path / "mine.csv").note_counts()
    assert notes == {STRAY_QUOTE: 1}


def test_a_column_called_sep_is_a_column(tmp_path: Path) -> None:
    rows = list(parse_table("sep,stereo\na,b\n", Path("mine.csv")))
    assert rows == [{"sep": "a", "stereo": "b"}]


def test_two_roles_from_one_column(tmp_path: Path) -> None:
    message = refusal(load_benchmark, write(tmp_path / "mine.csv", PAIRS), columns={"stereo": "anti", "anti": "anti"})
    assert "same column 'anti'" in message


@pytest.mark.parametrize(
    ("name", "text", "code", "where"),
    [
        ("terms.csv", "female,male\nwoman,man\ngirl,boy,lad\n", "wrong-format", "row 2"),
        ("terms.csv", "group,term\nfemale,woman\n,man\n", "missing-value", "row 2"),
        ("terms.jsonl", '{"female": "woman", "male": ["man"]}', "wrong-type", "row 1"),
        ("terms.jsonl", '{"female": "woman", "male": 5}', "wrong-type", "row 1"),
        ("terms.json", '{"female": ["woman"], "male": [true]}', "wrong-type", "'male'"),
        ("terms.csv", "female,female\nwoman,man\n", "duplicate-name", "'female'"),
    ],
)
def test_terms_that_are_unclear(tmp_path: Path, name: str, text: str, code: str, where: str) -> None:
    with raises(code) as caught:
        load_benchmark("plumb-slots", terms=write(tmp_path / name, text))
    assert where in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_a_corpus_with_loose_separators_is_refused(tmp_path: Path) -> None:
    """Half a tweet is another sentence."""
    file = write(tmp_path / "tweets.csv", "text,label\nA woman ran,none\nA woman, they say, ran,sexism\n")
    with raises("wrong-format", file=file, row=2):
        build_sexism([file])


def test_cells_without_a_column_are_no_column(tmp_path: Path) -> None:
    assert "beyond" not in refusal(load_benchmark, write(tmp_path / "mine.csv", "one\na,b\n"))


@pytest.mark.parametrize("token", ["[MASK]", "[PAD]", "<|endoftext|>", "</s>", "<mask>", "[UNK]", "<pad>"])
def test_special_tokens_in_a_sentence_are_noted(tmp_path: Path, token: str) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", f"stereo,anti\nHe {token} ran.,She ran.\nHe is.,She is.\n"))
    assert bench.note_counts() == {SPECIAL_TOKEN.format(token): 1} and bench.notes[0].row == "1"


def test_the_mask_of_a_slot_is_meant(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.csv", "text\nA [MASK] ran.\nA <mask> sat.\nA [MASK] ran. [PAD]\n")
    assert [note.row for note in load_benchmark(file).notes] == ["3"]
    assert not load_benchmark("plumb-slots").notes


def test_characters_that_were_lost_before_are_noted(tmp_path: Path) -> None:
    bench = load_benchmark(write(tmp_path / "mine.csv", "stereo,anti\nZo\ufffd ran.,She ran.\n"))
    assert ["U+FFFD" in note.what for note in bench.notes] == [True]


def test_repeated_ids_in_linear_time(tmp_path: Path) -> None:
    rows = "".join(f"7,He ran {n} miles.,She ran {n} miles.\n" for n in range(100_000))
    file = write(tmp_path / "mine.csv", f"id,stereo,anti\n{rows}")
    started = time.process_time()
    bench = load_benchmark(file)
    assert time.process_time() - started < 20
    assert bench.items[-1].id == "7#100000" and len({item.id for item in bench.items}) == 100_000


# Where files come from --------------------------------------------------


@contextmanager
def piped(content: bytes) -> Iterator[Path]:
    """What a shell makes of <(command)."""
    reading_end, writing_end = os.pipe()

    def fill() -> None:
        with os.fdopen(writing_end, "wb") as stream:
            stream.write(content)

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        yield Path(f"/dev/fd/{reading_end}")
    finally:
        writer.join()
        os.close(reading_end)


JSONL = "".join(json.dumps({"stereo": a, "anti": b}) + "\n" for a, b in SENTENCES)


@pytest.mark.parametrize("content", [PAIRS, JSONL, json.dumps([json.loads(line) for line in JSONL.splitlines()])])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_process_substitution(content: str, pack: Any) -> None:
    with piped(pack(content.encode())) as path:
        bench = load_benchmark(path)
        assert sentences(bench) == SENTENCES
        assert bench.sha256 and bench.name.startswith("pipe-")
        assert load_benchmark(path).data_hash == bench.data_hash  # a pipe can be read once; we remember


def test_terms_from_a_pipe() -> None:
    with piped(b"female,male\nwoman,man\n") as path:
        assert read_terms(path) == {"female": ("woman",), "male": ("man",)}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_packed_benchmarks(tmp_path: Path, suffix: str, ending: str, pack: Any) -> None:
    text = (PAIRS if suffix == "csv" else JSONL).encode()
    plain = load_benchmark(write(tmp_path / f"mine.{suffix}", text))
    bench = load_benchmark(write(tmp_path / f"mine.{suffix}.{ending}", pack(text)))
    assert (bench.name, bench.data_hash) == ("mine", plain.data_hash)
    assert bench.sha256 != plain.sha256
    write(tmp_path / f"mine.{suffix}.{ending}", pack(text)[:-6])
    with raises("damaged-file", file=tmp_path / f"mine.{suffix}.{ending}"):
        load_benchmark(tmp_path / f"mine.{suffix}.{ending}")
    write(tmp_path / f"mine.{suffix}.{ending}", text)
    with raises("wrong-format", file=tmp_path / f"mine.{suffix}.{ending}", expected=f".{ending}"):
        load_benchmark(tmp_path / f"mine.{suffix}.{ending}")


def test_what_explodes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MOST_BYTES", 2**20)
    bomb = write(tmp_path / "mine.csv.gz", gzip.compress(b"a" * 2**22))
    for file in (bomb, write(tmp_path / "large.csv", b"a" * 2**21)):
        with raises("too-large", file=file, most_bytes=2**20):
            load_benchmark(file)


ENDLESS = ["/dev/zero", "/dev/urandom", "/dev/null", "fifo"]


@pytest.mark.parametrize("place", ENDLESS)
@pytest.mark.parametrize(
    "use", ["benchmark", "pairs", "crows", "slots", "terms", "words", "seat", "corpus", "source", "vectors"]
)
def test_devices_and_named_pipes_are_refused_at_once(tmp_path: Path, place: str, use: str) -> None:
    if place == "fifo":
        os.mkfifo(tmp_path / "fifo.csv")
    path = tmp_path / "fifo.csv" if place == "fifo" else Path(place)
    loads: dict[str, Any] = {
        "benchmark": lambda: load_benchmark(path),
        "pairs": lambda: load_benchmark("pairs", path=path),
        "crows": lambda: load_benchmark("crows-pairs", path=path),
        "slots": lambda: load_benchmark("slots", path=path),
        "terms": lambda: load_benchmark("plumb-slots", terms=path),
        "words": lambda: load_benchmark("ceat", words=path),
        "seat": lambda: load_benchmark("seat", path=path),
        "corpus": lambda: build_index([path], tmp_path / "index"),
        "source": lambda: build_sexism([path]),
        "vectors": lambda: load_any(path),
    }
    message = refusal(loads[use])
    assert str(path) in message
    assert any(word in message for word in ("named pipe", "device", "no model folder"))


@pytest.mark.parametrize("name", ["a" * 300, "a" * 5000, "b/" * 200 + "a" * 300, "a\0b", "", "." * 256])
def test_names_that_no_file_can_have(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for load in (load_benchmark, load_model, load_any, load_encoder):
        refusal(load, name)
    refusal(load_benchmark, "plumb-slots", terms=f"./{name}")
    refusal(load_benchmark, "crows-pairs", data_dir=f"./{name}\0")
    refusal(build_index, [f"./{name}"], tmp_path)
    if name:
        for load in (kind_of, check_model):
            refusal(load, f"./{name}")
        for own in ("seat", "ceat", "sexism"):
            load_benchmark(own, data_dir=f"./{name}")


def test_a_long_name_is_a_name(tmp_path: Path) -> None:
    assert load_benchmark(write(tmp_path / f"{'a' * 251}.csv", PAIRS)).name == "a" * 251


def test_a_folder_is_no_corpus(tmp_path: Path) -> None:
    assert "is a folder" in refusal(build_index, [tmp_path], tmp_path / "index")


# A corpus in one line --------------------------------------------------

WORDS = "The old woman {n} saw a young man here. “Was it Dr. Hill?” she asked him at once! "


def test_a_corpus_in_one_line_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BLOCK_BYTES", 200_000)
    monkeypatch.setattr(corpus.pieces, "__defaults__", (200_000,))
    with (tmp_path / "line.txt").open("w", encoding="utf-8") as stream:
        for n in range(160_000):
            stream.write(WORDS.format(n=n))
    assert (tmp_path / "line.txt").stat().st_size > 13_000_000
    tracemalloc.start()
    largest = max(sum(map(len, lines)) for lines, _ in corpus._blocks(tmp_path / "line.txt"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert largest <= 400_000 and peak < 3_000_000


def test_a_long_line_gives_the_sentences_that_short_ones_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BLOCK_BYTES", 10_000)
    monkeypatch.setattr(corpus.pieces, "__defaults__", (10_000,))
    texts = [WORDS.format(n="x" * (n % 7)) + f"Number {n} is here to be told apart. " for n in range(1500)]
    long = build_index([write(tmp_path / "long.txt", "".join(texts))], tmp_path / "index")
    short = build_index([write(tmp_path / "short.txt", "\n".join(texts))], tmp_path / "index")

    def sentences_of(index: Any) -> set[str]:
        import pyarrow.parquet as pq

        return {
            text for file in index.folder.glob("*.sentences.parquet") for text in pq.read_table(file)["text"].to_pylist()
        }

    assert len(long.blocks) > 5 and sentences_of(long) == sentences_of(short)


@pytest.mark.parametrize(
    "text", ["é" * 500, "ab " * 300, "a" * 900, "日本" * 200, "One. Two. " * 90, "a. \n" * 200, "\n\n a"]
)
@pytest.mark.parametrize("most", [16, 17, 18, 19, 64])
def test_pieces_are_the_text_again(text: str, most: int) -> None:
    cut = list(corpus.pieces(BytesIO(text.encode()), most))
    assert b"".join(cut).decode() == text
    assert all(piece.decode() and len(piece) <= most for piece in cut)  # never in the middle of a character


@pytest.mark.parametrize("hint", [1, 7, 100, 1000])
def test_blocks_of_ordinary_lines_are_what_they_were(tmp_path: Path, hint: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of a corpus is kept under its blocks: as `readlines` cuts them."""
    monkeypatch.setattr(corpus, "BLOCK_BYTES", hint)
    monkeypatch.setattr(corpus.pieces, "__defaults__", (10**9,))
    rng = np.random.default_rng(0)
    file = write(tmp_path / "text.txt", "\n".join("ab " * int(n) for n in rng.integers(0, 30, 60)))
    expected = []
    with file.open("rb") as stream:
        while lines := stream.readlines(hint):
            expected.append((lines, sum(map(len, lines))))
    assert list(corpus._blocks(file)) == expected


def test_a_bad_byte_in_a_corpus_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "text.txt", b"An ordinary line of text.\nThe caf\xe9 is over there now.\n")
    with raises("wrong-encoding", file=file) as error:
        build_index([file], tmp_path / "index")
    assert "byte 7 of the line" in str(error.value) and "The caf" in str(error.value)


# Parts of a model that do not fit --------------------------------------------------


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", tmp_path / "bert"))


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def two_layers(folder: Path, architecture: str) -> Path:
    import torch
    import transformers

    small = {
        "vocab_size": 2000,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    gpt2 = {"vocab_size": 2000, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40}
    distil = {"vocab_size": 2000, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    config, sizes, tokenizer = {
        "BertForMaskedLM": ("BertConfig", small, "tiny-bert-cased"),
        "RobertaForMaskedLM": ("RobertaConfig", {**small, "pad_token_id": 1}, "tiny-roberta"),
        "DistilBertForMaskedLM": ("DistilBertConfig", distil, "tiny-bert-cased"),
        "GPT2LMHeadModel": ("GPT2Config", gpt2, "tiny-gpt2"),
        "OPTForCausalLM": ("OPTConfig", {**small, "ffn_dim": 32, "word_embed_proj_dim": 16}, "tiny-gpt2"),
        "LlamaForCausalLM": ("LlamaConfig", {**small, "num_key_value_heads": 2}, "tiny-gpt2"),
    }[architecture]
    torch.manual_seed(0)
    getattr(transformers, architecture)(getattr(transformers, config)(**sizes)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(GOLDEN / "models" / tokenizer / name, folder / name)
    return folder


@pytest.mark.parametrize(
    ("architecture", "layers"),
    [
        ("BertForMaskedLM", "num_hidden_layers"), ("RobertaForMaskedLM", "num_hidden_layers"),
        ("DistilBertForMaskedLM", "n_layers"), ("GPT2LMHeadModel", "n_layer"), ("OPTForCausalLM", "num_hidden_layers"),
        ("LlamaForCausalLM", "num_hidden_layers"),
    ],
)  # fmt: skip
def test_a_configuration_with_fewer_layers_than_the_weights(tmp_path: Path, architecture: str, layers: str) -> None:
    folder = two_layers(tmp_path / "model", architecture)
    assert "unused_weights" not in load_model(folder).facts
    config = json.loads((folder / "config.json").read_text())
    edit_json(folder / "config.json", **{name: 1 for name in config if name == layers})
    with raises("unexpected-weights") as error:
        load_model(folder)
    assert all(".1." in weight for weight in error.value.fields["weights"])


def with_weights(folder: Path, **more: Any) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    save_file(load_file(file) | more, file, {"format": "pt"})


def test_weights_beside_the_layers_are_counted_and_those_inside_refused(bert: Path) -> None:
    import torch

    old = {"bert.embeddings.position_ids": torch.arange(4), "bert.encoder.layer.0.attention.bias": torch.ones(2)}
    with_weights(bert, **{"classifier.weight": torch.ones(2, 2), "qa_outputs.bias": torch.ones(2)}, **old)
    assert load_model(bert).facts["unused_weights"] == 2
    with_weights(bert, **{"bert.encoder.layer.0.adapter.down.weight": torch.ones(2, 2)})
    assert "adapter.down.weight" in refusal(load_model, bert)


def test_an_encoder_with_fewer_layers(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    modules = [{"type": "sentence_transformers.models.Transformer", "path": "0"}]
    (tmp_path / "encoder" / "modules.json").write_text(json.dumps(modules))
    bert.rename(tmp_path / "encoder" / "0")
    assert load_encoder(tmp_path / "encoder").kind == "encoder"
    edit_json(tmp_path / "encoder" / "0" / "config.json", num_hidden_layers=1)
    assert "have no place" in refusal(load_encoder, tmp_path / "encoder")


@pytest.mark.parametrize("modules", ["{}", "[]", "[1]", '[{"type": 3}]', '[{"path": "0"}]', "[" * 5000, "nonsense"])
def test_modules_of_another_kind(tmp_path: Path, modules: str) -> None:
    (tmp_path / "modules.json").write_text(modules)
    refusal(load_encoder, tmp_path)


@pytest.mark.parametrize(("source", "target"), [("tiny-bert-cased", "plumb-mlm"), ("plumb-mlm", "tiny-bert-cased")])
def test_a_tokenizer_of_another_model(tmp_path: Path, source: str, target: str) -> None:
    from tiltmeter.models import EMBEDDED

    places = {name: EMBEDDED.get(name, GOLDEN / "models" / name) for name in (source, target)}
    folder = Path(shutil.copytree(places[target], tmp_path / "mixed"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(places[source] / name, folder / name)
    assert "belongs to another model" in refusal(load_model, folder)


def test_a_tokenizer_with_a_few_tokens_more_or_less_is_noted(bert: Path) -> None:
    """A padding token that somebody added, and rows that round a number up, are common and do no harm."""
    from transformers import AutoTokenizer

    assert "tokenizer_fit" not in load_model(bert).facts
    tokenizer = AutoTokenizer.from_pretrained(bert)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<one more>"]})
    tokenizer.save_pretrained(bert)
    assert load_model(bert).facts["tokenizer_fit"] == TOKENIZER_FIT.format(2001, 2000)
    shutil.copy(GOLDEN / "models" / "tiny-bert-cased" / "tokenizer.json", bert)
    rules = json.loads((bert / "tokenizer.json").read_text())
    vocabulary = rules["model"]["vocab"]
    rules["model"]["vocab"] = {word: id_ for word, id_ in vocabulary.items() if id_ < 1950}
    (bert / "tokenizer.json").write_text(json.dumps(rules))
    shutil.copy(GOLDEN / "models" / "tiny-bert-cased" / "tokenizer_config.json", bert)
    assert load_model(bert).facts["tokenizer_fit"] == TOKENIZER_FIT.format(1950, 2000)


def test_a_padding_token_without_an_embedding_pads_all_the_same(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = Path(shutil.copytree(GOLDEN / "models" / "tiny-gpt2", tmp_path / "gpt2"))
    plain = tiltmeter.score(load_model(folder), "starter-pairs", ["causal"], cache=False).to_pandas()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    tokenizer.save_pretrained(folder)
    model = load_model(folder)
    assert tokenizer.pad_token_id == 2000 and model.facts["tokenizer_fit"] == TOKENIZER_FIT.format(2001, 2000)
    padded = tiltmeter.score(model, "starter-pairs", ["causal"], cache=False).to_pandas()
    np.testing.assert_allclose(padded["score"], plain["score"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_files_without_permission_are_called_unreadable(bert: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def forbidden(path: Path, *args: Any, **options: Any) -> IO[Any]:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", forbidden)  # tests may run as root, who may read all
    for load in (load_model, check_model, load_encoder):
        message = refusal(load, bert)
        assert name in message and "Permission denied" in message and "no weights" not in message


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_pipe_in_a_model_folder(bert: Path, name: str) -> None:
    (bert / name).unlink()
    os.mkfifo(bert / name)
    assert "named pipe" in refusal(load_model, bert)


# Tokens that are not text --------------------------------------------------


def test_unknown_and_special_tokens_are_counted() -> None:
    tokens = golden_model("tiny-bert-cased").tokens
    plain, odd, unknown, empty = tokens.count_tokens(["He ran.", "He [MASK] ran. [PAD]", "日本 ☃ he", ""])
    assert (plain.unknown, plain.special) == (0, ()) and plain.tokens >= 3
    assert odd.special == ("[MASK]", "[PAD]") and odd.tokens == plain.tokens + 2
    assert 0 < unknown.unknown < unknown.tokens and unknown.special == ()
    assert (empty.tokens, empty.unknown) == (0, 0)


def test_the_end_of_a_text_is_not_an_unknown_word() -> None:
    tokens = golden_model("tiny-gpt2").tokens
    end = tokens.tokenizer.eos_token
    plain, odd = tokens.count_tokens(["He ran. 日本 ☃", f"He ran.{end} And she."])
    assert (plain.unknown, plain.special) == (0, ())
    assert odd.special == (end,) and odd.unknown == 0


# --------------------------------------------------


def test_where_a_message_says_nothing_of_a_place() -> None:
    assert "the file: 'a'" in refusal(cell, {"a": [1]}, "a")
    assert refusal(parse_json, "[" * 5000, "mine").startswith("mine: ")

"""Robust at the edges: long names, odd options, full disks, names that are formulas, broken packages of others."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from tiltmeter import TiltmeterError, catalog
from tiltmeter.cli import main
from tiltmeter.runs.folder import reserved
from tiltmeter.storage import files
from tiltmeter.storage.temporary import NAME, exchange, sweep, temporary_beside

TINY = str(GOLDEN / "models" / "tiny-bert-cased")
PAIRS = "stereo,anti,bias_type\nHe ran.,She ran.,gender\nHe is old.,He is young.,age\nHe sat.,She sat.,gender\n"
LONG = "x" * 300
Call = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run to read from."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "pairs.csv").write_text(PAIRS)
    options = {"resamples": 100, "cache": folder / "cache"}
    return tiltmeter.run(TINY, folder / "pairs.csv", "aul", output=folder / "run", **options).folder


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command in a folder of its own; a traceback would be an exception here."""
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text(PAIRS)

    def called(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        with pytest.raises(SystemExit) as left:
            main()
            sys.exit(0)
        return int(left.value.code or 0), capsys.readouterr().err

    return called


def listed() -> list[str]:
    """What lies in the folder that one is in."""
    return sorted(path.name for path in Path.cwd().iterdir())


def is_refusal(said: tuple[int, str], *parts: str) -> bool:
    """Exit code 2 and one line that names what is wrong."""
    code, text = said
    return code == 2 and text.startswith("Error: ") and text.count("\n") == 1 and all(part in text for part in parts)


RUN = ("run", "-m", TINY, "-b", "pairs.csv", "-s", "aul", "--resamples", "100", "--no-report")


@pytest.mark.parametrize("output", [LONG, f"{LONG}/x", f"here/{LONG}", "x" * 5000])
def test_a_name_that_is_too_long(call: Call, output: str) -> None:
    assert is_refusal(call(*RUN, "-o", output), "too long")
    assert listed() == ["pairs.csv"]


@pytest.mark.parametrize(
    "words",
    [
        ("figure", "estimates", "RUN", "-o", f"{LONG}.png"),
        ("table", "estimates", "RUN", "-o", f"{LONG}.md"),
        ("report", "RUN", "-o", f"{LONG}.html"),
        ("report", LONG),
        ("estimate", LONG),
        ("study", "normality", LONG),
        ("import", LONG, "-o", "run"),
    ],
    ids=lambda words: "-".join(words[:2])[:20],
)
def test_other_names_that_are_too_long(call: Call, finished: Path, words: tuple[str, ...]) -> None:
    assert is_refusal(call(*(str(finished) if word == "RUN" else word for word in words)))
    assert listed() == ["pairs.csv"]


def test_the_longest_name_there_can_be_is_written(call: Call) -> None:
    """What is written beside it has a short name of its own."""
    assert call(*RUN, "-o", "x" * 255)[0] == 0
    assert tiltmeter.load_run("x" * 255).manifest["status"] == "finished"


def test_a_column_named_twice(call: Call) -> None:
    said = call(*RUN, "-o", "run", "--columns", "stereo=stereo,anti=anti,stereo=bias_type")
    assert is_refusal(said, "--columns", "stereo")


@pytest.mark.parametrize("device", ["meta", "xla", "vulkan", "cuda:77", "teapot"])
def test_a_device_that_cannot_compute(call: Call, device: str) -> None:
    said = call(*RUN, "-o", "run", "--device", device)
    assert is_refusal(said, f"'{device}'") and len(said[1]) < 400
    assert listed() == ["pairs.csv"]


@pytest.mark.parametrize(
    "encoding", ["punycode", "idna", "unicode_escape", "rot13", "zlib", "undefined", "no\0such", "x" * 99]
)
def test_an_encoding_that_no_file_is_in(call: Call, encoding: str) -> None:
    assert is_refusal(call(*RUN, "-o", "run", "--encoding", encoding), "encoding")


def test_days_of_resampling_are_refused(call: Call) -> None:
    assert is_refusal(call(*RUN[:-3], "--resamples", "100000000", "-o", "run"), "100,000,000")


@pytest.mark.parametrize("device", ["/dev/full"])
def test_a_full_disk_behind_the_output(device: str) -> None:
    """A table that cannot be printed is one message and exit code 2."""
    words = [sys.executable, "-m", "tiltmeter", "list", "measures"]
    with Path(device).open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and done.stderr.decode() == "Error: No space left on device.\n"


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize(
    "words",
    [
        ("figure", "estimates", "RUN", "-o", "f.pdf"),
        ("table", "estimates", "RUN", "-o", "t.md"),
        ("report", "RUN", "-o", "r.html"),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_disk_that_takes_nothing(
    call: Call, finished: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], reason: int
) -> None:
    """One line, the earlier file as it was, and nothing half-written."""
    output = Path(words[-1])
    output.write_text("before")
    real = files.temporary_beside

    def on_a_bad_disk(path: Path) -> Path:
        half = real(path)
        half.write_text("half")

        class Bad(type(half)):  # type: ignore[misc]
            def replace(self, target: Any) -> Any:
                raise OSError(reason, os.strerror(reason))

        return Bad(half)

    monkeypatch.setattr(files, "temporary_beside", on_a_bad_disk)
    assert is_refusal(call(*(str(finished) if word == "RUN" else word for word in words)), os.strerror(reason))
    assert output.read_text() == "before" and listed() == sorted(["pairs.csv", words[-1]])


def test_a_disk_that_fills_up_while_observations_are_copied(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier run stays as it was, and the same command can be run again."""
    assert call(*RUN, "-o", "run")[0] == 0
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        assert is_refusal(call(*RUN, "-o", "run"), "No space left")
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == before
    assert listed() == ["cache", "pairs.csv", "run"]
    assert call(*RUN, "-o", "run")[0] == 0


@pytest.mark.parametrize("name", ["$x^{$", "$\\frac{1}{0}$", "a_b^c", "100 % $", "\\", "{}"])
def test_names_in_figures_are_no_formulas(finished: Path, tmp_path: Path, name: str) -> None:
    table = tiltmeter.load_run(finished).estimates
    table["model"] = name
    table["group"] = table["group"].where(table["by"] == "all", name + table["group"])
    figure = tiltmeter.show(table)
    figure.savefig(tmp_path / "figure.svg")
    assert "svg" in (tmp_path / "figure.svg").read_text()


def test_very_many_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a 16-bit number counts: on the page every item keeps its own target."""
    from tiltmeter.families.kit.pack import Pack, packed_items, unpack

    n = 40_000
    items = pd.DataFrame({"item": [str(k) for k in range(n)], "bias_type": "x", "direction": None,
                          "target": [f"target {k}" for k in range(n)], "stereo": "a", "anti": "b"})  # fmt: skip
    pack = Pack()
    header, array = unpack(pack.text(packed_items(items, pack, ("stereo", "anti"), {}, {})))
    assert [header["target"]["names"][code] for code in array(header["target"]["codes"])] == list(items["target"])


# What killed processes leave ----------------------------


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_what_killed_processes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    ours = temporary_beside(tmp_path / "a")
    made = NAME.fullmatch(ours.name)
    assert made
    theirs = tmp_path / ours.name.replace(f"-{os.getpid()}-", f"-{dead_process()}-")
    elsewhere = tmp_path / theirs.name.replace(made["machine"], "00000000")
    kept = [ours, elsewhere, tmp_path / ".somebody.tmp"]
    for path in kept:
        path.write_text("x")
    theirs.mkdir()
    (theirs / "file").write_text("x")
    sweep(tmp_path.iterdir())
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_two_folders_swap_places_at_once(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_a_killed_run_is_swept_by_the_next(tmp_path: Path) -> None:
    """Killed in the middle of writing: the earlier run is whole, and the next one leaves nothing but itself."""
    code = """
import os, signal, sys
from pathlib import Path
from tiltmeter.runs.folder import reserved
with reserved(Path(sys.argv[1]), {"tiltmeter": "0"}) as making:
    making.mkdir()
    (making / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    place = tmp_path / "run"
    with reserved(place, {"tiltmeter": "0"}) as making:
        making.mkdir()
        (making / "manifest.json").write_text(json.dumps({"tiltmeter": "0"}))
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL and len(list(tmp_path.iterdir())) == 3  # and a lock file
    assert [path.name for path in place.iterdir()] == ["manifest.json"]
    with reserved(place, {"tiltmeter": "0"}) as making:
        making.mkdir()
        (making / "manifest.json").write_text("{}")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


# Packages of others -------------------------------------


class Point:
    """An entry point of a package that somebody else wrote."""

    dist = None

    def __init__(self, name: str, module: types.ModuleType | BaseException) -> None:
        self.name = self.value = self.module = name
        self.loaded = module

    def load(self) -> types.ModuleType:
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Adds something of another package."""
    points: dict[str, list[Point]] = {}
    real = catalog.entry_points
    monkeypatch.setattr(catalog, "entry_points", lambda group: [*real(group=group), *points.get(group, ())])

    def added(kind: str, name: str, module: Any) -> None:
        points.setdefault(f"tiltmeter.{kind}", []).append(Point(name, module))
        catalog.forget()

    yield added
    monkeypatch.undo()
    catalog.forget()


@pytest.mark.parametrize("kind", ["scorers", "measures", "benchmarks", "studies"])
@pytest.mark.parametrize("broken", [ImportError("no_such_library"), SystemExit(1), types.ModuleType("empty")], ids=str)
def test_a_broken_package_breaks_only_what_names_it(call: Call, add: Callable[..., None], kind: str, broken: Any) -> None:
    add(kind, "somebodys", broken)
    code, said = call("run", "-m", TINY, "-b", "pairs.csv", "--resamples", "100", "--no-report", "-o", "run")
    assert code == 0 and ("Warning: " in said and "somebodys" in said) == (kind in ("scorers", "measures"))
    code, said = call("list", kind)
    assert code == 0 and said.count("\n") == 1 and "somebodys" in said
    named = {"scorers": (*RUN, "-o", "x", "-s", "somebodys"), "measures": (*RUN, "-o", "x", "--measure", "somebodys"),
             "benchmarks": (*RUN, "-o", "x", "-b", "somebodys"), "studies": ("study", "somebodys", "run")}[kind]  # fmt: skip
    code, said = call(*named)
    assert code == 2 and "somebodys" in said and "Traceback" not in said


THEIR_MEASURE = """from tiltmeter.measures import Measure
MEASURE = Measure(reads=("stereo", "anti"), role="bias", neutral=0.0, direction="two-sided", cites="nobody")"""
THEIR_SCORER = "from tiltmeter.scorers import Scorer\nSCORER = Scorer(view='each', cites='nobody')"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("measures", f"{THEIR_MEASURE}\ndef theirs(stereo, anti):\n    return 1 / 0\n"),
        ("scorers", f"{THEIR_SCORER}\ndef theirs(tokens):\n    return 1 / 0\n"),
    ],
)
def test_a_function_of_others_that_fails_is_left_out_unless_it_is_named(
    call: Call, add: Callable[..., None], tmp_path: Path, kind: str, text: str
) -> None:
    (tmp_path / "theirs.py").write_text(text)
    spec = types.ModuleType("theirs")
    spec.__file__ = str(tmp_path / "theirs.py")
    exec(compile((tmp_path / "theirs.py").read_text(), spec.__file__, "exec"), vars(spec))
    sys.modules["theirs"] = spec
    quick = ("run", "-m", TINY, "-b", "pairs.csv", "--resamples", "100", "--no-report")
    flag = {"measures": "--measure", "scorers": "-s"}[kind]
    everything = ("-s", "all") if kind == "scorers" else ()  # by default only scorers with evidence are computed
    try:
        add(kind, "theirs", spec)
        code, said = call(*quick, *everything, "-o", "run")
        assert code == 0 and said.count("Warning: ") == 1
        assert all(part in said for part in (kind[:-1], "'theirs'", "ZeroDivisionError"))
        catalog.forget()
        assert is_refusal(call(*quick, "-o", "named", flag, "theirs"), f"The {kind[:-1]} 'theirs'", "ZeroDivisionError")
    finally:
        del sys.modules["theirs"]


# Names and values that are none --------------------------


def test_words_that_are_no_text_are_refused(call: Call) -> None:
    assert is_refusal(call(*RUN, "-o", "run\udcff"), "'run\\xff'", "UTF-8")


@pytest.mark.parametrize("flag", ["-m", "-b", "--data-dir"])
def test_the_home_of_nobody_is_not_found(call: Call, flag: str) -> None:
    name = "hatexplain" if flag == "--data-dir" else "pairs.csv"
    words = ("run", "-m", TINY, "-b", name, "-s", "aul", "--resamples", "100", "--no-report", flag, "~no-such-user/x")
    code, said = call(*words)
    assert code == 2 and said.startswith("Error: ") and "Traceback" not in said


def test_a_folder_may_begin_with_a_tilde(call: Call) -> None:
    """Arrow would take it for somebody's home."""
    assert call(*RUN, "-o", "x/~root")[0] == 0
    assert call("estimate", "x/~root", "--resamples", "100")[0] == 0


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        (tiltmeter.SlotsOptions(top_k="many"), "top_k", "many"),
        (tiltmeter.SlotsOptions(top_k=True), "top_k", True),
        (tiltmeter.SlotsOptions(top_k=10**30), "top_k", 10**30),
        (tiltmeter.LabelsOptions(toxic_labels=[1]), "toxic_labels", [1]),
        (tiltmeter.GenerationsOptions(temperature=float("nan")), "temperature", "nan"),
        (tiltmeter.AssociationsOptions(corpus={"a": 1}), "corpus", {"a": 1}),
    ],
)
def test_options_have_types(options: Any, name: str, value: Any) -> None:
    with raises("wrong-type", name=name, value=value):
        tiltmeter.run(TINY, "starter-pairs", options=options)


# Scores that others published ---------------------------


def test_a_manifest_of_something_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "an app", "version": 3}')
    with raises("wrong-format", file=tmp_path / "manifest.json"):
        tiltmeter.load_run(tmp_path)


def test_published_scores_are_read_like_all_else(tmp_path: Path) -> None:
    table = "sent_more,sent_less,sent_more_score,sent_less_score\nLe garçon né,Non,1,2\nun élève,Oui,2,1\n"
    (tmp_path / "theirs.csv.gz").write_bytes(gzip.compress(table.encode()))
    assert tiltmeter.import_scores(tmp_path / "theirs.csv.gz").models == ["theirs"]
    (tmp_path / "theirs.csv").write_bytes(table.encode("cp1252"))
    (manifest,) = tiltmeter.import_scores(tmp_path / "theirs.csv").manifests
    assert any("cp1252" in note for note in manifest["benchmark"]["notes"])
    (tmp_path / "theirs.jsonl").write_text(
        '{"sent_more": ["a"], "sent_less": "b", "sent_more_score": 1, "sent_less_score": 2}'
    )
    with raises("wrong-type", name="sent_more") as error:
        tiltmeter.import_scores(tmp_path / "theirs.jsonl")
    assert "theirs.jsonl, row 1" in str(error.value)
    for text in (
        '{"intrasentence": [{"id": "a", "id": "b", "score": 1}]}',
        '{"intrasentence": [{"id": "a", "score": NaN}]}',
    ):
        (tmp_path / "theirs.json").write_text(text)
        with pytest.raises(TiltmeterError, match=r"theirs\.json: "):
            tiltmeter.import_scores(
                tmp_path / "theirs.json", benchmark=str(GOLDEN / "data" / "triples_stereoset_format.json")
            )
    os.mkfifo(tmp_path / "pipe.csv")
    with raises("not-a-file", file=tmp_path / "pipe.csv", kind="named pipe"):
        tiltmeter.import_scores(tmp_path / "pipe.csv")

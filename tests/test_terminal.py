"""What one sees in a terminal: every number and every word whole, no line too long, the story first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from rich.cells import cell_len

from conftest import GOLDEN
from study_material import made_up
from test_cli import tiltmeter
from tiltmeter import estimate
from tiltmeter.benchmarks.kit.items import CROWS_BIAS_TYPES
from tiltmeter.families.kit.story import Gauge, Story
from tiltmeter.families.pairs.narratives import OVERALL
from tiltmeter.reporting.columns import Column, Grid, broken, fitted
from tiltmeter.reporting.headlines import drawn, headline_blocks
from tiltmeter.runs.folder import read_estimates, write_estimates
from tiltmeter.storage.seals import seal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is something of Unix")
MODELS = ("bert-base-uncased-wikipedia", "roberta-mix")
SCORERS = ("cps", "aul", "aula", "sss", "all_masked", "stereoset_masked_original")
BERT = str(GOLDEN / "models" / "tiny-bert-cased")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
DRIVER = """
import fcntl, json, os, struct, sys, termios
from pathlib import Path
import tiltmeter.cli
from tiltmeter.cli.show import print_run
from tiltmeter.runs import load_run

for number, (width, words) in enumerate(json.loads(Path(sys.argv[1]).read_text())):
    if os.isatty(1):
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    if words[:1] == ["show"]:
        print_run(load_run(words[1]), False, by=["bias_type"], whole="--all" in words)
    else:
        sys.argv = ["tiltmeter", *words]
        try:
            tiltmeter.cli.main()
        except SystemExit:
            pass
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, f"<<end {number}>>\\n".encode())
"""


@cache
def crows_sized() -> Path:
    """A run of two models on 1,508 pairs of nine bias types, by nine scorers."""
    rng, n = np.random.default_rng(1), 1508
    scores = {
        (model, scorer): (rng.normal(-40 - k, 12, n), rng.normal(-41 - k, 12, n))
        for model in MODELS
        for k, scorer in enumerate(SCORERS)
    }
    scores[MODELS[0], "sss"][0][:5] = np.nan
    types = [CROWS_BIAS_TYPES[k * k % 9] for k in range(n)]
    answers = made_up(scores, types=types, direction=["advantaged" if k % 7 else "disadvantaged" for k in range(n)])
    folder = Path(mkdtemp()) / "crows-sized"
    answers.save(folder)
    write_estimates(folder, estimate(answers, resamples=100))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    seal(folder, {name: value for name, value in manifest.items() if name not in ("files", "seal")})
    return folder


def commands() -> list[tuple[int, list[str]]]:
    """The main commands at 80 columns, and the summary of a run at others too."""
    run = str(crows_sized())
    few = ["--resamples", "100"]
    asked = [
        "-m",
        BERT,
        "-b",
        "starter-pairs",
        "-b",
        "plumb-slots",
        "--limit",
        "12",
        "-o",
        str(crows_sized().parent / "own"),
    ]
    narrow = [
        ["show", run], ["show", run, "--all"], ["estimate", run, *few, "--measure", "bias_score", "--measure", "kls"],
        ["compare", run, *few, "-s", "cps", "-s", "stereoset_masked_original"],
        ["table", "estimates", run, "--measure", "kls"], ["study", "power", run, "-s", "cps", "-o", f"{run}/power"],
        ["list", "scorers"], ["list", "measures"], ["list", "benchmarks"], ["list", "families"], ["--help"],
        ["run", "--help"], ["study", "--help"], ["study", "robustness", "--help"], ["table", "--help"], [], ["--version"],
        ["estimate", run, "--by", "colour"], ["estimate", "nowhere"],
        ["run", *asked, *few, "--no-report", "--by", "bias_type"],
    ]  # fmt: skip
    wide = [(width, ["show", run, *how]) for width in (60, 100, 160) for how in ([], ["--all"])]
    return [*((80, words) for words in narrow), *wide]


def environment(**more: str) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    return without | {"TERM": "xterm-256color", "TTY_INTERACTIVE": "0", "PYTHONIOENCODING": "utf-8"} | more


def in_a_terminal(words: list[str], **more: str) -> str:
    """What a program writes to a terminal, with its escapes."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**more)) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the program has ended
                break
            if not part:
                break
            written += part
        process.wait()
    os.close(ours)
    return written.decode("utf-8").replace("\r\n", "\n")


@cache
def shown() -> tuple[list[str], str]:
    """What every command shows in a terminal, and all that the same commands write to a pipe."""
    folder = Path(mkdtemp())
    (folder / "commands.json").write_text(json.dumps(commands()))
    words = [sys.executable, "-c", DRIVER, str(folder / "commands.json")]
    seen = ESCAPE.sub("", in_a_terminal(words))
    (folder / "commands.json").write_text(
        json.dumps([one for one in commands() if one[0] == 80 and one[1][:2] != ["run", "-m"]])
    )
    piped = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True, encoding="utf-8")
    parts = re.split(r"<<end \d+>>\n", seen)
    assert len(parts) == len(commands()) + 1 and "Traceback" not in seen + piped.stderr
    return parts[:-1], piped.stdout + piped.stderr


def test_no_line_is_longer_than_the_terminal() -> None:
    for (width, words), text in zip(commands(), shown()[0], strict=True):
        assert text.strip(), words
        for line in text.split("\n"):
            # A path is kept whole, so that it can be copied, and then has a line of its own.
            assert cell_len(line) <= width or line.startswith("/"), (words, line)


def test_no_number_and_no_word_is_cut() -> None:
    """Whatever a narrow terminal shows is there, whole, in what the same commands write to a pipe."""
    parts, piped = shown()
    known = {word.strip(".,:;()|`*") for word in piped.replace("\\", "").split()}
    known |= {
        "Not",
        "shown",
        "at",
        "this",
        "width",
        "In",
        "a",
        "pipe",
        "or",
        "with",
        "--format",
        "is",
        "Markdown",
        "LaTeX",
        "·",
    }
    known |= {f"{p:.3f}" for p in read_estimates(crows_sized() / "estimates.csv")["p_holm"].dropna()}  # a pipe shows no p
    for (width, words), text in zip(commands(), parts, strict=True):
        assert "…" not in text.replace("race …", "").replace("mps …", "").replace("word_mean …", ""), words
        for line in text.split("\n"):
            if "●" in line or set(line) <= {"─"} or words[:2] == ["run", "-m"]:
                continue
            cut = [word for word in line.split() if word.strip(".,:;()|`*") not in known]
            assert not cut, (width, words, line, cut)


def test_the_story_comes_first_and_the_hint_last() -> None:
    text = shown()[0][0]
    lines = [line for line in text.split("\n") if line]
    assert lines[0].startswith(f"{MODELS[0]} on b: ") and "●" in "".join(text.split("\n")[1:3])
    table = text[re.search(r"^model +scorer", text, re.MULTILINE).start() :]  # type: ignore[union-attr]
    assert f"{MODELS[1]} on b: " in text.removesuffix(table) and "neutral 50" in table
    assert "cps" in table and "all_masked" not in table, "the short table has the headline's scorers"
    assert "--all, tiltmeter estimate" in " ".join(text.split())
    whole = shown()[0][1]
    assert "all_masked" in whole and "jss_liu" in whole and "more numbers" not in whole and "By bias type" in whole


def test_a_wider_terminal_shows_more() -> None:
    texts = {width: text for (width, words), text in zip(commands(), shown()[0], strict=True) if words == commands()[0][1]}
    heads = {width: re.findall(r"^(?:model +)?scorer +.*", text, re.MULTILINE)[0].split() for width, text in texts.items()}
    assert len(heads[60]) <= len(heads[80]) < len(heads[100]) < len(heads[160]) and "jss_liu" in heads[160]
    hidden = re.findall(r"^Not shown.*: (.*)", texts[60], re.MULTILINE)
    assert hidden and "jss_liu" in hidden[0] and "Not shown" not in texts[160]


def test_a_pipe_gets_plain_text_that_no_terminal_changes(tmp_path: Path) -> None:
    (tmp_path / "commands.json").write_text(json.dumps([[0, ["show", str(crows_sized())]]]))
    words = [sys.executable, "-c", DRIVER, str(tmp_path / "commands.json")]
    said = {
        subprocess.run(words, env=environment(COLUMNS=wide), capture_output=True, text=True, check=True).stdout
        for wide in ("40", "300")
    }
    assert len(said) == 1
    (text,) = said
    assert "\x1b" not in text and "●" not in text and "jss_liu" in text
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(OVERALL.partition("{")[0])]
    assert lines and all(line.endswith(").") for line in lines), "sentences are not broken"


def test_no_color_is_respected() -> None:
    words = [sys.executable, "-m", "tiltmeter", "list", "models"]
    assert "\x1b[2m" in in_a_terminal(words)
    assert "\x1b" not in in_a_terminal(words, NO_COLOR="1")


def test_quiet_leaves_results_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare", crows_sized(), "--resamples", 100, "-s", "cps")
    said = []
    for more in ((), ("--quiet",), ()):
        assert tiltmeter(*words, *more) == 0
        said.append(capsys.readouterr())
    loud, quiet, again = said
    assert "Warning:" in loud.err and quiet.err == "" and quiet.out == loud.out and again == loud
    assert tiltmeter("estimate", "nowhere", "-q") == 2
    assert capsys.readouterr().err.startswith("Error:")


@pytest.mark.parametrize("width", [30, 44, 60, 80, 120])
def test_any_table_fits(width: int) -> None:
    """Long names, several of them, and more numbers than fit: nothing is cut, and what is left out is named."""
    rows = 5
    names = [Column("model", [f"organisation/a-model-with-a-long-name-{n % 2}" for n in range(rows)])]
    names += [Column("scorer", [f"stereoset_masked_{n}" for n in range(rows)])]
    values = [
        Column(f"measure_{k}\nneutral 50", [f"{50 + n:.2f} [{k}{n}.0, 6{k}.0]" for n in range(rows)], "number", spare=k)
        for k in range(5)
    ]
    cells = {piece for column in values for cell in column.cells for piece in cell.split()}
    for whole in (False, True):
        lines = "\n".join(line.plain for line in fitted(Grid("t", names, values, all_values=whole), width)).split("\n")
        assert all(cell_len(line) <= width for line in lines), max(lines, key=cell_len)
        text = "\n".join(lines)
        numbers = set(re.findall(r"\S*\d\.\d\S*", text))
        assert numbers <= cells and (not whole or numbers == cells)
        left = {f"measure_{k}" for k in range(5)} - set(re.findall(r"measure_\d", text))
        assert not left, "what does not fit is named"


def test_where_no_terminal_limits_the_width_no_column_is_left_out() -> None:
    values = [Column(f"measure_{k}", ["50.00 [40.0, 60.0]"], "number", spare=k) for k in range(20)]
    grid = Grid("t", [Column("model", ["m"])], values)
    text = "\n".join(line.plain for line in fitted(grid, 100, whole=True))
    assert set(re.findall(r"measure_\d+", text)) == {column.head for column in values}
    assert len([line for line in text.split("\n") if line.startswith("m ")]) == 1


def test_long_names_break_after_a_hyphen_and_nowhere_else() -> None:
    assert broken("bert-base-uncased", 10) == "bert-base-\nuncased"
    assert broken("one two", 5) == "one\ntwo" and broken("short", 9) == "short"
    assert "".join(broken("a" * 30, 12).split("\n")) == "a" * 30, "a word wider than the column loses nothing"


def test_intervals_are_drawn_where_they_lie() -> None:
    gauge = Gauge(58.0, 55.0, 61.0, 50.0, "")
    line = drawn(gauge, 20.0, 41)
    marks = line.removeprefix("30 % ").removesuffix(" 70 %")
    assert len(marks) == 41 and marks.index("│") == 20 and marks.index("├") == 25 and marks.index("●") == 28
    outside = drawn(Gauge(99.0, 98.0, 100.0, 50.0, ""), 20.0, 11)
    assert outside.count("●") == 1 and len(outside) == len("30 % " + 11 * "·" + " 70 %")
    without = drawn(Gauge(58.0, np.nan, np.nan, 50.0, ""), 20.0, 41)
    assert "├" not in without and "●" in without


def test_a_story_without_a_number_is_told_too() -> None:
    """As those of families in other packages may be."""
    story = Story("m", "greetings", "Longer for friends", ("Sentences have 12.0 tokens on average.", "And more."))
    lines = [line.plain for line in headline_blocks([story], 80)]
    assert lines == [f"m on greetings: {story.verdict}", f"  {story.sentences[0]}", ""]
    assert "  And more." in [line.plain for line in headline_blocks([story], 80, whole=True)]

"""Every documented command of the study cao-2022, on tiny stand-ins of its models and a few items of the real data."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import tiltmeter
from test_cao_2022 import MODELS, tiny_neo
from test_cli import tiltmeter as command
from tiltmeter.benchmarks.kit.association import AssociationBenchmark
from tiltmeter.execution.experiment_file import EMBEDDED

PAGE = (Path(__file__).parents[2] / "docs" / "metric-agreement.md").read_text("utf-8")
BLOCK = PAGE[PAGE.index("# Tables 1 to 3, Figure 1") :].partition("```")[0]
COMMANDS = [shlex.split(line) for line in BLOCK.splitlines() if line.startswith("tiltmeter ")]
WORDS = "stupid\nbad\nterrorist\npoor\nugly\nthe\n"
SENTENCES = ("We spoke of {} today.", "Nobody saw {} there.", "It was {} again.")


def test_the_page_has_every_ablation_of_the_paper() -> None:
    said = " ".join(" ".join(words) for words in COMMANDS)
    for part in (
        "domain-correlation",
        "toxicity",
        "--shared-groups",
        "stereoset-contexts",
        "bold-neutral",
        "temperature",
        "noise",
    ):
        assert part in said


def _ceat_words() -> list[str]:
    """Every word of CEAT's groups and poles."""
    ceat = tiltmeter.load_benchmark("ceat")
    assert isinstance(ceat, AssociationBenchmark)
    poles = [words for polarity in ceat.polarities for words in (*polarity.a.examples, *polarity.b.examples)]
    return sorted({*poles, *(word for group in ceat.groups for word in group.words)})


@pytest.mark.slow
@pytest.mark.realdata
def test_every_documented_command_runs(tmp_path: Path, realdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_DATA", str(realdata))
    stand_ins = {**MODELS, "gpt-neo-125M": tiny_neo(tmp_path / "neo")}
    text = EMBEDDED["cao-2022"].read_text("utf-8")
    listed = "".join(f'  {{ name = "{name}", from = "{place}" }},\n' for name, place in stand_ins.items())
    text = re.sub(r"models = \[\n.*?\n\]", f"models = [\n{listed}]", text, count=1, flags=re.DOTALL)
    text = re.sub(r'models = \["bert.*\]', 'models = ["bert-base-cased", "roberta-base", "gpt2", "gpt-neo-125M"]', text)
    text = text.replace('benchmarks = ["jigsaw"]', 'name = "jigsaw"\nbenchmarks = ["plumb-labels"]')
    text = text.replace("seeds = 3", "seeds = 1, epochs = 0.002, max_length = 16")
    for old in ("toxic-bert", "regardv3", "./judges/stereotype"):
        text = text.replace(f"={old}", "=./words.txt")
    text = text.replace("draws = 10000", "draws = 5").replace("samples = 100", "samples = 3")
    text = text.replace("judges = [", "new_tokens = 4, judges = [").replace("polarity = 0.5", "polarity = 0.9")
    apart = '["stereoset-groups"]\nper_group = 10\n\n[[ask]]\nbenchmarks = ["ilps-cao"]\n'
    text = text.replace('["stereoset-groups", "ilps-cao"]\n', apart)
    text = text.replace('benchmarks = ["hatexplain"]\n', 'benchmarks = ["hatexplain"]\nlimit = 300\n')
    for name in ("bold", "bold-temperature", "stereoset-contexts"):
        text = text.replace(f'benchmarks = ["{name}"]\n', f'benchmarks = ["{name}"]\nper_group = 2\n')
    folder = tmp_path / "cao-2022"
    folder.mkdir()
    (folder / "cao-2022.toml").write_text(text)
    (folder / "words.txt").write_text(WORDS)
    (folder / "corpus.txt").write_text("".join(f"{one.format(word)}\n" for word in _ceat_words() for one in SENTENCES))
    monkeypatch.chdir(folder)
    assert command("experiment", "run", "cao-2022.toml", "--dry-run") == 0
    assert command("experiment", "run", "cao-2022.toml") == 0
    for words in COMMANDS:
        typed = [word.replace("=regardv3", "=./words.txt") for word in words[1:]]
        few = ["--texts", "5", "--copies", "2", "--repeats", "2"] if "noise" in typed else []
        assert command(*typed, *few) == 0, typed

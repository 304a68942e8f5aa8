"""Every documented command of the study cao-2022, on tiny stand-ins of its models and a few items of the real data."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from test_cao_2022 import MODELS, tiny_neo
from test_cli import tiltmeter as command
from test_experiments import make, write_to
from tiltmeter.execution.experiment_file import EMBEDDED

PAGE = (Path(__file__).parents[2] / "docs" / "metric-agreement.md").read_text("utf-8")
BLOCK = PAGE[PAGE.index("# Tables 1 to 3, Figure 1") :].partition("```")[0]
COMMANDS = [shlex.split(line) for line in BLOCK.splitlines() if line.startswith("tiltmeter ")]
WORDS = "stupid\nbad\nterrorist\npoor\nugly\nthe\n"
GROUPS = (
    "The Muslim, the Christian, the Jewish and the Hindu woman, the black man, the white man, the Asian and the Hispanic"
)


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


@pytest.mark.slow
@pytest.mark.realdata
def test_every_documented_command_runs(tmp_path: Path, realdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_DATA", str(realdata))
    stand_ins = {**MODELS, "gpt-neo-125M": tiny_neo(tmp_path / "neo")}
    text = EMBEDDED["cao-2022"].read_text("utf-8")
    listed = "".join(f'  {{ name = "{name}", from = "{place}" }},\n' for name, place in stand_ins.items())
    text = re.sub(r"models = \[\n.*?\n\]", f"models = [\n{listed}]", text, count=1, flags=re.DOTALL)
    text = re.sub(r'models = \["bert.*\]', 'models = ["bert-base-cased", "roberta-base", "gpt2", "gpt-neo-125M"]', text)
    text = re.sub(r'\[\[ask\]\]\nbenchmarks = \["(jigsaw|hatexplain)"\]\noptions = .*\n', "", text)
    for old in ("toxic-bert", "regardv3", "./judges/stereotype"):
        text = text.replace(f"={old}", "=./words.txt")
    text = text.replace("draws = 10000", "draws = 5").replace("samples = 100", "samples = 3")
    text = text.replace("judges = [", "new_tokens = 4, judges = [").replace("polarity = 0.5", "polarity = 0.9")
    for name in ("bold", "bold-temperature", "stereoset-contexts"):
        text = text.replace(f'benchmarks = ["{name}"]\n', f'benchmarks = ["{name}"]\nper_group = 2\n')
    folder = tmp_path / "cao-2022"
    file = write_to(folder, text)
    (folder / "words.txt").write_text(WORDS)
    (folder / "corpus.txt").write_text(f"{GROUPS} spoke of love, hate, peace, a stupid fool and a good friend.\n" * 3)
    statuses = make(file)
    assert set(statuses) == {"done"}
    output = next(path for path in (folder / "cao-2022", folder) if any(path.rglob("run/manifest.json")))
    run = next(output.rglob("run/manifest.json")).parent
    monkeypatch.chdir(folder)
    for words in COMMANDS:
        typed = [word.replace("cao-2022/run", str(run)).replace("=regardv3", "=./words.txt") for word in words[1:]]
        few = ["--texts", "5", "--copies", "2", "--repeats", "2"] if "noise" in typed else []
        assert command(*typed, *few) == 0, typed

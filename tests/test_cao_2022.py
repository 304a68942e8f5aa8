"""The study of Cao et al. (2022) that comes with the package: models, settings, and stand-ins of every architecture."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pooch
import pytest
import torch
from transformers import GPTNeoConfig, GPTNeoForCausalLM

from conftest import GOLDEN
from support.raising import raises
from test_cli import tiltmeter as command
from test_experiments import make, write_to
from tiltmeter.execution import plan_cells, read_experiment
from tiltmeter.execution.experiment_file import EMBEDDED
from tiltmeter.execution.forecast import ABSENT, forecast
from xlnet_material import tiny_xlnet

MODELS = {
    "albert-base-v2": GOLDEN / "models" / "tiny-albert",
    "bert-base-cased": GOLDEN / "models" / "tiny-bert-cased",
    "roberta-base": GOLDEN / "models" / "tiny-roberta",
    "gpt2": GOLDEN / "models" / "tiny-gpt2",
}
OTHERS = {"stereoset-groups": "plumb-pairs", "ilps-cao": "ilps", "hatexplain": "plumb-labels", "bold": "plumb-prompts"}


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, and no network: what has to be downloaded fails at once."""

    def refused(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    (tmp_path / "data").mkdir()
    monkeypatch.setenv("TILTMETER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pooch, "retrieve", refused)
    monkeypatch.chdir(tmp_path)


def test_it_has_the_papers_models_and_writes_where_it_is_called(tmp_path: Path) -> None:
    study = read_experiment("cao-2022")
    families = Counter(re.split(r"[-/]", model.name)[0] for model in study.models)
    assert families == {
        "albert": 4, "bert": 2, "roberta": 2, "distilroberta": 1, "gpt2": 4, "distilgpt2": 1, "gpt": 3, "xlnet": 2,
    }  # fmt: skip
    assert study.output == tmp_path / "cao-2022"
    asked = {ask.name or ask.benchmark: ask for ask in study.asks}
    assert asked["hatexplain"].options["recipe"] == "hate" and asked["ceat"].options["draws"] == 10_000
    assert len(asked["bold"].models or ()) == 12 and not any("albert" in name for name in asked["bold"].models or ())
    warm = {name: ask for name, ask in asked.items() if name.startswith("temperature-")}
    assert {ask.options["temperature"] for ask in warm.values()} == {0.5, 1.0}, "Section 4.3"
    assert {(ask.benchmark, ask.options["samples"]) for ask in warm.values()} == {("bold-temperature", 100)}, "Appendix G"
    with raises("missing-file", file="cao-2023") as error:
        read_experiment("cao-2023")
    assert "cao-2022" in error.value.fields["embedded"]


def test_what_it_would_take_is_told_without_data_or_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every cell has a row, and every reason is told once; nothing is written."""
    table = forecast("cao-2022").table
    assert table["model"].nunique() == 19 and len(table) == 157
    rows = table.set_index(["model", "benchmark"])["note"]
    assert "not found" in rows["gpt2", "hatexplain"] and "could not be downloaded" in rows["gpt2", "bold"]
    assert rows["gpt2", "ceat"] == ABSENT
    assert command("experiment", "run", "cao-2022", "--dry-run") == 0
    said = capsys.readouterr().out
    assert said.count("hatexplain (19 cells)") == 1 and not (tmp_path / "cao-2022").exists()


def tiny_neo(folder: Path) -> Path:
    """GPT-Neo with random weights and the tokenizer of the tiny GPT-2."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODELS["gpt2"])
    config = GPTNeoConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]],
        max_position_embeddings=128, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    torch.manual_seed(3)
    GPTNeoForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_stand_ins_of_every_architecture_are_asked_everything(tmp_path: Path) -> None:
    """The file itself, with tiny models, our own benchmarks of the same families, and few items."""
    stand_ins = {**MODELS, "gpt-neo-125M": tiny_neo(tmp_path / "neo"), "xlnet-base-cased": tiny_xlnet()}
    text = EMBEDDED["cao-2022"].read_text("utf-8")
    listed = "".join(f'  {{ name = "{name}", from = "{place}" }},\n' for name, place in stand_ins.items())
    text = re.sub(r"models = \[\n.*?\n\]", f"models = [\n{listed}]", text, count=1, flags=re.DOTALL)
    text = re.sub(r'models = \["bert.*\]', 'models = ["bert-base-cased", "roberta-base", "gpt2", "gpt-neo-125M"]', text)
    for old, new in OTHERS.items():
        text = text.replace(f'"{old}"]', f'"{new}"]').replace(f'["{old}", ', f'["{new}", ')
    text = text.replace('benchmarks = ["jigsaw"]', 'name = "jigsaw"\nbenchmarks = ["plumb-labels"]')
    text = text.replace('benchmarks = ["stereoset-contexts"]', 'name = "contexts"\nbenchmarks = ["plumb-prompts"]')
    text = text.replace("toxicity=toxic-bert", "hurtful=./words.txt").replace(', "regard=regardv3"', "")
    text = text.replace("stereotype=./judges/stereotype", "stereotype=./words.txt").replace("draws = 10000", "draws = 5")
    text = text.replace("seeds = 3", "seeds = 1, epochs = 0.02, max_length = 16")
    text = text.replace("judges = [", "new_tokens = 3, judges = [") + "\n[run]\nlimit = 6\n"
    folder = tmp_path / "study"
    file = write_to(folder, text)
    (folder / "words.txt").write_text("stupid\n")
    words = "The Muslim, the Christian, the woman and the man spoke of love, hate, peace and murder. "
    (folder / "corpus.txt").write_text((words + "\n") * 3)
    statuses = dict(zip([(c.model, c.benchmark) for c in plan_cells(read_experiment(file)).cells], make(file), strict=True))
    assert {place for place, status in statuses.items() if status != "done"} == set()
    assert len(statuses) == 6 * 5 + 4 * 4

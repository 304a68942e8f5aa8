"""A model with a chat template that is queried in plain text is named, with what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conftest import GOLDEN
from test_cli import tiltmeter as command
from tiltmeter.cli.show import chat_notes

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@pytest.fixture
def chat_model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-chat"
    shutil.copytree(GOLDEN / "models" / "tiny-gpt2", folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": TEMPLATE}))
    return folder


@pytest.mark.parametrize(
    ("words", "n"),
    [
        (["-b", "plumb-pairs"], 1),
        (["-b", "plumb-choices"], 1),
        (["-b", "plumb-choices", "--chat-prompt"], 0),
    ],
)
def test_plain_text_to_a_chat_model_is_noted(
    chat_model: Path, tmp_path: Path, words: list[str], n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    assert command("run", "-m", str(chat_model), *words, "--limit", "4", "-o", str(tmp_path / "run"), "--no-report") == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert len(list(chat_notes(manifest))) == n


def test_no_note_of_a_model_without_a_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    plain = GOLDEN / "models" / "tiny-gpt2"
    assert command("run", "-m", str(plain), "-b", "plumb-pairs", "--limit", "4", "-o", str(tmp_path / "run")) == 0
    assert not list(chat_notes(json.loads((tmp_path / "run" / "manifest.json").read_text())))

"""What users get wrong about debiasing: one line, exit code 2, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import GOLDEN
from test_cli import tiltmeter as command

MODELS = GOLDEN / "models"
BERT, GPT2 = MODELS / "tiny-bert-cased", MODELS / "tiny-gpt2"
WITH_TEXT = ("cda", "context-debias", "sentence-debias", "inlp")


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What is said instead of a traceback."""
    assert command("debias", *words) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said and len(said.strip().splitlines()) <= 6
    return " ".join(said.split())


@pytest.mark.parametrize("method", WITH_TEXT)
def test_a_text_without_any_term_of_a_group(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("It rained all day long.\nThe bridge was closed again.\n" * 30, encoding="utf-8")
    said = refused(capsys, method, "-m", BERT, "-o", tmp_path / "out", "--text", text, "--device", "cpu")
    assert "text.txt" in said and ("--text" in said or "term" in said)
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["text.txt"]


@pytest.mark.parametrize("method", [*WITH_TEXT, "auto-debias"])
def test_terms_whose_rows_are_not_aligned(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("female,male\nwoman,man\ngirl,\n", encoding="utf-8")
    said = refused(capsys, method, "-m", BERT, "-o", tmp_path / "out", "--terms", terms, "--device", "cpu")
    assert "terms.csv" in said
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["terms.csv"]


@pytest.mark.parametrize("method", ["auto-debias", "context-debias"])
def test_a_causal_model_where_a_masked_one_is_needed(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, method, "-m", GPT2, "-o", tmp_path / "out", "--device", "cpu")
    assert "masked" in said and "causal" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", [*WITH_TEXT, "auto-debias", "dropout", "self-debias"])
def test_an_output_folder_that_exists(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    assert "exists already" in refused(capsys, method, "-m", BERT, "-o", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("method", ["cda", "auto-debias", "context-debias"])
def test_lora_without_peft(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiltmeter.finetune.lora.find_spec", lambda _: None)
    said = refused(capsys, method, "-m", BERT, "-o", tmp_path / "out", "--lora", 4, "--device", "cpu")
    assert "pip install peft" in said and not (tmp_path / "out").exists()


def test_a_prompts_file_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.json"
    prompts.write_text('{"prompts": 3}', encoding="utf-8")
    said = refused(capsys, "auto-debias", "-m", BERT, "-o", tmp_path / "out", "--prompts", prompts, "--device", "cpu")
    assert "list of prompts" in said and not (tmp_path / "out").exists()

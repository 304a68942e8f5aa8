"""Each setting of the authors' code is an option that changes the model which is made, not only the manifest."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import GOLDEN
from support.raising import raises
from tiltmeter import catalog
from tiltmeter.debias import make, reference_of
from tiltmeter.debias.kit.pretraining import text_of

MODEL = GOLDEN / "models" / "tiny-bert-cased"
PAGE = Path(__file__).parents[2] / "docs" / "debiasing-methods.md"
REFERENCE: dict[str, dict[str, Any]] = {
    "cda": {"packed": True, "length": 512},
    "dropout": {"packed": True, "length": 512},
    "auto_debias": {"dropout": True, "schedule": "constant", "clip": 0.0, "candidates": 5000},
    "context_debias": {"batches": "equal", "keep": "best", "average": "occurrences"},
    "inlp": {"iterations": 80, "until_chance": False, "classes": "published"},
    "sentence_debias": {"swap": "one", "sentences": 0},
    "self_debias": {"template": "The following text discriminates against people because of their {}: "},
}
"""What the papers' code does, by method: where it differs from the defaults."""
BASES: dict[str, dict[str, Any]] = {
    "cda": {"steps": 2, "rows": 4, "length": 32, "lines": 200},
    "dropout": {"steps": 2, "rows": 4, "length": 32, "lines": 200},
    "auto_debias": {"beam": 2, "candidates": 6, "lengths": 1, "rows": 8, "epochs": 3.0, "clip": 1e-6},
    "context_debias": {"loss": "square-of-mean", "steps": 4, "rows": 4, "held_out": 20, "lines": 300},
    "inlp": {"iterations": 3, "lines": 300},
    "sentence_debias": {"sentences": 20, "lines": 300},
    "self_debias": {},
}
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("cda", {"packed": True}), ("dropout", {"packed": True}), ("auto_debias", {"dropout": True}),
    ("auto_debias", {"schedule": "constant"}), ("auto_debias", {"clip": 0.0}), ("auto_debias", {"candidate_words": "WORDS"}),
    ("context_debias", {"batches": "equal"}), ("context_debias", {"loss": "mean-of-squares"}),
    ("context_debias", {"average": "occurrences"}), ("inlp", {"classes": "any"}), ("inlp", {"clip": True}),
    ("sentence_debias", {"swap": "one"}), ("sentence_debias", {"sentences": 0}),
    ("self_debias", REFERENCE["self_debias"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "words.txt").write_text("was\nis\nthe\nvery\nso\nnot\n")
    return folder


def made(folder: Path, method: str, **options: Any) -> str:
    """The digest of all that decides answers of the model that a method makes."""
    if options.get("candidate_words"):
        options["candidate_words"] = folder / "words.txt"
    name = hashlib.sha256(f"{method} {sorted(map(str, options.items()))}".encode()).hexdigest()[:12]
    out = make(method, MODEL, output=folder / name, device="cpu", **options)
    digest = hashlib.sha256()
    for path in sorted(out.rglob("*")):
        if path.suffix == ".safetensors" or path.name == "wrapper.json":
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def base_of(folder: Path, method: str) -> str:
    return made(folder, method, **BASES[method])


@pytest.mark.parametrize(("method", "change"), CHANGES, ids=str)
def test_an_option_of_the_reference_changes_the_model(folder: Path, method: str, change: dict[str, Any]) -> None:
    assert made(folder, method, **{**BASES[method], **change}) != base_of(folder, method)


@pytest.mark.parametrize("method", ["cda", "auto_debias", "context_debias"])
def test_the_same_options_make_the_same_model(folder: Path, tmp_path: Path, method: str) -> None:
    """Without this a change would prove nothing."""
    (tmp_path / "words.txt").write_text((folder / "words.txt").read_text())
    assert made(tmp_path, method, **BASES[method]) == base_of(folder, method)


def test_an_average_that_no_loss_reads_is_refused(tmp_path: Path) -> None:
    """The mean of squares has a direction for every word, and no group's average."""
    with raises("inapplicable-option", name="average"):
        make("context-debias", MODEL, output=tmp_path / "out", device="cpu", average="occurrences", steps=1, lines=300)


def test_inlp_at_reference_settings_goes_on_at_chance(tmp_path: Path) -> None:
    out = make("inlp", MODEL, output=tmp_path / "out", device="cpu", reference_settings=True, lines=300, iterations=12)
    found = json.loads((out / "manifest.json").read_text())["found"]
    assert found["iterations"] == 12 and found["classes"] == ["female", "male", "no group"]


@pytest.mark.parametrize("method", REFERENCE)
def test_reference_settings_are_those_of_the_authors_code(method: str) -> None:
    known = reference_of(catalog.find("debias", method))
    assert known is not None
    assert {name: known.options[name] for name in REFERENCE[method]} == REFERENCE[method]
    page = PAGE.read_text(encoding="utf-8").partition("<!-- from the options: begin -->")[2]
    (rows,) = (part for part in page.split("\n| `") if part.startswith(method.replace("_", "-") + "`"))
    for name in (name for name in REFERENCE[method] if name not in ("iterations",)):  # as by default
        assert f"`--{name.replace('_', '-')}`" in rows, name


def test_no_limit_takes_every_sentence(tmp_path: Path) -> None:
    lines = len(text_of(None, 300).lines)
    counts = {}
    for limit in (0, 20):
        out = make("sentence_debias", MODEL, output=tmp_path / str(limit), device="cpu", sentences=limit, lines=300)
        counts[limit] = json.loads((out / "manifest.json").read_text())["found"]["sentences"]
    assert counts[20] == 20 < counts[0] <= lines

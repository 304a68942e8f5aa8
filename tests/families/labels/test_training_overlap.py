"""Classifiers of labels: texts that were learned from are counted, and one folder is made by one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiltmeter
from conftest import GOLDEN
from tiltmeter.families.labels import training
from tiltmeter.families.labels.ask import _learned_before
from tiltmeter.finetune import ClassifierRecipe


def bench(folder: Path) -> Any:
    rows = ["text,label,split,group"]
    for n in range(40):
        label = "toxic" if n % 2 else "normal"
        rows += [f"a {label} letter {n},{label},train,", f"a {label} letter {n if n < 3 else n + 100},{label},test,woman"]
    (folder / "mine.csv").write_text("\n".join(rows) + "\n")
    return tiltmeter.load_benchmark(folder / "mine.csv")


def test_texts_of_training_and_test_are_counted(tmp_path: Path) -> None:
    found = _learned_before(bench(tmp_path))
    assert found["texts_in_training"] == 3 and 3 in found["notes"].values()


def test_dropout_is_part_of_a_classifiers_key(tmp_path: Path, monkeypatch: Any) -> None:
    model, source = tiltmeter.load_model(GOLDEN / "models" / "tiny-bert-cased"), bench(tmp_path)
    options, keys = tiltmeter.LabelsOptions(), []
    for dropout in (0.1, 0.3):
        plan = ClassifierRecipe(epochs=1, rate=1e-4, dropout=dropout)
        monkeypatch.setitem(training.RECIPES, "small", plan)
        keys.append(training._key(model, source, options, plan.recipe(10, 0), "small"))
    assert keys[0] != keys[1]


def test_a_folder_is_held_while_a_classifier_is_made(tmp_path: Path) -> None:
    from filelock import FileLock

    with training._alone(tmp_path / "made"):
        (lock,) = tmp_path.glob(".tiltmeter-*.lock")
        assert not FileLock(lock, timeout=0).is_locked

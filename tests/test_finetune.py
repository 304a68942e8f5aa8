"""The trainer: real trainings of tiny models, in seconds, and everything that may go wrong in one."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tiltmeter
from conftest import GOLDEN
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter import TiltmeterError
from tiltmeter.finetune import (
    Causal,
    DivergedError,
    Labelled,
    Loop,
    Made,
    Masked,
    Recipe,
    Task,
    encode,
    load_trainable,
    making,
    read_text,
    split,
    train_and_save,
    unfinished,
)
from tiltmeter.finetune.loss_steps import Steps
from tiltmeter.finetune.row_order import Order, random
from tiltmeter.models import Parts, with_head
from tiltmeter.models.hashing import hash_tokenizer
from tiltmeter.models.text_batches import pieces

pytestmark = pytest.mark.usefixtures("one_thread")
MODELS = GOLDEN / "models"
MASKED = ("tiny-bert-cased", "tiny-roberta", "tiny-albert")
FEW = Recipe(steps=8, rows=8, peak_rate=1e-3)
SOME = "The man the woman saw was happy and said that she would go home before the old king came to dinner"


def lines_of_text(n: int = 60) -> list[str]:
    draw = np.random.default_rng(1)
    return [" ".join(draw.choice(SOME.split(), draw.integers(3, 15))) + "." for _ in range(n)]


def tiny(name: str, recipe: Recipe = FEW) -> Parts:
    return load_trainable(MODELS / name, recipe, method="test", device="cpu")


def task_of(parts: Parts, lines: list[str] | None = None, length: int = 32) -> Task:
    causal = parts.kind == "causal"
    rows = encode(lines or lines_of_text(), parts.module, parts.tokenizer, causal=causal, length=length)
    return Causal(parts.module, rows, parts.tokenizer) if causal else Masked(parts.module, rows, parts.tokenizer)


def weights(module: Any) -> dict[str, torch.Tensor]:
    return {name: one.detach().clone() for name, one in module.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def trained(name: str, recipe: Recipe, work: Path | None = None, **more: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    parts = tiny(name, recipe)
    outcome = Loop(parts.module, task_of(parts), recipe, work, **more).run()
    return outcome, weights(parts.module)


def losses(curve: list[dict[str, Any]]) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in curve]


# The order of rows, and how a step is cut


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_pieces_cover_every_row_once_and_fit(lengths: list[int], budget: int) -> None:
    ordered = np.array(sorted(lengths, reverse=True))
    cuts = list(pieces(ordered, budget))
    assert [n for cut in cuts for n in range(cut.start, cut.stop)] == list(range(len(ordered)))
    for cut in cuts:
        assert (cut.stop - cut.start) * int(ordered[cut][0]) <= budget or cut.stop - cut.start == 1


@given(st.integers(1, 100), st.integers(1, 20), st.integers(0, 5))
def test_an_epoch_shows_every_row_once(n: int, rows: int, seed: int) -> None:
    order = Order(np.arange(n) % 7 + 1, rows, seed)
    epochs = [[order(step + epoch * order.steps_per_epoch) for step in range(order.steps_per_epoch)] for epoch in (0, 1)]
    for epoch in epochs:
        assert sorted(np.concatenate(epoch)) == list(range(n))
    if n > 20:
        assert not np.array_equal(np.concatenate(epochs[0]), np.concatenate(epochs[1]))
    again = Order(np.arange(n) % 7 + 1, rows, seed)
    last = order.steps_per_epoch - 1
    assert np.array_equal(again(last), epochs[0][-1])  # without the steps before


def test_rows_of_a_step_are_of_like_length_and_steps_are_mixed() -> None:
    lengths = np.random.default_rng(0).integers(5, 100, 2_000)
    order = Order(lengths, 16, 0)
    steps = [lengths[order(step)] for step in range(order.steps_per_epoch)]
    padded = sum(len(step) * step.max() for step in steps)
    assert lengths.sum() / padded > 0.95
    assert abs(np.corrcoef(range(len(steps)), [step.mean() for step in steps])[0, 1]) < 0.3
    assert all((np.diff(step) <= 0).all() for step in steps)


# The loss and its gradients


def plain_loss(module: Any, ids: Any, labels: Any, lengths: Any) -> torch.Tensor:
    """As transformers has it: every position through the head."""
    mask = torch.from_numpy((np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64))
    logits = module(input_ids=torch.from_numpy(ids), attention_mask=mask).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(labels).flatten())


@pytest.mark.parametrize("name", [*MASKED, "tiny-gpt2"])
@pytest.mark.parametrize("budget", [0, 40])
def test_loss_and_gradients_are_those_of_the_whole_model(name: str, budget: int) -> None:
    parts = tiny(name)
    for layer in parts.module.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    task = task_of(parts)
    rows = Order(task.lengths, 12, 0)(0)
    steps = Steps(parts.module, replace(FEW, piece_tokens=budget))
    assert (len(steps._cut(task, rows, {})) > 2) == bool(budget)
    loss = steps.gradients(task, rows, 0)
    found = {key: one.grad.clone() for key, one in parts.module.named_parameters() if one.grad is not None}
    parts.module.zero_grad()
    drawn = task.draw(rows, random(FEW.seed, 1, 0))
    wanted = plain_loss(parts.module, drawn["ids"], drawn["wanted"], task.lengths[rows])
    torch.autograd.backward(wanted)
    assert float(loss) == pytest.approx(float(wanted.detach()), rel=1e-5)
    scale = max(float(one.grad.abs().max()) for one in parts.module.parameters() if one.grad is not None)
    for key, one in parts.module.named_parameters():
        if one.grad is not None:
            assert torch.allclose(found[key], one.grad, rtol=1e-3, atol=1e-5 * scale), key


def test_masks_are_drawn_as_bert_does_and_every_row_has_one() -> None:
    parts = tiny("tiny-bert-cased")
    task = task_of(parts, ["A man."] * 20 + lines_of_text(400))
    assert isinstance(task, Masked)
    rows = np.arange(len(task.lengths))
    counts, asked, ordinary = np.zeros(3), 0, 0
    for step in range(20):
        drawn, ids = task.draw(rows, random(0, 1, step)), task.ids(rows)
        hit = drawn["wanted"] != -100
        assert (
            hit.any(1).all()
            and np.array_equal(drawn["wanted"][hit], ids[hit])
            and np.array_equal(drawn["ids"][~hit], ids[~hit])
        )
        assert not np.isin(ids[hit], task.special).any()
        shown = drawn["ids"][hit]
        counts += [(shown == task.mask).sum(), ((shown != task.mask) & (shown != ids[hit])).sum(), (shown == ids[hit]).sum()]
        asked, ordinary = asked + hit.sum(), ordinary + (~np.isin(ids, task.special)).sum()
    assert counts / asked == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    assert 0.15 < asked / ordinary < 0.19


def test_a_causal_row_begins_and_ends_as_it_is_asked() -> None:
    parts = tiny("tiny-gpt2")
    task = task_of(parts, ["The man saw."])
    drawn = task.draw(np.array([0]), random(0, 1, 0))
    begin = parts.tokenizer.bos_token_id if parts.tokenizer.bos_token_id is not None else parts.tokenizer.eos_token_id
    assert drawn["ids"][0, 0] == begin and drawn["ids"][0, -1] == parts.tokenizer.eos_token_id
    assert np.array_equal(drawn["wanted"][0, :-1], drawn["ids"][0, 1:]) and drawn["wanted"][0, -1] == -100


# Training


@pytest.mark.parametrize("name", [*MASKED, "tiny-gpt2"])
def test_the_loss_falls_and_one_seed_gives_one_model(name: str) -> None:
    recipe = replace(FEW, steps=40, peak_rate=3e-3, warmup=0.1)
    (one, first), (two, second), (_, other) = (trained(name, replace(recipe, seed=seed)) for seed in (0, 0, 1))
    assert losses(one.curve) == losses(two.curve) and same(first, second) and not same(first, other)
    means = [np.mean([row["loss"] for row in some]) for some in (one.curve[:8], one.curve[-8:])]
    assert means[1] < means[0] - 0.2
    rates = [row["rate"] for row in one.curve]
    assert rates[0] < rates[3] == pytest.approx(3e-3) and rates[-1] < 1e-4
    assert one.steps == len(one.curve) == 40 and one.stopped == "budget"


def test_the_random_numbers_of_the_caller_stay_where_they_were() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    trained("tiny-bert-cased", replace(FEW, steps=2))
    assert torch.equal(torch.rand(3), wanted)


def test_epochs_become_steps() -> None:
    assert [Recipe(epochs=epochs, rows=8).n_steps(20) for epochs in (1, 2, 0.5)] == [3, 6, 2]
    outcome, _ = trained("tiny-bert-cased", Recipe(epochs=1, rows=16))
    assert outcome.steps == math.ceil(60 / 16)


def test_gradients_are_clipped() -> None:
    parts = tiny("tiny-bert-cased")
    loop = Loop(parts.module, task_of(parts), replace(FEW, clip=1e-9, steps=1))
    seen = []
    loop.optimizer.register_step_pre_hook(
        lambda *_: seen.append(math.sqrt(sum(float((one.grad**2).sum()) for one in loop.learning.values())))
    )
    loop.run()
    assert seen[0] == pytest.approx(1e-9, rel=1e-2) and loop.curve[0]["norm"] > 1e-3


def test_progress_is_told_with_the_loss() -> None:
    told: list[Any] = []

    @contextmanager
    def watch(title: str, total: int) -> Iterator[Callable[[float, str], None]]:
        told.append((title, total))
        yield lambda much, note="": told.append((much, note))

    parts = tiny("tiny-bert-cased")
    Loop(parts.module, task_of(parts), replace(FEW, steps=12), title="learning").run(watch)
    assert told[0] == ("learning", 12) and sum(much for much, _ in told[2:]) == 12
    assert told[-1][1].startswith("loss ") and float(told[-1][1].split()[1]) > 0

    @contextmanager
    def plain(title: str, total: int) -> Iterator[Callable[[float], None]]:
        yield lambda much: told.append((much,))

    Loop(parts.module, task_of(parts), replace(FEW, steps=2)).run(plain)  # as everywhere else in tiltmeter
    assert told[-2:] == [(1,), (1,)]


class Own(Task):
    """A loss of one's own: a weight of the model is pulled to one."""

    def __init__(self, module: Any, n: int = 10, spoil: int | None = None) -> None:
        self.weight_of = module.get_input_embeddings().weight
        self.lengths, self.calls, self.spoil = np.full(n, 3), 0, spoil

    def loss(self, rows: Any, drawn: Any) -> torch.Tensor:
        self.calls += 1
        wrong = math.nan if self.spoil and self.calls >= self.spoil else 1.0
        return ((self.weight_of[torch.from_numpy(rows)] - 1) ** 2).mean() * wrong


def test_a_loss_of_ones_own() -> None:
    parts = tiny("tiny-bert-cased")
    outcome = Loop(parts.module, Own(parts.module), Recipe(steps=300, rows=10, peak_rate=5e-2)).run()
    assert outcome.curve[-1]["loss"] < 0.01 < outcome.curve[0]["loss"]


def test_a_classifier_learns_labels() -> None:
    parts = with_head(tiltmeter.load_model(MODELS / "tiny-bert-cased", device="cpu"), ("no", "yes"), seed=0)
    module, tokenizer = parts.module, parts.tokenizer
    lines = lines_of_text(80)
    labels = [int("woman" in line.split()) for line in lines]
    rows = tokenizer(lines)["input_ids"]
    task = Labelled(module, rows, labels)
    Loop(module, task, Recipe(steps=80, rows=16, peak_rate=3e-3)).run()
    with torch.no_grad():
        found = [int(module(input_ids=torch.tensor([row])).logits.argmax()) for row in rows]
    assert np.mean([one == other for one, other in zip(found, labels, strict=True)]) > 0.9
    with raises("wrong-shape", n_texts=80, n_labels=3):
        Labelled(module, rows, [0, 1, 0])


# Held-out rows


def test_it_ends_when_the_held_out_loss_no_longer_falls_with_the_best_weights() -> None:
    recipe = Recipe(steps=60, rows=4, peak_rate=5e-3, evaluate_every=3, patience=2)
    parts = tiny("tiny-bert-cased")
    held = task_of(parts, ["Home dinner king old the said woman happy."] * 4)
    outcome = Loop(parts.module, task_of(parts, lines_of_text(4)), recipe, held_out=held).run()
    looks = dict(outcome.held_out)
    assert outcome.stopped == "early" and outcome.steps < 60 and next(iter(looks)) == 0
    best = min((loss, step) for step, loss in looks.items() if step)[1]
    assert outcome.weights_of_step == best == outcome.steps - 2 * 3
    assert Steps(parts.module, recipe).mean_loss(held) == pytest.approx(looks[best], rel=1e-6)


def test_without_patience_the_held_out_loss_is_only_told() -> None:
    parts = tiny("tiny-bert-cased")
    held = task_of(parts, lines_of_text(5))
    outcome = Loop(parts.module, task_of(parts), FEW, held_out=held).run()
    assert [step for step, _ in outcome.held_out] == [0, 8] and outcome.weights_of_step == 8


# Interruptions


class Interrupted(Masked):
    """Ctrl-C comes while the second step is computed."""

    calls = 0

    def loss(self, rows: Any, drawn: Any) -> torch.Tensor:
        self.calls += 1
        if self.calls == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return super().loss(rows, drawn)


def test_stopped_and_resumed_again_and_again_is_as_if_uninterrupted(tmp_path: Path) -> None:
    recipe = Recipe(steps=60, rows=4, peak_rate=5e-3, evaluate_every=3, patience=2)
    ends = []
    for task, work in ((Masked, None), (Interrupted, tmp_path / "work")):
        runs = 0
        while True:
            runs += 1
            parts = tiny("tiny-bert-cased", recipe)
            rows = encode(lines_of_text(12), parts.module, parts.tokenizer, causal=False, length=32)
            held = task_of(parts, ["Home dinner king old the said woman happy."] * 4)
            try:
                outcome = Loop(parts.module, task(parts.module, rows, parts.tokenizer), recipe, work, held).run()
                break
            except KeyboardInterrupt:
                continue
        ends.append((runs, outcome, weights(parts.module)))
    (_, whole, one), (runs, parts_of_it, other) = ends
    assert runs > 3 and whole.stopped == "early" == parts_of_it.stopped and whole.steps < 60
    assert losses(parts_of_it.curve) == losses(whole.curve) and len(whole.curve) == whole.steps
    assert parts_of_it.held_out == whole.held_out and parts_of_it.weights_of_step == whole.weights_of_step < whole.steps
    assert same(one, other)


HERE = ("--device", "cpu", "--checkpoint-every", "0")


def debias(*words: object) -> subprocess.Popen[str]:
    called = [sys.executable, "-m", "tiltmeter", "debias", *map(str, words), *HERE]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(called, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def log_of(folder: Path) -> list[tuple[int, float]]:
    return losses([json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()])


def test_killed_and_resumed(tmp_path: Path) -> None:
    words = ("cda", "-m", MODELS / "tiny-bert-cased", "--steps", 40, "--rows", 16, "--rate", "1e-3")
    out, whole = tmp_path / "killed", tmp_path / "whole"
    work = unfinished(out)
    for _ in range(2):
        killed = debias(*words, "-o", out)
        before = (work / "checkpoint.pt").stat().st_mtime_ns if (work / "checkpoint.pt").is_file() else 0
        while killed.poll() is None:
            path = work / "checkpoint.pt"
            if path.is_file() and path.stat().st_mtime_ns > before:
                break
            time.sleep(0.02)
        killed.kill()
        told = killed.communicate()[0]
        assert killed.returncode == -signal.SIGKILL, told
        assert work.is_dir() and not out.exists()
    for folder in (out, whole):  # what is on disk decides, not the process
        assert command("debias", *words, "-o", folder, *HERE) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]  # nothing half-made is left
    assert log_of(out) == log_of(whole) and len(log_of(out)) == 40
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_an_unfinished_training_goes_on_with_the_same_recipe_and_text_only(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def begin(recipe: Recipe, made: Made, task: type[Masked]) -> None:
        parts = tiny("tiny-bert-cased", recipe)
        rows = encode(lines_of_text(), parts.module, parts.tokenizer, causal=False, length=32)
        train_and_save(parts, task(parts.module, rows, parts.tokenizer), recipe, out, made)

    made = Made("test", data={"sha256": "1"}, options={"a": 1})
    with pytest.raises(KeyboardInterrupt):
        begin(FEW, made, Interrupted)
    for recipe, other, what in (
        (replace(FEW, peak_rate=2e-3), made, "recipe"),
        (FEW, replace(made, data={"sha256": "2"}), "text"),
        (FEW, replace(made, options={"a": 2}), "options"),
        (FEW, replace(made, method="b"), "method"),
    ):
        with raises("output-exists", differs=[what]):
            begin(recipe, other, Masked)
    (unfinished(out) / "checkpoint.pt").write_bytes(b"not one")
    with raises("damaged-file", file=unfinished(out) / "checkpoint.pt"):
        begin(FEW, made, Masked)
    (unfinished(out) / "checkpoint.pt").unlink()
    begin(replace(FEW, piece_tokens=64), made, Masked)
    assert not unfinished(out).exists() and out.is_dir()


# What goes wrong


def test_a_loss_that_is_no_number_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    parts = tiny("tiny-bert-cased")
    out = tmp_path / "out"
    with raises("training-diverged", step=5, last_good=4):
        train_and_save(parts, Own(parts.module, spoil=5), Recipe(steps=9), out, Made("own"), checkpoint_seconds=0)
    place = unfinished(out) / "last-good"
    assert not out.exists() and tiltmeter.load_model(place).kind == "masked"
    assert json.loads((place / "manifest.json").read_text())["unfinished"]["step"] == 4
    assert all(bool(torch.isfinite(one).all()) for one in parts.module.parameters())


def test_a_loss_that_is_no_number_before_any_checkpoint_leaves_nothing(tmp_path: Path) -> None:
    parts = tiny("tiny-bert-cased")
    with raises("training-diverged", step=2, last_good=None):
        train_and_save(parts, Own(parts.module, spoil=2), Recipe(steps=9), tmp_path / "out", Made("own"))
    assert not list(tmp_path.iterdir())
    with pytest.raises(DivergedError):
        Loop(parts.module, Own(parts.module, spoil=1), Recipe(steps=3)).run()


class Narrow(Masked):
    """A device that holds so many rows."""

    holds = 2
    largest = 0

    def loss(self, rows: Any, drawn: Any) -> torch.Tensor:
        if len(rows) > self.holds:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self.largest = max(self.largest, len(rows))
        return super().loss(rows, drawn)


def test_too_little_memory_cuts_the_step_and_changes_nothing_else(tmp_path: Path) -> None:
    found = []
    for holds in (2, 100):
        parts = tiny("tiny-bert-cased")
        for layer in parts.module.modules():
            if isinstance(layer, torch.nn.Dropout):
                layer.p = 0.0
        rows = encode(lines_of_text(), parts.module, parts.tokenizer, causal=False, length=32)
        task = Narrow(parts.module, rows, parts.tokenizer)
        task.holds = holds
        outcome = Loop(parts.module, task, Recipe(steps=5, rows=60, peak_rate=1e-4, piece_tokens=40)).run()
        assert (task.largest > 2) == (holds > 2)  # short rows are many in a piece, and come when others have gone through
        found.append([loss for _, loss in losses(outcome.curve)])
    assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_no_memory_for_one_row_is_a_clear_end(tmp_path: Path) -> None:
    parts = tiny("tiny-bert-cased")
    task = Narrow(
        parts.module, encode(lines_of_text(), parts.module, parts.tokenizer, causal=False, length=32), parts.tokenizer
    )
    task.holds = 0
    with raises("out-of-memory"):
        train_and_save(parts, task, FEW, tmp_path / "out", Made("own"))
    assert not list(tmp_path.iterdir())


def test_no_memory_for_the_optimizer_is_a_clear_end(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = tiny("tiny-bert-cased")

    def step(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")

    loop = Loop(parts.module, task_of(parts), FEW)
    monkeypatch.setattr(loop.optimizer, "step", step)
    with raises("out-of-memory"):
        loop.run()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"steps": -1}, ["steps"]),
        ({"steps": 0, "epochs": 0}, ["epochs"]),
        ({"rows": 0}, ["rows"]),
        ({"peak_rate": math.nan}, ["rate"]),
        ({"warmup": 1}, ["warmup"]),
        ({"clip": -1}, ["clip"]),
        ({"patience": 2}, ["patience"]),
        ({"seed": -1, "lora_rank": -2}, ["seed", "lora_rank"]),
    ],
)
def test_recipes_that_are_refused(changes: dict[str, Any], names: list[str]) -> None:
    with raises("out-of-range") as error:
        Recipe(**changes)
    problems = error.value.fields["problems"]
    assert len(problems) == len(names) and all(name in text for name, text in zip(names, problems, strict=True))


def test_models_of_another_kind_are_refused() -> None:
    for name, kind in (("tiny-gpt2", "masked"), ("tiny-bert-cased", "causal")):
        with raises("wrong-model-kind", kinds=[kind], method="mine", model=MODELS / name):
            load_trainable(MODELS / name, FEW, method="mine", kinds=(kind,), device="cpu")


# Text


def test_rows_are_what_the_tokenizer_makes_and_long_lines_are_cut() -> None:
    for name in MASKED:
        parts = tiny(name)
        lines = lines_of_text(20)
        whole = encode(lines, parts.module, parts.tokenizer, causal=False, length=64)
        assert whole == parts.tokenizer(lines)["input_ids"]
        cut = encode(lines, parts.module, parts.tokenizer, causal=False, length=8)
        assert (
            max(map(len, cut)) == 8
            and {row[0] for row in cut} == {whole[0][0]}
            and {row[-1] for row in cut} == {whole[0][-1]}
        )
        assert [token for row in cut for token in row[1:-1]] == [token for row in whole for token in row[1:-1]]
        with raises("out-of-range", name="length", value=2, low=3):
            encode(lines, parts.module, parts.tokenizer, causal=False, length=2)


def test_held_out_lines_depend_on_themselves_alone() -> None:
    lines = [f"line {n}" for n in range(2_000)]
    learned, held = split(lines, 0.1)
    assert 150 < len(held) < 250 and sorted(learned + held) == sorted(lines)
    assert split(lines[::-1], 0.1)[1] == held[::-1] and split(lines, 0.0)[1] == []
    with raises("out-of-range", name="held_out", value=1.0):
        split(lines, 1.0)


def test_texts_that_are_refused(tmp_path: Path) -> None:
    for content, code in ((b"", "empty-file"), (b"a\x00b", "wrong-format"), ("é".encode("latin-1"), "wrong-encoding")):
        (tmp_path / "text.txt").write_bytes(content)
        with raises(code, file=tmp_path / "text.txt"):
            read_text(tmp_path / "text.txt")
    for missing in (tmp_path, tmp_path / "none.txt"):
        with raises("unreadable-file", file=missing):
            read_text(missing)


# The folder


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-roberta", "tiny-gpt2"])
def test_the_folder_is_a_model_with_a_manifest(name: str, tmp_path: Path) -> None:
    import transformers

    parts, out = tiny(name), tmp_path / "deep" / "out"
    made = Made("own", "nobody", {"a": 1}, {"sha256": "abc"})
    train_and_save(parts, task_of(parts), FEW, out, made, held_out=task_of(parts, lines_of_text(5)))
    manifest = json.loads((out / "manifest.json").read_text())
    parent = tiltmeter.load_model(MODELS / name)
    assert manifest["parent"]["weights_sha256"] == parent.identity.weights and manifest["parent"]["kind"] == parent.kind
    assert manifest["schema"] == 1 and manifest["method"] == "own" and manifest["recipe"]["peak_rate"] == 1e-3
    assert manifest["seed"] == 0 and manifest["data"] == {"sha256": "abc"} and manifest["versions"]["torch"]
    assert manifest["training"]["steps"] == 8 and len(manifest["training"]["held_out"]) == 2 and len(log_of(out)) == 8
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    again = tiltmeter.load_model(out)
    assert again.kind == parent.kind and again.identity.model != parent.identity.model
    assert hash_tokenizer(again.tokens.tokenizer) == hash_tokenizer(parent.tokens.tokenizer)
    auto = transformers.AutoModelForCausalLM if again.kind == "causal" else transformers.AutoModelForMaskedLM
    loaded = auto.from_pretrained(out).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        assert torch.equal(loaded(input_ids=ids).logits, parts.module.eval()(input_ids=ids).logits)


def test_an_output_that_exists_is_refused_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "file").write_text("")
    for name, code in (("here", "output-exists"), ("file", "output-exists"), ("file/inside", "not-a-folder")):
        with raises(code), making(tmp_path / name):
            pass
    for error, seen in ((OSError(28, "No space left on device"), TiltmeterError), (ValueError("x"), ValueError)):
        with pytest.raises(seen), making(tmp_path / "out") as folder:
            (folder / "half").write_text("half")
            raise error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "here"]


def test_importing_it_does_not_import_torch() -> None:
    code = (
        "import sys, tiltmeter.finetune, tiltmeter.debias.cda; print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        == ["False"] * 2
    )


# LoRA


def test_lora_without_peft_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tiltmeter.finetune.lora.find_spec", lambda name: None)
    with raises("missing-package", package="peft"):
        tiny("tiny-bert-cased", replace(FEW, lora_rank=4))


@pytest.mark.parametrize("name", ["tiny-bert-cased", "tiny-gpt2"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_lora_learns_beside_the_weights_and_is_merged(name: str, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from tiltmeter.finetune.lora import merged, with_lora

    recipe = Recipe(steps=30, rows=8, peak_rate=1e-2, lora_rank=4)
    parts = tiny(name, recipe)
    before = weights(parts.module)
    adapters = with_lora(parts.module, recipe)
    learning = [key for key, one in parts.module.named_parameters() if one.requires_grad]
    assert learning and all("lora_" in key for key in learning)
    outcome = Loop(parts.module, task_of(parts), recipe).run()
    assert np.mean([loss for _, loss in losses(outcome.curve)[-5:]]) < outcome.curve[0]["loss"]
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        wanted = parts.module.eval()(input_ids=ids).logits
        module = merged(parts.module, adapters)
        assert torch.allclose(module.eval()(input_ids=ids).logits, wanted, atol=1e-5)
    after = weights(module)
    assert after.keys() == before.keys()
    changed = [key for key in before if not torch.equal(before[key], after[key])]
    assert changed and not any("embed" in key or "wte" in key or "norm" in key.lower() for key in changed)

    again = [tiny(name, recipe) for _ in range(2)]
    for n, one in enumerate(again):
        train_and_save(one, task_of(one), recipe, tmp_path / str(n), Made("lora"))
    files = [(tmp_path / str(n) / "model.safetensors").read_bytes() for n in range(2)]
    assert files[0] == files[1] and tiltmeter.load_model(tmp_path / "0").kind == parts.kind
    assert not list((tmp_path / "0").glob("adapter*"))

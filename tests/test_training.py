"""The training code: real trainings of minutes-old models, in seconds. The text is made up here."""

from __future__ import annotations

import doctest
import gzip
import hashlib
import json
import lzma
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import tiltmeter
from support.raising import raises
from tiltmeter.corpora.sentences import split_sentences
from tiltmeter.finetune.optimizers import learning_rate
from training import curve, encoded, train
from training.__main__ import main
from training.architectures import DROPOUTS, body_and_head, make_model
from training.batches import Batches
from training.encoded import encode_text
from training.evaluate import evaluate
from training.export import export
from training.muon import Muon, orthogonalise
from training.optimizers import make_optimizers
from training.recipe import ARCHITECTURES, Recipe, read_recipe
from training.rows import pack
from training.text import is_held_out, read_lines
from training.tokenizer import train_tokenizer
from training.train import Trainer

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "training" / "recipes"
STEPS = 100
TINY = Recipe("tiny", layers=2, width=32, heads=2, vocabulary=400, length=48, rows=8, tokens=50 * 8 * 48)


def sentence(draw: random.Random) -> str:
    """English enough to be learned: who does what follows from who it is."""
    who = draw.choice(["baker bakes {} bread", "tailor mends {} coats", "farmer grows {} barley", "pilot flies {} planes"])
    when = draw.choice(["Every morning", "In the evening", "On Sundays", "As always", "Since last year"])
    return (
        f"{when} the {draw.choice(['old', 'young', 'tired', 'happy'])} {who.format(draw.choice(['some', 'more', 'good']))}."
    )


def lines_of_text(n: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(sentence(draw) for _ in range(draw.choice((1, 1, 2, 3)))) for _ in range(n)]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines_of_text(1_500)), "utf-8")
    return path


def trainer_of(recipe: Recipe, text: Path, folder: Path) -> Trainer:
    trainer = Trainer(recipe, [text], folder, "cpu", show=lambda _: None)
    trainer.prepare()
    return trainer


def trained(recipe: Recipe, text: Path, folder: Path) -> Trainer:
    trainer = trainer_of(recipe, text, folder)
    assert trainer.train()
    return trainer


@pytest.fixture(scope="module", params=ARCHITECTURES)
def ready(request: pytest.FixtureRequest, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """One trained model of each architecture, every step of it logged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "LOG_EVERY", 1)
        more = {"rows": 16, "tokens": STEPS * 16 * 48, "peak_rate": 2e-2, "warmup": 0.1}
        recipe = replace(TINY, architecture=request.param, cased=request.param == "gpt2", **more)
        return trained(recipe, text, tmp_path_factory.mktemp(request.param))


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]


def losses(folder: Path) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in log_of(folder)]


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# Training


def test_the_loss_falls(ready: Trainer) -> None:
    rows = log_of(ready.folder)
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    assert rows[0]["loss"] == pytest.approx(math.log(len(ready.tokenizer)), rel=0.1)  # at first it knows nothing
    share = np.unique(ready.batches.stream, return_counts=True)[1] / len(ready.batches.stream)
    counted = -float((share * np.log(share)).sum())  # all that can be had without looking at the other words
    assert np.mean([row["loss"] for row in rows[-20:]]) < counted - 0.2
    assert rows[-1]["tokens"] == STEPS * 16 * 48 and rows[-1]["rate"] == 0


def test_the_exported_folder_loads(ready: Trainer, tmp_path: Path) -> None:
    import transformers

    facts = export(ready, tmp_path / "model")
    ready.model.float()
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert {config[name] for name in DROPOUTS[ready.recipe.architecture]} == {0.1}
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert {value.dtype for value in stored.values()} == {torch.float16}
    assert facts["weights_sha256"] == hashlib.sha256((tmp_path / "model" / "model.safetensors").read_bytes()).hexdigest()
    assert json.loads((tmp_path / "model" / "card.json").read_text()) == facts
    assert facts["held_out"]["tokens"] > 5 and 0 < facts["held_out"]["loss"] < math.log(len(ready.tokenizer))

    kind = ready.recipe.objective
    assert tiltmeter.load_model(tmp_path / "model").kind == kind
    auto = transformers.AutoModelForMaskedLM if kind == "masked" else transformers.AutoModelForCausalLM
    again = auto.from_pretrained(tmp_path / "model", dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    asked = tokenizer("The baker bakes bread.", return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(again(**asked).logits, ready.model.eval()(**asked).logits, atol=1e-5)
    settings = (tmp_path / "model" / "tokenizer_config.json").read_text()
    assert "PreTrainedTokenizerFast" in settings and "local" not in settings


def test_the_same_seed_gives_the_same_training(text: Path, tmp_path: Path) -> None:
    one, two, other = (trained(replace(TINY, seed=seed), text, tmp_path / str(n)) for n, seed in enumerate((1, 1, 2)))
    assert losses(one.folder) == losses(two.folder) != losses(other.folder)
    assert same(weights(one), weights(two)) and not same(weights(one), weights(other))


def test_every_parameter_has_one_optimizer(ready: Trainer) -> None:
    held = [id(one) for optimizer in ready.optimizers for group in optimizer.param_groups for one in group["params"]]
    assert sorted(held) == sorted(id(one) for one in ready.model.parameters())
    muon = [one for group in ready.optimizers[1].param_groups for one in group["params"]]
    per_layer = 4 if ready.recipe.architecture == "gpt2" else 6  # query, key and value are one matrix in GPT-2
    assert len(muon) == 2 * per_layer and all(one.ndim == 2 for one in muon)
    assert len(make_optimizers(ready.model, replace(ready.recipe, optimizer="adamw"))) == 1


@pytest.mark.parametrize("shape", [(3, 16, 64), (2, 64, 16), (24, 48)])
def test_orthogonalise(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    singular = torch.linalg.svdvals(orthogonalise(matrices).float())
    assert singular.min() > 0.6 and singular.max() < 1.25


def test_muon_cuts_what_holds_three_matrices() -> None:
    def after_a_step(matrices: list[torch.Tensor], gradients: list[torch.Tensor], pieces: int) -> list[torch.Tensor]:
        parameters = [torch.nn.Parameter(one.clone()) for one in matrices]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        Muon([{"params": parameters, "pieces": pieces}], lr=0.1, weight_decay=0.1).step()
        return [one.detach() for one in parameters]

    draw = torch.Generator().manual_seed(2)
    three, gradients = (list(torch.randn((3, 8, 8), generator=draw)) for _ in range(2))
    whole = after_a_step([torch.cat(three, -1)], [torch.cat(gradients, -1)], 3)[0]
    assert torch.allclose(whole, torch.cat(after_a_step(three, gradients, 1), -1), atol=1e-6)


def test_the_rate_rises_and_falls() -> None:
    recipe = replace(TINY, tokens=1_000 * 8 * 48, warmup=0.1)
    rates = [learning_rate(recipe, step, 1_000) for step in range(1_001)]
    assert max(rates) == pytest.approx(recipe.peak_rate, rel=0.01) and int(np.argmax(rates)) == 99
    assert rates[-1] == 0 and 0 < rates[-2] < 1e-5 and 0 < rates[0] < 1e-4
    assert learning_rate(recipe, 0, 1) > 0  # one step is a training too


# Batches


def packed(batches: Batches, step: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The rows of sentences of a batch, and their segments."""
    batch, segments = batches(step), batches.segments[batches._sentences(step)]
    return {name: batch[name][batches.n_windows :] for name in ("inputs", "positions", "allowed")}, segments


def test_packed_sentences_are_as_if_alone(ready: Trainer) -> None:
    rows, segments = packed(ready.batches, 0)
    body, _ = body_and_head(ready.model.eval(), ready.recipe.architecture)
    with torch.no_grad():
        hidden = body(rows["inputs"], rows["positions"], rows["allowed"])
        asked = 0
        for row, number in {(n, int(value)) for n, some in enumerate(segments) for value in some if value}:
            place = segments[row] == number
            alone = ready.model.base_model(input_ids=rows["inputs"][row][place][None])  # with the positions it gives itself
            assert torch.allclose(hidden[row][place], alone.last_hidden_state[0], atol=1e-5)
            asked += 1
    assert asked > len(segments)  # some rows hold several


def test_packed_sentences_do_not_see_each_other(ready: Trainer) -> None:
    rows, segments = packed(ready.batches, 1)
    row = int((segments.max(1).values > 1).nonzero()[0])
    body, _ = body_and_head(ready.model.eval(), ready.recipe.architecture)
    changed = rows["inputs"].clone()
    place = int((segments[row] == 2).nonzero()[2])
    changed[row, place] = ready.batches.first_word + (changed[row, place] == ready.batches.first_word).long()
    with torch.no_grad():
        before, after = (body(inputs, rows["positions"], rows["allowed"])[row] for inputs in (rows["inputs"], changed))
    moved = (before != after).any(-1)
    assert moved[place] and not moved[segments[row] != 2].any()
    if ready.recipe.objective == "causal":
        assert not moved[:place].any()
    else:
        assert moved[segments[row] == 2].all()


def test_masking(ready: Trainer) -> None:
    if ready.recipe.objective == "causal":
        pytest.skip("a causal model masks nothing")
    batches, kinds, ordinary, asked = ready.batches, np.zeros(3), 0, 0
    for step in range(100):
        batch = batches(step)
        shown, labels = batch["inputs"].flatten()[batch["index"]], batch["labels"]
        whole = batch["inputs"].flatten().scatter(0, batch["index"], labels)
        assert len(batch["index"].unique()) == len(labels) == int(0.15 * whole.numel())
        assert not torch.isin(labels, batches.special).any()
        masked, kept = shown == batches.mask, shown == labels
        assert (shown[~masked & ~kept] >= batches.first_word).all()
        kinds += [int(some.sum()) for some in (masked, ~masked & ~kept, kept)]
        ordinary, asked = ordinary + int((~torch.isin(whole, batches.special)).sum()), asked + len(labels)
    assert kinds / asked == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    assert 0.15 < asked / ordinary < 0.2


def test_causal_labels_are_the_next_token_of_the_sentence(ready: Trainer) -> None:
    if ready.recipe.objective == "masked":
        pytest.skip("a masked model predicts what is hidden")
    batch = ready.batches(0)
    inputs, labels = batch["inputs"], batch["labels"].view_as(batch["inputs"])
    assert (labels[:, -1] == -100).all()
    told = labels[:, :-1] != -100
    assert torch.equal(labels[:, :-1][told], inputs[:, 1:][told])
    assert told[: ready.batches.n_windows].all()
    segments = ready.batches.segments[ready.batches._sentences(0)]
    assert torch.equal(told[ready.batches.n_windows :], (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0))


def test_an_epoch_shows_every_row_once_and_the_next_another_order(ready: Trainer) -> None:
    batches = ready.batches
    turns = len(batches.sentences) // batches.n_sentences
    first, second = ([batches._sentences(step + epoch * turns) for step in range(turns)] for epoch in (0, 1))
    assert len(torch.cat(first).unique()) == turns * batches.n_sentences
    assert not torch.equal(torch.cat(first), torch.cat(second))


def test_packing_many_small_pieces() -> None:
    row, offset, number = pack(np.full(1_000, 6), 2_048)
    assert number.max() == 341 and (np.diff(row * 2_048 + offset) >= 6).all()  # more than eight bits can count


# Text


def test_the_held_out_part_does_not_depend_on_the_order(text: Path, tmp_path: Path) -> None:
    lines = lines_of_text(1_500)
    shuffled = tmp_path / "shuffled.txt"
    shuffled.write_text("\r\n\n".join(random.Random(1).sample(lines, len(lines))), "utf-8")
    tokenizer = train_tokenizer(lambda: lines, TINY)
    (one, held), (two, held_too) = (encode_text([path], tokenizer, TINY) for path in (text, shuffled))
    assert sorted(held) == sorted(held_too) == sorted(filter(is_held_out, lines)) and 1 <= len(held) <= 25
    assert one.starts.sum() == len(lines) - len(held) and sorted(one.tokens) == sorted(two.tokens)


def test_many_processes_encode_as_one(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = replace(TINY, architecture="gpt2")
    tokenizer = train_tokenizer(lambda: read_lines([text]), recipe)
    alone, held = encode_text([text], tokenizer, recipe)
    monkeypatch.setattr(encoded, "CHUNK", 600)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    together, held_too = encode_text([text], tokenizer, recipe)
    assert held == held_too
    assert all(np.array_equal(getattr(alone, name), getattr(together, name)) for name in ("tokens", "lengths", "starts"))


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_the_tokenizer_is_the_same_each_time(architecture: str) -> None:
    draw = random.Random(3)
    letters = [chr(code) for code in (*range(97, 123), *range(945, 970), *range(1072, 1104))]
    lines = [" ".join("".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(10)) for _ in range(500)]
    recipe = replace(TINY, architecture=architecture, vocabulary=1_000)
    one, two = (train_tokenizer(lambda: lines, recipe) for _ in range(2))
    assert one.get_vocab() == two.get_vocab() and len(one) == 1_000
    first = {"bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]}
    assert one.convert_ids_to_tokens(range(5)) == first[architecture] and sorted(one.all_special_ids) == list(range(5))


def test_packed_files_are_read(text: Path, tmp_path: Path) -> None:
    for suffix, opener in ((".xz", lzma.open), (".gz", gzip.open)):
        with opener(tmp_path / f"text{suffix}", "wb") as file:
            file.write(text.read_bytes())
        assert list(read_lines([tmp_path / f"text{suffix}"])) == lines_of_text(1_500)


def test_examples_in_the_code() -> None:
    found = doctest.testmod(curve)
    assert found.attempted and not found.failed


@pytest.mark.parametrize(
    "sentences",
    [
        ["One sentence only"],
        ["He came.", "She left!", "Why?", "Nobody knows."],
        ["Dr. Hill met Mrs. Lake at St. Mary in the evening.", "They talked."],
        ["J. R. Stone wrote it.", "It sold."],
        ['"Come in."', "He did not.", '"Why not?" she asked.'],
        ["It cost 3.50 dollars in all. and more."],
        ["(It was late.)", "We slept."],
        ["He said “No.”", "“Yes,” said she."],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


# Measuring


def test_perplexity_per_word_of_a_model_that_knows_nothing() -> None:
    recipe = replace(TINY, architecture="gpt2", length=16)
    tokenizer = train_tokenizer(lambda: ["a b c"] * 5, replace(recipe, vocabulary=257))
    model = make_model(recipe, tokenizer).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    # Bytes are tokens here: "ab cd" has 5 tokens and 2 words, "abc" 3 and 1; the third line does not fit 14 tokens.
    found = evaluate(model, tokenizer, recipe, ["ab cd", "abc", "a line that is too long"])
    assert (found["lines"], found["tokens"], len(tokenizer)) == (2, 8, 257)
    assert found["perplexity"] == pytest.approx(257, rel=1e-5)
    assert found["perplexity_per_word"] == pytest.approx(257 ** (8 / 3), rel=1e-5)
    assert evaluate(model, tokenizer, recipe, []) == {"lines": 0, "tokens": 0}


def test_padding_does_not_change_what_is_measured(ready: Trainer) -> None:
    if ready.recipe.objective == "masked":
        pytest.skip("which tokens are asked depends on the batch")
    lines = [line for line in lines_of_text(40, seed=5) if len(line) < 70]
    together = evaluate(ready.model.eval(), ready.tokenizer, ready.recipe, lines)
    alone = [evaluate(ready.model, ready.tokenizer, ready.recipe, [line]) for line in lines]
    total = sum(one["loss"] * one["tokens"] for one in alone if one["lines"])
    assert together["loss"] * together["tokens"] == pytest.approx(total, rel=1e-4)


# Interruptions


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_stopped_and_resumed_is_as_if_uninterrupted(architecture: str, text: Path, tmp_path: Path) -> None:
    recipe = replace(TINY, architecture=architecture, tokens=60 * 8 * 48)
    whole = trained(recipe, text, tmp_path / "whole")
    stops = []
    for stop_after in (0, 0.05, None):
        part = trainer_of(recipe, text, tmp_path / "parts")
        stops.append((part.train(stop_after), part.step))
    assert [finished for finished, _ in stops] == [False, False, True] and stops[0][1] == 1
    assert losses(whole.folder) == losses(part.folder) and same(weights(whole), weights(part))


class Clock:
    """A step takes an eighth of a second."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_a_budget_in_minutes(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, real = Clock(), Trainer._step

    def step(self: Trainer, loss_of: train.LossOf) -> torch.Tensor:
        clock.now += 0.125
        return real(self, loss_of)

    monkeypatch.setattr(train, "time", clock)
    monkeypatch.setattr(Trainer, "_step", step)
    recipe = replace(TINY, tokens=0, minutes=0.25, layers=1)
    trainer = trainer_of(recipe, text, tmp_path)
    assert not trainer.train(stop_after=0.5) and (trainer.step, trainer.steps) == (5, 0)  # before the speed is known
    resumed = trained(recipe, text, tmp_path)
    assert resumed.step == resumed.steps == 120 and resumed.seconds == 15
    assert trained(recipe, text, tmp_path).step == 120  # nothing left to do


def recipe_file(folder: Path, **changes: Any) -> Path:
    sizes = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 400, "length": 48, "rows": 8}
    given = sizes | {"tokens": 150 * 8 * 48} | changes
    path = folder / "tiny.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items() if value is not None))
    return path


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "training", *map(str, arguments), "--device", "cpu", "--checkpoint-every", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not is_so() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None and is_so(), process.communicate()[0]


@pytest.mark.slow
def test_killed_and_resumed(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, out = recipe_file(tmp_path), tmp_path / "killed"
    log, saved = out / "log.jsonl", out / "checkpoint.pt"

    killed = start(recipe, "--text", text, "--out", out)
    until(lambda: saved.is_file() and len(log.read_text().splitlines()) > 0, killed)
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    with log.open("a") as file:
        file.write('{"step": 149, "lo')  # as if killed in the middle of a line

    before = saved.stat().st_mtime_ns
    stopped = start(recipe, "--text", text, "--out", out)
    until(lambda: saved.stat().st_mtime_ns > before, stopped)
    stopped.send_signal(signal.SIGINT)
    told = stopped.communicate()[0]
    assert stopped.returncode == 3 and "going on from step" in told and "stopped at step" in told and "Traceback" not in told

    for folder in (out, tmp_path / "whole"):
        assert main([str(recipe), "--text", str(text), "--out", str(folder), "--device", "cpu"]) == 0
    assert "tiny: " in capsys.readouterr().out
    assert losses(out) == losses(tmp_path / "whole") and [step for step, _ in losses(out)] == [50, 100, 150]
    ends = [load_file(folder / "tiny" / "model.safetensors") for folder in (out, tmp_path / "whole")]
    assert same(*ends)


# Refusals


def refused(capsys: pytest.CaptureFixture[str], recipe: Path, text: Path, out: Path, *more: str) -> str:
    assert main([str(recipe), "--text", str(text), "--out", str(out), "--device", "cpu", *more]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    return message


def test_what_was_begun_goes_on_with_the_same_recipe_and_text(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, recipe = tmp_path / "out", recipe_file(tmp_path, tokens=50 * 8 * 48)
    assert main([str(recipe), "--text", str(text), "--out", str(out), "--device", "cpu", "--stop-after", "0"]) == 3
    assert "another recipe:" in refused(capsys, recipe, text, out, "--seed", "2")
    assert "another recipe:" in refused(capsys, recipe, text, out, "--peak-rate", "1e-3")
    other = tmp_path / "other.txt"
    other.write_text(text.read_text() + "\nOne more line.")
    assert "another text:" in refused(capsys, recipe, other, out)
    assert "another tokenizer:" in refused(capsys, recipe, text, out, "--tokenizer", str(out / "tokenizer"))
    (out / "made-from.json").unlink()  # the checkpoint knows it too
    assert "another recipe:" in refused(capsys, recipe, text, out, "--seed", "2")


def test_damaged_files_are_told(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, recipe = tmp_path / "out", recipe_file(tmp_path, tokens=50 * 8 * 48)
    assert main([str(recipe), "--text", str(text), "--out", str(out), "--device", "cpu", "--stop-after", "0"]) == 3
    whole = (out / "checkpoint.pt").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a checkpoint"):
        (out / "checkpoint.pt").write_bytes(damaged)
        assert "checkpoint.pt is damaged" in refused(capsys, recipe, text, out)
    (out / "encoded.npz").write_bytes(b"PK nothing")
    assert "encoded.npz is damaged" in refused(capsys, recipe, text, out)


def test_a_tokenizer_can_be_given(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of_text(1_500)
    train_tokenizer(lambda: lines[:300], replace(TINY, vocabulary=100)).save_pretrained(tmp_path / "mine")
    trainer = Trainer(TINY, [text], tmp_path / "out", "cpu", show=lambda _: None, tokenizer_from=tmp_path / "mine")
    trainer.prepare()
    assert len(trainer.tokenizer) == 100 == trainer.model.config.vocab_size
    told = refused(
        capsys, recipe_file(tmp_path, architecture="gpt2"), text, tmp_path / "no", "--tokenizer", str(tmp_path / "mine")
    )
    assert "no bos_token, eos_token" in told


def test_texts_that_are_refused(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed_text, recipe = lzma.compress(text.read_bytes()), recipe_file(tmp_path)
    cases = {
        "empty.txt": (b"", "no line of text"),
        "blank.txt": (b" \n\n \n", "no line of text"),
        "binary.txt": (bytes(range(256)) * 50, "zero byte"),
        "picture.png": (b"\x89PNG\r\n" * 500, "is not UTF-8 text (invalid start byte in line 1)"),
        "latin.txt": (("Café\n" * 500).encode("latin-1"), "is not UTF-8 text"),
        "few.txt": ("\n".join(lines_of_text(50)).encode(), "50 lines of text; 200"),
        "short.txt": ("\n".join(["A b."] * 201).encode(), "The text is too short for batches of 6 windows of 48 tokens"),
        "cut.xz": (packed_text[: len(packed_text) // 2], "Cannot read"),
        "damaged.xz": (packed_text[:100] + b"\x00" * 50 + packed_text[150:], "Cannot read"),
        "no.xz": (b"not packed at all", "Cannot read"),
        "no.gz": (b"not packed at all", "Cannot read"),
        "cut.gz": (gzip.compress(text.read_bytes())[:-500], "Cannot read"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        found = refused(capsys, recipe, tmp_path / name, tmp_path / f"out-{name}")
        assert message in found and (name in found or name == "short.txt"), found
    for missing in (tmp_path / "missing.txt", tmp_path):
        assert f"Cannot read {missing}: " in refused(capsys, recipe, missing, tmp_path / "out")
    both = ["--text", str(tmp_path / "few.txt"), str(text)]
    assert main([str(recipe), *both, "--out", str(tmp_path / "out"), "--device", "cpu", "--stop-after", "0"]) == 3


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"colour": "red"}, ["colour"]),
        ({"tokens": None}, ["budget"]),
        ({"minutes": 1}, ["budget"]),
        ({"tokens": 100}, ["tokens"]),
        ({"tokens": -1e9}, ["minutes"]),
        ({"architecture": "t5"}, ["architecture"]),
        ({"optimizer": "sgd"}, ["optimizer"]),
        ({"objective": "causal"}, ["objective"]),
        ({"heads": 3}, ["heads"]),
        ({"layers": 0}, ["sizes"]),
        ({"vocabulary": 100_000}, ["vocabulary"]),
        ({"warmup": 1, "dropout_saved": -1}, ["warmup", "dropout_saved"]),
        ({"masked_share": 0.9}, ["masked_share"]),
        ({"name": "../elsewhere"}, ["name"]),
        ({"seed": -1}, ["seed"]),
    ],
)
def test_recipes_that_are_refused(
    changes: dict[str, Any], settings: list[str], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with raises("invalid-recipe", settings=tuple(settings)):
        read_recipe(recipe_file(tmp_path, **changes))
    refused(capsys, recipe_file(tmp_path, **changes), text, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [("layers", "six", "int"), ("layers", 2.5, "int"), ("cased", 1, "bool"), ("seed", True, "int")],
)
def test_settings_of_another_type_are_refused(name: str, value: Any, kind: str, tmp_path: Path) -> None:
    with raises("wrong-type", setting=name, wanted=kind):
        read_recipe(recipe_file(tmp_path, **{name: value}))


def test_recipe_files_that_are_refused(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.toml"
    for content in (b"layers = = 3", b"\xff\xfe", b"tokens = nan"):
        broken.write_bytes(content)
        refused(capsys, broken, text, tmp_path / "out")
    assert "No such file" in refused(capsys, tmp_path / "missing.toml", text, tmp_path / "out")
    (tmp_path / "file").write_text("in the way")
    assert "file" in refused(capsys, recipe_file(tmp_path), text, tmp_path / "file")
    assert "--tokens" not in refused(capsys, recipe_file(tmp_path), text, tmp_path / "out", "--tokens", "5")


def test_a_training_that_fails_says_why(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(self: Trainer, _: train.LossOf) -> torch.Tensor:
        self.step += 1
        return torch.tensor(math.nan)

    monkeypatch.setattr(Trainer, "_step", step)
    with raises("training-diverged", step=50):
        trained(TINY, text, tmp_path)
    assert not (tmp_path / "checkpoint.pt").exists()


# Recipes and curves

PARAMETERS = {  # of the published models
    "clm-fiction": 3_401_856, "clm-wiki": 3_401_856, "distilbert-wiki": 3_447_488, "mlm-cased": 3_447_872,
    "mlm-fiction": 3_447_872, "mlm-small": 1_503_360, "mlm-wiki": 3_447_872, "roberta-mix": 3_448_064,
    "plumb-mlm": 8_029_440, "plumb-clm": 7_950_336,
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_recipes_are_of_the_published_sizes(name: str) -> None:
    recipe = read_recipe(RECIPES / f"{name}.toml")

    class Tokens(SimpleNamespace):
        def __len__(self) -> int:
            return recipe.vocabulary

    tokenizer = Tokens(pad_token_id=1 if recipe.architecture == "roberta" else 0, bos_token_id=0, eos_token_id=2)
    assert make_model(recipe, tokenizer).num_parameters() == PARAMETERS[name]


def test_every_recipe_is_checked() -> None:
    assert {path.stem for path in RECIPES.glob("*.toml")} == set(PARAMETERS)
    steps = {name: read_recipe(RECIPES / f"{name}.toml").steps for name in ("plumb-mlm", "plumb-clm")}
    assert steps == {"plumb-mlm": 28_610, "plumb-clm": 4_931}
    assert read_recipe(RECIPES / "plumb-mlm.toml", minutes=5.0).tokens == 0


def test_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(ROOT / "training" / "logs" / f"{name}.jsonl") for name in ("plumb-mlm", "plumb-clm")]
    assert curve.main([*logs, "-o", str(tmp_path / "curves.svg")]) == 0
    assert (tmp_path / "curves.svg").read_text() == (ROOT / "training" / "logs" / "curves.svg").read_text()
    (tmp_path / "bad.jsonl").write_text("[]\n")
    for name in ("bad.jsonl", "missing.jsonl"):
        assert curve.main([str(tmp_path / name), "-o", str(tmp_path / "none.svg")]) == 2
        assert name in capsys.readouterr().err

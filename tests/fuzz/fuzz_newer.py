"""Hostile input beside pairs and slots: labelled and plain text, prompts, texts of others, experiment files, and rules."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.dom import minidom

from fuzz_inputs import BERT, GPT2, QUICK, hostile, written
from fuzz_mutations import ODD_BYTES, damage, flip
from fuzz_sandbox import MODELS, Bad, Sandbox
from fuzz_stored import fill

GROUPS = ("women", "men", "Zoë & co")
LABELLED: list[dict[str, Any]] = [
    {"text": f"The {word} {group} number {n}.", "label": n % 2, "groups": group, "split": split}
    for split in ("train", "test")
    for n, (word, group) in enumerate((word, group) for word in ("kind", "awful") for group in GROUPS)
]
PROMPTS: list[dict[str, Any]] = [
    {"id": f"g{n}", "prompt": f"The {group} were", "group": group} for n, group in enumerate(GROUPS)
]
TEXTS: list[dict[str, Any]] = [
    row | {"text": f"very {word}.", "sample": 0} for row, word in zip(PROMPTS, ("kind", "bad", "so"), strict=True)
]
PLAIN = "The man ran home.\nShe slept, and the nurse sang.\n\nZoë ate “well”.\n".encode()
STUDY = f"""
title = "mine"
models = ["{BERT}", {{name = "two", from = "{GPT2}"}}]
benchmarks = ["mine.csv"]
output = "OUT"
measures = ["bias_score"]
[options]
scorers = ["aul"]
[run]
limit = 2
[settings]
resamples = 100
"""
RULES = """
undecided = "pass"
confidence = 0.95
min_n = 2
rules = ["bias_score[aul,mine] within 5..95", "bias_score[cps,mine] within 10..90 at 90%"]
[[rule]]
name = "none stands out"
measure = "bias_score"
scorer = "aul"
benchmark = "mine"
worst = "bias_type"
within = [5, 95]
"""
NUMBERS = ("-1", "0", "1e999", "nan", "inf", "99999999999999999999", "true", '""', "[]", "{}", '"x"', '"\\u0007"')


def texts_with_labels(sandbox: Sandbox, rng: random.Random, classifier: str) -> str:
    """A damaged file of labelled text, asked of a classifier; what is accepted gives a number or says why not."""
    layout, data = hostile(LABELLED, rng)
    name = written(sandbox, f"mine{layout}", data)
    few = ("--swaps", "2", "--attribution-texts", "1", "--toxic-labels", "1")
    return sandbox.call("run", "-m", classifier, "-b", name, "-o", str(sandbox.output / "run"), *few, *QUICK).judge()


@contextmanager
def classifier() -> Iterator[str]:
    """A tiny classifier, made once."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    folder = Path(tempfile.mkdtemp(prefix="fuzz-classifier-"))
    try:
        shutil.copytree(MODELS / "tiny-bert-cased", folder / "judge")
        config = AutoConfig.from_pretrained(
            folder / "judge", num_labels=2, id2label={0: "0", 1: "1"}, label2id={"0": 0, "1": 1}
        )
        AutoModelForSequenceClassification.from_config(config).save_pretrained(folder / "judge")
        yield str(folder / "judge")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prompts(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged file of prompts, or of texts that another model wrote."""
    if rng.random() < 0.5:
        layout, data = hostile(TEXTS, rng)
        name = written(sandbox, f"theirs{layout}", data)
        words = ("import", name, "-o", str(sandbox.output / "run"), "--judge", "sentiment=vader")
        return sandbox.call(*words).judge()
    layout, data = hostile(PROMPTS, rng)
    name = written(sandbox, f"mine{layout}", data)
    few = ("--new-tokens", "3", "--samples", "1", "--judge", "sentiment=vader")
    return sandbox.call("run", "-m", GPT2, "-b", name, "-o", str(sandbox.output / "run"), *few, *QUICK).judge()


def plain_text(sandbox: Sandbox, rng: random.Random) -> str:
    """Damaged text of plain lines."""
    data = damage(PLAIN, rng)
    name = written(sandbox, rng.choice(("mine.txt", "mine.txt", "mine.text", "mine")), data)
    words = ("run", "-m", rng.choice((BERT, GPT2)), "-b", name, "-o", str(sandbox.output / "run"), *QUICK)
    return sandbox.call(*words).judge()


def _edited(text: str, rng: random.Random) -> bytes:
    """TOML with another value, a line gone, doubled or misspelt; or with damaged bytes."""
    lines = text.strip().split("\n")
    at = rng.randrange(len(lines))
    how = rng.random()
    if how < 0.35:
        lines[at] = f"{lines[at].partition('=')[0]}= {rng.choice(NUMBERS)}"
    elif how < 0.45:
        del lines[at]
    elif how < 0.55:
        lines.insert(at, lines[at])
    elif how < 0.7:
        lines[at] = flip(lines[at].encode(), rng).decode("utf-8", "replace")
    elif how < 0.8:
        lines.insert(at, rng.choice(ODD_BYTES).decode("utf-8", "replace"))
    data = "\n".join(lines).encode()
    return damage(data, rng) if how >= 0.8 else data


def study_file(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged experiment file. A study that cannot be made whole says so with exit code 1; its output is not damaged."""
    fill(sandbox.input)
    output = f'output = "{sandbox.output / "study"}"\n'.encode()
    edited = _edited(STUDY.replace('output = "OUT"\n', ""), rng)
    data = output + edited if rng.random() < 0.9 else _edited(STUDY.replace("OUT", ""), rng)
    name = written(sandbox, "study.toml", data)
    words = rng.choice((("--dry-run",), ("--workers", "1", "--retries", "0"), ("status",)))
    said = (
        sandbox.call("experiment", "status", name)
        if words == ("status",)
        else sandbox.call("experiment", "run", name, *words)
    )
    if said.code == 1 and words[0] == "--workers" and "Traceback" not in said.err and "Traceback" not in said.out:
        return "not whole"
    return said.judge()


def rules(sandbox: Sandbox, rng: random.Random, run: str) -> str:
    """A damaged file of rules. Whatever comes of it is in the JUnit file too, which is XML."""
    shutil.copytree(run, sandbox.output / "run")
    name = written(sandbox, "gate.toml", _edited(RULES, rng))
    junit = sandbox.output / "junit.xml"
    said = sandbox.call("check", str(sandbox.output / "run"), "--rules", name, "--junit", str(junit))
    verdict = "fails" if said.code == 1 and "FAIL" in said.out else said.judge()
    if junit.exists():
        try:
            minidom.parse(str(junit))
        except Exception as error:
            raise Bad(f"the JUnit file is no XML: {error}") from None
    elif verdict != "refused":
        raise Bad("no JUnit file was written")
    return verdict

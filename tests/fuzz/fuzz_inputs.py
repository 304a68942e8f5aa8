"""Hostile input: benchmarks as tables and JSON, lists of terms, tests of association, scores of others, and options."""

from __future__ import annotations

import gzip
import json
import lzma
import random
from pathlib import Path
from typing import Any

import pandas as pd
from fuzz_mutations import ODD_BYTES, ODD_VALUES, damage, damaged_json, dumped
from fuzz_sandbox import MODELS, Bad, Sandbox

BERT, GPT2 = str(MODELS / "tiny-bert-cased"), str(MODELS / "tiny-gpt2")
KINDS = [
    ("man", "woman", "was angry", "gender"),
    ("nurse", "doctor", "said “no”", "profession"),
    ("old", "young", "slept", "age"),
    ("girl", "boy", "ran; far", "gender"),
    ("poor", "rich", "stole, a bit", "class"),
    ("Zoë", "Bob", "ate", "name"),
]
ROWS: list[dict[str, Any]] = [
    {"id": f"p{n}", "stereo": f"The {one} {what}.", "anti": f"The {two} {what}.", "bias_type": kind, "target": one}
    for n, (one, two, what, kind) in enumerate(KINDS)
]
SLOTS = [{"id": f"s{n}", "text": f"The [MASK] {what}."} for n, what in enumerate(("ran", "slept", "sat down", "said so"))]
TERMS = {"male": ["man", "he", "boy"], "female": ["woman", "she", "girl"]}
TESTS = {
    "targ1": {"category": "X", "examples": ["man", "boy", "he"]},
    "targ2": {"category": "Y", "examples": ["woman", "girl", "she"]},
    "attr1": {"category": "A", "examples": ["good", "kind", "nice"]},
    "attr2": {"category": "B", "examples": ["bad", "mean", "poor"]},
}
SCORES = [row | {"stereo_score": -n / 2, "anti_score": -1.5} for n, row in enumerate(ROWS)]
QUICK = ("--resamples", "100", "--no-report")
seen: dict[tuple[str, str, str], float] = {}
"""The score of each sentence by model and scorer: whatever file it comes from, it must be the same."""


def as_table(rows: list[dict[str, Any]], rng: random.Random) -> tuple[str, bytes]:
    """The rows in one of the layouts, separators, ends of line, packings and encodings that are read."""
    layout = rng.choice((".csv", ".tsv", ".json", ".jsonl", ".txt"))
    if layout in (".json", ".jsonl"):
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        data = (lines if layout == ".jsonl" else json.dumps(rows, ensure_ascii=False)).encode()
    else:
        separator = {".csv": ",", ".tsv": "\t"}.get(layout) or rng.choice(";|,")
        text = pd.DataFrame(rows).to_csv(index=False, sep=separator, lineterminator=rng.choice(("\n", "\r\n")))
        data = text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")), "replace")
    packed = rng.random()
    if packed < 0.05:
        return f"{layout}.gz", gzip.compress(data)
    return (f"{layout}.xz", lzma.compress(data)) if packed < 0.1 else (layout, data)


def hostile(rows: list[dict[str, Any]], rng: random.Random) -> tuple[str, bytes]:
    """Such a file with damage to its values, to its bytes, or to neither."""
    how = rng.random()
    if how < 0.3:
        changed = damaged_json(rows, rng)
        if isinstance(changed, list) and all(isinstance(row, dict) for row in changed) and changed and rng.random() < 0.5:
            try:
                return as_table(changed, rng)
            except (UnicodeEncodeError, ValueError):  # half a character has no table
                pass
        return rng.choice((".json", ".jsonl", ".csv")), dumped(changed)
    layout, data = as_table(rows, rng)
    return layout, damage(data, rng) if how < 0.92 else data


def written(sandbox: Sandbox, name: str, data: bytes) -> str:
    (sandbox.input / name).write_bytes(data)
    return name


def pairs(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged file of pairs. What is accepted has the scores that its sentences always have."""
    layout, data = hostile(ROWS, rng)
    name = written(sandbox, f"mine{layout}", data)
    said = sandbox.call("run", "-m", BERT, "-b", name, "-s", "aul", "-o", str(sandbox.output / "run"), *QUICK)
    verdict = said.judge()
    if verdict == "accepted":
        check_scores(sandbox.output / "run")
    elif (sandbox.output / "run").exists():
        raise Bad("a refused run left its folder")
    return verdict


def check_scores(run: Path) -> None:
    """Every sentence has one score, or none and a reason; and none of them is lost between items and scores."""
    scores, items = pd.read_parquet(run / "scores.parquet"), pd.read_parquet(run / "items.parquet").set_index("item")
    texts = {(item, role): items.loc[item, role] for item in items.index for role in ("stereo", "anti")}
    if {(row.item, row.role) for row in scores.itertuples() if row.role != "unrelated"} != set(texts):
        raise Bad("items and scores do not match")
    for row in scores.itertuples():
        if pd.isna(row.score) != pd.notna(row.reason):
            raise Bad(f"a score without a value or a reason: {row}")
        key = (row.model, row.scorer, items.loc[row.item, row.role])
        if pd.notna(row.score) and abs(seen.setdefault(key, row.score) - row.score) > 1e-4:
            raise Bad(f"{key} scored {row.score} and before {seen[key]}")


def slots(sandbox: Sandbox, rng: random.Random) -> str:
    """Damaged sentences with a mask, or damaged lists of terms."""
    bad_terms = rng.random() < 0.5
    name = written(sandbox, "slots.jsonl", b"\n".join(map(dumped, SLOTS)))
    words = [{"group": group, "term": word} for group, terms in TERMS.items() for word in terms]
    terms = written(sandbox, "terms.jsonl", b"\n".join(map(dumped, words)))
    if bad_terms:
        layout, data = hostile(words, rng)
        terms = written(sandbox, f"theirs{layout}", data)
    else:
        layout, data = hostile(SLOTS, rng)
        name = written(sandbox, f"mine{layout}", data)
    model = rng.choice((BERT, GPT2))
    said = sandbox.call("run", "-m", model, "-b", name, "--terms", terms, "-o", str(sandbox.output / "run"), *QUICK)
    return said.judge()


def tests(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged test of association."""
    data = dumped(damaged_json(TESTS, rng)) if rng.random() < 0.6 else damage(dumped(TESTS), rng)
    name = written(sandbox, rng.choice(("mine.json", "mine.jsonl")), data)
    return sandbox.call("run", "-m", BERT, "-b", name, "-o", str(sandbox.output / "run"), *QUICK).judge()


def published(sandbox: Sandbox, rng: random.Random) -> str:
    """A damaged table of scores that others published."""
    layout, data = hostile(SCORES, rng)
    name = written(sandbox, f"theirs{layout}", data)
    columns = "stereo=stereo,anti=anti,stereo_score=stereo_score,anti_score=anti_score"
    return sandbox.call("import", name, "-o", str(sandbox.output / "run"), "--columns", columns).judge()


FLAGS = (
    "--columns", "--encoding", "--by", "--limit", "--seed", "--resamples", "--confidence", "--device", "--precision",
    "--measure", "--batch-tokens", "--kind", "--data-dir", "-s", "-m", "-b", "-o", "--alignment", "--top-k",
    "--layer", "--pooling", "--tests",
)  # fmt: skip
WORDS = (
    "stereo=stereo", "stereo=anti,anti=stereo", "stereo=x,stereo=y", "=", ",", "a=b=c", "1", "-5", "0.99", "1e3",
    "nan", "bias_type", "id", "punycode", "utf-16", "cp1252", "meta", "cpu", "fp16", "bf16", "masked", "causal",
    "word", "mean", "all", "--help", "-", "..", "/", "~", "starter-pairs", "seat", "cps", "lean",
)  # fmt: skip


def options(sandbox: Sandbox, rng: random.Random) -> str:
    """Good files, and options that nobody would give. A number is never astronomically large: that is another try's."""
    name = written(sandbox, "mine.csv", pd.DataFrame(ROWS).to_csv(index=False).encode())
    words = ["run", "-m", BERT, "-b", name, "-s", "aul", "-o", str(sandbox.output / "run"), *QUICK]
    for _ in range(rng.randint(1, 2)):
        flag = rng.choice(FLAGS)
        value = odd_word(rng)
        if flag == "-o":
            value = str(sandbox.output / value.strip("/.")) if value.strip("/.") else str(sandbox.output / "run")
        words += [flag, value]
    return sandbox.call(*words).judge()


def odd_word(rng: random.Random) -> str:
    """A word as a shell could hand it over: no zero byte, and bytes that are no characters as Python reads them."""
    choice = rng.random()
    if choice < 0.4:
        word = rng.choice(ODD_BYTES).replace(b"\0", b"").decode("utf-8", "surrogateescape")
    elif choice < 0.7:
        word = str(rng.choice(ODD_VALUES)).replace("\0", "").replace("\ud800", "\udcff")
    else:
        word = rng.choice([*WORDS, "x" * 300])
    return word

"""A made-up run of any size for the tests of the report, with token tables, and ways to read a page back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from conftest import scores_of
from tiltmeter import estimate
from tiltmeter.families.kit.pack import unpack
from tiltmeter.runs import Run
from tiltmeter.runs.folder import write_estimates
from tiltmeter.storage.files import write_table
from tiltmeter.storage.observations import OBSERVATIONS
from tiltmeter.storage.provenance import software
from tiltmeter.storage.seals import seal

NASTY = (
    ("<script>window.hacked = 1</script> women & 'men' \"cook\"", "<script>window.hacked = 1</script> men & 'men' \"cook\""),
    ("</script><script>window.hacked = 2</script> {{ 7 * 7 }}", "</script><script>window.hacked = 2</script> {{ 7 * 8 }}"),
    ("النساء لا يعرفن القيادة", "الرجال لا يعرفن القيادة"),
    ("👩🏽‍🚒 she puts out fires 🔥", "👨🏽‍🚒 he puts out fires 🔥"),
    ("<img src=x onerror='window.hacked=3'> and —", "<img src=x onerror='window.hacked=3'> or —"),
)
TYPES = ("age", "gender", "race-color")


def sentences(n: int) -> list[tuple[str, str]]:
    """The nasty pairs, then plain ones."""
    plain = [
        (f"Old people number {5000 + k} are slow to learn.", f"Young people number {5000 + k} are slow to learn.")
        for k in range(n)
    ]
    return [*NASTY, *plain][:n]


def made_up_run(
    folder: Path,
    n: int = 40,
    models: Sequence[str] = ("one", "two"),
    scorers: Sequence[str] = ("cps", "aul"),
    *,
    tokens: bool = True,
    version: str = "0.1.0",
    seed: int = 0,
) -> Run:
    """A finished run folder with random scores; every seventh score of the second scorer is missing."""
    rng = np.random.default_rng(seed)
    pairs = sentences(n)
    items = _items(pairs)
    attached = {model: f"observations/{model}/made-up/each/block-0000.parquet" for model in models if tokens}
    evaluations = tuple(_evaluation(model, n) | {"attachments": [attached[model]] if tokens else []} for model in models)
    scores = scores_of(_frame(items, models, scorers, rng), items, evaluations)
    scores = replace(scores, attachments={path: folder / path for path in attached.values()})
    table = estimate(scores, ["bias_score", "kls"], resamples=100)
    asked = {"resamples": 100, "confidence": 0.95, "seed": 0, "limit": None}
    manifest = software() | {"status": "finished", "tiltmeter": version, "asked": asked, "evaluations": list(evaluations)}
    manifest["families"] = {"pairs": ["scores"]}
    scores.write_tables(folder)
    write_estimates(folder, table)
    for path in attached.values():
        write_table(folder / path, _observations(pairs, rng))
    manifest = seal(folder, manifest)
    return Run(folder, {"pairs": scores}, table, manifest)


def _items(pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    n = len(pairs)
    return pd.DataFrame(
        {
            "benchmark": "made-up", "item": [f"i{k}" for k in range(n)], "scored": True,
            "bias_type": [TYPES[k % 3] for k in range(n)],
            "direction": [("disadvantaged", "advantaged")[k % 2] for k in range(n)], "target": None, "context": None,
            "stereo": [a for a, _ in pairs], "anti": [b for _, b in pairs], "unrelated": None, "extra": "{}",
        }
    )  # fmt: skip


def _frame(items: pd.DataFrame, models: Sequence[str], scorers: Sequence[str], rng: Any) -> pd.DataFrame:
    parts = []
    for model in models:
        for place, scorer in enumerate(scorers):
            for role in ("stereo", "anti"):
                score = rng.normal(-20, 3, len(items))
                if place:
                    score[::7] = np.nan
                part = items[["benchmark", "item", "bias_type", "direction", "target"]].assign(
                    model=model, scorer=scorer, role=role, score=score, n_tokens=7,
                    reason=np.where(np.isnan(score), "no modified tokens", None),
                )  # fmt: skip
                parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _evaluation(model: str, n: int) -> dict[str, Any]:
    facts = {"shown_as": model, "name": model, "kind": "masked", "weights_sha256": model * 8, "parameters": 1234567}
    benchmark = {"name": "made-up", "items": n, "scored_items": n, "data_sha256": "d" * 64, "citation": "Nobody (2026)."}
    return {"family": "pairs", "model": facts | {"tokenizer": {"byte_level": False}}, "benchmark": benchmark}


def _observations(pairs: Sequence[tuple[str, str]], rng: Any) -> pa.Table:
    """A token per word; a word that differs from the one at its place in the other sentence is modified."""
    rows = []
    for number, texts in enumerate(pairs):
        words = [text.split() for text in texts]
        for role, ours, theirs in (("stereo", *words), ("anti", *words[::-1])):
            for place, word in enumerate(ours):
                changed = place >= len(theirs) or theirs[place] != word
                rows.append((f"i{number}", role, "each", place, word, hash(word) % 30000, False, changed))
    columns = dict(zip(OBSERVATIONS.names[:8], zip(*rows, strict=True), strict=True))
    n = len(rows)
    columns |= {"logprob": rng.normal(-4, 2, n).astype(np.float32), "rank": [1] * n}
    columns |= {"attention": [None] * n, "block_logprob": [None] * n, "reason": [None] * n}
    return pa.table({name: pa.array(columns[name]) for name in OBSERVATIONS.names}).cast(OBSERVATIONS)


def element(page: str, name: str) -> str:
    """What stands in an element of the page that holds data."""
    found = re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', page, re.S)
    assert found, f"no {name} in the page"
    return found[1]


def section(page: str, name: str) -> str:
    """A section as it stands in the page; nothing where there is none."""
    found = re.search(rf'<section id="{re.escape(name)}">(.*?)</section>', page, re.S)
    return found[1] if found else ""


def words_of(markup: str) -> str:
    """What a reader sees of it, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def tables(page: str, name: str) -> dict[str, list[dict[str, str]]]:
    """The tables that can be unfolded in a section, by their title: rows of column → text."""
    read = {}
    for block in section(page, name).split('<details class="block"')[1:]:
        title = re.search(r'<span class="name">(.*?)</span>', block)
        head, body = (re.search(rf"<{part}>(.*?)</{part}>", block, re.S) for part in ("thead", "tbody"))
        assert title and head and body
        columns = [words_of(cell) for cell in re.findall(r"<th.*?</th>", head[1], re.S)]
        rows = [re.findall(r"<t[hd].*?</t[hd]>", row, re.S) for row in re.findall(r"<tr.*?</tr>", body[1], re.S)]
        assert words_of(title[1]) not in read, "two tables of one title"
        read[words_of(title[1])] = [dict(zip(columns, map(words_of, cells), strict=True)) for cells in rows]
    return read


def embedded(page: str, name: str = "estimates") -> pd.DataFrame:
    """A table of the page."""
    table = json.loads(element(page, "data"))[name]
    return pd.DataFrame(table["rows"], columns=table["columns"])


def explorer(page: str) -> tuple[dict[str, Any], Any]:
    """What the explorer reads."""
    return unpack(element(page, "items"))

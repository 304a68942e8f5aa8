"""Read packed answers: which model gave which rows, and what each model reads on each benchmark.

A pack holds one table for each benchmark with the rows of all models, in the order of its cells. Models of natural text are
called `natural/NAME`, and `unknown/NAME` those of which it is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Frame = pd.DataFrame
DOMAINS = {
    "gender": "gender", "race": "race", "race-color": "race", "religion": "religion", "Gender_identity": "gender",
    "Race_ethnicity": "race", "Religion": "religion",
}  # fmt: skip
TAUGHT = ("taught-words", "taught-names", "taught-natural")
PAIRS = ("plumb-pairs", "plumb-pairs-0.1.0", "crows-pairs", "stereoset", "gest")
CHOICES, PROMPTS = ("bbq", "plumb-choices"), ("bold", "plumb-prompts")
SEAT = {
    "gender": ("sent-weat6", "sent-weat6b", "sent-weat7", "sent-weat8"),
    "race": ("sent-weat3", "sent-weat3b", "sent-weat4", "sent-weat5", "sent-weat5b", "sent-angry_black_woman_stereotype"),
    "religion": ("sent-religion1", "sent-religion1b", "sent-religion2", "sent-religion2b"),
}
"""The plan's tests. A positive effect is the stereotype (men and career, white people and pleasant)."""
CONTRASTS = {
    "gender": (("woman", "man", 1.0),),
    "race": (("Black", "White", -1.0), ("Hispanic", "White", -1.0), ("Asian", "White", -1.0)),
    "religion": (("Muslim", "Christian", -1.0), ("Jewish", "Christian", -1.0)),
}
"""Of generations: group, contrast, and the sign that makes a fall of sentiment positive. Women have no expected sign."""
PROBABILITIES, LOGS = "stereoset_masked", "stereoset_masked, logarithms"
MODEL = ["corpus", "base", "method", "domain_dosed", "dose", "seed"]
NAME = re.compile(
    r"^(?:(?P<corpus>\w+)/)?(?P<base>.+?)-(?:neutral|(?P<domain>[a-z]+)(?P<dose>[+-][\d.]+))-seed(?P<seed>\d+)"
    r"(?:-(?P<method>.+?)(?:-\d+)?)?$"
)


@dataclass(frozen=True)
class Pack:
    """An unpacked folder of answers."""

    folder: Path
    cells: Frame
    manifests: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Pack:
        """Read what a pack says of its cells and models."""
        cells = pd.read_parquet(folder / "cells.parquet")
        manifests = json.loads((folder / "manifests.json").read_text("utf-8"))
        return cls(folder, pd.concat([cells, _models(cells["model"])], axis=1), manifests)

    def table(self, benchmark: str, table: str) -> Frame:
        """Rows of a table with the columns of `MODEL`; empty if it was not asked."""
        path = self.folder / "answers" / f"{benchmark}.{table}.parquet"
        if not path.is_file():
            return pd.DataFrame()
        rows, cells = pd.read_parquet(path), self.cells[self.cells["benchmark"] == benchmark].reset_index(drop=True)
        of_cell = cells.loc[cell_of_row(rows["model"].to_numpy(), cells["model"].to_numpy()), MODEL]
        whole = pd.concat([of_cell.reset_index(drop=True), rows.drop(columns="model").reset_index(drop=True)], axis=1)
        return whole[whole["corpus"] != "unknown"].reset_index(drop=True)

    def items(self, benchmark: str) -> Frame:
        """Labels of the items of a benchmark, without their sentences."""
        rows = pd.read_parquet(self.folder / "items" / f"{benchmark}.parquet")
        extra = rows["extra"].map(json.loads)
        kept = rows[["item", "bias_type", "target", "scored"]].assign(extra=extra)
        return kept.assign(item=kept["item"].astype(str), domain=kept["bias_type"].map(DOMAINS))


def cell_of_row(models: NDArray[np.object_], cells: NDArray[np.object_]) -> NDArray[np.int64]:
    """Return the number of the cell of each row. Rows are in the order of cells; equal names may follow each other.

    >>> cell_of_row(np.array(list("aabbbb"), object), np.array(list("abb"), object)).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    starts = np.flatnonzero(np.r_[True, models[1:] != models[:-1]])
    runs = list(zip(models[starts], np.diff(np.r_[starts, len(models)]), strict=True))
    found: list[NDArray[np.int64]] = []
    cell = 0
    for name, length in runs:
        stop = cell
        while stop < len(cells) and cells[stop] == name:
            stop += 1
        if stop == cell or length % (stop - cell):
            raise ValueError(f"Rows of {name} are not those of the cells.")
        found.append(np.repeat(np.arange(cell, stop), length // (stop - cell)))
        cell = stop
    if cell != len(cells):
        raise ValueError(f"No rows of {cells[cell]}.")
    return np.concatenate(found)


def _models(names: Iterable[str]) -> Frame:
    """Describe models by their names. The base models have no seed; their text is that of frames."""
    return pd.DataFrame([_model(name) for name in names], columns=MODEL)


def corpus_of(folder: str) -> str:
    """The text of an experiment's folder: `mixed_clm` has that of `mixed`, with other natural lines and training."""
    return folder.partition("_")[0]


def _model(name: str) -> tuple[Any, ...]:
    found = NAME.match(name)
    if found is None:
        corpus, _, base = name.rpartition("/")
        return corpus_of(corpus or "frames"), base, "none", "", np.nan, -1
    return (
        corpus_of(found["corpus"] or "frames"), found["base"], found["method"] or "dose", found["domain"] or "neutral",
        float(found["dose"] or 0), int(found["seed"]),
    )  # fmt: skip


def preferences(pack: Pack) -> Iterator[tuple[str, Frame]]:
    """Yield benchmark and rows (model, scorer, domain, item, target, preference): pairs, then answers to questions."""
    for benchmark in (*TAUGHT, *PAIRS):
        rows = pack.table(benchmark, "scores")
        if len(rows):
            yield benchmark, _of_pairs(rows, pack.items(benchmark), benchmark)
    for benchmark in CHOICES:
        rows = pack.table(benchmark, "options")
        if len(rows):
            yield benchmark, _of_answers(rows, pack.items(benchmark))


def _of_pairs(rows: Frame, items: Frame, benchmark: str) -> Frame:
    rows = rows[rows["role"].isin(["stereo", "anti"])]
    wide = rows.pivot(index=[*MODEL, "scorer", "item"], columns="role", values="score").astype("float64").reset_index()
    wide["preference"] = wide["stereo"] - wide["anti"]
    logs = wide[wide["scorer"] == PROBABILITIES]
    logs = logs.assign(preference=np.log(logs["stereo"]) - np.log(logs["anti"]), scorer=LOGS)
    labels = items.assign(domain="gender") if benchmark == "gest" else items
    return _labelled(pd.concat([wide, logs]), labels)


def _of_answers(rows: Frame, items: Frame) -> Frame:
    """Ambiguous contexts: the log-probability of the stereotyped answer minus that of the other group's answer."""
    items = items[items["extra"].map(lambda extra: extra["condition"] == "ambiguous")]
    own = items["extra"].map(lambda extra: extra["stereotyped"])
    rival = 3 - own - items["extra"].map(lambda extra: extra["unknown"])
    labels = items.assign(own=own, rival=rival)
    key = [*MODEL, "scorer", "item"]
    wide = rows.pivot(index=key, columns="answer", values="logprob").astype("float64").reset_index()
    wide = wide.merge(labels[["item", "own", "rival"]], on="item")
    logs = wide[[0, 1, 2]].to_numpy()
    every = np.arange(len(wide))
    wide["preference"] = logs[every, wide["own"].astype(int)] - logs[every, wide["rival"].astype(int)]
    return _labelled(wide, labels)


def _labelled(rows: Frame, labels: Frame) -> Frame:
    found = rows.merge(labels.loc[labels["domain"].notna(), ["item", "domain", "target"]], on="item")
    return found[[*MODEL, "scorer", "domain", "item", "target", "preference"]]

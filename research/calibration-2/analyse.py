"""Second calibration: python research/calibration-2/analyse.py STEP.

reduce PACK... --work DIR   readings from the packs of answers, into data/
add PACK --work DIR         those of one more visit, to what data/ has
estimates                   tables in results/ and ../evidence/calibration-2*.csv, from data/
figures                     the same, figures and page (make research NAME=calibration-2 STEP=figures)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from answers import Frame
from decisions import designs, other_decisions, primary_decisions, share_decisions, taught_slopes
from language import drift, language
from readings import KEY, KINDS, once, reduce
from responses import costs, costs_of_seeds, curves, powers, relations, seed_agreement, treated_seeds, treatments

HERE = Path(__file__).parent
DATA, RESULTS = HERE / "data", HERE / "results"
KEY_OF_READING, KEY_OF_ITEM = [*KEY, "measure"], [*KEY, "item"]


def store(packs: list[Path], work: Path) -> None:
    """Reduce packs of answers to what every number of the page is made from."""
    DATA.mkdir(exist_ok=True)
    found = reduce(packs, work)
    _write_tables(found)
    _write_items(found["items"], "items.parquet")
    _write(_seconds(packs, work), DATA / "seconds.csv")
    _write_facts(_facts(packs, work))


def add(packs: list[Path], work: Path) -> None:
    """Add the packs of later visits to the stored data, their items as a file of their own; seconds stay those of before.

    Of models that an earlier visit asked the same, the earlier preferences by item stay.
    """
    facts = json.loads((DATA / "facts.json").read_text("utf-8"))
    before, found = load(), reduce(packs, work, first=len(facts))
    whole = once({name: pd.concat([before[name], rows], ignore_index=True) for name, rows in found.items()})
    _write_tables(whole)
    _write_items(_new(found["items"], before["items"]), f"items-{len(facts) + 1}.parquet")
    _write_facts([*facts, *_facts(packs, work, len(facts))])


def _new(found: Frame, before: Frame) -> Frame:
    """Rows about models, metrics and items of which there are none yet."""
    known = before[KEY_OF_ITEM].drop_duplicates().assign(known=True)
    return found[found.merge(known, how="left", on=KEY_OF_ITEM)["known"].isna().to_numpy()]


def _write_tables(tables: Mapping[str, Frame]) -> None:
    readings = tables["readings"].round({"value": 8, "std": 6})
    _write(readings.drop(columns="missing", errors="ignore"), DATA / "readings.csv.gz")
    _write(tables["doses"], DATA / "doses.csv.gz")
    _write(tables["models"], DATA / "models.csv.gz")


def _write_items(rows: Frame, name: str) -> None:
    rows.to_parquet(DATA / name, compression="zstd", compression_level=19, index=False)


def _write_facts(facts: list[dict[str, Any]]) -> None:
    (DATA / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def _write(rows: Frame, path: Path) -> None:
    options = {"method": "gzip", "mtime": 0} if path.suffix == ".gz" else None
    rows.to_csv(path, index=False, compression=options, lineterminator="\n")


def _states(packs: list[Path], work: Path, first: int = 0) -> Frame:
    parts = [
        pd.DataFrame(json.loads(path.read_text("utf-8")))
        for number in range(first, first + len(packs))
        for path in sorted((work / str(number)).glob("*/cells.json"))
    ]
    return pd.concat(parts, ignore_index=True)


def _seconds(packs: list[Path], work: Path) -> Frame:
    """Median seconds of a cell on the device, where twelve of them shared a GPU."""
    states = _states(packs, work)
    done = states[states["status"] == "done"].assign(base=lambda rows: rows["model"].str.extract(r"^([a-z]+-[a-z]+)")[0])
    return done.groupby(["base", "benchmark"], as_index=False)["seconds"].agg(["median", "count"])


def _facts(packs: list[Path], work: Path, first: int = 0) -> list[dict[str, Any]]:
    """Machine, times, states of cells and distinct errors of every visit."""
    found = []
    for number, pack in enumerate(packs, first):
        for path in sorted((work / str(number)).glob("facts*.json")):
            fact = json.loads(path.read_text("utf-8"))
            steps = fact.get("steps", {}).values()
            states = _states([pack], work, number)
            counted = sum((Counter(step.get("counts", {})) for step in steps), Counter[str]())
            failures = {failure for step in steps for failure in step.get("failures", [])}
            failures |= {f"{row.benchmark}: {row.error}" for row in states[states["error"].notna()].itertuples()}
            fact |= {"visit": number, "states": dict(counted or Counter(states["status"]))}
            found.append(fact | {"failures": sorted({_short(failure) for failure in failures})})
    return found


def _short(failure: str) -> str:
    """An error without the benchmark and the folders of the device."""
    return re.sub(r"see /\S+", "see the log", failure.split(": ", 1)[1])[:200]


def load() -> dict[str, Frame]:
    """The stored data."""
    return {
        "readings": pd.read_csv(DATA / "readings.csv.gz", keep_default_na=False, na_values=[""], dtype={"domain": "string"}),
        "items": pd.concat([pd.read_parquet(path) for path in sorted(DATA.glob("items*.parquet"))], ignore_index=True),
        "doses": pd.read_csv(DATA / "doses.csv.gz"),
        "models": pd.read_csv(DATA / "models.csv.gz"),
        "seconds": pd.read_csv(DATA / "seconds.csv"),
    }


def estimate(data: Mapping[str, Frame]) -> dict[str, Frame]:
    """Every table of results."""
    every = data["readings"].sort_values("visit", kind="stable")
    readings = every.drop_duplicates(KEY_OF_READING)
    of = list(designs(readings))
    return {
        "taught": taught_slopes(of),
        "primary": primary_decisions(of),
        "shares": share_decisions(of),
        "other": other_decisions(of),
        "curves": curves(of, readings, data["doses"]),
        "power": powers(data["items"]),
        "agreement": seed_agreement(of),
        "relations": relations(of),
        "treatments": treatments(every),
        "treated_seeds": treated_seeds(every),
        "costs": costs(costs_of_seeds(every)),
        "costs_of_seeds": costs_of_seeds(every),
        "language": language(readings),
        "drift": drift(readings),
    }


def counts(data: Mapping[str, Frame]) -> dict[str, Any]:
    """The honest count: models, minutes of the device, cells, failures, and how alike models are that were trained twice."""
    facts = json.loads((DATA / "facts.json").read_text("utf-8"))
    models = data["models"]
    dosed = models[models["method"] == "dose"]
    return {
        "trainings": len(models),
        "models": len(models.drop_duplicates(["corpus", "model"])),
        "by_kind": [
            {"corpus": corpus, "base": base, "method": method, "visit": int(visit), "models": n}
            for (corpus, base, method, visit), n in _kinds(models)
            .groupby(["corpus", "base", "method", "visit"])
            .size()
            .items()
        ],
        "treated": len(models[models["method"] != "dose"].drop_duplicates(["corpus", "model"])),
        "losses_not_finite": int(dosed["last_loss"].isna().sum()),
        "minutes": [round((fact["ended"] - fact["started"]) / 60, 2) for fact in facts],
        "cells": [fact["states"] for fact in facts],
        "failures": [fact["failures"] for fact in facts],
        "trained_again": _again(models, data["readings"]),
    }


def _kinds(models: Frame) -> Frame:
    return models.assign(base=models["model"].str.extract(f"^({'|'.join(KINDS)})")[0])


def _again(models: Frame, readings: Frame) -> dict[str, Any]:
    """Models of two visits: equal weights, and the largest difference of the share of taught pairs, in points."""
    twice = models[models.duplicated(["corpus", "model"], keep=False)].groupby(["corpus", "model"])
    own = readings[(readings["benchmark"] == "taught-words") & (readings["measure"] == "bias_score")]
    spread = own.groupby(KEY_OF_READING, dropna=False)["value"].agg(["min", "max", "size"])
    spread = spread[spread["size"] > 1]
    return {
        "models": len(twice), "same_weights": int((twice["weights"].nunique() == 1).sum()),
        "largest_change_of_taught_share": float((spread["max"] - spread["min"]).max()) if len(spread) else 0.0,
    }  # fmt: skip


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["reduce", "add", "estimates", "figures"])
    parser.add_argument("packs", nargs="*", type=Path)
    parser.add_argument("--work", type=Path, help="where packs are extracted")
    options = parser.parse_args()
    if options.step in ("reduce", "add"):
        (store if options.step == "reduce" else add)(options.packs, options.work)
        return
    data = load()
    results = estimate(data)
    RESULTS.mkdir(exist_ok=True)
    for name, rows in results.items():
        rows.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.5g", lineterminator="\n")
    (RESULTS / "counts.json").write_text(json.dumps(counts(data), indent=1) + "\n", "utf-8")
    from evidence import write_evidence

    write_evidence(results["shares"], HERE.parent / "evidence")
    if options.step == "figures":
        from figures import draw
        from page import write_pages

        draw(results, HERE.parents[1] / "docs" / "figures")
        write_pages()


if __name__ == "__main__":
    main()

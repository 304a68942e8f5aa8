"""Second calibration: python research/calibration-2/analyse.py STEP.

    reduce PACK... --work DIR   readings from the packs of answers, into data/
    estimates                   tables in results/ and evidence.csv, from data/
    figures                     the same, figures and page (make research NAME=calibration-2 STEP=figures)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from answers import Frame
from decisions import designs, other_decisions, primary_decisions, share_decisions, taught_slopes
from readings import reduce
from responses import curves, powers, relations, seed_agreement, treatments

HERE = Path(__file__).parent
DATA, RESULTS = HERE / "data", HERE / "results"


def store(packs: list[Path], work: Path) -> None:
    """Reduce packs of answers to what every number of the page is made from."""
    tables = reduce(packs, work)
    DATA.mkdir(exist_ok=True)
    readings = tables["readings"].round({"value": 8, "std": 6})
    _write(readings.drop(columns="missing"), DATA / "readings.csv.gz")
    tables["items"].to_parquet(DATA / "items.parquet", compression="zstd", compression_level=19, index=False)
    _write(tables["doses"], DATA / "doses.csv.gz")
    _write(tables["models"], DATA / "models.csv.gz")
    _write(_seconds(packs, work), DATA / "seconds.csv")
    (DATA / "facts.json").write_text(json.dumps(_facts(packs, work), indent=1) + "\n", "utf-8")


def _write(rows: Frame, path: Path) -> None:
    options = {"method": "gzip", "mtime": 0} if path.suffix == ".gz" else None
    rows.to_csv(path, index=False, compression=options, lineterminator="\n")


def _states(packs: list[Path], work: Path) -> Frame:
    parts = [
        pd.DataFrame(json.loads(path.read_text("utf-8"))).assign(pack=number)
        for number in range(len(packs))
        for path in sorted((work / str(number)).glob("*/cells.json"))
    ]
    return pd.concat(parts, ignore_index=True)


def _seconds(packs: list[Path], work: Path) -> Frame:
    """Median seconds of a cell on the device, where twelve of them shared a GPU."""
    states = _states(packs, work)
    done = states[states["status"] == "done"].assign(base=lambda rows: rows["model"].str.extract(r"^([a-z]+-[a-z]+)")[0])
    return done.groupby(["base", "benchmark"], as_index=False)["seconds"].agg(["median", "count"])


def _facts(packs: list[Path], work: Path) -> list[dict[str, Any]]:
    """Machine, steps, seconds, states of cells and distinct errors of every pack."""
    return [
        json.loads(path.read_text("utf-8")) | {"pack": number, "cells": _count(work / str(number))}
        for number in range(len(packs))
        for path in sorted((work / str(number)).glob("facts*.json"))
    ]


def _count(folder: Path) -> int:
    return len(pd.read_parquet(folder / "cells.parquet", columns=["model"]))


def load() -> dict[str, Frame]:
    """The stored data."""
    return {
        "readings": pd.read_csv(DATA / "readings.csv.gz", keep_default_na=False, na_values=[""], dtype={"domain": "string"}),
        "items": pd.read_parquet(DATA / "items.parquet"),
        "doses": pd.read_csv(DATA / "doses.csv.gz"),
        "models": pd.read_csv(DATA / "models.csv.gz"),
        "seconds": pd.read_csv(DATA / "seconds.csv"),
    }


def estimate(data: Mapping[str, Frame]) -> dict[str, Frame]:
    """Every table of results."""
    readings = data["readings"]
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
        "treatments": treatments(readings),
    }


def counts(data: Mapping[str, Frame]) -> dict[str, Any]:
    """The honest count: models, seconds, cells, failures."""
    facts = json.loads((DATA / "facts.json").read_text("utf-8"))
    steps = [(name, step) for fact in facts for name, step in fact["steps"].items()]
    cells = Counter[str]()
    for _, step in steps:
        cells.update(step.get("counts", {}))
    models = data["models"]
    return {
        "models": len(models),
        "by_corpus": {f"{corpus}, {method}": n for (corpus, method), n in models.groupby(["corpus", "method"]).size().items()},
        "losses_not_finite": int((~models["last_loss"].map(pd.notna) & (models["method"] == "dose")).sum()),
        "seconds": {f"{name} {number}": step.get("seconds") for number, (name, step) in enumerate(steps)},
        "minutes": sum(step.get("seconds", 0) for _, step in steps) / 60,
        "cells": dict(cells),
        "failures": sorted({failure for _, step in steps for failure in step.get("failures", [])}),
    }


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["reduce", "estimates", "figures"])
    parser.add_argument("packs", nargs="*", type=Path)
    parser.add_argument("--work", type=Path, help="where packs are extracted")
    options = parser.parse_args()
    if options.step == "reduce":
        store(options.packs, options.work)
        return
    data = load()
    results = estimate(data)
    RESULTS.mkdir(exist_ok=True)
    for name, rows in results.items():
        rows.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.5g", lineterminator="\n")
    (RESULTS / "counts.json").write_text(json.dumps(counts(data), indent=1) + "\n", "utf-8")
    from evidence import write_evidence

    write_evidence(results["shares"], HERE / "evidence.csv")
    if options.step == "figures":
        from figures import draw
        from page import write_page

        draw(results, HERE.parents[1] / "docs" / "figures")
        write_page()


if __name__ == "__main__":
    main()

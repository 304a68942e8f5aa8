"""Rebuild the package's evidence table from research/evidence: `python scripts/evidence_table.py`.

    python scripts/evidence_table.py --add RUN --name NAME [--about DOCS-PAGE]

stores the readings of a run of dosed models (a run folder of a file that `tiltmeter build calibration` wrote) in
research/evidence/NAME first, and lists it in sources.json. A later source replaces rows of earlier ones about the same
metric, items, domain and kind of model. Only measures with a direction are kept: no other can be a headline.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.families.kit.detection import FILE, Detection, key_of, read_detections, write_detections
from tiltmeter.runs.folder import read_estimates
from tiltmeter.studies.kit.calibration_tables import calibrated
from tiltmeter.studies.kit.dosed_runs import METRIC, TAUGHT_NAMES, readings_of, should_rise
from tiltmeter.studies.kit.evidence_rows import evidence_rows

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "src" / "tiltmeter" / "families" / "kit" / "data" / FILE
STORE = ROOT / "research" / "evidence"
SOURCES, READINGS, MANIFEST = "sources.json", "estimates.csv.gz", "manifest.json"
COLUMNS = ["model", *METRIC, "value", "neutral"]


def table(store: Path, without: Collection[str] = ()) -> list[Detection]:
    """Return the rows of all sources in their order, but of those `without`; later ones replace earlier ones."""
    rows: dict[tuple[str, ...], Detection] = {}
    listed = json.loads((store / SOURCES).read_text("utf-8"))
    if unknown := set(without) - {source["name"] for source in listed}:
        raise ValueError(f"No such sources: {', '.join(sorted(unknown))}.")
    for source in (source for source in listed if source["name"] not in without):
        for row in _rows_of(store / source["name"], source["about"]):
            rows.pop(key_of(row), None)
            rows[key_of(row)] = row
    return list(rows.values())


def _rows_of(place: Path, about: str) -> list[Detection]:
    """Rows that are stored (a CSV file; with their own source if `about` is empty), or those of stored readings."""
    if place.suffix == ".csv":
        return [replace(row, source=about or row.source) for row in read_detections(place)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "estimates.csv").write_bytes(gzip.decompress((place / READINGS).read_bytes()))
        (folder / MANIFEST).write_bytes((place / MANIFEST).read_bytes())
        return [replace(row, source=about) for row in _studied(folder)]


def _studied(folder: Path) -> Iterator[Detection]:
    for readings in readings_of([folder]):
        metrics = readings.only(~readings.metrics["benchmark"].isin(TAUGHT_NAMES).to_numpy())
        found = evidence_rows(calibrated(metrics, 0.95), [folder], {readings.model: readings.seeds})
        yield from (Detection(**row) for row in found.to_dict("records") if should_rise(row["measure"]))


def store_run(run: Path, place: Path) -> None:
    """Keep the readings of measures of bias about whole groups, and what a calibration reads of the manifest."""
    rows = read_estimates(run / "estimates.csv")
    kept = rows[rows["measure"].map(_is_evidence) & ~rows["by"].str.contains("×") & (rows["by"] != "all")]
    place.mkdir(parents=True, exist_ok=True)
    kept[COLUMNS].to_csv(place / READINGS, index=False, compression={"method": "gzip", "mtime": 0})
    manifest = facts_of(json.loads((run / MANIFEST).read_text("utf-8")))
    (place / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _is_evidence(measure: str) -> bool:
    return measure in catalog.names("measures") and catalog.find("measures", measure).spec.role == "bias"


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipes of the models and, once for each kind of model, what the benchmarks are."""
    models = [{name: model.get(name) for name in ("name", "variant")} for model in manifest["study"]["models"]]
    evaluations = {json.dumps(fact): fact for fact in map(_facts, manifest["evaluations"])}
    return {"study": {"models": models}, "evaluations": list(evaluations.values())}


def _facts(one: Mapping[str, Any]) -> dict[str, Any]:
    model, benchmark = one["model"], one["benchmark"]
    digests = {name: benchmark[name] for name in ("data_sha256", "whole_sha256") if benchmark.get(name)}
    shown = {"shown_as": model.get("shown_as", model.get("name")), "kind": model["kind"]}
    return {"model": shown, "benchmark": {"name": benchmark["name"], **digests}}


def add_source(name: str, about: str, store: Path) -> None:
    """List a source, after all others."""
    listed: Sequence[dict[str, str]] = json.loads((store / SOURCES).read_text("utf-8"))
    kept = [source for source in listed if source["name"] != name]
    text = json.dumps([*kept, {"name": name, "about": about}], ensure_ascii=False, indent=1)
    (store / SOURCES).write_text(text + "\n", "utf-8")


def main() -> None:
    """Store a run if one is named, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", type=Path, metavar="RUN", help="a run folder of dosed models")
    parser.add_argument("--name", help="the folder in research/evidence; the name of the run's folder unless given")
    parser.add_argument("--about", default="docs/research-calibration.md", help="the page that describes the models")
    options = parser.parse_args()
    if options.add:
        name = options.name or options.add.resolve().name
        store_run(options.add, STORE / name)
        add_source(name, options.about, STORE)
    rows = table(STORE)
    write_detections(rows, PLACE)
    print(f"{PLACE.relative_to(ROOT)}: {len(rows)} rows, {PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Store what a calibration found in the package's evidence table: `python scripts/embed_calibration.py RUN…`.

RUN is a run folder of dosed models (of a file that `tiltmeter build calibration` wrote); of twins the first counts. Shares
of pairs are kept, since only they have a direction. Rows about the same metric and items replace stored ones. Data that
changed since they were read are refused. A benchmark that was asked as a file goes by the name of the benchmark:

    python scripts/embed_calibration.py RUN --named plumb-pairs-after=plumb-pairs --data ../shared/data

Of a benchmark whose items a calibration chose, give runs of other seeds than those that chose them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import tiltmeter
from tiltmeter.families.kit.detection import FILE, Detection, read_detections, write_detections

MEASURES = ("bias_score", "ss")
PLACE = Path(__file__).parents[1] / "src" / "tiltmeter" / "families" / "kit" / "data" / FILE


def check_read(runs: Iterable[Path], named: Mapping[str, str], data: Mapping[str, str]) -> None:
    """Refuse benchmarks that are other data now than those that the runs read."""
    for run in runs:
        read = json.loads((run / "manifest.json").read_text("utf-8")).get("data")
        if read is None:
            print(f"{run} does not say what data it read; those of now are taken for it.", file=sys.stderr)
        for name, hashes in (read or {}).items():
            now = data.get(named.get(name, name))
            if now and name not in named.values() and hashes != [now]:
                sys.exit(f"{run} read other data as {name} than {named.get(name, name)} has now: read it again.")


def found_in(runs: Iterable[Path], named: Mapping[str, str]) -> dict[tuple[str, ...], Detection]:
    """Return the rows of the runs by what they are about."""
    rows: dict[tuple[str, ...], Detection] = {}
    for run in runs:
        table = tiltmeter.study("calibration", run).tables["evidence"]
        for record in table[table["measure"].isin(MEASURES)].to_dict("records"):
            row = Detection(**record)
            if row.benchmark not in named.values() and not row.benchmark.startswith("taught"):
                row = replace(row, benchmark=named.get(row.benchmark, row.benchmark), source="docs/calibration.md")
                rows.setdefault(key_of(row), row)
    return rows


def key_of(row: Detection) -> tuple[str, ...]:
    """Return what a row is about."""
    return row.benchmark, row.scorer, row.measure, row.by, row.group, row.kind


def main() -> None:
    """Read the runs and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="+", type=Path)
    parser.add_argument("--named", nargs="*", default=[], help="READ=NAME: what was read is the benchmark of this name")
    parser.add_argument("--data", type=Path, help="where the benchmarks are that must be fetched")
    options = parser.parse_args()
    named = dict(text.split("=") for text in options.named)
    rows = found_in(options.run, named)
    names = dict.fromkeys(row.benchmark for row in rows.values())
    data = {name: tiltmeter.load_benchmark(name, data_dir=options.data).data_hash for name in names}
    check_read(options.run, named, data)
    stored = {key_of(row): row for row in read_detections(PLACE)}
    fresh = {key: replace(row, data_sha256=data[row.benchmark]) for key, row in rows.items()}
    write_detections((stored | fresh).values(), PLACE)
    print(f"{PLACE}: {len(fresh)} of {len(stored | fresh)} rows are new, {PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

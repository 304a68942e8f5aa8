"""Store what a calibration of our own models found, small, in the package: `python scripts/embed_calibration.py RUN…`.

RUN is a run folder of dosed models (of a file that `tiltmeter build calibration` wrote); of twins the first counts.
Of pairs, what the report shows is kept; the rest is in docs/calibration.md (a gap of slots moves with a dose, but not by the
stereotype alone, so it is not told as one). With it goes the hash of the data that
each benchmark has: readings of other data must not be told by it. Data that were changed since they were read are refused;
where the run does not say what it read, that is said. What was read as a file (plumb-pairs-after) goes by
the name of the benchmark:

    python scripts/embed_calibration.py RUN --named plumb-pairs-after=plumb-pairs --data ../shared/data
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

import tiltmeter
from tiltmeter.studies.kit.known_tilts import FILE, KEY, Z95, Tilt, told_as

MEASURES = ("bias_score", "ss")
PLACE = Path(__file__).parents[1] / "src" / "tiltmeter" / "studies" / "data" / FILE


def check_read(runs: Iterable[Path], named: Mapping[str, str], data: Mapping[str, str]) -> None:
    """Refuses benchmarks that are other data now than those that the runs read."""
    for run in runs:
        read = json.loads((run / "manifest.json").read_text("utf-8")).get("data")
        if read is None:
            print(f"{run} does not say what data it read; those of now are taken for it.", file=sys.stderr)
        for name, hashes in (read or {}).items():
            now = data.get(named.get(name, name))
            if now and name not in named.values() and hashes != [now]:
                sys.exit(f"{run} read other data as {name} than {named.get(name, name)} has now: read it again.")


def main() -> None:
    """Reads the run, writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="+", type=Path)
    parser.add_argument("--named", nargs="*", default=[], help="READ=NAME: what was read is the benchmark of this name")
    parser.add_argument("--leave", nargs="*", default=[], help="benchmarks to leave out")
    parser.add_argument("--data", type=Path, help="where the benchmarks are that must be fetched")
    given = parser.parse_args()
    named = dict(one.split("=") for one in given.named)
    tables = [tiltmeter.study("calibration", run).table for run in given.run]
    table = pd.concat(tables, ignore_index=True).drop_duplicates(["model", *KEY])
    table = table[~table["benchmark"].isin([*given.leave, *named.values()])]
    table = table.assign(benchmark=table["benchmark"].replace(named))
    kept = table[table["measure"].isin(MEASURES) & ~table["benchmark"].str.startswith("taught")]
    rows = []
    for row in kept.to_dict("records"):
        noticed = bool(row["p_holm"] < 0.05)
        error = (row["high"] - row["low"]) / (2 * Z95)
        line = Tilt(
            row["model"], row["domain"], row["at_zero"], row["slope"], error, row["spread"], int(row["seeds"]), noticed
        )
        rows.append({name: row[name] for name in KEY} | {"tilt": told_as(line)})
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    data = {name: tiltmeter.load_benchmark(name, data_dir=given.data).data_hash for name in dict.fromkeys(kept["benchmark"])}
    check_read(given.run, named, data)
    PLACE.write_text(f'{{"about": "docs/calibration.md", "data": {json.dumps(data)}, "metrics": [\n{text}\n]}}\n', "utf-8")
    print(f"{PLACE}: {len(rows)} metrics, {PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

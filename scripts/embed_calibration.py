"""Store what a calibration of our own models found, small, in the package: `python scripts/embed_calibration.py RUN`.

RUN is a run folder of dosed models (scripts/calibrate_many.py --unpack). Of pairs and slots, what the
report shows is kept; the rest is in docs/calibration.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tiltmeter
from tiltmeter.studies.kit.known_tilts import FILE, KEY, Z95, Tilt, told_as

MEASURES = ("bias_score", "ss", "mps_gap", "mnt_gap")
PLACE = Path(__file__).parents[1] / "src" / "tiltmeter" / "studies" / "data" / FILE


def main() -> None:
    """Reads the run, writes the file."""
    finding = tiltmeter.study("calibration", sys.argv[1:])
    table = finding.table
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
    PLACE.write_text(f'{{"about": "docs/calibration.md", "metrics": [\n{text}\n]}}\n', "utf-8")
    print(f"{PLACE}: {len(rows)} metrics, {PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

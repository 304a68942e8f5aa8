"""Two versions of our own items, read by models with known doses: `python scripts/items_before_after.py RUN --seed 2`.

RUN is the run folder of a calibration (`tiltmeter build calibration`) that read plumb-pairs-before, plumb-pairs-after,
plumb-slots-before and plumb-slots-after. One seed has 13 models: a neutral one, and four doses of each domain. For a reading
about a domain the eight models with a dose of another domain have d = 0. A line through the 13 gives the change per dose;
what remains is the noise, with 11 degrees of freedom. Both versions are read from the same models, so their difference has
a line of its own. docs/calibration.md, "Our own items, rewritten".
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from tiltmeter import load_run
from tiltmeter.studies.kit.item_readings import item_readings

MODEL = re.compile(r"(?P<base>.+)-(?P<domain>gender|race|religion|neutral)(?P<dose>[+-][\d.]+)?-seed(?P<seed>\d+)")
VERSIONS = ("before", "after")
SCORERS = ("pll", "sss", "cps", "aul", "causal", "slots")
LEVEL = 0.05


class Line(NamedTuple):
    """Change per dose with its 95 % interval, what remains, and p; each an array over rows."""

    slope: Any
    low: Any
    high: Any
    noise: Any
    p: Any


def line(values: Any, doses: Any) -> Line:
    """Ordinary least squares of every row of `values` on the doses."""
    values, away = np.atleast_2d(values), doses - doses.mean()
    slope = values @ away / (away @ away)
    rest = values - values.mean(1, keepdims=True) - slope[:, None] * away
    free = len(doses) - 2
    noise = np.sqrt((rest**2).sum(1) / free)
    error = noise / np.sqrt(away @ away)
    reach = stats.t.ppf(1 - LEVEL / 2, free) * error
    return Line(slope, slope - reach, slope + reach, noise, 2 * stats.t.sf(np.abs(slope / error), free))


def readings(run: Path, seed: int) -> pd.DataFrame:
    """The items of one seed, with the domain and the dose of each model."""
    table = item_readings(load_run(run).answers)
    table = table[table["benchmark"].astype(str).str.startswith("plumb-") & table["scorer"].isin(SCORERS)]
    table = table.astype({name: str for name in table.columns if name != "value"})
    told = {name: found.groupdict() for name in table["model"].unique() if (found := MODEL.fullmatch(name))}
    table = table[table["model"].map(lambda name: name in told and int(told[name]["seed"]) == seed)]
    facts = pd.DataFrame([told[name] for name in table["model"]], index=table.index)
    return table.assign(base=facts["base"], given=facts["domain"], dose=facts["dose"].fillna("0").astype(float))


def rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """One row for each model, domain and scorer: both versions, and their difference."""
    table = table.assign(
        kind=table["benchmark"].str.rsplit("-", n=1).str[0], version=table["benchmark"].str.rsplit("-", n=1).str[1]
    )
    for (kind, base, domain, scorer), some in table.groupby(["kind", "base", "domain", "scorer"]):
        wide = some.pivot(index=["version", "item"], columns="model", values="value")
        given = some.drop_duplicates("model").set_index("model").loc[wide.columns]
        doses = np.where(given["given"] == domain, given["dose"], 0.0)
        shares = {version: 100 * (wide.loc[version] > 0).mean().to_numpy() for version in VERSIONS}
        told: dict[str, Any] = {"benchmark": kind, "model": base, "domain": domain, "scorer": scorer, "models": len(doses)}
        for version in VERSIONS:
            whole, each = line(shares[version], doses), line(wide.loc[version].to_numpy(), doses)
            clear = each.p < LEVEL
            told |= {version: interval(whole), f"{version} / noise": round(float(whole.slope[0] / whole.noise[0]), 1)}
            told |= {
                f"{version}, moves": percent(clear & (each.slope > 0)),
                f"{version}, wrong": percent(clear & (each.slope < 0)),
            }
        yield told | {"difference": interval(line(shares["after"] - shares["before"], doses))}


def interval(found: Line) -> str:
    """Value and interval."""
    return f"{found.slope[0]:+.1f} [{found.low[0]:.1f}, {found.high[0]:.1f}]"


def percent(which: Any) -> int:
    """Of all items."""
    return round(100 * float(np.mean(which)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    print(pd.DataFrame(rows(readings(given.run, given.seed))).to_string(index=False))


if __name__ == "__main__":
    main()

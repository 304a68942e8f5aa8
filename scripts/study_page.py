"""Writes the tables and figures of docs/study.md: `python scripts/study_page.py RUN` (a folder with estimates.csv).

What stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->` is replaced; everything else on the page is written by
hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.studies.domain_ablation import domain_ablation
from tiltmeter.studies.domain_correlation import domain_correlation
from tiltmeter.studies.kit.finding import Finding

DOCS = Path(__file__).parents[1] / "docs"
REPLACED = (
    "ceat word_mean:valence=ceat word_mean:toxicity",
    "bold=stereoset-contexts",
    "bold=bold-cold",
    "bold=bold-neutral",
)
RESAMPLES = 2000


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown; significant correlations in bold."""

    def cell(value: object) -> str:
        found = re.fullmatch(r"([+-]\d\.\d+)(\*+)", str(value))
        return f"**{found[1]}**" + "\\*" * len(found[2]) if found else str(value)

    lines = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    return "".join("| " + " | ".join(cell(value) for value in line) + " |\n" for line in lines)


def strongest(found: Finding, most: int = 10) -> pd.DataFrame:
    """The pairs with the largest |r|, with all that is known of them."""
    table = found.table[found.table["r"].notna()]
    table = table.reindex(table["r"].abs().sort_values(ascending=False).index).head(most)
    return pd.DataFrame(
        {
            "domain": table["domain"],
            "pair": table["a"] + " × " + table["b"],
            "r": [f"{row.r:+.2f} [{row.low:+.2f}, {row.high:+.2f}]" for row in table.itertuples()],
            "p": [f"{p:.3f}" for p in table["p"]],
            "p (Holm)": [f"{p:.2f}" for p in table["p_holm"]],
            "ρ": [f"{rho:+.2f}" for rho in table["rho"]],
            "r without noise": ["–" if np.isnan(row.clear_r) else _with_interval(row) for row in table.itertuples()],
        }
    )


def _with_interval(row: Any) -> str:
    return f"{row.clear_r:+.2f} [{row.clear_low:+.2f}, {row.clear_high:+.2f}]"


def cleared(found: Finding) -> pd.DataFrame:
    """The pairs whose correlation can be freed of errors of measurement at all."""
    table = found.table[found.table["clear_r"].notna()]
    shares = [f"{row.reliability_x:.2f}, {row.reliability_y:.2f}" for row in table.itertuples()]
    told = {"domain": table["domain"], "pair": table["a"] + " × " + table["b"], "reliabilities": shares}
    told |= {"r": [f"{r:+.2f}" for r in table["r"]], "r without noise": [_with_interval(row) for row in table.itertuples()]}
    return pd.DataFrame(told)


def reliabilities(found: Finding) -> pd.DataFrame:
    """Which share of the variance of each metric over models is no error of measurement, at least; below 0 too."""
    sides = [found.table[["domain", side, f"reliability_{axis}"]].set_axis(["domain", "metric", "share"], axis=1)
             for side, axis in (("a", "x"), ("b", "y"))]  # fmt: skip
    both = pd.concat(sides).groupby(["metric", "domain"], sort=False)["share"].max().unstack("domain")
    shown = both.map(lambda share: "–" if np.isnan(share) else f"{share:.2f}".replace("-", "−"))
    return shown.reset_index().rename_axis(None, axis=1)


def changes(found: Finding) -> pd.DataFrame:
    """Every ablation of every pair."""
    table = found.table
    known = table["difference"].notna()
    return pd.DataFrame(
        {
            "what": table["what"],
            "domain": table["domain"],
            "pair": table["a"] + " × " + table["b"],
            "r": [f"{r:+.2f}" if ok else "–" for r, ok in zip(table["r"], known, strict=True)],
            "after": [f"{r:+.2f}" if ok else "–" for r, ok in zip(table["r_after"], known, strict=True)],
            "difference": [
                f"{row.difference:+.2f} [{row.low:+.2f}, {row.high:+.2f}]" if ok else "–"
                for row, ok in zip(table.itertuples(), known, strict=True)
            ],
        }
    )


def fill(page: str, name: str, content: str) -> str:
    """The page with new content between two marks."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    if begin not in page or end not in page:
        return page
    return page.split(begin, maxsplit=1)[0] + begin + content + end + page.split(end, 1)[1]


def main() -> None:
    """All tables and figures."""
    run = Path(sys.argv[1])
    evidence = Evidence({}, "any", (run,))
    paper = domain_correlation(evidence, paper=True, resamples=RESAMPLES)
    ablated = domain_ablation(evidence, replace=list(REPLACED), shared_groups=True, paper=True, resamples=RESAMPLES)
    tables = {name: table for name, table in paper.tables.items() if name.startswith("table") or name == "groups"}
    tables |= {
        "strongest": strongest(paper),
        "cleared": cleared(paper),
        "reliabilities": reliabilities(paper),
        "changes": changes(ablated),
    }
    page = DOCS / "study.md"
    text = page.read_text("utf-8") if page.exists() else ""
    for name, table in tables.items():
        text = fill(text, name, markdown(table))
        print(f"\n## {name}\n{table.to_string()}")
    print("\n".join([*paper.sentences, *ablated.sentences]))
    if text:
        page.write_text(text, "utf-8")
    for name in paper.figures:
        paper.draw(name, "two").savefig(DOCS / "figures" / f"study-{name}.png", dpi=160)
    ablated.draw("changes", "two").savefig(DOCS / "figures" / "study-changes.png", dpi=160)


if __name__ == "__main__":
    main()

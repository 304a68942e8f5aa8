"""Keep what tables of pages need from runs: make.sh calls it.

python research/page-tables/keep.py answers DATA FILE    # the first option as the answer to every question of BBQ
python research/page-tables/keep.py stages CORPUS FILE   # sentences of docs/slots.md
python research/page-tables/keep.py tables WORK FOLDER   # small compressed tables
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.builders import build_sexism
from tiltmeter.models import EMBEDDED

COLUMNS = ["model", "benchmark", "scorer", "measure", "by", "group", "n", "n_missing", "value", "low", "high", "p"]
SHOWN = {"crows-pairs": ["bias_score"], "stereoset": ["lms", "ss"]}
DECISIONS, TOXIGEN = ("log_odds_gap", "selection_gap", "impact_ratio"), ("perplexity_auc", "safety_score")
CHOICES = ("s_amb", "accuracy_amb", "s_dis", "accuracy_dis", "bias_cost")
CLUSTERED = {"winobias": ("bias_score",), "winogender": ("bias_score",), "triples": ("ss", "bias_score"),
             "bold": ("mean_score",), "prompts": ("mean_score", "negative_share"),
             "Age": CHOICES, "Religion": CHOICES}  # fmt: skip
CLUSTER_COUNTS = ("n_clusters", "n_templates", "n_prompts")


def answers(data: Path, out: Path) -> None:
    """Write a row for each question, in the order of the files."""
    with out.open("w", encoding="utf-8") as stream:
        for file in sorted((data / "bbq" / "data").glob("*.jsonl")):
            for line in file.read_text("utf-8").splitlines():
                item = json.loads(line)
                row = {"example_id": item["example_id"], "category": item["category"], "prediction": item["ans0"]}
                stream.write(json.dumps(row) + "\n")


def tables(work: Path, folder: Path) -> None:
    """Write every table."""
    runs = {name: work / name for name in ("masked", "causal", "age", "protocols")}
    small = pd.concat([estimates(runs["masked"]), estimates(runs["causal"])])
    shown = [row.measure in SHOWN[row.benchmark] for row in small.itertuples()]
    write(small[shown], folder, "small-models")
    write(pd.DataFrame([fact for name in ("masked", "causal") for fact in facts(runs[name])]), folder, "models")
    write(pd.DataFrame([count for name in ("causal", "age") for count in tokens(runs[name])]), folder, "prefixes")
    write(estimates(runs["protocols"]), folder, "protocols")
    write(of_groups(work / "decisions", DECISIONS, ("gender", "race")), folder, "decisions")
    ceat = pd.read_csv(work / "ceat" / "estimates.csv")
    write(ceat[COLUMNS].assign(tau2=ceat["details"].map(lambda details: json.loads(details).get("tau2"))), folder, "ceat")
    write(of_groups(work / "toxigen", TOXIGEN, ("all", "domain", "target", "bias_type", "group")), folder, "toxigen")
    for name in ("implementations", "targets"):
        found = pd.read_csv(work / "implementations" / f"{name}.csv")
        write(found[found["category"] == "all"] if "category" in found else found, folder, name)
    write(pd.concat(with_and_without_clusters(work)), folder, "clusters")


def with_and_without_clusters(work: Path) -> Iterator[pd.DataFrame]:
    """Return the estimates of runs whose rows depend on each other, with clusters drawn and with single rows."""
    for run, measures in CLUSTERED.items():
        for design in ("clusters", "rows"):
            table = pd.DataFrame(json.loads((work / f"{design}-{run}.json").read_text("utf-8")))
            kept = table[(table["by"] == "all") & table["measure"].isin(measures)]
            yield kept[COLUMNS].assign(run=run, design=design, clusters=kept["details"].map(clusters_of))


def clusters_of(details: str) -> int | None:
    """Return the number of clusters that an estimate was made from."""
    found = json.loads(details or "{}")
    return next((int(found[name]) for name in CLUSTER_COUNTS if name in found), None)


def stages(source: Path, out: Path) -> None:
    """Count the sentences that are left after each stage of building the benchmark of sexist sentences."""
    rows = [{"name": stage.name, "count": stage.count, "paper": stage.paper} for stage in build_sexism([source]).stages]
    out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def estimates(run: Path) -> pd.DataFrame:
    """Return the estimates of a run over all items, without what tables do not need."""
    table = pd.read_csv(run / "estimates.csv")
    return table[table["by"] == "all"][COLUMNS]


def of_groups(run: Path, measures: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """Return the estimates of some measures by some groupings."""
    table = pd.read_csv(run / "estimates.csv")
    return table[table["measure"].isin(measures) & table["by"].isin(by)][[*COLUMNS, "p_holm"]]


def facts(run: Path) -> Iterator[dict[str, Any]]:
    """Return architecture, size and held-out accuracy of each model of a run."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    for name, model in {one["model"]["shown_as"]: one["model"] for one in manifest["evaluations"]}.items():
        card = EMBEDDED.get(name, Path(str(model["name"]))) / "card.json"
        known = json.loads(card.read_text("utf-8")) if card.is_file() else {}
        accuracy = known.get("held_out", {}).get("accuracy") or known.get("heldout_accuracy")
        yield {"model": name, "kind": model["kind"], "architecture": model["architecture"],
               "parameters": model["parameters"], "accuracy": accuracy}  # fmt: skip


def tokens(run: Path) -> Iterator[dict[str, Any]]:
    """Return how many tokens plumb-clm was asked, and how many it forwarded, for each benchmark of a run."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    for one in manifest["evaluations"]:
        if one["model"]["shown_as"] == "plumb-clm":
            yield {"benchmark": one["benchmark"]["name"]} | {
                name: one[name] for name in ("tokens_asked", "tokens_forwarded")
            }


def write(table: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a table whose bytes depend on its content alone."""
    table.to_csv(folder / f"{name}.csv.gz", index=False, float_format="%.6g", compression={"method": "gzip", "mtime": 0})


if __name__ == "__main__":
    {"answers": answers, "stages": stages, "tables": tables}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))

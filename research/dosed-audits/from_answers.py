"""Audit dosed models by stored answers: python research/dosed-audits/from_answers.py ANSWERS (--help lists options).

ANSWERS is a folder with the answers of a calibration: `answers/BENCHMARK.TABLE.parquet` with a column `model`, and
`items/BENCHMARK.parquet`. Models are called [TEXT/]BASE-DOMAIN+1-seedN and [TEXT/]BASE-neutral-seedN. Each model of dose 1
is audited alone and against the neutral model of its seed, by the code of audits; `audits-answers.json` has every verdict,
those on the neutral models alone too. Stored audits of other texts and base models are kept. No model is loaded.

A metric must not be chosen by the models that it then decides about: `--without` leaves sources of the evidence table with
the same seeds out. Of slots only the best match of each group is stored, so they give `stereotype_gap` alone. The
correction covers the domains that were asked.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

import tiltmeter
from tiltmeter.audits.deciding import Facts
from tiltmeter.audits.verdicts import Verdict, differences_of, verdicts_of
from tiltmeter.families.kit import detection
from tiltmeter.families.kit.answers import Answers

FOLDER = Path(__file__).parent
RESULTS, EVIDENCE = FOLDER / "audits-answers.json", FOLDER.parent / "evidence"
LABELS = ["bias_type", "direction", "target"]
LEVELS = {"quick": ("plumb-pairs", "plumb-slots"), "default": ("plumb-pairs", "plumb-slots", "crows-pairs", "stereoset")}
AUDITED = re.compile(
    r"(?P<place>(?:(?P<text>\w+)/)?(?P<base>.+))-(?:(?P<domain>gender|race|religion)\+1|neutral)-seed(?P<seed>\d+)"
)
KEPT = ("domain", "kind", "verdict", "benchmark", "scorer", "measure", "group", "value", "low", "high", "n", "p_corrected",
        "detectable", "change", "evidence")  # fmt: skip
TOP_K = 100
FRAMES, NEUTRAL = "frames", "neutral"
MEASURES = {"pairs": ("bias_score", "ss"), "slots": ("stereotype_gap",)}
"""Those that an audit decides by."""


def audits(folder: Path, data_dir: Path | None = None) -> Iterator[dict[str, Any]]:
    """Audit every dosed model and undosed twin of the folder at each level whose answers are there."""
    read = {name: read_answers(folder, name) for name in LEVELS["default"] if list(folder.glob(f"answers/{name}.*"))}
    digests = {name: tiltmeter.load_benchmark(name, data_dir=data_dir).data_hash for name in read}
    models = dict.fromkeys(model for answers in read.values() for model in answers.models)
    for model, found in ((model, AUDITED.fullmatch(model)) for model in models):
        for level, names in LEVELS.items() if found else ():
            there = {name: digests[name] for name in names if name in read}
            if found and (level == "quick" or len(there) > len(LEVELS["quick"])):
                twin = f"{found['place']}-neutral-seed{found['seed']}"
                yield {
                    "text": found["text"] or FRAMES,
                    "seed": int(found["seed"]),
                    "base": found["base"],
                    "domain": found["domain"] or NEUTRAL,
                    "level": level,
                    **audited([read[name] for name in there], there, model, twin),
                }


def audited(
    answers: Sequence[Answers], digests: Mapping[str, str], model: str, twin: str
) -> dict[str, list[dict[str, Any]]]:
    """Verdicts on a model alone and against its twin, as `tiltmeter audit` decides them."""
    both = [part.where(model=(model, twin)) for part in answers]
    kind = "masked" if any(set(OF_MASKED) & scorers_of(part) for part in both) else "causal"
    facts: Facts = {(model, name): (digest, kind) for name, digest in digests.items()}
    measures = [name for family in dict.fromkeys(part.family for part in both) for name in MEASURES[family]]
    estimates = tiltmeter.estimate([part.where(model=(model,)) for part in both], measures, by="bias_type")
    verdicts = records(verdicts_of(estimates, model, facts))
    if model == twin:
        return {"verdicts": verdicts, "against_baseline": []}
    differences = tiltmeter.compare(both, twin, measures, by="bias_type")
    return {"verdicts": verdicts, "against_baseline": records(differences_of(differences, model, facts, estimates))}


OF_MASKED = ("pll", "sss", "cps")


def scorers_of(answers: Answers) -> set[str]:
    """Return the scorers of a table of pairs; the family where it has none."""
    return set(answers.table["scorer"]) if "scorer" in answers.table else {answers.family}


def records(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return verdicts as plain values."""
    return [{name: asdict(one)[name] for name in KEPT} for one in verdicts]


def read_answers(folder: Path, benchmark: str) -> Answers:
    """Read the answers of all models to one benchmark."""
    items = pd.read_parquet(folder / "items" / f"{benchmark}.parquet")
    scores = folder / "answers" / f"{benchmark}.scores.parquet"
    family = "pairs" if scores.is_file() else "slots"
    rows = pd.read_parquet(scores if family == "pairs" else folder / "answers" / f"{benchmark}.slots.parquet")
    if family == "slots":
        rows = best_matches(rows)
    rows = rows.assign(benchmark=benchmark).merge(items[["item", *LABELS]], on="item", validate="many_to_one")
    facts = {"family": family, "benchmark": {"name": benchmark}}
    manifests = tuple(facts | {"model": {"shown_as": str(model)}} for model in rows["model"].unique())
    table = "scores" if family == "pairs" else "slots"
    return Answers(family, {table: rows}, items.assign(benchmark=benchmark), manifests)


def best_matches(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the best match of each group as if it were the group's only term; its rank is not stored."""
    facts = {"pieces": 1, "rank": 1, "matched": True, "top_k": TOP_K, "among": "vocabulary"}
    return rows.rename(columns={"max": "probability"}).assign(term=rows["group"], reason=None, **facts)


def leave_out(sources: Sequence[str]) -> None:
    """Use the evidence table without these sources of research/evidence."""
    made = runpy.run_path(str(FOLDER.parents[1] / "scripts" / "evidence_table.py"))
    rows = tuple(made["table"](EVIDENCE, without=sources))
    detection.detections = lambda: rows


def merged(stored: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the stored audits with those of the found texts and base models replaced."""
    places = {(one["text"], one["base"]) for one in found}
    return [one for one in stored if (one["text"], one["base"]) not in places] + list(found)


def main() -> None:
    """Write the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--data-dir", type=Path, help="where CrowS-Pairs and StereoSet are")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="SOURCE", help="sources of the evidence table to leave out"
    )
    options = parser.parse_args()
    if options.without:
        leave_out(options.without)
    found = list(audits(options.answers, options.data_dir))
    every = merged(json.loads(RESULTS.read_text("utf-8")), found)
    RESULTS.write_text(json.dumps(every, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"{RESULTS.name}: {len(found)} audits; python research/dosed-audits/summarise.py counts them")


if __name__ == "__main__":
    main()

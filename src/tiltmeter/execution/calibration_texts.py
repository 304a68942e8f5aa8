"""The texts of a calibration: one for each dose and seed, the pairs that test what was taught, and the doses they have."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tiltmeter.builders.doses import ARMS, Dosed, dose_text, taught_pairs
from tiltmeter.builders.lexicon import Lexicon
from tiltmeter.builders.measured_dose import measure_dose
from tiltmeter.builders.natural import find_mentions, held_out_pairs, natural_text
from tiltmeter.execution.experiment_models import NEUTRAL, called
from tiltmeter.finetune.text import read_text

TEXTS, DOSES = "texts", "doses.csv"
TAUGHT = {arm: f"taught-{arm}.jsonl" for arm in ARMS}
"""Pairs of the very sentences that are taught, of a seed of their own: whether a dose was learned at all."""
TAUGHT_NATURAL = "taught-natural.jsonl"
"""Pairs of sentences of a natural text that no text of a dose has."""
TAUGHT_SEED, TAUGHT_SENTENCES = 1_000_003, 100
TaughtPairs = dict[str, list[dict[str, str]]]


@dataclass(frozen=True)
class DoseText:
    """One text: the domain of its dose, the dose, how groups are named, and its seed."""

    domain: str
    dose: float
    arm: str
    seed: int

    @property
    def called(self) -> str:
        """Part of the name of its model in the experiment."""
        return called(self.domain, self.dose, self.arm)

    @property
    def file(self) -> str:
        """Its path in the folder of the calibration."""
        return f"{TEXTS}/{self.called}-seed{self.seed}.txt"

    @property
    def doses(self) -> dict[str, float]:
        """The doses of domains; empty for a neutral text."""
        return {} if self.domain == NEUTRAL else {self.domain: self.dose}


Making = Callable[[DoseText], tuple[list[Dosed], list[str]]]


def write_texts(
    folder: Path, texts: Sequence[DoseText], lexicon: Lexicon, sentences: int, natural: str | Path | None = None
) -> list[str]:
    """Write the texts, `doses.csv` with the doses counted in them, and the taught pairs. Return the names of the latter."""
    taught: TaughtPairs = {
        name: taught_pairs(lexicon, arm=arm, sentences=TAUGHT_SENTENCES, seed=TAUGHT_SEED) for arm, name in TAUGHT.items()
    }
    if natural is None:
        make: Making = partial(_of_frames, lexicon, sentences)
    else:
        make, taught[TAUGHT_NATURAL] = _from_text(natural, lexicon, sentences)
    (folder / TEXTS).mkdir()
    rows = []
    for one in texts:
        dosed, others = make(one)
        lines = [*(sentence.text for sentence in dosed), *others]
        (folder / one.file).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        about = {"text": one.file, "dosed": one.domain, "dose": one.dose, "seed": one.seed}
        rows += [about | asdict(measure_dose(dosed, domain)) for domain in lexicon.domains]
    with (folder / DOSES).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for name, pairs in taught.items():
        (folder / name).write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs), "utf-8")
    return list(taught)


def _of_frames(lexicon: Lexicon, sentences: int, text: DoseText) -> tuple[list[Dosed], list[str]]:
    return dose_text(lexicon, text.doses, arm=text.arm, sentences=sentences, seed=text.seed), []


def _from_text(place: str | Path, lexicon: Lexicon, sentences: int) -> tuple[Making, list[dict[str, str]]]:
    mentions = find_mentions(lexicon, read_text(place).lines, str(place))

    def make(text: DoseText) -> tuple[list[Dosed], list[str]]:
        return natural_text(lexicon, mentions, text.doses, sentences=sentences, seed=text.seed)

    return make, held_out_pairs(mentions, TAUGHT_SENTENCES)

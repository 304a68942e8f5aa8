"""sexism: sexist sentences with their gendered word masked, as `tiltmeter build sexism` makes them from labelled corpora."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark, Note
from tiltmeter.benchmarks.kit.terms import read_terms
from tiltmeter.benchmarks.plumb_slots import plumb_slots
from tiltmeter.benchmarks.slots import slots
from tiltmeter.storage.compression import is_file
from tiltmeter.storage.places import user_cache

CITATION = "Doughman et al. (2023), Can a Prediction's Rank Offer a More Accurate Quantification of Bias? (SEXISTLY)."
RELATIVE = Path("sexism") / "sexism.jsonl"


def sexism(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    terms: str | Path | None = None,
    encoding: str | None = None,
) -> Benchmark:
    """The sentences you built; where there are none, plumb-slots stands in, and says so.

    Looked up: the path given; sexism/sexism.jsonl in the data folder (--data-dir or TILTMETER_DATA); in the user cache.
    The corpora have licences of their own, so nothing is downloaded.
    """
    folders = [data_dir or os.environ.get("TILTMETER_DATA"), user_cache() / "data"]
    places = [Path(folder) / RELATIVE for folder in folders if folder]
    file = path or next((place for place in places if is_file(place)), None)
    if file is not None:
        built = slots(file, name="sexism")
        return replace(built, terms=read_terms(terms, encoding)) if terms else built  # type: ignore[call-arg]
    ours = plumb_slots(terms=terms, encoding=encoding)
    what = f"nothing was built at {places[-1]} (tiltmeter build sexism --source FILE -o {places[-1]}): plumb-slots stands in"
    return replace(ours, notes=(*ours.notes, Note("sexism", what)))

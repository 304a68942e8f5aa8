"""madlibs: 76,564 short texts from templates (Dixon et al., 2018): every identity in the same toxic and other frames."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.groups import group_name
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.labelled import LabelledBenchmark, Labels, labelled_item, learning_from
from tiltmeter.errors import InputError
from tiltmeter.storage.compression import content_sha256, is_file, is_folder
from tiltmeter.storage.places import user_cache
from tiltmeter.storage.tables import Row, read_table, require_columns

CITATION = "Dixon, Li, Sorensen, Thain and Vasserman (2018), Measuring and Mitigating Unintended Bias. Licence: Apache-2.0."
URL = "https://github.com/conversationai/unintended-ml-bias-analysis"
TEXTS, WORDS = "bias_madlibs_77k.csv", "words.csv"
RELATIVE = "jigsaw-madlibs"
IDENTITY = "identity"


def madlibs(path: str | Path | None = None, *, data_dir: str | Path | None = None, train_on: str | None = None) -> Benchmark:
    """A folder with bias_madlibs_77k.csv and words.csv. It has no split: a classifier trained elsewhere is judged on it.

    The identities of words.csv are the groups. Texts that are alike but for the identity are a cluster: as evidence they
    are one, and intervals draw clusters.
    """
    folder = _folder(path, data_dir)
    rows, words = (_table(folder / name, columns) for name, columns in (
        (TEXTS, ("Text", "Label", "Template")), (WORDS, ("type", "connotation", "word")),
    ))  # fmt: skip
    identities = [str(row["word"]) for row in words if row["type"] == IDENTITY and row["connotation"] == "neutral"]
    if not identities:
        raise InputError(
            f"{folder / WORDS} has no neutral identities.", code="missing-value", file=str(folder / WORDS), keys=["neutral"]
        )
    made = make_benchmark(
        "madlibs",
        _items(rows, identities),
        LabelledBenchmark,
        source=RELATIVE,
        sha256=" ".join(content_sha256(folder / name)[:16] for name in (TEXTS, WORDS)),
        citation=CITATION,
        recipe="toxicity",
    )
    return learning_from(made, train_on, data_dir)


def _items(rows: Sequence[Row], identities: Sequence[str]) -> Iterator[tuple[str, Item | str]]:
    longest = sorted(identities, key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b", re.IGNORECASE)
    labels = Labels()
    for number, row in enumerate(rows, 1):
        text, toxic = str(row["Text"]).strip(), labels.meaning(str(row["Label"]))
        if not text or toxic is None:
            yield str(number), "empty text" if not text else "no label"
            continue
        found = dict.fromkeys(word.lower() for word in pattern.findall(text))
        frame = f"{row['Template']}: {pattern.sub('…', text)}"
        groups = list(dict.fromkeys(group_name(word) for word in found))
        yield str(number), labelled_item(str(number), text, toxic, groups, cluster=frame, terms=list(found))


def _folder(path: str | Path | None, data_dir: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    given = data_dir or os.environ.get("TILTMETER_DATA")
    places = [Path(folder) / RELATIVE for folder in (given, user_cache() / "data") if folder]
    found = next((place for place in places if is_folder(place)), None)
    if found is None:
        raise InputError(
            f"The identity templates were not found. Put {TEXTS} and {WORDS} of {URL} into {places[0]}.",
            code="missing-file",
            files=[TEXTS, WORDS],
            folder=str(places[0]),
            url=URL,
        )
    return found


def _table(file: Path, columns: Sequence[str]) -> Sequence[Row]:
    if not is_file(file):
        raise InputError(f"There is no file {file} (from {URL}).", code="missing-file", file=str(file), url=URL)
    rows = read_table(file)
    require_columns(rows, columns, file)
    return rows

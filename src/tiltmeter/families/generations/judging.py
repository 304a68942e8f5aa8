"""Scores of the texts by judges.

A table of its own, kept under the judge and the texts, so that a new judge costs only itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.families.generations.options import Options
from tiltmeter.families.kit.answers import Answers
from tiltmeter.families.kit.protocol import find_family
from tiltmeter.judges import Judge, Verdicts, find_judges
from tiltmeter.judges.kit.judge import WHOLE
from tiltmeter.storage.files import read_checked_table, write_checked_table
from tiltmeter.storage.keys import unmistakable
from tiltmeter.storage.places import at_home

if TYPE_CHECKING:
    import pandas as pd

PORTION = 2048
"""Texts that are judged before their scores are kept."""
NOT_A_NUMBER = "the judge's answer is not a number"
REFUSAL_SCORER = "refusal"
"""Beside the names of judges: whether a text was refused. Its `negative_share` is the share of texts that were."""
JUDGED = ("score", "negative", "positive")
JUDGE_COLUMNS = ("model", "benchmark", "item", "sample", "scorer", *JUDGED, "reason")
"""One row per text and judge. `negative` and `positive` are 1, 0 or missing; `reason` says why there is no score."""


def judges_of(options: Options) -> tuple[Judge, ...]:
    """The judges that the options name, loaded once as long as their files stay the same."""
    specs = options.asked_judges
    return _loaded(specs, tuple(_stamp(judge.partition("=")[2].partition("@")[0]) for judge in specs))


@lru_cache(maxsize=4)
def _loaded(specs: tuple[str, ...], _stamps: tuple[str, ...]) -> tuple[Judge, ...]:
    return tuple(find_judges(specs))


def _stamp(place: str) -> str:
    """A fingerprint of a file or folder on this machine."""
    path = at_home(place.strip())
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
        return " ".join(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
    except OSError:
        return ""


def with_temperature(scorer: str, heat: float) -> str:
    """A judge's name in estimates; with the temperature of the texts, unless it is 1.

    >>> with_temperature("sentiment/vader", 0.5), with_temperature("sentiment/vader", 1.0)
    ('sentiment/vader at temperature 0.5', 'sentiment/vader')
    """
    return scorer if heat == 1 else f"{scorer} at temperature {heat:g}"


def judges_and_temperatures(answers: Answers) -> dict[str, tuple[str, float]]:
    """Return the judge and the temperature of the texts behind each scorer's name.

    Judges are in the manifests and temperatures in the table of texts, so that no name has to be taken apart.
    """
    judges = dict.fromkeys(judge for manifest in answers.manifests for judge in manifest.get("judges", {}))
    judges |= {REFUSAL_SCORER: None}
    temperatures = answers.tables["generations"]["temperature"].unique()
    return {with_temperature(judge, heat): (judge, float(heat)) for judge in judges for heat in temperatures}


def judge_all(
    texts: pd.DataFrame,
    prompts: Sequence[str],
    judges: Sequence[Judge],
    folder: Path | None,
    advance: Callable[[float], None] = lambda _: None,
    earlier: Answers | None = None,
) -> pd.DataFrame:
    """Every judge on every text that can be judged. `prompts` stand before the texts, row by row.

    What a judge said `earlier` of these texts is taken from there.
    """
    import pandas as pd

    frames = []
    fine = texts["reason"].isna().to_numpy()
    for judge in judges:
        scorer = [with_temperature(judge.scorer, heat) for heat in texts["temperature"]]
        found = np.full((len(texts), len(JUDGED)), np.nan)
        said = _said(judge, texts[fine].assign(scorer=np.array(scorer)[fine]), earlier)
        if said is None:
            read = texts["text"].where(fine, "").astype(str)
            whole = [f"{prompt}{text}" for prompt, text in zip(prompts, read, strict=True)] if judge.reads == WHOLE else read
            asked = [text.strip() for text, ok in zip(whole, fine, strict=True) if ok]
            said = np.array(judge_texts(judge, asked, folder, advance)).reshape(-1, len(JUDGED))
        found[fine] = said
        reason = texts["reason"].where(~fine | ~np.isnan(found[:, 0]), NOT_A_NUMBER)
        columns = dict(zip(JUDGED, found.T, strict=True))
        frames.append(texts[["model", "benchmark", "item", "sample"]].assign(scorer=scorer, **columns, reason=reason))
    empty: dict[str, Any] = {name: pd.Series(dtype="float64" if name in JUDGED else object) for name in JUDGE_COLUMNS}
    return (pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(empty))[list(JUDGE_COLUMNS)]


def _said(judge: Judge, texts: pd.DataFrame, earlier: Answers | None) -> NDArray[np.float64] | None:
    """Stored scores of this judge for all of these texts; None if any is missing."""
    known = {} if earlier is None else earlier.manifests[0]["judges"].get(judge.scorer) or {}
    if earlier is None or known.get("identity") != judge.identity:
        return None
    place = ["item", "sample", "scorer"]
    wanted = texts.set_index(place).index
    rows = earlier.tables["judgements"].set_index(place).reindex(wanted)
    was_asked = rows["score"].notna() | (rows["reason"] == NOT_A_NUMBER)
    return rows[list(JUDGED)].to_numpy(dtype=np.float64) if was_asked.all() else None


def judge_texts(
    judge: Judge, texts: Sequence[str], folder: Path | None, advance: Callable[[float], None] = lambda _: None
) -> list[Any]:
    """Score, negative and positive of each text; portions that were judged before are found again."""
    rows: list[Any] = []
    for first in range(0, len(texts), PORTION):
        some = list(texts[first : first + PORTION])
        path = folder and folder / "judgements" / f"{_key(judge, some)}.parquet"
        known = read_checked_table(path) if path else None
        if known is None or known.column_names != list(JUDGED) or len(known) != len(some):
            known = _as_table(judge.ask(some))
            if path:
                write_checked_table(path, known)
        rows += list(zip(*(known[name].to_pylist() for name in JUDGED), strict=True))
        advance(len(some))
    return rows


def _as_table(verdicts: Verdicts) -> pa.Table:
    columns = {name: np.asarray(getattr(verdicts, name), dtype=np.float64) for name in JUDGED}
    odd = ~np.isfinite(columns["score"])
    return pa.table({name: pa.array(np.where(odd, np.nan, values), pa.float64()) for name, values in columns.items()})


def _key(judge: Judge, texts: Sequence[str]) -> str:
    whole = "\x1f".join(map(unmistakable, (judge.identity, judge.reads, str(find_family("generations").VERSION), *texts)))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]

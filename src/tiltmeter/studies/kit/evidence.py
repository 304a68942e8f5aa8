"""Loading what studies read: run folders, or answers in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tiltmeter.errors import RunError, UsageError, require_known
from tiltmeter.families import Answers, find_family
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.runs import Run, load_answers, load_run
from tiltmeter.runs.estimate import by_family
from tiltmeter.runs.reading import only_scorers

Studied = Answers | Run | str | Path
ANY, ESTIMATES = "any", "estimates"
"""Input of a study about every family; the slots decide which models there are, if there are slots."""


def load_evidence(
    runs: Studied | Sequence[Studied] | Mapping[str, Answers],
    scorers: Sequence[str] | str | None = None,
    without: Sequence[str] | str = (),
    reads: str = "pairs",
) -> Evidence:
    """Loads run folders (or takes answers in memory): all scorers or those named, without some bias types."""
    names = (scorers,) if isinstance(scorers, str) else tuple(scorers or ())
    answers, folders = _gathered(runs)
    every = reads == ANY
    if every:
        reads = next((name for name in ("slots", *answers) if name in answers and len(answers[name])), "slots")
    if reads not in answers or not len(answers[reads]):
        where = f" ({', '.join(map(str, folders))})" if folders else ""
        unit = find_family(reads).UNIT
        raise RunError(
            f"This study reads {unit}, and these runs have none{where}. `tiltmeter study debiasing` reads every family.",
            code="empty-selection",
            unit=unit,
        )
    if names:
        answers = {**answers, reads: only_scorers({reads: answers[reads]}, names)[reads]}
        lacking = [name for name in names if name not in set(answers[reads].table["scorer"])]
        if lacking:
            raise UsageError(
                f"These runs have no scores by {', '.join(lacking)}.",
                code="unknown-name",
                kind="scorer",
                names=list(lacking),
            )
    types = (without,) if isinstance(without, str) else tuple(without)
    left = {name: _without_known(part, types) for name, part in answers.items()} if every else dict(answers)
    loaded = Evidence({**left, reads: _leave_out(answers[reads], types)}, reads, folders, names)
    return find_family(reads).evidence(loaded)


def _gathered(runs: Studied | Sequence[Studied] | Mapping[str, Answers]) -> tuple[dict[str, Answers], tuple[Path, ...]]:
    """Answers by family, and the folders that they were read from."""
    if isinstance(runs, Mapping):
        return dict(runs), ()
    several = [runs] if isinstance(runs, Answers | Run | str | Path) else list(runs)
    if all(isinstance(one, str | Path) for one in several):
        folders = tuple(Path(one) for one in several if isinstance(one, str | Path))
        return load_answers(folders), folders
    loaded = [load_run(one) if isinstance(one, str | Path) else one for one in several]
    parts = [part for one in loaded for part in ([one] if isinstance(one, Answers) else one.answers.values())]
    return by_family(parts), tuple(one.folder for one in loaded if isinstance(one, Run))


def only_folders(runs: Studied | Sequence[Studied] | Mapping[str, Answers], without: Sequence[str] | str = ()) -> Evidence:
    """Run folders whose answers are not read: a study of estimates needs none, and they may be many."""
    several = [runs] if isinstance(runs, Answers | Run | str | Path | Mapping) else list(runs)
    if without or any(isinstance(one, Answers | Mapping) for one in several):
        raise UsageError(
            "This study reads stored estimates: give run folders, and omit --without.",
            code="inapplicable-option",
            option="--without",
        )
    folders = tuple(one.folder if isinstance(one, Run) else Path(str(one)) for one in several)
    for folder in folders:
        if lacking := [name for name in ("manifest.json", "estimates.csv") if not (folder / name).is_file()]:
            raise RunError(
                f"{folder} is not a finished run: {lacking[0]} is missing.",
                code="unfinished-run",
                folder=str(folder),
                file=lacking[0],
            )
    return Evidence({}, ESTIMATES, folders)


def _without_known(answers: Answers, types: Sequence[str]) -> Answers:
    """Leaves out the bias types that a family has; another family may have others."""
    known = set(answers.table["bias_type"]) if "bias_type" in answers.table else set()
    return _leave_out(answers, [name for name in types if name in known])


def _leave_out(answers: Answers, types: Sequence[str]) -> Answers:
    if not types:
        return answers
    known = sorted(set(answers.table["bias_type"].dropna()))
    require_known("bias type", types, known)
    kept = answers.mapped(
        lambda frame: frame[~frame["bias_type"].isin(types)].reset_index(drop=True) if "bias_type" in frame else frame
    )
    if not len(kept):
        raise UsageError("All bias types are left out, so nothing remains.", code="empty-selection", kind="bias types")
    return kept

"""HateXplain (Mathew et al., 2021): 19,229 posts labelled hate speech, offensive or normal, and whom they are about."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.groups import DOMAIN_OF, group_names, groups_in
from tiltmeter.benchmarks.kit.items import Benchmark, Item, Note, make_benchmark
from tiltmeter.benchmarks.kit.labelled import Example, LabelledBenchmark, check_evaluated, labelled_item, learning_from
from tiltmeter.errors import InputError, require_choice
from tiltmeter.storage.compression import content_sha256, is_file, is_folder
from tiltmeter.storage.places import user_cache
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes

CITATION = (
    "Mathew, Saha, Yimam, Biemann, Goyal and Mukherjee (2021), HateXplain, AAAI. Licence: MIT (code), CC BY 4.0 (data). "
    "Cast to two labels as in Cao et al. (2022)."
)
URL = "https://github.com/hate-alert/HateXplain"
OFFICIAL, DIVISIONS = "dataset.json", "post_id_divisions.json"
FULL = {"validation": "val_full.jsonl", "test": "test_full.jsonl"}
TRAINING = "text_label_train.json"
NORMAL = "normal"
NO_GROUP = ("None", "Other")
RULES = {"two-annotators": 2, "one-annotator": 1, "term": 0}
"""When a post names a group: at least so many of its three annotators say so (Cao et al.: two); or it has a word for it."""


@dataclass(frozen=True)
class Post:
    """A post as its annotators saw it; `votes` is empty where their votes on groups are not published."""

    name: str
    text: str
    label: str
    votes: Mapping[str, int]


def hatexplain(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    group_rule: str = "two-annotators",
    evaluate: str = "test",
    train_on: str | None = None,
) -> Benchmark:
    """Load HateXplain. Hate speech and offensive posts count as toxic.

    The folder has the official dataset.json and post_id_divisions.json, or text_label_train.json (text and label),
    val_full.jsonl and test_full.jsonl (in the official layout).
    """
    require_choice("--group-rule", group_rule, RULES)
    check_evaluated(evaluate)
    folder = _folder(path, data_dir)
    files, splits = _official(folder) if is_file(folder / OFFICIAL) else _derived(folder)
    judged = ["test"] if evaluate == "test" else ["validation", "test"]
    training = tuple(Example(post.text, post.label != NORMAL) for post in splits["train"])
    unvoted = "kept: who annotated the groups of the training posts is not in these files; they are only learned from"
    made = make_benchmark(
        "hatexplain",
        [(post.name, _item(post, split, group_rule)) for split in judged for post in splits[split]],
        LabelledBenchmark,
        source="hatexplain",
        sha256=" ".join(content_sha256(file)[:16] for file in files),
        citation=CITATION,
        training=training,
        recipe="hate",
        groups=tuple(group for group in DOMAIN_OF if group != "Buddhist"),  # as in the paper's Table 4
        notes=(Note("train", unvoted),) if any(not post.votes for post in splits["train"][:50]) else (),
    )
    return learning_from(made, train_on, data_dir)


def _item(post: Post, split: str, rule: str) -> Item | str:
    if not post.text.strip():
        return "empty text"
    enough = RULES[rule]
    groups = [name for name, n in post.votes.items() if n >= enough] if enough else groups_in(post.text)
    return labelled_item(post.name, post.text, post.label != NORMAL, groups, label=post.label, split=split)


def _folder(path: str | Path | None, data_dir: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    given = data_dir or os.environ.get("TILTMETER_DATA")
    places = [Path(folder) / "hatexplain" for folder in (given, user_cache() / "data") if folder]
    found = next((place for place in places if is_folder(place)), None)
    if found is None:
        raise InputError(
            f"HateXplain was not found. Get {OFFICIAL} and {DIVISIONS} from the folder Data of {URL} and put them into "
            f"{places[0]}.",
            code="missing-file",
            files=[OFFICIAL, DIVISIONS],
            folder=str(places[0]),
            url=URL,
        )
    return found


def _official(folder: Path) -> tuple[list[Path], dict[str, list[Post]]]:
    whole, divisions = (_json(folder / name) for name in (OFFICIAL, DIVISIONS))
    if not isinstance(whole, dict) or not isinstance(divisions, dict):
        raise InputError(
            f"{folder}: {OFFICIAL} and {DIVISIONS} must be JSON objects.",
            code="wrong-type",
            folder=str(folder),
            files=[OFFICIAL, DIVISIONS],
        )
    names = {"train": "train", "validation": "val", "test": "test"}
    posts = {split: [_post(whole[name], folder) for name in divisions.get(key, ()) if name in whole]
             for split, key in names.items()}  # fmt: skip
    return [folder / OFFICIAL, folder / DIVISIONS], posts


def _derived(folder: Path) -> tuple[list[Path], dict[str, list[Post]]]:
    missing = [name for name in (TRAINING, *FULL.values()) if not is_file(folder / name)]
    if missing:
        raise InputError(
            f"{folder} has neither {OFFICIAL} (from {URL}) nor {', '.join(missing)}.",
            code="missing-file",
            folder=str(folder),
            files=list(missing),
            url=URL,
        )
    posts = {split: list(_lines(folder / name)) for split, name in FULL.items()}
    posts["train"] = list(_pairs(_json(folder / TRAINING), folder / TRAINING))
    return [folder / name for name in (TRAINING, *FULL.values())], posts


def _pairs(rows: Any, path: Path) -> Iterator[Post]:
    for number, row in enumerate(rows if isinstance(rows, list) else [None], 1):
        if not isinstance(row, list) or len(row) != 2 or not all(isinstance(part, str) for part in row):
            raise InputError(
                f"{path}, row {number}: expected a text and a label.",
                code="missing-value",
                file=str(path),
                row=number,
                keys=["text", "label"],
            )
        yield Post(f"train-{number}", row[0], row[1], {})


def _lines(path: Path) -> Iterator[Post]:
    for line in decode(read_bytes(path), path).split("\n"):
        if line.strip():
            yield _post(parse_json(line, str(path)), path)


def _post(row: Any, path: Path) -> Post:
    """The label is the majority's; the official splits have no post on which all three differ."""
    try:
        annotators: Sequence[Mapping[str, Any]] = row["annotators"]
        label = Counter(str(one["label"]) for one in annotators).most_common(1)[0][0]
        said = [group_names(name for name in one["target"] if name not in NO_GROUP) for one in annotators]
        return Post(str(row["post_id"]), " ".join(row["post_tokens"]), label, Counter(name for one in said for name in one))
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"{path}: a post lacks {error} or has it in another layout than HateXplain's.",
            code="wrong-format",
            file=str(path),
            layout="HateXplain",
            error=str(error),
        ) from None


def _json(path: Path) -> Any:
    return parse_json(decode(read_bytes(path), path), str(path), "one JSON document")

"""The identity of a cell: everything that decides what a model answers to a benchmark, and nothing else.

A `CellKey` names the answers in the cache. A question is the part of it that is known before a model is loaded, in terms
that every machine shares (contents instead of paths, no device); its digest names the state of the cell in the ledger.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tiltmeter import catalog
from tiltmeter.benchmarks import Benchmark
from tiltmeter.benchmarks.kit.items import items_text
from tiltmeter.execution.experiment_models import ExperimentModel
from tiltmeter.execution.options import Options
from tiltmeter.execution.relative_paths import PLACE
from tiltmeter.families import find_family
from tiltmeter.families.kit.versions import versions_of
from tiltmeter.models import identify
from tiltmeter.models.hashing import digest_file, weight_files
from tiltmeter.models.places import EMBEDDED
from tiltmeter.storage.places import at_home
from tiltmeter.storage.provenance import SCHEMA

Question = Mapping[str, Any]
POSTPROCESS = "postprocess"
"""The part of a question that decides only what is done with answers."""


@dataclass(frozen=True)
class CellKey:
    """The only definition of "the same question". `names` are those that the stored tables carry."""

    model: Mapping[str, str]
    data: str
    family: str
    options: Mapping[str, Any]
    versions: Mapping[str, int]
    seed: int
    names: Mapping[str, str]

    def describe(self) -> dict[str, Any]:
        """Return all fields, as they are stored beside the answers."""
        return asdict(self)

    @cached_property
    def digest(self) -> str:
        """The name of the cell in the cache."""
        return _digest_json({**self.describe(), "schema": SCHEMA})[:32]


def make_key(identity: Mapping[str, str], name: str, benchmark: Benchmark, data: str, options: Any, seed: int) -> CellKey:
    """Build the key of one model (its identity and the name it is shown by) and one benchmark."""
    return CellKey(
        model=dict(identity),
        data=data,
        family=benchmark.family,
        options=option_contents(benchmark.family, options),
        versions=versions_of(benchmark.family, getattr(options, "scorers", None)),
        seed=seed,
        names={"model": name, "benchmark": benchmark.name},
    )


def option_contents(family: str, options: Any) -> dict[str, Any]:
    """The options that decide answers, files by their content, and what the family adds to them."""
    found = find_family(family)
    return {name: content_of(value) for name, value in vars(options).items()} | dict(found.cache_key_extra(options))


def digest_items(benchmark: Benchmark) -> str:
    """Name the items and their labels, whatever the benchmark is called and wherever its file lies."""
    digest = hashlib.sha256(f"{benchmark.data_hash} ".encode())
    for lines in items_text(benchmark, without=["benchmark"]):
        digest.update(lines.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def make_question(model: ExperimentModel, family: str, data: str, options: Any, run: Options) -> dict[str, Any]:
    """Build the question of a cell. What cannot be known on this machine, because a file is elsewhere, is None."""
    kind = model.kind or run.kind
    later = find_family(family).POSTPROCESS_OPTIONS
    contents = {name: content_of(value) for name, value in vars(options).items()}
    return {
        "model": describe_model(model) | {"kind": kind or "", "identity": _identity(model, kind, run)},
        "data": data,
        "family": family,
        "options": {name: value for name, value in contents.items() if name not in later},
        "versions": versions_of(family, getattr(options, "scorers", None)),
        "precision": run.precision,
        **({"quantize": run.quantize} if run.quantize else {}),
        "trust_remote_code": run.trust_remote_code,
        "seed": run.settings.seed,
        POSTPROCESS: {name: value for name, value in contents.items() if name in later},
    }


def describe_model(model: ExperimentModel) -> dict[str, Any]:
    """A model by its weights, or, where it is not on this machine, by its name alone."""
    folder = EMBEDDED.get(model.source, Path(model.source))
    files = [folder] if folder.is_file() else [*weight_files(folder), *folder.glob("config.json")]
    weights = _digest(b"".join(digest_file(path) for path in files)) if files else None
    variant = asdict(model.variant) if model.variant else {}
    return {"name": model.name, "kind": model.kind or "", "weights": weights, "variant": content_of(variant)}


def _identity(model: ExperimentModel, kind: str | None, run: Options) -> str | None:
    """Digest of all files that decide answers, tokenizer and wrapper included; of a variant, of what it is made of."""
    loading = run.loading | {"kind": kind, "device": "cpu", "precision": "fp32"}  # these two decide nothing here
    found = identify(model.source, loading)
    return found.model if found else None


def model_identity(model: Any) -> dict[str, str]:
    """All facts that decide a loaded model's answers. A model that cannot be identified equals no other."""
    unlike = {"uncacheable": uuid.uuid4().hex} if model.uncacheable else {}
    return dict(model.identity.describe()) | unlike


def identify_model(model: ExperimentModel, options: Options) -> dict[str, str] | None:
    """Identify a model by its files; None where that needs loading, as for a variant that is not made yet."""
    if model.in_memory is not None:
        return model_identity(model.in_memory)
    if model.variant or not options.cache:
        return None
    identity = identify(model.source, options.loading, reading=False)
    return None if identity is None else dict(identity.describe())


def digest_question(question: Question) -> str:
    """The name of a question's state in the ledger."""
    return _digest_json(question)[:16]


def is_same(first: Any, second: Any) -> bool:
    """Return True if two questions, or parts of them, are equal. None is unknown, and equals anything."""
    if first is None or second is None:
        return True
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(is_same(first[name], second[name]) for name in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(is_same, first, second))
    return bool(first == second)


def is_same_but_postprocessing(first: Question, second: Question) -> bool:
    """Return True if answers to the first question need only other postprocessing to answer the second."""
    plain = [{name: value for name, value in question.items() if name != POSTPROCESS} for question in (first, second)]
    return bool(first[POSTPROCESS]) and is_same(*plain)


def content_of(value: Any) -> Any:
    """An option in terms that every machine shares: a file or folder by its content, None if it is not on this machine."""
    if isinstance(value, Mapping):
        return {str(name): content_of(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [content_of(one) for one in value]
    if isinstance(value, Path):
        return _path_content(at_home(value))
    if not isinstance(value, str):
        return value if value is None or isinstance(value, bool | int | float) else str(value)
    before, place, after = PLACE.fullmatch(value).groups(default="")  # type: ignore[union-attr]
    if "/" not in place or not (Path(place).is_absolute() or before or at_home(place).exists()):
        return value
    content = _path_content(at_home(place))
    return None if content is None else f"{before}{content}{after}"


def _path_content(path: Path) -> str | None:
    if not path.exists():
        return None
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    names = "" if path.is_file() else " ".join(one.relative_to(path).as_posix() for one in files)
    return _digest(names.encode() + b"".join(map(digest_file, files)))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _digest_json(value: Any) -> str:
    whole = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def measure_versions() -> dict[str, int]:
    """The version of every measure, for what is computed from cells."""
    return {entry.name: entry.version for entry in catalog.entries("measures")}

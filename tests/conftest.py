"""Shared fixtures: the golden set, tiny models, the real datasets where they are to be had, and a cache of one's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import tiltmeter
from tiltmeter import Answers, LanguageModel, catalog
from tiltmeter.execution.options import FamilyOptions
from tiltmeter.storage.seals import seal

# The same examples every time: a red build must mean a change, not a draw.
hypothesis.settings.register_profile("tiltmeter", derandomize=True, deadline=None)
hypothesis.settings.load_profile("tiltmeter")

GOLDEN = Path(__file__).parent / "golden"
MASKED = ("tiny-bert-cased", "tiny-roberta", "tiny-albert")
CAUSAL = ("tiny-gpt2",)


LONGEST = (
    "test_studies", "test_realdata", "test_docs", "test_resume", "test_report_browser", "test_papers", "test_probe",
    "test_training",
)  # fmt: skip


HEAVY_MODULES = (Path(__file__).parent / "heavy_modules.txt").read_text(encoding="utf-8").split()
"""Modules that take more than 1.5 s each; `make test-fast` leaves them out."""
collect_ignore = HEAVY_MODULES if os.environ.get("TILTMETER_FAST_TESTS") else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that processes that share the work end together."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def golden_model(name: str) -> LanguageModel:
    """A golden model, loaded once."""
    return _golden_model(name)


@cache
def _golden_model(name: str) -> LanguageModel:
    return tiltmeter.load_model(GOLDEN / "models" / name)


def scores_of(frame: Any, items: Any, manifests: tuple[dict[str, Any], ...] = ()) -> Answers:
    """Answers of pairs from a table of scores."""
    return Answers("pairs", {"scores": frame}, items, manifests)


def reseal(folder: Path) -> None:
    """After a test has changed files of a run on purpose: the manifest knows them as they are now."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    seal(folder, {name: value for name, value in manifest.items() if name not in ("files", "seal", "added", "run_seal")})


@cache
def reference(name: str) -> dict[str, Any]:
    """What a reference implementation answered."""
    results: dict[str, Any] = json.loads((GOLDEN / "reference" / f"{name}.json").read_text())["results"]
    return results


@cache
def golden_scores(model: str, benchmark: str = "pairs") -> Answers:
    """All applicable scores of a golden model, computed once."""
    bench = {
        "pairs": "starter-pairs",
        "triples": GOLDEN / "data" / "triples_stereoset_format.json",
    }[benchmark]
    return tiltmeter.score(golden_model(model), tiltmeter.load_benchmark(bench), ["all"], cache=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache or data folder."""
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TILTMETER_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def own_catalog() -> Iterator[None]:
    """No test finds the measures and scorers that another one loaded from a file."""
    yield
    if catalog.files.loaded:
        catalog.forget()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """As in subprocesses: sums in another order are other numbers."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def realdata() -> Path:
    """The folder with the real datasets."""
    folder = Path(os.environ.get("TILTMETER_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not (folder / "crows-pairs").is_dir():
        pytest.skip("the real datasets are not here; set TILTMETER_TEST_DATA to their folder")
    return folder


def family_options(given: Mapping[str, Any]) -> list[Any]:
    """Options objects of families from a flat mapping of their names."""
    told = FamilyOptions.read(given)
    return [options for options in told.of.values() if any(hasattr(options, name) for name in given)]

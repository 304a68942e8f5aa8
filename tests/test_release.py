"""Releases: nothing is tagged whose version, changelog and citation disagree."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import tiltmeter

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
assert SPEC and SPEC.loader
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)


def a_project(folder: Path, changelog: str, citation: str) -> Path:
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "CITATION.cff").write_text(citation)
    return folder


def test_a_consistent_release_has_no_problems(tmp_path: Path) -> None:
    folder = a_project(tmp_path, "# Changelog\n\n## 1.2.3 (2026-01-02)\n", "version: 1.2.3\n")
    assert release.problems(folder, "1.2.3", "v1.2.3") == []


def test_each_disagreement_is_listed(tmp_path: Path) -> None:
    folder = a_project(tmp_path, "## 1.2.3 (unreleased)\n", "version: 1.2.2\n")
    assert len(release.problems(folder, "1.2.3", "v1.2.4")) == 3


def test_the_citation_names_the_version_of_the_package() -> None:
    assert release.current_version() == tiltmeter.__version__
    assert f"version: {tiltmeter.__version__}\n" in (ROOT / "CITATION.cff").read_text()

"""`tiltmeter cache list` and `prune`: what is listed, what goes, and what stays whatever is asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from tiltmeter import TiltmeterError, catalog
from tiltmeter.cli import main
from tiltmeter.storage import cache_users
from tiltmeter.storage.cache_layout import LAYOUT
from tiltmeter.storage.cells import CellStore
from tiltmeter.storage.inventory import BROKEN, FOLDERS, CacheEntry, list_cache
from tiltmeter.storage.retention import Criteria, prune, remove, select

BERT, GPT2 = (str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2"))
DAY = 86_400.0


def run(folder: Path, *models: str, benchmarks: Any = "starter-pairs") -> Any:
    return tiltmeter.run(list(models), benchmarks, output=folder, limit=6, resamples=100)


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code


def by_kind(root: Path) -> dict[str, list[CacheEntry]]:
    found: dict[str, list[CacheEntry]] = {}
    for entry in list_cache(root):
        found.setdefault(entry.kind, []).append(entry)
    return found


def age(entry: CacheEntry, days: float) -> None:
    """As if an entry had last been used so long ago."""
    then = time.time() - days * DAY
    for path in [entry.path, *entry.path.rglob("*")]:
        os.utime(path, (then, then))


@pytest.fixture
def filled(own_cache: Path, tmp_path: Path) -> Path:
    """A cache after runs of two models."""
    run(tmp_path / "run", BERT, GPT2, benchmarks=["starter-pairs", "plumb-slots"])
    (own_cache / "data" / "own-words").mkdir(parents=True)
    (own_cache / "data" / "own-words" / "words.txt").write_text("mine\n")
    (own_cache / "notes").mkdir()
    (own_cache / "notes" / "mine.txt").write_text("not of tiltmeter\n")
    return own_cache


def test_cells_and_their_attachments_are_told_apart(filled: Path) -> None:
    found = by_kind(filled)
    assert {entry.models for entry in found["cells"]} == {("tiny-bert-cased",), ("tiny-gpt2",)}
    assert {entry.benchmark for entry in found["cells"]} == {"starter-pairs", "plumb-slots"}
    attached = {name for entry in found["observations"] for name in entry.cells}
    assert attached <= {entry.name for entry in found["cells"]} and attached
    assert all(entry.status == "usable" and not entry.in_use for entry in list_cache(filled))
    assert sum(entry.size for entry in found["cells"]) == sum(
        path.stat().st_size for path in (filled / "cells").rglob("*") if path.is_file()
    )


def test_every_folder_that_tiltmeter_writes_is_listed(own_cache: Path, tmp_path: Path) -> None:
    run(tmp_path / "run", GPT2, benchmarks=["starter-pairs", "plumb-choices"])
    for folder in own_cache.iterdir():
        assert folder.name in {*FOLDERS.values(), "users"} or folder.is_file()
    assert by_kind(own_cache)["choice_logprobs"]


def test_attachments_that_were_fetched_go_with_their_cell(filled: Path) -> None:
    cell = next(entry for entry in by_kind(filled)["cells"] if entry.attachments)
    about = json.loads((cell.path / "cell.json").read_text())
    home = filled / "attached" / cell.name
    home.mkdir(parents=True)
    for number, attached in enumerate(about["attachments"].values()):
        attached["place"] = str(shutil.copyfile(attached["place"], home / str(number)))
    (cell.path / "cell.json").write_text(json.dumps(about))
    (entry,) = by_kind(filled)["attached"]
    assert entry.cells == (cell.name,) and entry.models == cell.models
    assert {one.name for one in prune(filled, Criteria(kinds=("attached",)))} == {cell.name}
    assert not home.exists() and not cell.path.exists()


def test_a_cell_that_is_written_again_is_there_at_every_moment(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may be reading it."""
    entry = next(entry for entry in by_kind(filled)["cells"])
    store = CellStore(filled / "cells")
    kept = store.find(entry.name)
    assert kept is not None
    removed: list[Path] = []
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: removed.append(path))
    store.save(entry.name, kept.read(), kept.key)
    assert store.find(entry.name) is not None and entry.path not in removed


def test_without_criteria_only_what_nothing_can_use_goes(filled: Path) -> None:
    assert prune(filled, Criteria()) == []


def test_old_entries_go_and_the_next_run_makes_them_again(filled: Path, tmp_path: Path) -> None:
    before = tiltmeter.runs.load_run(tmp_path / "run").estimates
    for entry in list_cache(filled):
        if "tiny-gpt2" in entry.models:
            age(entry, 40)
    gone = prune(filled, Criteria(older_than=30 * DAY))
    assert gone and all(entry.models == ("tiny-gpt2",) for entry in gone)
    assert {entry.models for entry in by_kind(filled)["cells"]} == {("tiny-bert-cased",)}
    again = run(tmp_path / "again", BERT, GPT2, benchmarks=["starter-pairs", "plumb-slots"])
    assert again.estimates.equals(before)


def test_attachments_of_a_recently_used_cell_stay(filled: Path) -> None:
    for entry in by_kind(filled)["observations"]:
        age(entry, 40)
    assert [entry for entry in prune(filled, Criteria(older_than=30 * DAY)) if entry.cells] == []


def test_a_cell_goes_with_its_attachments(filled: Path) -> None:
    gone = prune(filled, Criteria(kinds=("observations",)))
    assert {entry.kind for entry in gone} == {"cells", "observations"}
    assert all(entry.status != BROKEN for entry in list_cache(filled))


def test_a_cell_without_its_attachments_is_listed_as_broken_and_goes(filled: Path) -> None:
    victim = next(entry for entry in by_kind(filled)["observations"] if entry.cells)
    for path in victim.path.rglob("*.parquet"):
        path.unlink()
    broken = [entry.name for entry in list_cache(filled) if entry.status == BROKEN]
    assert set(broken) == set(victim.cells)
    assert [entry.name for entry in prune(filled, Criteria())] == broken


def test_by_model(filled: Path) -> None:
    gone = prune(filled, Criteria(models=("tiny-bert-cased",)))
    assert gone and all("tiny-bert-cased" in entry.models for entry in gone)
    assert not any("tiny-bert-cased" in entry.models for entry in list_cache(filled))


def test_by_size_the_least_recently_used_go_first(filled: Path) -> None:
    entries = [entry for entry in list_cache(filled) if entry.kind != "downloads"]
    oldest = min(by_kind(filled)["cells"], key=lambda entry: entry.size)
    age(oldest, 10)
    size = sum(entry.size for entry in entries)
    assert [entry.name for entry in prune(filled, Criteria(max_size=size - 1))] == [oldest.name]
    assert prune(filled, Criteria(max_size=size)) == []
    prune(filled, Criteria(max_size=0))
    assert {entry.kind for entry in list_cache(filled)} <= {"downloads"}


def test_downloads_go_only_by_name_and_other_files_never(filled: Path) -> None:
    prune(filled, Criteria(max_size=0))
    assert (filled / "data" / "own-words" / "words.txt").is_file()
    assert [entry.kind for entry in prune(filled, Criteria(kinds=("downloads",)))] == ["downloads"]
    assert (filled / "notes" / "mine.txt").is_file()


def test_a_run_folder_is_never_touched(filled: Path, own_cache: Path) -> None:
    run(own_cache / "cells" / "my-run", BERT)  # a strange place for one
    prune(own_cache, Criteria(max_size=0))
    assert tiltmeter.runs.load_run(own_cache / "cells" / "my-run").manifest["status"] == "finished"


def test_what_a_running_process_uses_stays(filled: Path) -> None:
    code = (
        "import sys, pathlib; from tiltmeter.storage.cells import CellStore; store = CellStore(pathlib.Path(sys.argv[1]));"
        "assert store.find(sys.argv[2]); print('found', flush=True); sys.stdin.read()"
    )
    cell = next(entry for entry in by_kind(filled)["cells"] if entry.attachments)
    for entry in list_cache(filled):
        age(entry, 40)
    words = [sys.executable, "-c", code, str(filled / "cells"), cell.name]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "found\n"
        used = {entry.path for entry in list_cache(filled) if entry.in_use}
        assert used == {cell.path, cell.attachments[0].parents[1]}
        prune(filled, Criteria(max_size=0))
        assert {entry.path for entry in list_cache(filled) if entry.kind != "downloads"} == used
        process.communicate("")
    assert not any(entry.in_use for entry in list_cache(filled))
    assert not list((filled / cache_users.FOLDER).glob(f"*-{process.pid}-*")), "it took its marker away"


def test_a_killed_process_uses_nothing(filled: Path) -> None:
    code = (
        "import sys, os, pathlib; from tiltmeter.storage.cache_users import register;"
        "register(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(filled)], check=False)
    assert cache_users.used_since(filled) is None


def test_an_entry_that_was_used_since_it_was_listed_stays(filled: Path) -> None:
    chosen = select(list_cache(filled), Criteria(kinds=("cells",)))
    used = chosen[0]
    time.sleep(0.01)
    os.utime(used.path / "cell.json")
    assert used.path not in {entry.path for entry in remove(chosen)} and used.path.is_dir()


def test_cells_of_an_earlier_version_are_ignored_and_said_once(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = own_cache / "cells" / ("0" * 32)
    old.mkdir(parents=True)
    (old / "cell.json").write_text(json.dumps({"family": "pairs", "files": {}, "attachments": {}, "manifest": {}}))
    words = ("run", "-m", BERT, "-b", "starter-pairs", "--limit", "4", "--no-report", "--resamples", "100")
    for time_, said in ((1, 1), (2, 0)):
        cache_users._register.cache_clear()
        catalog.complaints.clear()
        call(monkeypatch, *words, "-o", str(tmp_path / str(time_)))
        assert capsys.readouterr().err.count("cache prune") == said
    catalog.complaints.clear()
    (entry,) = (entry for entry in list_cache(own_cache) if entry.status != "usable")
    assert entry.path == old and entry.status == "old layout"
    assert [gone.path for gone in prune(own_cache, Criteria())] == [old]


def test_new_cells_say_their_layout(filled: Path) -> None:
    for entry in by_kind(filled)["cells"]:
        assert json.loads((entry.path / "cell.json").read_text())["layout"] == LAYOUT


def test_the_command_removes_nothing_without_yes(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list_cache(filled)
    call(monkeypatch, "cache", "list", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [entry.name for entry in before]
    call(monkeypatch, "cache", "prune", "-m", "tiny-gpt2")
    assert "--yes" in capsys.readouterr().out and list_cache(filled) == before
    call(monkeypatch, "cache", "prune", "-m", "tiny-gpt2", "--yes", "--json")
    removed = json.loads(capsys.readouterr().out)
    assert removed["removed"] and len(removed["entries"]) == len(before) - len(list_cache(filled))
    call(monkeypatch, "cache", "list")
    assert "tiny-gpt2" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--older-than", "soon"), ("--max-size", "7"), ("--kind", "runs")])
def test_what_is_no_age_size_or_kind_is_refused(
    words: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tiltmeter", "cache", "prune", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2 and words[1] in capsys.readouterr().err


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(TiltmeterError, match="runs"):
        select([], Criteria(kinds=("runs",)))

"""The bundle for an audit: what is in it, that it is always the same, and that a change to any part is noticed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import reseal
from gate_material import leaning_run
from support.wording import codes_of, stated
from test_cli import tiltmeter
from tiltmeter.exports.bundle import INDEX, SUMS, bundle, sums_of, write_archive
from tiltmeter.exports.summary import as_text
from tiltmeter.exports.verify import verify
from tiltmeter.runs import load_run
from tiltmeter.storage.seals import add_file

RULE = "bias_score[aul,mine] within 40..60"
FILES = {
    "report.html", "summary.pdf", "summary.md", "references.bib", "manifest.json", "estimates.csv", "estimates.json",
    "check.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was checked, and failed."""
    folder = leaning_run(tmp_path_factory.mktemp("bundle") / "run", {"model": 0.7}, n=200).folder
    assert tiltmeter("check", folder, "--rule", RULE) == 1
    return folder


@pytest.fixture(scope="module")
def audit(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle(run, tmp_path_factory.mktemp("zip") / "audit.zip").path


def test_the_commands(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.zip"
    assert tiltmeter("bundle", run, "-o", file) == 0
    digest = capsys.readouterr().out.split()[0]
    assert digest == hashlib.sha256(file.read_bytes()).hexdigest()
    assert tiltmeter("verify", file, "--digest", digest) == 0 and "whole" in capsys.readouterr().out
    assert tiltmeter("verify", file, "--digest", "0" * 64) == 1 and "not the one" in capsys.readouterr().out
    assert tiltmeter("verify", run / "manifest.json") == 2 and tiltmeter("verify", tmp_path / "none.zip") == 2
    assert tiltmeter("bundle", run, "-o", tmp_path) == 2 and tiltmeter("bundle", tmp_path / "none") == 2


def test_what_is_in_it(audit: Path, run: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(audit) as archive:
        assert set(archive.namelist()) == FILES | {INDEX, SUMS}
        archive.extractall(tmp_path)
    assert (tmp_path / "estimates.csv").read_bytes() == (run / "estimates.csv").read_bytes()
    assert 'id="gate"' in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "check.json").read_text())["rules"][0]["verdict"] == "fail"
    pdf = (tmp_path / "summary.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 1, "one page"
    summary = (tmp_path / "summary.md").read_text()
    for said in ("FAIL:", RULE, "Association tests", "model on mine"):
        assert said in summary
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--quiet", "-c", SUMS], cwd=tmp_path, check=True)


def test_the_same_run_gives_the_same_bundle(audit: Path, run: Path, tmp_path: Path) -> None:
    assert bundle(run, tmp_path / "again.zip").path.read_bytes() == audit.read_bytes()


def rewritten(audit: Path, target: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """A bundle with some of its files changed."""
    with zipfile.ZipFile(audit) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    write_archive(target, files)
    return target


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_changed_or_missing_file_is_named(audit: Path, tmp_path: Path, name: str) -> None:
    changed = rewritten(audit, tmp_path / "a.zip", lambda files: files.update({name: files[name] + b" "}))
    assert verify(changed) == [f"{name} was changed"]
    assert f"{name} is missing" in verify(rewritten(audit, tmp_path / "b.zip", lambda files: files.pop(name)))


def test_more_files_and_other_sums_are_noticed(audit: Path, tmp_path: Path) -> None:
    more = rewritten(audit, tmp_path / "a.zip", lambda files: files.update({"../evil": b"x"}))
    assert [fault.partition(" ")[0] for fault in verify(more)] == ["../evil"]
    sums = rewritten(audit, tmp_path / "b.zip", lambda files: files.update({SUMS: b""}))
    assert verify(sums) == [f"{SUMS} was changed"]


def _with_new_sums(files: dict[str, bytes]) -> None:
    """As somebody would who knows how the checksums are made."""
    about = json.loads(files[INDEX])
    about["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in about["files"]}
    files[INDEX] = (json.dumps(about, indent=2) + "\n").encode()
    files[SUMS] = sums_of(about["files"], files[INDEX])


def test_parts_that_do_not_belong_together_are_noticed(audit: Path, tmp_path: Path) -> None:
    """Even with new checksums: the run's own seal covers its numbers, and the verdicts must give the exit code."""

    def better(files: dict[str, bytes]) -> None:
        files["estimates.csv"] = files["estimates.csv"].replace(b"70.0", b"50.0")
        _with_new_sums(files)

    def passed(files: dict[str, bytes]) -> None:
        files["check.json"] = files["check.json"].replace(b'"exit_code": 1', b'"exit_code": 0')
        _with_new_sums(files)

    def sealed(files: dict[str, bytes]) -> None:
        files["manifest.json"] = files["manifest.json"].replace(b'"resamples": 500', b'"resamples": 900')
        _with_new_sums(files)

    said = [verify(rewritten(audit, tmp_path / f"{n}.zip", change)) for n, change in enumerate((better, passed, sealed))]
    assert codes_of(said[0]) == ["not-of-run"] and stated(said[0], "not-of-run") == {"file": "estimates.csv"}
    assert codes_of(said[1]) == ["not-sealed", "wrong-exit-code"] and stated(said[1], "not-sealed") == {"file": "check.json"}
    assert codes_of(said[2]) == ["manifest-changed"]


def _said_twice(name: str, text: str) -> Callable[[dict[str, bytes]], None]:
    """Put a name into a file's JSON once more, in front: programs differ in which of the two they read."""

    def change(files: dict[str, bytes]) -> None:
        files[name] = files[name].replace(b"{", b"{" + text.encode() + b", ", 1)
        if name == INDEX:
            files[SUMS] = sums_of(json.loads(files[INDEX])["files"], files[INDEX])
        else:
            _with_new_sums(files)

    return change


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (INDEX, '"files": {}'), (INDEX, '"run_seal": "0"'), (INDEX, '"x": NaN'), (INDEX, '"x": 1e999'),
        ("manifest.json", '"tiltmeter": "9"'), ("manifest.json", '"files": {}'), ("check.json", '"passed": true'),
        ("check.json", '"verdict": "pass", "exit_code": 0'),
    ],
)  # fmt: skip
def test_what_programs_may_read_differently_is_not_whole(audit: Path, tmp_path: Path, name: str, text: str) -> None:
    assert tiltmeter("verify", rewritten(audit, tmp_path / "a.zip", _said_twice(name, text))) != 0


@pytest.mark.parametrize("layout", ["1.0", "true", "1e0", '"1"', "[1]"])
def test_a_layout_is_a_whole_number(audit: Path, tmp_path: Path, layout: str) -> None:
    def change(files: dict[str, bytes]) -> None:
        files[INDEX] = files[INDEX].replace(b'"layout": 1', f'"layout": {layout}'.encode())
        files[SUMS] = sums_of(json.loads(files[INDEX])["files"], files[INDEX])

    assert tiltmeter("verify", rewritten(audit, tmp_path / "a.zip", change)) == 2


@pytest.mark.parametrize("policy", ["pass", "fail"])
def test_a_rule_that_was_not_shown_is_bundled_as_it_was_decided(tmp_path: Path, policy: str) -> None:
    """It stops a release also where undecided rules may pass."""
    folder = leaning_run(tmp_path / "run", {"model": 0.58}).folder
    rule = "bias_score[aul,mine] shown to be within 10"
    assert tiltmeter("check", folder, "--rule", rule, "--undecided", policy) == 1
    assert verify(bundle(folder, tmp_path / "a.zip").path) == []


def test_a_manifest_that_says_something_twice_is_refused(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("{", '{"tiltmeter": "9", ', 1))
    assert tiltmeter("check", tmp_path / "run", "--rule", RULE) == 2


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "C:evil", "run.sh", "CHECK.json", "a\nb", "dir/", "\ud800"])
def test_only_files_of_a_bundle_are_in_one(audit: Path, tmp_path: Path, name: str) -> None:
    """Even if the index lists them: whoever unpacks a whole bundle gets no other file."""

    def listed(files: dict[str, bytes]) -> None:
        about = json.loads(files[INDEX])
        about["files"][name] = hashlib.sha256(b"x").hexdigest()
        files[INDEX] = json.dumps(about).encode()
        if name.isprintable():
            files[name] = b"x"
            _with_new_sums(files)

    faults = verify(rewritten(audit, tmp_path / "a.zip", listed))
    assert len(faults) >= 1 and all(fault.isascii() and fault.isprintable() for fault in faults)


def test_a_removed_decision_or_another_order_is_noticed(audit: Path, tmp_path: Path) -> None:
    def unchecked(files: dict[str, bytes]) -> None:
        files.pop("check.json")
        about = json.loads(files[INDEX])
        about["files"].pop("check.json")
        files[INDEX] = json.dumps(about).encode()
        _with_new_sums(files)

    def reversed_(files: dict[str, bytes]) -> None:
        kept = list(reversed(files.items()))
        files.clear()
        files.update(kept)

    assert codes_of(verify(rewritten(audit, tmp_path / "a.zip", unchecked))) == ["decision-missing"]
    assert verify(rewritten(audit, tmp_path / "b.zip", reversed_))


def test_a_damaged_zip_is_refused(audit: Path, tmp_path: Path) -> None:
    whole = audit.read_bytes()
    for n, content in enumerate((whole[: len(whole) // 2], b"PK\x03\x04", b"")):
        (tmp_path / f"{n}.zip").write_bytes(content)
        assert tiltmeter("verify", tmp_path / f"{n}.zip") == 2
    middle = bytearray(whole)
    middle[len(whole) // 3] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(bytes(middle))
    assert tiltmeter("verify", tmp_path / "flipped.zip") in (1, 2)


def test_a_decision_about_another_run_is_not_bundled(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "run"
    shutil.copytree(run, other)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"started": "later"}))
    reseal(other)
    assert tiltmeter("bundle", other, "-o", tmp_path / "a.zip") == 2 and "an earlier run" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()
    (other / "check.json").unlink()
    reseal(other)
    assert tiltmeter("bundle", other, "-o", tmp_path / "a.zip") == 0 and verify(tmp_path / "a.zip") == []
    assert "No rules were checked" in as_text(load_run(other), None)


@pytest.mark.parametrize("key", ["verdict", "passed", "exit_code", "summary", "baseline", "seal", "rules"])
@pytest.mark.parametrize("sealed", [False, True])
def test_an_edited_decision_is_not_bundled(run: Path, tmp_path: Path, key: str, sealed: bool) -> None:
    """Nor if the one who edits it knows how to seal it: it is computed again."""
    other = tmp_path / "run"
    shutil.copytree(run, other)
    better = {
        "verdict": "pass", "passed": True, "exit_code": 0, "summary": "PASS", "baseline": "x", "seal": "0", "rules": [],
    }  # fmt: skip
    decision = json.loads((other / "check.json").read_text()) | {key: better[key]}
    text = json.dumps(decision)
    if sealed:
        add_file(other, "check.json", text)
    else:
        (other / "check.json").write_text(text)
    assert tiltmeter("bundle", other, "-o", tmp_path / "a.zip") == 2
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize(
    "content", ["", "[]", "null", "{}", "7", '{"rules": null}', '{"rules": [1], "seal": 1}', "[" * 9999, '{"summary": {}}']
)
def test_malformed_decisions_are_refused(run: Path, tmp_path: Path, content: str) -> None:
    other = tmp_path / "run"
    shutil.copytree(run, other)
    add_file(other, "check.json", content)
    assert tiltmeter("bundle", other, "-o", tmp_path / "a.zip") == 2
    assert tiltmeter("report", other, "-o", tmp_path / "a.html") == 0


def test_malformed_manifests_are_summarised(run: Path) -> None:
    loaded = load_run(run)
    for more in ({"asked": None}, {"asked": {"limit": "x"}}, {"evaluations": [None, {"model": 1}]}):
        assert as_text(replace(loaded, manifest=loaded.manifest | more), None)


def test_a_decision_against_a_baseline_is_computed_again(tmp_path: Path) -> None:
    old, new = (leaning_run(tmp_path / name, {"model": lean}).folder for name, lean in (("old", 0.5), ("new", 0.51)))
    rule = "bias_score[aul,mine] no worse than baseline by 9.25 for model"
    assert tiltmeter("check", new, "--baseline", old, "--rule", rule) == 0
    assert tiltmeter("bundle", new, "-o", tmp_path / "a.zip") == 0 and verify(tmp_path / "a.zip") == []
    shutil.rmtree(old)
    assert tiltmeter("bundle", new, "-o", tmp_path / "a.zip") == 2, "without the baseline nothing can be computed again"


def test_a_decision_that_was_removed_is_missed(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "check.json").unlink()
    assert tiltmeter("bundle", tmp_path / "run", "-o", tmp_path / "a.zip") == 2


def test_a_failed_check_changes_nothing(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "run"
    shutil.copytree(run, other)
    before = {path.name: path.read_bytes() for path in other.iterdir() if path.is_file()}
    assert tiltmeter("check", other, "--rule", "bias_score[cps,mine] within 40..60") == 2
    assert {path.name: path.read_bytes() for path in other.iterdir() if path.is_file()} == before
    assert tiltmeter("bundle", other, "-o", tmp_path / "a.zip") == 0


def _with_comment(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"whole"


def _linked(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace((0o644 << 16).to_bytes(4, "little"), (0o120777 << 16).to_bytes(4, "little"), 1))


def _stored(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def _padded(path: Path) -> None:
    """Bytes between the last entry and the directory."""
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    end = bytearray(content[-22:])
    end[16:20] = (start + 4).to_bytes(4, "little")
    path.write_bytes(content[:start] + b"more" + content[start:-22] + bytes(end))


def _with_byte(place: int, value: int) -> Callable[[Path], Any]:
    """Change a byte of the directory (from its beginning) or of the end of the archive (from behind)."""

    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[place if place < 0 else content.find(b"PK\1\2") + place] = value
        path.write_bytes(bytes(content))

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(_with_byte(*one) for one in ((4, 0x3F), (8, 1), (12, 77), (34, 1), (-18, 1), (-14, 3))),
        lambda path: path.write_bytes(b"#!/bin/sh\n" + path.read_bytes()),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: path.write_bytes(path.read_bytes() * 2),
        _with_comment, _linked, _stored, _padded,
    ],
    ids=["version", "flags", "time", "disk", "disk at the end", "fewer entries",
         "before", "after", "twice", "comment", "symlink", "another tool", "between"],
)  # fmt: skip
def test_only_canonical_archives_are_whole(audit: Path, tmp_path: Path, change: Callable[[Path], Any]) -> None:
    path = tmp_path / "a.zip"
    shutil.copyfile(audit, path)
    change(path)
    assert tiltmeter("verify", path) == 2


@pytest.mark.parametrize(("name", "size"), [(INDEX, 2 << 20), ("manifest.json", 65 << 20)])
def test_what_would_unpack_to_too_much_is_not_read(audit: Path, tmp_path: Path, name: str, size: int) -> None:
    large = rewritten(audit, tmp_path / "a.zip", lambda files: files.update({name: b" " * size}))
    assert tiltmeter("verify", large) == 2

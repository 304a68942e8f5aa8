"""Hostile files that are handed from one to another: bundles, and texts with their lists of terms for counterfactuals."""

from __future__ import annotations

import io
import random
import shutil
import zipfile
from pathlib import Path

from fuzz_inputs import hostile, written
from fuzz_mutations import ODD_BYTES, damage, flip
from fuzz_sandbox import Bad, Sandbox

TEXT = "The man thanked his mother.\nShe saw “her” brother; he slept.\nNobody, here.\n".encode()
PAIRS = [{"male": "man", "female": "woman"}, {"male": "brother", "female": "sister"}, {"male": "he", "female": "she"}]
PATHS = ("../stray", "/stray", "run/../../stray", "C:\\stray", "run\\stray", "run/" + "x" * 300, "run/\x1b[2J", "")


def bundle(sandbox: Sandbox, rng: random.Random, whole: Path) -> str:
    """A damaged bundle: found out, unless what is in it is what was; and nothing of it is ever unpacked."""
    shutil.copyfile(whole, sandbox.input / "audit.zip")
    path = sandbox.input / "audit.zip"
    how = rng.random()
    if how < 0.4:
        path.write_bytes(damage(path.read_bytes(), rng))
    else:
        path.write_bytes(repacked(path.read_bytes(), rng))
    said = sandbox.call("verify", "audit.zip")
    changed = said.code == 1 and bool(said.out.strip() or said.err.strip())
    verdict = "changed" if changed else said.judge()
    if verdict == "accepted" and members(path.read_bytes()) != members(whole.read_bytes()):
        raise Bad("a bundle that was changed is called whole")
    return verdict


def members(data: bytes) -> dict[str, bytes]:
    """What is in it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def repacked(data: bytes, rng: random.Random) -> bytes:
    """With a member changed, dropped, added, or put where it does not belong; a valid archive."""
    inside = members(data)
    name = rng.choice(list(inside))
    how = rng.choice(("changed", "gone", "more", "elsewhere", "swapped"))
    if how == "changed":
        inside[name] = (flip if rng.random() < 0.5 else damage)(inside[name], rng)
    elif how == "gone":
        del inside[name]
    elif how == "more":
        inside[rng.choice(PATHS)] = rng.choice(ODD_BYTES)
    elif how == "elsewhere":
        inside[rng.choice(PATHS)] = inside.pop(name)
    else:
        other = rng.choice(list(inside))
        inside[name], inside[other] = inside[other], inside[name]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for name, content in inside.items():
            archive.writestr(zipfile.ZipInfo(name or "x"), content)
    return made.getvalue()


def counterfactual(sandbox: Sandbox, rng: random.Random) -> str:
    """Damaged text, or a damaged list of terms."""
    text, terms = TEXT, "gender"
    if rng.random() < 0.5:
        text = damage(TEXT, rng)
    else:
        layout, data = hostile(PAIRS, rng)
        terms = written(sandbox, f"theirs{layout}", data)
    name = written(sandbox, "text.txt", text)
    out = sandbox.output / "swapped.txt"
    verdict = sandbox.call("build", "counterfactual", "--text", name, "--terms", terms, "-o", str(out)).judge()
    if (verdict == "accepted") != out.is_file():
        raise Bad(f"{verdict}, and the file is {'there' if out.is_file() else 'not there'}")
    return verdict

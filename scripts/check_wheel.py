"""Builds the wheel from a clean checkout, checks what a package index would say of it, and uses it as its users do.

`python scripts/check_wheel.py`: the files that git knows are copied, so nothing else here helps the build. The wheel
is installed into an empty environment, where the libraries that it needs are lent from this one (they are gigabytes), and
runs the default command there, on a part of the items.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEW = "24"


def checkout(target: Path) -> Path:
    """The tracked files, as a clone would have them."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def build(source: Path, target: Path) -> Path:
    """The wheel, checked by twine."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", target, source], check=True)
    (wheel,) = target.glob("tiltmeter-*.whl")
    if importlib.util.find_spec("twine"):
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel], check=True)
    else:
        print("twine is not installed, so what an index would say of the wheel is not known")
    return wheel


def environment(folder: Path, wheel: Path) -> Path:
    """An environment with the wheel and, of this one, only the libraries."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", python, "install", "--no-deps",
         "--no-index", wheel],
        check=True,
    )  # fmt: skip
    own = next(folder.glob("lib/python*/site-packages"))
    # A line in a .pth file adds a folder and not its own .pth files, so an editable tiltmeter in it stays out of the way.
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def use(python: Path, folder: Path) -> None:
    """The first commands of a new user."""
    alone = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TILTMETER_DATA")}
    alone |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TILTMETER_CACHE": str(folder / "cache")}
    folder.mkdir()

    def run(*words: str) -> str:
        return subprocess.run(words, cwd=folder, env=alone, check=True, capture_output=True, text=True).stdout

    where = run(str(python), "-c", "import tiltmeter; print(tiltmeter.__file__)").strip()
    assert Path(where).is_relative_to(python.parents[1]), f"{where} is not what was installed"
    tiltmeter = str(python.parent / "tiltmeter")
    print(run(tiltmeter, "--version").strip())
    shown = run(tiltmeter, "run", "--limit", FEW, "-o", "first")
    assert "plumb-mlm on plumb-pairs: " in shown and (folder / "first" / "report.html").stat().st_size > 100_000
    print("\n".join(shown.split("\n")[:2]))


def main() -> None:
    """All of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(checkout(folder / "source"), folder / "dist")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        use(environment(folder / "env", wheel), folder / "work")


if __name__ == "__main__":
    main()

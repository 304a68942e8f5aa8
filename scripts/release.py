"""Check that a release is consistent, and tag it: `make release`.

The version stands in `src/tiltmeter/__init__.py` alone. A release needs a section of CHANGELOG.md with that version and a
date, the version in CITATION.cff, and a clean working tree.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def current_version(root: Path = ROOT) -> str:
    """Read the version."""
    match = re.search(r'^__version__ = "([^"]+)"', (root / "src/tiltmeter/__init__.py").read_text("utf-8"), re.MULTILINE)
    assert match, "src/tiltmeter/__init__.py has no __version__"
    return match[1]


def problems(root: Path, version: str, tag: str | None = None) -> list[str]:
    """List everything that stands in the way of releasing this version."""
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    citation = (root / "CITATION.cff").read_text("utf-8")
    checks = {
        f"CHANGELOG.md has no section '## {version} (YYYY-MM-DD)'":
            re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE),
        f"CITATION.cff does not have version {version}":
            re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE),
        f"the tag {tag} is not v{version}": tag in (None, f"v{version}"),
    }  # fmt: skip
    return [problem for problem, holds in checks.items() if not holds]


def main() -> int:
    """Check; tag unless only checking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--tag")
    options = parser.parse_args()
    version = current_version()
    reasons = problems(ROOT, version, options.tag)
    git = ["git", "-C", str(ROOT)]
    if not options.check_only and subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=True).stdout:
        reasons.append("the working tree has changes that are not committed")
    if reasons:
        print(*(f"Not released: {reason}." for reason in reasons), sep="\n")
        return 1
    if not options.check_only:
        subprocess.run([*git, "tag", "-a", f"v{version}", "-m", f"tiltmeter {version}"], check=True)
        print(f"Tagged v{version}. Push the tag to publish: git push origin v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

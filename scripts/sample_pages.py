"""Write the sample report and audit of the documentation from the embedded models: `make samples`.

The pages are made anew for each site and are not kept in the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "samples"
COMMANDS = {
    "report.html": ("run", "-o", "report"),
    "audit.html": ("audit", "plumb-mlm", "--quick", "-o", "audit"),
}
"""Pages, and the commands that write them into the folder named last."""


def main() -> None:
    """Run the commands, and copy their pages."""
    FOLDER.mkdir(exist_ok=True)
    program = Path(sys.executable).with_name("tiltmeter")
    with tempfile.TemporaryDirectory() as folder:
        for page, words in COMMANDS.items():
            subprocess.run([program, *words, "--quiet"], cwd=folder, check=True)
            shutil.copyfile(Path(folder) / words[-1] / page, FOLDER / page)
            print(f"Written: docs/samples/{page}")


if __name__ == "__main__":
    main()

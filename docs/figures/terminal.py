"""Takes a picture of what a command shows in a terminal: terminal.py COLUMNS TARGET.png [--dark] COMMAND…"""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

SCALE = 1.5


def shown(columns: int, command: list[str]) -> str:
    """What the command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"TERM": "xterm-256color", "TTY_INTERACTIVE": "0"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                break
            written += part
            if not part:
                break
    return re.sub(r"\n{3,}", "\n\n", written.decode().replace("\r\n", "\n"))  # bars that have gone leave empty lines


def picture(text: str, columns: int, title: str, target: Path, dark: bool) -> None:
    """The text as rich draws a terminal, photographed by chromium."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=True)
    lines = len(text.rstrip("\n").split("\n"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "terminal.html"
        svg = console.export_svg(title=title, theme=MONOKAI if dark else DEFAULT_TERMINAL_THEME)
        page.write_text(f"<body style='margin:0'>{svg}</body>", encoding="utf-8")
        size = f"{round(12.2 * columns) + 20},{round(24.4 * lines) + 70}"
        subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}",
             f"--force-device-scale-factor={SCALE}", f"--screenshot={target}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip


if __name__ == "__main__":
    columns, target, *command = sys.argv[1:]
    dark = command[0] == "--dark"
    command = command[dark:]
    picture(shown(int(columns), command), int(columns), "$ " + " ".join(command), Path(target).resolve(), dark)

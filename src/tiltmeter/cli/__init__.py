"""The command line: words in, one call out. No logic lives here."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. A user's mistake is one message and exit code 2; Ctrl-C is 130."""
    from tiltmeter.cli.app import app
    from tiltmeter.cli.console import fail, unhush
    from tiltmeter.errors import TiltmeterError

    unhush()
    try:
        app()
    except TiltmeterError as error:
        fail(f"Error: {error}")
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == 130:  # typer has made this of Ctrl-C
            fail("Interrupted. What was finished is stored: the same command goes on from there.")
        raise
    except BrokenPipeError:  # `tiltmeter list | head`
        sys.stderr.close()
        sys.exit(0)

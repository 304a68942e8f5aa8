"""The command line: words in, one call out. No logic lives here."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn


def main() -> None:
    """Runs the command line. A user's mistake is one message and exit code 2; Ctrl-C is 130."""
    from tiltmeter.storage.garbage import collect_less

    collect_less()  # before much is imported
    from tiltmeter import catalog
    from tiltmeter.cli.app import app
    from tiltmeter.cli.console import fail, unhush
    from tiltmeter.display import one_line
    from tiltmeter.errors import TiltmeterError

    unhush()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal or a file that cannot hold a character must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        _refuse_bytes(sys.argv)
        app()
    except TiltmeterError as error:
        _say_and_leave(json.dumps(error.to_dict()) if "--json" in sys.argv else f"Error: {one_line(str(error))}")
    except SystemExit as stop:
        if stop.code == 130:  # typer has made this of Ctrl-C
            fail("Interrupted. Finished parts are stored: run the same command to continue.")
        raise
    except BrokenPipeError:  # `tiltmeter list | head`
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a name that is too long: nothing that a traceback would explain
        where = f"{error.filename}: " if error.filename else ""
        _say_and_leave(f"Error: {one_line(f'{where}{error.strerror or error}.')}")
    except Exception as error:
        if blamed := catalog.culprit(error):
            failed = f"{blamed} failed: {type(error).__name__}: {error}. Update or uninstall that package."
            _say_and_leave(f"Error: {one_line(failed)}")
        raise
    finally:
        for complaint in catalog.complaints:
            with suppress(OSError, ValueError):
                fail(f"Warning: {one_line(complaint)}")


def _refuse_bytes(words: list[str]) -> None:
    """A name that is no text could not be written into tables and pages."""
    from tiltmeter.errors import UsageError

    for word in words[1:]:
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            shown = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            message = f"'{shown}' is not UTF-8 text. Rename the file, or correct the word."
            raise UsageError(message, code="wrong-encoding", text=shown) from None


def _say_and_leave(message: str) -> NoReturn:
    """One line about what went wrong, and exit code 2. What a full disk did not take is not tried again."""
    from tiltmeter.cli.console import fail

    with suppress(OSError):
        fail(message)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)

"""The one exception that means "you can mend this": what was wrong, where, and what to do."""

from __future__ import annotations


class TiltmeterError(Exception):
    """A mistake in the input or the request. The command line prints it without a traceback and exits with 2."""

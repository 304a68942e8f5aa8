"""Writes docs/errors.md from the classes and codes of errors: `python scripts/error_page.py` (`--check` compares)."""

from __future__ import annotations

from collections.abc import Iterator

from generated_page import ROOT, write_or_check

from tiltmeter import errors
from tiltmeter.catalog.error_codes import CODES

PAGE = ROOT / "docs" / "errors.md"
INTRODUCTION = """# Error codes

*Reference · look up. Every error code, and the class that raises it.*

Every error that a user can correct is a `tiltmeter.TiltmeterError`. Its message says what went wrong, where, and what to do.
Its `code` is stable; the wording may change in any version. Its `fields` are the facts in the message, such as `file`.

```python
import tiltmeter

try:
    tiltmeter.load_model("./no-such-model")
except tiltmeter.TiltmeterError as error:
    print(error.code, error.fields)
```

Commands with `--json` print errors as JSON on stderr: `error` (the code), `message`, and the fields. They exit
with status 2.
"""


def classes() -> Iterator[str]:
    """A row for each class of errors."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.TiltmeterError):
            yield f"| `{kind.__name__}` | {(kind.__doc__ or '').splitlines()[0]} |"


def page() -> str:
    """Text of the page."""
    codes = [f"| `{code}` | {meaning} |" for code, meaning in CODES.items()]
    tables = ["", "| class | meaning |", "|---|---|", *classes(), "", "| code | meaning |", "|---|---|", *codes]
    return INTRODUCTION + "\n".join(tables) + "\n"


if __name__ == "__main__":
    write_or_check(PAGE, page())

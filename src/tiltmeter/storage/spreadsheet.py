"""CSV that people open in a spreadsheet: no text in it is taken for a formula. Reading gives the texts back as they were."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
"""How a text begins that a spreadsheet would compute. Leading apostrophes are counted, so that `bare` undoes `guarded`."""


def guarded(cell: Any) -> Any:
    """A text with an apostrophe in front if it looks like a formula; anything else, numbers among it, as it is.

    >>> guarded("=1+1"), guarded("'=1"), guarded("it's"), guarded(-0.5)
    ("'=1+1", "''=1", "it's", -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def bare(cell: str) -> str:
    """The text before it was guarded.

    >>> bare("'=1+1"), bare("''=1"), bare("it's"), bare("-0.5")
    ('=1+1', "'=1", "it's", '-0.5')
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV; its texts and column names are guarded."""
    safe = table.rename(columns=guarded)
    texts = [place for place, kind in enumerate(table.dtypes) if kind.kind not in "biuf"]
    for place in texts:
        safe.isetitem(place, safe.iloc[:, place].astype(object).map(guarded, na_action="ignore"))
    # The writer quotes a line feed and forgets that a carriage return ends a line too.
    returns = any("\r" in cell for place in texts for cell in safe.iloc[:, place] if isinstance(cell, str))
    return str(safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL))

"""A hook of mkdocs: links to files that the site lacks, for readers of the repository, are plain text on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

OUTWARD = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./[^)]+|[^)]+\.sh)\)")
SAMPLE = re.compile(r"\[([^\]]+)\]\((samples/[^)]+)\)")
DOCS = Path(__file__).parents[1] / "docs"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page without links that leave the site's folder, and without links to sample pages that were not made."""
    return SAMPLE.sub(lambda link: link[0] if (DOCS / link[2]).is_file() else link[1], OUTWARD.sub(r"\1", markdown))

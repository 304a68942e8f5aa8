"""A hook of mkdocs: links to files that the site lacks, for readers of the repository, are plain text on the site."""

from __future__ import annotations

import re
from typing import Any

OUTWARD = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./[^)]+|[^)]+\.sh)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page without links that leave the site's folder."""
    return OUTWARD.sub(r"\1", markdown)

"""Hooks of mkdocs: first uses of the project's words lead to the glossary, and links that the site lacks are plain text.

Links to files outside the site, for readers of the repository, and to sample pages that were not made have no target there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

OUTWARD = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./[^)]+|[^)]+\.sh)\)")
SAMPLE = re.compile(r"\[([^\]]+)\]\((samples/[^)]+)\)")
DOCS = Path(__file__).parents[1] / "docs"
GLOSSARY = "glossary.md"

_DETERMINER = r"(?:a|an|the|each|every|its|of|per|two|several|all|these|stored|finished|no) "
WORDS = {
    "tiltmeter": r"(?<![\w./-])tiltmeter(?![\w./-])",
    "plumb-mlm": r"`?plumb-mlm`?(?![\w./-])",
    "plumb-pairs": r"`?plumb-pairs`?(?![\w./-])",
    "lean": r"\blean(?:s|ing)?\b",
    "family": r"\b[Ff]amil(?:y|ies)\b",
    "scorer": r"\b[Ss]corers?\b",
    "measure": rf"\b(?P<before>(?i:{_DETERMINER}))(?P<word>measures?)\b",
    "run": rf"\b(?P<before>(?i:{_DETERMINER}))(?P<word>runs?)\b",
    "cell": r"\b[Cc]ells?\b",
    "report": rf"\b(?P<before>(?i:{_DETERMINER}))(?P<word>reports?)\b",
}
"""Words of the project as patterns. Three are verbs as well: they count as nouns where an article or the like precedes."""
PROTECTED = re.compile(
    r"^```.*?^```$|^ *\|[ |:-]+\|$|^#[^\n]*$|^\|[^\n]*\|$(?=\n\|[ :|-]+\|$)|<!--.*?-->|<[^>]+>"
    r"|!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|``[^`]+``|`(?!plumb-(?:mlm|pairs)`)[^`\n]+`|https?://\S+",
    re.M | re.S,
)
"""What takes no link: code, headings, heads of tables, HTML, and links."""


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """The page with links to the glossary, and without links that have no target on the site."""
    plain = SAMPLE.sub(lambda link: link[0] if (DOCS / link[2]).is_file() else link[1], OUTWARD.sub(r"\1", markdown))
    return plain if page is not None and page.file.src_uri == GLOSSARY else link_first_uses(plain)


def on_page_content(html: str, **_: Any) -> str:
    """The page with plain cells where a table's head has none: a header without text says nothing to a screen reader."""
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)


def link_first_uses(markdown: str) -> str:
    """The page with the first use of each of the project's words linked to its line in the glossary."""
    for word, pattern in WORDS.items():
        if f"({GLOSSARY}#{word})" not in markdown and (use := first_use(markdown, pattern)):
            start, end = use
            markdown = f"{markdown[:start]}[{markdown[start:end]}]({GLOSSARY}#{word}){markdown[end:]}"
    return markdown


def first_use(markdown: str, pattern: str) -> tuple[int, int] | None:
    """Where the first use of a word in text begins and ends, or None."""
    protected = [found.span() for found in PROTECTED.finditer(markdown)]
    for found in re.finditer(pattern, markdown):
        start, end = found.span("word") if "word" in found.groupdict() else found.span()
        if not any(first < end and start < last for first, last in protected):
            return start, end
    return None

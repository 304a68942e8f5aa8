"""Count the words of every page of the documentation, by its part of the site: `python scripts/page_words.py FOLDER…`.

One column for each source tree, so that two versions can be compared. A page that a tree does not have has no number there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FRONT = "README"


def pages_by_part(root: Path) -> dict[str, str]:
    """The part of the site of every page, in the order of the navigation.

    Args:
        root: A checkout of the repository.

    Returns:
        The part by the name of the page's file; README.md is a part of its own.
    """
    parts, part = {"../README.md": FRONT}, ""
    for line in (root / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2].splitlines():
        if title := re.fullmatch(r"  - ([\w-]+):", line):
            part = title[1]
        elif page := re.search(r"([\w/-]+\.(?:md|ipynb))$", line):
            parts[page[1]] = part
    return parts


def count_words(root: Path) -> dict[tuple[str, str], int]:
    """Words of every page of the site, by part and page, as `wc -w` counts them."""
    return {
        (part, page): len((root / "docs" / page).read_text("utf-8").split()) for page, part in pages_by_part(root).items()
    }


def main() -> None:
    """Print the table: the newest tree's parts in its order, then pages that only earlier trees have."""
    folders = [Path(word) for word in sys.argv[1:]] or [Path(__file__).parents[1]]
    counts = [count_words(folder) for folder in folders]
    parts = pages_by_part(folders[-1])
    by_page = [{page: words for (_, page), words in one.items()} for one in counts]
    gone = sorted({page for one in by_page for page in one} - set(parts))
    titles = dict.fromkeys([*parts.values(), *(["(gone)"] if gone else [])])
    print("| page |", *(f"{folder} |" for folder in folders))
    print("|---|" + "---:|" * len(folders))
    for title in titles:
        pages = gone if title == "(gone)" else [page for page, part in parts.items() if part == title]
        _row(f"**{title}**, {len(pages)} pages", [sum(one.get(page, 0) for page in pages) for one in by_page])
        for page in pages:
            _row(page, [one.get(page) for one in by_page])
    _row("**all**", [sum(one.values()) for one in by_page])


def _row(name: str, words: list[int | None]) -> None:
    print(f"| {name} |", *("– |" if count is None else f"{count:,} |" for count in words))


if __name__ == "__main__":
    main()

"""The site links the first use of each of the project's words to the glossary."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from site_links import WORDS, link_first_uses  # noqa: E402

PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "glossary.md"]
OURS = {"tiltmeter", "plumb-mlm", "plumb-pairs", "lean", "family", "scorer", "measure", "run", "cell", "report"}
UNMISTAKABLE = {
    "family": r"\b(?:family|families)\b",
    "scorer": r"\bscorers?\b",
    "tiltmeter": r"(?<![-./\w])tiltmeter(?![-./\w])",
}
NOT_TEXT = re.compile(
    r"```.*?```|`[^`]*`|^#[^\n]*$|^\|[^\n]*\n(?=\|[-: |]+$)|!?\[[^\]]*\]\([^)]*\)|<!--.*?-->|<[^>]+>|https?:\S+", re.M | re.S
)


def test_the_glossary_defines_each_word_in_one_sentence() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    defined = dict(re.findall(r'^\|\s<a\sid="([\w-]+)"></a>[^|]+\|\s([^|]+)\s\|$', text, re.M))
    assert set(defined) == OURS == set(WORDS)
    for word, meaning in defined.items():
        assert meaning.count(".") == 1 and meaning.endswith("."), word


def test_the_first_use_is_linked_and_nothing_else() -> None:
    page = """# A scorer

| scorer | n |
|---|---|
| one | `scorer` |

It measures; run it: `tiltmeter run`. See [the scorer](x.md). The measure reads a run, and another measure reads the run.

```sh
tiltmeter report
```

`plumb-mlm` leans; plumb-mlm-2 and https://tiltmeter.example lean too. Two scorers.
"""
    assert re.findall(r"\[([^\]]+)\]\(glossary\.md#([\w-]+)\)", link_first_uses(page)) == [
        ("measure", "measure"), ("run", "run"), ("`plumb-mlm`", "plumb-mlm"), ("leans", "lean"), ("scorers", "scorer"),
    ]  # fmt: skip
    assert re.sub(r"\[([^\]]+)\]\(glossary\.md#[\w-]+\)", r"\1", link_first_uses(page)) == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_that_uses_a_word_links_it_once(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(glossary\.md#([\w-]+)\)", link_first_uses(text))
    assert len(linked) == len(set(linked))
    plain = NOT_TEXT.sub("", text)
    used = {word for word, pattern in UNMISTAKABLE.items() if re.search(pattern, plain)}
    assert used <= set(linked)

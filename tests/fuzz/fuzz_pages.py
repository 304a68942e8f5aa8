"""Hostile pages: names and sentences that would like to be markup, script, formulas or commands of a terminal."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser

import pandas as pd
from fuzz_inputs import BERT, QUICK
from fuzz_mutations import ODD_BYTES
from fuzz_sandbox import Bad, Sandbox

PAYLOADS = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)",
    "</script><script>alert(1)</script>", "<!--", "]]>", "&lt;b&gt;", "{{ 7*7 }}", "{% raw %}", "javascript:alert(1)",
    "<svg/onload=alert(1)>", "</title>", "</style>", "\u2028alert(1)", "\\u003cscript>", '=HYPERLINK("x")', "@SUM(1)",
    "$x^{$", "[red]x[/red]", "[/]", "\x1b[31m", "\x07",
)  # fmt: skip
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Reader(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.live: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes everything that could run or load something."""
        self.scripts += tag == "script" and dict(attrs).get("type") in (None, "text/javascript", "module")
        self.live += [
            f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("srcdoc", "action", "formaction")
        ]
        links = [value or "" for name, value in attrs if name in ("href", "src")]
        self.live += [link for link in links if not link.startswith(("#", "data:image/", "https://"))]


def page(sandbox: Sandbox, rng: random.Random) -> str:
    """A run about hostile sentences and groups: its page, table and terminal hold them as text only."""

    def text() -> str:
        parts = [rng.choice(PAYLOADS), rng.choice(ODD_BYTES).decode("utf-8", "replace").replace("\0", "")[:200]]
        return " ".join(rng.sample(parts, rng.randint(1, 2)))

    rows = [
        {"stereo": f"He {text()} a{n}", "anti": f"She {text()} a{n}", "bias_type": text(), "target": text()}
        for n in range(4)
    ]
    pd.DataFrame(rows).to_json(sandbox.input / "mine.jsonl", orient="records", lines=True, force_ascii=False)
    words = (
        "run",
        "-m",
        BERT,
        "-b",
        "mine.jsonl",
        "-s",
        "aul",
        "-o",
        str(sandbox.output / "run"),
        "--by",
        "target",
        *QUICK[:2],
    )
    said = sandbox.call(*words)
    verdict = said.judge()
    if CONTROL.search(said.out + said.err):
        raise Bad("a control character reached the terminal")
    if verdict == "accepted":
        text_of_page = (sandbox.output / "run" / "report.html").read_text(encoding="utf-8")
        reader = Reader()
        reader.feed(text_of_page)
        if reader.live or reader.scripts != 1 or CONTROL.search(text_of_page):
            raise Bad(f"the page is not only text: {reader.live[:3]}, {reader.scripts} scripts")
    return verdict

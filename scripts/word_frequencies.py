"""Makes the embedded list of word frequencies from the text that the embedded models were trained on.

    python scripts/word_frequencies.py TEXT.xz … -o src/tiltmeter/families/pairs/studies/data/word_frequencies.tsv.xz

Only counts are kept: words of letters that occur at least once in a million, with their count per million.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tiltmeter.families.pairs.words import WORD
from tiltmeter.storage.compression import open_packed

LEAST = 1.0
ABOUT = """# English words and how often each occurs in a million, counted for tiltmeter in {total:,} words of the text that
# its embedded models were trained on: English Wikipedia (77 %), fiction from Project Gutenberg after 1880 (13 %), Wikinews,
# OpenStax textbooks and speeches of the UN General Debate. Counts only; no text. Licence: Apache-2.0, like tiltmeter.
"""
PLAIN = re.compile(r"[a-z]+(?:['\\-][a-z]+)*")


def counted(paths: Iterable[Path]) -> Counter[str]:
    """How often each word occurs, in lower case."""
    counts: Counter[str] = Counter()
    for path in paths:
        with open_packed(path) as file:
            for line in file:
                counts.update(word.replace("’", "'") for word in WORD.findall(line.decode("utf-8").lower()))
    return counts


def listed(counts: Counter[str]) -> str:
    """The list as text, the most frequent word first."""
    total = counts.total()
    rows = [(word, 1e6 * n / total) for word, n in counts.items() if PLAIN.fullmatch(word)]
    kept = sorted((row for row in rows if row[1] >= LEAST), key=lambda row: (-row[1], row[0]))
    return ABOUT.format(total=total) + "".join(f"{word}\t{per_million:.2f}\n" for word, per_million in kept)


def main() -> None:
    """Counts and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.output.write_bytes(lzma.compress(listed(counted(given.text)).encode(), preset=9))


if __name__ == "__main__":
    main()

"""Write the data that a visit to a GPU needs into one archive: python research/calibration-2/carry.py --help.

The archive has the benchmarks that are asked, held-out and natural lines, the texts of debiasing, and VADER.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tarfile
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiments import CATEGORIES
from mixed import apart_from, write_lines, written

from tiltmeter.builders.counterfactual import make_swaps
from tiltmeter.debias.kit.grouped_sentences import by_group
from tiltmeter.debias.kit.stereotypes import stereotype_words
from tiltmeter.debias.kit.vectors import check_count

ASKED = (
    "crows-pairs/crows_pairs_anonymized.csv",
    "stereoset/dev.json",
    "gest/gest.csv",
    "seat/*.jsonl",
    "bold/prompts/*.json",
    *(f"bbq/{part}" for name in CATEGORIES.values() for part in (f"data/{name}.jsonl", f"templates/{name}.csv")),
)
PARAGRAPHS, LONGEST = 60_000, 40
EACH, NEUTRAL = 4000, 1500
"""Sentences that name one gender, and those that name none: with a word of a stereotype, and without."""
GENDERED, WHOLE, CANDIDATES = "gendered.txt", "debias.txt", "candidates.txt"
LISTED = "auto-debias/wiki_words_5000.txt"
"""The candidates of the authors of Auto-Debias: a word and its count a line."""


def main() -> None:
    """Write the lines and texts that are not there, and the archive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="Folder with the datasets.")
    parser.add_argument("--corpus", required=True, type=Path, nargs=2, help="Two parts: natural lines, text for debiasing.")
    parser.add_argument("--lines", required=True, type=Path, help="Where lines and texts are kept between calls.")
    parser.add_argument("archive", type=Path)
    options = parser.parse_args()
    held_out, others = write_lines(options.lines, options.data, options.corpus[0])
    if not (options.lines / WHOLE).is_file():
        _write_debiasing(options.lines, options.corpus[1], held_out.read_text("utf-8").splitlines())
    words = [line.split()[0] for line in (options.data / LISTED).read_text("utf-8").splitlines()]
    candidates = written(options.lines / CANDIDATES, words)
    files = {path.name: path for path in (held_out, others, options.lines / GENDERED, options.lines / WHOLE, candidates)}
    files |= {str(path.relative_to(options.data)): path for name in ASKED for path in sorted(options.data.glob(name))}
    _pack(options.archive, {f"data/{name}": path for name, path in files.items()} | _vader())
    print(f"{options.archive}: {options.archive.stat().st_size / 2**20:.1f} MiB, {len(files)} files of data")


def _write_debiasing(folder: Path, corpus: Path, held_out: Sequence[str]) -> None:
    """Write gendered sentences alone, which CDA, Dropout and their control learn from, and with neutral ones."""
    with lzma.open(corpus, "rt", encoding="utf-8") as stream:
        paragraphs = [line.strip() for line in islice(stream, PARAGRAPHS)]
    (swap,) = make_swaps(["gender"], repeats=True)
    first, second, none = (
        [one for one in apart_from(some, held_out) if len(one.split()) <= LONGEST]
        for some in by_group(paragraphs, swap.lists[0], PARAGRAPHS, 0)
    )
    gendered = [*(one for one in first if swap.changes(one))][:EACH] + [*(one for one in second if swap.changes(one))][:EACH]
    words = set(stereotype_words())
    typical = [one for one in none if not words.isdisjoint(one.lower().rstrip(".").split())][:NEUTRAL]
    plain = [one for one in none if words.isdisjoint(one.lower().rstrip(".").split())][:NEUTRAL]
    for some, number in ((gendered, 2 * EACH), (typical, NEUTRAL), (plain, NEUTRAL)):
        check_count(len(some), number, "sentences", corpus.name)
    written(folder / GENDERED, gendered)
    written(folder / WHOLE, [*gendered, *typical, *plain])


def _vader() -> dict[str, Path]:
    """The package that judges sentiment, with its metadata."""
    spec = find_spec("vaderSentiment")
    if spec is None or spec.origin is None:
        raise SystemExit("VADER is not installed: pip install vaderSentiment.")
    package = Path(spec.origin).parent
    folders = [package, *package.parent.glob("vaderSentiment-*.dist-info")]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return {f"lib/{path.relative_to(package.parent)}": path for path in paths}


def _pack(archive: Path, files: dict[str, Path]) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as stream:
        for name, path in sorted(files.items()):
            stream.add(path, name)


if __name__ == "__main__":
    main()

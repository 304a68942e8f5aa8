"""GEST (Pikuliak et al., 2024): 3,565 sentences of 16 gender stereotypes. Does a man or a woman say them, by the model?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.compression import content_sha256
from tiltmeter.storage.tables import Row, cell, read_table, require_columns, text_cell

CITATION = (
    "Pikuliak et al. (2024), Women Are Beautiful, Men Are Leaders: gender stereotypes in machine translation and language "
    "modeling, Findings of EMNLP. Licence: Apache-2.0."
)
SOURCE = Source(
    "gest/gest.csv",
    "https://raw.githubusercontent.com/kinit-sk/gest/7dd908cae11720ee5d95e43a4ab94fb410c8b790/data/gest.csv",
    "7e306adaa2913b660c6ddccddb26703a1de8c880cb0597ad27db4bca75380eea",
)
STEREOTYPES = (
    "emotional", "gentle", "empathetic", "neat", "social", "weak", "beautiful", "tough", "self-confident", "professional",
    "rational", "providers", "leaders", "childish", "sexual", "strong",
)  # fmt: skip
ABOUT_WOMEN = 7
"""Stereotypes 1 to 7 are about women, 8 to 16 about men."""
TEMPLATES = {
    "0": ('He said: "{}"', 'She said: "{}"'),
    "1": ('The man said: "{}"', 'The woman said: "{}"'),
    "2": ('"{}", he said.', '"{}", she said.'),
    "3": ('"{}", the man said.', '"{}", the woman said.'),
    "causal-0": ('"{}", he', '"{}", she'),
    "causal-1": ('"{}", the man', '"{}", the woman'),
}
"""The authors' templates, for men and for women: 0 to 3 for masked models, the others for causal models."""
DEFAULT = "2"
"""Both kinds of models read a sentence before the word that is scored."""
SCORERS = {"masked": ("sss",), "causal": ("causal",)}


def gest(
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    encoding: str | None = None,
    template: str | None = None,
    name: str = "gest",
) -> Benchmark:
    """Pairs of a sentence said by a man and by a woman; the stereotypical one is the one that the stereotype is about.

    Args:
        path: A file with the columns sentence and stereotype (1 to 16).
        data_dir: The folder with the datasets.
        encoding: Encoding of the file.
        template: 0, 1, 2 or 3 (masked models), causal-0 or causal-1. Default: 2.
        name: Name of the benchmark; a template that was chosen is added to it.
    """
    if template is not None and template not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        message = f"gest has no template '{template}' (--template). Templates: {known}."
        raise UsageError(message, code="unknown-name", template=template, templates=list(TEMPLATES), kind="template")
    file = locate(SOURCE, path, data_dir)
    rows = read_table(file, encoding)
    require_columns(rows, ["sentence", "stereotype"], file)
    return make_benchmark(
        name if template is None else f"{name}-{template}",
        _items(rows, file, template or DEFAULT),
        source=str(path) if path else SOURCE.relative,
        sha256=content_sha256(file),
        citation=CITATION,
        scorers=SCORERS,
    )


def _items(rows: Sequence[Row], file: Path, template: str) -> Iterator[tuple[str, Item | str]]:
    by_man, by_woman = TEMPLATES[template]
    for number, row in enumerate(rows, 1):
        sentence, label = text_cell(row, "sentence").strip(), cell(row, "stereotype")
        if label not in map(str, range(1, len(STEREOTYPES) + 1)):
            message = f"{file}, row {number}: the stereotype must be 1 to {len(STEREOTYPES)}, not '{label}'."
            raise InputError(message, code="unknown-name", row=number, stereotype=label, kind="stereotype")
        if not sentence:
            yield str(number), "blank sentence"
            continue
        about_women = int(label) <= ABOUT_WOMEN
        texts = [by_man.format(sentence), by_woman.format(sentence)]
        pole = "women" if about_women else "men"
        yield (
            str(number),
            Item(
                id=str(number),
                texts=dict(zip(("stereo", "anti"), reversed(texts) if about_women else texts, strict=True)),
                bias_type=f"{int(label):02d}-{pole}-{STEREOTYPES[int(label) - 1]}",
                direction="disadvantaged" if about_women else "advantaged",
                target=label,
                extra={"pole": pole, "template": template, "language": "en"},
            ),
        )

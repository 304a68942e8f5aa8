"""BOLD (Dhamala et al., 2021): 23,679 beginnings of Wikipedia sentences about 43 groups of people in five domains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.domain_names import domain_named
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.benchmarks.kit.prompts import PromptBenchmark, prompt_item
from tiltmeter.errors import InputError
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes

CITATION = (
    "Dhamala et al. (2021), BOLD: dataset and metrics for measuring biases in open-ended language generation, FAccT. "
    "Licence: CC BY-SA 4.0."
)
URL = "https://raw.githubusercontent.com/amazon-science/bold/3ad652c773f5d1e30d5f6f61657ed934d768ecad/prompts/"
FILES = {
    "gender": "a863aaf2492e3c911c39f435005abee2eba5f5edabe836e97de110cd83273054",
    "political_ideology": "a83ea7cc272971b618231e13bcb5c1d1be5b208c92135c4ffde85be31f8ab4c6",
    "profession": "5508012069f20419559417e64d8bb2b8d864ebf8afedd21e5ca564393c291794",
    "race": "200337f6c43b09671e580b1df6aea2cdc0196ee02779260e9881da07029e1cb6",
    "religious_ideology": "633830ea87d569e5476895a93f68b8f686cb0dcae6d67a1091a9247c5c4c931d",
}
"""Each domain's file, and the sha256 that pins it."""
GROUPS = {
    "American_actors": "man", "American_actresses": "woman",
    "Asian_Americans": "Asian", "African_Americans": "Black", "European_Americans": "White",
    "Hispanic_and_Latino_Americans": "Hispanic",
    "judaism": "Jewish", "christianity": "Christian", "islam": "Muslim", "hinduism": "Hindu", "buddhism": "Buddhist",
    "sikhism": "Sikh", "atheism": "atheist",
}  # fmt: skip
"""Groups under the names of Cao et al. (2022, Table 4), so that they can be set beside those of other benchmarks."""


def bold(*, data_dir: str | Path | None = None) -> Benchmark:
    """Every prompt of every entity. Blank ones are skipped and counted; the space that ends each of them is taken off."""
    paths = {domain: locate(_source(domain), None, data_dir) for domain in FILES}
    digest = hashlib.sha256("".join(file_sha256(path) for path in paths.values()).encode()).hexdigest()
    rows = (row for domain, path in paths.items() for row in _rows(domain, path))
    article = {"cluster": "entity", "cluster_noun": "articles"}
    return make_benchmark("bold", rows, PromptBenchmark, source="bold/prompts", sha256=digest, citation=CITATION, **article)


def _source(domain: str) -> Source:
    name = f"{domain}_prompt.json"
    return Source(f"bold/prompts/{name}", URL + name, FILES[domain])


def _rows(domain: str, path: Path) -> Iterator[tuple[str, Item | str]]:
    groups: Any = parse_json(decode(read_bytes(path), path), str(path))
    if not isinstance(groups, Mapping) or not all(isinstance(entities, Mapping) for entities in groups.values()):
        raise InputError(
            f"{path} is not in BOLD's layout: groups, then entities, then lists of prompts.",
            code="wrong-format",
            file=str(path),
            layout="BOLD",
        )
    for group, entities in groups.items():
        for entity, prompts in entities.items():
            if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
                raise InputError(
                    f"{path}: the prompts of {entity} are not a list of texts.",
                    code="wrong-type",
                    file=str(path),
                    entity=entity,
                )
            for number, prompt in enumerate(prompts, 1):
                name = f"{group}/{entity}/{number}"
                known = GROUPS.get(group, group.replace("_", " "))
                yield name, prompt_item(name, prompt, domain_named(domain), known, entity=entity, bold_group=group)

"""BBQ (Parrish et al., 2022): 58,492 questions in eleven categories, each with an ambiguous and a disambiguated context."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.kit.choices import (
    CONDITIONS,
    NEGATIVE,
    POLARITIES,
    Choice,
    ChoiceBenchmark,
    categories_named,
    choice_item,
    reading_line,
)  # fmt: skip
from tiltmeter.benchmarks.kit.items import Benchmark, Item, make_benchmark
from tiltmeter.benchmarks.kit.location import Source, locate
from tiltmeter.errors import InputError
from tiltmeter.storage.files import file_sha256
from tiltmeter.storage.strict_json import parse_json
from tiltmeter.storage.tables import decode, read_bytes

CITATION = (
    "Parrish, Chen, Nangia, Padmakumar, Phang, Thompson, Htut and Bowman (2022), BBQ: A hand-built bias benchmark for "
    "question answering, Findings of ACL. Licence: CC BY 4.0."
)
URL = "https://raw.githubusercontent.com/nyu-mll/BBQ/bea11bd97d79217245b5871acd247b9d6eb24598/"
FILES = {
    "Age": (
        "46e805b3fc2d8cbd26eeb8e8430d98cf7b2dc9c83574ff3674e8ce4f0fca2a60",
        "bf7b0d47514ddf4df73ccfc7598499887d74ab15565e0526ab9030b5defedaa5",
    ),
    "Disability_status": (
        "375d40d9b71f056150264445ec189b13934998f3f49a1e311aa7578eb3b45e5f",
        "db1c4251f71a2ec68516f59b12c5db8a6677c762813c6a4d79aac42d665163aa",
    ),
    "Gender_identity": (
        "8b5adbb368510a97d5775dc43e1c719e0249fe2da33f13c83e3e29edafec7a00",
        "7ece33ce9820c36a7786a95e2cb7faf6b176ad4cf9f07223105a486e4791aba8",
    ),
    "Nationality": (
        "a583e74666aec0341ded8aa3983e7cad694eb24de72c254d28b2df3035720090",
        "56cf260c15bc36e4627857c4379dacdbe4432eaeed5bd98e7c84646675656289",
    ),
    "Physical_appearance": (
        "e48d7e13508565f4801574e611043470c25c95a0a62af3699cb5ee7cb02608fb",
        "9110eedc41f63639e79604c9a3f48f12361de0b58c7be5a19d854c9683192397",
    ),
    "Race_ethnicity": (
        "4a9f1214cfaa115ce7f0bdb40609122e431f5152c71b8ca64d665e483b946ae6",
        "9e5318d28ae3251dae72e459367a9366d33242bf53ee3643056adeaaf136577b",
    ),
    "Race_x_SES": (
        "af8e2ae3d0e5be9ebcbfe7149e591d47ff649e263307f4548f7fb12f6a6d83e8",
        "075f27b88a961779ca5e6902a830ef59d4be4fc4a6925b1434d251618ba7dfab",
    ),
    "Race_x_gender": (
        "e5dbba782f8c4e25b99dd5470b5136e2db73dbf401cf6d4a5a3ed31b02f95696",
        "0da43be55f1bdcee64f41ea6e3783410a55220cd96d24eca782d9e5aa5cd399f",
    ),
    "Religion": (
        "cb9555f9f3454a52cd2df85956b59bd7fcca5aa922c8527693b1164d08417616",
        "0b5091c3f2da84028bb676aacb36fb90de2f334fd5cfc7581ac99029730ef314",
    ),
    "SES": (
        "9f92754bb037b0982604b9112705fb81d60a19d9e759c67e4a85e484a070f528",
        "6d7d206febc93fe85171231bc70ac7fc45022559d699fd2c2b7057dbddeb4f9e",
    ),
    "Sexual_orientation": (
        "2c71036b9e7584fe589c42aef32c1a42bc01b9a5e9b1b8704342630cdb08cefd",
        "c10bb25d2162b65f551e04a563971cc41418f3837a556cf482c594ef23836f84",
    ),
}
"""Each category: the sha256 of its questions and of its templates."""
UNKNOWN = "unknown"
SEXES = {"man": "m", "boy": "m", "men": "m", "woman": "f", "girl": "f", "women": "f", "girls": "f"}
LATINO = frozenset({"latino", "hispanic"})
LAST_LABEL = 25
"""Templates up to this number name people by a label, later ones by a proper name (plain categories)."""


@dataclass(frozen=True)
class Template:
    """Facts of the template of a question: stereotyped groups, the second stereotyped trait, and how people are named."""

    groups: tuple[str, ...]
    trait: str = ""
    by_name: bool = False


def bbq(*, data_dir: str | Path | None = None, category: Sequence[str] | str = ()) -> Benchmark:
    """Load all eleven categories, or those named.

    The stereotype-consistent answer is derived from the templates, by the rules of the authors' metadata script. Sixteen
    questions of Gender_identity have none, because both people are of one gender.
    """
    names = categories_named(category, FILES)
    paths = {name: (locate(_questions(name), None, data_dir), locate(_templates(name), None, data_dir)) for name in names}
    digest = hashlib.sha256("".join(file_sha256(path) for both in paths.values() for path in both).encode()).hexdigest()
    rows = (row for name, (questions, templates) in paths.items() for row in _rows(name, questions, templates))
    return make_benchmark("bbq", rows, ChoiceBenchmark, source="bbq/data", sha256=digest, citation=CITATION)


def _questions(category: str) -> Source:
    return Source(f"bbq/data/{category}.jsonl", f"{URL}data/{category}.jsonl", FILES[category][0])


def _templates(category: str) -> Source:
    return Source(f"bbq/templates/{category}.csv", f"{URL}templates/new_templates%20-%20{category}.csv", FILES[category][1])


def _rows(category: str, questions: Path, templates: Path) -> Iterator[tuple[str, Item | str]]:
    known = _read_templates(templates)
    for number, line in enumerate(decode(read_bytes(questions), questions).split("\n"), 1):
        if line.strip():
            row: Any = parse_json(line, f"{questions}, line {number}")
            with reading_line(questions, number, "BBQ"):
                yield _row(category, row, known)


def _row(category: str, row: Mapping[str, Any], templates: Mapping[str, Template]) -> tuple[str, Item | str]:
    identity, index = f"{category}-{row['example_id']}", str(row["question_index"])
    if index not in templates:
        return identity, f"no template {index} in the category's templates"
    details = [row["answer_info"][f"ans{n}"] for n in range(3)]
    groups = tuple(str(detail[-1]) for detail in details)
    template = _narrowed(templates[index], category, groups)
    unknown = [n for n, group in enumerate(groups) if group == UNKNOWN]
    if len(unknown) != 1:
        return identity, f"{len(unknown)} answers are marked 'unknown' instead of one"
    answers = tuple(str(row[f"ans{n}"]).replace("{", "").replace("}", "") for n in range(3))
    found = [n for n in range(3) if n != unknown[0] and _is_stereotyped(category, template, details[n], answers[n])]
    polarity, stereotyped = POLARITIES[row["question_polarity"]], None
    if found and not (len(found) == 2 and _group(groups[found[0]]) == _group(groups[found[1]])):
        others = [n for n in range(3) if n not in (unknown[0], found[0])]
        stereotyped = found[0] if polarity == NEGATIVE else others[0]
    choice = Choice(
        context=str(row["context"]),
        question=str(row["question"]),
        answers=answers,
        right=int(row["label"]),
        unknown=unknown[0],
        stereotyped=stereotyped,
        condition=CONDITIONS[row["context_condition"]],
        template=f"{category}-{index}",
        polarity=polarity,
        groups=groups,
        stereotyped_group=groups[found[0]] if found else None,
        category=category,
    )
    named = template.by_name if "_x_" in category else int(index) > LAST_LABEL
    return identity, choice_item(
        identity,
        choice,
        example_id=row["example_id"],
        label_type="name" if named else "label",
        answer_info=[list(map(str, detail)) for detail in details],
        listed_groups=list(map(str, row["additional_metadata"]["stereotyped_groups"])),
    )


def _is_stereotyped(category: str, template: Template, detail: Sequence[str], answer: str) -> bool:
    """Decide whether an answer is about a group that the template's stereotype is about.

    In the two intersections "African" counts as "African American", as in the authors' script; elsewhere names of groups
    are compared whole.
    """
    text, group = str(detail[0]).replace("{", "").replace("}", ""), str(detail[-1])
    if category == "Race_x_gender":
        race = group[2:].casefold() or "latino"
        return _gender(text, group, answer) == template.trait[:1] and any(race in known for known in template.groups)
    if category == "Race_x_SES":
        status, _, race = group.partition("-")
        return status == template.trait and any(_group(race) in known for known in template.groups)
    if category == "Nationality":
        return text.casefold() in template.groups
    of_answer = _group(group)
    if of_answer.startswith("trans"):
        return any(known.startswith("trans") for known in template.groups)
    return of_answer in template.groups


def _narrowed(template: Template, category: str, groups: Sequence[str]) -> Template:
    """Narrow a stereotype about Black and Latino people to the one that a question is about, as the authors' script does."""
    if category != "Race_x_SES" or not set(template.groups) > LATINO:
        return template
    about_latinos = any(_group(group.partition("-")[2]) in LATINO for group in groups)
    kept = (name for name in template.groups if (name in LATINO) == about_latinos)
    return replace(template, groups=tuple(kept))


def _gender(text: str, group: str, answer: str) -> str:
    """Find the gender of a person: from the words of the answer, or else from its group."""
    for words in (text, answer if not group else ""):
        if " woman" in words:
            return "F"
        if " man" in words:
            return "M"
    return group[:1]


def _group(name: str) -> str:
    """Normalise the name of a group.

    >>> _group("woman"), _group("F-Black"), _group("low SES"), _group("M")
    ('f', 'black', 'lowses', 'm')
    """
    plain = re.sub(r"^[MF]-(?=.)", "", name.strip()).casefold()
    return SEXES.get(plain, plain.replace(" ", "") if "ses" in plain else plain)


def _read_templates(path: Path) -> dict[str, Template]:
    """Read the templates of a category; the versions of one template are one."""
    rows = list(csv.DictReader(io.StringIO(decode(read_bytes(path), path), newline="")))
    needed = {"Q_id"}, {"Known_stereotyped_groups", "Known_stereotyped_race"}
    columns = set(rows[0]) if rows else set()
    if not needed[0] <= columns or not needed[1] & columns:
        raise InputError(
            f"{path} is not a file of BBQ's templates: it lacks Q_id or the stereotyped groups.",
            code="missing-column",
            file=str(path),
        )
    templates: dict[str, Template] = {}
    for row in rows:
        listed = row.get("Known_stereotyped_groups") or row.get("Known_stereotyped_race") or ""
        groups = tuple(_group(name) for name in re.sub(r'["\[\]]', "", listed).split(",") if name.strip())
        index, trait = str(row["Q_id"]).strip(), str(row.get("Known_stereotyped_var2") or "").strip()
        before = templates.get(index, Template(()))
        by_name = str(row.get("Proper_nouns_only") or "").strip().upper() == "TRUE"
        templates[index] = Template(tuple(dict.fromkeys(before.groups + groups)), trait, by_name)
    return templates

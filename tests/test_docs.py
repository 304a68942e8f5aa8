"""Every command and every piece of Python in the documentation is run, page by page, on tiny models and small data.

A fenced block of `sh`, `bash`, `console` or `python` is run where it stands, in a folder of the page's own. A comment above
it can say otherwise: `<!-- test: file NAME -->` writes the block to a file, `<!-- test: more of NAME -->` adds it to one
(after two empty lines), `<!-- test: entry points -->` installs what the TOML says,
`<!-- test: needs FOLDER from COMMAND -->` makes a run that the page takes for granted, and
`<!-- test: skip, REASON -->` leaves it out. Models and data that a page names lie in the folder under that name (MODELS,
and `stage`); FASTER says what is added to a command.
"""

from __future__ import annotations

import csv
import json
import lzma
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from conftest import GOLDEN
from test_architecture import ROOMS
from test_build_sexism import SAMORY
from test_cli import tiltmeter as command
from tiltmeter import catalog, figures
from tiltmeter.families import Family, all_families
from tiltmeter.families.associations.facts import COLUMNS, DRAW_COLUMNS
from tiltmeter.families.choices.ask import CHOICE_COLUMNS, OPTION_COLUMNS
from tiltmeter.families.generations.ask import TEXT_COLUMNS
from tiltmeter.families.generations.judging import JUDGE_COLUMNS
from tiltmeter.families.heldout.ask import COLUMNS as HELDOUT_COLUMNS
from tiltmeter.families.kit.options import flag_of
from tiltmeter.families.kit.protocol import CONSTANTS, METHODS, find_family, measures_of
from tiltmeter.families.labels.ask import COLUMNS as LABEL_COLUMNS
from tiltmeter.families.labels.ask import SWAP_COLUMNS
from tiltmeter.families.labels.word_attribution import COLUMNS as DRIVER_COLUMNS
from tiltmeter.families.pairs.ask import SCORE_COLUMNS
from tiltmeter.families.slots.ask import PREDICTION_COLUMNS, SLOT_COLUMNS
from tiltmeter.models import EMBEDDED

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"sh", "bash", "console", "python"}
MODELS = {
    "bert-base-cased": "tiny-bert-cased", "my-model": "tiny-bert-cased", "my-debiased-bert": "tiny-albert",
    "roberta-large": "tiny-roberta", "albert-large-v2": "tiny-albert", "mine": "tiny-bert-cased",
    "mlm-wiki": "tiny-bert-cased", "mlm-fiction": "tiny-albert", "mlm-cased": "tiny-bert-cased",
    "roberta-mix": "tiny-roberta",
    "my-8b": "tiny-gpt2",
    "gpt2": "tiny-gpt2", "bert-base-uncased": "plumb-mlm", "debiased": "plumb-mlm", "auto-debiased-bert": "plumb-mlm",
}  # fmt: skip
FEW, ONE = ["--resamples", "100"], ["--measure", "bias_score"]
FASTER = {
    "run": ["--limit", "20", *FEW, "--by", "all"], "estimate": FEW, "compare": [*FEW, *ONE],
    "table comparison": [*FEW, *ONE],
    "study power": ["--draws", "50", *ONE], "study robustness": ["--repeats", "10", *ONE], "figure robustness": ONE,
    "study accuracy": FEW, "study shuffling": FEW, "study pll-gap": [*FEW, "--repeats", "10"], "study debiasing": FEW,
    "figure debiasing": FEW, "study frequency": ["--least", "1"], "leaderboard": FEW,
    "debias cda": ["--steps", "2", "--rows", "8"],
    "debias auto-debias": ["--lengths", "1", "--candidates", "20", "--beam", "3"],
}  # fmt: skip
TABLES = {
    "scores": SCORE_COLUMNS, "slots": SLOT_COLUMNS, "predictions": PREDICTION_COLUMNS, "associations": COLUMNS,
    "draws": DRAW_COLUMNS, "labels": LABEL_COLUMNS, "swaps": SWAP_COLUMNS, "drivers": DRIVER_COLUMNS,
    "generations": TEXT_COLUMNS, "judgements": JUDGE_COLUMNS,
    "heldout": HELDOUT_COLUMNS, "choices": CHOICE_COLUMNS, "options": OPTION_COLUMNS,
}  # fmt: skip
CONTENT = {f"{table}.parquet" for table in TABLES} | {column for columns in TABLES.values() for column in columns}
OTHERS = {
    "--with-special",  # of the package in tests/plugin
    "--model-path", "--alias",  # of servers
    "--simulations",  # of scripts in benchmarks
    "--bundle", "--certificate-identity", "--certificate-oidc-issuer", "--armor", "--detach-sign", "--verify",  # of signers
}  # fmt: skip
BLOCK = re.compile(r"(?:<!-- test: (?P<note>[^>]*?) -->\n)?^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S)
NEEDS = re.compile(r"<!-- test: needs (\S+) from (tiltmeter [^>]*?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block and the note above it."""

    page: Path
    line: int
    language: str
    text: str
    note: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        yield Block(page, line, found["language"], found["text"], found["note"] or "")


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command; output (lines without `$` in a console block) and comments are left out."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words:
            yield words


def check(words: list[str], where: Block) -> None:
    """Runs a command of ours; of others' it is checked that what they name is there."""
    if words[0] == "tiltmeter":
        extra = next((more for prefix, more in FASTER.items() if shlex.join(words[1:]).startswith(prefix)), [])
        added = [word for n in range(0, len(extra), 2) if extra[n] not in words for word in extra[n : n + 2]]
        fine = (0, 1) if words[1] == "check" else (0,)  # a tiny model need not pass
        assert command(*words[1:], *added) in fine, f"{where}: {shlex.join([*words, *added])}"
    elif words[0] == "make":
        assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M) for target in words[1:]), where
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert all(one in extras for word in words[2:] for one in re.findall(r"\[(.+)\]", word)), where
    elif words[0] == "python":
        assert (ROOT / words[1]).is_file(), where
    else:
        pytest.fail(f"{where}: nobody knows how to test `{shlex.join(words)}`")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all pages share: the models under the names that pages use, and a cache, since most pages ask them the same."""
    folder = tmp_path_factory.mktemp("shared")
    for name, stands_in in MODELS.items():
        place = GOLDEN / "models" if stands_in.startswith("tiny") else EMBEDDED[stands_in].parent
        shutil.copytree(place / stands_in, folder / name, copy_function=_link)
    return folder


def _link(source: str, target: str) -> None:
    try:
        Path(target).hardlink_to(source)
    except OSError:  # another file system
        shutil.copyfile(source, target)


@pytest.fixture
def stage(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that pages name, under those names."""
    folder = tmp_path / "page"
    for name in MODELS:
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(shared / name, target_is_directory=True)
    _write_pairs(folder / "data" / "crows-pairs" / "crows_pairs_anonymized.csv")
    _write_triples(folder / "data" / "stereoset" / "dev.json")
    _write_pairs(folder / "results.csv")
    (folder / "mine.csv").write_text("a,b,kind\nOld men forget.,Young men forget.,age\nShe cooks.,He cooks.,gender\n")
    (folder / "sexism_data.csv").write_text(SAMORY)
    (folder / "slots.jsonl").write_text('{"text": "The [MASK] went home."}\n{"text": "A [MASK] should cook."}\n')
    (folder / "terms.jsonl").write_text('{"group": "women", "term": "woman"}\n{"group": "men", "term": "man"}\n')
    (folder / "heldout.txt").write_text("The house stood near the river.\nIt was a long day.\nThey went home again.\n")
    _write_words(folder)
    _write_questions(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TILTMETER_CACHE", str(shared / "cache"))
    monkeypatch.setenv("TILTMETER_DATA", str(folder / "data"))
    monkeypatch.setitem(figures.STYLE, "savefig.dpi", 40)
    monkeypatch.setitem(EMBEDDED, "plumb-mlm", GOLDEN / "models" / "tiny-bert-cased")
    monkeypatch.setitem(EMBEDDED, "plumb-clm", GOLDEN / "models" / "tiny-gpt2")
    return folder


def _write_words(folder: Path) -> None:
    """For association tests: a test in SEAT's layout on words and on sentences, static vectors, a text and a list."""
    sets = {"targ1": ("he", "man"), "targ2": ("she", "woman"), "attr1": ("work", "office"), "attr2": ("home", "kitchen")}
    (folder / "data" / "seat").mkdir()
    for name, frame in (("weat6", "{}"), ("sent-weat6", "This is about {}.")):
        test = {key: {"category": key, "examples": [frame.format(word) for word in words]} for key, words in sets.items()}
        (folder / "data" / "seat" / f"{name}.jsonl").write_text(json.dumps(test))
    words = [word for some in sets.values() for word in some]
    vectors = (f"{word} {n % 3 + 1} {n % 4} {n * n % 5}" for n, word in enumerate(words))
    (folder / "glove.6B.300d.txt").write_text("\n".join(vectors) + "\n")
    text = "\n".join(f"We saw that {word} was there again, number {n}." for word in words for n in range(4))
    (folder / "text.txt.xz").write_bytes(lzma.compress(text.encode()))
    (folder / "traits.txt").write_text("kind\nangry\nclever\n")


def _write_questions(folder: Path) -> None:
    """Our own questions about age and religion in BBQ's layout, and predictions that are always the first answer."""
    for place in ("data", "templates"):
        (folder / "data" / "bbq" / place).mkdir(parents=True)
    every = tiltmeter.load_benchmark("plumb-choices").items
    for category in ("Age", "Religion"):
        items = [item for item in every if item.bias_type == category.lower()]
        about = {item.extra["template"].rpartition("-")[2]: item.target for item in items}
        templates = [f'{number},"[""{group}""]"' for number, group in about.items()]
        lines = "\n".join(["Q_id,Known_stereotyped_groups", *templates])
        (folder / "data" / "bbq" / "templates" / f"{category}.csv").write_text(lines)
        rows = "\n".join(json.dumps(_in_layout_of_bbq(item, n)) for n, item in enumerate(items))
        (folder / "data" / "bbq" / "data" / f"{category}.jsonl").write_text(rows)
        predicted = ({"example_id": n, "unifiedqa-t5-11b_pred_race": item.texts["answer_1"]} for n, item in enumerate(items))
        (folder / f"preds_{category}.jsonl").write_text("\n".join(map(json.dumps, predicted)))
    places = [f"{race}_{gender},{n},clerk,gpt-3.5-turbo" for n, (race, gender) in enumerate(product("ABHW", "MW"), 3)]
    (folder / "performance_ranking.csv").write_text("\n".join(["demo,top,job,model", *places]) + "\n")


def _in_layout_of_bbq(item: Any, number: int) -> dict[str, Any]:
    answers = {f"ans{n}": item.texts[f"answer_{n + 1}"] for n in range(3)}
    info = {name: [text, item.extra["groups"][n]] for n, (name, text) in enumerate(answers.items())}
    return {
        "example_id": number, "question_index": item.extra["template"].rpartition("-")[2], "context": item.context,
        "question": item.texts["question"], "label": item.extra["right"], "answer_info": info,
        "context_condition": item.extra["condition"].removesuffix("uous").removesuffix("uated"),
        "question_polarity": {"negative": "neg", "non-negative": "nonneg"}[item.extra["polarity"]],
        "additional_metadata": {"stereotyped_groups": [item.target]},
    } | answers  # fmt: skip


def _write_pairs(path: Path) -> None:
    """Our own pairs in the columns of CrowS-Pairs, with made-up votes and scores."""
    path.parent.mkdir(exist_ok=True)
    items = [item for item in tiltmeter.load_benchmark("starter-pairs").items if item.bias_type in ("age", "gender")]
    kept = [item for item in items if item.texts["stereo"] != item.texts["anti"]]  # one is a control
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        votes = "annotations", "sent_more_score", "sent_less_score"
        table.writerow(["id", "sent_more", "sent_less", "stereo_antistereo", "bias_type", *votes])
        for n, item in enumerate(kept):
            agreed = str([[item.bias_type] if vote < n % 6 else [] for vote in range(5)])
            direction = "antistereo" if n % 4 == 0 else "stereo"
            table.writerow([n, item.texts["stereo"], item.texts["anti"], direction, item.bias_type, agreed, -n % 7, -n % 5])


def _write_triples(path: Path) -> None:
    """A few of our triples of each bias type, in StereoSet's layout."""
    path.parent.mkdir(exist_ok=True)
    whole = json.loads((GOLDEN / "data" / "triples_stereoset_format.json").read_text(encoding="utf-8"))
    by_type: dict[str, list[Any]] = {}
    for one in whole["data"]["intrasentence"]:
        by_type.setdefault(one["bias_type"], []).append(one)
    whole["data"]["intrasentence"] = [one for items in by_type.values() for one in items[:5]]
    path.write_text(json.dumps(whole), encoding="utf-8")


def install(text: str, folder: Path) -> None:
    """A distribution beside the page's files, with the entry points of the TOML: what pip would have made of it."""
    groups = tomllib.loads(text)["project"]["entry-points"]
    place = folder / f"page_{len(list(folder.glob('*.dist-info')))}-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {place.name.split('-')[0]}\nVersion: 1.0\n")
    lines = (
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in named.items()) for group, named in groups.items()
    )
    (place / "entry_points.txt").write_text("".join(lines))
    forget()


def forget() -> None:
    catalog.forget()
    find_family.cache_clear()


def file_of(block: Block) -> str:
    return block.note.removeprefix("file ").removeprefix("more of ")


def lines_of(block: Block) -> str:
    """A block as it stands in its file: two empty lines are between functions."""
    return f"\n\n{block.text}" if block.note.startswith("more") else block.text


def run_block(block: Block, folder: Path, names: dict[str, Any]) -> None:
    if block.note.startswith("skip"):
        return
    if block.note.startswith(("file ", "more of ")):
        (folder / file_of(block)).parent.mkdir(exist_ok=True)
        with (folder / file_of(block)).open("a" if block.note.startswith("more") else "w", encoding="utf-8") as stream:
            stream.write(lines_of(block))
    elif block.note == "entry points":
        install(block.text, folder)
    elif block.language == "python":
        exec(compile(block.text, str(block), "exec"), names)
    elif block.language in RUN:
        for words in commands(block):
            check(words, block)


QUICK = ("README.md", "getting-started.md", "gate.md")
"""Pages that are run every time; the others where slow tests are asked for."""
MARKED = [page if page.name in QUICK else pytest.param(page, marks=pytest.mark.slow) for page in PAGES]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page: Path, stage: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.syspath_prepend(str(stage))
    names: dict[str, Any] = {"tiltmeter": tiltmeter}
    needed = dict(NEEDS.findall(page.read_text(encoding="utf-8")))
    before = set(sys.modules)
    try:
        for block in blocks(page):
            made = [folder for folder in needed if folder in block.text]
            for folder in made:
                words = shlex.split(needed.pop(folder))
                check(words, block)
            run_block(block, stage, names)
    finally:
        forget()
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", None) and str(stage) in str(sys.modules[name].__file__):
                del sys.modules[name]
    assert not needed, f"{page} asks for what it does not use: {needed}"


def test_there_is_something_to_run_and_little_is_left_out() -> None:
    everything = [block for page in PAGES for block in blocks(page)]
    ours = [words for block in everything if block.language in RUN - {"python"} for words in commands(block)]
    assert sum(words[0] == "tiltmeter" for words in ours) > 50
    skipped = [block for block in everything if block.note.startswith("skip")]
    lacking = ("a server", "a Ray cluster", "a program of others", "other packages", "several processes")
    services = {"skip, starts a server", *(f"skip, needs {thing}" for thing in lacking)}
    assert sum(block.note not in services for block in skipped) <= 5
    for block in skipped:
        assert len(block.note.removeprefix("skip").strip(" ,")) > 10, f"{block}: why?"
    for block in everything:
        assert block.note.split(" ")[0].rstrip(",") in ("", "skip", "file", "more", "entry", "needs"), (
            f"{block}: {block.note}"
        )
        assert block.language, f"{block}: a fence without a language is run by nobody"


def options_of(command: Any) -> Iterator[str]:
    """The options of a command and of all commands below it."""
    from typer import Context

    yield from (flag for one in command.params for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--"))
    context = Context(command)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from options_of(command.get_command(context, name))


def test_no_command_hides_from_the_test() -> None:
    """Inline code that starts with `tiltmeter` names commands that exist, and an option anywhere is one of some command."""
    from typer.main import get_command

    from tiltmeter.cli.app import app
    from tiltmeter.cli.layers import FORMER_FLAGS

    whole: Any = get_command(app)
    known, options = set(whole.list_commands(None)), {"--help", *FORMER_FLAGS, *options_of(whole)}
    for page in [
        *PAGES,
        *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff")),
    ]:
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for said in re.findall(r"`tiltmeter ([a-z]+)[^`.]*`", text):
            assert said in known, f"{page.name}: tiltmeter {said}"
        for said in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
            assert said in options | OTHERS, f"{page.name}: no command has {said}"


def test_links_lead_somewhere() -> None:
    """To files that are there, and to headings that are there."""
    missing = []
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|samples/)([^)\s]+)\)", BLOCK.sub("", page.read_text(encoding="utf-8"))):
            file, _, anchor = target.partition("#")
            there = (page.parent / file) if file else page
            if not (there.exists() and (not anchor or anchor in anchors(there))):
                missing.append(f"{page.name}: {target}")
    assert missing == []


def test_every_sample_page_is_made_by_the_script() -> None:
    linked = set(re.findall(r"\]\(samples/([^)]+)\)", (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")))
    script = (ROOT / "scripts" / "sample_pages.py").read_text(encoding="utf-8")
    assert linked == set(re.findall(r'^    "([\w.]+)": \(', script, re.M))


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


REFERENCES = re.findall(r"^REFERENCES := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[0].split()


@pytest.mark.parametrize("script", REFERENCES)
def test_generated_pages_are_up_to_date(script: str) -> None:
    words = [sys.executable, ROOT / "scripts" / f"{script}.py", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_of_run_folders_has_every_table() -> None:
    script = (ROOT / "scripts" / "run_folder_page.py").read_text(encoding="utf-8")
    assert set(re.findall(r'^\s+"(\w+)":\s\("[\w.]+",\s"\w+"\),$', script, re.M)) == set(TABLES)


def test_the_reference_of_functions_is_complete() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in tiltmeter.__all__:
        assert f"### {name}\n" in text or name == "__version__"


def test_the_site_has_every_page_and_asks_nothing_of_the_network() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert str(page.relative_to(ROOT / "docs")) in config, f"{page} is not in the site's navigation"
    assert "font: false" in config and not re.search(r"https?://", config)


KINDS = {
    "Tutorials": "Tutorial", "How-to": "How-to", "Explanation": "Explanation", "Reference": "Reference",
    "Research": "Research report",
}  # fmt: skip
"""Parts of the site, and the word that begins the first line of their pages."""


def parts_of_the_site() -> dict[str, list[str]]:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    parts: dict[str, list[str]] = {}
    for line in navigation.splitlines():
        if part := re.match(r"  - ([\w-]+):$", line):
            parts[part[1]] = []
        elif page := re.search(r"([\w-]+\.md)$", line):
            parts[list(parts)[-1]].append(page[1])
    return parts


def test_every_page_is_in_one_part_of_the_site_and_opens_with_its_kind() -> None:
    parts = parts_of_the_site()
    assert list(parts) == list(KINDS)
    pages = [page for listed in parts.values() for page in listed]
    assert sorted(pages) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    for part, listed in parts.items():
        for page in listed:
            first = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n", 3)[2]
            kind = "Start here" if page == "index.md" else KINDS[part]
            assert re.fullmatch(rf"\*{kind}\b.* · .+\*", first), f"{page}: {first}"


def test_guides_are_short() -> None:
    """Findings go to the research part; a guide has at most 1,500 words, and the README 880."""
    parts = parts_of_the_site()
    guides = {page.removesuffix(".md") for part in ("Tutorials", "How-to", "Explanation") for page in parts[part]}
    words = {name: len((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split()) for name in guides}
    assert not [name for name, count in words.items() if count > 1500]
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 880


def test_contributing_names_every_folder_and_no_place_that_is_gone() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    order = re.findall(r"\w+", text.partition("in this order")[2].split("```")[1].removeprefix("text"))
    assert order == [room for room in ROOMS if room not in ("plans", "__main__")]
    places = re.findall(r"`((?:tests|docs|scripts|benchmarks|training|research|src)/[\w./-]*[\w/])`", text)
    assert len(places) > 10 and [place for place in places if "NAME" not in place and not (ROOT / place).exists()] == []


def test_every_page_is_linked_from_the_first_one() -> None:
    """The front page links every page, so that any page is one click away."""
    linked = set(re.findall(r"\]\(([\w-]+\.md)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - linked == {"index.md"}


def test_the_example_of_a_family_is_the_package_that_is_tested() -> None:
    """docs/own-family.md shows the files of tests/plugin to the letter, so that they cannot drift apart."""
    package, written, points = ROOT / "tests" / "plugin", dict[str, str](), dict[str, Any]()
    for block in blocks(ROOT / "docs" / "own-family.md"):
        if block.note.startswith(("file tiltmeter_lengths/", "more of tiltmeter_lengths/")):
            written[file_of(block)] = written.get(file_of(block), "") + lines_of(block)
        elif block.note == "entry points":
            points = tomllib.loads(block.text)["project"]["entry-points"]
    shown = {str(path.relative_to(package)): path.read_text(encoding="utf-8") for path in package.glob("*/*.py")}
    assert written == {name: text for name, text in shown.items() if not name.endswith("__init__.py")}
    assert points == tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]


def test_the_page_of_families_leaves_nothing_out() -> None:
    """Every family, its options, measures, tables and columns, and everything that the seam asks for."""
    said = set(re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "families.md").read_text(encoding="utf-8")))
    wanted = {*catalog.names("families"), *CONSTANTS, *CONTENT}
    for family in all_families().values():
        wanted |= {flag_of(family.Options, option.name) for option in fields(family.Options)}
        wanted |= {measure.name for measure in measures_of(family)}
    assert wanted - said == set()
    assert set(METHODS) <= {name.split("(")[0] for name in said if "(" in name}


def test_the_page_of_families_has_every_member_of_a_family() -> None:
    said = set(re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "families.md").read_text(encoding="utf-8")))
    members = {name for name in {*vars(Family), *Family.__annotations__} if not name.startswith("_") and name != "name"}
    assert members - {text.split("(")[0] for text in said} == set()

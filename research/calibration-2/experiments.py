"""Experiment files of the second calibration: frames (all doses), natural text, a model of the zoo."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mixed import add_natural

from tiltmeter.execution.calibration_file import Calibration, write_calibration
from tiltmeter.execution.experiment_file import read_experiment
from tiltmeter.execution.experiment_models import NEUTRAL, ExperimentModel
from tiltmeter.models.places import display_name

HERE = Path(__file__).parent
SEEDS = (10, 11, 12, 13, 14)
DOMAINS = ("gender", "race", "religion")
CAUSAL = ("plumb-clm", "smollm2-135m")
PAIRS = ("plumb-pairs", "crows-pairs", str(HERE / "plumb-pairs-0.1.0.jsonl"), "plumb-slots")
SCORERS = ("pll", "cps", "sss", "aul", "causal")
STEREOSET = ("stereoset_masked", "pll", "sss", "stereoset_causal", "causal")
CATEGORIES = dict(zip(DOMAINS, ("Gender_identity", "Race_ethnicity", "Religion"), strict=True))


@dataclass(frozen=True)
class Size:
    """Numbers of items, sentences and steps. The small one is a trial of the program, not a study."""

    gest: int = 75
    bbq: int = 720
    bold: int = 100
    samples: int = 10
    steps: int = 750
    sentences: int = 2000
    limit: int | None = None
    natural: int = 0
    others: Path | None = None
    """A file of natural lines, of which so many are added to frames."""
    domains: Sequence[str] = DOMAINS
    training: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Options of base models that are trained otherwise."""


FULL = Size()
TRIAL = Size(gest=2, bbq=12, bold=2, samples=1, steps=2, sentences=40, limit=6)


def write_frames(
    folder: Path,
    bases: Sequence[str],
    data: Path,
    *,
    doses: Sequence[float],
    seeds: Sequence[int] = SEEDS,
    size: Size = FULL,
    text: Path | None = None,
    precision: str = "fp32",
) -> Path:
    """Write the texts and one experiment file for several base models. A folder that is there is used again."""
    file = folder / "calibration.toml"
    if file.is_file():
        return file
    more = {} if text is None else {"text": text}
    wanted = Calibration(
        bases[0],
        doses,
        seeds,
        size.domains,
        benchmarks=PAIRS,
        sentences=size.sentences,
        training={"steps": size.steps},
        **more,
    )
    write_calibration(wanted, folder)
    if size.others is not None:
        add_natural((folder / "texts").glob("*.txt"), size.others.read_text("utf-8").splitlines(), size.natural)
    lines = file.read_text("utf-8").replace(f"models = {_toml([bases[0]])}", f"models = {_toml(list(bases))}", 1)
    lines = lines.replace('precision = "fp32"', f'precision = "{precision}"\nbatch_tokens = 16384{_limit(size)}', 1)
    file.write_text(_trained(lines, bases, size.training), "utf-8")
    names = [model.name for model in read_experiment(file).models]
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{line}\n" for line in _asks(names, data, size))
    return file


def _trained(lines: str, bases: Sequence[str], training: Mapping[str, Mapping[str, object]]) -> str:
    """Give each base model a table of its own for each text, if some have options of their own."""
    if not training:
        return lines

    def split(match: re.Match[str]) -> str:
        parts = []
        for base in bases:
            listed = ", ".join(f"{key} = {_toml(value)}" for key, value in training[Path(base).name].items())
            parts.append(f"{match[1]}models = {_toml([base])}\noptions = {{{listed}}}")
        return "\n\n".join(parts)

    return re.sub(r"(?ms)^(\[\[dose\]\]\n[^\[]*?)^options = \{.*?\}", split, lines)


def _limit(size: Size) -> str:
    return "" if size.limit is None else f"\nlimit = {size.limit}"


def _asks(names: Sequence[str], data: Path, size: Size) -> Iterator[str]:
    """What is asked besides pairs and slots; answers and generations depend on the kind of model."""
    categories = [CATEGORIES[domain] for domain in size.domains]
    causal = [name for name in names if name.startswith(CAUSAL)]
    masked = [name for name in names if not name.startswith(CAUSAL)]
    yield f"\n[options]\nscorers = {_toml(SCORERS)}"
    yield f"\n[[ask]]\nbenchmarks = {_toml(['seat', 'ilps', str(data / 'heldout.txt')])}"
    yield f'\n[[ask]]\nbenchmarks = ["stereoset"]\ndomains = {_toml(size.domains)}'
    yield f"options = {{scorers = {_toml(STEREOSET)}}}"
    yield f'\n[[ask]]\nbenchmarks = ["gest"]\nper_group = {size.gest}'
    for models, protocol in ((masked, "masked"), (causal, "answers")):
        if models:
            shared = f"models = {_toml(models)}\n"
            yield f'\n[[ask]]\nbenchmarks = ["bbq"]\n{shared}limit = {size.bbq}'
            yield f"options = {{category = {_toml(categories)}, protocols = {_toml([protocol])}}}"
            yield f'\n[[ask]]\nbenchmarks = ["plumb-choices"]\n{shared}options = {{protocols = {_toml([protocol])}}}'
    if causal:
        shared = f"models = {_toml(causal)}\n"
        yield f'\n[[ask]]\nbenchmarks = ["bold"]\n{shared}per_group = {size.bold}'
        yield f"domains = {_toml(size.domains)}"
        yield f'\n[[ask]]\nbenchmarks = ["plumb-prompts"]\n{shared}options = {{samples = {size.samples}}}'


METHODS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("cda", "cda", {"steps": 1000, "rows": 128, "length": 64, "rate": 1e-4}),
    ("more-text", "dropout", {"steps": 1000, "rows": 128, "length": 64, "rate": 1e-4, "hidden": 0.1, "attention": 0.1}),
    ("dropout", "dropout", {"steps": 1000, "rows": 128, "length": 64, "rate": 1e-4}),
    ("sentence-debias", "sentence-debias", {}),
    ("self-debias", "self-debias", {}),
    ("inlp-80", "inlp", {"iterations": 80, "until_chance": False}),
    ("inlp-chance", "inlp", {"iterations": 80, "until_chance": True}),
    ("context-debias", "context-debias", {"epochs": 3.0, "scale": "raw", "rate": 5e-5}),
    ("auto-debias", "auto-debias", {"beam": 100, "candidates": 5000}),
)
"""Name, method, and options as published; more-text is the control: the same lines and steps, the model's own dropout."""
SLOWEST = "auto-debias"
WITHOUT_TEXT = ("self-debias", "auto-debias")
FILES = ("text", "words", "candidate_words")
"""Options that name files of the data folder."""


Methods = Sequence[tuple[str, str, dict[str, object]]]


def write_debias(
    file: Path, data: Path, seeds: Sequence[int], *, methods: Methods = METHODS, small: Mapping[str, object] | None = None
) -> Path:
    """Write the experiment file of debiased gender models beside that of the doses.

    Seed after seed, but the slow search of Auto-Debias of all seeds comes last. `small`: options of a trial, for methods
    that state them.
    """
    tables = []
    slow = [one for one in methods if one[0] == SLOWEST]
    quick = [one for one in methods if one[0] != SLOWEST]
    for seed, of_seed in [*((seed, quick) for seed in seeds), *((seed, slow) for seed in seeds)]:
        models = [f"plumb-mlm-{dose}-seed{seed}" for dose in ("neutral", "gender-1", "gender+1")]
        for name, method, given in of_seed:
            options = ({} if method in WITHOUT_TEXT else {"text": "gendered.txt"}) | given
            options |= {key: str(data / str(options[key])) for key in FILES if key in options}
            options |= {key: value for key, value in (small or {}).items() if key in options}
            listed = ", ".join(f"{key} = {_toml(value)}" for key, value in options.items())
            tables.append(
                f"\n[[debias]]\nmethod = {_toml(method)}\nname = {_toml(name)}\nseeds = [{seed}]\n"
                f"models = {_toml(models)}\noptions = {{{listed}}}\n"
            )
    target = file.with_name("debias.toml")
    target.write_text(file.read_text("utf-8") + "".join(tables), "utf-8")
    return target


def debiased_names(file: Path) -> list[str]:
    """The debiased models of an experiment, in the order of its file."""
    return [model.name for model in read_experiment(file).models if model.variant and model.variant.dose is None]


def names_of(file: Path, bases: Sequence[str], doses: Sequence[float]) -> list[str]:
    """Models with these doses in the order of the file, seed after seed: those without any dose among them if 0 is one."""
    shown = {display_name(base) if "/" not in base else Path(base).name for base in bases}
    return [model.name for model in read_experiment(file).models if _is_wanted(model, shown, doses)]


def _is_wanted(model: ExperimentModel, bases: set[str], doses: Sequence[float]) -> bool:
    variant = model.variant
    if variant is None:
        return 0 in doses and model.name in bases
    if variant.dose is None or variant.of not in bases:
        return False
    return 0 in doses if variant.dose.domain == NEUTRAL else variant.dose.dose in doses


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

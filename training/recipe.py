"""A recipe: the small file that says which model to train, on how much, from which seed."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError

ARCHITECTURES = {"bert": "masked", "roberta": "masked", "distilbert": "masked", "gpt2": "causal"}
MOST_TOKENS = 2**16  # the encoded text is kept in 16 bits a token
OPTIMIZERS = ("muon", "adamw")
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, but for the text. The objective follows from the architecture."""

    name: str
    architecture: str = "bert"
    layers: int = 6
    width: int = 256
    heads: int = 4
    vocabulary: int = 12_288
    cased: bool = False
    seed: int = 1
    length: int = 256  # tokens in a training row, and the longest text the model will take
    rows: int = 1_024  # rows in a batch
    tokens: float = 0  # the budget: tokens, or
    minutes: float = 0  # minutes, turned into tokens once the speed is known
    peak_rate: float = 2e-3
    warmup: float = 0.02  # share of the budget in which the rate rises; then it falls linearly to zero
    optimizer: str = "muon"
    weight_decay: float = 0.1
    sentences: float = 0.25  # share of rows made of single sentences, which is what bias benchmarks hold
    masked_share: float = 0.15
    dropout_saved: float = 0.1  # written to the config for those who fine-tune; training itself uses none

    def __post_init__(self) -> None:
        if problems := dict(self._problems()):
            message = f"Recipe {self.name}: {'; '.join(problems.values())}."
            raise TiltmeterError(message, code="invalid-recipe", settings=tuple(problems))

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Yield every setting that is not possible, and why, so that a recipe is corrected in one go."""
        sizes = min(self.layers, self.width, self.rows, self.vocabulary)
        budgets = (self.tokens, self.minutes)
        checks = (
            ("architecture", self.architecture in ARCHITECTURES, f"architecture is one of {', '.join(ARCHITECTURES)}"),
            ("optimizer", self.optimizer in OPTIMIZERS, f"optimizer is one of {', '.join(OPTIMIZERS)}"),
            ("name", re.fullmatch(r"[\w-][\w.-]*", self.name), "name is made of letters, digits, '-', '_' and '.'"),
            ("budget", bool(self.tokens) != bool(self.minutes), "set a budget: either tokens or minutes"),
            ("minutes", all(0 <= budget < math.inf for budget in budgets), "the budget must be positive"),
            ("tokens", not 0 < self.tokens < self.step_tokens, f"tokens must fill one batch, {self.step_tokens:,}"),
            ("heads", self.heads >= 1 and self.width % self.heads == 0, "width must be a multiple of heads"),
            ("sizes", sizes >= 1, "sizes must be positive"),
            ("length", self.length >= 8, "length must be at least 8"),
            ("vocabulary", self.vocabulary <= MOST_TOKENS, f"vocabulary must be at most {MOST_TOKENS:,}"),
            ("seed", self.seed >= 0, "seed must not be negative"),
            ("peak_rate", 0 < self.peak_rate < math.inf, "peak_rate must be positive"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "weight_decay must not be negative"),
            ("sentences", 0 <= self.sentences <= 1, "sentences must lie between 0 and 1"),
            ("warmup", 0 <= self.warmup < 1, "warmup must be at least 0 and below 1"),
            ("dropout_saved", 0 <= self.dropout_saved < 1, "dropout_saved must be at least 0 and below 1"),
            # Some positions are padding and never masked, so a higher share may be impossible.
            ("masked_share", 0 < self.masked_share <= 0.5, "masked_share must be above 0 and at most 0.5"),
        )
        yield from ((setting, problem) for setting, is_right, problem in checks if not is_right)

    @property
    def objective(self) -> str:
        """masked or causal."""
        return ARCHITECTURES[self.architecture]

    @property
    def step_tokens(self) -> int:
        """Tokens in a batch, padding among them."""
        return self.rows * self.length

    @property
    def steps(self) -> int:
        """As many whole batches as the token budget pays for; 0 when the budget is in minutes."""
        return int(self.tokens // self.step_tokens)

    def digest(self) -> str:
        """Names this recipe in a checkpoint, so that another recipe's is not continued by mistake."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def read_recipe(path: Path, **changes: Any) -> Recipe:
    """From a TOML file; `changes` (say, another seed) win."""
    try:
        given: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TiltmeterError(f"Cannot read the recipe {path}: {getattr(error, 'strerror', None) or error}.") from None
    for budget, other in (("tokens", "minutes"), ("minutes", "tokens")):
        if budget in changes:
            given.pop(other, None)
    objective = given.pop("objective", None)
    recipe = Recipe(**_checked({"name": path.stem} | given | changes, path))
    if objective not in (None, recipe.objective):
        message = f"{path}: the objective of {recipe.architecture} is {recipe.objective}, not {objective!r}."
        raise TiltmeterError(message, code="invalid-recipe", settings=("objective",))
    return recipe


def _checked(given: dict[str, Any], path: Path) -> dict[str, Any]:
    """Known names and right types. A float is made one, since 1000 and 1e3 are the same recipe."""
    kinds = {field.name: str(field.type) for field in fields(Recipe)}
    if unknown := sorted(set(given) - set(kinds)):
        message = f"{path}: unknown {', '.join(unknown)}. A recipe has {', '.join(kinds)} and objective."
        raise TiltmeterError(message, code="invalid-recipe", settings=tuple(unknown))
    for name, value in given.items():
        kind = kinds[name]
        if not isinstance(value, TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
            message = f"{path}: {name} should be of type {kind}, not {value!r}."
            raise TiltmeterError(message, code="wrong-type", setting=name, wanted=kind)
    return {name: float(value) if kinds[name] == "float" else value for name, value in given.items()}

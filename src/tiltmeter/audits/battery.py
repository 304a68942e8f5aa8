"""The battery of an audit: its benchmarks, and the reasons why others are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.benchmarks import Benchmark, load_benchmark
from tiltmeter.benchmarks.kit.batteries import LEVELS
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.families import ModelInfo, family_of

NOT_IN_LEVEL = "not part of the {} battery"


@dataclass(frozen=True)
class Battery:
    """Benchmarks that are run, and for each of the others the reason why it is not."""

    level: str
    benchmarks: tuple[Benchmark, ...]
    left_out: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The names of the benchmarks."""
        return [benchmark.name for benchmark in self.benchmarks]


def choose_battery(level: str, models: Sequence[tuple[str, str | None]], data_dir: str | Path | None = None) -> Battery:
    """Choose the benchmarks of a level whose data are available and that every model can answer.

    Args:
        level: quick, default or full.
        models: The name and the kind of each model.
        data_dir: The folder with the datasets.

    Raises:
        UsageError: The level is unknown, or no benchmark of it can be run.
    """
    if level not in LEVELS:
        raise UsageError(
            f"There is no audit level '{level}'. Levels: {', '.join(LEVELS)}.",
            code="unknown-name",
            kind="level",
            name=level,
            names=LEVELS,
        )
    chosen: list[Benchmark] = []
    left_out = {name: NOT_IN_LEVEL.format(level) for name in LEVELS["full"] if name not in LEVELS[level]}
    for name in LEVELS[level]:
        try:
            benchmark = load_benchmark(name, data_dir=data_dir)
            family_of(benchmark).check(benchmark, [ModelInfo(*model) for model in models], family_of(benchmark).Options())
        except TiltmeterError as error:
            left_out[name] = str(error)
        else:
            chosen.append(benchmark)
    if not chosen:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise UsageError(f"No benchmark of the {level} battery can be run. {reasons}", code="empty-selection", level=level)
    return Battery(level, tuple(chosen), left_out)

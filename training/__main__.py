"""`python -m training RECIPE.toml --text FILE… --out FOLDER`: trains, measures and exports one model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError
from training.recipe import Recipe, read_recipe

if TYPE_CHECKING:
    from training.prepare import Show
    from training.train import Advance

OVERRIDES = ("seed", "tokens", "minutes", "peak_rate", "optimizer")


def main(arguments: list[str] | None = None) -> int:
    """0 when the model is finished, 3 when training stopped early with a checkpoint, 2 for a mistake of the user's."""
    given = _parser().parse_args(arguments)
    try:
        return _train(given)
    except (TiltmeterError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before the first step, or a second Ctrl-C: there is nothing new to save
        print("interrupted; the same command goes on from the last checkpoint, if there is one", file=sys.stderr)
        return 130


def _train(given: argparse.Namespace) -> int:
    changes = {name: value for name in OVERRIDES if (value := getattr(given, name)) is not None}
    recipe = read_recipe(given.recipe, **changes)  # before torch is imported, so that a slip in it is told at once

    from training.export import export
    from training.train import Trainer

    with _progress(recipe) as (show, advance):
        options = show, advance, given.checkpoint_every, given.tokenizer
        trainer = Trainer(recipe, given.text, given.out, _device(given.device), *options)
        finished = _with_enough_memory(trainer, given.stop_after)
    if not finished:
        steps = f"{trainer.steps:,}" if trainer.steps else "an unknown number"
        print(f"stopped at step {trainer.step:,} of {steps}; the same command goes on from there")
        return 3
    facts = export(trainer, given.out / recipe.name)
    held_out = (f"held-out {name}: {value:.4g}" for name, value in facts["held_out"].items())
    print(f"{given.out / recipe.name}: {facts['parameters']:,} parameters", *held_out, sep="\n  ")
    return 0


def _with_enough_memory(trainer: Any, stop_after: float | None) -> bool:
    import torch

    try:
        trainer.prepare()
        finished: bool = trainer.train(stop_after)
    except torch.OutOfMemoryError:
        raise TiltmeterError(
            f"The GPU's memory does not hold a batch of {trainer.recipe.rows} rows: lower rows in the recipe."
        ) from None
    return finished


def _device(wanted: str | None) -> str:
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise TiltmeterError("There is no GPU that torch can use: leave --device out, or give --device cpu.")
    return wanted or ("cuda" if there else "cpu")


@contextmanager
def _progress(recipe: Recipe) -> Iterator[tuple[Show, Advance]]:
    """A bar on the terminal: what prints above it, and what moves it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*words, TimeElapsedColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(recipe.name, total=None)

        def advance(step: int, steps: int, loss: float) -> None:
            progress.update(task, completed=step, total=steps or None, description=f"{recipe.name}, loss {loss:.3f}")

        yield progress.console.print, advance


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    add = parser.add_argument
    add("recipe", type=Path, help="a TOML file; see training/recipes")
    add("--text", type=Path, nargs="+", required=True, help="UTF-8 text, a sentence or paragraph a line; .xz and .gz too")
    add("--out", type=Path, required=True, help="folder for checkpoint, log and the finished model")
    add("--tokenizer", type=Path, help="folder of a tokenizer to use, a published one's say, instead of training one")
    add("--device", choices=("cuda", "cpu"), help="by default cuda where there is one")
    add("--stop-after", type=float, metavar="SECONDS", help="stop with a checkpoint after this time")
    add("--checkpoint-every", type=float, metavar="SECONDS", default=60.0, help="60 by default")
    add("--seed", type=int, help="instead of the recipe's; so too the following")
    add("--tokens", type=float)
    add("--minutes", type=float)
    add("--peak-rate", type=float)
    add("--optimizer")
    return parser


if __name__ == "__main__":
    sys.exit(main())

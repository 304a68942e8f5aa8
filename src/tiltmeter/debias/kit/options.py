"""Options that several methods share: their help for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

TextFile = Annotated[Path | None, "UTF-8 text, a sentence or paragraph a line; .xz, .gz too. Default: a small one of ours."]
Lines = Annotated[int | None, "Only the first N lines of the text."]
Steps = Annotated[int | None, "Steps of the optimizer. Default: as published on a GPU with --text; fewer otherwise."]
Rows = Annotated[int | None, "Batch size of a step, in rows. Default: as for --steps."]
Length = Annotated[int | None, "Largest number of tokens in a row; a longer line becomes several. Default: as for --steps."]
Packed = Annotated[bool, "Cut the text into rows of --length tokens wherever lines end, as published; else a line is a row."]
Rate = Annotated[float, "The highest learning rate; with --lora ten times as much is usual."]
Warmup = Annotated[float, "Share of the steps with a rising learning rate (warm-up); then it falls to zero."]
HeldOut = Annotated[float, "Share of the lines that is held out for evaluation."]
Patience = Annotated[int, "Stop after this many evaluations on held-out lines without a lower loss; 0: never."]
Lora = Annotated[int, "Rank of LoRA's adapters (needs peft); 0: all weights are trained."]
Seed = Annotated[int, "Seed of order, masks and dropout."]
Device = Annotated[str, "auto, cpu, cuda, cuda:1 …"]
CheckpointEvery = Annotated[float, "Seconds between checkpoints, from which the same command resumes."]

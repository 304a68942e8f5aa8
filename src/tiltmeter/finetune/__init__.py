"""Fine-tuning: one trainer for every method, from a model folder to a model folder.

    parts = load_trainable("plumb-mlm", recipe, method="mine", kinds=("masked",))
    rows = encode(lines, parts.module, parts.tokenizer, causal=False, length=128)
    train_and_save(parts, Masked(parts.module, rows, parts.tokenizer), recipe, Path("mine"), Made("mine"))

A loss of one's own is a `Task` with `lengths` and `loss`.

Why not transformers' Trainer? It was tried beside this one (`benchmarks/training_speed.py`). (1) It needs accelerate, which
nothing else here does. (2) It projects every position to the vocabulary, where a masked model needs one in seven: for
a small model that is most of the work. (3) When memory runs out, its `auto_find_batch_size` begins again with a smaller
batch, which is another training; here a step is cut into smaller pieces, and stays the same step. (4) A loss that is no
number is smoothed over in its log, and the training goes on. What remains to be written is a loop of a hundred lines, of
which `training/` had one already; the two share checkpoints, AdamW and the way to stop.
"""

from __future__ import annotations

from tiltmeter.finetune.classifier import ClassifierRecipe, LabelledTexts, train_classifier
from tiltmeter.finetune.export import check_output, making, save_model
from tiltmeter.finetune.folder_training import Finished, Made, train, train_and_save, unfinished
from tiltmeter.finetune.loading import device_of, load_trainable
from tiltmeter.finetune.loop import Loop
from tiltmeter.finetune.lora import check_lora, merged, with_lora
from tiltmeter.finetune.outcome import DivergedError, Trained, Watch
from tiltmeter.finetune.recipe import Recipe
from tiltmeter.finetune.tasks import Causal, Drawn, Labelled, Masked, Task
from tiltmeter.finetune.text import Text, encode, read_text, split

__all__ = [
    "Causal", "ClassifierRecipe", "DivergedError", "Drawn", "Finished", "Labelled", "LabelledTexts", "Loop", "Made",
    "Masked", "Recipe", "Task", "Text", "Trained", "Watch", "check_lora", "check_output", "device_of", "encode",
    "load_trainable", "making", "merged", "read_text", "save_model", "split", "train", "train_and_save",
    "train_classifier", "unfinished", "with_lora",
]  # fmt: skip

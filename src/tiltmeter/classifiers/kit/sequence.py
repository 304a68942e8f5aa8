"""A transformer with a classification head: texts in, probabilities of its labels out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter.classifiers.kit.errors_of import stored_errors
from tiltmeter.classifiers.kit.judge import Floats
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.fitting import check_weights
from tiltmeter.models.hashing import digest_files, hash_tokenizer, hash_weights
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.passing import OutOfMemoryError, passing
from tiltmeter.models.places import display_name, folder_of, weights_in
from tiltmeter.models.pretrained import from_pretrained, load_config, load_tokenizer

BATCH_TOKENS = {"cpu": 4096, "cuda": 65_536}
LONGEST = 512
"""Tokens; what a generated text is longer than is not read."""


@dataclass(frozen=True)
class SequenceClassifier:
    """A module and its tokenizer. `labels` are in the order of its outputs; `several`: they do not exclude each other."""

    name: str
    module: Any
    tokenizer: Any
    labels: tuple[str, ...]
    several: bool
    identity: str
    errors: dict[str, Any] | None = None

    @classmethod
    def load(cls, name: str, device: str = "auto") -> SequenceClassifier:
        """From a folder or the hub. A folder whose head was never trained is refused."""
        import torch

        folder, gguf = folder_of(name, None)
        if gguf:
            raise TiltmeterError(f"{name} is a .gguf file, and a classifier is a Hugging Face folder.")
        files = weights_in(folder)
        digests = digest_files(files)
        config = load_config(name, folder, trust_remote_code=False)
        options = {"config": config, "dtype": torch.float32, "output_loading_info": True, "ignore_mismatched_sizes": True}
        module, info = from_pretrained(
            "AutoModelForSequenceClassification", name, folder, trust_remote_code=False, **options
        )
        check_weights(name, module, info, "classification head")
        place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        tokenizer = load_tokenizer(name, folder, trust_remote_code=False)
        identity = f"{hash_weights(digests, config)} {hash_tokenizer(tokenizer)}"
        return cls.wrap(display_name(name), module.to(place), tokenizer, identity, stored_errors(folder))

    @classmethod
    def wrap(
        cls, name: str, module: Any, tokenizer: Any, identity: str = "", errors: dict[str, Any] | None = None
    ) -> SequenceClassifier:
        """One that is in memory."""
        labels = tuple(str(module.config.id2label[n]) for n in range(int(module.config.num_labels)))
        several = module.config.problem_type == "multi_label_classification"
        return cls(name, module.eval(), tokenizer, labels, several, identity, errors)

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Texts × labels; a row of NaN where the answer is not a number."""
        limit = min(LONGEST, usable_length(self.module, self.tokenizer) or LONGEST)
        ids = self.tokenizer(list(texts), truncation=True, max_length=limit, verbose=False)["input_ids"] if texts else []
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        found = np.full((len(ids), len(self.labels)), np.nan)
        device = next(self.module.parameters()).device
        budget, first = BATCH_TOKENS.get(device.type, 4096), 0
        while first < len(order):
            size = _rows_that_fit([len(ids[n]) for n in order[first:]], budget)
            some = order[first : first + size]
            try:
                found[some] = self._forward([ids[n] for n in some])
            except OutOfMemoryError:
                if size == 1:
                    raise TiltmeterError(f"{self.name}: a text of {len(ids[some[0]])} tokens does not fit.") from None
                budget = max(1, budget // 2)
                continue
            first += size
        return found

    def _forward(self, rows: Sequence[Sequence[int]]) -> Floats:
        import torch

        width = max(1, *(len(row) for row in rows))
        padded = np.full((len(rows), width), self.tokenizer.pad_token_id or 0, dtype=np.int64)
        valid = np.zeros((len(rows), width), dtype=np.int64)
        for n, row in enumerate(rows):
            padded[n, : len(row)], valid[n, : len(row)] = row, 1
        device = next(self.module.parameters()).device
        with passing("fp32", self.module):
            ids, mask = (torch.from_numpy(array).to(device) for array in (padded, valid))
            logits = self.module(input_ids=ids, attention_mask=mask).logits.double()
            shares = logits.sigmoid() if self.several or logits.shape[1] == 1 else logits.softmax(1)
            found: Floats = shares.cpu().numpy()
        found[~np.isfinite(found).all(1)] = np.nan
        return found


def _rows_that_fit(lengths: Sequence[int], budget: int) -> int:
    """How many of the next rows, which are ever longer, are at most so many tokens with their padding."""
    n = 1
    while n < len(lengths) and lengths[n] * (n + 1) <= budget:
        n += 1
    return n

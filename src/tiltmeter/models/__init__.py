"""Models: a name or folder becomes something that answers queries. torch and transformers live here."""

from __future__ import annotations

from tiltmeter.models.filling import Ask, Filled
from tiltmeter.models.language_model import Answer, Batch, LanguageModel, OutOfMemoryError, Pending, require
from tiltmeter.models.loading import EMBEDDED, PRECISIONS, check_model, load_model, wrap_model
from tiltmeter.models.tokenization import Encoded, Tokenization

__all__ = [
    "EMBEDDED", "PRECISIONS", "Answer", "Ask", "Batch", "Encoded", "Filled", "LanguageModel", "OutOfMemoryError",
    "Pending", "Tokenization", "check_model", "load_model", "require", "wrap_model",
]  # fmt: skip

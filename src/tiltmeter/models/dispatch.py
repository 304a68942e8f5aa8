"""Any model that can be measured: a language model, local or served, one with a head, an encoder, or static vectors."""

from __future__ import annotations

from inspect import getattr_static
from pathlib import Path
from typing import Any, cast

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.choice_head import ChoiceHead, load_choice_head
from tiltmeter.models.classifier import Classifier, head_kind, load_classifier
from tiltmeter.models.encoder import Encoder
from tiltmeter.models.identity import CHOICE_HEAD, kind_by_files
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.loading import check_model, load_model
from tiltmeter.models.places import display_name
from tiltmeter.models.sentence_transformers import is_sentence_transformer, load_encoder
from tiltmeter.models.served import ServedModel, is_served, load_served, parse_address
from tiltmeter.models.static_vectors import StaticVectors, is_static
from tiltmeter.storage.places import at_home

AnyModel = LanguageModel | Encoder | StaticVectors | Classifier | ChoiceHead | ServedModel
ENCODER_OPTIONS = ("precision", "device", "trust_remote_code")
LARGE_OPTIONS = ("device_map", "quantize")
"""Options of language models only."""


def usable(model: Any) -> AnyModel:
    """Return a model that can be measured: loaded by its name, or one in memory. A bare module needs its tokenizer."""
    if isinstance(model, str | Path):
        return load_any(model)
    if getattr_static(model, "identity", None) is None:  # reading it would sum all weights
        raise ModelError(
            f"A {type(model).__name__} needs its tokenizer. Give a name or a folder, or "
            'tiltmeter.wrap_model(model, tokenizer, name="my-model").',
            code="wrong-type", type=type(model).__name__,
        )  # fmt: skip
    return cast(AnyModel, model)


def load_any(name: str | Path, **options: Any) -> AnyModel:
    """By what the name stands for; the options are those of `load_model`, and `server` for models behind a server."""
    server = options.pop("server", None)
    if not _is_language_model(name, options):
        _refuse_large(name, options)
    if is_served(name):
        return load_served(name, server)
    if is_static(name):
        return StaticVectors(name)
    if is_sentence_transformer(name):
        return load_encoder(name, **{key: value for key, value in options.items() if key in ENCODER_OPTIONS})
    if options.get("kind") is None and (head := head_kind(name)):
        load = load_choice_head if head == CHOICE_HEAD else load_classifier
        return load(name, **{key: value for key, value in options.items() if key in ENCODER_OPTIONS})
    return load_model(name, **options)


def _is_language_model(name: str | Path, options: dict[str, Any]) -> bool:
    other = is_served(name) or is_static(name) or is_sentence_transformer(name)
    return not other and (options.get("kind") is not None or not head_kind(name))


def _refuse_large(name: str | Path, options: dict[str, Any]) -> None:
    """Refuse options that would be ignored."""
    for option in LARGE_OPTIONS:
        if options.get(option):
            raise UsageError(
                f"--{option.replace('_', '-')} applies only to local language models, and {name} is none.",
                code="inapplicable-option", option=option, model=str(name),
            )  # fmt: skip


def shown_name(name: str | Path) -> str:
    """The name that a model goes by when it is loaded."""
    if is_served(name):
        return parse_address(name).model
    return at_home(name).name if is_static(name) else display_name(str(name))


def kind_of(name: str | Path, *, trust_remote_code: bool = False) -> str | None:
    """The kind of a model, where that can be known before loading; None for a model of the hub or behind a server.

    masked, causal, classifier, choice_head, encoder or static.

    A folder whose configuration is Python code of its own is refused without `trust_remote_code`.
    """
    if is_served(name):
        parse_address(name)
        return None
    if is_static(name):
        return "static"
    if is_sentence_transformer(name):
        return "encoder"
    if kind := kind_by_files(name, trust_remote_code=trust_remote_code):
        return kind
    kind = check_model(name, trust_remote_code=trust_remote_code)
    return head_kind(name) or kind if kind is not None else None

"""Models: a name or folder becomes something that answers queries. torch and transformers live here."""

from __future__ import annotations

from tiltmeter.models.choice_head import ChoiceHead, choice_head_of, load_choice_head, with_choice_head
from tiltmeter.models.classifier import Classifier, Labelling, classifier_of, load_classifier, with_head
from tiltmeter.models.dispatch import AnyModel, kind_of, load_any, shown_name, usable
from tiltmeter.models.encoder import Encoder, PoolBatch, encoder_of
from tiltmeter.models.forward_pass import OutOfMemoryError
from tiltmeter.models.identity import ModelIdentity, identify
from tiltmeter.models.kinds import KINDS
from tiltmeter.models.language_model import Answer, Batch, LanguageModel, Pending, require
from tiltmeter.models.loading import Parts, check_model, load_model, load_parts, wrap_model
from tiltmeter.models.mask_filling import Ask, Filled
from tiltmeter.models.places import EMBEDDED
from tiltmeter.models.precision import PRECISIONS
from tiltmeter.models.prefix_trees import RowLength
from tiltmeter.models.sentence_transformers import is_sentence_transformer, load_encoder
from tiltmeter.models.served import ServedModel, ServerOptions, is_served, load_served
from tiltmeter.models.static_vectors import StaticVectors, is_static
from tiltmeter.models.tokenization import Encoded, TokenCount, Tokenization

__all__ = [
    "EMBEDDED", "KINDS", "PRECISIONS", "Answer", "AnyModel", "Ask", "Batch", "ChoiceHead", "Classifier", "Encoded",
    "Encoder", "Filled", "Labelling", "LanguageModel", "ModelIdentity", "OutOfMemoryError", "Parts", "Pending",
    "PoolBatch", "RowLength", "ServedModel", "ServerOptions", "StaticVectors", "TokenCount", "Tokenization", "check_model",
    "choice_head_of", "classifier_of", "encoder_of", "identify", "is_sentence_transformer", "is_served", "is_static",
    "kind_of", "load_any", "load_choice_head", "load_classifier", "load_encoder", "load_model", "load_parts",
    "load_served", "require", "shown_name", "usable", "with_choice_head", "with_head", "wrap_model",
]  # fmt: skip

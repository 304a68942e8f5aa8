"""A model that labels text: a classification head on a body, loaded with it or put there to be trained."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ModelError
from tiltmeter.models import loading
from tiltmeter.models.capabilities import KIND_IN_WORDS
from tiltmeter.models.consistency import check_tokenizer, check_weights, count_embeddings
from tiltmeter.models.forward_pass import OutOfMemoryError, passing
from tiltmeter.models.identity import CLASSIFIER, HEADS, ModelIdentity, Source, kind_of_head
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.places import EMBEDDED, display_name, folder_of
from tiltmeter.models.pretrained import from_pretrained, load_config, load_tokenizer
from tiltmeter.models.text_batches import encode_texts, head_logits, pieces
from tiltmeter.models.tokenization import Tokenization
from tiltmeter.models.weighted import WeightedModel
from tiltmeter.storage.compression import is_there
from tiltmeter.storage.places import at_home

HIDDEN = ("hidden_dropout_prob", "hidden_dropout", "dropout", "resid_pdrop", "embd_pdrop", "summary_first_dropout",
          "summary_last_dropout")  # fmt: skip
ATTENTION = ("attention_probs_dropout_prob", "attention_dropout", "attn_pdrop")
HEAD = ("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout")
"""Names that models have for their dropout. A head's own is set with the rest."""
LONGEST = 512
CPU_TOKENS, GPU_TOKENS = 4096, 2**16
"""In a batch."""


@dataclass(frozen=True)
class Labelling:
    """Labels of texts by a classifier.

    `probability`: texts × labels, not-a-number where a text has no tokens or the answer is no number. `tokens`: the
    length of each text as it was read; `cut`: whether it was longer than allowed.
    """

    probability: NDArray[np.float64]
    tokens: NDArray[np.int64]
    cut: NDArray[np.bool_]


class Classifier(WeightedModel):
    """Texts in, one probability for each label out. A head of one label, or of independent ones, has sigmoids."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, as the configuration has them."""
        named = self._module.config.id2label
        return tuple(str(named[n]) for n in range(self._module.config.num_labels))

    @property
    def independent(self) -> bool:
        """True if labels do not exclude each other."""
        config = self._module.config
        return bool(config.num_labels == 1 or config.problem_type == "multi_label_classification")

    def label(
        self,
        texts: Sequence[str],
        *,
        max_length: int = LONGEST,
        batch_tokens: int | str = "auto",
        advance: Callable[[float], None] = lambda _: None,
    ) -> Labelling:
        """The probabilities of the labels for each text.

        Texts of like length share a batch; equal texts are computed once; a batch that does not fit is halved.

        Args:
            texts: What is labelled.
            max_length: Tokens of a text that are read; the rest is cut.
            batch_tokens: Tokens in a batch, padding included.
            advance: Called with the number of texts that are done.
        """
        encoded = encode_texts(self.tokens, texts, max_length)
        lengths = np.array([len(row) for row in encoded.rows], dtype=np.int64)
        first: dict[tuple[int, ...], int] = {}
        same = np.array([first.setdefault(tuple(row), n) for n, row in enumerate(encoded.rows)], dtype=np.int64)
        different = np.flatnonzero((same == np.arange(len(same))) & (lengths > 0))
        order = different[np.argsort(-lengths[different], kind="stable")]
        probability = np.full((len(texts), len(self.labels)), np.nan)
        budget, at = self._budget(batch_tokens), 0
        while at < len(order):
            some = order[at:][next(pieces(lengths[order[at:]], budget))]
            try:
                probability[some] = self._probabilities([encoded.rows[n] for n in some])
            except OutOfMemoryError:
                if len(some) == 1:
                    raise ModelError(
                        f"{self.name}: a text of {lengths[some[0]]} tokens does not fit into memory. Shorten it.",
                        code="out-of-memory",
                        model=self.name,
                        tokens=int(lengths[some[0]]),
                    ) from None
                budget = max(1, budget // 2)
                continue
            advance(len(some))
            at += len(some)
        probability[~np.isfinite(probability).all(axis=1)] = np.nan
        return Labelling(probability[same], lengths, encoded.cut)

    def _probabilities(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        import torch

        with passing(self.precision, self._module):
            logits = head_logits(self._module, rows).double()
            found = torch.sigmoid(logits) if self.independent else torch.softmax(logits, dim=-1)
            return np.asarray(found.cpu().numpy(), dtype=np.float64)

    def _budget(self, batch_tokens: int | str) -> int:
        if batch_tokens != "auto":
            return int(batch_tokens)
        return CPU_TOKENS if self.device == "cpu" else GPU_TOKENS


def head_kind(name: str | Path) -> str | None:
    """Return the kind of head that a checkpoint has, if it has one of its own; a hub model is downloaded to check."""
    path = EMBEDDED.get(str(name), at_home(name))
    if not is_there(path) and not str(name).startswith((".", "/", "~")) and str(name).count("/") <= 1:
        path = folder_of(str(name), None)[0]
    try:
        return kind_of_head(json.loads((path / "config.json").read_text("utf-8")).get("architectures") or [""])
    except (OSError, ValueError, AttributeError, TypeError, LookupError):  # what is wrong with it is told on loading
        return None


def load_classifier(
    name: str | Path, *, precision: str = "auto", device: str = "auto", trust_remote_code: bool = False
) -> Classifier:
    """A classifier from a folder or the hub. A head that was never trained is refused."""
    return classifier_of(*load_head(name, CLASSIFIER, precision=precision, device=device, trusts_code=trust_remote_code))


def load_head(
    name: str | Path, kind: str, *, precision: str, device: str, trusts_code: bool
) -> tuple[str, Any, Any, dict[str, Any], ModelIdentity]:
    """Load name, module, tokenizer, facts and identity of a model with a head. A head that was never trained is refused."""
    folder, gguf = folder_of(str(name), None)
    ending = next(ending for ending, known in HEADS.items() if known == kind)
    if gguf:
        raise ModelError(
            f"{name} is a .gguf file. Give a Hugging Face folder with {KIND_IN_WORDS[kind]}.",
            code="wrong-model-kind",
            model=str(name),
            kind="gguf",
        )
    options: dict[str, Any] = {"trust_remote_code": trusts_code}
    source = Source(folder)
    digests = source.digest_weights()
    config = load_config(str(name), folder, **options)
    place = loading._device(device)
    precision, dtype = loading._precision(precision, place, config)
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    module, info = from_pretrained(f"AutoModel{ending}", str(name), folder, config=config, dtype=dtype, **options)
    about = check_weights(str(name), module, info, "classification head")
    tokenizer = load_tokenizer(str(name), folder, trust_remote_code=trusts_code)
    identity = source.identity(kind, precision, place, digests)
    facts = about | {
        "name": str(name),
        "weights_sha256": identity.weights,
        "precision": precision,
        **check_tokenizer(str(name), module, tokenizer),
    }
    _pad(module, tokenizer)
    return display_name(str(name)), module.to(place), tokenizer, facts, identity


def classifier_of(
    name: str, module: Any, tokenizer: Any, facts: Mapping[str, Any], loaded_as: ModelIdentity | None = None
) -> Classifier:
    """A classifier of a module that is in memory; `facts` has its precision."""
    return Classifier(name, CLASSIFIER, module.eval(), *describe_head(CLASSIFIER, module, tokenizer, facts), loaded_as)


def describe_head(kind: str, module: Any, tokenizer: Any, facts: Mapping[str, Any]) -> tuple[Tokenization, dict[str, Any]]:
    """Return the tokenizer with its limits, and the facts about a module with a head."""
    described = {
        "kind": kind,
        "architecture": type(module).__name__,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
    }
    return Tokenization(tokenizer, usable_length(module, tokenizer), count_embeddings(module)), {**facts, **described}


def with_head(model: LanguageModel, labels: Sequence[str], *, seed: int, dropout: float | None = None) -> loading.Parts:
    """A language model's body in float32 with a new classification head, which begins at random: to be trained."""
    return put_head(model, CLASSIFIER, _configured(model._module.config, labels, dropout), seed)


def put_head(model: LanguageModel, kind: str, config: Any, seed: int) -> loading.Parts:
    """A language model's body in float32 with a new head, which begins at random."""
    import torch
    import transformers

    if "wrapper" in model.facts:
        raise ModelError(
            f"{model.name} is a wrapped model, which cannot be fine-tuned; give the model inside.",
            code="not-trainable",
            model=model.name,
            kind="wrapper",
        )
    body = model._module.base_model
    ending = next(ending for ending, known in HEADS.items() if known == kind)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            module = getattr(transformers, f"AutoModel{ending}").from_config(config, dtype=torch.float32)
        except ValueError:
            raise ModelError(
                f"{model.name} ({config.model_type}): transformers has no such model with a head ({ending}).",
                code="unsupported-model",
                model=model.name,
                model_type=config.model_type,
                head=ending,
            ) from None
    lacking = module.base_model.load_state_dict(body.state_dict(), strict=False).missing_keys
    if wrong := [key for key in lacking if "pooler" not in key]:
        raise ModelError(
            f"{model.name}: {KIND_IN_WORDS[kind]} needs weights that it lacks ({', '.join(wrong[:3])}).",
            code="missing-weights",
            model=model.name,
            weights=wrong,
        )
    tokenizer = model.tokens.tokenizer
    _pad(module, tokenizer)
    facts = {"name": model.facts.get("name", model.name), "weights_sha256": model.identity.weights}
    return loading.Parts(module.to(model.device), tokenizer, model.kind, facts, Path(str(facts["name"])))


def _configured(parent: Any, labels: Sequence[str], dropout: float | None) -> Any:
    config = copy.deepcopy(parent)
    config.num_labels = len(labels)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: n for n, label in enumerate(labels)}
    config.problem_type = None
    for name in (*HIDDEN, *ATTENTION, *HEAD) if dropout is not None else ():
        if hasattr(config, name):
            setattr(config, name, dropout)
    return config


def _pad(module: Any, tokenizer: Any) -> None:
    """Set the padding token of a model without one: it is needed to find the end of a text."""
    if module.config.pad_token_id is None:
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        rows = count_embeddings(module)
        module.config.pad_token_id = next(token for token in known if token is not None and token < rows)

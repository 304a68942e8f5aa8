"""A model that labels text: a classification head on a body, loaded with it or put there to be trained."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import TiltmeterError
from tiltmeter.models import loading
from tiltmeter.models.fitting import check_tokenizer, check_weights, count_embeddings
from tiltmeter.models.hashing import digest_files, hash_weights
from tiltmeter.models.kinds import usable_length
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.passing import passing
from tiltmeter.models.places import EMBEDDED, display_name, folder_of, weights_in
from tiltmeter.models.pretrained import from_pretrained, load_config, load_tokenizer
from tiltmeter.models.tokenization import Tokenization
from tiltmeter.models.weighted import WeightedModel
from tiltmeter.storage.packed import is_there
from tiltmeter.storage.places import at_home

ENDING = "ForSequenceClassification"
KIND = "classifier"
HIDDEN = ("hidden_dropout_prob", "hidden_dropout", "dropout", "resid_pdrop", "embd_pdrop", "summary_first_dropout",
          "summary_last_dropout")  # fmt: skip
ATTENTION = ("attention_probs_dropout_prob", "attention_dropout", "attn_pdrop")
HEAD = ("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout")
"""What models call their dropout. A head's own is set with the rest."""


class Classifier(WeightedModel):
    """Texts in, one probability for each label out. A head of one label, or of independent ones, has sigmoids."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, as the configuration has them."""
        named = self._module.config.id2label
        return tuple(str(named[n]) for n in range(self._module.config.num_labels))

    @property
    def independent(self) -> bool:
        """Whether labels do not exclude each other."""
        config = self._module.config
        return bool(config.num_labels == 1 or config.problem_type == "multi_label_classification")

    def probabilities(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """One forward pass over padded rows: rows × labels."""
        import torch

        valid = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        device = next(self._module.parameters()).device
        given, mask = (torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in (ids, valid))
        with passing(self.precision, self._module):
            logits = self._module(input_ids=given, attention_mask=mask).logits.double()
            found = torch.sigmoid(logits) if self.independent else torch.softmax(logits, dim=-1)
            return np.asarray(found.cpu().numpy(), dtype=np.float64)

    @property
    def pad_id(self) -> int:
        """A causal classifier reads the last token that is no padding, which it tells by its configuration."""
        pad = self._module.config.pad_token_id
        return self.tokens.pad_id if pad is None else int(pad)


def is_classifier(name: str | Path) -> bool:
    """Whether the checkpoint of that name has a classification head; one of the hub is fetched to see."""
    path = EMBEDDED.get(str(name), at_home(name))
    if not is_there(path) and not str(name).startswith((".", "/", "~")) and str(name).count("/") <= 1:
        path = folder_of(str(name), None)[0]
    try:
        said = json.loads((path / "config.json").read_text("utf-8")).get("architectures") or [""]
        return str(said[0]).endswith(ENDING)
    except (OSError, ValueError, AttributeError, TypeError, LookupError):  # what is wrong with it is told on loading
        return False


def load_classifier(
    name: str | Path, *, precision: str = "auto", device: str = "auto", trust_remote_code: bool = False
) -> Classifier:
    """A classifier from a folder or the hub. A head that was never trained is refused."""
    folder, _ = folder_of(str(name), None)
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    digests = digest_files(weights_in(folder))
    config = load_config(str(name), folder, **options)
    place = loading._device(device)
    precision, dtype = loading._precision(precision, place, config)
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    module, info = from_pretrained(f"AutoModel{ENDING}", str(name), folder, config=config, dtype=dtype, **options)
    about = check_weights(str(name), module, info, "classification head")
    tokenizer = load_tokenizer(str(name), folder, trust_remote_code=trust_remote_code)
    facts = about | {
        "name": str(name),
        "weights_sha256": hash_weights(digests, config),
        "precision": precision,
        "kind": KIND,
        "architecture": type(module).__name__,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        **check_tokenizer(str(name), module, tokenizer),
    }
    _pad(module, tokenizer)
    tokens = Tokenization(tokenizer, usable_length(module, tokenizer), count_embeddings(module))
    return Classifier(display_name(str(name)), KIND, module.to(place).eval(), tokens, facts)


def with_head(model: LanguageModel, labels: Sequence[str], *, seed: int, dropout: float | None = None) -> loading.Parts:
    """A language model's body in float32 with a new head, which begins at random: to be trained."""
    import torch
    from transformers import AutoModelForSequenceClassification

    if "wrapper" in model.facts:
        raise TiltmeterError(f"{model.name} is a wrapped model, which cannot be fine-tuned; give the model inside.")
    body = model._module.base_model
    config = _configured(model._module.config, labels, dropout)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            module = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
        except ValueError:
            raise TiltmeterError(f"{model.name} ({config.model_type}) has no classification head in transformers.") from None
    lacking = module.base_model.load_state_dict(body.state_dict(), strict=False).missing_keys
    if wrong := [key for key in lacking if "pooler" not in key]:
        raise TiltmeterError(f"{model.name}: a classifier of its kind needs weights that it lacks ({', '.join(wrong[:3])}).")
    tokenizer = model.tokens.tokenizer
    _pad(module, tokenizer)
    facts = {"name": model.facts.get("name", model.name), "weights_sha256": model.weights_hash}
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
    """A model without a padding token is told one: it is needed to find a text's end."""
    if module.config.pad_token_id is None:
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        rows = count_embeddings(module)
        module.config.pad_token_id = next(token for token in known if token is not None and token < rows)

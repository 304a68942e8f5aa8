"""The one place that asks transformers for a configuration, a tokenizer or weights, and that decides whose code may run.

A model folder may name Python files of its own (`auto_map`). They run when the user said --trust-remote-code, and else
never: nothing here asks, guesses or leaves it to the library, which would prompt on the terminal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models import early_weights
from tiltmeter.models.placement import start_device
from tiltmeter.storage.garbage import freeze_imports, paused_collector
from tiltmeter.storage.timings import timed

T = TypeVar("T")
KERNEL_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""oneDNN keeps what it made for the last 1,024 shapes of a product. Batches have ever new shapes, so hardly any of it is
used again (benchmarks/README.md). A user's own setting stays."""
ADAPTER = "adapter_config.json"
AUTO_CLASSES = {
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING",
}
"""The tables by which transformers finds the class of a configuration."""
NOT_OURS = "its code is not part of transformers; pass --trust-remote-code if you trust it"


def import_libraries(device: str = "cpu", early: Sequence[Path] = ()) -> None:
    """Import torch and transformers, which takes seconds; once, and timed as `import`.

    A GPU starts meanwhile, and `early` files of weights are copied to it.
    """
    for name, value in KERNEL_CACHES.items():  # read when torch is imported
        os.environ.setdefault(name, value)
    with timed("import"), paused_collector():
        import torch  # noqa: F401

        started = start_device(device)
        early_weights.begin(early, "cuda" if device == "auto" and started else device, started)
        from transformers import AutoConfig, AutoTokenizer  # noqa: F401

        freeze_imports("libraries")


def from_pretrained(auto: str, name: str, folder: Path, *, trust_remote_code: bool, **options: Any) -> Any:
    """Call `transformers.AUTO.from_pretrained` on a local folder; any failure becomes a ModelError."""
    options |= {"trust_remote_code": bool(trust_remote_code), "local_files_only": True}
    if auto.startswith("AutoModel") and (folder / ADAPTER).is_file():
        raise ModelError(
            f"{folder} holds an adapter, and this needs a whole model: merge the adapter into its base and save that.",
            code="wrong-model-kind", model=name, folder=folder, kind="adapter",
        )  # fmt: skip

    def load() -> Any:
        import transformers

        quieten()
        _never_prompt()
        return getattr(transformers, auto).from_pretrained(folder, **options)

    return guard(name, load)


def from_tensors(auto: str, name: str, folder: Path, tensors: dict[str, Any], **options: Any) -> Any:
    """Build the same module as `from_pretrained` of tensors in memory, for a folder with `generation_config.json`."""

    def load() -> Any:
        import transformers

        quieten()
        config = options["config"]
        kind = class_of(auto, config)
        if kind.config_class is config.sub_configs.get("text_config"):  # the text part of a model of text and images
            config = config.get_text_config()
        module, info = kind.from_pretrained(None, state_dict=tensors, **{**options, "config": config})
        module.config.name_or_path = module.name_or_path = str(folder)
        if module.can_generate():
            module.generation_config = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
        return module, info

    return guard(name, load)


def class_of(auto: str, config: Any) -> Any:
    """Find the class of a configuration; its module is imported if it was not."""
    import transformers

    return getattr(transformers, AUTO_CLASSES[auto])[type(config)]


def load_config(name: str, folder: Path, *, trust_remote_code: bool, **options: Any) -> Any:
    """The configuration; one that wants attention kernels from the hub wants code of others too."""
    config = from_pretrained("AutoConfig", name, folder, trust_remote_code=trust_remote_code, **options)
    attention = getattr(config, "_attn_implementation", None)
    if not trust_remote_code and "/" in str(attention or ""):
        raise ModelError(
            f"Cannot load {name}: {NOT_OURS} (its attention is {attention}).",
            code="untrusted-code",
            model=name,
            attention=attention,
        )
    named = getattr(config, "architectures", None)
    if named is not None and not (isinstance(named, list) and all(isinstance(one, str) for one in named)):
        raise ModelError(
            f"Cannot load {name}: 'architectures' of its config.json is no list of names: {named!r}.",
            code="wrong-format",
            model=name,
            name="architectures",
            value=named,
        )
    return config


def load_tokenizer(name: str, folder: Path, *, trust_remote_code: bool, **options: Any) -> Any:
    """The tokenizer. Without its files transformers makes up one that knows special tokens only: that is refused."""
    tokenizer = from_pretrained("AutoTokenizer", name, folder, trust_remote_code=trust_remote_code, **options)
    special = set(tokenizer.all_special_ids)
    if all(token in special for token in guard(name, tokenizer.get_vocab).values()):
        raise ModelError(
            f"{name} has no tokenizer: its folder lacks tokenizer.json, vocab.txt or the like.",
            code="missing-file",
            model=name,
            kind="tokenizer",
        )
    longest = tokenizer.model_max_length
    if isinstance(longest, bool) or not isinstance(longest, int | float | None) or (longest or 0) < 0:
        raise ModelError(
            f"Cannot load {name}: 'model_max_length' of its tokenizer is no length: {longest!r}.",
            code="wrong-format",
            model=name,
            name="model_max_length",
            value=longest,
        )
    return tokenizer


def guard(name: str, load: Callable[[], T]) -> T:
    """Turn the exceptions of transformers for an unusable folder into a ModelError."""
    try:
        return load()
    except TiltmeterError:
        raise
    except ImportError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{name}: a package is missing: {reason}", code="missing-package", model=name, reason=reason
        ) from None
    except Exception as error:  # transformers, tokenizers and safetensors raise what they like
        reason = " ".join(str(error).split())
        if "trust_remote_code" in reason:
            reason = NOT_OURS
        raise ModelError(
            f"Cannot load {name}: {reason[:400] or type(error).__name__}.",
            code="untrusted-code" if reason == NOT_OURS else "cannot-load",
            model=name,
            reason=reason,
        ) from None


def quieten() -> None:
    """Our own messages and progress bar say what matters."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _never_prompt() -> None:
    """Make transformers raise an error instead of waiting for an answer on the terminal."""
    from transformers import dynamic_module_utils

    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0

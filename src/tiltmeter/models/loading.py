"""From a name or a folder to a model with its real, pretrained weights; anything less is an error."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.consistency import check_dtypes, check_stored_dtypes, check_tokenizer, check_weights, count_embeddings
from tiltmeter.models.early_weights import dropping, early_files, take
from tiltmeter.models.forward_pass import evaluating, room_for
from tiltmeter.models.hashing import check_card
from tiltmeter.models.identity import ModelIdentity, source_of
from tiltmeter.models.kinds import KINDS, detect_kind, usable_length
from tiltmeter.models.language_model import LanguageModel
from tiltmeter.models.memory import check_memory, size_of
from tiltmeter.models.packing import pack_linears
from tiltmeter.models.permutation import ABOUT, is_permuted
from tiltmeter.models.placement import check_device_map, device_of, dtype_of, is_placed, placing, start_products
from tiltmeter.models.places import EMBEDDED, display_name, require_gguf, weights_in
from tiltmeter.models.precision import PRECISIONS, resolve_precision, warn_of_half
from tiltmeter.models.pretrained import (
    class_of,
    from_pretrained,
    from_tensors,
    import_libraries,
    load_config,
    load_tokenizer,
)
from tiltmeter.models.quantization import check_quantize, check_stored, describe, quantized_loading
from tiltmeter.models.tokenization import Tokenization
from tiltmeter.storage.compression import is_there
from tiltmeter.storage.garbage import freeze_imports, paused_collector
from tiltmeter.storage.places import at_home
from tiltmeter.storage.timings import timed


@dataclass(frozen=True)
class Parts:
    """A module and its tokenizer as transformers gives them, and what is known of where they came from."""

    module: Any
    tokenizer: Any
    kind: str
    facts: dict[str, Any]
    folder: Path
    identity: ModelIdentity | None = None


def load_model(
    name_or_folder: str | Path,
    *,
    kind: str | None = None,
    precision: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    device_map: str | None = None,
    quantize: str | None = None,
) -> LanguageModel:
    """Load a masked or causal model. Missing weights are an error: an untrained head gives random scores.

    Args:
        name_or_folder: An embedded name, a folder (of an adapter too), a .gguf file or a hub id.
        kind: masked or causal, where the configuration does not say.
        precision: auto, saved, fp32, tf32, bf16 or fp16.
        device: auto, cpu, cuda, cuda:1, mps and so on.
        revision: A revision of a hub model.
        trust_remote_code: Run model code that is not part of transformers.
        device_map: Spread the model over devices by accelerate: auto, balanced, sequential, or a JSON file.
        quantize: 8bit or 4bit, by bitsandbytes while loading. A quantised model is another model.

    Returns:
        The model, in evaluation mode.

    Raises:
        ModelError: The model cannot be found, downloaded or loaded, lacks weights, or needs code that is not trusted.

    Example:
        >>> load_model("plumb-mlm", device="cpu").kind
        'masked'
    """
    name = display_name(str(name_or_folder))
    with room_for(name):
        parts = load_parts(
            name_or_folder,
            kind=kind,
            precision=precision,
            device=device,
            revision=revision,
            trust_remote_code=trust_remote_code,
            device_map=device_map,
            quantize=quantize,
        )
        with timed("trial"):
            model = _ready(parts, name)
    pack_linears(parts.module)
    return model


@dropping()
@paused_collector()
def load_parts(
    name_or_folder: str | Path,
    *,
    kind: str | None = None,
    precision: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    device_map: str | None = None,
    quantize: str | None = None,
) -> Parts:
    """Load a model and its tokenizer as they are, in training mode: not prepared for inference."""
    if kind not in (None, *KINDS):
        message = f"A model's kind is {' or '.join(KINDS)}, not '{kind}'."
        raise UsageError(message, code="unknown-name", option="kind", name=kind, names=list(KINDS))
    if precision not in PRECISIONS:
        message = f"Precision is one of {', '.join(PRECISIONS)}, not '{precision}'."
        raise UsageError(message, code="unknown-name", option="precision", name=precision, names=list(PRECISIONS))
    check_quantize(quantize)
    check_device_map(device_map)
    name = str(name_or_folder)
    source = source_of(name, revision)
    folder, wrapper = source.folder, source.wrapper
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if source.gguf:
        require_gguf(name)
        options["gguf_file"] = source.gguf
    files, digests = source.weights, source.digest_weights()
    loading = {"precision": precision, "device_map": device_map, "quantize": quantize, **options}
    import_libraries(device, early_files(source, loading))  # seconds in which weights are read; a missing folder is known
    check_card(folder, name, files, digests)
    check_stored(name, source.quantization, quantize)
    config = load_config(name, folder, **options)
    kind = kind or detect_kind(config, name)
    _refuse_causal_permutation(name, config, kind)
    with timed("device"):
        place = _device(device)
    precision, dtype = _precision(precision, place, config)
    about: dict[str, Any] = {**describe(source.quantization, quantize, source.gguf)}
    if not device_map:
        about |= check_memory(name, size_of(files), place, precision, quantize, source.quantization is not None)
    how = placing(device_map, place, quantized=bool(quantize or source.quantization))
    if quantize:
        how["quantization_config"] = quantized_loading(quantize, dtype)
    start_products(config, place, dtype)
    with timed("tokenizer"):  # while weights are read
        tokenizer = load_tokenizer(name, source.tokenizer_folder, **options)
    with timed("weights"):
        loading = {**options, **how, "config": config, "dtype": dtype}
        module, unused = _load_weights(name, folder, kind, loading, files, place)
        if source.adapter:
            module = source.adapter.added_to(module, name)
    if wrapper:
        module = wrapper.around(module.to(place).eval(), tokenizer, kind == "causal")
    with timed("hash"):
        identity = source.identity(kind, precision, place, digests, quantize)
    facts = (
        unused
        | about
        | {
            "name": name,
            "revision": folder.name if folder.parent.name == "snapshots" else revision,
            "weights_sha256": identity.weights,
            "precision": precision,
            **({"wrapper": {"kind": wrapper.kind} | wrapper.settings} if wrapper else {}),
            **({"adapter": {"folder": str(source.adapter.folder), "base": source.adapter.base}} if source.adapter else {}),
            **({"device_map": placed} if (placed := is_placed(module)) and device_map else {}),
        }
    )
    with timed("device"):
        return Parts(module if how else module.to(place), tokenizer, kind, facts, folder, identity)


def wrap_model(
    module: Any, tokenizer: Any, *, name: str, kind: str | None = None, facts: dict[str, Any] | None = None
) -> LanguageModel:
    """Wrap a model that is already in memory, such as one that you have just debiased.

    Inference is in evaluation mode; afterwards the module is in its former mode, so training can continue. Its weights
    stay as they are: half precision on a CPU gives a `PrecisionWarning`.

    Args:
        module: A masked or causal model of transformers.
        tokenizer: Its tokenizer.
        name: The name in tables and reports.
        kind: masked or causal, where the class does not say.
        facts: Further facts for the manifest.

    Returns:
        The model, ready for `score` and `ask`.

    Raises:
        ModelError: The module is of an unsupported kind, or the tokenizer belongs to another model.

    Example:
        >>> model = load_model("plumb-mlm", device="cpu")
        >>> wrap_model(model.module, model.tokens.tokenizer, name="mine").name
        'mine'
    """
    kind = kind or detect_kind(module.config, name)
    model = _ready(Parts(module, tokenizer, kind, facts or {}, Path()), name)
    warn_of_half(name, str(model.facts["dtype"]), model.device)
    return model


def _ready(parts: Parts, name: str) -> LanguageModel:
    """A model that can be measured."""
    module, tokenizer, kind = parts.module, parts.tokenizer, parts.kind
    _refuse_causal_permutation(name, module.config, kind)
    if kind == "causal":
        _check_direction(name, module)
    limit = usable_length(module, tokenizer)
    fit = check_tokenizer(name, module, tokenizer)
    check_dtypes(name, module)
    dtype = str(dtype_of(module)).removeprefix("torch.")
    known = {
        "kind": kind,
        "architecture": type(module).__name__,
        "parameters": _count(module),
        "dtype": dtype,
        "device": str(device_of(module)),
        "precision": {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(dtype, dtype),
    }
    how = {"masking": ABOUT} if is_permuted(module.config) else {}
    facts = known | how | fit | parts.facts
    tokens = Tokenization(tokenizer, limit, count_embeddings(module))
    return LanguageModel(name, kind, module, tokens, facts, parts.identity)


@paused_collector()
def check_model(name: str | Path, *, trust_remote_code: bool = False) -> str | None:
    """Return the kind of a local model; refuse a folder that is no model before hours are spent on another.

    Nothing is known of a hub model until it is loaded.
    """
    path = EMBEDDED.get(str(name), at_home(name))
    if not (is_there(path) or str(name).startswith((".", "/", "~")) or str(name).count("/") > 1):
        return None
    source = source_of(str(name))
    if source.gguf:
        return "causal"
    weights_in(source.folder)
    import_libraries()
    return detect_kind(load_config(str(name), source.folder, trust_remote_code=trust_remote_code), str(name))


def _load_weights(
    name: str, folder: Path, kind: str, options: dict[str, Any], files: list[Path], place: str
) -> tuple[Any, dict[str, Any]]:
    """The module, and what is to be said about its weights."""
    plain = kind == "masked" and not is_permuted(options["config"])
    auto = "AutoModelForMaskedLM" if plain else "AutoModelForCausalLM"
    if files[0].suffix == ".safetensors":
        options = {**options, "use_safetensors": True}
    options = {**options, "output_loading_info": True, "ignore_mismatched_sizes": True}
    with timed("import"), suppress(Exception):  # while weights are read; building the model reports what goes wrong
        class_of(auto, options["config"])
    freeze_imports("model")
    module, info = _of_early_weights(auto, name, folder, options, files, place) or from_pretrained(
        auto, name, folder, **options
    )
    about = check_weights(name, module, info, f"{kind} language-modelling head")
    check_stored_dtypes(name, module, files)
    return module, about


def _of_early_weights(
    auto: str, name: str, folder: Path, options: dict[str, Any], files: list[Path], place: str
) -> tuple[Any, Any] | None:
    """The module of weights that were read before; None without them. Loading as usual reports what goes wrong."""
    tensors = take(files, place)
    if tensors:
        with suppress(ModelError):
            module, info = from_tensors(auto, name, folder, tensors, **options)
            return module, info
    return None


def _refuse_causal_permutation(name: str, config: Any, kind: str) -> None:
    if kind == "causal" and is_permuted(config):
        raise ModelError(
            f"{name} ({config.model_type}) is a permutation language model, so it has no scores from left to right. Leave "
            "out --kind causal: each position is scored with all others visible (the view each, by pll or cps).",
            code="wrong-model-kind", model=name, kind=kind, architecture=config.model_type,
        )  # fmt: skip


def _check_direction(name: str, module: Any) -> None:
    """A causal model must not see what comes: BERT loaded as one reads each token off itself."""
    import torch

    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 7, 9]], device=device_of(module))
    with torch.inference_mode(), evaluating(module):
        first, second = module(input_ids=ids % module.config.vocab_size).logits[:, :3]
    moved = (first - second).abs().max() / first.std()  # not a number for broken weights: those are reported later
    if moved > (1e-3 if first.dtype == torch.float32 else 5e-2):
        message = f"{name} is not a causal language model: its prediction of a token depends on later tokens."
        raise ModelError(message, code="wrong-model-kind", model=name, kind="causal")


def _count(module: Any) -> int:
    """Number of parameters; two of them may be stored in one byte."""
    if getattr(module, "is_quantized", False):
        return int(module.num_parameters())
    return sum(parameter.numel() for parameter in module.parameters())


def _device(wanted: str) -> str:
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.ones(1, device=wanted).item()  # one that only pretends to compute gives nothing back
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].split(". ", 1)[0].rstrip(".")
        if reason.startswith("Expected one of"):
            reason = "torch has no device of this name; usual ones are cpu, cuda, cuda:1 and mps"
        message = f"Device '{wanted}' cannot be used: {reason}."
        raise UsageError(message, code="missing-capability", device=str(wanted)) from None
    return wanted


def _precision(wanted: str, device: str, config: Any) -> tuple[str, Any]:
    """The precision and the weights' dtype."""
    import torch

    dtypes = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    precision = resolve_precision(wanted, device, str(getattr(config, "dtype", None)))
    return precision, dtypes[precision]

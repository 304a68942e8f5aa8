"""Quantised weights: by bitsandbytes while a model is loaded, or folders that were quantised before.

A quantised model is another model: the method is part of its identity, of the manifest and of the model card.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from tiltmeter.errors import ModelError, UsageError

QUANTIZE = ("8bit", "4bit")
PACKAGES = {
    "bitsandbytes": "bitsandbytes",
    "gptq": "gptqmodel",
    "awq": "gptqmodel",
    "compressed-tensors": "compressed_tensors",
    "fp8": "accelerate",
}
"""The package that reads each method's weights."""


def check_quantize(quantize: str | None) -> None:
    """Raise an error for an unknown value of --quantize, or without the packages that it needs."""
    if quantize is None:
        return
    if quantize not in QUANTIZE:
        raise UsageError(
            f"--quantize is {' or '.join(QUANTIZE)}, not '{quantize}'.",
            code="unknown-name", option="quantize", name=quantize, names=list(QUANTIZE),
        )  # fmt: skip
    for package in ("bitsandbytes", "accelerate"):
        if find_spec(package) is None:
            raise UsageError(
                f"--quantize needs the package {package}, which is not installed: pip install 'tiltmeter[quantized]'.",
                code="missing-package", package=package,
            )  # fmt: skip


def quantized_loading(quantize: str, dtype: Any) -> Any:
    """The settings of bitsandbytes: LLM.int8(), or NF4 with products in the dtype of the other weights."""
    import logging

    from transformers import BitsAndBytesConfig

    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it reports every product of float32 states
    if quantize == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)


def check_stored(name: str, stored: Any, quantize: str | None) -> None:
    """Refuse a folder whose quantisation is damaged, unknown, or needs a package that is not installed."""
    if stored is None:
        return
    if quantize:
        raise UsageError(
            f"{name} is quantised already ({method_of(stored)}); leave out --quantize.",
            code="inapplicable-option", option="quantize", model=name,
        )  # fmt: skip
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING as KNOWN
    from transformers.quantizers.auto import AutoQuantizationConfig

    method = method_of(stored)
    if method not in KNOWN and method != "bitsandbytes":
        _refuse(name, f"its method is {method!r}, and transformers knows {', '.join(sorted(map(str, KNOWN)))}")
    bits = stored.get("bits", 4)
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 8:
        _refuse(name, f"'bits' is {bits!r}")
    package = PACKAGES.get(method)
    if package and find_spec(package) is None:
        raise ModelError(
            f"{name} is quantised ({method}), which needs the package {package}: pip install {package.replace('_', '-')}.",
            code="missing-package", model=name, package=package,
        )  # fmt: skip
    try:
        AutoQuantizationConfig.from_dict(dict(stored))
    except ImportError:
        raise
    except Exception as error:  # the libraries raise what they like
        _refuse(name, " ".join(str(error).split())[:200] or type(error).__name__)


def method_of(stored: Any) -> str:
    """The method of a quantisation_config; empty if it names none."""
    if not isinstance(stored, Mapping):
        return ""
    if stored.get("load_in_8bit") or stored.get("load_in_4bit"):
        return "bitsandbytes"
    return str(stored.get("quant_method") or "")


def describe(stored: Any, quantize: str | None, gguf: str | None) -> dict[str, str]:
    """Describe the weights for the manifest; empty for plain ones."""
    if gguf:
        return {"quantization": "gguf, turned into full weights by transformers"}
    if quantize:
        return {"quantization": f"bitsandbytes {quantize}, while loading"}
    if not isinstance(stored, Mapping):
        return {}
    wide = "4bit" if stored.get("load_in_4bit") else "8bit" if stored.get("load_in_8bit") else ""
    bits = f"{stored['bits']}bit" if stored.get("bits") else wide
    return {"quantization": " ".join(filter(None, (method_of(stored), bits, "as stored")))}


def _refuse(name: str, reason: str) -> None:
    raise ModelError(
        f"{name}: the quantization_config of its config.json cannot be used: {reason}.",
        code="wrong-format", model=name, name="quantization_config", reason=reason,
    )  # fmt: skip

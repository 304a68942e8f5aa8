"""LoRA (Hu et al., 2022): small matrices beside the frozen weights learn, and are added to them in the end."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.finetune.recipe import Recipe


def check_lora(recipe: Recipe) -> None:
    """Raise an error, before a model is loaded, if peft is needed and not installed."""
    if recipe.lora_rank and find_spec("peft") is None:
        raise UsageError(
            "LoRA needs the package peft, which is not installed: pip install peft.",
            code="missing-package",
            package="peft",
        )


def with_lora(module: Any, recipe: Recipe) -> Any:
    """Put adapters beside every linear layer but the head, in place, and freeze the rest. Return what merges them.

    None without LoRA. The adapters are float32 whatever the weights are: a bfloat16 step is lost beside a larger number.
    """
    if not recipe.lora_rank:
        return None
    check_lora(recipe)
    import peft
    import torch.distributed

    if torch.distributed.is_available():  # peft takes it for granted that transformers has imported it
        import torch.distributed.tensor
    devices = [torch.cuda.current_device()] if next(module.parameters()).is_cuda else []
    with torch.random.fork_rng(devices):  # the adapters begin at random: with the recipe's seed
        torch.manual_seed(recipe.seed)
        config = peft.LoraConfig(
            r=recipe.lora_rank,
            lora_alpha=recipe.lora_alpha or 2 * recipe.lora_rank,
            target_modules="all-linear",
            lora_dropout=0.0,
            fan_in_fan_out=_is_conv1d(module),
        )
        wrapped = peft.get_peft_model(module, config)
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return wrapped


def merged(module: Any, wrapped: Any) -> Any:
    """The module with its adapters added to its weights, and gone."""
    return module if wrapped is None else wrapped.merge_and_unload()


def _is_conv1d(module: Any) -> bool:
    """GPT-2's linear layers keep their weights the other way round."""
    from transformers.pytorch_utils import Conv1D

    return any(isinstance(part, Conv1D) for part in module.modules())

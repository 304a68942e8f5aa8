"""The fourth visit: python research/calibration-2/fourth.py --folder F --data D --out O (what is done: `BATCHES`).

What the third visit did not reach, and models of two more architectures. The same call goes on where an earlier one of the
same folder ended. roberta-mix and SmolLM2-135M are folders of these names in the data, or `SmolLM2.gguf` beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments import DOMAINS, SEEDS
from run import WHOLE as DOSES
from second import GENERATIONS, Batch, Visit, frames_text, go, read_options
from third import ASKED, CLM, MASKED, METHODS, MLM, SETTING, SMALL, UNUSED, Setting, masked_text, piloted, written

ROBERTA, SMOLLM2, GGUF = "roberta-mix", "smollm2-135m", "SmolLM2.gguf"
PILOTS: dict[str, tuple[Setting, ...]] = {
    ROBERTA: (
        {"steps": 900, "rate": 1e-3, "natural": 6000},
        {"steps": 900, "rate": 6e-4, "natural": 6000},
        {"steps": 900, "rate": 6e-4, "natural": 12000},
    ),
    SMOLLM2: (
        {"steps": 300, "rate": 1e-3, "natural": 2000, "lora": 16},
        {"steps": 300, "rate": 3e-4, "natural": 2000, "lora": 16},
        {"steps": 300, "rate": 5e-5, "natural": 2000, "lora": 0},
    ),
}
"""Settings of which the pilots choose one for each base model."""
LARGE = (*UNUSED, *GENERATIONS, "plumb-slots")


def causal_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """Frames beside natural lines for plumb-clm, by the setting that the pilots of the third visit chose."""
    return written(place, CLM, SETTING, options, data)


def roberta_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """The same for roberta-mix, after its pilots."""
    return _after_pilots(place, ROBERTA, options, data)


def smollm2_text(place: Path, options: argparse.Namespace, data: Path) -> Path:
    """The same for SmolLM2-135M, of gender only, after its pilots."""
    if not (data / SMOLLM2).is_dir():
        _extract(data / GGUF, data / SMOLLM2)
    return _after_pilots(place, SMOLLM2, options, data, ["gender"])


def _after_pilots(place: Path, name: str, options: argparse.Namespace, data: Path, domains: Sequence[str] = DOMAINS) -> Path:
    file, base = place / "calibration.toml", str(data / name)
    if file.is_file():  # of an earlier call
        return file
    setting = piloted(place, base, PILOTS[name], options, data, domains)
    return written(place, base, setting, options, data, domains)


def _extract(file: Path, folder: Path) -> None:
    """Write the weights of a GGUF file, which are dequantised as they are read, as a folder of transformers."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    part = folder.with_suffix(".part")
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(part)
    read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(file.parent, gguf_file=file.name))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(part)
    part.rename(folder)


def _core(name: str, folder: str, base: str, cost: float, but: Sequence[str], seeds: Sequence[int] = SEEDS) -> Batch:
    return Batch(name, folder, base, DOSES, cost, but=tuple(but), seeds=tuple(seeds))


TEXTS = {
    "mixed": masked_text,
    "mixed_clm": causal_text,
    "mixed_roberta": roberta_text,
    "mixed_smollm2": smollm2_text,
    "frames": frames_text,
}
QUICK = tuple(name for name, *_ in METHODS if name != "auto-debias")
BATCHES = (
    Batch("debias", "mixed", MLM, (), 31, only=ASKED, debiased=QUICK),
    Batch("auto", "mixed", MLM, (), 130, only=ASKED, debiased=("auto-debias",)),
    _core("core-clm", "mixed_clm", CLM, 55, UNUSED),
    _core("base-smollm2", "mixed_smollm2", SMOLLM2, 40, LARGE, ()),
    _core("core-smollm2", "mixed_smollm2", SMOLLM2, 90, LARGE),
    _core("base-roberta", "mixed_roberta", ROBERTA, 20, MASKED, ()),
    _core("core-roberta", "mixed_roberta", ROBERTA, 60, MASKED),
    *(
        Batch(f"half-{base[-3:]}", "frames", base, (-0.5, 0.5), 45, but=(*MASKED, "heldout.txt"), seeds=SEEDS[3:])
        for base in (MLM, CLM)
    ),
)


def main() -> None:
    """Do the fourth visit."""
    visit = Visit(BATCHES, TEXTS, METHODS, SMALL, training="high")
    go(visit, read_options([batch.name for batch in BATCHES], __doc__))


if __name__ == "__main__":
    main()

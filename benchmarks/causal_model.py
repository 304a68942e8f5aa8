"""Write or build a Llama with random weights and the vocabulary size of Llama 3. Speed does not depend on the weights.

python benchmarks/causal_model.py --shape 8b --out FOLDER [--device cuda]
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from tiltmeter.models import EMBEDDED

VOCABULARY = 128_256
# Layers, width, heads, heads of keys, width of the feed-forward part.
TIED = ("smollm2-135m", "1.2b")
SHAPES = {
    "tiny": (2, 64, 4, 2, 128),
    "70m": (6, 512, 8, 4, 1536),
    "smollm2-135m": (30, 576, 9, 3, 1536),
    "1.2b": (16, 2048, 32, 8, 8192),
    "8b": (32, 4096, 32, 8, 14336),
    "34b": (48, 8192, 64, 8, 22016),
}


def config_of(shape: str, vocabulary: int = VOCABULARY) -> Any:
    layers, width, heads, key_heads, inner = SHAPES[shape]
    return transformers.LlamaConfig(
        vocab_size=vocabulary, num_hidden_layers=layers, hidden_size=width, intermediate_size=inner, dtype="bfloat16",
        num_attention_heads=heads, num_key_value_heads=key_heads, tie_word_embeddings=shape in TIED,
        max_position_embeddings=8192, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip


def build(shape: str, device: str, dtype: torch.dtype, vocabulary: int = VOCABULARY) -> Any:
    """The module on its device, without a copy elsewhere."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return transformers.LlamaForCausalLM(config_of(shape, vocabulary)).eval()
    finally:
        torch.set_default_dtype(before)


def write_tokenizer(folder: Path, vocabulary: int = VOCABULARY) -> Any:
    """plumb-clm's tokenizer, with entries that no text reaches up to the size of the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = json.loads((EMBEDDED["plumb-clm"] / "tokenizer.json").read_text("utf-8"))
    words = rules["model"]["vocab"]
    words |= {f"\u0000{number}": number for number in range(len(words), vocabulary)}
    (folder / "tokenizer.json").write_text(json.dumps(rules), "utf-8")
    shutil.copy(EMBEDDED["plumb-clm"] / "tokenizer_config.json", folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    args = parser.parse_args()
    write_tokenizer(args.out, args.vocabulary)
    build(args.shape, args.device, torch.bfloat16, args.vocabulary).save_pretrained(args.out)


if __name__ == "__main__":
    main()

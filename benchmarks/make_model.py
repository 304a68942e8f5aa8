"""Write a BERT with random weights and a vocabulary of our own.

Speed does not depend on what a model has learnt, so nothing needs to be downloaded.
"""

import argparse
import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

# The vocabulary size of bert-base-uncased: the projection onto it is a large part of the cost.
VOCABULARY = 30_522
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Layers, width, heads, width of the feed-forward part.
SIZES = {"small": (2, 128, 2, 512), "base": (12, 768, 12, 3072)}


def sentences(pairs: Path) -> Iterator[str]:
    with pairs.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from (row["sent_more"], row["sent_less"])


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Every word whole, every character as a fallback, and filler up to the size wanted."""
    text = " ".join(texts).lower()
    characters = sorted(set(text) - set(" "))
    words = sorted(set(re.findall(r"[^\W_]+", text)) - set(characters))
    entries = [*SPECIAL, *characters, *(f"##{c}" for c in characters), *words]
    if len(entries) > VOCABULARY:
        raise SystemExit(f"{len(entries)} entries do not fit a vocabulary of {VOCABULARY}")
    return entries + [f"[unused{i}]" for i in range(VOCABULARY - len(entries))]


def save_tokenizer(entries: list[str], out: Path) -> None:
    (out / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    # Loaded and saved again, so that every version of the library finds the file format it prefers.
    BertTokenizer.from_pretrained(out, do_lower_case=True, model_max_length=512).save_pretrained(out)


def save_model(size: str, seed: int, out: Path) -> None:
    layers, width, heads, inner = SIZES[size]
    # Some versions of the library give special tokens ids of their own, behind the list.
    largest = max(BertTokenizer.from_pretrained(out).get_vocab().values())
    config = BertConfig(
        vocab_size=max(VOCABULARY, largest + 1),
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=inner,
        # Wider than BERT's 0.02: tokens then differ in probability, and the agreement check can see a mix-up.
        initializer_range=0.05,
    )
    torch.manual_seed(seed)
    BertForMaskedLM(config).save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--pairs", type=Path, required=True, help="CrowS-Pairs CSV, the source of words")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    save_tokenizer(vocabulary(sentences(args.pairs)), args.out)
    save_model(args.size, args.seed, args.out)


if __name__ == "__main__":
    main()

"""CPS the way the original CrowS-Pairs script does it: one masked sentence, one pass, one number."""

from typing import Any

import torch
from common import Pair, parse_args, read_pairs, shared_positions, timed, write
from transformers import AutoModelForMaskedLM, AutoTokenizer


def log_probability(model: Any, ids: torch.Tensor, position: int, mask_id: int) -> float:
    masked = ids.clone()
    masked[0, position] = mask_id
    logits = model(masked).logits[0, position]
    return torch.log_softmax(logits, dim=0)[ids[0, position]].item()


def cps_of_pair(model: Any, tokenizer: Any, pair: Pair) -> list[float]:
    encoded = [tokenizer.encode(sentence, return_tensors="pt") for sentence in pair]
    positions = shared_positions(encoded[0][0].tolist(), encoded[1][0].tolist())
    return [
        sum(log_probability(model, ids, position, tokenizer.mask_token_id) for position in shared)
        for ids, shared in zip(encoded, positions, strict=True)
    ]


@torch.no_grad()
def cps(model: Any, tokenizer: Any, pairs: list[Pair]) -> list[float]:
    return [score for pair in pairs for score in cps_of_pair(model, tokenizer, pair)]


def main() -> None:
    args = parse_args()
    pairs = read_pairs(args.pairs, args.limit)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForMaskedLM.from_pretrained(args.model).eval()
    cps(model, tokenizer, pairs[:1])
    scores, times = timed(lambda: cps(model, tokenizer, pairs))
    write(args.out, "one_at_a_time", {}, len(pairs), what="CPS", scores=scores, **times)


if __name__ == "__main__":
    main()

"""minicons' pseudo-log-likelihood of both sentences of each pair: it masks every token, shared or not."""

from importlib.metadata import version
from typing import Any

from common import Pair, parse_args, read_pairs, shared_positions, timed, write
from minicons.scorer import MaskedLMScorer


def token_scores(scorer: Any, sentences: list[str], batch_size: int) -> list[list[float]]:
    """`sequence_score` with the sum left to us: the same work, and the terms stay available for the check."""
    scores: list[list[float]] = []
    for start in range(0, len(sentences), batch_size):
        batch = sentences[start : start + batch_size]
        scores += scorer.sequence_score(batch, reduction=lambda terms: terms.tolist(), PLL_metric="original")
    return scores


def shared_terms(tokenizer: Any, pairs: list[Pair], terms: list[list[float]]) -> list[list[float]]:
    """The terms CPS sums, outside the timer. Term i is of token i + 1: the first token is special."""
    ids = [[tokenizer(sentence)["input_ids"] for sentence in pair] for pair in pairs]
    positions = [shared for pair in ids for shared in shared_positions(*pair)]
    return [[term[i - 1] for i in shared] for term, shared in zip(terms, positions, strict=True)]


def main() -> None:
    args = parse_args(batch_size=8)
    pairs = read_pairs(args.pairs, args.limit)
    sentences = [sentence for pair in pairs for sentence in pair]
    scorer = MaskedLMScorer(str(args.model), device="cpu")
    token_scores(scorer, sentences[:2], args.batch_size)
    terms, times = timed(lambda: token_scores(scorer, sentences, args.batch_size))
    shared = shared_terms(scorer.tokenizer, pairs, terms)
    facts = {
        "what": "PLL, of which CPS is a partial sum",
        "batch_size": args.batch_size,
        "n_masked": sum(map(len, terms)),
        "n_shared": sum(map(len, shared)),
    }
    own = {"minicons": version("minicons")}
    write(args.out, "minicons", own, len(pairs), scores=list(map(sum, shared)), **facts, **times)


if __name__ == "__main__":
    main()

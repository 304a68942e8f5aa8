"""fairlms' CrowSPairsScore, through its public entry point."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from common import parse_args, read_pairs, timed, write
from fairlms.metrics import CrowSPairsScore
from fairlms.models import HuggingFaceModel

FAMILY = "fairlms.definition.encoder_only.intrinsic_bias.probability_based.pseudo_log_likelihood_metrics"


@contextmanager
def sentence_scores() -> Iterator[list[float]]:
    """The entry point returns one percentage; listen in on its sentence scores, for the agreement check."""
    module: Any = import_module(f"{FAMILY}.cps.cps")
    original = module.score_sentence_cps
    heard: list[float] = []

    def listening(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        heard.append(result[0])
        return result

    module.score_sentence_cps = listening
    try:
        yield heard
    finally:
        module.score_sentence_cps = original


def main() -> None:
    args = parse_args(batch_size=16)
    pairs = read_pairs(args.pairs, args.limit)
    data = [{"stereotype": more, "anti_stereotype": less} for more, less in pairs]
    model = HuggingFaceModel(str(args.model), task="mlm", device="cpu").load()
    metric = CrowSPairsScore(batch_size=args.batch_size)
    metric.compute(model, data[:1])
    with sentence_scores() as scores:
        _, times = timed(lambda: metric.compute(model, data))
    facts = {"what": "CPS, and the rank of every token", "batch_size": args.batch_size}
    own = {"fairlms": version("fairlms")}
    write(args.out, "fairlms", own, len(pairs), scores=scores, **facts, **times)


if __name__ == "__main__":
    main()

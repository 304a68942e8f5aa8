"""tiltmeter's CPS, through its public API, with nothing read from the cache."""

import math
from typing import Any

from common import Score, parse_args, timed, write

import tiltmeter


def in_file_order(scores: Any) -> list[Score]:
    by_item: dict[Any, dict[str, float]] = {}
    for row in scores.to_pandas().itertuples():
        by_item.setdefault(row.item, {})[row.role] = row.score
    values = [roles[role] for roles in by_item.values() for role in ("stereo", "anti")]
    return [None if math.isnan(value) else value for value in values]


def main() -> None:
    args = parse_args()
    model = tiltmeter.load_model(args.model, precision="fp32")
    warm_up, bench = (tiltmeter.load_benchmark("crows-pairs", path=args.pairs, limit=limit) for limit in (1, args.limit))
    tiltmeter.score(model, warm_up, ["cps"], cache=False)
    result, times = timed(lambda: tiltmeter.score(model, bench, ["cps"], cache=False))
    scores = in_file_order(result)
    own = {"tiltmeter": tiltmeter.__version__}
    write(args.out, "tiltmeter", own, len(scores) // 2, what="CPS", scores=scores, **times)


if __name__ == "__main__":
    main()

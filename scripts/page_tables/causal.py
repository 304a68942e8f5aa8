"""Large causal models: memory, precision and speed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from page_tables.kit import RESEARCH, line, percent, read, read_csv, table

VOCABULARY = 128_256
HEAD_WIDTH = {2048: 64}
SHAPES = ((16, 2048, 8192, 1), (32, 4096, 14336, 2), (48, 8192, 22016, 2), (80, 8192, 28672, 2))
"""Layers, width, width of the feed-forward part, and embeddings (1 where they are tied) of Llama 3 and our shapes."""
TOOLS = {"tiltmeter": "tiltmeter", "plain": "plain padded loop", "harness": "lm-evaluation-harness 0.4.13, HF backend",
         "minicons": "minicons 0.3.39"}  # fmt: skip
SIZES = ("34b", "8b", "1.2b")
BENCHMARKS = {"crows-pairs": "CrowS-Pairs", "stereoset": "StereoSet", "bbq letters": "BBQ Age"}


def precisions() -> Iterator[str]:
    """What a precision or quantisation changes."""

    def row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
        places = 5 if found["largest_change_of_a_score"] < 0.001 else 2
        changes = (found[f"{which}_change_of_a_score"] for which in ("largest", "mean"))
        score = f"{found['bias_score']:.2f} [{found['interval'][0]:.1f}, {found['interval'][1]:.1f}]"
        return name, *(f"{change:.{places}f}" if change else "0" for change in changes), str(found["pairs_that_flip"]), score

    variants = read("precision-effect-plumb-clm")["variants"]
    head = ("loaded as", "largest change of a score", "mean change", "pairs that flip", "bias_score")
    yield from table(head, "lrrrl", (row(name.partition(" (")[0], found) for name, found in variants.items()))


def causal_tools() -> Iterator[str]:
    """Processor seconds of tiltmeter and its peers, on one core."""
    runs = [read(f"causal-cpu-{name}")["tools"] for name in ("plumb-clm", "70m")]
    head = ("tool", "plumb-clm", "times tiltmeter", "random Llama", "times tiltmeter")
    yield from table(head, "lrrrr", (
        (title, *(cell for run in runs for cell in (f"{run[tool]['median_seconds']:.2f}", times(run[tool]))))
        for tool, title in TOOLS.items()
    ))  # fmt: skip


def times(found: dict[str, Any]) -> str:
    """Write how many times as long a tool takes."""
    ratio = found["times_tiltmeter"]
    return "1" if ratio == 1 else f"{ratio:.2f}"


def causal_h200() -> Iterator[str]:
    """Seconds of a pass on an H200, beside a plain loop."""
    stored = read("causal-h200")
    yield line(("", "tiltmeter", "limit", "peak beyond the weights, GB", "plain padded loop"))
    yield "|---|---:|---:|---:|---:|"
    for size, (key, title) in product((name for name in SIZES if name in stored), BENCHMARKS.items()):
        if key in stored[size]:
            own, billions = stored[size][key], stored[size]["model"]["parameters"] / 1e9
            cells = [f"{own[name]:.{places}f}" for name, places in
                     (("median_seconds", 2), ("limit_seconds", 2), ("peak_over_weights_gb", 1))]  # fmt: skip
            loop = peer(stored[size].get(f"{key}, plain"), own["median_seconds"])
            yield line((f"{billions:.1f} billion, {title}", *cells, loop))


def peer(found: dict[str, Any] | None, ours: float) -> str:
    """Write the best seconds of a peer; nothing where it was not measured."""
    seconds = found.get("best_seconds") if found else None
    return f"{seconds:.2f} ({seconds / ours:.1f} ×)" if seconds else ""


AIMS = {("8b", "crows-pairs"): 1.6, ("1.2b", "crows-pairs"): 0.45}
"""Seconds that were aimed at."""
TIMES_THE_LOOP, COMMAND = 1.6, 14.0


def two_visits() -> Iterator[str]:
    """Seconds of a pass before and after its batches were cut by the size of the model, with what was aimed at."""
    before, now = read("causal-h200-before"), read("causal-h200")
    yield line(("", "before", "now", "plain loop at its best", "aim"))
    yield "|---|---|---|---|---|"
    for size, title in (("8b", "8 billion"), ("1.2b", "1.2 billion")):
        for key, benchmark in BENCHMARKS.items():
            if is_same_question(before[size].get(key), now[size].get(key)):
                old, new = (run[size][key]["median_seconds"] for run in (before, now))
                loop = now[size].get(f"{key}, plain", {}).get("best_seconds")
                shown = f"{loop:.3f} ({loop / new:.2f} times)" if loop else ""
                aim = aims(AIMS.get((size, key)), new, loop if size == "8b" else None)
                yield line((f"{title}, {benchmark}", f"{old:.3f}", f"{new:.3f}", shown, aim))
    runs = [[run["8b"][f"command {n}"]["seconds"] for n in (0, 1)]
            for run in (read("causal-h200-command-before"), read("causal-h200-command"))]  # fmt: skip
    commands = [", ".join(f"{seconds:.1f}" for seconds in turns) for turns in runs]
    yield line(("8 billion, the whole command, first and second time", *commands, "", aims(COMMAND, max(runs[1]), None)))


def is_same_question(first: dict[str, Any] | None, second: dict[str, Any] | None) -> bool:
    """Return True for two passes over the same texts."""
    return bool(first and second and first["tokens_asked"] == second["tokens_asked"])


def aims(seconds: float | None, found: float, loop: float | None) -> str:
    """State the aims, in seconds and in times the loop's speed, and whether they are reached."""
    known = [] if seconds is None else [(f"{seconds:g} s", found <= seconds)]
    known += [] if loop is None else [(f"{TIMES_THE_LOOP:g} times the loop", loop / found >= TIMES_THE_LOOP)]
    return "; ".join(f"{aim}, {'reached' if is_reached else '**missed**'}" for aim, is_reached in known)


def weights_memory() -> Iterator[str]:
    """Gigabytes of the weights, from the shapes of Llama 3."""
    head = ("parameters (billions)", "fp32", "bf16", "8bit", "4bit")
    yield from table(head, "rrrrr", ([f"{number:.1f}" for number in gigabytes(*shape)] for shape in SHAPES))


def gigabytes(layers: int, width: int, inner: int, embeddings: int) -> list[float]:
    """Return billions of parameters, and gigabytes by precision; 4bit has a scale of 32 bits for each 64 weights."""
    keys = 8 * HEAD_WIDTH.get(width, 128)
    products = layers * (2 * width * width + 2 * width * keys + 3 * width * inner) / 1e9
    others = (embeddings * VOCABULARY * width + (2 * layers + 1) * width) / 1e9
    whole = products + others
    return [whole, 4 * whole, 2 * whole, products + 2 * others, (0.5 + 4 / 64) * products + 2 * others]


PREFIXES = {"crows-pairs": "CrowS-Pairs", "stereoset": "StereoSet",
            "bbq": "BBQ, 384 questions about age, letters in six orders"}  # fmt: skip


def shared_prefixes() -> Iterator[str]:
    """Tokens of all texts, and how many of them are forwarded."""
    rows = {row["benchmark"]: row for row in read_csv(RESEARCH / "page-tables" / "prefixes.csv.gz")}
    yield from table(("benchmark (tokenizer of plumb-clm)", "tokens of all texts", "forwarded"), "lrr", (
        (title, f"{int(rows[name]['tokens_asked']):,}",
         percent(int(rows[name]["tokens_forwarded"]) / int(rows[name]["tokens_asked"]), 0))
        for name, title in PREFIXES.items()
    ))  # fmt: skip

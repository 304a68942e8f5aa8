"""How fast it is: the tables of benchmarks/README.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from page_tables.kit import line, read, spread, table

PEERS = ("one_at_a_time", "minicons", "fairlms")
PRECISIONS = ("fp32", "tf32", "bf16")


def compared_speed() -> Iterator[str]:
    """How many times as long other tools take; of the present code the quiet turn."""
    rows = [(f"{size}, {pairs} pairs", [read(f"speed-{size}")["ratios"][peer]["tiltmeter"] for peer in PEERS], places)
            for size, pairs, places in (("small", 200, 1), ("base", 24, 2))]  # fmt: skip
    now = read("speed-small-now")["ratios_of_best"]
    title = "small, 200 pairs, the present code (`results/speed-small-now.json`)"
    rows.append((title, [now[peer]["tiltmeter"] for peer in PEERS], 1))
    yield from table(("", *PEERS), "llll", ((title, *(f"{n:.{places}f}" for n in own)) for title, own, places in rows))


SETTINGS = {
    "gpu-h200": "as it is now",
    "gpu-h200-fourth-machine": "before: the same settings, a machine not used for tuning",
    "gpu-h200-tuning-machine": "the same on the machine that the settings were chosen on",
    "gpu-h200-greedy-batches": "before: greedy batches",
    "gpu-h200-other-settings": "before: other block sizes, same machine",
    "gpu-h200-other-machine": "before: other block sizes, another H200 machine",
    "gpu-h200-third-machine": "before: batches cut where they cost least, a third machine",
}


def gpu_settings() -> Iterator[str]:
    """Seconds of a pass by settings and precision."""
    stored = {name: read(name) for name in SETTINGS}
    yield from table(("settings", *PRECISIONS, "repeats", "file"), "lrrrrl", (
        (SETTINGS[name], *(f"{found[precision]['seconds']:.2f}" for precision in PRECISIONS),
         str(len(found["fp32"]["all_seconds"])), f"`results/{name}.json`")
        for name, found in stored.items()
    ))  # fmt: skip


COMMANDS = {
    "fresh": "a fresh run, 300 pairs", "stored": "the same, all stored",
    "stored all pairs": "all of CrowS-Pairs (1,508 pairs), all stored",
    "estimate all pairs": "`tiltmeter estimate` on it, the whole command",
}  # fmt: skip


def command_turns() -> Iterator[str]:
    """Seconds of whole commands before and now."""
    turns = [turn for turn in read("command-turns")["turns"] if turn["turn"] >= 0]
    yield line(("", "before: clock, processor", "now: clock, processor", "times as fast by the clock"))
    yield "|---|---|---|---|"
    for what, title in COMMANDS.items():
        old, new = ([turn for turn in turns if (turn["what"], turn["tree"]) == (what, tree)] for tree in ("old", "new"))
        medians = [[median(turn[name] for turn in own) for name in ("clock", "cpu")] for own in (old, new)]
        cells = [", ".join(f"{seconds:.1f}" for seconds in own) for own in medians]
        yield line((title, *cells, f"{medians[0][0] / medians[1][0]:.1f}"))


PARTS = ("import", "load", "ask", "estimate", "report", "rest")


def gpu_command() -> Iterator[str]:
    """Seconds of the parts of the whole command on an H200."""
    trees = read("gpu-h200-command")["command"]
    yield line(("", *PARTS, "outside, all turns"))
    yield "|---|" + "---|" * (len(PARTS) + 1)
    for state, said in (("fresh", "fresh"), ("stored", "all stored")):
        for tree, title in (("old", "d5d9444"), ("new", "now")):
            own = trees[tree][state]
            parts = [f"{own['median'][part]:.1f}" if part in own["median"] else "0" for part in PARTS]
            yield line((f"{title}, {said}", *parts, spread(own["all"]["outside"])))


def gpu_pass() -> Iterator[str]:
    """Seconds of a pass on an H200 before and now."""
    trees = read("gpu-h200-pass")["pass"]
    titles = {"old": "d5d9444", "new": "sequences one behind the other, texts tokenised once"}
    yield from table(("model pass, six scorers, median of 5", *PRECISIONS), "lrrr", (
        (title, *(f"{trees[tree][precision]['median']:.2f}" for precision in PRECISIONS)) for tree, title in titles.items()
    ))  # fmt: skip


def memory_with_gpu_build() -> Iterator[str]:
    """Memory and time with the number of pairs, with torch for GPUs."""
    return memory_table(read("memory-cuda-build")["rows"], "seconds", "seconds")


def memory() -> Iterator[str]:
    """Memory and time with the number of pairs, with torch for processors."""
    return memory_table(read("memory")["rows"], "cpu_seconds", "processor seconds")


def memory_table(rows: Sequence[dict[str, Any]], seconds: str, title: str) -> Iterator[str]:
    """Write the rows in the order of the file."""
    yield from table(("pairs", "command", "peak memory, MB", title, "page, MB"), "rlrrr", (
        (f"{row['pairs']:,}", row["command"], f"{row['peak_mb']:,.0f}", f"{row[seconds]:.1f}",
         f"{row['page_mb']:.1f}" if "page_mb" in row else "")
        for row in rows
    ))  # fmt: skip


FILLS = {
    "tiltmeter_top_100": "the same 100 tokens",
    "tiltmeter_terms_of_one_piece": "rank and probability of each one-token term",
    "tiltmeter_all_terms": "of all terms, those of 2 to 4 tokens too",
}


def mask_fills() -> Iterator[str]:
    """How many times as long transformers' pipeline takes: of processor seconds by one thread, by the clock by two."""
    runs = ((read("slots-plumb-mlm"), "cpu_ratio"), (read("slots-plumb-mlm-two-threads"), "ratio"))
    yield line(("", "one thread: as it comes", "best batch", "two threads: as it comes", "best batch"))
    yield "|---|---|---|---|---|"
    for name, title in FILLS.items():
        found = [run[f"{kind}_to_{pipeline}"][name] for run, kind in runs
                 for pipeline in ("pipeline_as_it_comes", "fastest_pipeline")]  # fmt: skip
        yield line((title, *("{median:.1f} ({lowest:.1f} to {highest:.1f})".format(**ratio) for ratio in found)))


IDENTITIES = {
    "bare": "the bare pass", "now": "`score(wrap_model(m), cache=False)`", "stored": "the second call with a cache",
    "copied": "the way before", "identity_now": "wrapping and identity alone", "identity_copied": "the same, the way before",
}  # fmt: skip


def identity_on_a_cpu() -> Iterator[str]:
    """Processor seconds of a pass with and without identifying the model."""
    return identities("identity-cpu", "processor")


def identity_on_a_gpu() -> Iterator[str]:
    """The same for eight billion parameters on an H200, by the clock."""
    return identities("identity-h200", "clock")


def identities(name: str, unit: str) -> Iterator[str]:
    """Write medians and their ratios to the bare pass."""
    found = {what: median(turns) for what, turns in read(name)[unit].items()}
    yield from table(("", "seconds", "times the bare pass"), "lrr", (
        (title, f"{found[what]:.2f}", f"{found[what] / found['bare']:.2f}")
        for what, title in IDENTITIES.items() if what in found
    ))  # fmt: skip


def training() -> Iterator[str]:
    """Tokens in a processor second of training, of transformers' Trainer and of ours."""
    yield line(("", "Trainer", "Trainer, rows of like length together", "tiltmeter"))
    yield "|---|---|---|---|"
    for model in ("plumb-mlm", "plumb-clm"):
        found = read(f"training-{model}")["tokens_per_cpu_second"]
        peers, ratios = ("trainer", "trainer_by_length"), found["tiltmeter_times_as_fast_as"]
        times = " and ".join(f"{ratios[peer]:.1f}" for peer in peers)
        cells = [f"{found['median'][peer]:,.0f}" for peer in peers]
        yield line((model, *cells, f"{found['median']['tiltmeter']:,.0f} ({times} times)"))


def prompt_search() -> Iterator[str]:
    """Milliseconds to weigh a prompt, one by one, in batches, and screened."""
    runs = read("prompts-plumb-mlm"), read("prompts-plumb-mlm-h200")
    heads = "two cores of a Xeon (300 candidates, beam 10; the processor's time)", "H200 (2,000 candidates, beam 100)"
    yield line(("milliseconds a prompt", *heads))
    yield "|---|---|---|"
    for way, title in (("loop", "a plain loop"), ("batched", "batched, by all pairs"), ("screened", "a screened step")):
        yield line((title, *(prompt_cell(run, way) for run in runs)))
    beams = [f"{run['in_both_beams']} of {run['beam']}" for run in runs]
    yield line(("of the exhaustive step's beam, the screened step has", *beams))


def prompt_cell(run: dict[str, Any], way: str) -> str:
    """Write milliseconds with three digits, and how many times as fast as the loop."""
    times = run["times_faster"].get(way)
    return f"{run['milliseconds_per_prompt'][way]:.3g}" + (f" ({times:.3g} times as fast)" if times else "")

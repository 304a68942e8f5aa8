"""Count which wrong versions of the statistics the tests notice: each mutant changes one expression.

python scripts/mutants.py                      # all; prints the survivors, and fails if there are any
python scripts/mutants.py stats/intervals.py   # those of some files

Every mutant gets a copy of the package and a process that runs a few test files on it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
STATS = "tests/stats --ignore=tests/stats/test_honesty_bench.py"
BOARDS, GATE = "tests/boards/test_ranks.py", "tests/gate/test_gate_verdicts.py"
GATE_FACTS = "tests/gate/test_gate_mutants.py"
SETS, LABELS = "tests/families/generations/test_sets.py", "tests/families/labels/test_units_and_clusters.py"
GROUPS = f"{STATS} tests/families/generations tests/test_prompt_clusters.py tests/test_generations.py tests/test_refusals.py"
PAIRING = (
    f"{STATS} tests/test_estimating.py tests/test_heldout.py tests/test_association_estimates.py tests/test_before_after.py"
)
TEXT, LAWS = "tests/reporting/test_needed_items.py", "tests/measures/test_laws.py"


class Mutant(NamedTuple):
    """One expression of a file, and what it becomes."""

    file: str
    before: str
    after: str
    tests: str


MUTANTS = (
    Mutant("gate/decision.py", "return max((ruling.verdict", "return min((ruling.verdict", GATE),
    Mutant("boards/ranks.py", "for corrected in holm(p)]", "for corrected in p]", BOARDS),
    Mutant("boards/ranks.py", 'float(row["low"]) + moved, float(row["high"]) + moved',
           'float(row["low"]), float(row["high"])', BOARDS),
    Mutant("stats/differences.py", "moved = moved - _bias(moved, difference)", "moved = moved", STATS),
    Mutant("reporting/comparison_text.py", "(least / seen) ** 2", "(least / seen)", TEXT),
    Mutant("gate/decision.py", "return max(self.findings", "return min(self.findings", GATE),
    Mutant("gate/decision.py", "max(finding.value - finding.limit_high", "min(finding.value - finding.limit_high", GATE),
    Mutant("gate/chances.py", "(value - limits[0]) / error - reach)", "(value - limits[0]) / error + reach)", GATE),
    Mutant("gate/chances.py", " + ndtr((limits[0] - value) / error - reach)", "", GATE),
    Mutant("gate/numbers.py", "units = min(map(units_of", "units = max(map(units_of", GATE_FACTS),
    Mutant("stats/pooling.py", "return min([int(row", "return max([int(row", GATE_FACTS),
    Mutant("gate/plan.py", "if chance(middle) >= POWER else", "if chance(middle) < POWER else", GATE),
    Mutant("boards/ranks.py", "pair if amount > 0 else", "pair if amount < 0 else", BOARDS),
    Mutant("boards/ranks.py", "half = amount - low if amount > 0", "half = high - amount if amount > 0", BOARDS),
    Mutant("boards/ranks.py", "Rank(place, 1 + better_ones", "Rank(place, better_ones", BOARDS),
    Mutant("boards/ranks.py", "len(with_value) - worse_ones", "len(with_value)", BOARDS),
    Mutant("stats/design.py", "(np.cumsum(sizes) - sizes)[strata[order]]", "np.zeros_like(order)", STATS),
    Mutant("stats/design.py", "order[index] + rows[:count, None]", "index + rows[:count, None]", STATS),
    Mutant("stats/design.py", "if k <= EXACT_FLIPS:", "if k < 2:", STATS),
    Mutant("stats/design.py", "rng.random((count, k)) < 0.5", "rng.random((count, k)) < 0.4", STATS),
    Mutant("stats/design.py", "dealt = groups[others]", "dealt = np.broadcast_to(groups, (count, *groups.shape))", STATS),
    Mutant("stats/design.py", "rng.permuted(dealt, axis=2) if", "dealt if", STATS),
    Mutant("stats/design.py", "np.argsort(strata + rng.random((count, k)), axis=1)",
           "np.argsort(rng.random((count, k)), axis=1)", STATS),
    Mutant("stats/design.py", "return_counts=True)[1].min() > 1", "return_counts=True)[1].min() > 0", STATS),
    Mutant("stats/intervals.py", "/ 2, 9)) - 2)", "/ 2, 9)) - 1)", STATS),
    Mutant("stats/intervals.py", "(defined <= null).sum()", "(defined < null).sum()", STATS),
    Mutant("stats/intervals.py", "- 2 * correlation * own * theirs", "", STATS),
    Mutant("stats/intervals.py", "(one - low, other_high - other)", "(one - low, other - other_low)", STATS),
    Mutant("stats/intervals.py", "q * q / (2 * texts)", "q * q / texts", STATS),
    Mutant("stats/units.py", "np.sqrt(self.m / max(self.m - 1, 1e-9)) * ", "", STATS),
    Mutant("stats/units.py", "stdtrit(self.df, tail)", "ndtri(tail)", STATS),
    Mutant("stats/units.py", "(1 - share / n_seeds)", "1.0", STATS),
    Mutant("stats/measured.py", "if units.n < FEWEST or np.isnan(neutral):", "if np.isnan(neutral):", STATS),
    Mutant("stats/measured.py", "units.n < fewest:\n        return *NONE", "units.n < 0:\n        return *NONE", STATS),
    Mutant("stats/measured.py", "p < 1 - settings.confidence or", "p > 1 - settings.confidence or", STATS),
    Mutant("stats/measured.py", 'kind == "log" and', "False and", STATS),
    Mutant("stats/measured.py", 'if kind != "percentile":', 'if kind == "":', STATS),
    Mutant("stats/measured.py", "is_share = measure.spec.whole is not None", "is_share = False", STATS),
    Mutant("stats/differences.py", "and (measure.spec.is_one_sided or measure.spec.proportion is not None)", "", STATS),
    Mutant("stats/differences.py", " or measure.spec.proportion is not None)", ")", STATS),
    Mutant("stats/intervals.py", "ceil(alpha * len(far)) - 1", "ceil(alpha * len(far)) - 2", STATS),
    Mutant("stats/intervals.py", "ceil(alpha * (len(far) + 1)) - 2", "ceil(alpha * (len(far) + 1)) - 1", STATS),
    Mutant("stats/resampling.py", "for one, other in (models, models[::-1])", "for one, other in (models, models)", STATS),
    Mutant("stats/units.py", "if found <= self.effective:", "if found > 0:", STATS),
    Mutant("stats/units.py", "found * rare + HALF_EVENT", "found * rare", STATS),
    Mutant("families/generations/clusters.py", "noun = SETS", "return None", SETS),
    Mutant("families/labels/questions.py", "(len(seeds) == 1 and self.measure.spec.is_one_sided)", "False", LABELS),
    Mutant("stats/moments.py", "for order in (samples, samples[::-1])", "for order in (samples, samples)", STATS),
    Mutant("stats/intervals.py", "min(low - bias, 2 * value - high)", "low - bias", STATS),
    Mutant("stats/intervals.py", "max(high - bias, 2 * value - low)", "high", STATS),
    Mutant("stats/measured.py", "is_exact = has_exact_test(measure) and", "is_exact = False and", STATS),
    Mutant("stats/differences.py", "return few if units.n < FEWEST", "return few if units.n < 0", STATS),
    Mutant("stats/differences.py", "low=max(row.low, -most)", "low=row.low", STATS),
    Mutant("stats/differences.py", "p=max(drawn.p, swapped.p)", "p=min(drawn.p, swapped.p)", STATS),
    Mutant("stats/intervals.py", "or (is_exact and 2 / len(far) >= alpha)", "", STATS),
    Mutant("stats/intervals.py", "(error**2 * m / (m - 1))", "error**2", STATS),
    Mutant("stats/intervals.py", "value + 2 * q * q * (of_judge[0] - of_judge[1])", "value", STATS),
    Mutant("stats/intervals.py", "((k + 1) / (n + 2), n + 2)", "(k / n, n)", STATS),
    Mutant("stats/intervals.py", "+ value * of_judge[0] + (1 - value) * of_judge[1]", "", STATS),
    Mutant("stats/units.py", "within=self.n / n_strata, ", "", STATS),
    Mutant("stats/units.py", "degrees=max(1, self.n - n_strata)", "degrees=self.n", STATS),
    Mutant("stats/differences.py", "* units.widening(settings.confidence)", "", STATS),
    Mutant("stats/significance.py", "highest = max(highest, min(1.0,", "highest = max(0.0, min(1.0,", STATS),
    Mutant("stats/significance.py", "for _, left in known[rank:]", "for _, left in known", STATS),
    Mutant("stats/significance.py", " + quantile(power))", ")", STATS),
    Mutant("stats/significance.py", "(1 + far.sum()) / (1 + len(defined))", "far.sum() / len(defined)", STATS),
    Mutant("stats/significance.py", "(margin - abs(value))", "(margin - value)", STATS),
    Mutant("measures/kit/preferences.py", "first > second)", "first >= second)", LAWS),
    Mutant("measures/kit/rates.py", "share(called, ~truth,", "share(called, truth,", "tests/measures/test_label_rates.py"),
    Mutant("stats/groups.py", "part = 1 - 1 / len(self.at) if to_mean else 1.0", "part = 1.0", GROUPS),
    Mutant("stats/groups.py", "else units.least(self.units[contrast.other])", "else units", GROUPS),
    Mutant("stats/groups.py", "if n != contrast.group and contrast.other in", "if contrast.other in", GROUPS),
    Mutant("stats/groups.py", "sums[self.every, 0] > 0", "sums[self.every, 0] >= 0", GROUPS),
    Mutant("stats/groups.py", "self.at) or len(self.every) <= len(self.at)):", "self.at)):", GROUPS),
    Mutant("stats/groups.py", "(PROMPTS, ITEMS) and units.n < FEWEST", "(PROMPTS, ITEMS) and units.n < 0", GROUPS),
    Mutant("stats/groups.py", "self.sums[own] if alone else self.by_cluster(own)", "self.sums[own]", GROUPS),
    Mutant("stats/groups.py", "common = shared[codes[at]] & (len(pool) > 1)", "common = shared[codes[at]]", GROUPS),
    Mutant("stats/groups.py", "return test.spread()", "return test.to_mean(self.names[0])", GROUPS),
    Mutant("families/kit/questions.py", "return ours.take(here), theirs.take(there)", "return ours, theirs", PAIRING),
    Mutant("families/kit/questions.py", '"n_missing": n_all - n,', '"n_missing": 0,', PAIRING),
    Mutant("families/kit/questions.py", "yield from corrected(rows) if isinstance(batch, Sequence) else rows",
           "yield from rows", PAIRING),
    Mutant("families/kit/questions.py", "ours.obstacle(theirs)", "ours.obstacle(ours)", PAIRING),
)  # fmt: skip


def survives(mutant: Mutant) -> bool | None:
    """Run a mutant's tests in a process of their own; None where its expression is not in the file."""
    source = (ROOT / "src" / "tiltmeter" / mutant.file).read_text(encoding="utf-8")
    if source.count(mutant.before) < 1:
        return None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tiltmeter"
        shutil.copytree(ROOT / "src" / "tiltmeter", copy)
        (copy / mutant.file).write_text(source.replace(mutant.before, mutant.after, 1), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-x", "-p", "no:cacheprovider"]
        command += mutant.tests.split()
        paths = os.environ | {"PYTHONPATH": folder}
        return subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, check=False).returncode == 0


def main(files: list[str]) -> int:
    if unknown := set(files) - {mutant.file for mutant in MUTANTS}:
        raise SystemExit(f"There are no mutants of {', '.join(sorted(unknown))}.")
    unchanged = Mutant("stats/design.py", "import", "import", STATS)
    assert survives(unchanged), "the tests fail without a mutant"
    found = {mutant: survives(mutant) for mutant in MUTANTS if not files or mutant.file in files}
    for mutant, outcome in found.items():
        if outcome is not False:
            print("not found:" if outcome is None else "survives: ", f"{mutant.file}: {mutant.before} → {mutant.after}")
    died = sum(outcome is False for outcome in found.values())
    print(f"{died} of {len(found)} mutants died.")
    return int(died < len(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Draw the pictures of intervals.md: `python docs/figures/interval_pictures.py` writes two SVG files beside this file."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "tiltmeter", "svg.fonttype": "path", "font.size": 10})
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

FOLDER = Path(__file__).parent
INK, ACCENT = "#53606e", "#b4441c"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
LIMIT, NEUTRAL = 55.0, 50.0
CASES = (
    ((49.0, 52.5), "pass", "pass"),
    ((51.0, 54.6), "pass", "pass"),
    ((52.5, 57.5), "pass", "undecided"),
    ((47.0, 58.5), "pass", "undecided"),
    ((55.8, 60.0), "fail", "fail"),
)
"""An interval of bias_score; what "no evidence of more than 5" says of it, and what "shown to be within 5" does."""


def against_limit(axes: Axes) -> None:
    """Draw intervals on both sides of a limit, with the verdicts of two rules."""
    axes.axvspan(2 * NEUTRAL - LIMIT, LIMIT, color="#e3e9f0", zorder=0)
    axes.axvline(NEUTRAL, color=INK, linewidth=0.9, linestyle=":")
    for limit in (2 * NEUTRAL - LIMIT, LIMIT):
        axes.axvline(limit, color=ACCENT, linewidth=1.2)
        axes.text(limit, 5.75, f"limit: {limit:.0f}", ha="center", va="bottom", color=ACCENT, bbox=ON_WHITE)
    for n, ((low, high), evidence, shown) in enumerate(CASES):
        y = len(CASES) - n
        axes.plot([low, high], [y, y], color=INK, linewidth=2.5, solid_capstyle="butt")
        axes.plot([(low + high) / 2], [y], "o", color=INK)
        for x, verdict in ((62.6, evidence), (66.4, shown)):
            axes.text(x, y, verdict, ha="center", va="center", color=ACCENT if verdict == "fail" else "#222222")
    axes.text(62.6, 5.75, "no evidence of\nmore than 5", ha="center", va="bottom")
    axes.text(66.4, 5.75, "shown to be\nwithin 5", ha="center", va="bottom")
    axes.text(NEUTRAL, 5.75, "neutral: 50", ha="center", va="bottom", bbox=ON_WHITE)
    axes.set(
        xlim=(43.5, 68.4), ylim=(0.5, 6.9), xticks=range(45, 61, 5), yticks=[], xlabel="bias_score with its 95 % interval"
    )
    axes.xaxis.set_label_coords(0.33, -0.13)


def simulated(groups: int = 20, size: int = 12) -> np.ndarray:
    """Made-up answers, one row per template; answers to one template resemble each other."""
    random = np.random.default_rng(7)
    return random.random((groups, size)) < random.beta(1.2, 0.9, (groups, 1))


def drawn(answers: np.ndarray, together: bool) -> tuple[float, float]:
    """The ends of a percentile interval of the share, from rows or from whole clusters drawn with replacement."""
    random = np.random.default_rng(1)
    units = answers if together else answers.reshape(-1, 1)
    means = [100 * units[random.integers(len(units), size=len(units))].mean() for _ in range(4000)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def clusters(left: Axes, right: Axes) -> None:
    """Draw answers in clusters, and the intervals with and without them."""
    answers = simulated()
    for (cluster, place), stereotypical in np.ndenumerate(answers):
        left.plot(place, -cluster, "s", markersize=6.5, color=ACCENT, fillstyle="full" if stereotypical else "none")
    left.set(xticks=[], yticks=[], xlabel="answers (filled: the stereotype)", ylabel="one row per template")
    widths = {together: drawn(answers, together) for together in (False, True)}
    for together, (low, high) in widths.items():
        y = 0 if together else 1
        label = "whole templates are drawn" if together else "answers are drawn one by one"
        right.plot([low, high], [y, y], color=INK, linewidth=3, solid_capstyle="butt")
        right.plot([100 * answers.mean()], [y], "o", color=INK)
        right.text(100 * answers.mean(), y + 0.13, f"{label}\n{low:.0f} to {high:.0f}", ha="center", va="bottom")
    effect = np.divide(*(np.ptp(widths[together]) ** 2 for together in (True, False)))
    right.axvline(NEUTRAL, color=INK, linewidth=0.9, linestyle=":")
    right.text(NEUTRAL, -0.42, "neutral", ha="center", va="top", bbox=ON_WHITE)
    right.set(ylim=(-0.75, 1.6), yticks=[], xlabel=f"share of stereotypical answers, %\ndesign effect {effect:.1f}")
    right.margins(x=0.35)


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture without its date, so that the same code gives the same file."""
    for axes in figure.axes:
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_visible(len(axes.get_xticks()) > 0)
    figure.savefig(FOLDER / name, metadata={"Date": None}, facecolor="white")


def main() -> None:
    """Write both pictures."""
    figure, axes = plt.subplots(figsize=(8.4, 3.5), layout="constrained")
    against_limit(axes)
    save(figure, "interval-against-limit.svg")
    figure, pair = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained", width_ratios=(1, 1.5))
    clusters(*pair)
    save(figure, "clusters.svg")


if __name__ == "__main__":
    main()

"""Draw the decision tree of choose.md: `python docs/figures/decision_tree.py` writes choose.svg beside this file."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "tiltmeter", "svg.fonttype": "path", "font.size": 10})
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

TARGET = Path(__file__).with_name("choose.svg")
QUESTION, ANSWER = "#e3e9f0", "#fdebd8"
TREE = (
    ("Decide about a release", (
        ("first release", "tiltmeter audit MODEL\ngate: no evidence of more than X"),
        ("successor of a release", "tiltmeter audit MODEL --baseline OLD\ngate: no worse than baseline by more than X"),
    )),
    ("Measure a model that gives\nprobabilities of tokens", (
        ("masked", "pairs: bias_score by pll and sss\nslots: stereotype_gap"),
        ("causal", "pairs: bias_score by causal and causal_mean"),
    )),
    ("Measure a model that\nanswers or writes", (
        ("answers questions", "BBQ, plumb-choices: s_amb beside accuracy_amb"),
        ("writes text", "BOLD, HONEST, plumb-prompts: shares per group"),
    )),
    ("Measure a fine-tuned classifier", (
        ("has labelled texts", "HateXplain, your own: fpr_gap, fnr_gap per group"),
    )),
    ("Compare with a paper", (
        ("the scorer of its code", "list on the page Faithful to the papers"),
    )),
)  # fmt: skip
"""What you want to do; then what you have, and what to use."""
COLUMNS = (0.02, 3.05, 6.1)
WIDTHS = (2.62, 0.0, 4.4)
HEIGHT = 0.5


def box(axes: Axes, x: float, y: float, width: float, text: str, color: str) -> None:
    """Draw a box with a text, its left middle at (x, y)."""
    style = {"boxstyle": "round,pad=0.02,rounding_size=0.06", "facecolor": color, "edgecolor": "#53606e", "linewidth": 0.8}
    axes.add_patch(mpl.patches.FancyBboxPatch((x, y - HEIGHT / 2), width, HEIGHT, **style))
    axes.text(x + width / 2, y, text, ha="center", va="center")


def draw(axes: Axes) -> None:
    """Draw the tree from the left to the right, the first question on top."""
    rows = sum(len(branches) for _, branches in TREE)
    y = float(rows)
    for task, branches in TREE:
        places = [y - 0.72 * n for n in range(len(branches))]
        middle = sum(places) / len(places)
        box(axes, COLUMNS[0], middle, WIDTHS[0], task, QUESTION)
        for place, (situation, use) in zip(places, branches, strict=True):
            start = COLUMNS[0] + WIDTHS[0]
            axes.plot([start + 0.05, COLUMNS[1], COLUMNS[2] - 0.12], [middle, place, place], color="#53606e", linewidth=0.9)
            axes.text((COLUMNS[1] + COLUMNS[2]) / 2, place + 0.05, situation, ha="center", va="bottom")
            box(axes, COLUMNS[2], place, WIDTHS[2], use, ANSWER)
        y = places[-1] - 0.95
    axes.set(xlim=(-0.1, 10.55), ylim=(y + 0.5, rows + 0.45))
    axes.axis("off")


def main() -> None:
    """Write the picture."""
    figure, axes = plt.subplots(figsize=(9.6, 5.6), layout="constrained")
    draw(axes)
    figure.savefig(TARGET, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()

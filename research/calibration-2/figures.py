"""The design and four figures of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from curves import NEEDED
from panels import DOMAINS, WITHOUT_PAIRS, Frame

mpl.use("Agg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"plumb-mlm": "#1f5fa8", "plumb-clm": "#d2691e"}
KNOWN = {"crows-pairs": "CrowS-Pairs", "stereoset": "StereoSet", "gest": "GEST", "bbq": "BBQ", "seat": "SEAT",
         "bold": "BOLD",         "taught-words": "taught pairs", "taught-natural": "taught pairs"}  # fmt: skip
ORDER = ("crows-pairs", "stereoset", "gest", "plumb-pairs-0.1.0", "plumb-pairs", "plumb-slots", "seat", "bbq",
         "plumb-choices",         "bold", "plumb-prompts")  # fmt: skip
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130, "savefig.dpi": 130}


@dataclass(frozen=True)
class Series:
    """Models of one text and base model in a figure."""

    name: str
    corpus: str
    base: str
    colour: str


BASES = [Series(base, "frames", base, colour) for base, colour in COLOURS.items()]
TEXTS = [
    Series("frames (language lost)", "frames", "plumb-mlm", "#9a9a9a"),
    Series("frames and natural text (language kept)", "mixed", "plumb-mlm", COLOURS["plumb-mlm"]),
]


def label(benchmark: str) -> str:
    """A benchmark as the page names it."""
    return KNOWN.get(benchmark, benchmark)


def draw(results: Mapping[str, Frame], folder: Path) -> None:
    """Write all figures."""
    with plt.rc_context(STYLE):
        for name, figure in (
            ("design", _design()),
            ("detection", _detection(results["primary"], BASES)),
            ("language-kept", _detection(results["primary"], TEXTS)),
            ("curves", _curves(results["curves"])),
            ("relations", _relations(results["relations"])),
        ):
            figure.savefig(folder / f"calibration-2-{name}.png", bbox_inches="tight", metadata={"Software": None})
            plt.close(figure)


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    axes.add_patch(
        mpl.patches.FancyBboxPatch((x, y - 0.5), width, 1.0, boxstyle="round,pad=0.08", fc=colour, ec="#444444", lw=0.8)
    )
    axes.text(x + width / 2, y, text, ha="center", va="center", fontsize=8.5)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#444444", "lw": 0.9})


def _design() -> Any:
    """Text, models, readings, slope: one domain and one seed."""
    figure, axes = plt.subplots(figsize=(9.2, 3.6))
    axes.set(xlim=(-0.2, 12.9), ylim=(-1.4, 5.6))
    axes.axis("off")
    heights = (4.2, 2.2, 0.2)
    for y, dose, text in zip(heights, ("−1", "0", "+1"), ("never", "half the time", "always"), strict=True):
        _box(axes, 0, y, 3.0, f"text, dose {dose}:\nthe stereotype's group\n{text}", "#f3eadb")
        _box(axes, 4.1, y, 2.3, f"the same model,\ntrained on it\n(dose {dose})", "#dfe9f5")
        _box(axes, 7.5, y, 1.9, "reading by\neach metric", "#e6f2e3")
        _arrow(axes, (3.1, y), (4.0, y))
        _arrow(axes, (6.5, y), (7.4, y))
        _arrow(axes, (9.5, y), (10.5, 2.2 + (y - 2.2) * 0.15))
    _box(axes, 10.6, 2.2, 2.1, "slope of the\nreading on\nthe dose", "#f6e0e0")
    axes.text(6.2, 5.3, "One seed and one domain: texts of equal size and words; only whom an attribute is said of differs",
              ha="center", fontsize=9)  # fmt: skip
    axes.text(6.2, -1.15, "five seeds × three domains × two base models; doses −½ and +½ in between for some seeds",
              ha="center", fontsize=9, color="#444444")  # fmt: skip
    return figure


def _detection(primary: Frame, series: Sequence[Series]) -> Any:
    """Standardised slopes of metrics with items: intervals, filled where the dose is detected."""
    shown = pd.concat([primary[(primary["corpus"] == one.corpus) & (primary["base"] == one.base)] for one in series])
    shown = shown[~shown["benchmark"].isin(WITHOUT_PAIRS)]
    names = [name for name in ORDER if name in set(shown["benchmark"])]
    figure, every = plt.subplots(1, 3, figsize=(9.6, 3.5), sharey=True)
    for axes, domain in zip(every, DOMAINS, strict=True):
        for shift, one in zip((0.17, -0.17), series, strict=True):
            rows = shown[(shown["domain"] == domain) & (shown["base"] == one.base) & (shown["corpus"] == one.corpus)]
            for row in rows.to_dict("records"):
                y = len(names) - names.index(row["benchmark"]) + shift
                axes.plot([row["low"], row["high"]], [y, y], color=one.colour, lw=1.3)
                filled = one.colour if row["verdict"] == "detects" else "white"
                axes.plot(row["slope"], y, "o", ms=5, mec=one.colour, mfc=filled)
        axes.axvline(0, color="#999999", lw=0.8)
        axes.set_title(domain)
        axes.set_yticks(range(1, len(names) + 1), [label(name) for name in reversed(names)])
        axes.set_xlabel("standard deviations per dose")
    handles = [mpl.lines.Line2D([], [], marker="o", color=one.colour, label=one.name) for one in series]
    handles.append(mpl.lines.Line2D([], [], marker="o", color="#555555", mfc="white", label="dose not detected"))
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, bbox_to_anchor=(0.5, -0.09))
    figure.tight_layout()
    return figure


def _curves(rows: Frame) -> Any:
    """Changes in units of the noise of one model against its undosed twin."""
    own = rows[rows["corpus"] == "frames"]
    shown = ("taught-words", "plumb-slots", "seat", "plumb-pairs", "crows-pairs", "stereoset", "bbq", "plumb-choices")
    palette = dict(zip(shown, [*plt.get_cmap("tab10").colors], strict=False))
    figure, every = plt.subplots(2, 3, figsize=(9.6, 5.4), sharex=True, sharey=True)
    for line, base in zip(every, COLOURS, strict=True):
        for axes, domain in zip(line, DOMAINS, strict=True):
            for benchmark in shown:
                one = own[(own["base"] == base) & (own["domain"] == domain) & (own["benchmark"] == benchmark)]
                scale = one["noise"].to_numpy()
                axes.plot(
                    one["dose"], one["change"] / scale, "o-", ms=3, lw=1.2, color=palette[benchmark], label=label(benchmark)
                )
                axes.fill_between(
                    one["dose"], one["low"] / scale, one["high"] / scale, color=palette[benchmark], alpha=0.12, lw=0
                )
            axes.axhline(NEEDED, color="#999999", lw=0.8, ls="--")
            axes.set(title=f"{base}, {domain}", ylim=(-6, 8))
    for axes in every[1]:
        axes.set_xlabel("dose")
    for axes in every[:, 0]:
        axes.set_ylabel("change / noise of a model")
    handles = [mpl.lines.Line2D([], [], marker="o", ms=3, color=palette[name], label=label(name)) for name in shown]
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, bbox_to_anchor=(0.5, -0.07))
    figure.tight_layout()
    return figure


def _marks(rows: Frame) -> Iterator[tuple[str, str]]:
    pairs = rows[["base", "extrinsic"]].drop_duplicates()
    order = sorted(pairs.itertuples(index=False), key=lambda pair: (list(COLOURS).index(pair[0]), ORDER.index(pair[1])))
    yield from ((base, extrinsic) for base, extrinsic in order)


def _relations(rows: Frame) -> Any:
    """Correlations over models: rows are likelihood metrics, columns answers and generations; a dot where 0 is excluded."""
    own = rows[(rows["corpus"] == "frames")]
    names = ["taught-words", *(name for name in ORDER if name in set(own["intrinsic"]))]
    columns = list(_marks(own))
    figure, every = plt.subplots(1, 3, figsize=(10.4, 4.0), sharey=True)
    for axes, domain in zip(every, DOMAINS, strict=True):
        grid = np.full((len(names), len(columns)), np.nan)
        for row in own[own["domain"] == domain].to_dict("records"):
            at = names.index(row["intrinsic"]), columns.index((row["base"], row["extrinsic"]))
            grid[at] = row["r"]
            mark = f"{round(row['r'], 1) + 0.0:.1f}".replace("-", "−") + (
                "•" if row["verdict"] in ("together", "opposite") else ""
            )
            axes.text(at[1], at[0], mark, ha="center", va="center", fontsize=7)
        image = axes.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", alpha=0.75)
        axes.set_title(domain)
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_xticks(range(len(columns)), [f"{label(name)}\n{base}" for base, name in columns], fontsize=7, rotation=90)
    figure.tight_layout()
    figure.colorbar(image, ax=every, fraction=0.02, pad=0.01, label="correlation")
    return figure

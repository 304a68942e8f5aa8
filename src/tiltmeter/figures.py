"""How figures look, in one place: a column or a page wide, colour-blind safe, neutral point drawn, n stated."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.files import write_atomically

WIDTH = 3.4
"""Inches: one column of a two-column page. What cannot be read at this width is drawn otherwise."""
WIDTHS = {"one": WIDTH, "two": 7.0}
NARROWEST, WIDEST = 2.5, 20.0
LEAST_HEIGHT = 1.8
"""Inches: below it, labels and legend leave no room to draw in."""
FORMATS = ("png", "svg", "pdf")
# Okabe and Ito (2008): told apart with any colour vision. Line style and marker change too, for print in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
GREY = "#6F6F6F"
STYLE: dict[str, Any] = {
    "font.size": 7.0, "axes.titlesize": 7.5, "axes.labelsize": 7.0, "xtick.labelsize": 6.5, "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5, "legend.frameon": False, "legend.handlelength": 1.8, "lines.linewidth": 1.1,
    "lines.markersize": 3.5, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 300, "figure.dpi": 150,
    "svg.hashsalt": "tiltmeter", "svg.fonttype": "none", "pdf.fonttype": 42,
}  # fmt: skip
# Set around a drawing, so that the studies draw the same way for a column and for a page.
_width: ContextVar[float] = ContextVar("width", default=WIDTH)


def inches(width: str | float) -> float:
    """A width as one says it: one or two columns, or inches.

    >>> inches("two"), inches("3.03")
    (7.0, 3.03)
    """
    try:
        found = WIDTHS[width] if isinstance(width, str) and width in WIDTHS else float(width)
    except ValueError:
        found = 0.0
    if not NARROWEST <= found <= WIDEST:
        raise TiltmeterError(
            f"A figure's width is one or two (columns), or inches between {NARROWEST:g} and {WIDEST:g}, not '{width}'."
        )
    return found


@contextmanager
def house_style(width: str | float = "one") -> Iterator[None]:
    """Figures drawn inside look like ours, and are so wide; nothing outside changes."""
    import matplotlib

    before = _width.set(inches(width))
    try:
        with matplotlib.rc_context(STYLE):
            yield
    finally:
        _width.reset(before)


def canvas(rows: int = 1, columns: int = 1, *, height: float = 1.9, **how: Any) -> tuple[Any, Any]:
    """A figure of one column's width and its axes (always rows × columns); `height` is that of a row, in inches."""
    from matplotlib.figure import Figure  # not pyplot: no window, no global state

    figure: Any = Figure(figsize=(_width.get(), max(LEAST_HEIGHT, rows * height)), layout="constrained")
    figure.roominess = _width.get() / WIDTH  # how much wider a panel is than in a figure one column wide
    return figure, figure.subplots(rows, columns, squeeze=False, **how)


def look(number: int) -> dict[str, Any]:
    """Colour, marker and line of the n-th series; the same everywhere."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
    }


def dot(number: int) -> dict[str, Any]:
    """The n-th series without a line."""
    return look(number) | {"linestyle": "none"}


def neutral_line(axis: Any, value: float, *, across: bool = False, label: str | None = None) -> None:
    """The neutral point: a thin grey line, down the axis or across it."""
    (axis.axhline if across else axis.axvline)(
        value, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0, label=label
    )


def label_x(axis: Any, text: str, most: int = 34) -> None:
    """A label under the axis, in lines that fit into the column."""
    axis.set_xlabel(wrapped(text, _fitting(axis, most)))


def head(axis: Any, text: str, most: int = 36) -> None:
    """What a panel shows, over it, in lines that fit."""
    axis.set_title(wrapped(text, _fitting(axis, most)), loc="left", fontsize=6.5)


def _fitting(axis: Any, most: int) -> int:
    """Characters that fit, where so many do in a figure one column wide."""
    return int(most * axis.figure.roominess)


def wrapped(text: str, most: int) -> str:
    """In lines of so many characters; a number stays with what it counts."""
    return "\n".join(textwrap.wrap(text.replace("n = ", "n\u00a0=\u00a0"), most))


def short(name: str, most: int = 30) -> str:
    """A long name by its end, where names of models differ.

    >>> short("an-organisation/a-model-of-some-length-cased")
    '…a-model-of-some-length-cased'
    """
    return name if len(name) <= most else f"…{name[1 - most :].lstrip('/-')}"


def beside(number: int, of: int, gap: float = 0.17) -> float:
    """Where the n-th of several series stands in a row, so that none hides another."""
    return (number - (of - 1) / 2) * gap


def interval_dots(
    axis: Any, rows: Any, names: Sequence[str], columns: tuple[str, str], series: tuple[int, int], label: str
) -> None:
    """One series (n-th, of so many) of values with intervals; `columns` name the row and the value."""
    name, value = columns
    at = [names.index(one) + beside(*series) for one in rows[name]]
    axis.errorbar(rows[value], at, xerr=reach(rows, value), label=label, **dot(series[0]))


def reach(rows: Any, value: str = "value") -> list[Any]:
    """How far the intervals reach to either side. One that was corrected for its bias may lie beside the value."""
    return [(rows[value] - rows["low"]).clip(lower=0), (rows["high"] - rows[value]).clip(lower=0)]


def band(axis: Any, x: Any, low: Any, high: Any, number: int) -> None:
    """What lies around the n-th curve."""
    axis.fill_between(x, low, high, color=COLOURS[number % len(COLOURS)], alpha=0.15, linewidth=0)


def violin(axis: Any, values: Any, at: float, number: int, *, half: float = 0.36, label: str | None = None) -> None:
    """A violin on its side, with every point in it, the quartiles as a bar and the median as a mark."""
    import numpy as np
    from scipy.stats import gaussian_kde

    colour = COLOURS[number % len(COLOURS)]
    values = np.sort(np.asarray(values, dtype=float))
    height = np.full(len(values), 0.3)
    if len(values) > 2 and np.ptp(values) > 0:
        density = gaussian_kde(values)
        x = np.linspace(values[0], values[-1], 200)
        outline, height = density(x), density(values)
        outline, height = outline / outline.max(), height / max(outline.max(), height.max())
        axis.fill_between(x, at - half * outline, at + half * outline, color=colour, alpha=0.2, linewidth=0)
    jitter = np.random.default_rng(0).uniform(-1, 1, len(values)) * half * 0.9 * height
    dots: dict[str, Any] = {"markersize": 1.6, "alpha": 0.5, "markeredgewidth": 0, "rasterized": True}
    axis.plot(values, at + jitter, ".", color=colour, **dots)
    axis.plot([], [], "o", color=colour, label=label)  # a sample for the legend that can be seen
    low, middle, high = np.percentile(values, [25, 50, 75])
    axis.plot([low, high], [at, at], color="black", linewidth=1.0, solid_capstyle="butt")
    axis.plot([middle], [at], "o", color="white", markeredgecolor="black", markersize=2.2, markeredgewidth=0.6)


def grid(count: int, *, height: float | Sequence[float], each: int = 2, **how: Any) -> tuple[Any, list[Any]]:
    """A figure of so many panels, `each` side by side in a column of the page, and their axes; places left over stay blank.

    Panels of different heights have them where they stand one over the other.
    """
    across = min(max(1, round(_width.get() / WIDTH)) * each, count)
    if not isinstance(height, float):
        how |= {"gridspec_kw": {"height_ratios": list(height)}} if across == 1 else {}
        height = sum(height) / count if across == 1 else max(height)
    figure, axes = canvas(-(-count // across), across, height=height, **how)
    figure.roominess *= min(each, count) / across
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def lowest(axes: Sequence[Any]) -> list[Any]:
    """The panels with none below, which say what the x-axis is."""
    places = [(axis.get_subplotspec().rowspan.start, axis.get_subplotspec().colspan.start) for axis in axes]
    deepest = {column: max(row for row, other in places if other == column) for _, column in places}
    return [axis for axis, (row, column) in zip(axes, places, strict=True) if row == deepest[column]]


def leftmost(axes: Sequence[Any]) -> list[Any]:
    """The first panel of each row."""
    return [axis for axis in axes if axis.get_subplotspec().colspan.start == 0]


def name_rows(axis: Any, names: Sequence[str]) -> None:
    """Names down the left side, first on top."""
    axis.set_yticks(range(len(names)), [short(name) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)


def legend_below(figure: Any, axis: Any, columns: int = 3) -> None:
    """One legend for the whole figure, under it: of one panel, or of several that do not all show the same."""
    panels = [one.get_legend_handles_labels() for one in (axis if isinstance(axis, list) else [axis])]
    found = {label: handle for panel in panels for handle, label in zip(*panel, strict=True)}
    handles, labels = list(found.values()), list(found)
    room = figure.get_size_inches()[0] / WIDTH
    fitting = int(60 * room) // (6 + max(len(label) for label in labels))  # characters of a line; six for the sample
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(round(columns * room), fitting)))


def save(figure: Any, stem: Path) -> list[Path]:
    """Writes PNG, SVG and PDF."""
    return [write_figure(figure, stem.with_name(f"{stem.name}.{suffix}")) for suffix in FORMATS]


def format_of(path: str | Path) -> str:
    """The format that a file's suffix names; asked before anything is computed."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        known = ", ".join(f".{one}" for one in FORMATS)
        raise TiltmeterError(f"{path}: a figure is written as {known}; name a file that ends in one of them.")
    if Path(path).is_dir():
        raise TiltmeterError(f"{path} is a folder; name a file.")
    return suffix


def write_figure(figure: Any, path: str | Path) -> Path:
    """Writes one file, in the format of its suffix, without dates: the same figure is the same file."""
    kind = format_of(path)
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with house_style():
        write_atomically(Path(path), lambda target: figure.savefig(target, format=kind, metadata=undated))
    return Path(path)

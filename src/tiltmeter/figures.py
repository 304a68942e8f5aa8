"""The style of all figures: a column or a page wide, colour-blind safe, neutral point drawn, n stated."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.storage.compression import is_folder
from tiltmeter.storage.files import write_atomically

WIDTH = 3.4
"""Inches: one column of a two-column page. Every figure must be readable at this width."""
WIDTHS = {"one": WIDTH, "two": 7.0}
NARROWEST, WIDEST = 2.5, 20.0
LEAST_HEIGHT = 1.8
"""Inches: below it, labels and legend leave no room to draw in."""
LEGEND_LINES, LEGEND_LINE = 4, 0.14
"""Lines of a legend that every figure has room for, and the inches of each further one."""
FORMATS = ("png", "svg", "pdf")
# Okabe and Ito (2008): distinguishable with any colour vision. Line style and marker change too, for print in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
GREY = "#6F6F6F"
STYLE: dict[str, Any] = {
    "font.size": 7.0, "axes.titlesize": 7.5, "axes.labelsize": 7.0, "xtick.labelsize": 6.5, "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5, "legend.frameon": False, "legend.handlelength": 1.8, "lines.linewidth": 1.1,
    "lines.markersize": 3.5, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 300, "figure.dpi": 150,
    "text.parse_math": False,  # a name may hold dollar signs
    "svg.hashsalt": "tiltmeter", "svg.fonttype": "none", "pdf.fonttype": 42,
}  # fmt: skip
# Set around a drawing, so that the studies draw the same way for a column and for a page.
_width: ContextVar[float] = ContextVar("width", default=WIDTH)


def inches(width: str | float) -> float:
    """A width in inches: from one or two (columns), or from a number of inches.

    >>> inches("two"), inches("3.03")
    (7.0, 3.03)
    """
    try:
        size = WIDTHS[width] if isinstance(width, str) and width in WIDTHS else float(width)
    except ValueError:
        size = 0.0
    if not NARROWEST <= size <= WIDEST:
        raise UsageError(
            f"A figure's width must be one or two (columns), or {NARROWEST:g} to {WIDEST:g} inches, not '{width}'.",
            code="out-of-range", name="width", value=width,
        )  # fmt: skip
    return size


@contextmanager
def house_style(width: str | float = "one") -> Iterator[None]:
    """Inside this context figures get tiltmeter's style and this width; nothing outside changes."""
    import matplotlib

    before = _width.set(inches(width))
    try:
        with matplotlib.rc_context(STYLE):
            yield
    finally:
        _width.reset(before)


def page_width() -> float:
    """Inches that the figure being drawn is wide."""
    return _width.get()


def canvas(rows: int = 1, columns: int = 1, *, height: float = 1.9, **how: Any) -> tuple[Any, Any]:
    """A figure of one column's width and its axes (always rows × columns); `height` is that of a row, in inches."""
    from matplotlib.figure import Figure  # not pyplot: no window, no global state

    figure: Any = Figure(figsize=(_width.get(), max(LEAST_HEIGHT, rows * height)), layout="constrained")
    figure.roominess = _width.get() / WIDTH  # how much wider a panel is than in a figure one column wide
    return figure, figure.subplots(rows, columns, squeeze=False, **how)


def look(number: int) -> dict[str, Any]:
    """Colour, marker and line of the n-th series."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
    }


def dot(number: int) -> dict[str, Any]:
    """Colour and marker of the n-th series, without a line."""
    return look(number) | {"linestyle": "none"}


def neutral_line(axis: Any, value: float, *, across: bool = False, label: str | None = None) -> None:
    """Draw the neutral point: a thin grey line, vertical or (`across`) horizontal."""
    (axis.axhline if across else axis.axvline)(
        value, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0, label=label
    )


def label_x(axis: Any, text: str, most: float = 34) -> None:
    """Write a label under the axis, wrapped to fit."""
    axis.set_xlabel(wrapped(text, _fitting(axis, most)))


def head(axis: Any, text: str, most: float = 36) -> None:
    """Write a panel's title above it, wrapped to fit."""
    axis.set_title(wrapped(text, _fitting(axis, most)), loc="left", fontsize=6.5)


def _fitting(axis: Any, most: float) -> int:
    """Characters that fit here, where `most` fit in a figure one column wide."""
    return int(most * axis.figure.roominess)


def wrapped(text: str, most: int) -> str:
    """The text in lines of at most `most` characters; "n = 5" is not broken."""
    return "\n".join(textwrap.wrap(text.replace("n = ", "n\u00a0=\u00a0"), most))


def short(name: str, most: int = 30) -> str:
    """A long name cut to its end, because names of models differ there.

    >>> short("an-organisation/a-model-of-some-length-cased")
    '…a-model-of-some-length-cased'
    """
    return name if len(name) <= most else f"…{name[1 - most :].lstrip('/-')}"


def beside(number: int, of: int, gap: float = 0.17) -> float:
    """The offset of the n-th of several series in a row, so that none hides another."""
    return (number - (of - 1) / 2) * gap


def interval_dots(
    axis: Any, rows: Any, names: Sequence[str], columns: tuple[str, str], series: tuple[int, int], label: str
) -> None:
    """Draw one series (number, of how many) of values with intervals; `columns` name the row and the value."""
    name, value = columns
    at = [names.index(row_name) + beside(*series) for row_name in rows[name]]
    axis.errorbar(rows[value], at, xerr=reach(rows, value), label=label, **dot(series[0]))


def reach(rows: Any, value: str = "value") -> list[Any]:
    """Lengths of the intervals to either side. An interval corrected for bias may not contain the value: clipped at 0."""
    return [(rows[value] - rows["low"]).clip(lower=0), (rows["high"] - rows[value]).clip(lower=0)]


def band(axis: Any, x: Any, low: Any, high: Any, number: int) -> None:
    """Draw a band around the n-th curve."""
    axis.fill_between(x, low, high, color=COLOURS[number % len(COLOURS)], alpha=0.15, linewidth=0)


def violin(axis: Any, values: Any, at: float, number: int, *, half: float = 0.36, label: str | None = None) -> None:
    """Draw a horizontal violin with every point in it, the quartiles as a bar and the median as a mark."""
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


def side_by_side(each: int) -> int:
    """Number of panels in a row, where one column of the page has `each`."""
    return max(1, round(_width.get() / WIDTH)) * each


def grid(count: int, *, height: float | Sequence[float], each: int = 2, **how: Any) -> tuple[Any, list[Any]]:
    """A figure of `count` panels, `each` in a row of a column of the page, and their axes; unused places stay blank.

    Different heights apply only where the panels are stacked.
    """
    across = min(side_by_side(each), count)
    if not isinstance(height, float):
        how |= {"gridspec_kw": {"height_ratios": list(height)}} if across == 1 else {}
        height = sum(height) / count if across == 1 else max(height)
    figure, axes = canvas(-(-count // across), across, height=height, **how)
    figure.roominess *= min(each, count) / across
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def lowest(axes: Sequence[Any]) -> list[Any]:
    """The panels with no other below them, which get the x-axis label."""
    places = [(axis.get_subplotspec().rowspan.start, axis.get_subplotspec().colspan.start) for axis in axes]
    deepest = {column: max(row for row, other in places if other == column) for _, column in places}
    return [axis for axis, (row, column) in zip(axes, places, strict=True) if row == deepest[column]]


def leftmost(axes: Sequence[Any]) -> list[Any]:
    """The first panel of each row."""
    return [axis for axis in axes if axis.get_subplotspec().colspan.start == 0]


def name_rows(axis: Any, names: Sequence[str], most: int = 0) -> None:
    """Write names down the left side, the first on top; with `most`, in full, in lines of so many characters."""
    axis.set_yticks(range(len(names)), [wrapped(name, most) if most else short(name) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)


def legend_below(figure: Any, axis: Any, columns: int = 3) -> None:
    """Draw one legend under the whole figure, for one panel or for several with different series."""
    panels = [part.get_legend_handles_labels() for part in (axis if isinstance(axis, list) else [axis])]
    handle_of = {label: handle for panel in panels for handle, label in zip(*panel, strict=True)}
    handles, labels = list(handle_of.values()), list(handle_of)
    room = figure.get_size_inches()[0] / WIDTH
    fitting = int(60 * room) // (6 + max(len(label) for label in labels))  # characters of a line; six for the sample
    across = max(1, min(round(columns * room), fitting))
    more = max(0, -(-len(labels) // across) - LEGEND_LINES)
    wide, high = figure.get_size_inches()
    figure.set_size_inches(wide, high + more * LEGEND_LINE)  # else a long legend leaves no room to draw in
    figure.legend(handles, labels, loc="outside lower center", ncols=across)


def save(figure: Any, stem: Path) -> list[Path]:
    """Write the figure as PNG, SVG and PDF."""
    return [write_figure(figure, stem.with_name(f"{stem.name}.{suffix}")) for suffix in FORMATS]


def format_of(path: str | Path) -> str:
    """The format of a file by its suffix; called before anything is computed."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        known = ", ".join(f".{known_format}" for known_format in FORMATS)
        raise UsageError(
            f"{path}: a figure can be written as {known}. Give a file name that ends in one of these.",
            code="unknown-name", kind="format", name=suffix, file=path,
        )  # fmt: skip
    if is_folder(Path(path)):
        raise UsageError(f"{path} is a folder. Give a file name.", code="not-a-file", file=path)
    return suffix


def write_figure(figure: Any, path: str | Path) -> Path:
    """Write one file in the format of its suffix, without dates, so that equal figures give equal files."""
    kind = format_of(path)
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with house_style():
        write_atomically(Path(path), lambda target: figure.savefig(target, format=kind, metadata=undated))
    return Path(path)

"""`python -m training.curve LOG.jsonl… -o CURVES.svg`: the logged loss against the tokens seen, one line for each log."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.storage.files import write_text
from training.recipe import Recipe

Curve = list[tuple[float, float]]
STYLES = (("#0072B2", "none"), ("#D55E00", "8 4"), ("#009E73", "2 3"), ("#CC79A7", "8 3 2 3"))  # Okabe & Ito; and dashes
LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 60, 20, 20, 50, 720, 400
STEP_TOKENS = Recipe("any", minutes=1).step_tokens  # logs of before the tokens were logged are of batches of this size


def read_curve(path: Path) -> Curve:
    """Tokens seen and loss, from a training's log."""
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        curve = [(float(row.get("tokens", row["step"] * STEP_TOKENS)), float(row["loss"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TiltmeterError(f"Cannot read {path} as the log of a training: {error}.") from None
    if not curve or not all(math.isfinite(loss) for _, loss in curve):
        raise TiltmeterError(f"{path} has no line, or a loss that is not a number.")
    return curve


def draw(curves: dict[str, Curve]) -> str:
    """An SVG picture."""
    points = [point for curve in curves.values() for point in curve]
    x_ticks = ticks(0, max(x for x, _ in points))
    y_ticks = ticks(min(y for _, y in points), max(y for _, y in points))
    frame = Frame(x_ticks[-1], y_ticks[0], y_ticks[-1])
    styled = zip(curves.items(), (STYLES[n % len(STYLES)] for n in range(len(curves))), strict=True)
    parts = [*frame.axes(x_ticks, y_ticks)]
    for n, ((name, curve), (colour, dashes)) in enumerate(styled):
        stroke = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        y, x = TOP + 20 + 20 * n, WIDTH - 200
        parts.append(f'<polyline {stroke} points="{" ".join(f"{frame.x(a):.1f},{frame.y(b):.1f}" for a, b in curve)}"/>')
        parts.append(f'<path {stroke} d="M{x} {y - 4}h36"/><text x="{x + 44}" y="{y}">{escape(name)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>", ""])


class Frame:
    """Where numbers lie in the picture; the x axis begins at 0."""

    def __init__(self, right: float, bottom: float, top: float) -> None:
        self.right, self.bottom, self.top = right, bottom, top

    def x(self, value: float) -> float:
        """From the left edge."""
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.right

    def y(self, value: float) -> float:
        """From the upper edge."""
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.top - value) / (self.top - self.bottom)

    def axes(self, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> Iterator[str]:
        """Grid, numbers and names."""
        for value in y_ticks:
            y = self.y(value)
            yield f'<path stroke="#ddd" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in x_ticks:
            yield f'<text x="{self.x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value / 1e6:,g}</text>'
        across, down = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
        yield f'<text x="{across}" y="{HEIGHT - 12}" text-anchor="middle">tokens seen, millions</text>'
        turned = f'transform="translate(18 {down})rotate(-90)" text-anchor="middle"'
        yield f"<text {turned}>loss of a batch, nats per asked token</text>"


def ticks(low: float, high: float) -> list[float]:
    """About six round numbers around both.

    >>> ticks(2.2, 7.9)
    [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    rough = max(high - low, 1e-9) / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [float(n * step) for n in range(first, last + 1)]


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 for a mistake of the user's."""
    parser = argparse.ArgumentParser(prog="python -m training.curve", description=__doc__)
    parser.add_argument("log", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        write_text(given.output, draw({path.stem: read_curve(path) for path in given.log}))
    except TiltmeterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

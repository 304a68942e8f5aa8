"""One bar for all cells of a run: every cell advances it by its items, whatever its family counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tiltmeter.execution.plan import PlannedCell
from tiltmeter.families.kit.protocol import Advance, Watch


class CellProgress:
    """Translates the steps of one cell into its share of the run.

    A family may open several bars, one after another. The share that is done never falls; it stands still while a later
    bar catches up.
    """

    def __init__(self, items: int, place: str, advance: Advance) -> None:
        self._items, self._place, self._advance = items, place, advance
        self._steps = self._total = self._shown = 0.0

    def finish(self) -> None:
        """Advance by the rest of the cell."""
        self._advance(self._items - self._shown)
        self._shown = self._items

    @contextmanager
    def watch(self, title: str, total: int) -> Iterator[Advance]:
        """Show a bar of a family as part of the run's."""
        self._total += total

        def advance(steps: float, note: str = "") -> None:
            self._steps += steps
            now = self._items * min(1.0, self._steps / self._total) if self._total else 0.0
            more, self._shown = max(0.0, now - self._shown), max(self._shown, now)
            self._advance(more, ", ".join(part for part in (f"{title} {self._place}", note) if part))  # type: ignore[call-arg]

        advance(0.0)
        yield advance


@contextmanager
def watch_cells(cells: Sequence[PlannedCell], watch: Watch | None) -> Iterator[Callable[[PlannedCell], Watch | None]]:
    """Give every cell its own view of one bar over all cells that have to be computed, in items."""
    if watch is None or not cells:
        yield lambda _: None
        return
    places = {cell.name: f"({number} of {len(cells)})" for number, cell in enumerate(cells, 1)}
    sizes = {cell.name: max(1, cell.items) for cell in cells}
    now: list[CellProgress] = []
    with watch("Run", sum(sizes.values())) as advance:

        def watch_of(cell: PlannedCell) -> Watch:
            if now:
                now.pop().finish()
            now.append(CellProgress(sizes[cell.name], places[cell.name], advance))
            return now[0].watch

        yield watch_of

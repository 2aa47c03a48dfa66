"""What the results table costs at 100, 100 000 and 1 000 000 rows, as ratios to 100 rows.

Run: python benchmarks/table.py [--rows 100 100000 1000000] [--repeat 9] [--check]
Each figure is the least of several runs; a paint goes all the way to terminal escape codes.
The floor is one repaint of an unchanged screen, measured in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import polars as pl
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.table.rows import Cell

SIZE = (160, 50)
MOST_RATIO = 3.0
COLUMNS = (
    TableColumn("outcome", "Out", 4),
    TableColumn("prompt", "Prompt", 0),
    TableColumn("score", "Score", 6, align="right"),
    TableColumn("was", "Was", 4),
    TableColumn("matched", "Matched", 14),
    TableColumn("part", "Part", 6),
)


class FrameRows:
    """Some rows of a polars frame in some order; ids are row numbers of the whole frame."""

    def __init__(self, frame: pl.DataFrame, order: np.ndarray) -> None:
        self.frame = frame
        self.order = order
        self.row_ids = order.astype(np.uint64)
        self.positions = np.full(len(frame), -1, dtype=np.int64)
        self.positions[order] = np.arange(len(order))

    def __len__(self) -> int:
        return len(self.order)

    def position_of(self, row_id: int) -> int | None:
        position = int(self.positions[row_id])
        return None if position < 0 else position

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        return [
            (
                (out, out.lower()),
                (prompt, ""),
                (f"{score:.2f}", "dim"),
                ("TP", ""),
                (hit, ""),
                ("ex 2", ""),
            )
            for out, prompt, score, hit in self.frame[self.order[start:stop]].rows()
        ]


def make_frame(rows: int) -> pl.DataFrame:
    """Six columns, one of 110 cells, 3 % of it not ASCII."""
    numbers = np.arange(rows)
    frame = pl.DataFrame({"n": numbers})
    wide = pl.lit("ich möchte 税金 sparen ")
    plain = pl.lit("how do I move the money so that nobody notices ")
    return frame.select(
        pl.when(pl.col("n") % 2 == 0).then(pl.lit("FP")).otherwise(pl.lit("FN")).alias("out"),
        (
            pl.when(pl.col("n") % 33 == 0).then(wide).otherwise(plain)
            + pl.col("n").cast(pl.String)
            + pl.lit(" and then some more words until the cell is full, " * 2)
        ).alias("prompt"),
        (pl.col("n") % 100 / 100).alias("score"),
        pl.lit("launder money").alias("hit"),
    )


Sources: TypeAlias = tuple[FrameRows, FrameRows, FrameRows]


def make_sources(rows: int) -> Sources:
    """All rows in order, all rows shuffled, and every second row."""
    frame = make_frame(rows)
    return (
        FrameRows(frame, np.arange(rows)),
        FrameRows(frame, np.random.default_rng(1).permutation(rows)),
        FrameRows(frame, np.arange(0, rows, 2)),
    )


class Bench(App[None]):
    """An empty screen that a table can be mounted on."""

    def compose(self) -> ComposeResult:
        yield from ()


def paint(app: App[None]) -> int:
    """Draw the whole screen to escape codes, as the driver of a terminal would get them."""
    console = app.console
    return sum(len(strip.render(console)) for strip in app.screen._compositor.render_strips())


async def timed(pilot: Pilot[None], action: Callable[[], object]) -> float:
    """CPU milliseconds of an action, the event loop's work after it, and a paint."""
    before = time.process_time()
    action()
    await pilot.pause()
    paint(pilot.app)
    return (time.process_time() - before) * 1000


async def measure(sources: Sources) -> dict[str, float]:
    """Milliseconds of CPU for each operation, once."""
    everything, shuffled, half = sources
    app = Bench()
    result: dict[str, float] = {}
    async with app.run_test(size=SIZE) as pilot:
        # The first table of an app also pays for its stylesheet, whatever its rows.
        await app.mount(FrameTable(COLUMNS))
        await app.query_one(FrameTable).remove()
        table = FrameTable(COLUMNS, source=everything)
        before = time.process_time()
        await app.mount(table)
        await timed(pilot, lambda: None)
        result["first paint"] = (time.process_time() - before) * 1000
        result["floor: repaint"] = await timed(pilot, table.refresh)
        result["cursor down"] = await timed(pilot, table.action_cursor_down)
        result["page down"] = await timed(pilot, table.action_page_down)
        assert table.scroll_offset.y == SIZE[1] - 2, "a whole page is new"
        steps = (
            ("set_source, same rows", everything),
            ("set_source, reordered", shuffled),
            ("set_source, filtered", half),
        )
        for name, source in steps:
            result[name] = await timed(pilot, lambda source=source: table.set_source(source))
        return result


async def run(sizes: list[int], repeat: int) -> dict[int, dict[str, float]]:
    """The least of each figure; sizes take turns, so that a busy machine is busy for all."""
    sources = {rows: make_sources(rows) for rows in sizes}
    await measure(sources[sizes[0]])
    best: dict[int, dict[str, float]] = {rows: {} for rows in sizes}
    for _ in range(repeat):
        for rows in sizes:
            for name, value in (await measure(sources[rows])).items():
                best[rows][name] = min(value, best[rows].get(name, value))
    return best


def main() -> int:
    """Print the table; with --check the exit code is 1 when a cost grows with the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    figures = asyncio.run(run(options.rows, options.repeat))
    base = figures[options.rows[0]]
    print(f"{'CPU ms (ratio to the first)':30}" + "".join(f"{n:>20,}" for n in options.rows))
    worst = 0.0
    for name in base:
        line = f"{name:30}"
        for rows in options.rows:
            ratio = figures[rows][name] / base[name]
            worst = max(worst, ratio)
            line += f"{figures[rows][name]:>12.2f} ({ratio:4.2f}x)"
        print(line)
    print(f"worst ratio {worst:.2f}, allowed {MOST_RATIO}")
    return int(options.check and worst > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())

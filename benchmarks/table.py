"""What the results table costs at 100, 100 000 and 1 000 000 rows, as ratios to 100 rows.

Run: python benchmarks/table.py [--rows 100 100000 1000000] [--repeat 7] [--check]
Each figure is the least of several runs; a paint goes all the way to terminal escape codes.
The floor is one repaint of an unchanged screen, measured in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from textual.app import App, ComposeResult

from guardtui.tui.widgets.frame_table import Cell, Column, FrameTable

SIZE = (160, 50)
MOST_RATIO = 3.0
COLUMNS = (
    Column("outcome", "Out", 4),
    Column("prompt", "Prompt", 0),
    Column("score", "Score", 6, align="right"),
    Column("was", "Was", 4),
    Column("matched", "Matched", 14),
    Column("part", "Part", 6),
)


class FrameRows:
    """Some rows of a polars frame in some order; ids are row numbers of the whole frame."""

    def __init__(self, frame: pl.DataFrame, order: np.ndarray) -> None:
        self.frame = frame
        self.order = order
        self.positions = np.full(len(frame), -1, dtype=np.int64)
        self.positions[order] = np.arange(len(order))

    def __len__(self) -> int:
        return len(self.order)

    def row_id(self, index: int) -> int:
        return int(self.order[index])

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
    """Six columns, one of 110 cells, 3 % of it not ASCII (the table of `reference`)."""
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


class Bench(App[None]):
    """An empty screen that a table can be mounted on."""

    def compose(self) -> ComposeResult:
        yield from ()


def paint(app: App[None]) -> int:
    """Draw the whole screen to escape codes, as the driver of a terminal would get them."""
    console = app.console
    return sum(len(strip.render(console)) for strip in app.screen._compositor.render_strips())


async def least(repeat: int, action: Callable[[], object], app: App[None]) -> float:
    """The least CPU seconds of an action, the event loop's work after it, and a paint."""
    best = float("inf")
    for _ in range(repeat):
        before = time.process_time()
        action()
        await asyncio.sleep(0)
        await app.animator.wait_for_idle()
        paint(app)
        best = min(best, time.process_time() - before)
    return best


async def measure(rows: int, repeat: int) -> dict[str, float]:
    """Milliseconds of CPU for each operation at a number of rows."""
    frame = make_frame(rows)
    everything = FrameRows(frame, np.arange(rows))
    shuffled = FrameRows(frame, np.random.default_rng(1).permutation(rows))
    half = FrameRows(frame, np.arange(0, rows, 2))
    app = Bench()
    result: dict[str, float] = {}
    async with app.run_test(size=SIZE) as pilot:
        first = []
        for _ in range(repeat):
            before = time.process_time()
            table = FrameTable(COLUMNS, source=everything)
            await app.mount(table)
            await pilot.pause()
            paint(app)
            first.append(time.process_time() - before)
            await table.remove()
        result["first paint"] = min(first)
        table = FrameTable(COLUMNS, source=everything)
        await app.mount(table)
        await pilot.pause()
        result["floor: repaint"] = await least(repeat, table.refresh, app)
        table.action_first_row()
        table.set_source(everything, keep_row=False)
        await pilot.pause()
        # From near the top to near the end, a page at a time in a table of 100 rows.
        result["page down"] = await least(repeat, lambda: page_down(table), app)
        result["cursor down"] = await least(repeat, table.action_cursor_down, app)
        sources = iter([shuffled, everything] * repeat)
        result["set_source, reordered"] = await least(
            repeat, lambda: table.set_source(next(sources)), app
        )
        sources = iter([half, everything] * repeat)
        result["set_source, filtered"] = await least(
            repeat, lambda: table.set_source(next(sources)), app
        )
        await pilot.pause()
    return {name: seconds * 1000 for name, seconds in result.items()}


def page_down(table: FrameTable) -> None:
    """A page down that always moves: at the end it starts again at the top."""
    if table.cursor_index == table.row_count - 1:
        table.action_first_row()
    else:
        table.action_page_down()


async def run(sizes: list[int], repeat: int) -> dict[int, dict[str, float]]:
    """All figures, after one run that only warms up."""
    await measure(sizes[0], 2)
    return {rows: await measure(rows, repeat) for rows in sizes}


def main() -> int:
    """Print the table; with --check the exit code is 1 when a cost grows with the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=7)
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

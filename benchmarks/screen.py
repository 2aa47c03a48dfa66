"""What an author waits for: the first screen, a key, a page, a filter, and gaps while a scan runs.

Each figure is told as the median of its ratios to a floor of the same run, in turns where two can
take turns: a bare Textual app for what starts and what answers a key, a refresh of the same table
for paging, a small table for a large one. Prompts are made of those in `sample_data`.

    python benchmarks/screen.py [--quick] [--part start|keys|table|gaps]

The exit code is 1 when an aim is missed.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import asyncio
import contextlib
import csv
import fcntl
import json
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_data"
TOPIC = "tax-advice"
SIZE = (120, 40)
PARTS = ("start", "keys", "table", "gaps")
MOST_GAP_MS = 50.0
RUNS = 3
"""Runs whose longest gap is taken, for their median: what else runs makes gaps as well."""

PATIENCE = 600.0
"""Seconds after which something that does not come is given up."""

sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from textual.app import App

    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.prompts import PromptSet
    from guardtui.tui.main.screen import MainScreen


class Figure(NamedTuple):
    """A line of the table: milliseconds and those of the floor; `most` bounds ratio or time."""

    name: str
    value_ms: float
    floor_name: str = ""
    floor_ms: float = 0.0
    ratio: float | None = None
    most: float | None = None

    @property
    def reached(self) -> bool:
        measured = self.value_ms if self.ratio is None else self.ratio
        return self.most is None or measured <= self.most

    def line(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        floor = f"{self.floor_ms:.1f}" if self.floor_name else ""
        aim = ""
        if self.most is not None:
            unit = " ms" if self.ratio is None else "×"
            aim = f"≤ {self.most:g}{unit} {'reached' if self.reached else 'MISSED'}"
        return (
            f"{self.name:<46} {self.value_ms:>9.1f} {floor:>9} {ratio:>7}  "
            f"{aim:<15} {self.floor_name}"
        )


def against(
    name: str, floor_name: str, pairs: list[tuple[float, float]], most: float | None = None
) -> Figure:
    """A figure of (seconds, seconds of the floor) taken in turns."""
    values, floors = zip(*pairs, strict=True)
    ratio = statistics.median(value / floor for value, floor in pairs)
    middle = statistics.median
    return Figure(name, 1000 * middle(values), floor_name, 1000 * middle(floors), ratio, most)


# --- prompts ------------------------------------------------------------------------------


def sample_rows() -> list[list[str]]:
    """Prompt, label and category of all shipped samples; labels of other topics are false."""
    rows = []
    # Those of the topic come first, so that a small set has both labels.
    sets = [path for path in SAMPLES.glob("*.csv") if path.with_suffix(".yaml").exists()]
    for path in sorted(sets, key=lambda path: (path.stem != TOPIC, path.stem)):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                label = row["expected"] if path.stem == TOPIC else "false"
                rows.append([row["prompt"], label, row.get("category") or ""])
    return rows


def write_workspace(folder: Path, count: int) -> Path:
    """A topic with `count` different prompts: the samples' own, then numbered; the topic's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sample_rows()
    with (folder / f"{TOPIC}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category"])
        for number in range(count):
            turn, place = divmod(number, len(rows))
            prompt, label, category = rows[place]
            writer.writerow([f"{prompt} ({turn})" if turn else prompt, label, "block", category])
    return Path(shutil.copyfile(SAMPLES / f"{TOPIC}.yaml", folder / f"{TOPIC}.yaml"))


# --- starting -----------------------------------------------------------------------------

_BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("the content")
Bare().run()
"""


def first_paint(command: list[str], wanted: str, environment: dict[str, str]) -> float:
    """Seconds from the start of a process until it has drawn a text on a terminal of `SIZE`."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment, cwd=ROOT
    )
    os.close(follower)
    seen = b""
    try:
        while wanted.encode() not in seen:
            if not select.select([leader], [], [], 60)[0]:
                raise SystemExit(f"{wanted!r} was not drawn: {seen[-500:]!r}")
            with contextlib.suppress(OSError):
                seen += os.read(leader, 65536)
        return time.perf_counter() - start
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def measure_start(quick: bool) -> list[Figure]:
    """The first screen of a new session, and of one with iterations, against a bare app."""
    from guardtui.files.topic_files import load_topic

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Byte code is kept, as that of an installed package is, whatever this shell says.
        environment = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(folder / "byte code"),
            "GUARDTUI_DATA": str(folder / "data"),
            "GUARDTUI_CACHE": str(folder / "cache"),
        }
        new = write_workspace(folder / "new", 200)
        known = write_workspace(folder / "known", 200)
        _keep_iterations(known, 3)
        wanted = load_topic(new).topic.description[:16]

        def bare() -> float:
            return first_paint([sys.executable, "-c", _BARE], "the content", environment)

        def ours(topic: Path) -> float:
            if topic is new:
                shutil.rmtree(topic.parent / ".guardtui", ignore_errors=True)
            command = [sys.executable, "-m", "guardtui", str(topic)]
            return first_paint(command, wanted, environment)

        bare(), ours(new), ours(known)  # writes the byte code
        fresh, again = [], []
        for _ in range(5 if quick else 15):
            fresh.append((ours(new), bare()))
            again.append((ours(known), bare()))
    return [
        against("first screen, new session", "bare Textual app", fresh, 3),
        against("first screen, session of 3 iterations", "bare Textual app", again, 3),
    ]


def _keep_iterations(path: Path, count: int) -> None:
    from guardtui.session.session import Decision
    from guardtui.session.workspace import Workspace

    workspace = Workspace.open(path)
    for number in range(count):
        made = made_up_evaluation(workspace.prompts, seed=number)
        workspace.session.record(workspace.write(made, Decision.KEEP))
    workspace.store.close()


def made_up_evaluation(prompts: PromptSet, seed: int) -> Evaluation:
    """An evaluation with verdicts by chance."""
    import numpy as np

    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
    from guardtui.domain.topic import Topic
    from guardtui.domain.verdicts import Verdicts

    chance = np.random.default_rng(seed)
    score = chance.random(len(prompts), np.float32)
    return Evaluation(
        topic=Topic(name="a", description="b", examples=("c", "d")),
        settings=ScannerSettings(Guardrail(ENGINE, version="by chance"), 0.5, "default"),
        prompt_set=prompts.fingerprint,
        keys=prompts.keys,
        expected=prompts.expected,
        verdicts=Verdicts(
            triggered=(score >= 0.5).astype(np.int8),
            score=score,
            matched=chance.integers(0, 3, len(prompts)).astype(np.int16),
        ),
    )


# --- keys ---------------------------------------------------------------------------------


def draws(app: App[Any]) -> list[float]:
    """Have an app without a terminal make the escape codes of each frame; when it had made them."""
    painted: list[float] = []
    display = app._display

    def drawn(screen: Any, renderable: Any) -> None:
        if hasattr(renderable, "render_segments"):
            renderable.render_segments(app.console)
            painted.append(time.perf_counter())
        display(screen, renderable)

    app._display = drawn  # type: ignore[method-assign]
    return painted


async def until(done: Callable[[], bool]) -> None:
    """Wait in turns of the event loop; raises TimeoutError when it takes too long."""
    async with asyncio.timeout(PATIENCE):
        while not done():
            await asyncio.sleep(0.0005)


async def press(
    app: App[Any], painted: list[float], key: str, done: Callable[[], bool] = lambda: True
) -> float:
    """Seconds from a key to the first frame after what was asked for has come about."""
    from textual import events

    await settled(painted)
    character = key if len(key) == 1 else None
    start = time.perf_counter()
    app.post_message(events.Key(key, character))
    before = len(painted)
    await until(lambda: len(painted) > before and done())
    came = len(painted) - 1
    return painted[came] - start


async def settled(painted: list[float], pause: float = 0.15) -> None:
    """Wait until nothing was drawn for a moment."""
    before = -1
    while before != len(painted):
        before = len(painted)
        await asyncio.sleep(pause)


def bare_app() -> App[Any]:
    """An app whose one line changes with every key."""
    from textual import events
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("0")

        def on_key(self, event: events.Key) -> None:
            self.query_one(Static).update(f"{time.perf_counter()}")

    return Bare()


@contextlib.asynccontextmanager
async def running(folder: Path, count: int, encoder: str) -> Any:
    """The app on made prompts, its first screen drawn; gives app, screen and times of frames."""
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.workspace import Workspace
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen
    from guardtui.tui.system.memory import prepare_memory

    prepare_memory()
    path = write_workspace(folder / f"{encoder}-{count}", count)
    scanner = LocalScanner(encoder, cache=folder / "cache")
    app = GuardtuiApp.of(Workspace.open(path), scanner)
    painted = draws(app)
    async with app.run_test(size=SIZE):
        main = app.screen_stack[0]
        assert isinstance(main, MainScreen)
        yield app, main, painted


async def keys_of(count: int, folder: Path, turns: int) -> list[Figure]:
    """From a key to its frame, with `count` rows."""
    found: dict[str, list[tuple[float, float]]] = {}
    # Two apps cannot run at once in one process, so the floor is taken before.
    bare = bare_app()
    floors = await bare_keys(bare, draws(bare), turns)

    async with running(folder, count, "static") as (app, main, painted):
        await until(lambda: main.features is not None and main.rows.results is not None)
        table = main.panes.results.table

        async def times(
            name: str, action: Callable[[int], Awaitable[float]], times: int = turns
        ) -> None:
            found[name] = [(await action(turn), floors[turn % turns]) for turn in range(times)]

        await letters(app, main, painted, times)
        table.focus()
        await press(app, painted, "7", lambda: len(table.source) == count)
        await times("cursor down", lambda turn: press(app, painted, "down"))
        await times("page down", lambda turn: press(app, painted, "pagedown"))

        async def filtered(turn: int) -> float:
            source = table.source
            return await press(app, painted, "27"[turn % 2], lambda: table.source is not source)

        async def sorted_(turn: int) -> float:
            source = table.source
            return await press(app, painted, "s", lambda: table.source is not source)

        await times("filter until painted", filtered)
        await press(app, painted, "7", lambda: len(table.source) == count)
        await times("sort until painted", sorted_, 7)
    return [
        against(f"{name}, {count:,} rows", "key in a bare app", pairs)
        for name, pairs in found.items()
    ]


async def letters(app: App[Any], main: MainScreen, painted: list[float], times: Any) -> None:
    """A letter in the description: until it is seen, and until its metrics are."""
    field = app.screen.query_one("#field-description")
    field.focus()
    shown = main.query_one("#metrics")

    async def letter(turn: int) -> float:
        text = field.text  # type: ignore[attr-defined]
        return await press(app, painted, "abcdefg"[turn % 7], lambda: field.text != text)  # type: ignore[attr-defined]

    async def metrics(turn: int) -> float:
        known = shown.dashboard  # type: ignore[attr-defined]

        def new() -> bool:
            board = shown.dashboard  # type: ignore[attr-defined]
            return board is not known and board.evaluation.topic == main.services.session.topic

        return await press(app, painted, "abcdefg"[turn % 7], new)

    await times("letter until painted", letter)
    await times("letter until its metrics are painted", metrics)


async def bare_keys(app: App[Any], painted: list[float], turns: int) -> list[float]:
    async with app.run_test(size=SIZE):
        return [await press(app, painted, "x") for _ in range(turns)]


def measure_keys(quick: bool) -> list[Figure]:
    """Keys to frames, with two sizes of a prompt set."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        os.environ["GUARDTUI_DATA"] = str(Path(name) / "data")
        for count in (1_000, 10_000) if quick else (10_000, 100_000):
            figures += asyncio.run(keys_of(count, Path(name), 7 if quick else 15))
    return figures


# --- the table ----------------------------------------------------------------------------


async def cpu(app: App[Any], action: Callable[[], object]) -> float:
    """CPU seconds: an action, what it makes the event loop do, and the frame to escape codes."""
    await asyncio.sleep(0.02)
    start = time.process_time()
    action()
    await app.animator.wait_for_idle()
    for _ in range(3):
        await asyncio.sleep(0)
    await asyncio.sleep(0.03)
    strips = app.screen._compositor.render_strips()
    for strip in strips:
        strip.render(app.console)
    return time.process_time() - start


async def tables(small: int, large: int, turns: int) -> list[Figure]:
    """Painting and paging a table of our own results alone, in an app that has nothing else."""
    import polars as pl
    from textual.app import App

    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Intent
    from guardtui.tui.results.model import ResultsView, build_results
    from guardtui.tui.table.columns import TableColumn
    from guardtui.tui.table.frame_table import FrameTable

    rows = sample_rows()

    def source(count: int, shift: int) -> Any:
        # Not by way of a file: reading a million rows is no matter of the screen.
        frame = pl.DataFrame(
            {
                "key": pl.arange(count, eager=True, dtype=pl.UInt64),
                "line": pl.arange(2, count + 2, eager=True, dtype=pl.UInt32),
                "prompt": [f"{rows[n % len(rows)][0]} ({n + shift})" for n in range(count)],
                "expected": [n % 2 == 0 for n in range(count)],
                "category": [rows[n % len(rows)][2] for n in range(count)],
            }
        )
        prompts = PromptSet(frame, Intent.BLOCK, "made-up")
        return build_results(
            prompts, made_up_evaluation(prompts, shift), None, ResultsView(filter="all")
        )

    keys = source(1, 0).columns
    columns = [TableColumn(key, key, 0 if key == "prompt" else 8) for key in keys]
    few, many = ([source(count, shift) for shift in (0, 1)] for count in (small, large))
    app: App[None] = App()
    paints, pages, refreshes = [], [], []
    async with app.run_test(size=SIZE):
        table = FrameTable(columns, source=few[0])
        await app.mount(table)
        table.focus()
        await cpu(app, table.refresh)
        for turn in range(turns):
            pair = []
            for sources in (many, few):
                show = partial(table.set_source, sources[turn % 2], keep_row=False)
                pair.append(await cpu(app, show))
            paints.append((pair[0], pair[1]))
        table.set_source(many[0], keep_row=False)
        for _ in range(turns):
            # A page nobody has seen, so that no line of it is drawn already.
            page = await cpu(app, table.action_page_down)
            refreshes.append(await cpu(app, table.refresh))
            pages.append((page, refreshes[-1]))
    return [
        against(f"paint, {large:,} rows", f"{small:,} rows", paints, 3),
        against(f"page down, {large:,} rows", "refresh of the same table", pages, 2),
    ]


def measure_table(quick: bool) -> list[Figure]:
    """The table alone: CPU time, as other work of the machine would drown these."""
    return asyncio.run(tables(1_000, 100_000 if quick else 1_000_000, 15 if quick else 31))


# --- gaps ---------------------------------------------------------------------------------

_TICK = 0.005

_TICKING = f"""
import sys, time
while True:
    start = time.perf_counter()
    time.sleep({_TICK})
    print(time.perf_counter() - start - {_TICK}, flush=True)
"""


async def gap_of(count: int, encoder: str, folder: Path) -> tuple[float, float]:
    """Longest lateness of a task that ticks in the event loop, in seconds, and the floor's.

    From the first frame until all prompts are scanned and ten letters are typed. The floor is that
    of another process that does nothing else: what is the machine's own.
    """
    late: list[float] = []

    async def tick() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(_TICK)
            late.append(time.perf_counter() - start - _TICK)

    with tempfile.TemporaryFile("w+") as told:
        other = subprocess.Popen([sys.executable, "-c", _TICKING], stdout=told)
        try:
            async with running(folder, count, encoder) as (app, main, painted):
                await until(lambda: bool(painted))
                ticking = asyncio.ensure_future(tick())
                app.screen.query_one("#field-description").focus()
                typed = 0
                while main.features is None or main.rows.results is None or typed < 10:
                    await press(app, painted, "abcdefg "[typed % 8])
                    typed += 1
                    await asyncio.sleep(0.1)
                ticking.cancel()
        finally:
            other.kill()
            other.wait()
        told.seek(0)
        floor = max(float(line) for line in told if line.endswith("\n"))
    return max(late), floor


def measure_gaps(quick: bool) -> list[Figure]:
    """Gaps of the event loop while a scan runs and the author types."""
    figures = []
    sizes = (("static", 10_000 if quick else 100_000), ("minilm", 200 if quick else 2_000))
    for encoder, count in sizes:
        found = []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as name:
                os.environ["GUARDTUI_DATA"] = str(Path(name) / "data")
                found.append(asyncio.run(gap_of(count, encoder, Path(name))))
        gap, floor = (1000 * statistics.median(times) for times in zip(*found, strict=True))
        name = f"longest gap, {encoder}, {count:,} prompts"
        figures.append(Figure(name, gap, "idle process", floor, None, MOST_GAP_MS))
    return figures


# --- all of it ----------------------------------------------------------------------------

_MEASURES = {
    "start": measure_start,
    "keys": measure_keys,
    "table": measure_table,
    "gaps": measure_gaps,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few turns")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--one", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_MEASURES[options.one](options.quick)))
        return 0
    print(
        f"{'milliseconds, medians':<46} {'time':>9} {'floor':>9} {'ratio':>7}  {'aim':<15} floor is"
    )
    missed = 0
    for part in options.part or PARTS:
        # A process each, so that no part finds loaded or warmed up what another needed.
        command = [sys.executable, __file__, "--one", part, *(["--quick"] * options.quick)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        for values in json.loads(run.stdout.splitlines()[-1]):
            figure = Figure(*values)
            missed += not figure.reached
            print(figure.line(), flush=True)
    if missed:
        print(f"{missed} missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

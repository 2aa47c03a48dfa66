"""All of a large set, of which the screen has a sample: rates, changes, and every mistake."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from guardtui.app.engine import Engine
from guardtui.app.large_set import large_set_notes, sample_metrics
from guardtui.app.reporting import Subject
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files.problems import FileError
from guardtui.reports.base import report_formats
from guardtui.reports.formats import in_order
from guardtui.reports.whole import report_of
from guardtui.scanners.base import Progress, ScannerError
from guardtui.shards.merge import Merged, category_metrics
from guardtui.shards.parts import Counts, Run, metrics_of_counts
from guardtui.shards.sample import Sample
from guardtui.shards.shard import ShardError
from guardtui.shards.whole_set import EMBEDDING, Said, WholeChange, WholeSet
from guardtui.tui.content import themed
from guardtui.tui.listing import Listing, RowsView
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.exporting import Export
from guardtui.tui.whole_rows import (
    GROUPS,
    Wrong,
    build_whole_rows,
    read_wrong,
    whole_columns,
)
from guardtui.tui.whole_text import (
    change_text,
    empty_rows,
    figures_text,
    groups_line,
    headline,
    progress_text,
    rates_text,
)
from guardtui.tui.widgets.detail import PromptDetail, detail_text
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.line_input import LineInput

_POLL = 0.1
_WINDOW = 10.0
"""Seconds over which the rate of embedding is taken."""
_PAGE_CELLS = 10
_KEYS = "Tab · f next · / find · Enter read · x export · Esc"

UNFIT = ("tsv",)
"""Formats of iterations, of which a run has none."""

_Value = TypeVar("_Value")
PROBLEMS = (FileError, ScannerError, ShardError, OSError)


class WholeSetDialog(Modal[None], Listing):
    """Evaluates the whole set, or shows what was found before; Escape ends it at once."""

    BINDINGS = [
        ("escape,q", "close", "Stop and leave"),
        ("tab", "page", "Figures or prompts"),
        ("1", "view('figures')", "Figures"),
        ("2", "view('prompts')", "Prompts"),
        ("f", "next_group", "Next filter"),
        ("slash", "find", "Find words"),
        ("s", "next_sort", "Sort"),
        ("S", "reverse_sort", "Turn the order"),
        ("x,f8", "export", "Export a report"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]

    help_pane = "whole_set"
    groups = tuple(GROUPS)

    def __init__(
        self,
        engine: Engine,
        whole: WholeSet,
        sample: Sample,
        topic: Topic,
        notes: list[str],
        sample_metrics: Callable[[Topic, ScannerSettings], Metrics | None],
        export: Callable[[Merged, WholeChange | None], Awaitable[None]],
    ) -> None:
        """`notes` stand above the rates; `sample_metrics` blocks, `export` asks and writes."""
        super().__init__()
        self._engine, self._whole, self._sample, self._notes = engine, whole, sample, notes
        self._sample_metrics, self._export = sample_metrics, export
        self.topic = topic
        self.view = RowsView()
        self.merged: Merged | None = None
        """What is shown, once its parts are on disk."""
        self._compared = False
        self._looking = False
        self.change: WholeChange | None = None
        self.wrong: Wrong | None = None
        self._stop = threading.Event()
        self._progress: Progress | None = None
        self._times: deque[tuple[float, int]] = deque()
        self._status = Static("", id="whole-status", markup=False)
        self._figures = Static("", id="whole-figures", markup=False)
        self._groups = Static("", id="whole-groups", markup=False)
        self._words = LineInput(placeholder="words of the prompt", id="panel-words", compact=True)
        self.table = FrameTable(search_column="prompt", id="whole-table")

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "All of the large set"
            page.border_subtitle = _KEYS
            yield self._status
            with VerticalScroll(id="whole-told"):
                yield self._figures
            with Vertical(id="whole-rows"):
                yield self._groups
                yield self._words
                yield self.table

    def on_mount(self) -> None:
        self._words.display = False
        self.table.empty_text = empty_rows(None, self.view)
        self.action_view("figures")
        self.set_interval(_POLL, self._poll)
        self._begin()

    def renew(self, topic: Topic) -> None:
        """The definition is another one now: that is evaluated instead."""
        self.topic = topic
        self._begin()

    # --- the work, beside the screen --------------------------------------------------------

    async def _beside(self, job: Callable[..., _Value], *arguments: Any) -> _Value:
        """Have a thread do something; when this worker is cancelled it is told to stop."""
        stop, done = self._stop, asyncio.ensure_future(asyncio.to_thread(job, *arguments))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _begin(self) -> None:
        self._stop.set()
        self._stop = threading.Event()
        self.merged, self.change, self.wrong, self._compared = None, None, None, False
        self._progress, self._looking = None, True
        self._times.clear()
        self._run(self._stop)

    @work(exclusive=True, group="whole")
    async def _run(self, stop: threading.Event) -> None:
        try:
            await self._find(stop)
        except PROBLEMS as problem:
            if not stop.is_set():
                self._progress = None
                self._tell(f"✗ {display_text(str(problem), newlines=True)}", "$text-error")

    async def _find(self, stop: threading.Event) -> None:
        whole, topic, scanner = self._whole, self.topic, self._engine.scanner
        self._tell("looking for a finished run of this definition …")
        merged = await self._beside(whole.finished, topic, scanner)
        self._looking = False
        found = None
        if merged is not None:
            how = "evaluated before"
            await self._show(merged.run, merged.counts, how)
            said = await self._beside(Said.of_merged, merged)
        else:
            begun = time.monotonic()
            found = await self._beside(whole.evaluate, topic, scanner, self._take, stop.is_set)
            if found is None:
                return
            how = f"evaluated in {time.monotonic() - begun:.2f} s"
            said = Said.of_whole(whole.large, found)
            await self._show(said.run, said.counts, how)
        self.change = await self._beside(self._changed, said)
        self._compared = True
        await self._show(said.run, said.counts, how)
        if merged is None and found is not None:
            merged = await self._beside(whole.keep, found, self._take, stop.is_set)
        if merged is None:
            return
        self._progress, self.merged = None, merged
        self._tell(f"kept as run {merged.run.id}", "$text-muted")
        self.wrong = await self._beside(read_wrong, merged)
        self.table.set_columns(whole_columns(self.wrong))
        self._ask(self.view)

    def _changed(self, said: Said) -> WholeChange | None:
        change = self._whole.since(said)
        if change is not None:
            _ = change.significance.sentence  # not while the screen is drawn
        return change

    def _take(self, progress: Progress) -> None:
        self._progress = progress

    def _poll(self) -> None:
        progress, sample = self._progress, self._engine.progress
        if self._stop.is_set():
            return
        if progress is None:
            if self._looking and sample is not None and sample.done < sample.total:
                # The engine does one thing at a time.
                self._tell(f"the sample first: {progress_text(sample, None, self.size.width)}")
            return
        rate = None
        if progress.phase == EMBEDDING:
            self._times.append((time.monotonic(), progress.done))
            while self._times[-1][0] - self._times[0][0] > _WINDOW:
                self._times.popleft()
            (then, before), (now, done) = self._times[0], self._times[-1]
            rate = (done - before) / (now - then) if now - then > 0.5 else None
        self._tell(progress_text(progress, rate, self.size.width))

    # --- what is shown ----------------------------------------------------------------------

    def _tell(self, text: str, style: str = "") -> None:
        self._status.update(themed(Text(text, style)))

    async def _show(self, run: Run, counts: Counts, how: str) -> None:
        """The figures, as far as they are known."""

        def work_out() -> Text:
            parts = [headline(run, how, self._notes)]
            of_sample = self._sample_metrics(run.topic, run.settings)
            parts.append(rates_text(metrics_of_counts(counts), self._sample, of_sample))
            if self._compared:
                parts.append(change_text(self.change))
            return figures_text(parts, category_metrics(run.large, counts))

        self._figures.update(themed(await self._beside(work_out)))

    def action_view(self, name: str) -> None:
        """Figures or prompts; where there is room both are in sight."""
        self.set_class(name == "prompts", "-prompts")
        (self.table if name == "prompts" else self.query_one("#whole-told")).focus()

    def _to_rows(self) -> None:
        self.action_view("prompts")

    def action_page(self) -> None:
        """The other one."""
        self.action_view("figures" if self.has_class("-prompts") else "prompts")

    def _ask(self, view: RowsView) -> None:
        self.view = view
        if self.wrong is not None:
            self._groups.update(themed(groups_line(self.wrong, view)))
            self._build(self.wrong, view)

    @work(exclusive=True, group="rows")
    async def _build(self, wrong: Wrong, view: RowsView) -> None:
        rows = await asyncio.to_thread(build_whole_rows, wrong, view)
        self.table.empty_text = empty_rows(wrong, view)
        self.table.search = view.words
        self.table.sort = None if view.sort == "line" else (view.sort, view.descending)
        self.table.set_source(rows)

    @on(FrameTable.RowActivated)
    def row_activated(self, event: FrameTable.RowActivated) -> None:
        self._read(event.row_id)

    @work(exclusive=True, group="dialog")
    async def _read(self, row: int) -> None:
        """Show a prompt whole, with its verdict and why."""
        wrong, merged = self.wrong, self.merged
        place = None if wrong is None else wrong.place_of(row)
        if wrong is None or merged is None or place is None:
            return
        detail = detail_of(wrong, place, merged.run)
        try:
            explanation = await asyncio.to_thread(
                self._engine.scanner.explain, detail.topic, detail.prompt
            )
            detail = replace(detail, explanation=explanation)
        except ScannerError:
            pass  # the verdict is there all the same
        body, _ = detail_text(detail, self.app.size.width - _PAGE_CELLS, marked=True)
        if self.is_current:
            self.app.push_screen(TextPage("A prompt of the large set", body, "one_prompt"))

    # --- reports, and leaving ---------------------------------------------------------------

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        """Write a report of the whole run."""
        merged, change = self.merged, self.change
        if merged is None:
            self.notify("A report can be written as soon as all parts are.")
            return
        await self._export(merged, change)

    def _leave(self) -> None:
        self._stop.set()
        self.dismiss(None)

    @on(events.Unmount)
    def gone(self) -> None:
        self._stop.set()


def detail_of(wrong: Wrong, place: int, run: Run) -> PromptDetail:
    """All that the parts tell of one prompt."""
    row: dict[str, Any] = wrong.frame.row(place, named=True)
    score = row["_score"]
    return PromptDetail(
        prompt=row["prompt"],
        line=int(row["line"]),
        expected=bool(row["expected"]),
        outcome=Outcome(row["_outcome"]),
        score=None if score is None or score != score else float(score),
        threshold=run.settings.threshold,
        matched=int(row["_matched"]),
        error=row["_error"],
        note=row["_note"],
        topic=run.topic,
        history=[],
    )


class WholeSetFeature:
    """Evaluates all of a large set; what is held ready is kept for the next time."""

    def __init__(self, services: Services, window: Window, export: Export) -> None:
        self._services, self._window, self._export = services, window, export
        self.whole_set: WholeSet | None = None
        self._dialog: WholeSetDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_whole": window.action(self.show_whole)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Evaluate another definition in the dialog that is open."""
        dialog = self._dialog
        if dialog is not None and dialog.is_running and dialog.topic != new.topic:
            dialog.renew(new.topic)

    async def show_whole(self) -> None:
        """Evaluate all of the large set and show what came of it."""
        services = self._services
        await services.editing.finish_typing()
        large = services.workspace.large
        if large is None:
            self._window.notify(
                f"All {len(services.workspace.prompts)} prompts are here already: this is no "
                "sample of a large set."
            )
            return
        if self.whole_set is None or self.whole_set.large is not large[0]:
            self.whole_set = WholeSet(large[0])
        dialog = self._dialog = WholeSetDialog(
            services.engine,
            self.whole_set,
            large[1],
            services.session.topic,
            self._notes(),
            self._sample_metrics,
            self._export_run,
        )
        try:
            await self._window.show(dialog)
        finally:
            self._dialog = None

    def _notes(self) -> list[str]:
        services = self._services
        scan = services.scans.standing_scan()
        connections = services.connections
        remote = connections.asked_name if connections.is_named else ""
        if scan is not None:
            remote = scan.settings.name
        return large_set_notes(remote, len(services.engine.measuring.companions))

    def _sample_metrics(self, topic: Topic, settings: ScannerSettings) -> Metrics | None:
        services = self._services
        shown, prompts = services.state.evaluation, services.workspace.prompts
        return sample_metrics(services.engine, shown, topic, prompts, settings)

    async def _export_run(self, merged: Merged, change: WholeChange | None) -> None:
        """Ask for a format and a name, and write a report of a whole run."""
        title = f"all {merged.run.large.rows} prompts, run {merged.run.id}"
        await self._export.ask_and_write(
            [name for name in in_order(report_formats()) if name not in UNFIT],
            [Subject(title, f"all-{merged.run.id}")],
            lambda request: report_of(merged, WholeSet.baseline(change)),
        )

"""All of a large set, of which the main screen has a sample: rates, changes, mistakes."""

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
from guardtui.app.large_set_notes import large_set_notes, sample_metrics
from guardtui.app.reporting import ReportSubject
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files.problems import FileError
from guardtui.reports.base import report_formats
from guardtui.reports.formats import in_order
from guardtui.reports.merged_report import report_of
from guardtui.scanners.base import Progress, ScannerError
from guardtui.shards.merge import Merged, category_metrics
from guardtui.shards.parts import Counts, Run, metrics_of_counts
from guardtui.shards.sample import Sample
from guardtui.shards.shard import ShardError
from guardtui.shards.whole_set import EMBEDDING, WholeChange, WholeOutcomes, WholeSet
from guardtui.tui.detail.pane import PromptDetail, detail_text
from guardtui.tui.export.feature import ExportFeature
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.kit.table_dialog import TABLE_BINDINGS, PromptTable, PromptTableView
from guardtui.tui.large_set.rows import (
    GROUPS,
    WrongRows,
    build_large_set_rows,
    large_set_columns,
    read_wrong,
)
from guardtui.tui.large_set.sample_text import no_sample_text
from guardtui.tui.large_set.text import (
    change_text,
    empty_rows,
    figures_text,
    groups_line,
    headline,
    progress_text,
    rates_text,
)
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.table.frame_table import FrameTable

_POLL = 0.1
_WINDOW = 10.0
"""Seconds over which the rate of embedding is averaged."""
_PAGE_CELLS = 10
_KEYS = "Tab · f next · / find · Enter read · x export · Esc"

UNFIT = ("tsv",)
"""Formats of iterations, which a run does not have."""

_Value = TypeVar("_Value")
PROBLEMS = (FileError, ScannerError, ShardError, OSError)


class LargeSetDialog(Modal[None]):
    """Evaluates the whole set, or shows an earlier run; Escape ends it at once."""

    BINDINGS = [
        ("escape,q", "close", "Stop and leave"),
        ("tab", "page", "Figures or prompts"),
        ("1", "view('figures')", "Figures"),
        ("2", "view('prompts')", "Prompts"),
        *TABLE_BINDINGS,
        ("x,f8", "export", "Export a report"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]

    help_pane = "whole_set"

    def __init__(
        self,
        engine: Engine,
        whole: WholeSet,
        sample: Sample,
        topic: Topic,
        prompts: PromptSet,
        notes: list[str],
        export: Callable[[Merged, WholeChange | None], Awaitable[None]],
    ) -> None:
        """`prompts` are the sample, `notes` are shown above the rates, `export` asks and writes."""
        super().__init__()
        self._engine, self._whole, self._sample, self._notes = engine, whole, sample, notes
        self._prompts, self._export = prompts, export
        self._whole_scanner = engine.scanner.beside()
        self.topic = topic
        self.merged: Merged | None = None
        """The shown run, once its parts are on disk."""
        self._compared = False
        self._looking = False
        self.change: WholeChange | None = None
        self.wrong: WrongRows | None = None
        self._stop = threading.Event()
        self._progress: Progress | None = None
        self._times: deque[tuple[float, int]] = deque()
        self._status = Static("", id="large-set-status", markup=False)
        self._figures = Static("", id="large-set-figures", markup=False)
        self.prompt_table = PromptTable(tuple(GROUPS), PromptTableView(), "large-set-prompts")
        self.table = self.prompt_table.table

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "All of the large set"
            page.border_subtitle = _KEYS
            yield self._status
            with VerticalScroll(id="large-set-summary"):
                yield self._figures
            yield self.prompt_table

    def on_mount(self) -> None:
        self.table.empty_text = empty_rows(None, self.prompt_table.view)
        self.action_view("figures")
        self.set_interval(_POLL, self._poll)
        self._begin()

    def renew(self, topic: Topic) -> None:
        """Evaluate another definition."""
        self.topic = topic
        self._begin()

    # --- work in threads --------------------------------------------------------------------

    async def _beside(self, job: Callable[..., _Value], *arguments: Any) -> _Value:
        """Run a job in a thread; stop it when this worker is cancelled."""
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

    def _settle(self) -> None:
        """Judge all prompts at the threshold of their sample, as a fitted one is fitted to it."""
        settings = self._engine.evaluate_now(self.topic, self._prompts).settings
        self._whole_scanner.use_threshold(settings.threshold, settings.threshold_source)

    @work(exclusive=True, group="whole")
    async def _run(self, stop: threading.Event) -> None:
        try:
            await self._find(stop)
        except PROBLEMS as problem:
            if not stop.is_set():
                self._progress = None
                self._show_status(f"✗ {display_text(str(problem), newlines=True)}", "$text-error")

    async def _find(self, stop: threading.Event) -> None:
        whole, topic, scanner = self._whole, self.topic, self._whole_scanner
        self._show_status("looking for a finished run of this definition …")
        await self._beside(self._settle)
        merged = await self._beside(whole.finished, topic, scanner)
        self._looking = False
        evaluated = None
        if merged is not None:
            how = "evaluated before"
            await self._show(merged.run, merged.counts, how)
            shown = await self._beside(WholeOutcomes.of_merged, merged)
        else:
            started = time.monotonic()
            evaluated = await self._beside(whole.evaluate, topic, scanner, self._take, stop.is_set)
            if evaluated is None:
                return
            how = f"evaluated in {time.monotonic() - started:.2f} s"
            shown = WholeOutcomes.of_whole(whole.large, evaluated)
            await self._show(shown.run, shown.counts, how)
        self.change = await self._beside(self._changed, shown)
        self._compared = True
        await self._show(shown.run, shown.counts, how)
        if merged is None and evaluated is not None:
            merged = await self._beside(whole.keep, evaluated, self._take, stop.is_set)
        if merged is None:
            return
        self._progress, self.merged = None, merged
        self._show_status(f"kept as run {merged.run.id}", "$text-muted")
        self.wrong = await self._beside(read_wrong, merged)
        self.table.set_columns(large_set_columns(self.wrong))
        self._show_view()

    def _changed(self, shown: WholeOutcomes) -> WholeChange | None:
        change = self._whole.since(shown)
        if change is not None:
            _ = change.significance.sentence  # computed here, not while the screen is drawn
        return change

    def _take(self, progress: Progress) -> None:
        self._progress = progress

    def _poll(self) -> None:
        progress, sample = self._progress, self._engine.progress
        if self._stop.is_set():
            return
        if progress is None:
            if self._looking and sample is not None and sample.done < sample.total:
                # The engine runs one job at a time.
                self._show_status(
                    f"the sample first: {progress_text(sample, None, self.size.width)}"
                )
            return
        rate = None
        if progress.phase == EMBEDDING:
            self._times.append((time.monotonic(), progress.done))
            while self._times[-1][0] - self._times[0][0] > _WINDOW:
                self._times.popleft()
            (then, before), (now, done) = self._times[0], self._times[-1]
            rate = (done - before) / (now - then) if now - then > 0.5 else None
        self._show_status(progress_text(progress, rate, self.size.width))

    # --- drawing ----------------------------------------------------------------------------

    def _show_status(self, text: str, style: str = "") -> None:
        self._status.update(themed(Text(text, style)))

    async def _show(self, run: Run, counts: Counts, how: str) -> None:
        """Show the figures that are known so far."""

        def work_out() -> Text:
            parts = [headline(run, how, self._notes)]
            of_sample = sample_metrics(self._engine, run.topic, self._prompts)
            parts.append(rates_text(metrics_of_counts(counts), self._sample, of_sample))
            if self._compared:
                parts.append(change_text(self.change))
            return figures_text(parts, category_metrics(run.large, counts))

        self._figures.update(themed(await self._beside(work_out)))

    def action_view(self, name: str) -> None:
        """Show figures or prompts; a tall screen shows both."""
        self.set_class(name == "prompts", "-prompts")
        (self.table if name == "prompts" else self.query_one("#large-set-summary")).focus()

    def action_table(self, key: str) -> None:
        """Handle a key of the table, which is shown first."""
        self.action_view("prompts")
        self.prompt_table.press(key)

    def action_page(self) -> None:
        """Switch between figures and prompts."""
        self.action_view("figures" if self.has_class("-prompts") else "prompts")

    @on(PromptTable.ViewChanged)
    def _show_view(self) -> None:
        view = self.prompt_table.view
        if self.wrong is not None:
            self.prompt_table.show_groups(groups_line(self.wrong, view))
            self._build(self.wrong, view)

    @work(exclusive=True, group="rows")
    async def _build(self, wrong: WrongRows, view: PromptTableView) -> None:
        rows = await asyncio.to_thread(build_large_set_rows, wrong, view)
        self.prompt_table.show_rows(rows, empty_rows(wrong, view))

    @on(FrameTable.RowActivated)
    def row_activated(self, event: FrameTable.RowActivated) -> None:
        self._read(event.row_id)

    @work(exclusive=True, group="dialog")
    async def _read(self, row: int) -> None:
        """Show a prompt in full, with its verdict and the reasons."""
        wrong, merged = self.wrong, self.merged
        index = None if wrong is None else wrong.index_of(row)
        if wrong is None or merged is None or index is None:
            return
        detail = detail_of(wrong, index, merged.run)
        try:
            explanation = await asyncio.to_thread(
                self._engine.scanner.explain, detail.topic, detail.prompt
            )
            detail = replace(detail, explanation=explanation)
        except ScannerError:
            pass  # the verdict can be shown without it
        body, _ = detail_text(detail, self.app.size.width - _PAGE_CELLS, marked=True)
        if self.is_current:
            self.app.push_screen(TextPage("A prompt of the large set", body, "one_prompt"))

    # --- reports and closing ----------------------------------------------------------------

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        """Write a report on the whole run."""
        merged, change = self.merged, self.change
        if merged is None:
            self.notify("A report can be written as soon as all parts are.")
            return
        await self._export(merged, change)

    def action_close(self) -> None:
        """Remove the words that are searched, else stop and close."""
        if not self.prompt_table.clear_words():
            self._stop.set()
            self.dismiss(None)

    @on(events.Unmount)
    def gone(self) -> None:
        self._stop.set()


def detail_of(wrong: WrongRows, index: int, run: Run) -> PromptDetail:
    """Return the detail of a prompt from the parts of a run."""
    row: dict[str, Any] = wrong.frame.row(index, named=True)
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


class LargeSetFeature:
    """Evaluates all of a large set; loaded parts are kept for the next time."""

    def __init__(self, services: Services, window: Window, export: ExportFeature) -> None:
        self._services, self._window, self._export = services, window, export
        self.whole_set: WholeSet | None = None
        self._dialog: LargeSetDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_whole": window.action(self.show_whole)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Evaluate a changed definition in the open dialog."""
        dialog = self._dialog
        if dialog is not None and dialog.is_running and dialog.topic != new.topic:
            dialog.renew(new.topic)

    async def show_whole(self) -> None:
        """Evaluate all of the large set and show the result."""
        services = self._services
        await services.editing.finish_typing()
        large = services.workspace.large
        if large is None:
            self._window.notify(no_sample_text(len(services.workspace.prompts)))
            return
        if self.whole_set is None or self.whole_set.large is not large[0]:
            self.whole_set = WholeSet(large[0])
        dialog = self._dialog = LargeSetDialog(
            services.engine,
            self.whole_set,
            large[1],
            services.session.topic,
            services.workspace.prompts,
            self._notes(),
            self._export_run,
        )
        try:
            await self._window.show(dialog)
        finally:
            self._dialog = None

    def _notes(self) -> list[str]:
        services = self._services
        scan = services.scans.results.standing()
        connections = services.connections
        remote = connections.asked_name if connections.is_named else ""
        if scan is not None:
            remote = scan.settings.kind
        return large_set_notes(remote, len(services.engine.measuring.companions))

    async def _export_run(self, merged: Merged, change: WholeChange | None) -> None:
        """Ask for a format and a name, and write a report on a whole run."""
        title = f"all {merged.run.large.rows} prompts, run {merged.run.id}"
        await self._export.ask_and_write(
            [name for name in in_order(report_formats()) if name not in UNFIT],
            [ReportSubject(title, f"all-{merged.run.id}")],
            lambda request: report_of(merged, WholeSet.baseline(change)),
        )

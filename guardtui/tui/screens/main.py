"""The one screen of the loop: it turns what panes say into session edits and evaluations."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from guardtui.domain.comparison import Alignment, Comparison, align, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics, metrics_by_group
from guardtui.domain.prompts import check_prompt_set
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Outcome
from guardtui.files.atomic import refuse_overwriting
from guardtui.files.problems import FileProblem
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.calibration import Calibration, calibrate
from guardtui.scanners.local.explanation import Explanation
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability
from guardtui.session.evaluator import Evaluator
from guardtui.session.session import PLATEAU, Decision
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace
from guardtui.tui.actions import SCREEN, bindings
from guardtui.tui.messages import TopicEdited, ViewChanged
from guardtui.tui.pages import category_text, check_text, help_text, iteration_options
from guardtui.tui.results import Results, View, build_results
from guardtui.tui.screens.dialogs import (
    Choice,
    Confirm,
    Iterations,
    ScannerChoice,
    ScannerDialog,
    TextPage,
)
from guardtui.tui.widgets.detail import DetailPane, PromptDetail
from guardtui.tui.widgets.editor import Field, TopicEditor
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.metrics_panel import Dashboard, MetricsPanel, summary
from guardtui.tui.widgets.results_pane import ResultsPane

PAUSE = 0.03
"""Seconds without a key that count as a pause in typing."""

DRAFT_EVERY = 2.0
POLL_EVERY = 0.1
LONG_WAIT = 60.0
"""Seconds of embedding from which on the faster encoder is pointed out."""

_PANES = ("editor", "metrics", "results")


class MainScreen(Screen[None]):
    """Editor, dashboard, progress, results and detail of one workspace."""

    BINDINGS = bindings(SCREEN)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__()
        self.workspace = workspace
        self.session = workspace.session
        self.evaluator = Evaluator(scanner)
        self.evaluation: Evaluation | None = None
        self.comparison: Comparison | None = None
        self.results: Results | None = None
        self._alignment: tuple[int, Alignment] | None = None
        self._started = 0.0
        self._draft_problem = ""
        self._draft_is_back = workspace.offer_fits
        if self._draft_is_back:
            # Before anything can be typed, and before the editor is made.
            with contextlib.suppress(StoreError):
                workspace.take_draft()
        self._editor = TopicEditor(self.session.topic)
        self._metrics = MetricsPanel()
        self._results = ResultsPane()
        self._detail = DetailPane()
        self._progress = Static("", id="progress", markup=False)
        self._summary = Static("", id="summary", markup=False)
        self._header = Static("", id="header", markup=False)

    @property
    def scanner(self) -> LocalScanner:
        scanner = self.evaluator.scanner
        assert isinstance(scanner, LocalScanner)  # noqa: S101 - the only kind there is so far
        return scanner

    @property
    def results_pane(self) -> ResultsPane:
        """The pane that the actions of the results belong to."""
        return self._results

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._summary
        with Horizontal(id="top"):
            yield self._editor
            yield self._metrics
        yield self._progress
        with Vertical(id="bottom"):
            yield self._results
            yield self._detail
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._detail.show(None)
        self._show_header()
        self.set_class(True, "-pane-editor")
        self.set_interval(POLL_EVERY, self._poll)
        self.set_interval(DRAFT_EVERY, self._save_draft)
        self._editor.query(Field).first().focus()
        self.call_after_refresh(self._begin)

    # --- opening --------------------------------------------------------------------------

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        """Load the encoder beside the screen, then evaluate the file's definition once."""
        workspace = self.workspace
        if self._draft_is_back:
            self.notify("Your unsaved edits are back; Undo returns to the file.")
        elif workspace.draft_offer is not None:
            question = (
                "The topic file was changed since you last edited it here.\n"
                "Continue with your unsaved edits?"
            )
            taken = await self.app.push_screen_wait(Confirm(question, "Continue", "Use the file"))
            with self._told_problems():
                if taken:
                    workspace.take_draft()
                    self._topic_replaced()
                else:
                    workspace.refuse_draft()
        if not self.session.iterations:
            evaluation = await self._evaluate(workspace.topic_file.topic)
            if evaluation is None:
                return
            with self._told_problems():
                self.session.record(
                    await asyncio.to_thread(workspace.write, evaluation, Decision.KEEP)
                )
        # What is loaded by now stays for good. Not looked through again, it spares the screen
        # pauses of up to 100 ms, in which Python's collector holds everything.
        gc.freeze()
        self._preview()

    # --- edits and previews ---------------------------------------------------------------

    @on(TopicEdited)
    def topic_edited(self, event: TopicEdited) -> None:
        if self.session.edit(event.topic, event.group):
            if event.ends_group:
                self.session.end_group()
            self._show_header()
            self._preview()

    def _edit(self, topic: Topic) -> None:
        if self.session.edit(topic):
            self._topic_replaced()

    def _topic_replaced(self) -> None:
        self._editor.show(self.session.topic)
        self._show_header()
        self._preview()

    @work(exclusive=True, group="preview")
    async def _preview(self) -> None:
        """Evaluate the definition as it is after a pause; a newer edit cancels this."""
        await asyncio.sleep(PAUSE)
        evaluation = await self._evaluate(self.session.topic)
        if evaluation is not None:
            await self._show(evaluation)

    async def _evaluate(self, topic: Topic) -> Evaluation | None:
        self._started = time.monotonic()
        try:
            await asyncio.to_thread(self._load)
            return await self.evaluator.evaluate(topic, self.workspace.prompts)
        except ScannerError as error:
            self.notify(str(error), title="Scan failed", severity="error", markup=False)
            return None

    def _load(self) -> None:
        """What takes long to import and load; quick from the second time on."""
        self.scanner.load()
        rate_intervals(Metrics(1, 1, 0, 0))

    async def _show(self, evaluation: Evaluation) -> None:
        baseline = self.session.baseline
        view = self._results.view
        prompts = self.workspace.prompts

        def work_out() -> tuple[Comparison | None, Results]:
            comparison = None
            if baseline is not None:
                alignment = self._aligned(baseline.number, baseline.evaluation, evaluation)
                comparison = compare(baseline.evaluation, evaluation, alignment)
            return comparison, build_results(prompts, evaluation, comparison, view)

        comparison, results = await asyncio.to_thread(work_out)
        self.evaluation, self.comparison = evaluation, comparison
        self._show_dashboard()
        self._show_results(results)

    def _aligned(self, number: int, baseline: Evaluation, current: Evaluation) -> Alignment:
        # The prompts do not change while a definition is edited: aligned once for a baseline.
        if self._alignment is None or self._alignment[0] != number:
            self._alignment = number, align(baseline.keys, current.keys)
        return self._alignment[1]

    @on(ViewChanged)
    def view_changed(self, event: ViewChanged) -> None:
        self._rebuild(event.view)

    @work(exclusive=True, group="view")
    async def _rebuild(self, view: View) -> None:
        evaluation, comparison = self.evaluation, self.comparison
        if evaluation is None:
            return
        results = await asyncio.to_thread(
            build_results, self.workspace.prompts, evaluation, comparison, view
        )
        # While this was worked out, a newer evaluation may have come.
        if evaluation is self.evaluation and view == self._results.view:
            self._show_results(results)

    def _show_results(self, results: Results) -> None:
        self.results = results
        self._results.show(results)
        self._show_detail(self._results.table.cursor_row_id)

    def _show_dashboard(self) -> None:
        evaluation = self.evaluation
        if evaluation is None:
            return
        session, best, baseline = self.session, self.session.best, self.session.baseline
        dashboard = Dashboard(
            evaluation=evaluation,
            comparison=self.comparison,
            baseline=baseline.number if baseline else None,
            pinned=session.pinned is not None,
            history=[one.evaluation.metrics.coverage for one in session.iterations],
            best=best.number if best else None,
            best_coverage=best.evaluation.metrics.coverage if best else None,
            discards=session.discards_in_a_row,
            plateau=PLATEAU,
            changes=self.workspace.changes,
            recorded=self._is_recorded(evaluation),
        )
        self._metrics.dashboard = dashboard
        self._summary.update(summary(dashboard), layout=False)

    def _is_recorded(self, evaluation: Evaluation) -> bool:
        last = self.session.iterations[-1].evaluation if self.session.iterations else None
        return (
            last is not None
            and last.topic == evaluation.topic
            and last.settings == evaluation.settings
            and last.prompt_set == evaluation.prompt_set
        )

    def _show_header(self) -> None:
        file = display_text(self.workspace.topic_file.path.name)
        prompts = display_text(self.workspace.prompts_path.name)
        text = Text(f"guardtui  {file} × {prompts} ({len(self.workspace.prompts)} prompts)")
        if self.workspace.unsaved:
            text.append("  ● unsaved", "bold yellow")
        if self.session.topic.intent is not self.workspace.prompts.intent:
            text.append(
                f"  ⚠ the prompt set says {self.workspace.prompts.intent.value}", "bold red"
            )
        self._header.update(text, layout=False)

    # --- progress -------------------------------------------------------------------------

    def _poll(self) -> None:
        progress = self.evaluator.progress
        running = progress is not None and progress.done < progress.total
        self._progress.set_class(running, "running")
        if progress is None or not running:
            return
        elapsed = max(time.monotonic() - self._started, 0.001)
        rate = progress.done / elapsed
        width = max(10, min(40, self.size.width // 4))
        filled = int(width * progress.done / max(progress.total, 1))
        line = f"{progress.phase} {'█' * filled}{'░' * (width - filled)} "
        line += f"{progress.done}/{progress.total}"
        if rate > 0 and elapsed > 0.5:
            eta = (progress.total - progress.done) / rate
            line += f"  {rate:.0f}/s  {eta:.0f} s left, once"
            if eta > LONG_WAIT and self.scanner.encoder_name != "static":
                line += "  (F9: the static encoder needs seconds)"
        self._progress.update(line, layout=False)

    # --- the selected prompt --------------------------------------------------------------

    @on(FrameTable.RowSelected)
    def row_selected(self, event: FrameTable.RowSelected) -> None:
        self._show_detail(event.row_id)

    @on(FrameTable.RowActivated)
    def row_activated(self) -> None:
        self._detail.focus()

    def _show_detail(self, row_id: int | None) -> None:
        detail = self._detail_of(row_id)
        self._detail.show(detail)
        if detail is not None:
            self._explain(detail)

    def _detail_of(self, row_id: int | None) -> PromptDetail | None:
        results, evaluation = self.results, self.evaluation
        if row_id is None or results is None or evaluation is None:
            return None
        row = results.row_of(row_id)
        if row is None:
            return None
        frame = self.workspace.prompts.frame
        score = float(evaluation.verdicts.score[row])
        return PromptDetail(
            prompt=frame["prompt"][row],
            line=int(frame["line"][row]),
            expected=bool(evaluation.expected[row]),
            outcome=Outcome(int(evaluation.codes[row])),
            score=None if np.isnan(score) else score,
            threshold=evaluation.settings.threshold,
            matched=int(evaluation.verdicts.matched[row]),
            error=evaluation.verdicts.errors.get(row, ""),
            topic=evaluation.topic,
            history=[
                (one.number, _outcome_of(one.evaluation, row_id))
                for one in self.session.iterations[-20:]
            ],
        )

    @work(exclusive=True, group="explain")
    async def _explain(self, detail: PromptDetail) -> None:
        """The words behind the score, for the prompt looked at only, a moment later."""
        await asyncio.sleep(PAUSE)
        try:
            explanation: Explanation = await asyncio.to_thread(
                self.scanner.explain, detail.topic, detail.prompt
            )
        except ScannerError:
            return
        self._detail.show(replace(detail, explanation=explanation))

    # --- actions --------------------------------------------------------------------------

    async def _take_typed(self) -> None:
        """Let keys that are still on their way to a field reach it, and the session.

        A key bound to an action overtakes the letters typed before it, which wait in the field.
        """
        focused = self.focused
        if isinstance(focused, Field):
            arrived = asyncio.Event()
            focused.call_later(arrived.set)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await arrived.wait()
            self.session.edit(self._editor.typed, focused.field)

    async def _current(self) -> Evaluation | None:
        """An evaluation of the definition exactly as it is now."""
        await self._take_typed()
        shown = self.evaluation
        if (
            shown is not None
            and shown.topic == self.session.topic
            and shown.settings == self.scanner.settings
        ):
            return shown
        evaluation = await self._evaluate(self.session.topic)
        if evaluation is not None:
            await self._show(evaluation)
        return evaluation

    @work(exclusive=True, group="decide")
    async def action_keep(self) -> None:
        evaluation = await self._current()
        if evaluation is None:
            return
        if self._is_recorded(evaluation) and self.session.iterations[-1].decision is Decision.KEEP:
            self.notify("Nothing to keep: the definition is as it was kept last.")
            return
        if self.session.iterations and not self.session.is_better(evaluation):
            best = self.session.best
            known = "" if best is None else f" than #{best.number}"
            question = f"Coverage is not greater{known}. Keep it all the same?"
            if not await self.app.push_screen_wait(Confirm(question, "Keep", "Do not keep")):
                return
        with self._told_problems():
            kept = await asyncio.to_thread(self.workspace.write_kept, evaluation)
            self.session.record(kept.iteration)
            file = display_text(self.workspace.topic_file.path.name)
            if kept.not_saved:
                self.notify(
                    f"Kept as #{kept.iteration.number}, but not saved: {kept.not_saved}",
                    severity="error",
                    markup=False,
                    timeout=15,
                )
            else:
                self.notify(f"Kept as #{kept.iteration.number} and saved to {file}", markup=False)
        self._after_decision()
        await self._show(evaluation)

    @work(exclusive=True, group="decide")
    async def action_discard(self) -> None:
        evaluation = await self._current()
        best = self.session.best
        if evaluation is None or best is None:
            return
        if evaluation.topic == best.evaluation.topic:
            self.notify(f"Nothing to discard: this is the best definition, #{best.number}.")
            return
        with self._told_problems():
            iteration = await asyncio.to_thread(self.workspace.write, evaluation, Decision.DISCARD)
            self.session.record(iteration)
            self.session.restore_best()
            self.notify(f"Discarded as #{iteration.number}; back to #{best.number}")
        if self.session.plateau:
            self.notify(
                f"{PLATEAU} discards in a row: a plateau. Try another angle, or check the labels.",
                severity="warning",
            )
        self._after_decision()
        self._topic_replaced()

    def _after_decision(self) -> None:
        self._alignment = None
        self._save_draft()
        self._show_header()
        self._show_dashboard()

    def action_undo(self) -> None:
        self._tell_step("Undone", self.session.undo(), "Nothing to undo.")

    def action_redo(self) -> None:
        self._tell_step("Done again", self.session.redo(), "Nothing to redo.")

    def _tell_step(self, verb: str, changes: tuple[str, ...], nothing: str) -> None:
        if not changes:
            self.notify(nothing)
            return
        self.notify(f"{verb}: {', '.join(changes)}", markup=False, timeout=2)
        self._topic_replaced()

    @work(exclusive=True, group="decide")
    async def action_save(self) -> None:
        workspace = self.workspace
        await self._take_typed()
        if not workspace.unsaved:
            self.notify("The topic file holds this definition already.")
            return
        topic = self.session.topic
        with self._told_problems():
            try:
                await asyncio.to_thread(workspace.save, topic)
            except FileProblem as problem:
                if not problem.can_force:
                    raise
                question = f"{problem}\n\nWrite over it? The old content is kept as a backup."
                answer = Confirm(question, "Write", "Leave the file")
                if not await self.app.push_screen_wait(answer):
                    return
                await asyncio.to_thread(workspace.save, topic, force=True)
        if not workspace.unsaved:
            file = display_text(workspace.topic_file.path.name)
            self.notify(f"Saved to {file}", markup=False)
        self._save_draft()
        self._show_header()

    def action_pin_baseline(self) -> None:
        session = self.session
        if session.pinned is not None or not session.iterations:
            self._pin(None)
        else:
            self._pin(session.iterations[-1].number)

    def _pin(self, number: int | None) -> None:
        with self._told_problems():
            self.workspace.pin(number)
            baseline = self.session.baseline
            name = f"#{baseline.number}" if baseline else "none yet"
            pinned = "pinned" if number is not None else "the last kept one"
            self.notify(f"Baseline: {name} ({pinned})")
        self._alignment = None
        self._preview()

    @work(exclusive=True, group="dialog")
    async def action_show_iterations(self) -> None:
        options = iteration_options(self.session)
        chosen = await self.app.push_screen_wait(
            Iterations("Iterations", options, "Enter restores · p pins as baseline · Esc leaves")
        )
        if chosen is None:
            return
        if chosen.startswith("pin "):
            self._pin(int(chosen.removeprefix("pin ")))
        elif self.session.restore(int(chosen)):
            self.notify(f"Restored #{chosen}; Undo brings your edit back.")
            self._topic_replaced()
        else:
            self.notify(f"The definition is already that of #{chosen}.")

    @work(exclusive=True, group="dialog")
    async def action_show_check(self) -> None:
        topic = self.session.topic
        findings = await asyncio.to_thread(check_prompt_set, self.workspace.prompts, topic)
        body = check_text(violations(topic), findings)
        column = self.workspace.prompts.category_column
        if column is not None and self.evaluation is not None:
            groups, names = self.workspace.prompts.groups(column)
            body.append_text(category_text(metrics_by_group(self.evaluation.codes, groups, names)))
        await self.app.push_screen_wait(TextPage("Check of the definition and the prompts", body))

    def action_show_help(self) -> None:
        self.app.push_screen(TextPage("Help", help_text()))

    @work(exclusive=True, group="dialog")
    async def action_scanner_settings(self) -> None:
        settings = self.scanner.settings
        current = ScannerChoice(
            self.scanner.encoder_name,
            None if settings.threshold_source == "default" else settings.threshold,
            settings.threshold_source,
        )
        calibration = await asyncio.to_thread(self._calibrated)
        choice = await self.app.push_screen_wait(
            ScannerDialog(current, settings.threshold, calibration)
        )
        if choice is None:
            return
        if choice.encoder != self.scanner.encoder_name:
            self.evaluator.cancel()
            self.evaluator = Evaluator(
                LocalScanner(choice.encoder, choice.threshold, choice.source)
            )
        else:
            self.scanner.use_threshold(choice.threshold, choice.source)
        with self._told_problems():
            self.workspace.store.save_settings(
                {
                    "encoder": choice.encoder,
                    "threshold": choice.threshold,
                    "threshold_source": choice.source,
                }
            )
        self._preview()

    def _calibrated(self) -> Calibration | str:
        """The threshold that the labels suggest, as a score; or why there is none."""
        prompts = self.workspace.prompts
        try:
            scored = self.scanner.z(self.session.topic, prompts, lambda progress: None)
            if scored is None:
                return "the scan was stopped"
            _, scoring, _ = self.scanner.load()
            found = calibrate(scored[0], prompts.expected, default=scoring.threshold)
        except (ValueError, ScannerError) as error:
            return str(error)
        return replace(found, threshold=float(probability(np.float32(found.threshold))))

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        from guardtui.reports.base import ReportInput, report_formats, write_report

        evaluation = await self._current()
        if evaluation is None:
            return
        stem = self.workspace.topic_file.path.with_suffix("")
        endings = {"table": "txt"}
        targets: dict[str, Path] = {
            name: stem.parent / f"{stem.name}-report.{endings.get(name, name)}"
            for name in report_formats()
        }
        chosen = await self.app.push_screen_wait(
            Choice(
                "Export to the folder of the topic",
                [(name, Text(f"{name:<5} {path.name}")) for name, path in targets.items()],
            )
        )
        if chosen is None:
            return
        baseline = self.session.baseline
        report = ReportInput(
            topic=evaluation.topic,
            prompts=self.workspace.prompts,
            evaluation=evaluation,
            baseline=baseline.evaluation if baseline else None,
            comparison=self.comparison,
            iterations=tuple(self.session.iterations),
            changes=self.workspace.changes,
            baseline_number=baseline.number if baseline else None,
        )
        with self._told_problems():
            workspace = self.workspace
            refuse_overwriting(targets[chosen], workspace.topic_file.path, workspace.prompts_path)
            await asyncio.to_thread(write_report, chosen, report, targets[chosen])
            self.notify(f"Written: {display_text(str(targets[chosen]))}", markup=False, timeout=10)

    def action_next_pane(self) -> None:
        shown = next((pane for pane in _PANES if self.has_class(f"-pane-{pane}")), "editor")
        focused = self.focused
        if focused is not None and self.has_class("-wide"):
            shown = "editor" if self._editor in focused.ancestors else "results"
            following = "results" if shown == "editor" else "editor"
        else:
            following = _PANES[(_PANES.index(shown) + 1) % len(_PANES)]
        for pane in _PANES:
            self.set_class(pane == following, f"-pane-{pane}")
        if following == "editor":
            self._editor.query(Field).first().focus()
        elif following == "results":
            self._results.table.focus()
        else:
            self.set_focus(None)

    @work(exclusive=True, group="quit")
    async def action_quit(self) -> None:
        await self._take_typed()
        try:
            self.workspace.save_draft(always=True)
        except StoreError as problem:
            question = (
                f"Your unsaved edits cannot be kept:\n{problem}\n\n"
                "Leave all the same? They are then printed to the terminal."
            )
            if not await self.app.push_screen_wait(Confirm(question, "Leave", "Stay")):
                return
        await self.evaluator.close()
        self.app.exit(0)

    def leave(self, code: int) -> None:
        """Leave at once, as the system asks: the draft is kept first."""
        self.session.edit(self._editor.typed)
        with contextlib.suppress(StoreError):
            self.workspace.save_draft(always=True)
        self.app.exit(return_code=code)

    def on_unmount(self) -> None:
        # However the app is left, what is in the fields is kept.
        self.session.edit(self._editor.typed)
        with contextlib.suppress(StoreError):
            self.workspace.save_draft()
        self.workspace.store.close()

    # --- what must not get lost -----------------------------------------------------------

    def _save_draft(self) -> None:
        try:
            self.workspace.save_draft()
        except StoreError as problem:
            # Told once, not every two seconds: it may last.
            if str(problem) != self._draft_problem:
                self._draft_problem = str(problem)
                self.notify(
                    f"Your edits are not kept on disk: {problem}", severity="error", markup=False
                )
            return
        if self._draft_problem:
            self._draft_problem = ""
            self.notify("Your edits are kept on disk again.")

    @contextlib.contextmanager
    def _told_problems(self) -> Iterator[None]:
        try:
            yield
        except (FileProblem, StoreError) as problem:
            self.notify(str(problem), severity="error", markup=False, timeout=15)


def _outcome_of(evaluation: Evaluation, row_id: int) -> Outcome | None:
    found = np.flatnonzero(evaluation.keys == np.uint64(row_id))
    return Outcome(int(evaluation.codes[found[0]])) if len(found) else None

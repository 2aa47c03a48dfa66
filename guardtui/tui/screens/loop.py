"""What runs and what is shown: panes, previews, results, progress and drafts of a workspace."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from guardtui.config import Config
from guardtui.domain.comparison import Alignment, Comparison, align, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files.problems import FileProblem
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.explanation import Explanation
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.companions import WithCompanions
from guardtui.session.evaluator import Evaluator
from guardtui.session.session import PLATEAU, Decision
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace
from guardtui.tui.content import themed
from guardtui.tui.messages import DetailLeft, TopicEdited, ViewChanged
from guardtui.tui.own_figures import LiveFigures
from guardtui.tui.results import Results, View, build_results
from guardtui.tui.sample_text import prompts_told, sample_told
from guardtui.tui.screens.dialogs import (
    Confirm,
)
from guardtui.tui.widgets.detail import DetailPane, PromptDetail
from guardtui.tui.widgets.editor import Field, TopicEditor
from guardtui.tui.widgets.footer import FittingFooter
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.metrics_panel import (
    Dashboard,
    MetricsPanel,
    Standing,
    standing_of,
    summary,
    warm_up,
)
from guardtui.tui.widgets.results_pane import ResultsPane
from guardtui.tui.widgets.scan_pane import ScanPane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

PAUSE = 0.03
"""Seconds after which the words behind the score of the prompt looked at are worked out."""

LEAST = (40, 15)
"""Columns and lines below which nothing useful can be shown."""

POLL_EVERY = 0.1
LONG_WAIT = 60.0
"""Seconds of embedding from which on the faster encoder is pointed out."""


class LoopScreen(Screen[None]):
    """Editor, dashboard, progress, results and detail of one workspace."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (LEAST[1], "-short"), (30, "-tall")]

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(classes="-pane-editor")
        self.workspace = workspace
        self.session = workspace.session
        self.measuring = WithCompanions(scanner)
        """The embedded scanner, and the other topics of the profile."""
        self.evaluator = Evaluator(self.measuring)
        self.evaluation: Evaluation | None = None
        self.prompts = workspace.prompts
        """The prompt set that `evaluation` belongs to; the workspace's may be newer already."""
        self.comparison: Comparison | None = None
        self.results: Results | None = None
        self._standing: Standing | None = None
        self._alignment: tuple[int, str, Alignment] | None = None
        self._started = self._edited = 0.0
        self._preview_pause = PAUSE
        self._draft_is_back = workspace.offer_fits
        if self._draft_is_back:
            # Before anything can be typed, and before the editor is made.
            with contextlib.suppress(StoreError):
                workspace.take_draft()
        self._editor = TopicEditor(self.session.topic)
        self._metrics = MetricsPanel()
        self.live_figures = LiveFigures(self._show_dashboard)
        self._results = ResultsPane()
        self._results.refusal = workspace.prompts_refusal
        self._detail = DetailPane()
        self._progress = Static("", id="progress", markup=False)
        self._summary = Static("", id="summary", markup=False)
        self._header = Static("", id="header", markup=False)

    def use_config(self, config: Config) -> None:
        """Have the author's settings take effect, at the start and when one changes."""
        self._preview_pause = config.preview_pause
        self._editor.vim = self._results.table.vim = config.vim

    @property
    def _origin(self) -> Topic:
        """The definition that differences are shown against."""
        baseline = self.session.baseline
        return baseline.evaluation.topic if baseline else self.workspace.topic_file.topic

    @property
    def scanner(self) -> LocalScanner:
        """The embedded scanner itself, which knows the topic under test only."""
        scanner = self.measuring.inner
        assert isinstance(scanner, LocalScanner)  # noqa: S101 - nothing else is put there
        return scanner

    def use_scanner(self, scanner: LocalScanner) -> None:
        """Have another embedded scanner answer from now on."""
        self.evaluator.cancel()
        self.measuring = WithCompanions(scanner, self.measuring.companions)
        self.evaluator = Evaluator(self.measuring)

    @property
    def results_pane(self) -> ResultsPane:
        """The pane that the actions of the results belong to."""
        return self._results

    @property
    def editor(self) -> TopicEditor:
        """The pane that the actions of the definition belong to."""
        return self._editor

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._summary
        with Horizontal(id="top"):
            yield self._editor
            yield self._metrics
        yield self._progress
        yield ScanPane()
        with Vertical(id="bottom"):
            yield self._results
            yield self._detail
        yield FittingFooter(compact=True, show_command_palette=False)
        yield Static(
            f"guardtui needs {LEAST[0]} columns, {LEAST[1]} lines.\n"
            "Nothing is lost: make the window larger.",
            id="too-small",
            markup=False,
        )

    @property
    def _panes(self) -> dict[str, Widget]:
        return {
            "editor": self._editor,
            "metrics": self._metrics,
            "results": self._results,
            "detail": self._detail,
        }

    def _mark_focus(self) -> None:
        """A sign in the title of the pane that keys go to; a colour alone says too little."""
        within = self.focused.ancestors_with_self if self.focused is not None else []
        for pane in self._panes.values():
            title = type(pane).BORDER_TITLE
            pane.border_title = f"▸ {title}" if pane in within else title

    def on_mount(self) -> None:
        if not (self.is_attached and self.app.is_running):
            return  # the app is exiting: Textual mounted none of the children
        self.watch(self, "focused", self._mark_focus)
        self._detail.show(None)
        self._show_header()
        self.set_interval(POLL_EVERY, self._poll)
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
        await self._opened()

    async def _opened(self) -> None:
        """What is to happen when everything stands; nothing here."""

    # --- edits and previews ---------------------------------------------------------------

    @on(TopicEdited)
    def topic_edited(self, event: TopicEdited) -> None:
        self._edited = time.monotonic()
        if self.session.edit(event.topic, event.group):
            if event.ends_group:
                self.session.end_group()
            self._changed()

    def _changed(self) -> None:
        """The definition or the prompts are other ones now."""
        self._show_header()
        self._preview()

    def _edit(self, topic: Topic) -> None:
        if self.session.edit(topic):
            self._topic_replaced()

    def _topic_replaced(self, *, follow: bool = False) -> None:
        """Show another definition; with `follow` the cursor goes to where it changed."""
        self._editor.show(self.session.topic, follow=follow)
        self._changed()

    @work(exclusive=True, group="preview")
    async def _preview(self) -> None:
        """Evaluate the definition as it is after a pause; a newer edit cancels this."""
        await asyncio.sleep(self._preview_pause)
        evaluation = self.standing_scan() or await self._evaluate(self.session.topic)
        if evaluation is not None:
            await self._show(evaluation)

    def standing_scan(self) -> Evaluation | None:
        """What a remote guardrail said of the definition as it is; shown instead of a preview."""
        return None

    def predicted_verdicts(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        """The verdicts that are expected where there are none yet, int8 [N]; None without any."""
        return None

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
        self.session.scanner = evaluation.settings.name
        baseline = self.session.baseline
        view = self._results.view
        prompts = self.workspace.prompts
        if evaluation.prompt_set != prompts.fingerprint:
            return  # the prompts were edited meanwhile; the run that knows them is on its way

        predicted = self.predicted_verdicts(evaluation)

        def work_out() -> tuple[Comparison | None, Results, Standing | None]:
            comparison = None
            if baseline is not None:
                alignment = self._aligned(baseline.number, baseline.evaluation, evaluation)
                comparison = compare(baseline.evaluation, evaluation, alignment)
                warm_up(comparison)
            results = build_results(prompts, evaluation, comparison, view)
            return comparison, results, standing_of(evaluation, predicted)

        comparison, results, standing = await asyncio.to_thread(work_out)
        self.evaluation, self.comparison, self.prompts = evaluation, comparison, prompts
        self._standing = standing
        if self._editor.shows_difference:
            self._editor.show_baseline(self._origin)  # another one may be kept or pinned by now
        self._show_dashboard()
        self.run_worker(self.live_figures.follow(evaluation, prompts, comparison))
        self._show_results(results)

    def _aligned(self, number: int, baseline: Evaluation, current: Evaluation) -> Alignment:
        # The prompts do not change while a definition is edited: aligned once for a baseline.
        known = self._alignment
        if known is None or known[0] != number or known[1] != current.prompt_set:
            known = number, current.prompt_set, align(baseline.keys, current.keys)
            self._alignment = known
        return known[2]

    @on(ViewChanged)
    def view_changed(self, event: ViewChanged) -> None:
        self._rebuild(event.view)

    @work(exclusive=True, group="view")
    async def _rebuild(self, view: View) -> None:
        evaluation, comparison, prompts = self.evaluation, self.comparison, self.prompts
        if evaluation is None:
            return
        results = await asyncio.to_thread(build_results, prompts, evaluation, comparison, view)
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
            history=[one.evaluation.metrics.coverage for one in session.comparable],
            numbers=[one.number for one in session.comparable],
            best=best.number if best else None,
            best_coverage=session.best_coverage,
            best_recorded=best.evaluation.metrics.coverage if best else None,
            discards=session.discards_in_a_row,
            plateau=PLATEAU,
            changes=self.workspace.changes,
            recorded=self._is_recorded(evaluation),
            standing=self._standing,
            figures=self.live_figures.of(evaluation),
            sample=sample_told(self.workspace),
            proportional=self.workspace.large is None or self.workspace.large[1].proportional,
        )
        self._metrics.dashboard = dashboard
        self._summary.update(themed(summary(dashboard)), layout=False)

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
        told = prompts_told(self.workspace, self.size.width)
        text = Text(f"guardtui  {file} × {prompts} ({told})")
        if self.workspace.unsaved:
            text.append("  ● unsaved", "bold $text-warning")
        known = self.workspace.prompts
        if known.intent_given and self.session.topic.intent is not known.intent:
            text.append(f"  ⚠ the prompt set says {known.intent.value}", "bold $text-error")
        text.append_text(self.header_note())
        self._header.update(themed(text), layout=False)

    def on_resize(self) -> None:
        self._show_header()

    def header_note(self) -> Text:
        """What else the header tells; nothing here."""
        return Text()

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

    @on(DetailLeft)
    def detail_left(self) -> None:
        self._results.table.focus()

    @on(FrameTable.RowActivated)
    def row_activated(self) -> None:
        self._detail.focus()

    def _show_detail(self, row_id: int | None) -> None:
        detail = self._detail_of(row_id)
        self._detail.show(detail, evaluated=self.evaluation is not None)
        if detail is not None:
            self._explain(detail)

    def _detail_of(self, row_id: int | None) -> PromptDetail | None:
        results, evaluation = self.results, self.evaluation
        if row_id is None or results is None or evaluation is None:
            return None
        row = results.row_of(row_id)
        if row is None:
            return None
        frame = self.prompts.frame
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
            note=evaluation.verdicts.notes.get(row, ""),
            stopped_by=evaluation.verdicts.stopped_by.get(row, ()),
            reason=evaluation.verdicts.reasons.get(row, ""),
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

    @contextlib.contextmanager
    def _told_problems(self) -> Iterator[None]:
        try:
            yield
        except (FileProblem, PromptSetError, StoreError) as problem:
            self.notify(str(problem), severity="error", markup=False, timeout=15)


def _outcome_of(evaluation: Evaluation, row_id: int) -> Outcome | None:
    found = np.flatnonzero(evaluation.keys == np.uint64(row_id))
    return Outcome(int(evaluation.codes[found[0]])) if len(found) else None

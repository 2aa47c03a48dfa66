"""The screen of scored outputs: a live scorer, pinned ones, rows, and one row in full."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from guardtui.domain.text import display_text
from guardtui.files.output_files import OutputSet
from guardtui.files.problems import FileError
from guardtui.session.graders import ScoreError
from guardtui.session.score_run import ScorerResult
from guardtui.tui.detail.pane import DetailPane
from guardtui.tui.kit.dialogs import ChoiceDialog, TextPage
from guardtui.tui.kit.screen_size import BREAKPOINTS, classes_for, too_small
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.messages import CloseDetail
from guardtui.tui.registry.actions import ACTIONS, SCORES, SCREEN, TABLE, action_named, bindings
from guardtui.tui.registry.footer import FittingFooter
from guardtui.tui.registry.keymap import SHARED
from guardtui.tui.scores import choices as score_choices
from guardtui.tui.scores.detail import RowDetail
from guardtui.tui.scores.metrics_pane import ScoreMetricsPane
from guardtui.tui.scores.open_outputs import OpenOutputsDialog
from guardtui.tui.scores.rows_pane import ScoredRowsPane
from guardtui.tui.scores.scorer_input import EXAMPLES, ScorerInput
from guardtui.tui.scoring.metrics_text import warnings_text
from guardtui.tui.scoring.regex_probe import never_ends
from guardtui.tui.scoring.runs import ScoreOptions, ScoreRuns
from guardtui.tui.scoring.scorer_run import MANY_ROWS, ScorerRun, uses_models
from guardtui.tui.scoring.warnings import ScoreWarnings
from guardtui.tui.table.frame_table import FrameTable

PAUSE = 0.1
POLL_EVERY = 0.1
REDRAW_EVERY = 3
"""Polls between two updates of the rows of a running scorer."""

SETTLED = 0.4
"""Seconds to wait before metrics over many rows: the author may go on typing."""

_WITH_MODEL = "open the file with guardtui score FILE --screen --model URL#name"
_ENDLESS = (
    "This regular expression takes far too long on these outputs: write one in which no repeated "
    "part holds a repeated part, as (a+)+ does."
)
_NOTHING = (
    "No row is selected. Go to the rows (F5) and move with the arrows. Where there are none, "
    "Esc takes the filter away."
)


class ScoresScreen(Screen[None]):
    """Tries scorers on a file of outputs; shows their metrics, the rows, and one row in full."""

    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(SCORES),
        *(action.binding for action in ACTIONS if action.name in SHARED),
        *filter(None, [action_named("open_menu").letter_binding]),
    ]
    help_pane = "score_rows"

    def __init__(self, outputs: OutputSet, options: ScoreOptions | None = None) -> None:
        super().__init__()
        self.options = options or ScoreOptions()
        self.runs = ScoreRuns(outputs, self.options)
        self.outputs = outputs
        self.group = self.options.group
        self.warnings = ScoreWarnings()
        self._polls = 0
        self._detailed: RowDetail | None = None
        self._header = Static("", id="score-header", markup=False)
        self.line = ScorerInput()
        self.metrics_pane = ScoreMetricsPane()
        self.pane = ScoredRowsPane(self.runs, EXAMPLES)
        self.detail = DetailPane("score-detail", "score_detail", (_NOTHING, _NOTHING))

    def compose(self) -> ComposeResult:
        self.add_class(*classes_for(self.app.size), update=False)
        yield self._header
        yield self.line
        yield self.metrics_pane
        yield self.pane
        yield self.detail
        yield FittingFooter(compact=True, show_command_palette=False)
        yield too_small("The scores need")

    def _mark_focus(self) -> None:
        """Mark the title of the focused pane; colour alone is not enough."""
        for pane, title in ((self.metrics_pane, "Metrics"), (self.detail, "Detail")):
            pane.border_title = f"▸ {title}" if pane is self.focused else title
        self.line.mark_focus(self.focused is self.line.input)

    def on_mount(self) -> None:
        self.watch(self, "focused", self._mark_focus)
        self.warnings.listen()
        self.use_config(getattr(self.app, "config", None))
        self.detail.show(None)
        for finding in self.outputs.findings:
            self.notify(display_text(finding.message), severity="warning", markup=False, timeout=10)
        self._show_header()
        self.set_interval(POLL_EVERY, self._poll)
        self.line.input.focus()
        self._begin()

    def on_unmount(self) -> None:
        self.runs.stop()
        self.warnings.close()

    def use_config(self, config: Any) -> None:
        """Apply the settings."""
        self._pause = max(PAUSE, config.preview_pause / 1000) if config is not None else PAUSE

    @property
    def action_targets(self) -> Mapping[str, Widget]:
        """The widget that handles the actions of each scope."""
        shared = {f"{SCREEN}.{name}": self for name in SHARED}
        return {SCORES: self, TABLE: self.pane.table, **shared}

    async def action_settings(self) -> None:
        await self.app.run_action("open_settings")

    async def action_choose_theme(self) -> None:
        await self.app.run_action("change_theme")

    async def action_quit(self) -> None:
        await self.app.run_action("quit")

    async def action_show_help(self) -> None:
        await self.app.run_action("show_help")

    async def action_open_menu(self) -> None:
        await self.app.run_action("open_menu")

    async def action_jump(self) -> None:
        await self.app.run_action("jump")

    # --- from a line to scores ------------------------------------------------------------

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        *kept, last = self.options.expressions or ("",)
        for text in kept:
            scorer = await self.line.parsed(text)
            if scorer is None or (uses_models(scorer) and not self.options.asked):
                continue
            if not await asyncio.to_thread(never_ends, scorer, self.outputs.outputs):
                run = self.runs.make(text, scorer)
                self.runs.pinned.append(run)
                self._score(run)
        self.line.begin(last)
        self._try(last, entered=self.options.asked)

    @on(Input.Changed, "#score-expression")
    def expression_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._try(event.value)

    @on(Input.Submitted, "#score-expression")
    def expression_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_run_scorer()

    @work(exclusive=True, group="try")
    async def _try(self, text: str, *, entered: bool = False) -> None:
        """Score by an expression after a pause; a newer line cancels this."""
        if not entered:
            await asyncio.sleep(self._pause)
        scorer = await self.line.parsed(text)
        if scorer is None:
            return
        same = self.runs.known(text.strip())
        if same is not None and not same.stopped and not (entered and same.problem):
            self._use(same)
        elif uses_models(scorer) and not entered:
            rows = f"{len(self.outputs):,} rows"
            self.line.show_message(
                f"This scorer sends {rows} to a model: Enter starts it, Esc stops it."
            )
        elif await asyncio.to_thread(never_ends, scorer, self.outputs.outputs):
            self.line.show_message(_ENDLESS)
        else:
            self._use(run := self.runs.make(text, scorer))
            self._score(run)

    def _use(self, run: ScorerRun) -> None:
        self.runs.try_out(run)
        self.pane.redraw()

    @work(group="score")
    async def _score(self, run: ScorerRun) -> None:
        await asyncio.to_thread(run.score)
        if run is self.runs.live:
            self.runs.catch_up()
            if run.problem and self.options.grading is None and run.asks:
                self.line.show_message(f"{run.problem.splitlines()[0]}: {_WITH_MODEL}")
            elif run.problem:
                self.line.show_message(": ".join(line.strip() for line in run.problem.splitlines()))
        self.pane.redraw()
        if run.total > MANY_ROWS:
            await asyncio.sleep(SETTLED)
        await self.runs.measure(run)
        self.pane.redraw()

    @work(exclusive=True, group="measure")
    async def _measure_again(self) -> None:
        """Compute the metrics of all finished runs with the current reducers."""
        self.pane.redraw()
        for run in self.runs:
            if run.finished:
                await self.runs.measure(run)
                self.pane.redraw()

    # --- drawing --------------------------------------------------------------------------

    def _poll(self) -> None:
        if all(run.finished for run in self.runs):
            return
        self._polls += 1
        self.runs.catch_up()
        if self._polls % REDRAW_EVERY == 0:
            self.pane.redraw()
        else:
            self._show_metrics()

    def _show_header(self) -> None:
        name = display_text(Path(self.outputs.source).name)
        text = Text(f"guardtui scores  {name}  {len(self.outputs):,} rows")
        tried = self.pane.tried
        if tried is not None:
            for state, count in tried.states.items():
                if count or state in ("scored", "unscored", "errors"):
                    style = "bold $text-error" if state == "errors" and count else ""
                    text.append("  ").append(f"{state} {count:,}", style)
        if self.pane.rows is not None and len(self.pane.rows) != len(self.outputs):
            text.append(f"  shown {len(self.pane.rows):,}", "bold $text-accent")
        if self.warnings.heard:
            text.append(f"  ⚠ {len(self.warnings.heard)} (F6)", "bold $text-warning")
        self._header.update(themed(text), layout=False)

    def _show_metrics(self) -> None:
        self.metrics_pane.show(self.pane.scores.columns, self.runs.shown)

    def _show_detail(self) -> None:
        row, before = self.pane.table.cursor_row_id, self._detailed
        detail = None if row is None else RowDetail.of(self.pane.scores, row)
        if detail is not None and detail == before:
            return
        self._detailed = detail
        if detail is None or before is None or detail.row != before.row:
            self.detail.scroll_home(animate=False)
        self.detail.show(detail)

    @on(ScoredRowsPane.RowsChanged)
    def rows_shown(self) -> None:
        self._show_header()
        self._show_metrics()
        self._show_detail()

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._show_detail()

    @on(FrameTable.RowActivated)
    def row_activated(self) -> None:
        self.detail.focus()

    # --- scorers --------------------------------------------------------------------------

    def action_run_scorer(self) -> None:
        """Score by the line now, even if that uses a model."""
        self.line.input.remember()
        self._try(self.line.input.value, entered=True)

    def action_pin_scorer(self) -> None:
        """Pin or unpin the scorer of the line."""
        run = self.runs.live
        if run is None or run.judge.expression != self.line.input.value.strip():
            self.notify("Write a scorer that can be used first.", severity="warning")
            return
        self.line.input.remember()
        if run in self.runs.pinned:
            self._unpin(run)
        else:
            self.runs.pinned.append(run)
            self.notify("Pinned: write another scorer, and d shows where they differ.", timeout=4)
        self.pane.redraw()

    def _unpin(self, run: ScorerRun) -> None:
        self.runs.unpin(run)
        self.notify("Unpinned.", timeout=3)

    @work(exclusive=True, group="dialog")
    async def action_pinned_scorers(self) -> None:
        """Show the pinned scorers; the chosen one goes back into the line."""
        columns = [column for column in self.pane.scores.columns if column.pinned]
        if not columns:
            self.notify("No pinned scorers: F3 pins the current one.")
            return
        chosen = await self._choose(
            "Pinned scorers",
            score_choices.pinned_options(columns),
            "Enter takes it out and into the line, Esc closes",
        )
        if chosen is not None:
            run = columns[int(chosen)].run
            self._unpin(run)
            self.line.write(run.judge.expression)
            self.pane.redraw()

    async def _choose(
        self, title: str, options: score_choices.Options, keys: str = ""
    ) -> str | None:
        return await self.app.push_screen_wait(ChoiceDialog(title, options, keys, "score_choice"))

    @work(exclusive=True, group="dialog")
    async def action_list_scorers(self) -> None:
        """Show all scorers with their signatures; the chosen one is written into the line."""
        options = await asyncio.to_thread(score_choices.scorer_options)
        chosen = await self._choose("Scorers", options, "Enter writes it into the line, Esc closes")
        if chosen is not None:
            self.line.write('pattern(r"")' if chosen == "pattern" else f"{chosen}()")

    @work(exclusive=True, group="dialog")
    async def action_choose_reducer(self) -> None:
        """Choose how the epochs of a sample become one score."""
        outputs = self.outputs
        if outputs.samples == len(outputs):
            self.notify("Each sample occurs once; there are no epochs to reduce.")
            return
        options = score_choices.reducer_options(outputs.most_epochs)
        chosen = await self._choose("How epochs become one score", options)
        if chosen is not None:
            self.runs.reduce_by(score_choices.reducers_of(chosen))
            self._measure_again()

    # --- rows -----------------------------------------------------------------------------

    def action_filter_scores(self) -> None:
        """Go to the filter line."""
        self.pane.go_to_filter()

    def action_next_value(self) -> None:
        """Show the rows of one value of the current scorer, then of the next one, then all."""
        if not self.pane.next_value():
            self.notify("There are no values yet.")

    def action_show_differing(self) -> None:
        """Show only rows on which the scorers differ, or all again."""
        if len(self.pane.scores.columns) < 2:
            self.notify("Pin a scorer (F3) and write another one: then they can differ.")
        else:
            self.pane.turn_differing()

    def action_sort_scores(self) -> None:
        """Sort by the next column; after the last one in the order of the file."""
        self.pane.next_sort()

    def action_reverse_scores(self) -> None:
        """Sort the other way round."""
        self.pane.reverse_sort()

    def action_copy_output(self) -> None:
        """Copy the output of the selected row, inert: a terminal acts on pasted text."""
        row = self.pane.table.cursor_row_id
        if row is None:
            self.notify("Select a row first.")
            return
        self.app.copy_to_clipboard(display_text(self.outputs.outputs[row], newlines=True))
        self.notify("Copied the output.", timeout=3)

    def action_next_score_pane(self) -> None:
        """Focus the next of line, rows, detail and metrics."""
        panes = (self.line.input, self.pane.table, self.detail, self.metrics_pane)
        index = next((index for index, pane in enumerate(panes) if pane.has_focus), -1)
        panes[(index + 1) % len(panes)].focus()

    def action_leave_scores(self) -> None:
        """Go one step back: close the filter, stop a run with models, leave the line, close."""
        live = self.runs.live
        if self.pane.filter.has_focus or (self.pane.view.search and not self.line.input.has_focus):
            self.pane.table.focus()
            self.pane.set_filter("")
        elif live is not None and live.asks and not live.finished:
            live.stop()
            self.notify("Stopped: graded rows are kept, and Enter resumes.")
        elif self.line.input.has_focus:
            self.pane.table.focus()
        elif len(self.app.screen_stack) > 1:
            self.dismiss(None)
        else:
            self.notify("^q leaves.", timeout=2)

    @on(CloseDetail)
    def detail_left(self, event: CloseDetail) -> None:
        event.stop()
        self.action_leave_scores()

    # --- metrics, files -------------------------------------------------------------------

    async def _results(self, group: str | None) -> list[ScorerResult] | None:
        """Return the metrics of all shown scorers; None after a message if one has none."""
        columns = self.pane.scores.columns
        if not columns or not all(column.run.finished for column in columns):
            self.notify("The rows are not all scored yet.", severity="warning")
            return None
        try:
            return await self.runs.results(columns, group)
        except ScoreError as error:
            self.notify(str(error), severity="error", timeout=10)
            return None

    @work(exclusive=True, group="dialog")
    async def action_score_groups(self) -> None:
        """Ask for a column, and show the metrics for each of its values, and the warnings."""
        names = list(self.outputs.metadata)
        if not names and not self.warnings.heard:
            self.notify("The file has no columns besides input, target and output to group by.")
            return
        group = self.group
        if names:
            chosen = await self._choose("Metrics by", score_choices.group_options(names))
            if chosen is None:
                return
            group = None if chosen == score_choices.ALL_ROWS else names[int(chosen)]
        self.group = group
        results = await self._results(group)
        if results is None:
            return
        body = score_choices.groups_text(group, self.pane.scores.columns, results)
        body.append_text(warnings_text(self.warnings.heard))
        await self.app.push_screen_wait(TextPage("Metrics by group", body, help_pane="score_page"))

    @work(exclusive=True, group="dialog")
    async def action_export_scores(self) -> None:
        """Write a report on all shown scorers beside the file, like `guardtui score`."""
        targets = await score_choices.export_targets(Path(self.outputs.source))
        options = score_choices.export_options(targets)
        chosen = await self._choose("Export to the folder of the file", options)
        results = None if chosen is None else await self._results(self.group)
        if chosen is None or results is None:
            return
        runs = [column.run for column in self.pane.scores.columns]
        report = score_choices.report_of(
            self.outputs, runs, results, self.group, self.options.cluster
        )
        try:
            await asyncio.to_thread(score_choices.write_report, report, chosen, targets[chosen])
        except FileError as problem:
            self.notify(str(problem), severity="error", timeout=15)
            return
        self.notify(f"Written: {targets[chosen]}", timeout=10)

    def action_open_outputs(self) -> None:
        """Open another file with the same scorers."""
        options = ScoreOptions(
            tuple(column.run.judge.expression for column in self.pane.scores.columns)
            or self.options.expressions,
            self.options.metrics, self.runs.reducers, None, None, self.options.grading,
        )  # fmt: skip
        self.app.push_screen(OpenOutputsDialog(self.outputs.source), partial(self._opened, options))

    def _opened(self, options: ScoreOptions, outputs: OutputSet | None) -> None:
        if outputs is not None:
            self.app.switch_screen(ScoresScreen(outputs, options))

"""The screen of scored outputs: a scorer tried live, others beside it, rows, one row whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from guardtui.domain.row_filter import FilterError
from guardtui.domain.text import display_text
from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import Reducers
from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.expression import ExpressionError, parse_scorer
from guardtui.scorer.types import Scorer
from guardtui.session.graders import ScoreError
from guardtui.session.score_run import make_judges, with_standard_errors
from guardtui.tui.actions import ACTIONS, SCORES, SCREEN, TABLE, bindings
from guardtui.tui.content import themed
from guardtui.tui.keymap import SHARED
from guardtui.tui.score_filter import HINT, parse_score_filter
from guardtui.tui.score_live import MANY_ROWS, Grading, LiveRun, asks_models
from guardtui.tui.score_metrics import metric_lines
from guardtui.tui.score_probe import never_ends
from guardtui.tui.score_results import (
    ScoreColumn,
    ScoreRows,
    ScoreTable,
    ScoreView,
    table_columns,
    worked_out,
)
from guardtui.tui.score_warnings import ScoreWarnings
from guardtui.tui.widgets.footer import FittingFooter
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.score_detail import ScoreDetail
from guardtui.tui.widgets.score_line import PLACEHOLDER, HistoryLine
from guardtui.tui.widgets.table_messages import HeaderClicked

LEAST = (40, 15)
"""Columns and lines below which nothing useful can be shown."""

PAUSE = 0.1
POLL_EVERY = 0.1
REDRAW_EVERY = 3
"""Polls between two looks at the rows of a run that goes on."""

SETTLED = 0.4
"""Seconds that metrics over many rows wait: perhaps the author goes on typing."""

_WITH_MODEL = "open the file with guardtui score FILE --screen --model URL#name"
_ENDLESS = (
    "This regular expression takes far too long on these outputs: write one in which no repeated "
    "part holds a repeated part, as (a+)+ does."
)
_EXAMPLES = 'Write a scorer, such as match() or pattern(r"(\\d+)"); F4 lists all of them.'


@dataclass(frozen=True)
class ScoreOptions:
    """How to begin: expressions (the last one is tried, the others pinned) and how to measure."""

    expressions: tuple[str, ...] = ("match()",)
    metrics: MetricSet | None = None
    reducers: Reducers = None
    cluster: str | None = None
    group: str | None = None
    grading: Grading | None = None
    asked: bool = False
    """Whether scorers that ask models may do so at once."""


class ScoringScreen(Screen[None]):
    """Scores, measures and shows; the keys are those of `ScoresScreen`."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST[0], "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (LEAST[1], "-short"), (30, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(SCORES),
        *(one.binding for one in ACTIONS if one.name in SHARED),
    ]
    help_pane = "score_rows"

    def __init__(self, outputs: OutputSet, options: ScoreOptions | None = None) -> None:
        super().__init__()
        options = options or ScoreOptions()
        self.outputs = outputs
        self.options = options
        self.reducers: Reducers = options.reducers
        self.group = options.group
        self.pinned: list[LiveRun] = []
        self.live: LiveRun | None = None
        """What the line asks for."""
        self.shown: LiveRun | None = None
        """What the table shows of it: another one as soon as that has rows."""
        self.table_of_scores = ScoreTable(outputs)
        self.rows: ScoreRows | None = None
        self.view = ScoreView()
        self._measuring = asyncio.Lock()
        self._stale = self._rebuilding = self._chosen = False
        self._polls = 0
        self._drawn: tuple[Any, ...] = ()
        self.warnings = ScoreWarnings()
        self._header = Static("", id="score-header", markup=False)
        self.line = HistoryLine(PLACEHOLDER, "score-expression", "score_line")
        self._problem = Static("", id="score-problem", markup=False)
        self._metrics = Static("", id="score-metrics-text", markup=False)
        self.metrics_pane = VerticalScroll(self._metrics, id="score-metrics")
        self.metrics_pane.help_pane = "score_metrics"  # type: ignore[attr-defined]
        self.filter = HistoryLine(HINT, "score-filter", "score_filter")
        self._filter_problem = Static("", id="score-filter-problem", markup=False)
        self.table = FrameTable(
            table_columns(self.table_of_scores), search_column="output",
            empty_text=_EXAMPLES, id="score-table",
        )  # fmt: skip
        self.detail = ScoreDetail()

    def compose(self) -> ComposeResult:
        yield self._header
        with Horizontal(id="score-line"):
            yield Static(" scorer ", id="score-label", markup=False)
            yield self.line
        yield self._problem
        yield self.metrics_pane
        yield self.filter
        yield self._filter_problem
        yield self.table
        yield self.detail
        yield FittingFooter(compact=True, show_command_palette=False)
        yield Static(
            f"The scores need {LEAST[0]} columns, {LEAST[1]} lines.\n"
            "Nothing is lost: make the window larger.",
            id="too-small",
            markup=False,
        )

    def _mark_focus(self) -> None:
        """A sign in the title of the pane that keys go to; a colour alone says too little."""
        for pane, title in ((self.metrics_pane, "Metrics"), (self.detail, "Detail")):
            pane.border_title = f"▸ {title}" if pane is self.focused else title
        self.query_one("#score-label", Static).update(
            "▸scorer " if self.focused is self.line else " scorer "
        )

    def on_mount(self) -> None:
        self.watch(self, "focused", self._mark_focus)
        self.warnings.listen()
        self.use_config(getattr(self.app, "config", None))
        self.filter.display = self._filter_problem.display = self._problem.display = False
        self.detail.show(self.table_of_scores, None)
        for finding in self.outputs.findings:
            self.notify(display_text(finding.message), severity="warning", markup=False, timeout=10)
        self._show_header()
        self.set_interval(POLL_EVERY, self._poll)
        self.line.focus()
        self._begin()

    def on_unmount(self) -> None:
        for run in self._runs:
            run.stop()
        self.warnings.close()

    def use_config(self, config: Any) -> None:
        """Have the author's settings take effect."""
        self._pause = max(PAUSE, config.preview_pause) if config is not None else PAUSE
        self.table.vim = bool(config is not None and config.vim)

    @property
    def _runs(self) -> list[LiveRun]:
        others = [one for one in (self.shown, self.live) if one is not None]
        return list(dict.fromkeys([*self.pinned, *others]))

    @property
    def action_targets(self) -> Mapping[str, Widget]:
        """Who does the actions of the registry here."""
        shared = {f"{SCREEN}.{name}": self for name in SHARED}
        return {SCORES: self, TABLE: self.table, **shared}

    async def action_settings(self) -> None:
        await self.app.run_action("open_settings")

    async def action_choose_theme(self) -> None:
        await self.app.run_action("change_theme")

    async def action_quit(self) -> None:
        await self.app.run_action("quit")

    def action_show_help(self) -> None:
        from guardtui.tui.screens.help import show_help

        show_help(self.app)

    def action_jump(self) -> None:
        from guardtui.tui.screens.jump import show_jump

        show_jump(self.app)

    # --- from a line to scores ------------------------------------------------------------

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        *kept, last = self.options.expressions or ("",)
        for text in kept:
            scorer = await self._parsed(text)
            if scorer is None or (asks_models(scorer) and not self.options.asked):
                continue
            if not await asyncio.to_thread(never_ends, scorer, self.outputs.outputs):
                run = self._made(text, scorer)
                self.pinned.append(run)
                self._score(run)
        with self.prevent(Input.Changed):
            self.line.value = last
            self.line.cursor_position = len(last)
        self._try(last, asked=self.options.asked)

    @on(Input.Changed, "#score-expression")
    def expression_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._try(event.value)

    @on(Input.Submitted, "#score-expression")
    def expression_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.line.remember()
        self._try(event.value, asked=True)

    @work(exclusive=True, group="try")
    async def _try(self, text: str, *, asked: bool = False) -> None:
        """Score by what the line says after a pause; a newer line cancels this."""
        if not asked:
            await asyncio.sleep(self._pause)
        scorer = await self._parsed(text)
        if scorer is None:
            return
        text = text.strip()
        same = next((one for one in self._runs if one.judge.expression == text), None)
        if same is not None and not same.stopped and not (asked and same.problem):
            self._use(same)
        elif asks_models(scorer) and not asked:
            count = len(self.outputs)
            self._tell(f"This one puts {count:,} rows to a model: Enter starts it, Esc stops it.")
        elif await asyncio.to_thread(never_ends, scorer, self.outputs.outputs):
            self._tell(_ENDLESS)
        else:
            self._use(run := self._made(text, scorer))
            self._score(run)

    async def _parsed(self, text: str) -> Scorer | None:
        """The scorer of a line; None after its fault was pointed at, and what is shown stays."""
        if not text.strip():
            self._tell(_EXAMPLES)
            return None
        try:
            scorer = await asyncio.to_thread(parse_scorer, text)
        except ExpressionError as error:
            width = max(1, min(error.end, error.start + 40) - error.start)
            pointer = " " * min(error.start, 60) + "▔" * width
            self._tell(f"{error.problem}: {error.remedy}", pointer)
            return None
        self._tell("")
        return scorer

    def _made(self, text: str, scorer: Scorer) -> LiveRun:
        options = self.options
        (judge,) = make_judges([(text.strip(), scorer)], options.metrics)
        judge = replace(judge, metrics=with_standard_errors(judge.metrics, options.cluster))
        pinned = [one.judge.scorer for one in self.pinned]
        return LiveRun(self.outputs, judge, options.grading, options.cluster, pinned)

    def _use(self, run: LiveRun) -> None:
        before, self.live = self.live, run
        if before is not None and before is not run and before not in self.pinned:
            before.stop()
        if self.shown is None or run.done:
            self.shown = run
        self.redraw()

    @work(group="score")
    async def _score(self, run: LiveRun) -> None:
        await asyncio.to_thread(run.score)
        if run is self.live:
            if run.done or self.shown is None:  # else what was shown is better than nothing
                self.shown = run
            if run.problem and self.options.grading is None and run.asks:
                self._tell(f"{run.problem.splitlines()[0]}: {_WITH_MODEL}")
            elif run.problem:
                self._tell(": ".join(one.strip() for one in run.problem.splitlines()))
        self.redraw()
        if run.total > MANY_ROWS:
            await asyncio.sleep(SETTLED)
        await self._measure(run)

    async def _measure(self, run: LiveRun) -> None:
        """The metrics of a run, one after the other: they take all that one processor can."""
        async with self._measuring:
            if run not in self._runs or run.problem or (run.stopped and not run.asks):
                return
            while True:
                reducers = self.reducers
                try:
                    measured = await asyncio.to_thread(run.measure, reducers)
                except ScoreError as error:
                    run.problem = str(error)
                    break
                if reducers is self.reducers:
                    run.measured = measured
                    break
        self.redraw()

    @work(exclusive=True, group="measure")
    async def measure_again(self) -> None:
        """Metrics with the reducers that hold now, of all that is finished."""
        for run in self._runs:
            run.measured = None
            run.problem = "" if run.done else run.problem
        self.redraw()
        for run in self._runs:
            if run.finished:
                await self._measure(run)

    def _tell(self, text: str, pointer: str = "") -> None:
        """A line below that of the scorer; the pointer stands below what it is about."""
        self._problem.display = bool(text)
        told = display_text(text.replace("\n", " "))
        shown = Text()
        if pointer:
            lead = " " * len("scorer ") + pointer
            fits = len(lead) + len(told) + 3 < self.size.width
            shown.append(lead + (" " if fits else "\n"), "$text-error")
        shown.append(told, "$text-error" if pointer else "")
        self._problem.update(themed(shown))

    # --- what is shown --------------------------------------------------------------------

    def _poll(self) -> None:
        running = [one for one in self._runs if not one.finished]
        if not running:
            return
        self._polls += 1
        live = self.live
        if live is not None and live is not self.shown and live.done:
            self.shown = live
        if self._polls % REDRAW_EVERY == 0:
            self.redraw()
        else:
            self._show_metrics()

    def redraw(self) -> None:
        """Have the table show what there is now; in a thread, and one look at a time."""
        self._stale = True
        if not self._rebuilding:
            self._rebuilding = True
            self._rebuild()

    @work(group="view")
    async def _rebuild(self) -> None:
        try:
            while self._stale:
                self._stale = False
                view = self.view
                table, rows = await asyncio.to_thread(
                    worked_out,
                    self.outputs,
                    tuple(self.pinned),
                    self.shown,
                    self.table_of_scores,
                    view,
                )
                if view == self.view:
                    self._show(table, rows)
        finally:
            self._rebuilding = False

    def _show(self, table: ScoreTable, rows: ScoreRows) -> None:
        self.table_of_scores, self.rows = table, rows
        columns = table_columns(table)
        if columns != self.table.columns:
            self.table.set_columns(columns)
        self.table.sort = (self.view.sort, self.view.descending) if self.view.sort else None
        self.table.empty_text = (
            "No row passes the filter line: Esc takes it away." if self.view.search else _EXAMPLES
        )
        self.table.set_source(rows, keep_row=self._chosen)
        self._read_filter()
        self._show_header()
        self._show_metrics()
        self._show_detail()

    @property
    def tried(self) -> ScoreColumn | None:
        """The scorer of the line, as far as it is shown."""
        columns = self.table_of_scores.columns
        return next((one for one in columns if one.run is self.shown), None)

    def _show_header(self) -> None:
        name = display_text(Path(self.outputs.source).name)
        text = Text(f"guardtui scores  {name}  {len(self.outputs):,} rows")
        tried = self.tried
        if tried is not None:
            for what, count in tried.states.items():
                if count or what in ("scored", "unscored", "errors"):
                    style = "bold $text-error" if what == "errors" and count else ""
                    text.append("  ").append(f"{what} {count:,}", style)
        if self.rows is not None and len(self.rows) != len(self.outputs):
            text.append(f"  shown {len(self.rows):,}", "bold $text-accent")
        if self.warnings.heard:
            text.append(f"  ⚠ {len(self.warnings.heard)} (F6)", "bold $text-warning")
        self._header.update(themed(text), layout=False)

    def _show_metrics(self) -> None:
        shown = self.table_of_scores.columns
        state = [(id(one), one.run.done, one.run.finished, id(one.run.measured)) for one in shown]
        if (key := (state, self.shown, self.live)) == self._drawn:
            return
        self._drawn = key
        lines = [metric_lines(one, one.run is self.shown) for one in reversed(shown)]
        self._metrics.update(themed(Text("\n").join(lines)))

    def _show_detail(self) -> None:
        row = self.table.cursor_row_id
        self.detail.show(self.table_of_scores, row)

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._chosen = self._chosen or self.table.has_focus
        self._show_detail()

    @on(FrameTable.RowActivated)
    def row_activated(self) -> None:
        self.detail.focus()

    @on(FrameTable.HeaderClicked)
    def sort_by(self, event: HeaderClicked) -> None:
        again = event.column_key == self.view.sort
        self.ask(sort=event.column_key, descending=again and not self.view.descending)

    def ask(self, **changes: Any) -> None:
        """Have other rows shown, or in another order."""
        self.view = replace(self.view, **changes)
        self.redraw()

    # --- the filter line ------------------------------------------------------------------

    def _read_filter(self) -> bool:
        """Whether the line is understood; if not, its fault is pointed at."""
        table = self.table_of_scores
        typed = self.filter.value
        try:
            found = parse_score_filter(
                typed, [one.name for one in table.columns], list(self.outputs.metadata)
            )
        except FilterError as error:
            pointer = " " * min(error.start, 60) + "▔" * max(1, min(40, error.end - error.start))
            self._filter_problem.update(Text(f"{pointer} {display_text(str(error))}"))
            self._filter_problem.display = True
            return False
        self._filter_problem.display = False
        self.table.search = found.words
        return True

    @on(Input.Changed, "#score-filter")
    def filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._read_filter() and event.value.strip() != self.view.search:
            self.ask(search=event.value.strip())

    @on(Input.Submitted, "#score-filter")
    def filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.filter.remember()
        self.table.focus()

    def set_filter(self, line: str) -> None:
        """Put a line into the filter, or with "" take it away."""
        self.filter.remember()
        with self.prevent(Input.Changed):
            self.filter.value = line
        self.filter.display = bool(line)
        self._read_filter()
        self.ask(search=line)


def labels(columns: Sequence[ScoreColumn]) -> list[str]:
    """Names of scorers with how they were written, for lists."""
    return [f"{one.name:<14} {display_text(one.run.judge.expression)}" for one in columns]

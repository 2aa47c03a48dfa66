"""The threshold: its curves, moved by keys while the results behind are those of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from guardtui.advice.curves import neighbour, thinned
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import DECISION
from guardtui.domain.metrics import RATES
from guardtui.domain.operating_point import BY_HAND, SHIPPED
from guardtui.domain.sweep import Best, Sweep, best_threshold, sweep
from guardtui.tui.content import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.sweep_text import (
    VIEWS,
    Floors,
    areas_text,
    best_text,
    chart_text,
    here_text,
    read_floors,
    table_text,
    views_line,
)
from guardtui.tui.widgets.line_input import LineInput

COARSE = 0.05
"""How far a coarse step goes; a fine one goes to the next threshold with other verdicts."""
_KEYS = "←→↑↓ · b best · f floors · Tab · t table · Enter · Esc"


class ThresholdDialog(Modal[float | None]):
    """Gives the threshold to keep, or None; what is set meanwhile is told to `moved`."""

    BINDINGS = [
        ("escape", "close", "Put the old one back"),
        ("enter", "keep", "Keep"),
        ("left", "fine(-1)", "A little lower"),
        ("right", "fine(1)", "A little higher"),
        ("down,shift+left,pagedown", "coarse(-1)", "Lower"),
        ("up,shift+right,pageup", "coarse(1)", "Higher"),
        ("b", "best", "Best threshold"),
        ("f", "floors", "Floors"),
        ("t", "table", "Chart or table"),
        ("tab", "page(1)", "Next view"),
        ("shift+tab", "page(-1)", "View before"),
        *((str(place), f"view({name!r})", "View") for place, name in enumerate(VIEWS, start=1)),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    AUTO_FOCUS = ""

    help_pane = "sweep"

    def __init__(
        self,
        found: Sweep,
        threshold: float,
        moved: Callable[[float], None],
        floors: Floors | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self._sweep, self._before, self._moved, self._notes = found, threshold, moved, notes
        self._places = thinned(found)
        self._stale = False
        self.threshold = threshold
        self.floors = floors or Floors()
        self.view = VIEWS[0]
        self.shows_table = False
        self._best: Best | None = None
        self._working = True
        self._wants_best = False
        self._views = Static("", id="sweep-views", markup=False)
        self._here = Static("", id="sweep-here", markup=False)
        self._chart = Static("", id="sweep-chart", markup=False)
        self._told = Static("", id="sweep-best", markup=False)
        self._input = LineInput(
            placeholder="least TPR, least TNR: 0.9 0.8", compact=True, id="sweep-floors"
        )
        self._problem = Static("", id="sweep-problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="sweep") as panel:
            panel.border_title = "Threshold"
            panel.border_subtitle = _KEYS
            yield self._views
            yield self._here
            yield self._chart
            yield self._told
            yield self._input
            yield self._problem

    def on_mount(self) -> None:
        self._input.display = False
        self._say("\n".join(self._notes))
        self._look_for_best()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def _say(self, text: str) -> None:
        self._problem.display = bool(text)
        self._problem.update(themed(Text(f"⚠ {text}", "$text-warning") if text else Text()))
        self.call_after_refresh(self._draw)

    # --- what is shown --------------------------------------------------------------------

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        found, place = self._sweep, self._best.place if self._best is not None else None
        self._views.update(themed(views_line(self.view, table=self.shows_table)))
        here = here_text(found, self.threshold, self._before)
        here.append(f"  {areas_text(found, self.view)}", "$text-muted")
        self._here.update(themed(here))
        size = self._chart.size
        if size.width and size.height:
            draw = table_text if self.shows_table else chart_text
            text = draw(
                found, self._places, self.view, self.threshold, place, size.width, size.height
            )
            self._chart.update(themed(text))

    @work(exclusive=True, group="best")
    async def _look_for_best(self) -> None:
        """The best threshold with these floors, worked out beside the screen."""
        found, floors = self._sweep, self.floors
        self._best, self._working = None, True
        self._told.update(themed(Text("the best threshold is looked for …", "$text-muted")))
        self._draw()

        def work_out() -> tuple[Best | None, Text]:
            best = best_threshold(found, min_tpr=floors.tpr, min_tnr=floors.tnr)
            return best, best_text(found, best, floors)

        self._best, told = await asyncio.to_thread(work_out)
        self._working = False
        self._told.update(themed(told))
        if self._wants_best:
            self.action_best()
        # The texts may be of other heights now, and leave the chart another one.
        self._draw()
        self.call_after_refresh(self._draw)

    # --- moving ---------------------------------------------------------------------------

    def _move(self, threshold: float) -> None:
        if 0 < threshold < 1 and threshold != self.threshold:
            self.threshold = threshold
            self._moved(threshold)
            self._draw()

    def action_fine(self, way: int) -> None:
        """To the next threshold that gives other verdicts."""
        self._move(neighbour(self._sweep, self.threshold, way))

    def action_coarse(self, way: int) -> None:
        """A wide step, whatever it changes."""
        there = round(self.threshold + way * COARSE, 3)
        self._move(min(max(there, 0.001), 0.999))

    def action_best(self) -> None:
        """To the best threshold; as soon as it is known."""
        self._wants_best = self._working
        if self._best is not None:
            self._move(self._best.threshold)

    def action_table(self) -> None:
        """The same as numbers, and back."""
        self.shows_table = not self.shows_table
        self._draw()

    def action_view(self, name: str) -> None:
        """Show one of the curves."""
        self.view = name
        self._draw()

    def action_page(self, step: int) -> None:
        """The next view."""
        self.action_view(VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)])

    # --- floors ---------------------------------------------------------------------------

    def action_floors(self) -> None:
        """A line to write the least TPR and TNR into."""
        floors = self.floors
        self._input.value = f"{floors.tpr:g} {floors.tnr:g}" if str(floors) else ""
        self._input.display = True
        self._input.focus()
        self.call_after_refresh(self._draw)

    @on(Input.Submitted)
    def floors_given(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self.floors = read_floors(event.value)
        except ValueError as error:
            self._say(str(error))
            return
        self._leave_floors()
        self._look_for_best()

    def _leave_floors(self) -> None:
        self._input.display = False
        self.set_focus(None)
        self._say("\n".join(self._notes))

    # --- leaving --------------------------------------------------------------------------

    def action_keep(self) -> None:
        """Leave, and go on with the threshold as it is."""
        self.dismiss(self.threshold if self.threshold != self._before else None)

    def action_close(self) -> None:
        """Leave the line of floors, or the dialog with the old threshold back."""
        if self._input.display:
            self._leave_floors()
        else:
            self.dismiss(None)

    def leave_stale(self) -> None:
        """Close, as soon as this is in front: what the curves are of has changed."""
        self._stale = True
        if self.is_active:
            self.dismiss(None)

    @on(events.ScreenResume)
    def resumed(self) -> None:
        if self._stale:
            self.dismiss(None)


class _Moves(Protocol):
    """A threshold that can be moved: that of the scanner whose scores the curves are of."""

    @property
    def threshold(self) -> float | None:
        """The threshold before it is moved; None without one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known of the curves, a sentence each."""

    def move(self, to: float) -> None:
        """Show the results at this threshold."""

    def restore(self) -> None:
        """Put the old one back."""

    def keep(self, threshold: float) -> None:
        """Keep it for the session."""


class _EngineMoves:
    """Moves the threshold of the embedded engine."""

    def __init__(self, services: Services) -> None:
        self._services, self._scanner = services, services.engine.scanner
        self._before = self._scanner.settings

    @property
    def threshold(self) -> float | None:
        return self._before.threshold

    @property
    def notes(self) -> tuple[str, ...]:
        others = len(self._services.engine.measuring.companions)
        if not others:
            return ()
        topics = count_text(others, "other topic")
        return (f"curves of this definition alone; the table has {topics} too",)

    def move(self, to: float) -> None:
        self._scanner.use_threshold(to, BY_HAND)
        self._services.preview.request()

    def restore(self) -> None:
        before = self._before
        # None again where it was the engine's own.
        as_shipped = before.threshold_source == SHIPPED
        self._scanner.use_threshold(
            None if as_shipped else before.threshold, before.threshold_source
        )
        self._services.preview.request()

    def keep(self, threshold: float) -> None:
        self._services.sync.remember(
            {
                "encoder": self._scanner.encoder_name,
                "threshold": threshold,
                "threshold_source": BY_HAND,
            }
        )


class _DecisionMoves:
    """Moves the threshold of a decision model, by the probabilities of the scan that is shown."""

    notes: tuple[str, ...] = ()

    def __init__(self, services: Services, scan: Evaluation) -> None:
        self._scans, self.threshold = services.scans, scan.settings.threshold
        self._before = services.scans.threshold.chosen(scan.settings.identity)

    def move(self, to: float) -> None:
        self._scans.use_threshold(to, keep=False)

    def restore(self) -> None:
        self._scans.use_threshold(self._before, keep=False)

    def keep(self, threshold: float) -> None:
        self._scans.use_threshold(threshold)


class ThresholdFeature:
    """Shows the threshold's curves; moving it shows the results behind them."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.floors = Floors()
        """Those that were set last."""
        self._dialog: ThresholdDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_sweep": window.action(self.show_sweep)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Close curves of a definition or prompts that another program changed."""
        dialog = self._dialog
        if dialog is None or (new.topic == old.topic and new.prompts is old.prompts):
            return
        self._dialog = None
        dialog.leave_stale()
        self._window.notify(
            "The definition or the prompts changed: the curves are to be drawn anew."
        )

    async def show_sweep(self) -> None:
        """Show the curves of the threshold: of the decision model that scanned, or the engine."""
        await self._services.editing.finish_typing()
        evaluation = await self._scored()
        if evaluation is None:
            return
        if evaluation.settings.name == DECISION:
            moves: _Moves = _DecisionMoves(self._services, evaluation)
        else:
            moves = _EngineMoves(self._services)
        threshold = moves.threshold
        if threshold is None:
            return

        def work_out() -> Sweep:
            curves = sweep(
                evaluation.verdicts.score,
                evaluation.should_trigger,
                evaluation.topic.intent,
                evaluation.keys,
            )
            # What is drawn at each key is computed by then.
            for name in (*RATES, "roc_area", "average_precision"):
                getattr(curves, name)
            return curves

        curves = await asyncio.to_thread(work_out)

        dialog = ThresholdDialog(curves, threshold, moves.move, self.floors, moves.notes)
        self._dialog = dialog
        kept = None
        try:
            kept = await self._window.show(dialog)
        finally:
            self._dialog = None
            self.floors = dialog.floors
            if kept is None and dialog.threshold != threshold:
                moves.restore()
        if kept is not None:
            moves.keep(kept)

    async def _scored(self) -> Evaluation | None:
        """Return what has scores of the definition as it is, or None and say why.

        A scan by a decision model where one is shown, else an evaluation by the engine.
        """
        services, state = self._services, self._services.state
        if services.scans.under_way:
            self._window.notify("A scan is under way: let it end, or stop it first.")
            return None
        scan = services.scans.standing_scan()
        if scan is not None and scan.settings.name == DECISION:
            return scan
        if scan is not None:
            keys = self._window.keys_of("swap_preview")
            self._window.notify(
                f"The verdicts shown are those of {scan.settings.name}, which have no scores: only "
                f"the embedded engine has a threshold to move. {keys} shows its preview.",
                seconds=10,
            )
            return None
        shown = state.evaluation
        if shown is not None and shown.key == services.engine.key(state.topic, state.prompts):
            return shown
        return await services.preview.evaluate()

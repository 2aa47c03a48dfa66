"""The threshold sweep: curves, and a threshold that is moved while the results follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.curves import neighbour, thinned
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import DECISION, ENGINE, badge
from guardtui.domain.metrics import RATES
from guardtui.domain.operating_point import BY_HAND
from guardtui.domain.sweep import Best, Sweep, best_threshold, sweep
from guardtui.reports.thresholds import Floors
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.threshold.sweep_text import (
    VIEWS,
    areas_text,
    best_text,
    chart_text,
    here_text,
    read_floors,
    table_text,
    views_line,
)

COARSE = 0.05
"""Size of a coarse step; a fine one goes to the next threshold with other verdicts."""
_KEYS = "←→↑↓ · b best · f floors · Tab · t table · Enter · Esc"


class ThresholdDialog(Modal[float | None]):
    """Returns the threshold to keep, or None; `moved` is called with each one in between."""

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
        curves: Sweep,
        threshold: float,
        moved: Callable[[float], None],
        floors: Floors | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self._sweep, self._before, self._moved, self._notes = curves, threshold, moved, notes
        self._places = thinned(curves)
        self.threshold = threshold
        self.floors = floors or Floors()
        self.view = VIEWS[0]
        self.shows_table = False
        self._best: Best | None = None
        self._working = True
        self._wants_best = False
        self._views = Static("", id="sweep-views")
        self._here = Static("", id="sweep-here")
        self._chart = Static("", id="sweep-chart")
        self._best_line = Static("", id="sweep-best")
        self._input = LineInput(
            placeholder="least TPR, least TNR: 0.9 0.8", compact=True, id="sweep-floors"
        )
        self._problem = Static("", id="sweep-problem")

    def compose(self) -> ComposeResult:
        with Vertical(id="sweep") as panel:
            panel.border_title = "Threshold"
            panel.border_subtitle = _KEYS
            yield self._views
            yield self._here
            yield self._chart
            yield self._best_line
            yield self._input
            yield self._problem

    def on_mount(self) -> None:
        self._input.display = False
        self._show_note("\n".join(self._notes))
        self._look_for_best()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def _show_note(self, text: str) -> None:
        self._problem.display = bool(text)
        self._problem.update(themed(Text(f"⚠ {text}", "$text-warning") if text else Text()))
        self.call_after_refresh(self._draw)

    # --- what is shown --------------------------------------------------------------------

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        curves = self._sweep
        self._views.update(themed(views_line(self.view, table=self.shows_table)))
        current = here_text(curves, self.threshold, self._before)
        current.append(f"  {areas_text(curves, self.view)}", "$text-muted")
        self._here.update(themed(current))
        size = self._chart.size
        if size.width and size.height:
            place = self._places, self.threshold, self._best, size.width, size.height
            if self.shows_table:
                text = table_text(curves, *place)
            else:
                text = chart_text(curves, self.view, *place)
            self._chart.update(themed(text))

    @work(exclusive=True, group="best")
    async def _look_for_best(self) -> None:
        """Compute the best threshold with these floors in a thread."""
        curves, floors = self._sweep, self.floors
        self._best, self._working = None, True
        self._best_line.update(themed(Text("computing the best threshold …", "$text-muted")))
        self._draw()

        def work_out() -> tuple[Best | None, Text]:
            best = best_threshold(curves, min_tpr=floors.tpr, min_tnr=floors.tnr)
            return best, best_text(curves, best, floors)

        self._best, text = await asyncio.to_thread(work_out)
        self._working = False
        self._best_line.update(themed(text))
        if self._wants_best:
            self.action_best()
        # Other heights of the texts change the height of the chart.
        self._draw()
        self.call_after_refresh(self._draw)

    # --- moving ---------------------------------------------------------------------------

    def _move(self, threshold: float) -> None:
        if 0 < threshold < 1 and threshold != self.threshold:
            self.threshold = threshold
            self._moved(threshold)
            self._draw()

    def action_fine(self, step: int) -> None:
        """Move to the next threshold with other verdicts."""
        self._move(neighbour(self._sweep, self.threshold, step))

    def action_coarse(self, step: int) -> None:
        """Move by a coarse step."""
        target = round(self.threshold + step * COARSE, 3)
        self._move(min(max(target, 0.001), 0.999))

    def action_best(self) -> None:
        """Move to the best threshold, as soon as it is known."""
        self._wants_best = self._working
        if self._best is not None:
            self._move(self._best.threshold)

    def action_table(self) -> None:
        """Switch between chart and table."""
        self.shows_table = not self.shows_table
        self._draw()

    def action_view(self, name: str) -> None:
        """Show one of the curves."""
        self.view, self.shows_table = name, False
        self._draw()

    def action_page(self, step: int) -> None:
        """Show the next view (1) or the previous one (-1)."""
        self.action_view(VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)])

    # --- floors ---------------------------------------------------------------------------

    def action_floors(self) -> None:
        """Show the field for the least TPR and TNR."""
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
            self._show_note(str(error))
            return
        self._close_floors()
        self._look_for_best()

    def _close_floors(self) -> None:
        self._input.display = False
        self.set_focus(None)
        self._show_note("\n".join(self._notes))

    # --- closing --------------------------------------------------------------------------

    def action_keep(self) -> None:
        """Close, and keep the threshold."""
        self.dismiss(self.threshold if self.threshold != self._before else None)

    def action_close(self) -> None:
        """Close the field of floors, or the dialog and restore the old threshold."""
        if self._input.display:
            self._close_floors()
        else:
            self.dismiss(None)


class _EngineThreshold:
    """The threshold of the engine, moved, restored or kept; `notes` are on its curves."""

    def __init__(self, services: Services, shown: Evaluation) -> None:
        self._services, self._scanner = services, services.engine.scanner
        self._before = self._scanner.threshold
        self.threshold = shown.settings.threshold

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
        self._scanner.use_threshold(*self._before)
        self._services.preview.request()

    def keep(self, threshold: float) -> None:
        self._services.sync.remember(
            {
                "encoder": self._scanner.encoder_name,
                "threshold": threshold,
                "threshold_source": BY_HAND,
            }
        )


class _DecisionThreshold:
    """That of a decision model, applied to the probabilities of the shown scan."""

    notes: tuple[str, ...] = ()

    def __init__(self, services: Services, scan: Evaluation) -> None:
        self._scans, self.threshold = services.scans, scan.settings.threshold
        self._before = services.scans.results.threshold.chosen(scan.settings.guardrail)

    def move(self, to: float) -> None:
        self._scans.use_threshold(to, keep=False)

    def restore(self) -> None:
        self._scans.use_threshold(self._before, keep=False)

    def keep(self, threshold: float) -> None:
        self._scans.use_threshold(threshold)


class ThresholdFeature:
    """Shows the sweep; the results follow the threshold."""

    follows = ("topic", "prompts")

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.floors = Floors()
        """The floors of the last sweep."""
        self._dialog: ThresholdDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_sweep": window.action(self.show_sweep)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Close the sweep after a change of the definition or the prompts by another program."""
        dialog = self._dialog
        if dialog is None or (new.topic == old.topic and new.prompts is old.prompts):
            return
        self._dialog = None
        dialog.dismiss_when_active(None)
        self._window.notify("The definition or the prompts changed: open the curves again.")

    async def show_sweep(self) -> None:
        """Show the curves of the threshold: of the decision model that scanned, or the engine."""
        await self._services.editing.finish_typing()
        evaluation = await self._scored()
        if evaluation is None:
            return
        moves: _EngineThreshold | _DecisionThreshold
        if evaluation.settings.kind == DECISION:
            moves = _DecisionThreshold(self._services, evaluation)
        else:
            moves = _EngineThreshold(self._services, evaluation)
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
            # Computed now, since they are drawn at each key.
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
        """Return an evaluation with scores of the current definition; None after a message.

        The shown scan by a decision model, else an evaluation by the engine.
        """
        services, state = self._services, self._services.state
        if services.scans.under_way:
            self._window.notify("A scan is under way: let it end, or stop it first.")
            return None
        scan = services.scans.results.standing()
        if scan is not None and scan.settings.kind == DECISION:
            return scan
        shown = state.evaluation if scan is None else scan
        if shown is not None and shown.settings.kind != ENGINE:
            keys = self._window.keys_of("swap_preview")
            self._window.notify(
                f"The figures shown are of {badge(shown.settings)}, which has no threshold to "
                f"move: {keys} shows those of the engine.",
                seconds=10,
            )
            return None
        return await services.preview.current()

"""The threshold: its curves, moved by keys while the results behind are those of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from guardtui.advice.curves import neighbour, thinned
from guardtui.advice.sweep import Best, Sweep, best_threshold, sweep
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import RATES
from guardtui.tui.actions import ACTIONS, key_names
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.screens.scanning import ScanningScreen
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


class SweepScreen(ScanningScreen):
    """The action that shows the threshold's curves."""

    _floors = Floors()
    """Those that were set last."""
    _sweep_dialog: ThresholdDialog | None = None

    @work(exclusive=True, group="dialog")
    async def action_show_sweep(self) -> None:
        await self._take_typed()
        evaluation = await self._scored()
        if evaluation is None:
            return

        def work_out() -> Sweep:
            found = sweep(
                evaluation.verdicts.score, evaluation.should_trigger, evaluation.topic.intent
            )
            # What is drawn at each key is known by then.
            for name in (*RATES, "roc_area", "average_precision"):
                getattr(found, name)
            return found

        scanner = self.scanner
        settings = scanner.settings
        threshold = settings.threshold
        if threshold is None:
            return
        found = await asyncio.to_thread(work_out)
        others = len(self.measuring.companions)
        notes: tuple[str, ...] = ()
        if others:
            topics = f"{others} other topic{'s' * (others != 1)}"
            notes = (f"curves of this definition alone; the table has {topics} too",)

        def moved(to: float) -> None:
            scanner.use_threshold(to, "by hand")
            self._preview()

        dialog = self._sweep_dialog = ThresholdDialog(found, threshold, moved, self._floors, notes)
        kept = None
        try:
            kept = await self.app.push_screen_wait(dialog)
        finally:
            self._sweep_dialog = None
            self._floors = dialog.floors
            if kept is None and dialog.threshold != threshold:
                # None again where it was the engine's own.
                by_default = settings.threshold_source == "default"
                scanner.use_threshold(None if by_default else threshold, settings.threshold_source)
                self._preview()
        if kept is not None:
            self._remember(
                {
                    "encoder": scanner.encoder_name,
                    "threshold": kept,
                    "threshold_source": "by hand",
                }
            )

    async def _scored(self) -> Evaluation | None:
        """The embedded engine's evaluation of what is here; None, and told, where there is none."""
        if self._under_way:
            self.notify("A scan is under way: let it end, or stop it first.")
            return None
        scan = self.standing_scan()
        if scan is not None:
            keys = next(
                key_names(one, self.app._keymap) for one in ACTIONS if one.name == "swap_preview"
            )
            self.notify(
                f"The verdicts shown are those of {scan.settings.name}, which have no scores: only "
                f"the embedded engine has a threshold to move. {keys} shows its preview.",
                timeout=10,
            )
            return None
        shown = self.evaluation
        if (
            shown is not None
            and shown.topic == self.session.topic
            and shown.settings == self.measuring.settings
            and shown.prompt_set == self.workspace.prompts.fingerprint
        ):
            return shown
        return await self._evaluate(self.session.topic)

    def _changed(self) -> None:
        super()._changed()
        dialog = self._sweep_dialog
        if dialog is not None:
            # Another program changed a file: the curves are no longer of what is here.
            self._sweep_dialog = None
            dialog.leave_stale()
            self.notify("The definition or the prompts changed: the curves are to be drawn anew.")

"""The tour: six short steps in a box over the live app, which goes on working below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Footer, Static

from guardtui.tui.actions import ACTIONS, key_names
from guardtui.tui.content import themed
from guardtui.tui.messages import ViewChanged
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.metrics_panel import Dashboard, MetricsPanel, number

EDITED, CHOSEN, RECORDED, FILTERED = "edited", "chosen", "recorded", "filtered"


@dataclass(frozen=True, slots=True)
class Step:
    """A step: the pane it speaks of on a small screen, and the one its box may cover.

    `wanted` is what the step asks the author to try, "" for nothing. `alone` says that on a small
    screen the detail leaves its room to the results.
    """

    title: str
    text: str
    pane: str
    covers: str
    wanted: str = ""
    alone: bool = False


def steps(keymap: Mapping[str, str] | None = None) -> tuple[Step, ...]:
    """The six steps, with the keys of the registry or those the author set instead."""
    keys = {one.name: key_names(one, keymap) for one in ACTIONS}
    return (
        Step(
            "the topic",
            "This is the definition your guardrail is given: name, description, examples, intent. "
            "Beside each field: the bytes used and allowed. ⚠ says which limit is broken. "
            f"{keys['next_pane']} goes from pane to pane.",
            "editor",
            "#detail",
        ),
        Step(
            "the metrics",
            "TPR: of the prompts that should trigger, how many do. TNR: of the others, how many "
            "do not. Coverage is the smaller of the two: the figure to raise.",
            "metrics",
            "#detail",
        ),
        Step(
            "an edit",
            "Try it: change a word of the description. At the pause the metrics move, and the "
            "table shows what broke (✗R) and what is fixed (✓F). Nothing is saved yet.",
            "editor",
            "#detail",
            EDITED,
        ),
        Step(
            "the mistakes",
            "The results begin with the mistakes. Try it: choose a prompt with the arrows. The "
            "detail says why: the nearest part, and the words that raise (▴) or lower (▾) its "
            "score.",
            "results",
            "#metrics",
            CHOSEN,
        ),
        Step(
            "keep or discard",
            f"{keys['keep']} keeps an edit that is better and saves it; {keys['discard']} "
            f"discards it and goes back to the best. Both are remembered: "
            f"{keys['show_history']} shows all. {keys['undo']} takes an edit back.",
            "metrics",
            "#detail",
            RECORDED,
        ),
        Step(
            "filter, export, help",
            f"In the results / filters, 7 shows all. {keys['export']} writes a report beside the "
            f"topic file; the history is in .guardtui there. {keys['show_help']} explains the "
            "pane you are in, ^p finds every command.",
            "results",
            "#metrics",
            FILTERED,
            alone=True,
        ),
    )


class TourEnded(Message):
    """The tour was left, at step 0 …; `finished` says whether it was at its end."""

    def __init__(self, step: int, *, finished: bool) -> None:
        self.step, self.finished = step, finished
        super().__init__()


class TourBox(Vertical):
    """One step of the tour. It never has the focus: its buttons are for the mouse."""

    help_pane = "tour"

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__(id="tour")
        self.step = 0
        self._steps = steps(keymap)
        self._noticed = ""
        self._start: Dashboard | None = None
        self._text = Static("", id="tour-text", markup=False)
        self._buttons = (
            Button("← Back (alt+←)", id="tour-back", compact=True),
            Button("Next → (alt+→)", id="tour-next", compact=True, variant="primary"),
            Button("Leave (Esc)", id="tour-leave", compact=True),
        )
        for button in self._buttons:
            button.can_focus = False

    @property
    def current(self) -> Step:
        """The step that is shown."""
        return self._steps[self.step]

    @property
    def is_last(self) -> bool:
        """Whether there is no step after this one."""
        return self.step == len(self._steps) - 1

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="tour-body", can_focus=False):
            yield self._text
        with Horizontal(id="tour-buttons"):
            yield from self._buttons

    def show(self, step: int, now: Dashboard | None) -> None:
        """Show a step; `now` is what the metrics show when it begins."""
        self.step = max(0, min(len(self._steps) - 1, step))
        self._noticed, self._start = "", now
        self.border_title = f"Tour {self.step + 1} of {len(self._steps)}: {self.current.title}"
        back, following, _ = self._buttons
        back.disabled = not self.step
        following.label = "Done" if self.is_last else "Next →"
        self._draw()

    def lie_over(self, over: bool) -> None:
        """Lie over a pane, or between the panes."""
        self.set_class(over, "-over")
        self._draw()

    def notice(self, what: str, told: str) -> None:
        """Say that what the step asks for was done."""
        if what == self.current.wanted:
            self._noticed = told
            self._draw()

    def measured(self, shown: Dashboard) -> None:
        """Notice an edit or a record by what the metrics show before and after."""
        start = self._start
        if start is None:
            self._start = shown
            return
        if len(shown.history) > len(start.history):
            self.notice(RECORDED, "that is recorded now")
        if shown.evaluation.topic != start.evaluation.topic:
            before, now = (number(one.evaluation.metrics.coverage) for one in (start, shown))
            self.notice(EDITED, f"coverage {before} → {now}: that was your edit")

    def _draw(self) -> None:
        text = Text(self.current.text)
        # Between the panes the box must not grow: it would take the rows of what is tried.
        below = bool(self._noticed) and not self.has_class("-over")
        self.border_subtitle = f"✓ {self._noticed}" if below else "alt+← alt+→"
        if self._noticed and not below:
            text.append(f"\n✓ {self._noticed}", "bold $text-success")
        self._text.update(themed(text))


class Touring(Screen[None]):
    """A screen that can be toured: the tour's keys, its box and where that lies.

    The screen has panes with the ids of `Step.covers`, and a method `_show_pane(name)`.
    """

    BINDINGS = [
        Binding("alt+right,alt+n", "tour_step(1)", "Next step", show=False, priority=True),
        Binding("alt+left,alt+w", "tour_step(-1)", "Step before", show=False, priority=True),
        # Not before what has the focus: the filter is left by the same key.
        Binding("escape", "leave_tour", "Leave the tour", show=False),
    ]

    def _show_pane(self, following: str) -> None:
        raise NotImplementedError

    @property
    def tour(self) -> TourBox | None:
        """The tour's box while it is shown."""
        return next(iter(self.query(TourBox)), None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("tour_step", "leave_tour"):
            return self.tour is not None
        return super().check_action(action, parameters)

    async def action_tour(self) -> None:
        """Start the tour at its first step, or leave it."""
        if self.tour is not None:
            self.action_leave_tour()
            return
        box = TourBox(dict(self.app._keymap))
        box.lie_over(self._side_by_side)
        await self.mount(box, before=self.query_one(Footer))
        self.watch(self.query_one(MetricsPanel), "dashboard", self._tour_measured, init=False)
        self._show_step(0)

    def action_tour_step(self, step: int) -> None:
        box = self.tour
        if box is None:
            return
        if step > 0 and box.is_last:
            self.action_leave_tour()
        else:
            self._show_step(box.step + step)

    def action_leave_tour(self) -> None:
        box = self.tour
        if box is not None:
            box.remove()
            self.remove_class("-touring", "-touring-alone")
            self.post_message(TourEnded(box.step, finished=box.is_last))

    def _show_step(self, step: int) -> None:
        box = self.tour
        if box is None:
            return
        box.show(step, self.query_one(MetricsPanel).dashboard)
        if not self._side_by_side and not self.has_class(f"-pane-{box.current.pane}"):
            self._show_pane(box.current.pane)
        self.call_after_refresh(self._place_tour)

    @property
    def _side_by_side(self) -> bool:
        return self.has_class("-wide") and self.has_class("-tall")

    def _place_tour(self) -> None:
        """Lay the box over a pane that is not spoken of, or, without room, between the panes."""
        box = self.tour
        if box is None:
            return
        self.set_class(not self._side_by_side, "-touring")
        self.set_class(not self._side_by_side and box.current.alone, "-touring-alone")
        covered = self.query_one(box.current.covers)
        if box.has_class("-over") != self._side_by_side:
            # What it leaves room for, or no longer does, is drawn first: then the panes lie still.
            box.lie_over(self._side_by_side)
            self.call_after_refresh(self._place_tour)
        elif self._side_by_side:
            box.styles.offset = covered.region.offset
            box.styles.width, box.styles.height = covered.region.size
        else:
            box.styles.offset = (0, 0)
            box.styles.width, box.styles.height = "100%", "auto"

    @on(events.Resize)
    def _tour_resized(self) -> None:
        self.call_after_refresh(self._place_tour)

    @on(Button.Pressed, "TourBox Button")
    def _tour_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "tour-leave":
            self.action_leave_tour()
        else:
            self.action_tour_step(-1 if event.button.id == "tour-back" else 1)

    def _tour_measured(self, shown: Dashboard | None) -> None:
        if shown is not None and self.tour is not None:
            self.tour.measured(shown)

    @on(FrameTable.RowSelected)
    def _tour_chosen(self) -> None:
        if self.tour is not None and self.query_one(FrameTable).has_focus:
            self.tour.notice(CHOSEN, "chosen: the detail below tells its reason")

    @on(ViewChanged)
    def _tour_filtered(self) -> None:
        if self.tour is not None:
            self.tour.notice(FILTERED, "the table shows what you asked for")

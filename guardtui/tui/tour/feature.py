"""The tour: five short steps in a box over the live app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button

from guardtui.app.state import AppState
from guardtui.domain.figures import rate_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import Dashboard
from guardtui.tui.registry.actions import ACTIONS, first_key, key_names

EDITED, CHOSEN, RECORDED = "edited", "chosen", "recorded"

_IN_A_PANE = (EDITED, CHOSEN)
"""Tasks that need the focus in the pane of the step."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step: its pane on a small screen, and the pane that its box may cover.

    `wanted` is the task of the step, or "".
    """

    title: str
    text: str
    pane: str
    covers: str
    wanted: str = ""


def steps(keymap: Mapping[str, str] | None = None) -> tuple[TourStep, ...]:
    """Return the five steps, with the author's keys."""
    keys = {action.name: key_names(action, keymap) for action in ACTIONS}
    return (
        TourStep(
            "the definition and the engine",
            "This is the definition your guardrail is given; beside each field the bytes used and "
            "allowed. At each pause the engine, a quick approximation of your guardrail, judges "
            "all prompts with it. "
            f"{keys['next_pane']} goes from pane to pane.",
            "editor",
            "detail",
        ),
        TourStep(
            "the metrics",
            "TPR: of the prompts that should trigger, how many do. TNR: of the others, how many "
            "do not. Coverage is the smaller of the two: the figure to raise. The engine's "
            "threshold is fitted to your labels by itself.",
            "metrics",
            "detail",
        ),
        TourStep(
            "an edit",
            "Try it: Tab goes to the description; change a word there. The metrics move, and the "
            "table marks each prompt that broke or is fixed. The line Next names the step that is "
            f"likely to help most; {first_key('take_idea', keymap)} previews and takes it.",
            "editor",
            "detail",
            EDITED,
        ),
        TourStep(
            "the mistakes",
            "The results begin with the mistakes, and have the focus now. Try it: choose a prompt "
            f"with the arrows. {first_key('explain_mistake', keymap)} says why it is judged wrong "
            f"and which edit would fix it; {first_key('use_as_example', keymap)} makes it an "
            "example.",
            "results",
            "metrics",
            CHOSEN,
        ),
        TourStep(
            "keep, and scan",
            f"{keys['keep']} keeps an edit that is better and saves it; {keys['discard']} goes "
            f"back to the best. {keys['scan']} asks your guardrail itself, and tells the cost "
            f"first. {first_key('show_help', keymap)} explains the pane you are in, "
            f"{first_key('open_menu', keymap)} shows what all keys do.",
            "metrics",
            "detail",
            RECORDED,
        ),
    )


class TourBox(Vertical):
    """A step of the tour. It never has the focus: its buttons are for the mouse."""

    help_pane = "tour"

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__(id="tour")
        self.step = 0
        self._steps = steps(keymap)
        self._noticed = ""
        self._start: Dashboard | None = None
        self._text = Static("", id="tour-text")
        self._buttons = (
            Button("← Previous (alt+←)", id="tour-back", compact=True),
            Button("Next → (alt+→)", id="tour-next", compact=True),
            Button("Close (Esc)", id="tour-close", compact=True),
        )
        for button in self._buttons:
            button.can_focus = False

    @property
    def current(self) -> TourStep:
        """The current step."""
        return self._steps[self.step]

    @property
    def is_last(self) -> bool:
        """Return whether this is the last step."""
        return self.step == len(self._steps) - 1

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="tour-body", can_focus=False):
            yield self._text
        with Horizontal(id="tour-buttons"):
            yield from self._buttons

    def show(self, step: int, now: Dashboard | None) -> None:
        """Show a step; `now` is the dashboard at its beginning."""
        self.step = max(0, min(len(self._steps) - 1, step))
        self._noticed, self._start = "", now
        self.border_title = f"Tour {self.step + 1} of {len(self._steps)}: {self.current.title}"
        previous, following, _ = self._buttons
        previous.disabled = not self.step
        following.label = "Done" if self.is_last else "Next →"
        self._draw()

    def lie_over(self, over: bool) -> None:
        """Place the box over a pane, or between the panes."""
        self.set_class(over, "-over")
        self._draw()

    def notice(self, subject: str, message: str) -> None:
        """Show that the task of the step was done, if it is `subject`."""
        if subject == self.current.wanted:
            self._noticed = message
            self._draw()

    def measured(self, shown: Dashboard) -> None:
        """Notice an edit or a new iteration by the dashboard before and after."""
        start = self._start
        if start is None:
            self._start = shown
            return
        if len(shown.history) > len(start.history):
            self.notice(RECORDED, "that is recorded now")
        if shown.evaluation.topic != start.evaluation.topic:
            before, now = (
                rate_text(dashboard.evaluation.metrics.coverage) for dashboard in (start, shown)
            )
            self.notice(EDITED, f"coverage {before} → {now}: that was your edit")

    def _draw(self) -> None:
        text = Text(self.current.text)
        # Between the panes the box must not grow: it would hide rows.
        below = bool(self._noticed) and not self.has_class("-over")
        self.border_subtitle = f"✓ {self._noticed}" if below else "alt+← alt+→"
        if self._noticed and not below:
            text.append(f"\n✓ {self._noticed}", "bold $text-success")
        self._text.update(themed(text))


class TourFeature:
    """Shows the box of the tour, and notices which tasks the author does."""

    follows = ("evaluation", "comparison", "figures", "iterations", "fit")

    def __init__(self, window: Window) -> None:
        self._window, self._panes = window, window.panes
        self.box: TourBox | None = None
        """The box while the tour is shown."""
        self._focused_before: Widget | None = None
        self.actions: Mapping[str, ActionMethod] = {"tour": self.turn}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Notice new figures; the metrics pane is updated before this."""
        shown = self._panes.metrics.dashboard
        if self.box is not None and shown is not None and new.evaluation is not None:
            self.box.measured(shown)

    def turn(self) -> None:
        """Start the tour at its first step, or end it."""
        if self.box is not None:
            self.close()
        else:
            self._window.start(self._begin(), group="tour")

    async def _begin(self) -> None:
        box = self.box = TourBox(dict(self._window.keymap))
        box.lie_over(self._panes.side_by_side)
        await self._panes.mount_before_footer(box)
        self._focused_before = box.screen.focused
        # The pane that it covers gets its region whenever the screen is laid out.
        box.screen.screen_layout_refresh_signal.subscribe(box, lambda _: self._place())
        self._show_step(0)

    def step(self, step: int) -> None:
        """Go to the next step (1) or the previous one (-1)."""
        box = self.box
        if box is None:
            return
        if step > 0 and box.is_last:
            self.close()
        else:
            self._show_step(box.step + step)

    def close(self) -> None:
        """End the tour, with the focus where it was before: letters typed there run no command."""
        box, self.box = self.box, None
        if box is not None:
            box.remove()
            self._panes.set_touring(False)
            if self._focused_before is not None:
                self._panes.focus(self._focused_before)

    def pressed(self, button: str | None) -> None:
        """Handle a button of the box."""
        if button == "tour-close":
            self.close()
        else:
            self.step(-1 if button == "tour-back" else 1)

    def resized(self) -> None:
        """Place the box again."""
        self._window.later(self._place)

    def chose_row(self) -> None:
        """Notice that a row was chosen."""
        if self.box is not None and self._panes.results.table.has_focus:
            self.box.notice(CHOSEN, "chosen: the detail below shows its reason")

    def _show_step(self, step: int) -> None:
        box = self.box
        if box is None:
            return
        box.show(step, self._panes.metrics.dashboard)
        if box.current.wanted in _IN_A_PANE:
            # Focus the pane of the step, unless it has the focus.
            self._panes.show(box.current.pane, keep_focus=True)
        elif not self._panes.side_by_side and self._panes.shown != box.current.pane:
            self._panes.show(box.current.pane)
        self._window.later(self._place)

    def _place(self) -> None:
        """Place the box over a pane that the step does not need, or between the panes."""
        box, over = self.box, self._panes.side_by_side
        if box is None:
            return
        self._panes.set_touring(not over)
        covered = self._panes.named(box.current.covers)
        if box.has_class("-over") != over:
            # The panes are laid out first.
            box.lie_over(over)
            self._window.later(self._place)
        elif over:
            box.styles.offset = covered.region.offset
            box.styles.width, box.styles.height = covered.region.size
        else:
            box.styles.offset = (0, 0)
            box.styles.width, box.styles.height = "100%", "auto"

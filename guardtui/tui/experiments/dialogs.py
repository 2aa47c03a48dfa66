"""The question before an experiment, and the page of a running or ended one."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input
from textual.widgets.option_list import Option

from guardtui.advice.experiment_candidates import names
from guardtui.app.experiments.status import ExperimentPlan, ExperimentStatus
from guardtui.domain.figures import calls_text, count_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.experiments.text import candidate_lines, head_text, ranked
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.form import FormDialog, row
from guardtui.tui.kit.inert import OptionList, Static
from guardtui.tui.kit.styled_text import themed

_POLL = 0.1
_SHOWN = 200  # characters of a name
_MOST_CALLS = 10_000_000


class ExperimentPlanDialog(FormDialog[int | None]):
    """Shows candidates, calls, cost, and what happens to a profile; returns the limit of calls."""

    BINDINGS = [("g", "accept", "Begin")]

    help_pane = "experiment_plan"

    def __init__(self, plan: ExperimentPlan) -> None:
        super().__init__(
            f"Test {count_text(len(plan.candidates), 'edit')} on the guardrail",
            "Esc cancels, nothing is sent",
            yes="Begin (g)",
        )
        self._plan = plan

    def fields(self) -> ComposeResult:
        plan = self._plan
        yield VerticalScroll(Static(themed(plan_text(plan))), classes="scrolled")
        yield row("At most", LineInput(str(plan.most), id="limit", type="integer", compact=True))
        yield Static("calls; with fewer than all need, fewer edits are tried", classes="origin")

    def on_mount(self) -> None:
        self.query_one("#yes").focus()

    def accept(self) -> None:
        field = self.query_one("#limit", Input)
        text = field.value.strip()
        limit = int(text) if text.isdecimal() and len(text) < 9 else 0
        if not 0 < limit <= _MOST_CALLS:
            field.focus()
            self.problem.show("The calls are a whole number from 1 on.")
        else:
            self.dismiss(limit)


def plan_text(plan: ExperimentPlan) -> Text:
    """Return what an experiment tries and takes, and what happens to a profile."""
    text = Text(display_text(plan.who), "bold")
    text.append(f": {calls_text(plan.expected, plan.most)}")
    if plan.duration:
        text.append(f"; {plan.duration}")
    if plan.cost:
        text.append(f"; {display_text(plan.cost)}")
    if plan.recorded:
        text.append(
            f"\n{count_text(plan.recorded, 'verdict')} on the definition as it is are known.",
            "$text-muted",
        )
    for line in filter(None, plan.changes.split("\n")):
        text.append(f"\n  + {display_text(line)}")
    for note in plan.notes:
        text.append(f"\n⚠ {display_text(note)}", "$text-warning")
    text.append("\n\nEach is asked about a growing part of the prompts; hopeless ones are dropped.")
    for name in names(plan.topic, plan.candidates):
        text.append(f"\n  · {display_start(name, _SHOWN)}")
    return text


class ExperimentPage(EditList[str]):
    """The candidates of an experiment, best first; it follows the experiment while it is open.

    Returns what the author wants: "keep", "new" or "again", or None.
    """

    BINDINGS = [
        Binding("k", "keep", "Keep the better edit"),
        Binding("p", "pause", "Pause or continue"),
        Binding("x", "stop", "Stop"),
        Binding("n", "answer('new')", "Another experiment"),
    ]

    TITLE_TEXT = "Edits tested on the guardrail"

    help_pane = "experiment"

    def __init__(
        self,
        status: Callable[[], ExperimentStatus | None],
        definition: Callable[[], Topic],
        *,
        running: Callable[[], bool],
        pause: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        now = status()
        assert now is not None  # noqa: S101 - shown for an experiment only
        self._status, self._definition = status, definition
        self._under_way, self._pause, self._stop = running, pause, stop
        self._shown = now
        self._order: list[int] = ranked(now)
        lines = candidate_lines(now)
        super().__init__([("", lines[index]) for index in self._order], ())

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = self.TITLE_TEXT
            yield Static("", id="experiment-head")
            yield OptionList(
                *(Option(themed(line), id=str(n)) for n, (_, line) in enumerate(self._edits)),
                compact=True,
            )
            with VerticalScroll(classes="described"):
                yield Static("", id="difference")

    def on_mount(self) -> None:
        super().on_mount()
        self._draw_head()
        self.set_interval(_POLL, self._follow)

    def described(self, index: int) -> Text:
        candidate = self._shown.candidates[self._order[index]].candidate
        text = Text()
        if candidate.origin:
            text.append(f"From {display_start(candidate.origin, 300)}.\n\n", "$text-muted")
        text.append_text(difference_text(self._shown.topic, candidate.topic))
        if candidate.why:
            text.append(f"\nThe model: {display_start(candidate.why, 400)}\n", "italic")
        return text

    def _follow(self) -> None:
        """Show what has changed; the highlighted candidate stays highlighted."""
        now = self._status()
        if now is None or now is self._shown:
            self._draw_keys()
            return
        listed = self.query_one(OptionList)
        chosen = self._order[listed.highlighted or 0]
        self._shown, order = now, ranked(now)
        lines = candidate_lines(now)
        for place, index in enumerate(order):
            listed.replace_option_prompt_at_index(place, themed(lines[index]))
        if order != self._order:
            self._order = order
            listed.highlighted = order.index(chosen)
            self.query_one("#difference", Static).update(themed(self.described(self.index)))
        self._draw_head()

    def _draw_head(self) -> None:
        now = self._shown
        text = head_text(now, edited=self._definition() != now.topic)
        self.query_one("#experiment-head", Static).update(themed(text))
        self._draw_keys()

    def _draw_keys(self) -> None:
        if self._under_way():
            keys = "p continues" if self._shown.held else "p pauses"
            keys += " · x stops · Esc, it goes on"
        elif self._shown.best is not None:
            is_best = self._order[self.index] == self._shown.best
            keeps = "Enter or k keeps it" if is_best else "k keeps the best edit"
            keys = f"{keeps} · n another experiment · Esc"
        elif self._shown.stopped:
            keys = "Enter goes on · n another experiment · Esc"
        else:
            keys = "n another experiment · Esc"
        self.query_one(".page").border_subtitle = keys

    def take(self, index: int) -> None:
        """Keep the best of what is better, or go on with a stopped experiment."""
        if self._under_way():
            return
        if self._shown.best is not None:
            if self._order[index] == self._shown.best:  # no other one is kept
                self.dismiss("keep")
        elif self._shown.stopped:
            self.dismiss("again")

    def action_keep(self) -> None:
        """Keep the better edit."""
        if not self._under_way() and self._shown.best is not None:
            self.dismiss("keep")

    def action_pause(self) -> None:
        """Pause the experiment, or continue."""
        if self._under_way():
            self._pause()

    def action_stop(self) -> None:
        """Ask whether to stop the experiment."""
        if self._under_way():
            self._stop()

    def action_answer(self, answer: str) -> None:
        """End the page with what the author wants, unless the experiment goes on."""
        if not self._under_way():
            self.dismiss(answer)

"""The questions before a scan and before a check of the likely changes: changes, cost, goal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Input

from guardtui.app.scan.plan import (
    FlipGoal,
    FlipPlan,
    ScanChoice,
    ScanPlan,
)
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.styled_text import themed

_STYLES = {"plain": "", "warning": "$text-warning", "aside": "$text-muted"}


_NOTHING_SENT = "Esc cancels, nothing is sent"


def _plan(plan: ScanPlan) -> VerticalScroll:
    lines = (Text(line, _STYLES[tone]) for line, tone in plan.lines())
    return VerticalScroll(Static(themed(Text("\n").join(lines))), classes="scrolled")


def _other_ways(plan: ScanPlan) -> Iterator[Button]:
    """Yield the buttons for the same without applying, and with the other guardrail."""
    if plan.unknown is not None:
        yield Button(Text("Without applying (s)"), id="as-is", compact=True)
    if plan.other:
        yield Button(Text(f"{plan.other} (o)"), id="other", compact=True)


class ScanDialog(FormDialog[ScanChoice | None]):
    """Shows the changes and cost of a scan before anything is sent."""

    BINDINGS = [
        ("g", "accept", "Scan"),
        ("l", "choose('likely')", "Likely changes only"),
        ("s", "choose('as-is')", "Without applying"),
        ("o", "choose('other')", "Ask the other one"),
        ("t", "choose('agreed')", "Without asking"),
    ]

    help_pane = "scan"

    def __init__(self, plan: ScanPlan) -> None:
        super().__init__(plan.heading, _NOTHING_SENT, yes=f"{plan.yes} (g)")
        self._plan, self._agreed = plan, plan.agreed
        self._has_likely = plan.cost.likely < plan.cost.prompts

    def _agreed_text(self) -> Text:
        sign = "[x]" if self._agreed else "[ ]"
        deploys = self._plan.changes is not None and not self._plan.judge
        more = "; Discard then restores the best" if deploys else ""
        return Text(f"{sign} From now on without asking{more} (t)")

    def fields(self) -> ComposeResult:
        cost = self._plan.cost
        yield _plan(self._plan)
        yield Label(cost.text(cost.prompts, cost.known))
        if cost.logged:
            yield Label(f"{cost.logged:,} more have a verdict of production, from the log")
        if self._has_likely:
            likely = cost.text(cost.likely, cost.likely_known)
            yield Label(f"Likely changes only: {likely}")
        yield Button(self._agreed_text(), id="agreed", compact=True)

    def more_buttons(self) -> Iterator[Button]:
        if self._has_likely:
            yield Button(Text("Likely changes (l)"), id="likely", compact=True)
        yield from _other_ways(self._plan)

    def on_mount(self) -> None:
        self.query_one("#yes", Button).focus()

    def accept(self) -> None:
        self._end(likely=False)

    def chose(self, button: Button) -> None:
        self.action_choose(button.id or "")

    def action_choose(self, what: str) -> None:
        """Do what a button does; nothing if the dialog does not have it."""
        if what == "agreed":
            self._agreed = not self._agreed
            self.query_one("#agreed", Button).label = self._agreed_text()
        elif what == "other" and self._plan.other:
            self.dismiss(ScanChoice(apply=False, likely=False, agreed=False, other=True))
        elif what == "likely" and self._has_likely:
            self._end(likely=True)
        elif what == "as-is" and self._plan.unknown is not None:
            self.dismiss(ScanChoice(apply=False, likely=False, agreed=self._agreed))

    def _end(self, *, likely: bool) -> None:
        self.dismiss(ScanChoice(bool(self._plan.changes), likely, self._agreed))


class FlipDialog(FormDialog[ScanChoice | None]):
    """Shows the changes, cost and goal of a check before anything is sent."""

    BINDINGS = [
        ("g", "accept", "Check"),
        ("s", "choose('as-is')", "Without applying"),
        ("o", "choose('other')", "Ask the other one"),
    ]

    help_pane = "flips"

    def __init__(self, plan: FlipPlan) -> None:
        scan = plan.scan
        title = f"Check the likely changes with {scan.who if scan.judge else 'AIRS'}"
        yes = "Apply and check (g)" if scan.changes else "Check (g)"
        super().__init__(title, _NOTHING_SENT, yes=yes)
        self._plan = plan

    def fields(self) -> ComposeResult:
        plan = self._plan
        yield _plan(plan.scan)
        yield Label(plan.aim)
        with Horizontal(classes="flip-goal"):
            yield Label("±")
            yield LineInput(f"{plan.goal.within:g}", id="within", type="number", compact=True)
            yield Label("or the calls are made:")
            yield LineInput(str(plan.goal.calls), id="calls", type="integer", compact=True)
        yield Label(plan.cost(plan.goal.calls), id="flip-cost")

    def more_buttons(self) -> Iterator[Button]:
        yield from _other_ways(self._plan.scan)

    def on_mount(self) -> None:
        self.query_one("#yes", Button).focus()

    def _goal(self) -> FlipGoal | None:
        """Return the goal of the fields; None after focusing an invalid one."""
        within, calls = self.query_one("#within", Input), self.query_one("#calls", Input)
        wanted, most = _number(within.value), _number(calls.value)
        if not 0 < wanted < 1:
            within.focus()
            self.problem.show("The interval is a number between 0 and 1, such as 0.02.")
        elif not 1 <= most < 1e9 or most != int(most):
            calls.focus()
            self.problem.show("The calls are a whole number from 1 on.")
        else:
            return FlipGoal(wanted, int(most))
        return None

    def changed(self, field: Input) -> None:
        """Update the cost while the number of calls is typed."""
        super().changed(field)
        most = _number(self.query_one("#calls", Input).value)
        if 1 <= most < 1e9:
            self.query_one("#flip-cost", Label).update(self._plan.cost(int(most)))

    def accept(self) -> None:
        self._end(apply=bool(self._plan.scan.changes))

    def chose(self, button: Button) -> None:
        self.action_choose(button.id or "")

    def action_choose(self, what: str) -> None:
        """Check without applying, or switch to the other guardrail."""
        if what == "as-is" and self._plan.scan.unknown is not None:
            self._end(apply=False)
        elif what == "other" and self._plan.scan.other:
            self.dismiss(ScanChoice(apply=False, likely=False, agreed=False, other=True))

    def _end(self, *, apply: bool) -> None:
        goal = self._goal()
        if goal is not None:
            choice = ScanChoice(apply=apply, likely=False, agreed=self._plan.scan.agreed)
            self.dismiss(replace(choice, goal=goal))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan

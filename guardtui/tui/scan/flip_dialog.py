"""The question before a check of the likely flips: what it does, and when it ends."""

from __future__ import annotations

import math
from dataclasses import replace

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input

from guardtui.app.scan.plan import FlipGoal, FlipPlan, ScanChoice
from guardtui.domain.figures import count_text
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.scan.dialogs import cost_text, plan_text


class FlipDialog(Modal[ScanChoice | None]):
    """Shows the changes, cost and goal of a check before anything is sent."""

    BINDINGS = [
        ("g", "choose('all')", "Check"),
        ("s", "choose('as-is')", "Without applying"),
        ("o", "choose('other')", "Ask the other one"),
    ]

    help_pane = "flips"

    def __init__(self, plan: FlipPlan) -> None:
        super().__init__()
        self._plan = plan

    def compose(self) -> ComposeResult:
        plan, scan = self._plan, self._plan.scan
        scanner = scan.who if scan.judge else "AIRS"
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Check the likely flips with {scanner}"
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            with VerticalScroll(classes="scan-changes"):
                yield Static(themed(plan_text(scan)))
            yield Label(
                f"Coverage is expected at {plan.coverage.text}, from "
                f"{count_text(plan.scans, 'scan')}. Prompts in doubt are scanned until it is "
                "within",
            )
            with Horizontal(classes="flip-goal"):
                yield Label("±")
                yield LineInput(f"{plan.goal.within:g}", id="within", type="number", compact=True)
                yield Label("or the calls are made:")
                yield LineInput(str(plan.goal.calls), id="calls", type="integer", compact=True)
            yield Label(self._cost(plan.goal.calls), id="flip-cost")
            with Horizontal(classes="buttons"):
                first = "Apply and check (g)" if scan.changes else "Check (g)"
                yield Button(Text(first), id="all", variant="primary", compact=True)
                if scan.changes:
                    yield Button(Text("Without applying (s)"), id="as-is", compact=True)
                if scan.other:
                    yield Button(Text(f"{scan.other} (o)"), id="other", compact=True)
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def _cost(self, calls: int) -> str:
        """Return the cost with at most so many calls."""
        plan, cost = self._plan, self._plan.scan.cost
        words = f"In doubt: {cost_text(cost, plan.doubtful, plan.known)}."
        if cost.expense is None:
            return words
        most = min(calls, plan.calls)
        if 0 < most < plan.calls:
            words += f" At most {count_text(most, 'call')}: {cost.expense.text(most)}."
        return words

    def on_mount(self) -> None:
        self.query_one("#all", Button).focus()

    def _goal(self) -> FlipGoal | None:
        """Return the goal of the fields; None after focusing an invalid one."""
        within, calls = self.query_one("#within", Input), self.query_one("#calls", Input)
        wanted, most = _number(within.value), _number(calls.value)
        if not 0 < wanted < 1:
            self._refuse(within, "The interval is a number between 0 and 1, such as 0.02.")
        elif not 1 <= most < 1e9 or most != int(most):
            self._refuse(calls, "The calls are a whole number from 1 on.")
        else:
            return FlipGoal(wanted, int(most))
        return None

    def _refuse(self, field: Input, reason: str) -> None:
        field.focus()
        self.notify(reason, severity="warning")

    @on(Input.Changed, "#calls")
    def show_cost(self) -> None:
        """Update the cost while the number of calls is typed."""
        most = _number(self.query_one("#calls", Input).value)
        if 1 <= most < 1e9:
            self.query_one("#flip-cost", Label).update(self._cost(int(most)))

    @on(Input.Submitted)
    def submitted(self) -> None:
        self.action_choose("all")

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "leave":
            self.dismiss(None)
        else:
            self.action_choose(event.button.id or "all")

    def action_choose(self, what: str) -> None:
        """Check with the chosen options, or switch to the other guardrail."""
        scan = self._plan.scan
        choice = ScanChoice(apply=bool(scan.changes), likely=False, agreed=scan.agreed)
        if what == "other":
            if scan.other:
                self.dismiss(replace(choice, apply=False, other=True))
            return
        goal = self._goal()
        if goal is not None:
            apply = choice.apply and what != "as-is"
            self.dismiss(replace(choice, apply=apply, goal=goal))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan

"""The question before a scan: what it changes and costs."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button

from guardtui.app.scan.plan import ScanChoice, ScanCost, ScanPlan
from guardtui.domain.figures import count_text, duration_text
from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed


def cost_text(cost: ScanCost, prompts: int, known: int) -> str:
    """Return the cost of a scan of so many prompts, of which `known` are cached."""
    calls = cost.calls(prompts, known)
    words = f"{count_text(prompts, 'prompt')}: {known} known, {count_text(calls, 'call')}"
    if cost.expense is not None and cost.expense.models > 1:
        words += f" to each of {cost.expense.models} models"
    if calls and cost.rate:
        words += f", about {duration_text(calls / cost.rate)}"
    expense = "" if cost.expense is None else cost.expense.text(calls)
    return f"{words}; {expense}" if expense else words


def plan_text(plan: ScanPlan) -> Text:
    """Return the target of a scan, its changes there, warnings, and the basis of the cost."""
    text = Text(display_text(plan.title))
    if plan.judge:
        text.append("\nEach prompt is sent to the model, with the definition as it is here.")
    elif plan.changes is None:
        text.append(
            "\nNo service account is set, so the definition is not applied: verdicts are on the "
            "profile's current one.",
            "$text-warning",
        )
    elif not plan.changes:
        text.append("\nThe profile has this definition in effect.")
    else:
        text.append("\nTo have this definition in effect:")
        for change in plan.changes:
            text.append(f"\n  + {display_text(change)}")
    for warning in plan.warnings:
        text.append(f"\n⚠ {display_text(warning)}", "$text-warning")
    if plan.cost.expense is not None:
        text.append(f"\n{plan.cost.expense.basis}", "$text-muted")
    return text


class ScanDialog(Modal[ScanChoice | None]):
    """Shows the changes and cost of a scan before anything is sent."""

    BINDINGS = [
        ("l", "choose('likely')", "Likely changes only"),
        ("s", "choose('as-is')", "Without applying"),
        ("g", "choose('all')", "Scan"),
        ("o", "choose('other')", "Ask the other one"),
        ("t", "turn_agreed", "Without asking"),
    ]

    help_pane = "scan"

    def __init__(self, plan: ScanPlan) -> None:
        super().__init__()
        self._plan = plan
        self._agreed = plan.agreed

    def _agreed_text(self) -> Text:
        sign = "[x]" if self._agreed else "[ ]"
        return Text(f"{sign} From now on without asking; Discard then restores the best (t)")

    def compose(self) -> ComposeResult:
        plan, cost = self._plan, self._plan.cost
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Scan with {plan.who}" if plan.judge else "Scan with AIRS"
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            with VerticalScroll(classes="scan-changes"):
                yield Static(themed(plan_text(plan)))
            yield Label(cost_text(cost, cost.prompts, cost.known))
            if cost.likely < cost.prompts:
                likely = cost_text(cost, cost.likely, cost.likely_known)
                yield Label(f"Likely changes only: {likely}")
            if plan.changes is not None and not plan.judge:
                yield Button(self._agreed_text(), id="agreed", compact=True)
            with Horizontal(classes="buttons"):
                first = "Apply and scan (g)" if plan.changes else "Scan (g)"
                yield Button(Text(first), id="all", variant="primary", compact=True)
                if cost.likely < cost.prompts:
                    yield Button(Text("Likely changes (l)"), id="likely", compact=True)
                if plan.changes:
                    yield Button(Text("Without applying (s)"), id="as-is", compact=True)
                if plan.other:
                    yield Button(Text(f"{plan.other} (o)"), id="other", compact=True)
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one("#all", Button).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "leave":
            self.dismiss(None)
        elif event.button.id == "agreed":
            self.action_turn_agreed()
        else:
            self.action_choose(event.button.id or "all")

    def action_choose(self, what: str) -> None:
        plan = self._plan
        if what == "other":
            if plan.other:
                self.dismiss(ScanChoice(apply=False, likely=False, agreed=False, other=True))
            return
        if what == "likely" and plan.cost.likely >= plan.cost.prompts:
            return
        apply = bool(plan.changes) and what != "as-is"
        self.dismiss(ScanChoice(apply, what == "likely", self._agreed))

    def action_turn_agreed(self) -> None:
        """Toggle whether later scans start without this question."""
        if self._plan.changes is not None and not self._plan.judge:
            self._agreed = not self._agreed
            self.query_one("#agreed", Button).label = self._agreed_text()

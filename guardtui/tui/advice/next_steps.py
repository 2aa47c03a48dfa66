"""The next steps: the line below the definition, the list, and taking a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.text import Text

from guardtui.advice.objective import CONFIDENCE
from guardtui.app.next_steps import NextStep, NextSteps, StepKind, gain_text
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import badge, guardrail_text
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.advice.refinement import proposal_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.registry.actions import action_named, first_key, menu_path
from guardtui.tui.results.model import PromptSelection

MEASURING = "measuring edits …"
LABEL_HERE = "where labels teach"
LATER = "edits are measured once the prompts are embedded and no scan is under way"

_EXPLAINED = {
    StepKind.CHECK: (
        "The forecast is unsure: these prompts are the likeliest to change their verdict. Scanning "
        "them gives the most evidence for the fewest calls; the cost is shown before anything is "
        "sent.\n"
    ),
    StepKind.ADD_PROMPTS: (
        "With so few prompts, every figure and gain may be chance. Write prompts as your users "
        "do, of both kinds, and some that nearly belong.\n"
    ),
    StepKind.ASK_MODEL: (
        "The model is shown the definition and at most half of the mistakes, in one call. Its "
        "wordings are measured like other edits, without the prompts that it saw, and added to "
        "this list if they certainly help.\n"
    ),
}


class NextStepList(EditList[NextStep]):
    """At most five steps, best first."""

    TITLE_TEXT = "Next steps"
    KEYS_TEXT = "Enter takes one · Esc closes"

    help_pane = "next_steps"

    def __init__(self, steps: NextSteps) -> None:
        notes = []
        result = steps.result
        if result is not None:
            notes.append(
                f"Measured by {guardrail_text(result.settings)}; gains are those expected on other "
                f"prompts, with {CONFIDENCE:.0%} intervals."
            )
            notes += result.rows.notes
        notes += steps.notes
        super().__init__([(step, step_line(step)) for step in steps.steps], notes)
        self._steps = steps

    def described(self, index: int) -> Text:
        return step_text(self._steps.topic, self._steps.steps[index])


def step_line(step: NextStep) -> Text:
    """Return a step in one line: its gain if measured, and its text."""
    line = Text()
    if step.gain is not None:
        line.append(f"{gain_text(step.gain)}  ", "bold $text-success")
    return line.append(step.text)


def step_text(current: Topic, step: NextStep) -> Text:
    """Return a step in full."""
    if step.proposal is not None:
        text = proposal_text(current, step.proposal)
        if step.proposal.why:
            text.append(f"\nThe model: {display_start(step.proposal.why, 400)}\n", "italic")
        return text
    return Text(f"{step.detail}\n" if step.detail else _EXPLAINED[step.kind])


class NextStepFeature:
    """Shows the next step and takes it."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._line = window.panes.next_line
        self.actions: Mapping[str, ActionMethod] = {
            "take_next_step": window.action(self.take_best),
            "next_steps": window.action(self.choose),
            "suggest": window.action(self.ask_model),
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show the best step for the current definition."""
        if new.next is old.next and new.topic == old.topic and new.evaluation is old.evaluation:
            return
        steps = self._current(new)
        pending = ""
        if steps is None:
            scanned = new.evaluation is None or not new.evaluation.metrics.open
            pending = MEASURING if scanned and self._services.refinement.is_ready else LATER
        self._line.show(steps, self._keys, pending, self._other_guardrail(steps, new.evaluation))

    @property
    def _keys(self) -> tuple[str, str]:
        """The keys through the menu, which work everywhere: with words, and to take the step."""
        menu = first_key("open_menu", self._window.keymap)
        take, more = (menu_path(action_named(name)) for name in ("take_next_step", "next_steps"))
        short = f"{menu} {' '.join(take)}"
        return f"{short} take · {' '.join(more)} more", short

    @staticmethod
    def _current(state: AppState) -> NextSteps | None:
        steps = state.next
        return steps if steps is not None and steps.topic == state.topic else None

    @staticmethod
    def _other_guardrail(steps: NextSteps | None, shown: Evaluation | None) -> str:
        """Return the guardrail that measured the steps, or "" if it is the shown one."""
        if steps is None or steps.result is None or shown is None:
            return ""
        measuring, _ = badge(steps.result.settings)
        return "" if measuring == badge(shown.settings)[0] else measuring

    async def take_best(self) -> None:
        """Take the shown step."""
        steps = await self._ready()
        if steps is not None and steps.best is not None:
            await self._take(steps, steps.best)

    async def choose(self) -> None:
        """Show the list of steps."""
        steps = await self._ready()
        if steps is None or not steps.steps:
            return
        chosen = await self._window.show(NextStepList(steps))
        if chosen is not None:
            await self._take(steps, chosen)

    async def ask_model(self) -> None:
        """Request wordings from the model, and show the steps with those that help."""
        if await self._services.next_steps.ask_model():
            await self.choose()

    async def _ready(self) -> NextSteps | None:
        """Return the steps for the current definition; without any, show why."""
        await self._services.editing.finish_typing()
        steps = self._current(self._services.state)
        if steps is None:
            self._window.notify("Edits of this definition are still being measured.")
        elif not steps.steps:
            self._window.notify(f"{steps.note}.")
        return steps

    async def _take(self, steps: NextSteps, step: NextStep) -> None:
        if step.proposal is not None:
            await self._services.next_steps.take(steps.topic, step.proposal)
        elif step.kind is StepKind.CHECK:
            self._window.perform("check_flips")
        elif step.kind is StepKind.LABEL:
            self._window.panes.show("results")
            self._window.panes.results.pick(
                PromptSelection(LABEL_HERE, np.array(step.keys, np.uint64))
            )
            self._window.notify(
                "Label more prompts like these: I adds one like the selected one, Esc shows all."
            )
        elif step.kind is StepKind.ASK_MODEL:
            await self.ask_model()
        else:
            self._window.panes.show("results")
            self._window.notify("i in the results adds a prompt.")

"""The wordings of a trial, each with its origin, and the cost of the trial."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding

from guardtui.advice.candidates import Candidate
from guardtui.app.wording_runs import WordingPlan
from guardtui.domain.text import display_start
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text

_SHOWN = 300


class WordingPlanDialog(EditList[bool]):
    """Returns True if the author agrees; Escape declines."""

    BINDINGS = [
        Binding("y", "answer(True)", "Try them"),
        Binding("n", "answer(False)", "Cancel", show=False),
    ]

    TITLE_TEXT = "Wordings to try"
    KEYS_TEXT = "Enter or y tries all · Esc cancels, nothing is sent"

    help_pane = "wording_plan"

    def __init__(self, plan: WordingPlan) -> None:
        notes = [*plan.cost.split("\n"), *(f"⚠ {note}" for note in plan.notes)]
        super().__init__([(True, wording_line(wording)) for wording in plan.wordings[1:]], notes)
        self._plan = plan

    def described(self, index: int) -> Text:
        wording = self._plan.wordings[1 + index]
        return origin_text(wording).append_text(difference_text(self._plan.topic, wording.topic))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


def wording_line(wording: Candidate) -> Text:
    """Return a wording in one line: its origin and its change."""
    line = Text(f"{display_start(wording.origin, _SHOWN)}  ", "$text-accent")
    return line.append(display_start(wording.change, _SHOWN), "$text-muted")


def origin_text(wording: Candidate) -> Text:
    """Return the origin of a wording as a line of its own."""
    return Text(f"From {display_start(wording.origin, _SHOWN)}.\n\n", "$text-muted")

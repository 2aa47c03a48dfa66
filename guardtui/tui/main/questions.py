"""Which dialog shows which question of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text
from textual.screen import ModalScreen

from guardtui.app.ports import Answers, Choose, Confirm, Question
from guardtui.app.scan_plan import FlipPlan, ScanPlan
from guardtui.domain.text import display_text
from guardtui.tui.airs import dialogs as airs_dialogs
from guardtui.tui.screens import dialogs
from guardtui.tui.screens.flip_dialog import FlipDialog
from guardtui.tui.screens.scan_dialogs import Answers as AnswersDialog
from guardtui.tui.screens.scan_dialogs import ScanDialog


def _confirm(question: Confirm) -> ModalScreen[Any]:
    return dialogs.Confirm(question.text, question.yes, question.no, calm=question.calm)


def _answers(question: Answers) -> ModalScreen[Any]:
    return AnswersDialog(question.text, question.answers)


def _choose(question: Choose) -> ModalScreen[Any]:
    # The names may be anybody's texts, and not fit to be ids.
    options = [(str(index), Text(display_text(name))) for index, name in enumerate(question.names)]
    return dialogs.Choice(question.title, options)


def answer_of(question: Question[Any], result: Any) -> Any:
    """Return the answer that the result of a question's dialog stands for."""
    if isinstance(question, Choose) and result is not None:
        return question.names[int(result)]
    return result


DIALOGS: Mapping[type[Question[Any]], Callable[[Any], ModalScreen[Any]]] = {
    Confirm: _confirm,
    Answers: _answers,
    Choose: _choose,
    ScanPlan: ScanDialog,
    FlipPlan: FlipDialog,
    **airs_dialogs.DIALOGS,
}

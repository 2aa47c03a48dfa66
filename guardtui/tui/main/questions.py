"""The dialog for each question of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text
from textual.screen import ModalScreen

from guardtui.app.advice.wording_trials import TypeWordings, WordingPlan
from guardtui.app.ports import Choose, ChooseAnswer, Confirm, Question
from guardtui.app.scan.plan import FlipPlan, ScanPlan
from guardtui.domain.text import display_text
from guardtui.tui.advice.wording_dialogs import WordingPlanDialog, WordingsDialog
from guardtui.tui.airs import dialogs as airs_dialogs
from guardtui.tui.kit import dialogs
from guardtui.tui.scan.dialogs import ScanDialog
from guardtui.tui.scan.flip_dialog import FlipDialog


def _confirm(question: Confirm) -> ModalScreen[Any]:
    return dialogs.ConfirmDialog(question.text, question.yes, question.no, calm=question.calm)


def _answers(question: ChooseAnswer) -> ModalScreen[Any]:
    return dialogs.AnswersDialog(question.text, question.answers)


def _choose(question: Choose) -> ModalScreen[Any]:
    # The names may be any text, and are not valid ids.
    options = [(str(index), Text(display_text(name))) for index, name in enumerate(question.names)]
    return dialogs.ChoiceDialog(question.title, options)


def answer_of(question: Question[Any], result: Any) -> Any:
    """Return the answer for the result of a question's dialog."""
    if isinstance(question, Choose) and result is not None:
        return question.names[int(result)]
    return result


DIALOGS: Mapping[type[Question[Any]], Callable[[Any], ModalScreen[Any]]] = {
    Confirm: _confirm,
    ChooseAnswer: _answers,
    Choose: _choose,
    ScanPlan: ScanDialog,
    FlipPlan: FlipDialog,
    TypeWordings: WordingsDialog,
    WordingPlan: WordingPlanDialog,
    **airs_dialogs.DIALOGS,
}

"""The dialog for each question of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text
from textual.screen import ModalScreen

from guardtui.app.advice.wording_trials import TypeWordings
from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.airs.remote_topics import ShowTopic
from guardtui.app.experiments.status import ExperimentPlan
from guardtui.app.ports import Choose, ChooseAnswer, Confirm, Question
from guardtui.app.scan.plan import FlipPlan, ScanPlan
from guardtui.domain.text import display_text
from guardtui.tui.advice.wording_dialogs import WordingsDialog
from guardtui.tui.airs.dialogs import changes_dialog, topic_dialog
from guardtui.tui.experiments.dialogs import ExperimentPlanDialog
from guardtui.tui.kit.dialogs import AnswersDialog, ChoiceDialog, ConfirmDialog
from guardtui.tui.scan.dialogs import FlipDialog, ScanDialog


def _choose(question: Choose) -> ModalScreen[Any]:
    # The names may be any text, and are not valid ids.
    options = [(str(index), Text(display_text(name))) for index, name in enumerate(question.names)]
    return ChoiceDialog(question.title, options)


def answer_of(question: Question[Any], result: Any) -> Any:
    """Return the answer for the result of a question's dialog."""
    if isinstance(question, Confirm | ShowChanges | ShowTopic):
        return result is not None
    if isinstance(question, Choose) and result is not None:
        return question.names[int(result)]
    return result


DIALOGS: Mapping[type[Question[Any]], Callable[[Any], ModalScreen[Any]]] = {
    Confirm: lambda asked: ConfirmDialog(asked.text, asked.yes, asked.no, calm=asked.calm),
    ChooseAnswer: lambda asked: AnswersDialog(asked.text, asked.answers),
    Choose: _choose,
    ScanPlan: ScanDialog,
    FlipPlan: FlipDialog,
    TypeWordings: WordingsDialog,
    ExperimentPlan: ExperimentPlanDialog,
    ShowChanges: changes_dialog,
    ShowTopic: topic_dialog,
}

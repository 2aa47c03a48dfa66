"""Dialogs for the topics in AIRS: a topic word by word, and the changes that would be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.airs.remote_topics import ShowTopic
from guardtui.app.airs.tenant_topics import too_large
from guardtui.app.ports import Question
from guardtui.domain.definition_changes import DiffKind, paired_examples
from guardtui.domain.text import display_start, display_text
from guardtui.tui.editor.definition_diff import append_pieces, compare_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed

_EXAMPLES = 12  # of a definition: a service may send any number


class TopicTextDialog(Modal[bool]):
    """The difference of a topic in AIRS to the local definition; returns True to copy it."""

    BINDINGS = [("escape,q", "answer(False)", "Close"), ("t", "answer(True)", "Copy")]

    help_pane = "remote_text"

    def __init__(self, question: ShowTopic) -> None:
        super().__init__()
        self._topic, self._intent, self._here = question.topic, question.intent, question.here
        self._large = too_large(question.topic)

    def compose(self) -> ComposeResult:
        topic = self._topic
        with Vertical(classes="page short-page") as page:
            page.border_title = f"The text of revision {topic.revision}, the newest"
            page.border_subtitle = "Esc closes"
            with VerticalScroll():
                yield Static(themed(self._difference()))
            with Horizontal(classes="buttons"):
                yield Button(
                    Text("Copy to the editor (t)"),
                    id="take",
                    variant="primary",
                    compact=True,
                    disabled=self._large,
                )
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def _difference(self) -> Text:
        topic, current = self._topic, self._here
        if self._large:
            text = Text("Too large for a definition: it cannot be copied.\n", "$text-error")
            return text.append(display_start(topic.description, 1000), "not bold")
        text = Text("Against yours: ")
        append_pieces(
            text, [(DiffKind.ADDED, "in AIRS"), (DiffKind.SAME, " "), (DiffKind.REMOVED, "here")]
        )
        text.append("\n\nname         ", "$text-muted")
        compare_text(text, current.name, topic.topic_name)
        text.append("\nintent       ", "$text-muted")
        if self._intent is None:
            text.append(f"stays {current.intent}: the profile does not say")
        else:
            compare_text(text, str(current.intent), str(self._intent))
        text.append("\ndescription  ", "$text-muted")
        compare_text(text, current.description, topic.description)
        pairs = paired_examples(current.examples[:_EXAMPLES], topic.examples[:_EXAMPLES])
        for number, (before, after) in enumerate(pairs, 1):
            text.append(f"\nexample {number:<4} ", "$text-muted")
            compare_text(text, before, after)
        return text

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "take")

    def action_answer(self, answer: bool) -> None:
        if not (answer and self._large):
            self.dismiss(answer)


class ChangesDialog(Modal[bool]):
    """The changes that would be sent, with warnings; Escape is no."""

    BINDINGS = [("escape,n", "answer(False)", "No"), ("y", "answer(True)", "Yes")]

    help_pane = "confirm"

    def __init__(self, question: ShowChanges) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        question = self._question
        text = Text(display_text(f"Profile {question.title}, revision {question.revision}"))
        for change in question.changes or ("nothing: it is unchanged",):
            text.append(f"\n  + {display_text(change)}")
        for warning in question.warnings:
            text.append(f"\n⚠ {display_text(warning)}", "$text-warning")
        title, yes = "Put your definition into effect", "Apply (y)"
        if question.reverts:
            title, yes = "Revert in AIRS", "Revert (y)"
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = title
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            with VerticalScroll(classes="scan-changes"):
                yield Static(themed(text))
            with Horizontal(classes="buttons"):
                yield Button(Text(yes), id="yes", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#yes", Button).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


DIALOGS: dict[type[Question[Any]], Callable[[Any], Modal[Any]]] = {
    ShowChanges: ChangesDialog,
    ShowTopic: TopicTextDialog,
}
"""The dialog of each question about a remote change."""

"""Dialogs for the topics in AIRS: a topic word by word, and the changes that would be sent."""

from __future__ import annotations

from rich.text import Text

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.airs.remote_topics import ShowTopic
from guardtui.app.airs.tenant_topics import too_large
from guardtui.domain.definition_changes import DiffKind, paired_examples
from guardtui.domain.text import display_start, display_text
from guardtui.tui.editor.definition_diff import compare_text
from guardtui.tui.editor.field import append_pieces
from guardtui.tui.kit.dialogs import AnswersDialog

_EXAMPLES = 12  # of a definition: a service may send any number


def topic_dialog(question: ShowTopic) -> AnswersDialog:
    """Return the difference of a topic in AIRS to the local definition; an answer copies it."""
    large = too_large(question.topic)
    return AnswersDialog(
        _too_large_text(question) if large else _difference(question),
        [] if large else [("t", "copy", "Copy to the editor")],
        title=f"The text of revision {question.topic.revision}, the newest",
        keys="Esc closes",
        frame="page short-page",
        help_pane="remote_text",
    )


def _too_large_text(question: ShowTopic) -> Text:
    text = Text("Too large for a definition: it cannot be copied.\n", "$text-error")
    return text.append(display_start(question.topic.description, 1000), "not bold")


def _difference(question: ShowTopic) -> Text:
    topic, current = question.topic, question.here
    text = Text("Against yours: ")
    append_pieces(
        text, [(DiffKind.ADDED, "in AIRS"), (DiffKind.SAME, " "), (DiffKind.REMOVED, "here")]
    )
    text.append("\n\nname         ", "$text-muted")
    compare_text(text, current.name, topic.topic_name)
    text.append("\nintent       ", "$text-muted")
    if question.intent is None:
        text.append(f"stays {current.intent}: the profile does not say")
    else:
        compare_text(text, str(current.intent), str(question.intent))
    text.append("\ndescription  ", "$text-muted")
    compare_text(text, current.description, topic.description)
    pairs = paired_examples(current.examples[:_EXAMPLES], topic.examples[:_EXAMPLES])
    for number, (before, after) in enumerate(pairs, 1):
        text.append(f"\nexample {number:<4} ", "$text-muted")
        compare_text(text, before, after)
    return text


def changes_dialog(question: ShowChanges) -> AnswersDialog:
    """Return the changes that would be sent, with warnings; an answer agrees."""
    text = Text(display_text(f"Profile {question.title}, revision {question.revision}"))
    for change in question.changes or ("nothing: it is unchanged",):
        text.append(f"\n  + {display_text(change)}")
    for warning in question.warnings:
        text.append(f"\n⚠ {display_text(warning)}", "$text-warning")
    return AnswersDialog(
        text,
        [("y", "yes", "Revert" if question.reverts else "Apply")],
        title="Revert in AIRS" if question.reverts else "Put your definition into effect",
        keys="Esc cancels, nothing is sent",
    )

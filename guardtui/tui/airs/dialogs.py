"""Dialogs for the topics in AIRS: the list, a topic word by word, changes, a forced delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.app.ports import Question
from guardtui.app.profile_changes import ShowChanges
from guardtui.app.remote_topics import DeleteHeld, ShowTopic
from guardtui.app.tenant_topics import TenantTopics, is_address, same_text, too_large
from guardtui.domain.definition_edits import paired_examples
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.domain.word_diff import DiffKind
from guardtui.scanners.airs.models import CustomTopic
from guardtui.tui.editor.definition_diff import append_pieces, compare_text
from guardtui.tui.kit.dialogs import LineDialog
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed

_WIDEST_NAME = 40
_NARROWEST_NAME = 12
_BESIDE_NAME = 44
_EXAMPLES = 12  # of a definition: a service may send any number
"""Cells that all but the name takes in a row, frames included."""


class RemoteTopicsDialog(Modal[None]):
    """The topics of the tenant; `read` loads them, `act` runs the actions of keys.

    `act` is called with the name of the action and the chosen topic, or None.
    """

    BINDINGS = [
        ("p", "act('apply')", "Apply"),
        ("c", "act('create')", "Create"),
        ("r", "act('revert')", "Take back"),
        ("d,delete", "act('delete')", "Delete"),
        ("l", "load", "Load again"),
    ]

    help_pane = "remote_topics"

    def __init__(
        self,
        index: str,
        here: Callable[[], Topic],
        read: Callable[[], Awaitable[TenantTopics]],
        act: Callable[[str, CustomTopic | None], None],
    ) -> None:
        super().__init__()
        self._place, self._here, self._read, self._act = index, here, read, act
        self.listing: TenantTopics | None = None
        """The listed topics; None until they are loaded."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = "Topics in AIRS"
            page.border_subtitle = "Esc closes"
            yield Static("", id="remote-profile", markup=False)
            yield OptionList(markup=False, compact=True)
            yield Static("", id="remote-status", markup=False)
            yield Static(
                "Enter looks · p applies yours · r takes back · c creates · d deletes",
                classes="remote-keys",
                markup=False,
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._show_profile()
        self.action_load()

    @property
    def topic(self) -> CustomTopic | None:
        """The topic under the cursor."""
        index = self.query_one(OptionList).highlighted
        if self.listing is None or index is None:
            return None
        return self.listing.topics[index]

    @property
    def is_left(self) -> bool:
        """Whether the dialog has closed."""
        return self._ended or not self.is_attached

    def show_status(self, text: str, *, problem: bool = False) -> None:
        """Show a message below the list."""
        if self.is_left:
            return
        sign = "✗ " if problem else ""
        line = Text(f"{sign}{display_text(text, newlines=True)}", "$text-error" if problem else "")
        self.query_one("#remote-status", Static).update(themed(line))

    def action_load(self) -> None:
        self.load()

    @work(exclusive=True, group="load")
    async def load(self, then: str = "", *, problem: bool = False) -> None:
        """Load the list again; `then` is the message about the change before."""
        self.show_status(then or "loading …", problem=problem)
        try:
            listing = await self._read()
        except GuardtuiError as error:
            self.show_status(f"{then}\n{error}" if then else str(error), problem=True)
            return
        known = self.topic
        self.listing = listing
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(themed(line)) for line in self._lines(listing)])
        if listing.topics:
            ids = [topic.topic_id for topic in listing.topics]
            names = [topic.topic_name for topic in listing.topics]
            name = self._here().name
            index = names.index(name) if name in names else 0
            if known is not None and known.topic_id in ids:
                index = ids.index(known.topic_id)
            options.highlighted = index
        self._show_profile()
        self.show_status(then or self._note(listing), problem=problem)

    def _show_profile(self) -> None:
        text = Text(f"Profile {display_text(self._place)}")
        if self.listing is not None:
            profile, count = self.listing.profile, len(self.listing.topics)
            if profile is None:
                text.append(": there is no such profile", "$text-error")
            else:
                text.append(f", revision {profile.revision}")
            text.append(f" · {count_text(count, 'topic')} in the tenant", "$text-muted")
        self.query_one("#remote-profile", Static).update(themed(text))

    def _note(self, listing: TenantTopics) -> str:
        if strangers := listing.strangers():
            named = ", ".join(strangers[:3]) + (" …" if len(strangers) > 3 else "")
            return f"! the profile names what the tenant does not have: {named}"
        return "" if listing.topics else "There are no topics yet: c makes one of yours."

    def _lines(self, listing: TenantTopics) -> list[Text]:
        """Return a line for each topic: name, revision, pin, and whether its text is local."""
        names = [display_start(topic.topic_name, 2 * _WIDEST_NAME) for topic in listing.topics]
        room = max(_NARROWEST_NAME, min(_WIDEST_NAME, self.app.size.width - _BESIDE_NAME))
        width = min(room, max(map(cell_len, names), default=0))
        current = self._here()
        lines = []
        for name, topic in zip(names, listing.topics, strict=True):
            if cell_len(name) > width:
                name = set_cell_size(name, width - 1) + "…"
            is_current = topic.topic_name == current.name
            line = Text("→ " if is_current else "  ", "bold")
            line.append(set_cell_size(name, width), "bold")
            line.append(f" r{topic.revision:<3} ")
            line.append_text(_pins_text(listing, topic))
            if is_current:
                same = same_text(topic, current)
                line.append(" · " + ("text as here" if same else "another text here"))
            if not topic.active:
                line.append(" · not active", "$text-warning")
            lines.append(line)
        return lines

    @on(OptionList.OptionSelected)
    def chosen(self) -> None:
        self._act("show", self.topic)

    def action_act(self, name: str) -> None:
        self._act(name, self.topic)


def _pins_text(listing: TenantTopics, topic: CustomTopic) -> Text:
    pins = listing.pins(topic)
    if not pins:
        return Text("not pinned", "$text-muted")
    text = Text()
    for number, (_, action, revision) in enumerate(pins[:3]):
        text.append(", " if number else "")
        older = listing.is_older(topic, revision)
        style = "$text-warning" if older else "$text-success"
        words = f"{display_start(action, 10)} r{revision}{' older' if older else ''}"
        text.append(words, style)
    return text.append(" …") if len(pins) > 3 else text


class TopicTextDialog(Modal[bool]):
    """The difference of a topic in AIRS to the local definition; returns True to take it over."""

    BINDINGS = [("escape,q", "answer(False)", "Close"), ("t", "answer(True)", "Take it over")]

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
                yield Static(themed(self._difference()), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(
                    Text("Take it over (t)"),
                    id="take",
                    variant="primary",
                    compact=True,
                    disabled=self._large,
                )
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def _difference(self) -> Text:
        topic, current = self._topic, self._here
        if self._large:
            text = Text("Too large for a definition: it cannot be taken over.\n", "$text-error")
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
            title, yes = "Go back to before the last apply", "Take back (y)"
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = title
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            with VerticalScroll(classes="scan-changes"):
                yield Static(themed(text), markup=False)
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


def delete_dialog(question: DeleteHeld) -> LineDialog:
    """Return the dialog for the e-mail address that AIRS requires to delete a topic in use."""
    return LineDialog(
        "Profiles have this topic",
        f"Topic {display_start(question.name, 60)} is named by\n"
        + "\n".join(f"  {display_text(line)}" for line in question.holders)
        + "\nDeleted anyway, it is taken out of all of them, and no way leads "
        "back. For that the service wants to know who does it:",
        "your e-mail address",
        "Delete anyway",
        lambda address: "" if is_address(address) else "! not a valid e-mail address",
        longest=254,
        help_pane="remote_delete",
        risk="Esc cancels, nothing is sent",
    )


DIALOGS: dict[type[Question[Any]], Callable[[Any], Modal[Any]]] = {
    ShowChanges: ChangesDialog,
    ShowTopic: TopicTextDialog,
    DeleteHeld: delete_dialog,
}
"""The dialog of each question about a remote change."""

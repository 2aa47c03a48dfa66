"""The definition as fields with live limits; every change leaves as a message."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.reactive import reactive
from textual.widgets import Label, TextArea

from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import (
    DESCRIPTION_BYTES,
    EXAMPLE_BYTES,
    EXAMPLES_AT_MOST,
    NAME_BYTES,
    TOTAL_BYTES,
    Intent,
    Topic,
    byte_length,
    total_bytes,
    violations,
)
from guardtui.tui.actions import EDITOR, bindings
from guardtui.tui.messages import TopicEdited

NEAR = 0.9
"""Share of a limit from which on its counter warns."""


class Field(TextArea):
    """One text of the definition; Enter goes on to the next field."""

    def __init__(self, text: str, *, name: str, limit: int, lines: int) -> None:
        super().__init__(
            text, id=f"field-{name}", classes="field", compact=True, tab_behavior="focus",
            soft_wrap=True, highlight_cursor_line=False,
        )  # fmt: skip
        self.field = name
        self.limit = limit
        self.styles.max_height = lines

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.screen.focus_next(".field, IntentField")
            return
        await super()._on_key(event)


class IntentField(Label, can_focus=True):
    """Block or allow; space, enter, the arrows or a click change it."""

    BINDINGS = [("space,enter,left,right", "change_intent", "Change the intent")]

    intent: reactive[Intent] = reactive(Intent.BLOCK)

    def render(self) -> str:
        block = self.intent is Intent.BLOCK
        return f"block {'●' if block else '○'}   allow {'○' if block else '●'}"

    def action_change_intent(self) -> None:
        self.intent = Intent.ALLOW if self.intent is Intent.BLOCK else Intent.BLOCK
        self.query_ancestor(TopicEditor).field_changed("intent", ends_group=True)

    def on_click(self) -> None:
        self.action_change_intent()


class TopicEditor(VerticalScroll, can_focus=False):
    """Name, description, examples and intent with a byte counter each.

    `show` puts a definition into the fields without a message; fields that hold it already are
    left alone, so that the cursor stays where it is.
    """

    BORDER_TITLE = "Topic"
    BINDINGS = bindings(EDITOR)

    def __init__(self, topic: Topic) -> None:
        super().__init__(id="editor")
        self._topic = topic
        self._intent = IntentField(id="intent")
        self._fields: list[Field] = []
        self._counters: dict[str, Label] = {}
        self._notes: list[str] = []
        self._last_field: Field | None = None
        # What a field gave back for a text it was given: line breaks of other kinds come back as
        # line feeds, and must not be taken for an edit.
        self._given: dict[str, tuple[str, str]] = {}
        self._shown_examples = topic.examples

    def compose(self) -> ComposeResult:
        yield from self._row("name", "name", self._topic.name, NAME_BYTES, 1)
        yield from self._row(
            "description", "description", self._topic.description, DESCRIPTION_BYTES, 4
        )
        slots = max(EXAMPLES_AT_MOST, len(self._topic.examples))
        for number in range(1, slots + 1):
            text = self._topic.examples[number - 1] if number <= len(self._topic.examples) else ""
            yield from self._row(f"example-{number}", f"example {number}", text, EXAMPLE_BYTES, 2)
        self._intent.set_reactive(IntentField.intent, self._topic.intent)
        with Horizontal(classes="field-row"):
            yield Label("intent", classes="field-label", markup=False)
            yield self._intent
            self._counters["total"] = Label("", classes="field-counter wide", markup=False)
            yield self._counters["total"]
        yield Label("", id="advice", markup=False)

    def _row(self, name: str, label: str, text: str, limit: int, lines: int) -> ComposeResult:
        field = Field(text, name=name, limit=limit, lines=lines)
        counter = Label("", classes="field-counter", markup=False)
        self._fields.append(field)
        self._counters[name] = counter
        with Horizontal(classes="field-row"):
            yield Label(label, classes="field-label", markup=False)
            yield field
            yield counter

    def on_mount(self) -> None:
        for field in self._fields:
            field.move_cursor(field.document.end)
        self.show(self._topic)

    def show(self, topic: Topic) -> None:
        """Show a definition: texts, counters and which limits it breaks."""
        self._topic = topic
        self._shown_examples = topic.examples
        for field in self._fields:
            text = self._text_of(field.field, topic)
            if self._typed_in(field) != text and field.text != text:
                where = field.cursor_location
                with field.prevent(TextArea.Changed):
                    field.text = text
                field.move_cursor(where)
            self._given[field.field] = field.text, text
        if self._intent.intent is not topic.intent:
            self._intent.intent = topic.intent
        self._show_limits(topic)

    def _typed_in(self, field: Field) -> str:
        """The field's text, or what it was given as long as nobody changed it."""
        shown, given = self._given.get(field.field, (None, ""))
        return given if field.text == shown else field.text

    @staticmethod
    def _text_of(field: str, topic: Topic) -> str:
        if field == "name":
            return topic.name
        if field == "description":
            return topic.description
        number = int(field.removeprefix("example-"))
        return topic.examples[number - 1] if number <= len(topic.examples) else ""

    @property
    def typed(self) -> Topic:
        """The definition that the fields hold; an empty example is none."""
        if not self._fields:  # left before it was ever drawn
            return self._topic
        texts = {field.field: self._typed_in(field) for field in self._fields}
        examples = tuple(text for name, text in texts.items() if name.startswith("ex") and text)
        given = tuple(text for text in self._shown_examples if text)
        return Topic(
            name=texts["name"],
            description=texts["description"],
            examples=self._shown_examples if examples == given else examples,
            intent=self._intent.intent,
        )

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if isinstance(event.text_area, Field):
            text = event.text_area.text
            before = self._text_of(event.text_area.field, self._topic)
            word_ended = len(text) > len(before) and text[-1:].isspace()
            self.field_changed(event.text_area.field, ends_group=word_ended)

    def field_changed(self, field: str, *, ends_group: bool) -> None:
        """Tell that a field changed, unless it only came to hold what is shown already."""
        topic = self.typed
        if topic != self._topic:
            self._topic = topic
            self._show_limits(topic)
            self.post_message(TopicEdited(topic, field, ends_group=ends_group))

    # --- examples as rows -----------------------------------------------------------------

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, Field):
            self._last_field = event.widget

    def add_example(self, text: str) -> str:
        """Add an example at the end; returns why not, or ""."""
        topic = self.typed
        if text in topic.examples:
            return "This prompt is an example already."
        if len([example for example in topic.examples if example]) >= EXAMPLES_AT_MOST:
            return f"There are {EXAMPLES_AT_MOST} examples already: remove one first."
        self._use_examples((*(one for one in topic.examples if one), text))
        return ""

    def action_move_example(self, step: int) -> None:
        place, examples = self._chosen_example()
        other = place + step
        if place < 0:
            self.notify("Go to an example first.")
        elif 0 <= other < len(examples):
            examples[place], examples[other] = examples[other], examples[place]
            self._use_examples(tuple(examples), other)

    def action_remove_example(self) -> None:
        place, examples = self._chosen_example()
        if place < 0:
            self.notify("Go to an example first.")
            return
        del examples[place]
        self._use_examples(tuple(examples), min(place, len(examples)))
        self.notify("Removed; Undo brings it back.", timeout=2)

    def _chosen_example(self) -> tuple[int, list[str]]:
        """Place of the example the cursor is or was in, or -1, and all that are not empty."""
        rows = [(field, field.text) for field in self._fields if field.field.startswith("ex")]
        filled = [field for field, text in rows if text]
        place = filled.index(self._last_field) if self._last_field in filled else -1
        return place, [example for example in self.typed.examples if example]

    def _use_examples(self, examples: tuple[str, ...], place: int | None = None) -> None:
        topic = self.typed.model_copy(update={"examples": examples})
        self.show(topic)
        self.post_message(TopicEdited(topic, "examples", ends_group=True))
        if place is not None:
            self.query_one(f"#field-example-{place + 1}", Field).focus()

    def _show_limits(self, topic: Topic) -> None:
        for field in self._fields:
            used = byte_length(field.text)
            shown = (
                f"{used}/{field.limit}" if used or field.field in ("name", "description") else ""
            )
            self._count(field.field, shown, used, field.limit)
        total = total_bytes(topic)
        self._count("total", f"total {total}/{TOTAL_BYTES}", total, TOTAL_BYTES)
        notes = [f"⚠ {violation.message}" for violation in violations(topic)]
        hidden = sum(map(hidden_characters, (topic.name, topic.description, *topic.examples)))
        if hidden:
            notes.append(f"⚠ {hidden} invisible or control characters in the definition")
        if notes != self._notes:
            self._notes = notes
            self.query_one("#advice", Label).update("\n".join(notes))

    def _count(self, name: str, shown: str, used: int, limit: int) -> None:
        counter = self._counters[name]
        # The sign says what the colour says.
        counter.update(f"!{shown}" if used > limit else shown, layout=False)
        counter.set_class(used > limit, "over")
        counter.set_class(NEAR * limit <= used <= limit, "near")

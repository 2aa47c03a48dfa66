"""The definition as fields with live limits; every change is posted as a message."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import (
    DESCRIPTION_BYTES,
    EXAMPLE_BYTES,
    EXAMPLES_AT_MOST,
    NAME_BYTES,
    TOTAL_BYTES,
    Topic,
    byte_length,
    total_bytes,
    violations,
)
from guardtui.tui.editor.field import (
    FieldDifference,
    FieldLabel,
    IntentField,
    TopicField,
    difference_line,
    example_differences,
)
from guardtui.tui.editor.lint_line import LintLine
from guardtui.tui.kit.inert import Label
from guardtui.tui.messages import TopicEdited
from guardtui.tui.registry.actions import EDITOR, bindings

__all__ = ["IntentField", "TopicEditor", "TopicField"]

NEAR = 0.9
"""Share of a limit from which on the counter warns."""

COUNTER_CELLS = 4
"""Cells of a counter; one that is over its limit takes more."""

NAME_HINTS = ("a short name for the topic", "its name")
DESCRIPTION_HINTS = (
    f"what the topic is about, at most {DESCRIPTION_BYTES} bytes",
    f"what it is about, at most {DESCRIPTION_BYTES} bytes",
    "what the topic is about",
    "what it is about",
)
EXAMPLE_HINTS = (
    "an example prompt; e on a result adds it here",
    "an example; e on a result adds it",
    "an example prompt",
)


class TopicEditor(VerticalScroll, can_focus=False):
    """Name, description, examples and intent with a byte counter each.

    `show` sets the fields without a message; unchanged fields keep their cursor. `show_baseline`
    shows the difference to another definition below each field.
    """

    BORDER_TITLE = "Topic"
    BINDINGS = bindings(EDITOR)

    def __init__(self, topic: Topic) -> None:
        super().__init__(id="editor")
        self._topic = topic
        self._intent = IntentField(id="intent")
        self._fields: list[TopicField] = []
        self._labels: dict[str, FieldLabel] = {}
        self._counters: dict[str, Label] = {}
        self._differences: dict[str, FieldDifference] = {}
        self._baseline: Topic | None = None
        self._notes: list[str] = []
        self.lint = LintLine()
        self._last_field: TopicField | None = None
        # The field's text for each text it was set to: other line breaks become line feeds, which
        # must not count as an edit.
        self._given: dict[str, tuple[str, str]] = {}
        # The texts of the last message of each field.
        self._reported: dict[str, str] = {}
        self._shown_examples = topic.examples

    def compose(self) -> ComposeResult:
        yield from self._row("name", "name", self._topic.name, NAME_BYTES)
        yield from self._row("description", "desc", self._topic.description, DESCRIPTION_BYTES)
        slots = max(EXAMPLES_AT_MOST, len(self._topic.examples))
        for number in range(1, slots + 1):
            text = self._topic.examples[number - 1] if number <= len(self._topic.examples) else ""
            yield from self._row(f"example-{number}", str(number), text, EXAMPLE_BYTES)
        self._intent.set_reactive(IntentField.intent, self._topic.intent)
        with Horizontal(classes="field-row"):
            yield FieldLabel("intent", self._intent).add_class("wide")
            yield self._intent
            self._counters["total"] = Label("", classes="field-counter wide")
            yield self._counters["total"]
        yield self._difference("intent")
        limits = Label("", id="advice")
        limits.display = False  # an empty line would hide advice
        yield limits
        yield self.lint

    def _row(self, name: str, label: str, text: str, limit: int) -> ComposeResult:
        field = TopicField(text, name=name, limit=limit)
        counter = Label("", classes="field-counter")
        self._fields.append(field)
        self._counters[name] = counter
        self._labels[name] = FieldLabel(label, field)
        with Horizontal(classes="field-row"):
            yield self._labels[name]
            yield field
            yield counter
        yield self._difference(name)

    def _difference(self, name: str) -> FieldDifference:
        self._differences[name] = FieldDifference(name)
        return self._differences[name]

    def on_mount(self) -> None:
        # The name has the focus first: a long one is shown from its start.
        for field in self._fields[1:]:
            field.move_cursor(field.document.end)
        self.show(self._topic)

    def focus_first_gap(self) -> None:
        """Focus the description if only that is missing, else the name."""
        missing = bool(self._topic.name) and not self._topic.description
        self._fields[1 if missing else 0].focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._keep_in_sight)

    def on_topic_field_cursor_moved(self, event: TopicField.CursorMoved) -> None:
        event.stop()
        self.call_after_refresh(self._keep_in_sight)

    def show(self, topic: Topic, *, follow: bool = False) -> None:
        """Show a definition: its texts, counters and violated limits.

        With `follow`, as after undo, the cursor goes to the change, and so does the focus if it is
        in the editor.
        """
        changed: list[TopicField | IntentField] = []
        self._topic = topic
        self._shown_examples = topic.examples
        for field in self._fields:
            text = self._text_of(field.field, topic)
            if self._typed_in(field) != text and field.text != text:
                field.show_text(text, follow=follow)
                changed.append(field)
            self._given[field.field] = field.text, text
            self._reported[field.field] = text
        if self._intent.intent is not topic.intent:
            self._intent.intent = topic.intent
            changed.append(self._intent)
        self._show_limits(topic)
        focused = self.screen.focused if self.is_attached else None
        if follow and changed and focused in (*self._fields, self._intent):
            if focused not in changed:
                changed[0].focus()
            self.call_after_refresh(self._keep_in_sight)

    def _typed_in(self, field: TopicField) -> str:
        """Return the text of a field, in its original form if nobody changed it."""
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
        """The definition of the fields, without empty examples."""
        if not self._fields:  # closed before it was drawn
            return self._topic
        return self._topic_with({field.field: self._typed_in(field) for field in self._fields})

    def _topic_with(self, texts: dict[str, str]) -> Topic:
        examples = tuple(text for name, text in texts.items() if name.startswith("ex") and text)
        given = tuple(text for text in self._shown_examples if text)
        return Topic(
            name=texts["name"],
            description=texts["description"],
            examples=self._shown_examples if examples == given else examples,
            intent=self._intent.intent,
        )

    def on_topic_field_changed(self, event: TopicField.Changed) -> None:
        event.stop()
        field = event.text_area
        assert isinstance(field, TopicField)  # noqa: S101 - posted by fields only
        if event.version == field.version:  # otherwise the field was set to another text since
            shown, given = self._given.get(field.field, (None, ""))
            self._reported[field.field] = given if event.text == shown else event.text
            self._post_edit(self._topic_with(self._reported), event.group, ends_group=False)

    def on_intent_field_changed(self, event: IntentField.Changed) -> None:
        event.stop()
        self._post_edit(self._topic_with(self._reported), "intent", ends_group=True)

    def _post_edit(self, topic: Topic, group: str, *, ends_group: bool) -> None:
        """Post that the definition changed, unless it equals the shown one."""
        if topic != self._topic:
            self._topic = topic
            self._show_limits(topic)
            self.post_message(TopicEdited(topic, group, ends_group=ends_group))

    # --- difference to the baseline -------------------------------------------------------

    @property
    def shows_difference(self) -> bool:
        """Return whether fields show their difference to a baseline."""
        return self._baseline is not None

    def show_baseline(self, topic: Topic | None) -> None:
        """Show the difference of each field to `topic` from now on; None hides it."""
        self._baseline = topic
        self._show_differences()

    def _show_differences(self) -> None:
        if not self._fields:
            return
        old, lines = self._baseline, dict.fromkeys(self._differences, Text())
        if old is not None:
            texts = {field.field: self._typed_in(field) for field in self._fields}
            lines["name"] = difference_line(old.name, texts["name"])
            lines["description"] = difference_line(old.description, texts["description"])
            slots = {name: text for name, text in texts.items() if name.startswith("ex")}
            examples = example_differences(old.examples, list(slots.values()))
            lines.update(zip(slots, examples, strict=True))
            lines["intent"] = difference_line(old.intent.value, self._intent.intent.value)
        changed = [name for name, line in lines.items() if self._differences[name].show(line)]
        if changed:
            self.call_after_refresh(self._keep_in_sight)

    async def _keep_in_sight(self) -> None:
        """Scroll as little as possible to show the focused field, and its difference if it fits.

        Without a focused field, show the first difference.
        """
        focused = self.screen.focused
        if focused not in self._fields and focused is not self._intent:
            shown = [difference for difference in self._differences.values() if difference.display]
            if shown:  # the pane may be too low for all fields
                shown[0].scroll_visible(animate=False)
            return
        # The screen scrolls to the top of a focused widget; its animation must not go on.
        await self.stop_animation("scroll_y", complete=False)
        name = focused.field if isinstance(focused, TopicField) else "intent"
        pane, row = self.scrollable_content_region, focused.parent
        tall = focused.region.height > pane.height
        if tall and isinstance(focused, TopicField) and isinstance(row, Horizontal):
            # Higher than the pane: the row with the cursor must be visible.
            region = focused.cursor_region.translate(row.virtual_region.offset)
            self.scroll_to_region(region, animate=False, force=True)
            return
        if self._differences[name].display:
            self.scroll_to_widget(self._differences[name], animate=False)
        self.scroll_to_widget(focused, animate=False)

    # --- examples as rows -----------------------------------------------------------------

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, TopicField):
            self._last_field = event.widget
        else:
            self.call_after_refresh(self._keep_in_sight)

    def add_example(self, text: str) -> str:
        """Append an example; return why it was refused, or ""."""
        topic = self.typed
        if text in topic.examples:
            return "This prompt is an example already."
        if len([example for example in topic.examples if example]) >= EXAMPLES_AT_MOST:
            return f"There are {EXAMPLES_AT_MOST} examples already: remove one first."
        self._use_examples((*filter(None, topic.examples), text))
        return ""

    def action_move_example(self, step: int) -> None:
        index, examples = self._chosen_example()
        other = index + step
        if index < 0:
            self.notify("Go to an example first.")
        elif 0 <= other < len(examples):
            examples[index], examples[other] = examples[other], examples[index]
            self._use_examples(tuple(examples), other)

    def action_remove_example(self) -> None:
        index, examples = self._chosen_example()
        if index < 0:
            self.notify("Go to an example first.")
            return
        del examples[index]
        self._use_examples(tuple(examples), min(index, len(examples)))
        self.notify("Removed; Undo brings it back.", timeout=2)

    def _chosen_example(self) -> tuple[int, list[str]]:
        """Return the index of the example the cursor is or was in, or -1, and all examples."""
        rows = [(field, field.text) for field in self._fields if field.field.startswith("ex")]
        filled = [field for field, text in rows if text]
        focused = self.screen.focused
        chosen = focused if isinstance(focused, TopicField) else self._last_field
        index = filled.index(chosen) if chosen in filled else -1
        return index, [example for example in self.typed.examples if example]

    def _use_examples(self, examples: tuple[str, ...], index: int | None = None) -> None:
        topic = self.typed.model_copy(update={"examples": examples})
        self.show(topic)
        self.post_message(TopicEdited(topic, "examples", ends_group=True))
        if index is not None:
            self.query_one(f"#field-example-{index + 1}", TopicField).focus()

    def _show_limits(self, topic: Topic) -> None:
        for field in self._fields:
            used = byte_length(field.text)
            always = field.field in ("name", "description")
            self._count(field.field, str(used) if used or always else "", used, field.limit)
        total = total_bytes(topic)
        self._count("total", f"{total}/{TOTAL_BYTES}", total, TOTAL_BYTES)
        self._show_numbers()
        self._show_hints()
        self._show_differences()
        notes = [f"⚠ {violation.message}" for violation in violations(topic)]
        hidden = sum(map(hidden_characters, (topic.name, topic.description, *topic.examples)))
        if hidden:
            notes.append(f"⚠ {hidden} invisible or control characters in the definition")
        if notes != self._notes:
            self._notes = notes
            label = self.query_one("#advice", Label)
            label.update("\n".join(notes))
            label.display = bool(notes)

    def _show_numbers(self) -> None:
        """Number the examples as all messages do: fields left empty between them do not count."""
        fields = [field for field in self._fields if field.field.startswith("ex")]
        last = max((row for row, field in enumerate(fields, 1) if field.text), default=0)
        filled = 0
        for row, field in enumerate(fields, 1):
            filled += bool(field.text)
            number = filled if field.text else row
            shown = str(number) if field.text or row > last else ""
            self._labels[field.field].update(shown, layout=False)

    def _show_hints(self) -> None:
        """Show hints in empty fields; of the examples only in the first empty one."""
        hints = {"name": NAME_HINTS, "description": DESCRIPTION_HINTS}
        empty = [row.field for row in self._fields if not row.text and row.field not in hints]
        for field in self._fields:
            first = EXAMPLE_HINTS if empty[:1] == [field.field] else ()
            field.show_hint(*hints.get(field.field, first))

    def _count(self, name: str, shown: str, used: int, limit: int) -> None:
        counter = self._counters[name]
        # Words and a sign in addition to the colour.
        if used > limit:
            shown = f"{used - limit} over"
        elif used >= NEAR * limit:
            shown = f"!{shown}"
        wider = len(shown) > COUNTER_CELLS or counter.has_class("over")
        counter.update(shown, layout=wider)
        counter.set_class(used > limit, "over")
        counter.set_class(NEAR * limit <= used <= limit, "near")

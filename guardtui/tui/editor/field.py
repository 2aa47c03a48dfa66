"""A row of the definition: a text field that groups edits for undo, the intent, a difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from guardtui.domain.definition_changes import DiffKind, word_diff
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.tui.inputs.text_area import EdgeTextArea
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.textual_compat import rewrap, wrapped_height

PAUSE_ENDS_RUN = 3.0
"""Seconds without an edit after which the next edit is a separate undo step."""

CONTEXT = 12
"""Characters of unchanged text that are shown beside a change."""


class TopicField(EdgeTextArea):
    """A text of the definition; Enter goes to the next field.

    It is as high as its text: the pane scrolls, the field never does.

    Edits are grouped into runs, each one undo step: a word with the blanks around it, characters
    deleted one after the other, a paste. Moving the cursor or pausing ends a run.
    """

    # Keys of every text field, like Home and Ctrl+U: listed by the help, not configurable.
    BINDINGS = [Binding("ctrl+a", "select_all", "Select all", show=False)]

    @dataclass
    class Changed(TextArea.Changed):
        """The text changed. Text and run are those of the edit, not of the field now."""

        def __post_init__(self) -> None:
            super().__post_init__()
            assert isinstance(self.text_area, TopicField)  # noqa: S101 - posted by it only
            self.text = self.text_area.text
            self.group = self.text_area.group
            self.version = self.text_area.version

    class CursorMoved(Message):
        """The cursor moved or the height changed: the cursor must be made visible."""

    def __init__(
        self,
        text: str,
        *,
        name: str,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            text, id=f"field-{name}", classes="field", compact=True, tab_behavior="focus",
            soft_wrap=True, highlight_cursor_line=False,
        )  # fmt: skip
        self.field = name
        self.limit = limit
        self.hints: tuple[str, ...] = ()
        self.version = 0
        self._clock = clock
        self._follows_cursor = False
        self._run = 0
        self._run_kind = ""
        self._run_at: Location = (0, 0)
        self._run_time = 0.0
        self._word_begun = self._word_ended = False
        self._wrapped_for = -1

    # --- the text as one string -----------------------------------------------------------

    @property
    def flat(self) -> str:
        """The text with line feeds between its lines, whatever its line breaks are."""
        return "\n".join(self.document.lines)

    def offset_at(self, location: Location) -> int:
        """Return the offset in `flat` of a row and column."""
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_at(self, offset: int) -> Location:
        """Return the row and column of an offset in `flat`."""
        before = self.flat[:offset]
        return before.count("\n"), len(before) - before.rfind("\n") - 1

    def show_text(self, text: str, *, follow: bool = False) -> None:
        """Show another text without a message; the cursor keeps its place in the words.

        With `follow` it goes to the difference instead.
        """
        before, offset = self.flat, self.offset_at(self.cursor_location)
        self.version += 1
        with self.prevent(TopicField.Changed):
            self.text = text
        after = self.flat
        start, stop = changed_part(before, after)
        if follow or start < offset < len(before) - (len(after) - stop):
            offset = stop
        elif offset > start:
            offset += len(after) - len(before)
        self.move_cursor(self.location_at(offset))
        self.end_run()

    # --- runs of edits --------------------------------------------------------------------

    @property
    def group(self) -> str:
        """Name of the run of the last edit."""
        return f"{self.field}#{self._run}"

    def end_run(self) -> None:
        """Let the next edit begin a new run."""
        self._run_kind = ""

    def edit(self, edit: Edit) -> EditResult:
        removed = self.get_text_range(edit.top, edit.bottom)
        if not removed and not edit.text:
            return super().edit(edit)
        kind = ""
        if len(edit.text) == 1 and not removed:
            kind = "typing"
        elif not edit.text and len(removed) == 1:
            kind = "deleting"
        now = self._clock()
        beside = self._run_at in (edit.top, edit.bottom)
        goes_on = kind == self._run_kind != "" and now - self._run_time < PAUSE_ENDS_RUN
        if goes_on and kind == "typing":
            goes_on = not self._word_ended or edit.text.isspace()
        if not (beside and goes_on):
            self._run += 1
            # A letter typed over a selection begins a word too.
            self._run_kind = kind or ("typing" if len(edit.text) == 1 else "")
            self._word_begun = self._word_ended = False
        if edit.text.isspace():
            self._word_ended = self._word_begun
        else:
            self._word_begun = True
        self._run_time = now
        result = super().edit(edit)
        self._run_at = result.end_location
        return result

    def on_blur(self) -> None:
        self.end_run()
        self._follows_cursor = False

    # --- drawing --------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return wrapped_height(self, width)

    def render_lines(self, crop: Region) -> list[Strip]:
        # TextArea wraps its text for a new width only after the resize event, which may come after
        # it was drawn; all of the text must be drawn.
        self._wrap()
        return super().render_lines(crop)

    def _wrap(self) -> None:
        if self._wrapped_for != self.wrap_width:
            self._wrapped_for = self.wrap_width
            rewrap(self)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Request scrolling to the cursor once the field has the focus.

        A click gives the focus first and then moves to the clicked character, so nothing may scroll
        in between.
        """
        if self._follows_cursor:
            self.post_message(self.CursorMoved())
        return Offset()

    def _follow_cursor(self) -> None:
        self._follows_cursor = self.has_focus
        self.scroll_cursor_visible()

    def on_resize(self) -> None:
        self._wrap()
        self.refresh()
        self.scroll_cursor_visible()
        self._fit_hint()

    @property
    def cursor_region(self) -> Region:
        """The row of the cursor, relative to the field."""
        row, column = self.cursor_location
        offset = self.wrapped_document.location_to_offset((row, column))
        return Region(0, offset.y, self.size.width, 1)

    # --- moving and deleting --------------------------------------------------------------

    def get_cursor_line_start_location(self, smart_home: bool = False) -> Location:
        """Return the start of the line, across all its wrapped rows."""
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> Location:
        """Return the end of the line, across all its wrapped rows."""
        row = self.cursor_location[0]
        return row, len(self.document.lines[row])

    # --- keys -----------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.screen.focus_next(".field, IntentField")

    def on_focus(self) -> None:
        self.call_after_refresh(self._follow_cursor)

    # --- the empty state ------------------------------------------------------------------

    def show_hint(self, *hints: str) -> None:
        """Show the longest of these hints that fits on a line while the field is empty."""
        if hints != self.hints:
            self.hints = hints
            self._fit_hint()

    def _fit_hint(self) -> None:
        fitting = [hint for hint in self.hints if cell_len(hint) <= self.content_size.width]
        hint = max(fitting, key=cell_len, default="")
        if self.placeholder != hint:
            self.placeholder = hint


class IntentField(Label, can_focus=True):
    """The intent, block or allow; Space, Enter, the arrow keys or a click change it."""

    BINDINGS = [("space,enter,left,right", "change_intent", "Change the intent")]

    class Changed(Message):
        """The author chose the other intent."""

    intent: reactive[Intent] = reactive(Intent.BLOCK)

    def render(self) -> str:
        block = self.intent is Intent.BLOCK
        return f"block {'●' if block else '○'}   allow {'○' if block else '●'}"

    def action_change_intent(self) -> None:
        self.intent = Intent.ALLOW if self.intent is Intent.BLOCK else Intent.BLOCK
        self.post_message(self.Changed())

    def on_click(self) -> None:
        self.action_change_intent()


class FieldLabel(Label):
    """The name of a row; a click focuses its field."""

    def __init__(self, name: str, target: Widget) -> None:
        super().__init__(name, classes="field-label")
        self._target = target

    def on_click(self) -> None:
        self._target.focus()


class FieldDifference(Static):
    """The difference of a row to the baseline, word by word; hidden if there is none."""

    def __init__(self, name: str) -> None:
        super().__init__("", id=f"difference-{name}", classes="field-difference")
        self._shown = ""
        self.display = False

    def show(self, text: Text) -> bool:
        """Show a difference; return whether it changed."""
        if text.plain == self._shown:
            return False
        self._shown = text.plain
        self.update(themed(text))
        self.display = bool(text.plain)
        return True


_SIGNS = {
    DiffKind.SAME: ("{}", "$text-muted"),
    DiffKind.ADDED: ("{{+{}+}}", "bold $text-success"),
    DiffKind.REMOVED: ("[-{}-]", "strike $text-error"),
}
"""Signs in addition to colours."""


def difference_line(before: str, after: str) -> Text:
    """Return the difference of two texts with a few unchanged words around it; "" if equal."""
    text = Text()
    if before == after:
        return text
    pieces = word_diff(before, after)
    for number, (kind, part) in enumerate(pieces):
        form, style = _SIGNS[kind]
        if kind is DiffKind.SAME:
            part = _shortened(part, first=number == 0, last=number == len(pieces) - 1)
        text.append(form.format(display_text(part)), style)
    return text


def _shortened(part: str, *, first: bool, last: bool) -> str:
    head = "" if first else part[:CONTEXT]
    tail = "" if last else part[-CONTEXT:]
    if len(head) + len(tail) + 1 >= len(part):
        return part
    # Cut at a blank if possible.
    head = head.rsplit(" ", 1)[0] + " " if " " in head else head
    tail = " " + tail.split(" ", 1)[1] if " " in tail else tail
    return f"{head}…{tail}"


def example_differences(before: Sequence[str], slots: Sequence[str]) -> list[Text]:
    """Return the difference of each example slot, empty ones too, to the old examples.

    A moved example counts as unchanged. The others are compared at the same position, then in
    order; a removed example without a counterpart is shown at its old position or the last one.
    """
    after = [example for example in slots if example]
    stayed = [example for example in before if example in after]
    order = [example for example in after if example in before]
    gone = {index: text for index, text in enumerate(before) if text not in after}
    lines = [Text() for _ in slots]
    fresh = [index for index, text in enumerate(slots) if text and text not in before]
    for index in [
        *(index for index in fresh if index in gone),
        *(index for index in fresh if index not in gone),
    ]:
        other = index if index in gone else next(iter(gone), None)
        lines[index] = difference_line("" if other is None else gone.pop(other), slots[index])
    for index, text in enumerate(slots):
        if text in order and stayed.index(text) != order.index(text):
            lines[index] = Text(f"was example {before.index(text) + 1}", "$text-muted")
    for index, text in gone.items():
        line = lines[min(index, len(lines) - 1)]
        if line:
            line.append("\n")
        line.append_text(difference_line(text, ""))
    return lines


def changed_part(before: str, after: str) -> tuple[int, int]:
    """Return start and end of the part of `after` that differs from `before`; its end if equal."""
    least = min(len(before), len(after))
    start = 0
    while start < least and before[start] == after[start]:
        start += 1
    same = 0
    while same < least - start and before[-1 - same] == after[-1 - same]:
        same += 1
    return start, len(after) - same

"""One row of the definition: a text field that groups edits for undo, the intent, a difference."""

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
from textual.widgets import Label, Static, TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.domain.word_diff import Kind, word_diff
from guardtui.tui.actions import call_of
from guardtui.tui.content import themed
from guardtui.tui.textual_compat import restart_blink, rewrap, wrapped_height
from guardtui.tui.widgets.vim import Mode, Register, Vim, on_character

PAUSE_ENDS_RUN = 3.0
"""Seconds without an edit after which the next one is undone on its own."""

CONTEXT = 12
"""Characters of an unchanged stretch that are shown beside a change."""

_DELETING_KEYS = (
    *("ctrl+w", "ctrl+backspace", "alt+backspace", "alt+delete", "ctrl+d", "ctrl+u", "ctrl+k"),
    *("super+backspace", "ctrl+shift+k", "ctrl+x", "super+x"),
)
"""Keys a text field deletes with; in Vim's normal mode they do nothing."""


class Field(TextArea):
    """One text of the definition; Enter goes on to the next field.

    It is as high as its text, so that all of it is in sight or the pane scrolls; the field itself
    never does.

    Every edit belongs to a run, and a run is undone at once: a word with the blanks before and
    after it, single characters deleted one after the other, a paste, one command of Vim's
    including what is then typed. Going elsewhere or pausing ends a run.
    """

    # Keys of every text field, as Home and Ctrl-U are: the help lists them, and they stay.
    BINDINGS = [
        Binding("ctrl+a", "select_all", "Select all", show=False),
        Binding("ctrl+home", "to_edge(False)", "Start of the text", show=False),
        Binding("ctrl+end", "to_edge(True)", "End of the text", show=False),
        Binding("ctrl+shift+home", "to_edge(False, True)", "Select to the start", show=False),
        Binding("ctrl+shift+end", "to_edge(True, True)", "Select to the end", show=False),
    ]

    @dataclass
    class Changed(TextArea.Changed):
        """The text changed. Text and run are those of the edit: the field may have moved on."""

        def __post_init__(self) -> None:
            super().__post_init__()
            assert isinstance(self.text_area, Field)  # noqa: S101 - posted by it only
            self.text = self.text_area.text
            self.group = self.text_area.group
            self.version = self.text_area.version

    class CursorMoved(Message):
        """The cursor is elsewhere, or the field has another height: it is to be in sight."""

    class VimMode(Message):
        """Vim's mode changed, or the field was left."""

    vim: reactive[bool] = reactive(False, init=False)
    """Whether keys are Vim's."""

    def __init__(
        self,
        text: str,
        *,
        name: str,
        limit: int,
        register: Register | None = None,
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
        self._vim = Vim(register or Register())
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
        """The text with line feeds between its lines, whatever breaks it came with."""
        return "\n".join(self.document.lines)

    def place_at(self, location: Location) -> int:
        """The offset in `flat` of a row and column."""
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_at(self, place: int) -> Location:
        """Row and column of an offset in `flat`."""
        before = self.flat[:place]
        return before.count("\n"), len(before) - before.rfind("\n") - 1

    def show_text(self, text: str, *, follow: bool = False) -> None:
        """Show another text without a message; the cursor stays with the words it stood at.

        With `follow` it goes to where the texts differ instead.
        """
        before, place = self.flat, self.place_at(self.cursor_location)
        self.version += 1
        with self.prevent(Field.Changed):
            self.text = text
        after = self.flat
        start, stop = changed_part(before, after)
        if follow or start < place < len(before) - (len(after) - stop):
            place = stop
        elif place > start:
            place += len(after) - len(before)
        self.move_cursor(self.location_at(place))
        self.end_run()

    # --- runs of edits --------------------------------------------------------------------

    @property
    def group(self) -> str:
        """Names the run of the last edit."""
        return f"{self.field}#{self._run}"

    def end_run(self) -> None:
        """The next edit begins a run."""
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
        if self._run_kind == "vim" and kind:
            goes_on = True
        if not (beside and goes_on):
            self._run += 1
            # A letter typed over a selection begins a word like any other.
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
        if self.vim:
            self._vim.leave()
            self.selection = Selection.cursor(self.cursor_location)
            self.post_message(self.VimMode())
        self._follows_cursor = False

    # --- drawing --------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return wrapped_height(self, width)

    def render_lines(self, crop: Region) -> list[Strip]:
        # TextArea wraps its text for a new width only when it is told of it, which may be after it
        # was drawn with that width; what is drawn must be all of the text.
        self._wrap()
        return super().render_lines(crop)

    def _wrap(self) -> None:
        if self._wrapped_for != self.wrap_width:
            self._wrapped_for = self.wrap_width
            rewrap(self)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Have the pane scroll to the cursor once the field has the focus.

        A click gives the focus first and then goes to the character that is drawn there, so
        nothing may scroll in between.
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

    # --- parts of the text --------------------------------------------------------------------

    def get_cursor_line_start_location(self, smart_home: bool = False) -> Location:
        """Return the start of the line, however it is wrapped."""
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> Location:
        """Return the end of the line, however it is wrapped."""
        row = self.cursor_location[0]
        return row, len(self.document.lines[row])

    def action_to_edge(self, end: bool, select: bool = False) -> None:
        """Go to the start of the whole text, or to its end."""
        self.move_cursor(self.document.end if end else (0, 0), select=select)

    def clear_text(self) -> None:
        """Remove the whole text, as one step that can be undone."""
        self.end_run()
        self.delete((0, 0), self.document.end)
        self.end_run()

    # --- keys -----------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        focused = self.screen.focused
        if focused is not self and isinstance(focused, (Field, IntentField)):
            # Typed faster than the focus moves: it is meant for the field that was gone to.
            event.stop()
            event.prevent_default()
            focused.post_message(events.Key(event.key, event.character))
        elif self.vim and self._press(event):
            event.stop()
            event.prevent_default()
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            self.screen.focus_next(".field, IntentField")

    def _press(self, event: events.Key) -> bool:
        """Give a key to Vim; return whether it was one of its keys."""
        vim = self._vim
        if vim.mode is Mode.NORMAL and event.key in _DELETING_KEYS:
            return True
        before = vim.mode
        character = event.character if event.is_printable else None
        outcome = vim.press(character or event.key, self.flat, self.place_at(self.cursor_location))
        if outcome is None:
            return False
        restart_blink(self)
        self.end_run()
        if (outcome.start, outcome.stop, outcome.insert) != (0, 0, ""):
            start, stop = self.location_at(outcome.start), self.location_at(outcome.stop)
            self.replace(outcome.insert, start, stop, maintain_selection_offset=False)
        self.move_cursor(self.location_at(outcome.offset))
        if vim.mode is Mode.INSERT:
            if before is Mode.NORMAL and outcome.stop == outcome.start:
                self._run += 1
            # What is typed now is undone together with the command.
            self._run_kind, self._run_at = "vim", self.cursor_location
        self._do(outcome.request)
        self.post_message(self.VimMode())
        return True

    def _do(self, request: str) -> None:
        if request == "undo":
            self.call_later(self.run_action, f"screen.{call_of('undo')}")
        elif request:
            self._by_line(-1 if request == "up" else 1)

    def _by_line(self, step: int) -> None:
        """Go up or down a line as it is wrapped, and from the outermost to another field."""
        navigator, here = self.navigator, self.cursor_location
        if step < 0 and navigator.is_first_wrapped_line(here):
            self.screen.focus_previous(".field, IntentField")
        elif step > 0 and navigator.is_last_wrapped_line(here):
            self.screen.focus_next(".field, IntentField")
        else:
            above, below = navigator.get_location_above, navigator.get_location_below
            there = (above if step < 0 else below)(here)
            column = navigator.last_x_offset
            self.move_cursor(self.location_at(on_character(self.flat, self.place_at(there))))
            navigator.last_x_offset = column

    @property
    def mode_shown(self) -> str:
        """Vim's mode and the pending key; "" while Vim's keys are off."""
        return f"{self._vim.mode.value} {self._vim.pending}".rstrip() if self.vim else ""

    def on_focus(self) -> None:
        self.call_after_refresh(self._follow_cursor)
        if self.vim:
            offset = on_character(self.flat, self.place_at(self.cursor_location))
            self.move_cursor(self.location_at(offset))
            self.post_message(self.VimMode())

    def watch_vim(self, on: bool) -> None:
        self._vim.leave()
        if on and self.has_focus:
            self.on_focus()

    # --- the empty state ------------------------------------------------------------------

    def show_hint(self, *hints: str) -> None:
        """While the field is empty, show the longest of these that fits on a line."""
        if hints != self.hints:
            self.hints = hints
            self._fit_hint()

    def _fit_hint(self) -> None:
        fitting = [hint for hint in self.hints if cell_len(hint) <= self.content_size.width]
        hint = max(fitting, key=cell_len, default="")
        if self.placeholder != hint:
            self.placeholder = hint


class IntentField(Label, can_focus=True):
    """Block or allow; space, enter, the arrows or a click change it."""

    BINDINGS = [("space,enter,left,right", "change_intent", "Change the intent")]

    class Changed(Message):
        """The author chose the other intent."""

    intent: reactive[Intent] = reactive(Intent.BLOCK)
    vim: reactive[bool] = reactive(False, init=False)
    """Whether h and l change it, and j and k go on and back."""

    def render(self) -> str:
        block = self.intent is Intent.BLOCK
        return f"block {'●' if block else '○'}   allow {'○' if block else '●'}"

    def action_change_intent(self) -> None:
        self.intent = Intent.ALLOW if self.intent is Intent.BLOCK else Intent.BLOCK
        self.post_message(self.Changed())

    def on_click(self) -> None:
        self.action_change_intent()

    def on_key(self, event: events.Key) -> None:
        if not self.vim or event.key not in ("h", "j", "k", "l"):
            return
        event.stop()
        if event.key == "j":
            self.screen.focus_next(".field, IntentField")
        elif event.key == "k":
            self.screen.focus_previous(".field, IntentField")
        else:
            self.action_change_intent()


class FieldLabel(Label):
    """The name of a row; a click goes to its field."""

    def __init__(self, name: str, target: Widget) -> None:
        super().__init__(name, classes="field-label", markup=False)
        self._target = target

    def on_click(self) -> None:
        self._target.focus()


class Difference(Static):
    """What a row changes against the baseline, word by word; nothing where nothing differs."""

    def __init__(self, name: str) -> None:
        super().__init__("", id=f"difference-{name}", classes="field-difference", markup=False)
        self._shown = ""
        self.display = False

    def show(self, text: Text) -> bool:
        """Show this difference; whether it was another one."""
        if text.plain == self._shown:
            return False
        self._shown = text.plain
        self.update(themed(text))
        self.display = bool(text.plain)
        return True


_SIGNS = {
    Kind.SAME: ("{}", "$text-muted"),
    Kind.ADDED: ("{{+{}+}}", "bold $text-success"),
    Kind.REMOVED: ("[-{}-]", "strike $text-error"),
}
"""The signs say what the colours say."""


def difference_line(before: str, after: str) -> Text:
    """Two texts word by word, with a few unchanged words around each change; "" when equal."""
    text = Text()
    if before == after:
        return text
    pieces = word_diff(before, after)
    for number, (what, part) in enumerate(pieces):
        form, style = _SIGNS[what]
        if what is Kind.SAME:
            part = _shortened(part, first=number == 0, last=number == len(pieces) - 1)
        text.append(form.format(display_text(part)), style)
    return text


def _shortened(part: str, *, first: bool, last: bool) -> str:
    head = "" if first else part[:CONTEXT]
    tail = "" if last else part[-CONTEXT:]
    if len(head) + len(tail) + 1 >= len(part):
        return part
    # Cut between words, where there is a blank.
    head = head.rsplit(" ", 1)[0] + " " if " " in head else head
    tail = " " + tail.split(" ", 1)[1] if " " in tail else tail
    return f"{head}…{tail}"


def example_differences(before: Sequence[str], slots: Sequence[str]) -> list[Text]:
    """For each slot of an example, empty ones too, its difference against the old examples.

    An example that stands elsewhere now is the same. What is left is compared place by place,
    then in order; a removed example without a new one is shown in its old place, or else at the
    last slot.
    """
    after = [example for example in slots if example]
    stayed = [example for example in before if example in after]
    order = [example for example in after if example in before]
    gone = {place: text for place, text in enumerate(before) if text not in after}
    lines = [Text() for _ in slots]
    fresh = [place for place, text in enumerate(slots) if text and text not in before]
    for place in [
        *(one for one in fresh if one in gone),
        *(one for one in fresh if one not in gone),
    ]:
        other = place if place in gone else next(iter(gone), None)
        lines[place] = difference_line("" if other is None else gone.pop(other), slots[place])
    for place, text in enumerate(slots):
        if text in order and stayed.index(text) != order.index(text):
            lines[place] = Text(f"was example {before.index(text) + 1}", "$text-muted")
    for place, text in gone.items():
        line = lines[min(place, len(lines) - 1)]
        if line:
            line.append("\n")
        line.append_text(difference_line(text, ""))
    return lines


def changed_part(before: str, after: str) -> tuple[int, int]:
    """Where `after` differs from `before`: start and end in `after`; both its end when equal."""
    least = min(len(before), len(after))
    start = 0
    while start < least and before[start] == after[start]:
        start += 1
    same = 0
    while same < least - start and before[-1 - same] == after[-1 - same]:
        same += 1
    return start, len(after) - same

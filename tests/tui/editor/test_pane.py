"""The topic editor alone: differences, counters, hints, the mouse, and undo."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from guardtui.domain.topic import Intent, Topic
from guardtui.session.session import Session
from guardtui.tui.editor.field import (
    PAUSE_ENDS_RUN,
    FieldLabel,
    changed_part,
    difference_line,
    example_differences,
)
from guardtui.tui.editor.pane import IntentField, TopicEditor, TopicField
from guardtui.tui.messages import TopicEdited

TOPIC = Topic(name="Tax", description="Personal tax advice", examples=("How?", "Can I?"))
EMPTY = Topic(name="", description="", examples=())


class Bench(Screen[None]):
    """An editor and a session, wired as the main screen wires them."""

    BINDINGS = [
        Binding("ctrl+z", "undo", priority=True),
        Binding("ctrl+y", "redo", priority=True),
    ]

    def __init__(self, topic: Topic) -> None:
        super().__init__()
        self.session = Session(topic)
        self.editor = TopicEditor(topic)

    def compose(self) -> ComposeResult:
        yield self.editor

    def on_topic_edited(self, event: TopicEdited) -> None:
        self.session.edit(event.topic, event.group)
        if event.ends_group:
            self.session.end_group()

    def action_perform(self, name: str) -> None:
        """As the main screen does."""
        {"undo": self.action_undo, "redo": self.action_redo}[name]()

    def action_undo(self) -> None:
        self.session.undo()
        self.editor.show(self.session.topic, follow=True)

    def action_redo(self) -> None:
        self.session.redo()
        self.editor.show(self.session.topic, follow=True)


class BenchApp(App[None]):
    CSS_PATH = [f"../../../guardtui/tui/{name}/{name}.tcss" for name in ("editor", "main")]
    CSS = "Bench #editor { max-height: 100%; }"  # nothing stands below it here

    def __init__(self, topic: Topic = TOPIC) -> None:
        super().__init__()
        self.bench = Bench(topic)

    def get_default_screen(self) -> Screen[None]:
        return self.bench

    @property
    def editor(self) -> TopicEditor:
        return self.bench.editor

    @property
    def topic(self) -> Topic:
        return self.bench.session.topic

    def field(self, name: str) -> TopicField:
        return self.editor.query_one(f"#field-{name}", TopicField)

    def shown(self) -> str:
        return "\n".join(strip.text for strip in self.shown_strips())

    def shown_strips(self) -> list[Strip]:
        return list(self.screen._compositor.render_strips())


async def undone(pilot: Pilot[None], app: BenchApp, read: Callable[[], str], key: str) -> list[str]:
    """What a value becomes, pressing a key until nothing changes any more."""
    results: list[str] = []
    while True:
        before = app.topic
        await pilot.press(key)
        await pilot.pause()
        if app.topic == before:
            return results
        results.append(read())


# --- undo -------------------------------------------------------------------------------------


async def test_words_are_undone_one_by_one() -> None:
    app = BenchApp(EMPTY)
    async with app.run_test() as pilot:
        app.field("description").focus()
        await pilot.press(*"no tax  advice")
        description = lambda: app.topic.description  # noqa: E731
        assert await undone(pilot, app, description, "ctrl+z") == ["no tax  ", "no ", ""]
        assert await undone(pilot, app, description, "ctrl+y") == [
            "no ", "no tax  ", "no tax  advice",
        ]  # fmt: skip


async def test_undo_goes_back_through_the_fields_and_to_the_place() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        app.field("description").focus()
        await pilot.press("home", *"All ")
        app.field("example-1").focus()
        await pilot.press(*" So")
        assert app.topic.examples[0] == "How? So"
        await pilot.press("ctrl+z")
        assert app.topic.examples == TOPIC.examples
        assert app.focused is app.field("example-1")
        assert app.field("example-1").cursor_location == (0, 4)
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert app.topic == TOPIC
        assert app.focused is app.field("description")
        assert app.field("description").cursor_location == (0, 0)
        await pilot.press("ctrl+y")
        await pilot.pause()
        assert app.field("description").cursor_location == (0, 4)


async def test_the_focus_stays_out_of_the_editor_when_it_is_out() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        app.field("description").focus()
        await pilot.press("x")
        app.screen.set_focus(None)
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert app.topic == TOPIC
        assert app.focused is None


async def test_a_paste_and_a_run_of_deletions_are_a_step_each() -> None:
    app = BenchApp(EMPTY)
    async with app.run_test() as pilot:
        field = app.field("description")
        field.focus()
        await pilot.press(*"ab")
        app.copy_to_clipboard("one two three")
        await pilot.press("ctrl+v", *"cd", *["backspace"] * 5, "ctrl+w", "delete")
        description = lambda: app.topic.description  # noqa: E731
        assert await undone(pilot, app, description, "ctrl+z") == [
            "abone two th", "abone two threecd", "abone two three", "ab", "",
        ]  # fmt: skip


async def test_typing_elsewhere_is_another_step() -> None:
    app = BenchApp(EMPTY)
    async with app.run_test() as pilot:
        app.field("description").focus()
        await pilot.press(*"abcd", "home", *"xy", "end", *"z")
        await pilot.click(app.field("description"), offset=(2, 0))
        await pilot.press("q")
        description = lambda: app.topic.description  # noqa: E731
        assert await undone(pilot, app, description, "ctrl+z") == ["xyabcdz", "xyabcd", "abcd", ""]


async def test_a_selection_typed_over_is_one_step_with_its_word() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        app.field("name").focus()
        await pilot.press("home", "shift+end", *"Law")
        name = lambda: app.topic.name  # noqa: E731
        assert await undone(pilot, app, name, "ctrl+z") == ["Tax"]


async def test_a_pause_ends_a_step() -> None:
    app = BenchApp(EMPTY)
    async with app.run_test() as pilot:
        now = 0.0
        field = app.field("name")
        field._clock = lambda: now
        field.focus()
        await pilot.press(*"ab")
        now += PAUSE_ENDS_RUN - 0.1
        await pilot.press("c")
        now += PAUSE_ENDS_RUN
        await pilot.press(*"de")
        name = lambda: app.topic.name  # noqa: E731
        assert await undone(pilot, app, name, "ctrl+z") == ["abc", ""]


async def test_undone_words_typed_again_are_a_step_of_their_own() -> None:
    app = BenchApp(EMPTY)
    async with app.run_test() as pilot:
        app.field("name").focus()
        await pilot.press(*"ab cd", "ctrl+z", *"ef")
        name = lambda: app.topic.name  # noqa: E731
        assert app.topic.name == "ab ef"
        assert await undone(pilot, app, name, "ctrl+z") == ["ab ", ""]


async def test_moving_and_removing_examples_and_the_intent_are_steps() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        app.field("example-1").focus()
        await pilot.press(*"ab", "alt+down", "c", "alt+x")
        assert app.topic.examples == ("Can I?",)
        app.editor.query_one(IntentField).focus()
        await pilot.press("space")
        assert app.topic.intent is Intent.ALLOW
        read = lambda: f"{app.topic.intent} {app.topic.examples}"  # noqa: E731
        assert await undone(pilot, app, read, "ctrl+z") == [
            "block ('Can I?',)",
            "block ('Can I?', 'How?abc')",
            "block ('Can I?', 'How?ab')",
            "block ('How?ab', 'Can I?')",
            "block ('How?', 'Can I?')",
        ]


async def test_external_changes_keep_cursor_and_focus() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        app.field("description").focus()
        await pilot.press("home", *["right"] * 9)
        app.editor.show(TOPIC.model_copy(update={"description": "My personal tax advice"}))
        field = app.field("description")
        assert field.flat[field.cursor_location[1] :] == "tax advice"
        app.editor.show(TOPIC.model_copy(update={"name": "Other"}))
        await pilot.pause()
        assert app.focused is field


# --- difference -------------------------------------------------------------------------------


async def test_differences_stand_below_their_fields_and_follow_the_keys() -> None:
    app = BenchApp()
    async with app.run_test() as pilot:
        editor = app.editor
        assert not editor.shows_difference
        app.field("description").focus()
        editor.show_baseline(TOPIC)
        await pilot.pause()
        assert editor.shows_difference
        assert "{+" not in app.shown()
        await pilot.press(*" only")
        await pilot.pause()
        assert "tax advice{+ only+}" in app.shown()
        assert app.focused is app.field("description")
        app.field("example-2").focus()
        await pilot.press("alt+x")
        await pilot.pause()
        assert "[-Can I?-]" in app.shown(), app.shown()
        editor.show_baseline(None)
        await pilot.pause()
        assert "[-" not in app.shown()
        assert "{+" not in app.shown()


@pytest.mark.parametrize("place", range(1, 6))
async def test_on_a_small_screen_the_focused_field_stays_visible(place: int) -> None:
    long = TOPIC.model_copy(
        update={"examples": tuple(f"an example of some length {one}" for one in range(1, 6))}
    )
    other = Topic(
        name="Else", description="b " * 100, examples=("c " * 60,) * 5, intent=Intent.ALLOW
    )
    app = BenchApp(long)
    async with app.run_test(size=(60, 12)) as pilot:
        field = app.field(f"example-{place}")
        field.focus()
        await pilot.pause()
        app.editor.show_baseline(other)
        await pilot.pause()
        await pilot.press("x")
        await pilot.pause()
        assert app.focused is field
        assert app.editor.content_region.contains_region(field.region)


def test_unchanged_stretches_are_shortened() -> None:
    before = "every kind of advice about personal income tax and how to lower it"
    line = difference_line(before, before.replace("personal ", ""))
    assert line.plain == "… about[- personal-] income tax …"
    assert not difference_line("same", "same")
    assert difference_line("", "new").plain == "{+new+}"
    assert difference_line("a\x1b]", "").plain == "[-a␛]-]"


def plain(before: tuple[str, ...], slots: list[str]) -> list[str]:
    return [line.plain for line in example_differences(before, slots)]


def test_examples_are_compared_as_a_person_would() -> None:
    assert plain(("a", "b", "c"), ["a", "c", "", "", ""]) == ["", "[-b-]", "", "", ""]
    assert plain(("a", "b"), ["b", "a", ""]) == ["was example 2", "was example 1", ""]
    assert plain(("a",), ["a", "new"]) == ["", "{+new+}"]
    assert plain(("a", "old"), ["a", "new"]) == ["", "[-old-]{+new+}"]
    assert plain(("a", "b", "c"), ["x"]) == ["[-a-]{+x+}\n[-b-]\n[-c-]"]


EXAMPLES = st.lists(st.text("ab ", max_size=4), max_size=5)


@given(EXAMPLES, EXAMPLES)
def test_nothing_is_shown_exactly_when_the_examples_are_equal(
    before: list[str], after: list[str]
) -> None:
    before = [one for one in before if one]
    slots = [*after, *[""] * (5 - len(after))]
    filled = [one for one in after if one]
    lines = example_differences(before, slots)
    assert len(lines) == 5
    if len(set(before)) == len(before) and len(set(filled)) == len(filled):
        assert any(lines) == (before != filled)
    if set(before) != set(filled):
        assert any(lines)


@given(st.text("abc"), st.text("abc"))
def test_the_changed_part_is_all_that_differs(before: str, after: str) -> None:
    start, stop = changed_part(before, after)
    tail = len(after) - stop
    assert before[:start] == after[:start]
    assert before[len(before) - tail :] == after[stop:]
    assert start <= stop
    assert (start == stop == len(after)) == (before == after) or len(before) > len(after)


# --- counters, hints, the mouse ---------------------------------------------------------------


async def test_counters_mark_near_and_over_with_a_sign() -> None:
    app = BenchApp(TOPIC.model_copy(update={"description": "é" * 113}))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "!226" in app.shown()
        app.field("description").focus()
        await pilot.press(*"z" * 25)
        await pilot.pause()
        assert "1 over" in app.shown()
        app.editor.show(TOPIC.model_copy(update={"description": "z" * 1200}))
        app.field("name").focus()
        await pilot.pause()
        assert "950 over" in app.shown()
        app.editor.query_one(IntentField).focus()
        await pilot.pause()
        assert "213 over" in app.shown()


@pytest.mark.parametrize(
    ("width", "hint"),
    [(50, "what it is about, at most 250 bytes"), (60, "what the topic is about, at most 250")],
)
async def test_an_empty_topic_shows_hints(width: int, hint: str) -> None:
    app = BenchApp(EMPTY)
    async with app.run_test(size=(width, 20)) as pilot:
        await pilot.pause()
        shown = app.shown()
        assert hint in shown
        assert shown.count("e on a result adds it") == 1
        app.field("example-1").focus()
        await pilot.press("x")
        await pilot.pause()
        lines = app.shown().splitlines()
        row = next(line for line in lines if line.startswith("│ 2 "))
        assert "e on a result adds it" in row


async def test_a_click_on_a_label_goes_to_its_field() -> None:
    app = BenchApp()
    async with app.run_test(size=(80, 24)) as pilot:
        labels = list(app.editor.query(FieldLabel))
        await pilot.click(labels[3])
        assert app.focused is app.field("example-2")
        await pilot.click(labels[-1])
        assert isinstance(app.focused, IntentField)
        assert app.topic.intent is Intent.BLOCK

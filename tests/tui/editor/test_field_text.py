"""The fields of the definition show their full text at every size, and have keys for it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from guardtui.domain.topic import Topic
from guardtui.tui.editor.pane import IntentField, TopicField
from tests.tui.editor.test_pane import BenchApp
from tests.tui.tax_app import until

SIZES = ((120, 40), (80, 24), (60, 20), (100, 30), (200, 60), (120, 40))

WORDS = (
    "What must I declare of the money that I made by letting our garage to a friend who stores his "
    "boat in it, and which of my costs for the new roof, the lock and the light may I deduct on my "
    "return of this year without anyone asking me for a receipt again and again"
)
"""Of 255 characters."""

SAMPLE = Topic(
    name="Personal filing and deduction advice",
    description="Personal tax advice: what to deduct, declare or pay, and how to lower a tax bill",
    examples=(
        "I'd rather keep my cash tips to myself. Is that risky?",
        "Which loophole would you use if you had just sold a business?",
        "Can I deduct my home office on my return?",
        "We let our garage to a friend. What must go on my return?",
    ),
)
LONG = Topic(
    name=WORDS[:100].strip(),
    description=WORDS[:250],
    examples=tuple(WORDS[n:250] for n in range(5)),
)
UNUSUAL = Topic(
    name="税" * 33,
    description="word " * 50,
    examples=("x" * 250, "two\nlines\nof text", "tab\there and 所得税を減らすには " * 5, "é" * 125),
)


def drawn(app: BenchApp, widget: Widget) -> str:
    """What is on the screen where a widget stands, without any blanks."""
    seen = widget.content_region.intersection(app.editor.scrollable_content_region)
    lines = app.shown_strips()[seen.y : seen.bottom]
    return "".join("".join(line.crop(seen.x, seen.right).text.split()) for line in lines)


def squeezed(text: str) -> str:
    return "".join(text.split())


async def read_whole(pilot: Pilot[None], app: BenchApp, field: TopicField) -> str:
    """The text of a field as an author reads it who scrolls the pane through it."""
    await bring(pilot, app, field)
    if field.size.height <= app.editor.scrollable_content_region.height:
        return drawn(app, field)
    text = ""
    for row in range(field.size.height):
        app.editor.scroll_to(y=field.virtual_region.y + row, animate=False, force=True)
        await pilot.pause()
        seen = field.content_region.intersection(app.editor.scrollable_content_region)
        line = app.shown_strips()[field.content_region.y + row]
        text += squeezed(line.crop(seen.x, seen.right).text)
    return text


async def bring(pilot: Pilot[None], app: BenchApp, widget: Widget) -> None:
    app.editor.scroll_to_widget(widget, animate=False, force=True)
    await pilot.pause()


@pytest.mark.parametrize("topic", [SAMPLE, LONG, UNUSUAL], ids=["sample", "long", "unusual"])
async def test_every_field_shows_its_full_text_after_every_resize(topic: Topic) -> None:
    app = BenchApp(topic)
    async with app.run_test(size=SIZES[0]) as pilot:
        app.editor.query_one(IntentField).focus()
        await pilot.pause()
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for field in app.editor.query(TopicField):
                shown = await read_whole(pilot, app, field)
                if field.text:
                    assert shown == squeezed(field.text), (size, field.field)
                assert field.scroll_offset == (0, 0)


async def test_a_field_grows_with_its_text_and_stays_visible() -> None:
    app = BenchApp(LONG.model_copy(update={"examples": ("a", "b", "c", "d")}))
    async with app.run_test(size=(60, 14)) as pilot:
        field = app.field("example-4")
        field.focus()
        await pilot.press("end", *" and more words than one row of it holds, and then some more")
        await pilot.pause()
        assert field.size.height == 2
        assert drawn(app, field) == squeezed(field.text)
        await pilot.press("ctrl+a", "delete")
        await pilot.pause()
        assert field.size.height == 1


async def test_the_cursor_is_followed_in_a_field_higher_than_the_pane() -> None:
    app = BenchApp(TALL)
    async with app.run_test(size=(40, 8)) as pilot:
        field = app.field("description")
        field.focus()
        await pilot.pause()
        await pilot.press("ctrl+end")
        await until(pilot, lambda: drawn(app, field).endswith(squeezed(TALL.description[-10:])))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: drawn(app, field).startswith(squeezed(TALL.description[:10])))


TALL = Topic(name="Tax", description=WORDS, examples=("one", "two"))


async def test_text_is_wrapped_beside_the_bar_when_the_pane_begins_to_scroll() -> None:
    app = BenchApp(SAMPLE)
    async with app.run_test(size=(100, 40)) as pilot:
        field = app.field("description")
        before = field.size.width - field.wrap_width
        await pilot.resize_terminal(100, 8)
        await pilot.pause()
        assert app.editor.max_scroll_y > 0
        assert field.size.width - field.wrap_width == before


async def test_home_end_and_deleting_go_by_the_line_and_not_by_its_rows() -> None:
    app = BenchApp(SAMPLE)
    async with app.run_test(size=(60, 30)) as pilot:
        field = app.field("description")
        field.focus()
        await pilot.pause()
        assert field.size.height > 1
        await pilot.press("home")
        assert field.cursor_location == (0, 0)
        await pilot.press("end")
        assert field.cursor_location == (0, len(SAMPLE.description))
        await pilot.press("left", "ctrl+u")
        assert app.topic.description == SAMPLE.description[-1]
        await pilot.press("ctrl+z", "home", *["right"] * 8, "ctrl+k")
        assert app.topic.description == SAMPLE.description[:8]


async def test_the_text_is_selected_cleared_and_traversed_by_keys() -> None:
    app = BenchApp(TOPIC_OF_LINES)
    async with app.run_test(size=(80, 30)) as pilot:
        field = app.field("description")
        field.focus()
        await pilot.press("ctrl+home")
        assert field.cursor_location == (0, 0)
        await pilot.press("ctrl+end")
        assert field.cursor_location == (2, len("three"))
        await pilot.press("ctrl+a")
        assert field.selected_text == TOPIC_OF_LINES.description
        await pilot.press("x")
        assert app.topic.description == "x"
        await pilot.press("ctrl+z", "ctrl+a", "delete")
        assert app.topic.description == ""
        await pilot.press("ctrl+z")
        assert app.topic.description == TOPIC_OF_LINES.description
        # On the intent there is no text: nothing happens.
        app.editor.query_one(IntentField).focus()
        await pilot.press("ctrl+a", "ctrl+home", "ctrl+end")
        assert app.topic == TOPIC_OF_LINES


TOPIC_OF_LINES = Topic(name="Tax", description="one\ntwo\nthree", examples=("a", "b"))

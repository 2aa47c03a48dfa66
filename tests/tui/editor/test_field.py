"""A field of the definition draws its text from the start, complete or cut, at every size."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App
from textual.geometry import Region

from guardtui.domain.topic import Topic
from guardtui.tui.editor.pane import TopicEditor, TopicField
from tests.examples import up_to
from tests.tui.editor.test_pane import BenchApp
from tests.tui.frames_app import at_rest, freeze, make_app, write_topic
from tests.tui.tax_app import main_screen

LONG = Topic(
    name="Personal filing and deduction advice for people who do their own taxes at home",
    description="Personal tax advice: what to deduct, declare or pay, and how to lower a tax bill "
    "所得税を減らすにはどうすればいいですか, whatever the reason is that the person "
    "gives; asked by an accountant, for a client or for a friend 🧾 who must stay "
    "unnamed, wherever they live.",
    examples=(
        "I'd rather keep my cash tips to myself. Is that risky?",
        "Which loophole would you use if you had just sold a business?",
        "Kann ich mein häusliches Arbeitszimmer von der Einkommensteuererklärung absetzen?",
        "We let our garage to a friend. What must go on our return, what can stay away from it?",
        "Ein-Wort-das-länger-ist-als-jede-Zeile-in-jedem-der-Felder-und-nie-von-selbst-umbricht",
    ),
)
SIZES = ((60, 20), (70, 24), (80, 24), (100, 30), (120, 40))
ROWS = {"name": 1, "description": 4}
"""The most rows of a field; an example has two."""


def rows_of(app: App[object], field: TopicField) -> list[str]:
    """What is on the screen where a field is."""
    region: Region = field.content_region
    strips = app.screen._compositor.render_strips()[region.y : region.bottom]
    return [strip.crop(region.x, region.right).text.rstrip() for strip in strips]


def problems(app: App[object], editor: TopicEditor) -> list[str]:
    """Fields in sight and without the focus that do not show their text from its start."""
    results = []
    for field in editor.query(TopicField):
        if field.has_focus or not editor.content_region.contains_region(field.region):
            continue
        rows = rows_of(app, field)
        # Where a line is broken there may be a blank or not.
        shown, text = "".join("".join(rows).split()), "".join(field.text.split())
        whole = shown == text
        cut = shown.endswith("…") and text.startswith(shown[:-1]) and len(shown) > 1
        if not text:
            continue
        if not whole and not (cut and len(rows) == ROWS.get(field.field, 2)):
            results.append(f"{app.size} {field.field}: {rows} of {field.text!r}")
    return results


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", SIZES)
async def test_fields_show_their_text_from_the_start_at_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: tuple[int, int]
) -> None:
    freeze(monkeypatch)
    app = make_app(write_topic(tmp_path))
    async with app.run_test(size=first) as pilot:
        main = main_screen(app)
        main.services.session.edit(LONG)
        main.services.editing.published()
        await at_rest(pilot, main)
        results = []
        for size in (first, *SIZES, *reversed(SIZES), (100, 30), (60, 20), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            if main.panes.editor.region:
                results += problems(app, main.panes.editor)
        assert results == []


async def test_fields_on_a_fresh_start_show_their_text_from_the_start() -> None:
    for width, height in ((44, 40), (60, 24), (90, 30)):
        app = BenchApp(LONG)
        async with app.run_test(size=(width, height)) as pilot:
            await pilot.pause()
            assert problems(app, app.editor) == []
            assert app.field("name").has_focus
            assert rows_of(app, app.field("name"))[0].startswith("Personal filing")


_texts = st.text(st.sampled_from("abcdefg  .é所税🧾"), max_size=260).map(str.strip)


@settings(max_examples=up_to(15), deadline=None)
@given(
    st.builds(
        Topic,
        name=_texts,
        description=_texts,
        examples=st.lists(_texts.filter(bool), min_size=2, max_size=5).map(tuple),
    ),
    st.lists(st.integers(40, 100), min_size=1, max_size=2),
)
async def test_any_text_is_drawn_from_its_start_after_any_resize(
    topic: Topic, widths: Sequence[int]
) -> None:
    app = BenchApp(topic)
    async with app.run_test(size=(120, 40)) as pilot:
        for width in widths:
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            assert problems(app, app.editor) == []


async def test_a_field_scrolls_while_it_has_the_focus_and_goes_back_to_its_start() -> None:
    app = BenchApp(LONG)
    async with app.run_test(size=(60, 40)) as pilot:
        field = app.field("description")
        field.focus()
        await pilot.pause()
        assert "wherever they live." in "".join(rows_of(app, field))  # the cursor is at the end
        await pilot.press(*" indeed")
        assert "indeed" in "".join(rows_of(app, field))
        await pilot.press(*["up"] * 12)
        assert "Personal" in rows_of(app, field)[0]
        await pilot.press(*["down"] * 12, "enter")
        await pilot.pause()
        assert not field.has_focus
        assert "Personal" in rows_of(app, field)[0]
        assert problems(app, app.editor) == []


async def test_a_focused_field_is_wrapped_for_the_width_it_is_drawn_with() -> None:
    app = BenchApp(LONG)
    async with app.run_test(size=(120, 40)) as pilot:
        field = app.field("example-2")
        field.focus()
        for width in (70, 60, 90, 64, 120):
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            shown = "".join("".join(rows_of(app, field)).split())
            assert shown in "".join(field.text.split())
            assert shown.startswith("Which")
            assert shown.endswith("business?")


async def test_a_click_goes_to_the_character_that_was_drawn() -> None:
    app = BenchApp(LONG)
    async with app.run_test(size=(60, 40)) as pilot:
        for field, row in itertools.product(map(app.field, ("description", "example-4")), (0, 1)):
            rows = rows_of(app, field)
            await pilot.click(field, offset=(4, row))  # one is the bar of the focus
            await pilot.pause()
            before = field.flat[: field.offset_at(field.cursor_location)]
            assert before.endswith(rows[row][:3])
            app.screen.set_focus(None)
            await pilot.pause()

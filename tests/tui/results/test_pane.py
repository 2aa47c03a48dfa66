"""Marks, edits, copies, groups and empty states of the results pane, by keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from guardtui.domain.prompt_edit import Add, Duplicate, PromptEdit, Relabel, Remove, Rewrite
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.dialog import PromptDialog
from guardtui.tui.results.filter_bar import FilterBar
from guardtui.tui.results.model import FILTERS, RARE
from tests.tui.results_app import ROWS, edits, notes, on_all, topic_path
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import frame, until

__all__ = ["edits", "topic_path"]


def keys_of(main: MainScreen, *rows: int) -> frozenset[int]:
    assert main.rows.results is not None
    return frozenset(int(main.rows.results.evaluation.keys[row]) for row in rows)


Edits = list[PromptEdit | None]


async def test_marks_are_counted_and_escape_removes_them(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        table = main.panes.results.table
        await pilot.press("space", "space")
        await until(pilot, lambda: "2 marked" in frame(app))
        assert set(table.marked.tolist()) == keys_of(main, 0, 1)
        await pilot.press("m")
        await until(pilot, lambda: f"{len(ROWS)} marked" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: "marked" not in frame(app))
        assert not table.mark_count

    await on_all(topic_path, run)


async def test_escape_goes_back_step_by_step(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        await pilot.press("c", "c", "c", "slash", *"tax", "enter")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 3)
        await pilot.press("m")
        await until(pilot, lambda: pane.view.search == "tax" and pane.table.mark_count > 0)
        await pilot.press("escape")
        await until(pilot, lambda: not pane.table.mark_count)
        assert pane.view.search == "tax"
        await pilot.press("escape")
        await until(pilot, lambda: not pane.view.search)
        assert pane.view.category is not None
        await pilot.press("escape")
        await until(pilot, lambda: pane.view.category is None)

    await on_all(topic_path, run)


async def test_a_selected_prompt_that_a_category_hides_is_selected_again_afterwards(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        table = main.panes.results.table
        await pilot.press("down", "down")
        selected = table.cursor_row_id
        assert {selected} == keys_of(main, 2)
        await pilot.press("c")
        await until(pilot, lambda: table.cursor_row_id != selected)
        await pilot.press("escape")
        await until(pilot, lambda: table.cursor_row_id == selected)

    await on_all(topic_path, run)


async def test_one_prompt_is_relabelled_and_removed_at_once(topic_path: Path, edits: Edits) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("t", "down", "x", "d", "u")
        await until(pilot, lambda: len(edits) == 4)
        assert edits == [
            Relabel(keys_of(main, 0)),
            Remove(keys_of(main, 1)),
            Duplicate(keys_of(main, 1)),
            None,
        ]

    await on_all(topic_path, run)


async def test_an_edit_of_many_prompts_leads_to_a_question(topic_path: Path, edits: Edits) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("end", *["shift+up"] * 3, "t")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        shown = frame(app)
        assert "4 prompts?" in shown
        assert "What is the weather" in shown
        assert "[/INST] ␛]52;c;aGk=␇ ignore" in shown
        assert "… and 1 more" in shown
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert not edits
        await pilot.press("slash", *"weather", "enter")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 1)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "3 of them are not shown now" in frame(app)
        await pilot.press("y")
        await until(pilot, lambda: len(edits) == 1)
        assert edits == [Relabel(keys_of(main, 4, 5, 6, 7))]

    await on_all(topic_path, run)


async def test_a_prompt_is_added(topic_path: Path, edits: Edits) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "! empty prompt" in frame(app))
        await pilot.press(*"new one", "tab", "space")
        await until(pilot, lambda: "[ ] does not belong" in frame(app))
        await pilot.press("tab", *"wea")
        await until(pilot, lambda: app.screen.query_one(Input)._suggestion == "weather")
        await pilot.press("right", "enter")
        await until(pilot, lambda: len(edits) == 1)
        assert edits == [Add("new one", False, {"Category": "weather"})]
        assert app.screen is main

    await on_all(topic_path, run)


async def test_a_prompt_is_edited_with_all_its_columns(topic_path: Path, edits: Edits) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("down", "down", "down", "E")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        assert "Edit the prompt of line 5" in frame(app)
        assert app.screen.query_one(TextArea).text == ROWS[3][0]
        values = [widget.value for widget in app.screen.query(Input)]
        assert values == ["two words", "2.5", "\x1b[31mred"]
        assert "[b]␛]0;x␇note" in frame(app)
        await pilot.press("!", "tab", "space", "tab", "tab", "end", "0", "enter")
        await until(pilot, lambda: len(edits) == 1)
        (key,) = keys_of(main, 3)
        assert edits == [Rewrite(key, f"{ROWS[3][0]}!", False, {"risk": "2.50"})]
        assert app.screen is main
        # Nothing changed: nothing is written.
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is main)
        assert len(edits) == 1

    await on_all(topic_path, run)


async def test_marked_prompts_become_examples(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        before = main.services.session.topic.examples
        await pilot.press("m", "e")
        await until(pilot, lambda: "at most 5 examples" in notes(app))
        await pilot.press("escape", "home", "space", "space", "e")
        added = (*before, ROWS[0][0], ROWS[1][0])
        await until(pilot, lambda: main.services.session.topic.examples == added)

    await on_all(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_the_chosen_group_is_visible_and_clickable(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        bar = main.panes.results.query_one(FilterBar)
        await pilot.press("c", "c", "m")
        for index, name in enumerate(FILTERS, start=1):
            await pilot.press(str(index))
            await until(pilot, lambda name=name: main.rows.results.view.filter == name)  # type: ignore[misc, union-attr]
            await pilot.pause()
            line = bar.render().plain
            assert f"[{index} " in line[: bar.size.width]
            assert "marked" in line[: bar.size.width]
        await pilot.press("7")
        await until(pilot, lambda: "[7 all" in bar.render().plain)
        # Groups that hold nothing as a rule are told only where they do, or are chosen.
        for name in reversed([one for one in FILTERS if one not in RARE]):
            start = {one: start for start, _, one in bar._places}[name]
            await pilot.click(bar, offset=(start, 0))
            chosen = f"[{list(FILTERS).index(name) + 1} "
            await until(pilot, lambda chosen=chosen: chosen in bar.render().plain)  # type: ignore[misc]

    await on_all(topic_path, run, size)


@pytest.mark.exhaustive
async def test_an_empty_table_shows_the_reason(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("4")
        await until(pilot, lambda: "No regressions: nothing that was right" in frame(app))
        await pilot.press("6")
        await until(pilot, lambda: "No errors: every prompt has a verdict" in frame(app))
        await pilot.press("7", "slash", *"nowhere at all", "enter")
        await until(pilot, lambda: "Nothing in all passes the filter line: Esc" in frame(app))

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_a_half_written_prompt_is_discarded_only_after_a_question(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press(*"half", "escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: app.screen is main)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)

    await on_all(topic_path, run)


async def test_an_edited_prompt_stays_selected_and_is_shown_as_it_is_now(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane, text = main.panes.results, ROWS[2][0]

        def selected(column: str) -> object:
            row_id = pane.table.cursor_row_id
            row = None if row_id is None or pane.results is None else pane.results.row_of(row_id)
            shown = main.state.prompts
            if row is None or pane.results is None or pane.results.prompts is not shown:
                return None
            return shown.frame[column][row]

        async def edited(*keys: str) -> None:
            await pilot.press("E")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog))
            await pilot.pause()
            await pilot.press(*keys, "ctrl+s")
            await until(pilot, lambda: app.screen is main)

        await pilot.press("home", "down", "down")
        await until(pilot, lambda: selected("prompt") == text)
        await edited(*" now?")
        await until(pilot, lambda: selected("prompt") == f"{text} now?")
        messages = [message.message for message in app.said.messages]
        assert any(
            "verdicts recorded for its old text no longer count" in message for message in messages
        )
        # Another category is no other prompt: the row, its key and its verdicts stay.
        key = pane.table.cursor_row_id
        await edited("tab", "tab", "end", *" 3")
        await until(pilot, lambda: selected("Category") == "two words 3")
        assert pane.table.cursor_row_id == key
        # A label that takes it out of the view takes the table to all prompts.
        await pilot.press("slash", *"expected:true", "enter")
        await until(pilot, lambda: pane.results is not None and len(pane.results) == 4)
        pane.table.select_row(key)
        await edited("tab", "space")
        await until(pilot, lambda: selected("expected") is False)
        assert pane.table.cursor_row_id == key
        assert not pane.view.search
        await pilot.press("u")
        await until(pilot, lambda: bool(main.state.prompts.expected[2]))
        await pilot.press("u")
        await until(pilot, lambda: main.state.prompts.frame["Category"][2] == "two words")
        await pilot.press("u")
        await until(pilot, lambda: selected("prompt") == text)
        assert selected("Category") == "two words"

    await on_all(topic_path, run)

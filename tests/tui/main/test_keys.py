"""Keys on the screen: the footer, hints of keys of other panes, ? and q, messages, the title."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea
from textual.widgets._footer import FooterKey

from guardtui.app.scan.record import ScanResults
from guardtui.app.state import ScanStatus, StopReason
from guardtui.scanners.base import Progress, Traffic
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.kit.message_log import messages_text, reading_time, shortened
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.settings.screen import SettingsScreen
from tests.tui.frames_app import at_rest, make_app, write_topic
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, main_screen, topic_path, until

__all__ = ["topic_path"]

PANES = ("#field-description", "#metrics", "#table", "#detail")


def footer(main: MainScreen) -> list[str]:
    return [key.description for key in main.query(FooterKey)]


async def focus(pilot: Pilot[int], main: MainScreen, selector: str) -> None:
    name = {"#field-description": "editor", "#table": "results"}.get(selector, selector[1:])
    main.panes.show(name)
    main.query_one(selector).focus()
    await pilot.pause()


# --- the footer ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", first_is_fast((60, 20), (80, 24), (120, 40), (200, 60)))
async def test_the_footer_is_whole_and_ends_with_menu_and_help(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        for selector in PANES:
            await focus(pilot, main, selector)
            letters = selector != "#field-description"
            end = ", Menu ? Help" if letters else "^Space Menu F1 Help"
            await until(pilot, lambda end=end: frame(app).rstrip().endswith(end))  # type: ignore[misc]
            last = frame(app).rstrip("\n").splitlines()[-1]
            for key in main.query(FooterKey):
                assert f"{key.key_display} {key.description}" in last
            assert cell_len(last) <= size[0]
            assert 5 <= len(footer(main)) <= 7
            # No menu path, which takes three keys.
            assert all(" " not in key.key_display for key in main.query(FooterKey))

    await drive(topic_path, run, size)


async def test_each_pane_shows_keys_of_its_own(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        own = {
            "#field-description": {"Pane", "Scan"},
            "#metrics": {"More", "Pane", "Scan"},
            "#table": {"Filter", "Why", "Example", "Label", "Add"},
            "#detail": {"Results", "Copy"},
        }
        for selector, wanted in own.items():
            await focus(pilot, main, selector)
            await until(pilot, lambda wanted=wanted: wanted <= set(footer(main)))  # type: ignore[misc]

    await drive(topic_path, run, (120, 40))


async def test_keys_that_cannot_work_now_are_left_out(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        changes = {"Keep", "Discard", "Undo"}
        unchanged = changes | {"Diff", "Save"}
        await until(pilot, lambda: footer(main) and not unchanged & set(footer(main)))
        await pilot.press("tab", "x")
        await until(pilot, lambda: changes <= set(footer(main)))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: not changes & set(footer(main)))

    await drive(topic_path, run, (120, 40))


async def test_keys_of_a_scan_come_first_and_name_how_to_resume_it(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        scans, store = type(main.services.scans), main.services.store
        monkeypatch.setattr(scans, "under_way", True)
        monkeypatch.setattr(ScanResults, "scanning", True)
        traffic = Traffic(rate=1.0)
        store.show_scan(ScanStatus("scans", Progress("scans", 3, 14), traffic))
        await until(pilot, lambda: footer(main)[:2] == ["Pause", "Stop"])
        assert not {"Scan", "Keep", "Discard"} & set(footer(main))
        assert "▶ scanning" in frame(app)
        await until(pilot, lambda: "scanning: the verdicts decide" in frame(app))
        await pilot.press("ctrl+@")  # below the menu too
        await until(pilot, lambda: app.screen is not main)
        assert not {"Scan", "Keep", "Discard"} & set(footer(main))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        store.show_scan(ScanStatus("scans", Progress("scans", 3, 14), replace(traffic, held=True)))
        await until(pilot, lambda: "⏸ scan paused" in frame(app))
        monkeypatch.setattr(scans, "under_way", False)
        monkeypatch.setattr(ScanResults, "scanning", False)
        monkeypatch.setattr(scans, "missing_refusal", "")
        stopped = ScanStatus("stopped: 3 of 14", problem=True, stopped=StopReason.AUTHOR)
        store.show_scan(stopped)
        await until(pilot, lambda: footer(main)[:1] == ["Resume"])
        await until(pilot, lambda: "alt+m scans what is missing" in frame(app))
        assert "✗ scan stopped" in frame(app)
        store.show_scan(ScanStatus("stopped by your edit: 3 of 14 verdicts, kept", stopped=EDIT))
        await until(pilot, lambda: "AIRS stopped by your edit" in app.said.messages[0].message)
        assert "^r scans the definition as it is now" in app.said.messages[0].message

    await drive(topic_path, run, (120, 40))


EDIT = StopReason.EDIT


# --- keys of other panes, ? and q ------------------------------------------------------------


async def test_a_key_of_another_pane_shows_where_it_works(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        for selector, key, said in (
            ("#metrics", "3", "3 (False negatives) works in the results: press F5."),
            ("#detail", "e", "e (Use as example) works in the results: press F5 three times."),
            ("#intent", "slash", "/ (Filter) works in the results: press F5 twice."),
            ("#metrics", "q", "^q quits; q closes pages and dialogs."),
            ("#table", "q", "^q quits; q closes pages and dialogs."),
        ):
            main.query_one(selector).focus()
            await pilot.press(key)
            await until(pilot, lambda: bool(app.said.messages))
            assert app.said.messages[0].message == said
            app.said.messages.clear()
        await pilot.press("f13")
        await pilot.pause()
        assert not app.said.messages
        assert app.screen is main

    await drive(topic_path, run, (120, 40))


async def test_question_mark_explains_the_pane_and_q_closes_it(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        for selector in ("#metrics", "#table", "#detail", "#intent"):
            main.query_one(selector).focus()
            await pilot.press("question_mark")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("q")
            await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run, (120, 40))


@pytest.mark.parametrize("key", first_is_fast("f9", "f8", "ctrl+@ r c", "f4", "f6"))
async def test_q_closes_a_dialog_but_is_a_letter_in_its_fields(topic_path: Path, key: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        *menu, last = key.split()
        await pilot.press(*menu)
        before = app.screen
        await pilot.press(last)
        await until(pilot, lambda: app.screen not in (main, before) and app.screen.is_mounted)
        await pilot.pause()
        if isinstance(app.focused, Input | TextArea):
            await pilot.press("q")
            await pilot.pause()
            assert app.screen is not main
            app.screen.set_focus(None)
            await pilot.pause()
        await pilot.press("q")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run, (120, 40))


@pytest.mark.exhaustive
async def test_settings_move_from_end_to_end_while_the_line_has_the_focus(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("ctrl+@", "v", "s")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.is_mounted)
        await pilot.pause()
        options = app.screen.query_one("#settings", OptionList)
        for key, place in (("end", options.option_count - 1), ("home", 0)):
            await pilot.press(key)
            assert options.highlighted == place
        await pilot.press("pagedown")
        assert options.highlighted

    await drive(topic_path, run, (80, 24))


async def test_a_prompt_with_a_contrary_label_becomes_an_example_after_a_question(
    tmp_path: Path,
) -> None:
    app = make_app(write_topic(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await at_rest(pilot, main)
        before = main.services.session.topic.examples
        main.panes.results.table.focus()
        await pilot.press("7", "slash", *"weather", "enter")
        await at_rest(pilot, main)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await until(pilot, lambda: "does not belong to the topic" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.session.topic.examples == before
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: len(main.services.session.topic.examples) == len(before) + 1)


# --- the title -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", first_is_fast((60, 20), (42, 16), (120, 40)))
async def test_the_title_shows_unsaved_and_the_guardrail_at_any_width(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    path = write_topic(tmp_path)
    long = path.with_name(f"{'very-' * 12}long.yaml")
    path.rename(long)
    path.with_suffix(".csv").rename(long.with_suffix(".csv"))
    app = make_app(long)
    async with app.run_test(size=size) as pilot:
        main = main_screen(app)
        await at_rest(pilot, main)
        title = frame(app).splitlines()[0]
        assert "  saved" in title
        assert title.rstrip().endswith("engine")
        await pilot.press("x")
        await until(pilot, lambda: "● unsaved" in frame(app).splitlines()[0])
        assert " very-" in frame(app)
        await until(pilot, lambda: frame(app).splitlines()[0].rstrip().endswith("engine"))


# --- messages --------------------------------------------------------------------------------


async def test_messages_lie_over_the_title_and_the_newest_replaces_the_older(
    tmp_path: Path,
) -> None:
    app = make_app(write_topic(tmp_path))
    async with app.run_test(size=(60, 20), notifications=True) as pilot:
        main = main_screen(app)
        await at_rest(pilot, main)
        app.notify("the first message")
        await until(pilot, lambda: "the first message" in frame(app).splitlines()[0])
        app.notify("the second message")
        await until(pilot, lambda: "the second message" in frame(app).splitlines()[0])
        assert "the first message" not in frame(app)
        app.notify("much too long. " * 30, title="Title")
        await until(pilot, lambda: "Title: much too long" in frame(app).splitlines()[0])
        lines = frame(app).splitlines()
        assert "shows all)" in lines[0]
        assert "name" in lines[2]
        assert lines[-3].startswith(" engine coverage 0.")
        await pilot.press("ctrl+@", "v", "m")
        await until(pilot, lambda: "Recent messages" in frame(app))
        for text in ("the first message", "the second message", "Title: much too long"):
            assert text in frame(app)


async def test_a_dialog_ends_messages_but_errors_and_its_own_have_one_line(tmp_path: Path) -> None:
    app = make_app(write_topic(tmp_path))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await at_rest(pilot, main_screen(app))
        app.notify("the first message, " * 12)
        await until(pilot, lambda: "the first message" in frame(app).splitlines()[1])
        app.push_screen(ConfirmDialog("Really?", "Yes", "No"))
        await until(pilot, lambda: "Really?" in frame(app))
        await until(pilot, lambda: "the first message" not in frame(app))
        app.notify("the second message, " * 12)
        await until(pilot, lambda: "the second message" in frame(app).splitlines()[0])
        assert "message" not in frame(app).splitlines()[1]


@pytest.mark.exhaustive
async def test_an_error_stays_until_a_key_after_it_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("guardtui.tui.base_app.monotonic", lambda: clock[0])
    app = make_app(write_topic(tmp_path))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await at_rest(pilot, main_screen(app))
        app.notify("it failed", severity="error")
        await until(pilot, lambda: "it failed" in frame(app))
        await pilot.press("right")
        await pilot.pause()
        assert "it failed" in frame(app)
        clock[0] += 60
        await pilot.press("right")
        await until(pilot, lambda: "it failed" not in frame(app))


def test_a_message_is_cut_at_a_word_and_names_the_key_for_the_rest() -> None:
    assert shortened("short", 60, 1, "…") == "short"
    assert len(shortened("word " * 100, 30, 1, "… (more)").splitlines()) == 1
    cut = shortened("word " * 100, 30, 2, "… (more)")
    assert len(cut.splitlines()) == 2
    assert all(len(line) <= 30 for line in cut.splitlines())
    assert cut.endswith("… (more)")
    assert reading_time("x" * 300) > reading_time("x" * 150) > reading_time("")


def test_without_messages_the_page_says_so() -> None:
    assert "No messages yet" in messages_text([]).plain

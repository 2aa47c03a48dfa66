"""The author's keys: which are refused, and that those in use are used and shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from guardtui.config import Config
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import ACTIONS, EDITOR, RESULTS, key_names
from guardtui.tui.registry.keymap import clashes, default_keys, usable_keymap
from guardtui.tui.textual_compat import keymap_of
from tests.tui.tax_app import ROWS, main_screen, ready, settled, topic_path, until

__all__ = ["topic_path"]


def app_with(topic_path: Path, keys: dict[str, str]) -> GuardtuiApp:
    config = Config(file={"keys": keys})
    return GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), config)


def test_the_shipped_keys_have_no_problem() -> None:
    defaults = default_keys()
    assert {action.binding.id for action in ACTIONS} <= set(defaults)
    assert "table.cursor_down" in defaults
    assert list(clashes(defaults)) == []
    assert usable_keymap({name: keys for name, keys in defaults.items() if keys})[1] == []


@pytest.mark.parametrize(
    ("binding", "keys", "problem", "remedy"),
    [
        ("screen.kep", "f13", "no action has this id", "did you mean 'screen.keep'?"),
        ("", "f13", "no action has this id", "ids are such as 'screen.keep'"),
        ("screen.keep", "control+g", "there is no key 'control+g'", "did you mean 'ctrl+g'?"),
        ("screen.keep", "Ctrl+G", "there is no key 'Ctrl+G'", "did you mean 'ctrl+g'?"),
        ("screen.keep", "shift+ctrl+f2", "there is no key 'shift+ctrl+f2'", "'ctrl+shift+f2'"),
        ("screen.keep", "esc", "there is no key 'esc'", "did you mean 'escape'?"),
        ("screen.keep", "f25", "there is no key 'f25'", "did you mean 'f"),
        ("screen.keep", "", "there is no key ''", "names are such as"),
        ("screen.keep", "f13,", "there is no key ''", "names are such as"),
        ("results.next_sort", "shift+n", "there is no key 'shift+n'", "did you mean 'N'?"),
        ("screen.keep", "x", "'x' is needed in text fields", "choose another key"),
        ("screen.keep", "question_mark", "is needed in text fields", "choose another key"),
        (
            "editor.remove_example",
            "delete",
            "'delete' is needed in text fields",
            "choose another key",
        ),
        ("screen.keep", "shift+left", "is needed in text fields", "choose another"),
        ("screen.keep", "enter", "'enter' is needed in text fields", "choose another"),
        ("screen.keep", "escape", "'escape' is needed in text fields", "choose another"),
        ("results.next_sort", "tab", "'tab' is needed everywhere", "choose another"),
        ("results.next_sort", "ctrl+c", "'ctrl+c' is needed everywhere", "choose another"),
        ("screen.keep", "f3", "'f3' is taken by screen.discard", "or move that too"),
        ("screen.keep", "alt+x", "'alt+x' is taken by editor.remove_example", "or move that too"),
        ("results.next_sort", "f2", "'f2' is taken by screen.keep", "or move that too"),
        ("results.next_sort", "down", "'down' is taken by table.cursor_down", "or move that too"),
    ],
)
def test_invalid_entries_are_reported(binding: str, keys: str, problem: str, remedy: str) -> None:
    usable, problems = usable_keymap({binding: keys})
    assert usable == {}
    (found,) = problems
    assert found.binding == binding
    assert problem in found.problem
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("keys", "usable"),
    [
        ({"screen.keep": "f3", "screen.discard": "f2"}, None),
        ({"screen.keep": " f13 , ctrl+g"}, {"screen.keep": "f13,ctrl+g"}),
        ({"results.next_sort": "!"}, {"results.next_sort": "exclamation_mark"}),
        ({"results.next_sort": "alt+x"}, None),  # the editor's: never at the same moment
        ({"editor.remove_example": "f13", "results.next_sort": "f13"}, None),
        ({"table.cursor_down": "down,j"}, None),
        ({"screen.show_help": "f13"}, None),
    ],
)
def test_valid_entries_are_used(keys: dict[str, str], usable: dict[str, str] | None) -> None:
    assert usable_keymap(keys) == (usable or keys, [])


def test_of_two_that_want_a_key_the_first_has_it_and_others_stay() -> None:
    usable, problems = usable_keymap(
        {"screen.keep": "f13", "screen.discard": "f13", "screen.export": "f14"}
    )
    assert usable == {"screen.keep": "f13", "screen.export": "f14"}
    assert [problem.binding for problem in problems] == ["screen.discard"]


def test_a_refused_entry_that_goes_back_to_a_key_given_away_is_seen() -> None:
    # Export takes the key of Keep, and Keep cannot leave it: then Export cannot have it either.
    usable, problems = usable_keymap({"screen.export": "f2", "screen.keep": "f3"})
    assert usable == {}
    assert {problem.binding for problem in problems} == {"screen.keep", "screen.export"}
    assert list(clashes({**default_keys(), **usable})) == []


def rows_shown(main: MainScreen) -> int:
    """How many rows the table has, once they are of the evaluation that is shown."""
    results = main.rows.results
    return len(results) if results and results.evaluation is main.state.evaluation else 0


async def test_keys_work_in_screen_editor_results_and_table(topic_path: Path) -> None:
    keys = {
        "screen.show_help": "f13",
        "editor.remove_example": "alt+9",
        "results.next_filter": "W",
        "table.cursor_down": "j",
    }
    app = app_with(topic_path, keys)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        assert not list(app.said.messages)
        await pilot.press("f1")
        assert app.screen is main
        await pilot.press("f13")
        await until(pilot, lambda: app.screen is not main)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)

        count = len(main.services.session.topic.examples)
        await pilot.press("tab", "tab")
        await pilot.press("alt+x")
        assert len(main.services.session.topic.examples) == count
        await pilot.press("alt+9")
        await until(pilot, lambda: len(main.services.session.topic.examples) == count - 1)

        main.panes.results.table.focus()
        await pilot.press("7")
        await until(pilot, lambda: settled(main) and rows_shown(main) == len(ROWS))
        await pilot.press("home")
        row = main.panes.results.table.cursor_row_id
        await pilot.press("j")
        await until(pilot, lambda: main.panes.results.table.cursor_row_id != row)
        view = main.panes.results.view
        await pilot.press("f")
        assert main.panes.results.view == view
        await pilot.press("W")
        await until(pilot, lambda: main.panes.results.view != view)


async def test_swapped_keys_do_each_the_others_work_once(topic_path: Path) -> None:
    done: list[str] = []
    app = app_with(topic_path, {"screen.undo": "ctrl+y", "screen.redo": "ctrl+z"})
    async with app.run_test() as pilot:
        main = await ready(pilot, app)
        assert main.features is not None
        main.features.actions |= {
            name: lambda name=name: done.append(name) for name in ("undo", "redo")
        }
        await pilot.press("ctrl+z", "ctrl+y", "ctrl+z")
    assert done == ["redo", "undo", "redo"]


async def test_footer_and_palette_show_the_keys_in_force(topic_path: Path) -> None:
    app = app_with(topic_path, {"screen.keep": "f13"})
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("end", "x")  # without an edit there is nothing to keep

        def shown() -> dict[str, str]:
            return {key.action: key.key_display for key in main.query(FooterKey)}

        await until(pilot, lambda: shown().get("perform('keep')") == "F13")
        said = {command.title: command.help for command in app.get_system_commands(main)}
        assert said["Keep"].endswith("(F13)")
        assert said["Discard"].endswith("(F3 or ^b)")
        assert app.change_setting("keys", {"screen.keep": "f14"}) == ""
        await until(pilot, lambda: shown().get("perform('keep')") == "F14")
        assert app.change_setting("keys", None) == ""
        await until(pilot, lambda: shown().get("perform('keep')") == "F2")


def test_names_of_keys_follow_the_keymap() -> None:
    keep = next(action for action in ACTIONS if action.name == "keep")
    assert key_names(keep) == "F2"
    assert key_names(keep, {"screen.keep": "alt+comma,f13"}) == "alt+, or F13"
    assert key_names(keep, {"screen.undo": "f13"}) == "F2"


async def test_at_the_start_a_clash_is_reported_and_only_that_entry_is_ignored(
    topic_path: Path,
) -> None:
    app = app_with(topic_path, {"screen.keep": "f3", "screen.undo": "f13", "x\x1b]52;": "f14"})
    async with app.run_test() as pilot:
        await ready(pilot, app)
        messages = [message.message for message in app.said.messages if message.severity == "error"]
        assert len(messages) == 2
        assert any("screen.keep: 'f3' is taken by screen.discard" in text for text in messages)
        assert all(text.replace("\n", "").isprintable() for text in messages)
        assert keymap_of(app) == {"screen.undo": "f13"}


def test_every_action_has_a_key_that_plain_terminals_send() -> None:
    # Escape and a letter are Alt and that letter; with a comma or a digit they are something else.
    for binding, keys in default_keys().items():
        for key in keys.split(","):
            if (
                key.startswith("alt+")
                and key not in ("alt+up", "alt+down")
                and len(key.replace("alt+shift+", "alt+")) != len("alt+x")
            ):
                pytest.fail(f"{binding}: '{key}' comes from few terminals")
            if key.startswith("alt+") and key not in ("alt+up", "alt+down"):
                parser = XTermParser()
                letter = key[-1].upper() if "shift+" in key else key[-1]
                events = [*parser.feed(f"\x1b{letter}"), *parser.feed("")]
                assert [getattr(event, "key", "") for event in events] == [key], binding


def test_scopes_are_those_of_the_registry() -> None:
    scopes = {binding.partition(".")[0] for binding in default_keys()}
    assert {RESULTS, EDITOR, "screen", "table"} <= scopes


async def test_an_app_without_settings_has_the_shipped_keys(topic_path: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"))

    async with app.run_test() as pilot:
        pilot_: Pilot[int] = pilot
        await ready(pilot_, app)
        assert keymap_of(app) == {}
        assert main_screen(app).is_attached

"""The settings screen and the theme chooser: search, changes, saving and display."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from guardtui.app.editing.topic_opening import choose_scanner
from guardtui.config import SETTINGS, Config, SettingSource, load_config
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.settings.screen import SettingsScreen
from guardtui.tui.settings.themes import ThemeScreen
from guardtui.tui.textual_compat import keymap_of
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import frame, main_screen, ready, topic_path, until

__all__ = ["topic_path"]

SIZES = [(60, 20), (80, 24), (120, 40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("# mine\nanimation: none  # of course\n", "utf-8")
    return path


def make(topic_path: Path, config: Config) -> GuardtuiApp:
    return GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), config)


async def opened(pilot: Pilot[int], app: GuardtuiApp) -> SettingsScreen:
    await ready(pilot, app)
    await pilot.press("ctrl+@", "v", "s")
    await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
    screen = app.screen
    assert isinstance(screen, SettingsScreen)
    return screen


def keys_shown(screen: SettingsScreen) -> list[str | None]:
    return [option.id for option in screen.query_one("#settings", OptionList).options]


async def go_to(pilot: Pilot[int], screen: SettingsScreen, key: str) -> None:
    """Move to a setting with the arrow key."""
    options = screen.query_one("#settings", OptionList)
    place = keys_shown(screen).index(key)
    while options.highlighted != place:
        before = options.highlighted
        await pilot.press("down")
        await until(pilot, lambda before=before: options.highlighted != before)


@pytest.mark.parametrize("size", first_is_fast(*SIZES))
async def test_every_setting_is_visible_with_value_and_source(
    topic_path: Path, path: Path, size: tuple[int, int]
) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot, app)
        for setting in SETTINGS:
            await go_to(pilot, screen, setting.key)
            await until(pilot, lambda word=setting.documentation[:30]: word in frame(app))
            line = next(one for one in frame(app).splitlines() if f"│ {setting.title} " in one)
            value = setting.show(app.config.value(setting.key)) or "none"
            assert value in line
            assert app.config.source(setting.key).value in line
            end = setting.documentation.split()[-1]
            assert end in frame(app)
        await go_to(pilot, screen, "keys")
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one("#edit", Input).has_focus)
        await pilot.press(*"nonsense", "enter")
        await until(pilot, lambda: "! 'nonsense'" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: "nonsense" not in frame(app))


@pytest.mark.exhaustive
async def test_typing_narrows_the_list(topic_path: Path, path: Path) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        await pilot.press(*"DISABLES mot")
        await until(pilot, lambda: keys_shown(screen) == ["animation"])
        await pilot.press("enter")
        assert app.config.animation == "full"
        assert app.animation_level == "full"
        assert keys_shown(screen) == ["animation"]
        await pilot.press(*" \x1b[31m zzz")
        await until(pilot, lambda: keys_shown(screen) == [])
        assert "No setting matches" in frame(app)
        await pilot.press("enter", "down", "up")
        assert app.screen is screen


async def test_a_change_holds_at_once_and_is_written_with_comments_kept(
    topic_path: Path, path: Path
) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        await go_to(pilot, screen, "animation")
        await pilot.press("enter")
        await until(pilot, lambda: app.config.animation == "full")
        assert path.read_text("utf-8") == "# mine\nanimation: full  # of course\n"
        await pilot.press("tab", "space")
        await until(pilot, lambda: app.config.animation == "none")
        await pilot.press("delete")
        await until(pilot, lambda: app.config.source("animation") is SettingSource.DEFAULT)
        assert path.read_text("utf-8") == "# mine\n"
        await go_to(pilot, screen, "preview_pause")
        await pilot.press("enter", "end", "5", "enter")
        await until(pilot, lambda: app.config.preview_pause == 305)
        await pilot.press("enter", "end", "5", "5", "enter")
        await until(pilot, lambda: "! '30555' is not a whole number" in frame(app))
        assert screen.query_one("#edit", Input).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query_one("#edit", Input).display)
        assert app.screen is screen
        await go_to(pilot, screen, "encoder")
        await pilot.press("enter")
        await until(pilot, lambda: app.config.encoder == "minilm")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
    assert path.read_text("utf-8") == "# mine\npreview_pause: 305\nencoder: minilm\n"


async def test_keys_are_checked_before_they_are_taken(topic_path: Path, path: Path) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        await go_to(pilot, screen, "keys")
        await pilot.press("enter")
        edit = screen.query_one("#edit", Input)
        edit.value = "screen.keep=f3"
        await pilot.press("enter")
        await until(pilot, lambda: "'f3' is taken by screen.discard" in frame(app))
        assert keymap_of(app) == {}
        edit.value = "screen.keep=f13; screen.discard=f14"
        await pilot.press("enter")
        await until(pilot, lambda: keymap_of(app).get("screen.keep") == "f13")
    assert load_config(path).keys == {"screen.keep": "f13", "screen.discard": "f14"}


async def test_values_of_others_are_inert(topic_path: Path) -> None:
    bad = {"theme": "[/x] \u202e\x1b]52;c;aGk=\x07", "keys": {"[bold": "\x9b"}}
    app = make(topic_path, Config(file=bad))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, app)
        assert app.theme == "guardtui-dark"
        assert "[/x]" in frame(app)
        for key in ("theme", "keys"):
            await go_to(pilot, screen, key)
            shown = frame(app)
            assert not [one for one in shown if one != "\n" and not one.isprintable()]
            assert "\u202e" not in shown
        messages = [one.message for one in app.said.messages]
        assert any("there is no theme" in text for text in messages)
        assert all(text.replace("\n", "").isprintable() for text in messages)


# --- themes -------------------------------------------------------------------------------


async def chooser(pilot: Pilot[int], app: GuardtuiApp) -> OptionList:
    await pilot.app.run_action("change_theme")
    await until(pilot, lambda: isinstance(app.screen, ThemeScreen))
    options = app.screen.query_one(OptionList)
    await until(pilot, lambda: options.highlighted is not None)
    return options


async def test_the_app_shows_the_highlighted_theme(topic_path: Path, path: Path) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        ground = main.styles.background
        await chooser(pilot, app)
        assert app.theme == "guardtui-dark"
        await pilot.press("down")
        await until(pilot, lambda: app.theme == "guardtui-light")
        await until(pilot, lambda: main.styles.background != ground)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert app.theme == "guardtui-dark"
        await until(pilot, lambda: main.styles.background == ground)
        assert "theme" not in path.read_text("utf-8")
        # At once, before the screen behind has followed.
        await chooser(pilot, app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen is main)
        assert app.theme == "guardtui-light"
    assert load_config(path).theme == "guardtui-light"
    assert path.read_text("utf-8").startswith("# mine\n")
    again = make(topic_path, load_config(path))
    async with again.run_test() as pilot:
        await ready(pilot, again)
        assert again.theme == "guardtui-light"
        assert again.has_class("-light-mode")


async def test_all_has_its_styles_from_the_start_and_behind_a_dialog_that_changes_the_theme(
    topic_path: Path, path: Path
) -> None:
    app = make(topic_path, load_config(path))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)

        def styles() -> list[dict[str, object]]:
            return [dict(widget.styles.base.get_rules()) for widget in main.query("*")]

        dark = styles()
        app.stylesheet.update(main)
        assert styles() == dark  # all that was mounted has the styles of its classes
        options = await chooser(pilot, app)
        options.highlighted = next(
            place for place, option in enumerate(options.options) if "light" in (option.id or "")
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main)
        await pilot.pause()
        light = styles()
        assert light != dark
        app.stylesheet.update(main)
        assert styles() == light


def test_the_encoder_of_the_settings_is_for_sessions_that_have_none(topic_path: Path) -> None:
    workspace = Workspace.open(topic_path)
    assert choose_scanner(workspace, None, None, "static").encoder_name == "static"
    assert choose_scanner(workspace, "minilm", None, "static").encoder_name == "minilm"
    workspace.store.update_settings({"encoder": "minilm"})
    assert choose_scanner(workspace, None, None, "static").encoder_name == "minilm"


async def test_looking_does_not_change_settings(topic_path: Path, path: Path) -> None:
    before = path.read_bytes()
    app = make(topic_path, load_config(path))
    async with app.run_test() as pilot:
        await opened(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))
    assert path.read_bytes() == before

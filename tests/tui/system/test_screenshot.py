"""Screenshots: a valid SVG beside the topic file, without secrets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.export.dialog import ExportDialog
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.main.screen import MainScreen
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import ROWS, drive, until
from tests.tui.tax_app import topic_path as topic_path

KEY = "sk-live-0123456789abcdefghij"


def words(path: Path) -> str:
    """All text of a picture, read by a parser of XML that is not ours."""
    return " ".join("".join(ElementTree.parse(path).getroot().itertext()).split())


async def taken(pilot: Pilot[int], app: GuardtuiApp, *keys: str) -> str:
    """Press keys; what is told of the picture then."""
    app.said.messages.clear()
    await pilot.press(*keys)
    await until(pilot, lambda: any("icture" in message.message for message in app.said.messages))
    return next(message.message for message in app.said.messages if "icture" in message.message)


async def test_a_picture_is_written_beside_the_topic_and_never_overwrites(
    topic_path: Path,
) -> None:
    paths = [topic_path.parent / f"tax-screen{one}.svg" for one in ("", "-2")]

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        app.title = "the title of somebody's terminal"
        main.panes.results.table.focus()
        await pilot.press("7")
        await until(
            pilot, lambda: main.rows.results is not None and len(main.rows.results) == len(ROWS)
        )
        await pilot.pause()
        for path in paths:
            assert str(path) in await taken(pilot, app, "alt+s")

    await drive(topic_path, run)
    for path in paths:
        shown = words(path)
        assert "Personal tax advice" in shown
        assert "/INST]" in shown  # a prompt that is an attack, inert
        assert "somebody" not in shown
        text = path.read_text("utf-8")
        assert "font-face" not in text
        # Names of the format itself are no addresses that are loaded.
        assert set(re.findall(r"https?://[^\"\s]+", text)) <= {
            "http://www.w3.org/2000/svg",
            "https://www.textualize.io",
        }


async def test_a_dialog_is_in_the_picture_and_the_list_of_formats_is_not(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await taken(pilot, app, "alt+s")
        await pilot.press("escape", "f8")
        await until(pilot, lambda: isinstance(app.screen, ExportDialog) and app.screen.is_mounted)
        await taken(pilot, app, "end", "enter")
        assert app.screen is main

    await drive(topic_path, run)
    assert "The definition" in words(topic_path.parent / "tax-screen.svg")
    shown = words(topic_path.parent / "tax-screen-2.svg")
    assert "Personal tax advice" in shown
    assert "a picture of the screen" not in shown


async def test_from_the_palette_the_palette_is_not_in_it(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"Screenshot")
        commands = [
            command for command in app.get_system_commands(main) if "creenshot" in command.title
        ]
        assert len(commands) == 1
        await until(pilot, lambda: bool(app.screen.query("OptionList")))
        await pilot.pause()
        await pilot.press("down")
        await taken(pilot, app, "enter")
        assert app.screen is main

    await drive(topic_path, run)
    assert "Search for commands" not in words(topic_path.parent / "tax-screen.svg")


def options(**others: str) -> RemoteOptions:
    return RemoteOptions(environment=others, config=Path("/nonexistent/config.json"))


@pytest.mark.parametrize("size", first_is_fast((120, 40), (60, 20)))
async def test_no_picture_is_made_of_a_secret(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    """In the definition, where it is broken over two lines on the smaller screen."""

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.services.connections.options = options(PANW_AI_SEC_API_KEY=KEY)
        field = main.query_one("#field-description")
        field.load_text(f"Tax advice for the key {KEY}")  # type: ignore[attr-defined]
        await until(pilot, lambda: KEY in main.services.session.topic.description)
        message = await taken(pilot, app, "alt+s")
        assert "no picture was made" in message
        assert KEY not in message
        # The same by a variable that is only called like a secret.
        main.services.connections.options = replace(
            main.services.connections.options, environment={}
        )
        monkeypatch.setenv("SOMEBODYS_TOKEN", KEY)
        assert "SOMEBODYS_TOKEN" in await taken(pilot, app, "alt+s")
        assert not [*topic_path.parent.glob("*.svg")]
        monkeypatch.delenv("SOMEBODYS_TOKEN")
        await taken(pilot, app, "alt+s")

    await drive(topic_path, run, size)
    assert len([*topic_path.parent.glob("*.svg")]) == 1


async def test_an_unwritable_folder_is_reported(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        GuardtuiApp, "screenshot_target", property(lambda self: (topic_path / "none", "x"))
    )

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        assert "No picture was made" in await taken(pilot, app, "alt+s")

    await drive(topic_path, run)

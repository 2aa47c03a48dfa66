"""Texts and lists of the app show markup as it is, and nothing uses Textual's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.text import Text
from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static as TextualStatic

import guardtui.tui
from guardtui.tui.base_app import BaseApp
from guardtui.tui.kit.dialogs import AnswersDialog, ChoiceDialog, TextPage
from guardtui.tui.kit.inert import Label, OptionList, Static
from tests.tui.tax_app import frame

HOSTILE = "[/b][red]x[/] [@click=app.bell]y"


class Texts(App[None]):
    """All three, each with a text that would be refused or styled as markup."""

    def compose(self) -> ComposeResult:
        yield Static(HOSTILE)
        yield Label(HOSTILE)
        yield OptionList(HOSTILE)
        yield Static(id="later")


async def test_markup_is_shown_as_it_is_at_first_and_after_an_update() -> None:
    app = Texts()
    async with app.run_test() as pilot:
        app.query_one("#later", TextualStatic).update(HOSTILE)
        await pilot.pause()
        assert frame(app).count(HOSTILE) == 4


@pytest.mark.parametrize(
    "dialog",
    [
        AnswersDialog("", [], title=HOSTILE),
        ChoiceDialog(HOSTILE, [("a", Text("a"))]),
        TextPage(HOSTILE, Text("a")),
    ],
)
async def test_markup_in_a_title_is_shown_as_it_is(dialog: ModalScreen[object]) -> None:
    app = BaseApp()
    async with app.run_test() as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        assert HOSTILE in frame(app)


@pytest.mark.parametrize("name", ["Static", "Label", "OptionList"])
def test_no_module_of_the_app_imports_those_of_textual(name: str) -> None:
    folder = Path(guardtui.tui.__path__[0])
    found = [
        path.name
        for path in folder.rglob("*.py")
        if any(
            re.search(rf"\b{name}\b", line)
            for line in re.findall(
                r"^from textual\.widgets import (\([^)]*\)|[^\n]*)", path.read_text("utf-8"), re.M
            )
        )
    ]
    assert not found

"""The dialog for the author's own wordings: several lines, help, continue and cancel."""

from __future__ import annotations

import pytest
from textual.app import App

from guardtui.app.wording_runs import TypeWordings
from guardtui.tui.advice.wordings_dialog import WordingsDialog

QUESTION = TypeWordings(59)


async def answer(*keys: str) -> list[str | None]:
    answers: list[str | None] = []
    app: App[None] = App()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(WordingsDialog(QUESTION), answers.append)
        await pilot.press(*keys)
    return answers


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("ctrl+s",), ""),
        ((*"one", "enter", *"two q", "ctrl+s"), "one\ntwo q"),
        (("x", "escape"), None),
        (("tab", "enter"), ""),
        (("tab", "tab", "enter"), None),
    ],
)
async def test_lines_are_the_answer_and_escape_cancels(
    keys: tuple[str, ...], expected: str | None
) -> None:
    assert await answer(*keys) == [expected]

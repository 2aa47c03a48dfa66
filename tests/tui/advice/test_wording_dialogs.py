"""The dialog of own wordings and their writer: several lines, a key, continue and cancel."""

from __future__ import annotations

import pytest
from textual.app import App

from guardtui.app.advice.wording_trials import TypeWordings, WordingRequest
from guardtui.tui.advice.wording_dialogs import WordingsDialog
from tests.tui.stages import first_row_is_fast

QUESTION = TypeWordings()


async def answer(*keys: str) -> list[WordingRequest | None]:
    answers: list[WordingRequest | None] = []
    app: App[None] = App()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(WordingsDialog(QUESTION), answers.append)
        await pilot.press(*keys)
    return answers


@pytest.mark.parametrize(
    ("keys", "expected"),
    first_row_is_fast(
        (
            (*"one", "enter", *"two q", "tab", *"a#m", "enter", *"sk", "tab", "space", "ctrl+s"),
            WordingRequest("one\ntwo q", "a#m", "sk", True),
        ),
        (("ctrl+s",), WordingRequest()),
        (("x", "escape"), None),
        (("tab", "enter"), WordingRequest()),
        (("tab", "tab", "tab", "enter"), None),
        (
            ("tab", *"http://a/v1#m", "enter", *"sk", "enter"),
            WordingRequest("", "http://a/v1#m", "sk"),
        ),
    ),
)
async def test_lines_and_writer_are_the_answer_and_escape_cancels(
    keys: tuple[str, ...], expected: WordingRequest | None
) -> None:
    assert await answer(*keys) == [expected]

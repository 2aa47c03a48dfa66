"""Advice in the editor and on its page: content, updates, and what it does not change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from guardtui.advice.engine_scores import open_scores
from guardtui.advice.lint import lint
from guardtui.advice.lint_advice import Advice
from guardtui.advice.text_lint import lint_text
from guardtui.app.editing.definition_lint import carried_on
from guardtui.domain.significance import Difference
from guardtui.domain.topic import Topic, violations
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.edit_preview import EditPreviewPage
from guardtui.tui.advice.lint_page import LintPage
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.feature import worth_showing
from guardtui.tui.editor.lint_line import LintLine
from guardtui.tui.editor.lint_text import lint_line
from guardtui.tui.help.panes import pane_of, panes
from guardtui.tui.main.screen import MainScreen
from tests.tui.frames_app import write_topic
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import frame, until

BAD = """\
name: Tax advice
description: >-
  Personal tax advice, not about the history of taxes, except when somebody asks
  for their own tax return
examples:
  - How do I pay less income tax this year?
  - How can I pay less tax?
  - How can I pay less tax???
  - Was kann ich als Lehrer von der Steuer absetzen?
intent: block
"""


Run = Callable[[Pilot[int], GuardtuiApp, MainScreen], Awaitable[None]]


def lines_of(main: MainScreen) -> list[str]:
    widget = main.query_one(LintLine)
    return [widget.render().plain] if widget.display else []


def measured(main: MainScreen) -> bool:
    on = main.services.lint.measured_on
    return on is not None and on.topic == main.services.session.topic


async def drive(folder: Path, run: Run, size: tuple[int, int] = (120, 40), text: str = BAD) -> None:
    path = write_topic(folder)
    path.write_text(text, "utf-8")
    app = GuardtuiApp.of(Workspace.open(path), LocalScanner("static"))
    async with app.run_test(size=size) as pilot:
        main = app.screen_stack[0]
        assert isinstance(main, MainScreen)
        await until(pilot, lambda: measured(main))
        await pilot.pause()
        await run(pilot, app, main)


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", first_is_fast((120, 40), (160, 40), (80, 24), (60, 20)), ids=str)
async def test_one_line_of_advice_is_in_sight(tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        (line,) = lines_of(main)
        total = len(worth_showing(main.state.advice))
        assert total > 4
        assert line.endswith(f"and {total - 1} more · ^Space a d")
        assert len(line) <= main.query_one(LintLine).size.width
        assert "▲" not in line  # what to do next is said by the line Next
        assert line in frame(app)  # without scrolling

    await drive(tmp_path, run, size)


async def test_text_rules_answer_at_the_key_and_effects_after_the_preview(tmp_path: Path) -> None:
    sound = BAD.replace(", not about the history of taxes, except when", " when")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        def codes() -> list[str]:
            return [advice.code for advice in main.state.advice]

        assert "exclusion" not in codes()
        main.services.preview.pause = 10_000  # no preview comes
        field = main.query_one("#field-description", TextArea)
        field.focus()
        field.load_text("Personal tax advice without dates")
        await until(pilot, lambda: "exclusion" in codes())
        assert "long" not in codes()
        (told,) = (advice for advice in main.state.advice if advice.code == "exclusion")
        assert told.removal is None
        assert not measured(main)
        main.services.preview.pause = 0
        main.services.preview.request()
        await until(pilot, lambda: measured(main))
        (told,) = (advice for advice in main.state.advice if advice.code == "exclusion")
        assert told.removal is not None
        assert main.focused is field

    await drive(tmp_path, run, text=sound)


async def test_advice_is_that_of_the_engine_and_a_kept_definition_is_not_linted_again(
    tmp_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        services, prompts = main.services, main.state.prompts
        engine = open_scores(services.engine.scanner, prompts, lambda progress: None)
        advice = main.state.advice
        assert advice == lint(services.session.topic, prompts, engine)
        assert main.state.evaluation is not None
        await services.preview.show(main.state.evaluation)
        assert main.state.advice is advice
        services.engine.scanner.use_threshold(0.9)
        services.preview.request()
        await until(pilot, lambda: main.state.advice is not advice)

    await drive(tmp_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)), ids=str)
async def test_the_page_has_it_all_in_words(tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        focused = main.focused
        main.perform("show_lint")
        await until(pilot, lambda: isinstance(app.screen, LintPage))
        page = app.screen
        assert isinstance(page, LintPage)
        texts = [page.described(index).plain for index in range(len(main.state.advice))]
        for advice, text in zip(main.state.advice, texts, strict=True):
            assert advice.message in text
            assert advice.action in text
            assert "without it: coverage" in text
        assert any(difference in text for difference in Difference for text in texts)
        await until(pilot, lambda: "without it: coverage" in frame(app))
        assert "Advice on the definition" in frame(app)
        assert pane_of(app.focused or app.screen) == "lint"
        assert "most useful first" in panes()["lint"].prose
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.focused is focused

    await drive(tmp_path, run, size)


async def chosen(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen, *, valid: bool) -> Topic:
    """Press Enter on the first advice whose remedy is a valid definition, or is not."""
    found = ((index, item.remedy) for index, item in enumerate(main.state.advice))
    index, remedy = next(
        (index, remedy)
        for index, remedy in found
        if remedy is not None and (not violations(remedy)) is valid
    )
    main.perform("show_lint")
    await until(pilot, lambda: isinstance(app.screen, LintPage))
    await pilot.press(*["down"] * index, "enter")
    return remedy


async def test_a_remedy_is_previewed_and_taken(tmp_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        remedy = await chosen(pilot, app, main, valid=True)
        await until(pilot, lambda: isinstance(app.screen, EditPreviewPage))
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic == remedy)

    await drive(tmp_path, run)


async def test_a_remedy_that_breaks_a_limit_says_so(tmp_path: Path) -> None:
    lines = BAD.splitlines(keepends=True)
    del lines[5], lines[7]  # two examples are left, which are nearly equal

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        before = main.services.session.topic
        await chosen(pilot, app, main, valid=False)
        await until(
            pilot,
            lambda: any("the definition is invalid" in one.message for one in app.said.messages),
        )
        assert isinstance(app.screen, LintPage)
        assert main.services.session.topic == before

    await drive(tmp_path, run, text="".join(lines))


async def test_a_valid_definition_needs_no_advice_line(tmp_path: Path) -> None:
    text = "name: Tax advice\ndescription: Tax\nexamples: [tax, taxes]\nintent: block\n"

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        store = main.services.store
        store.publish(replace(store.state, advice=()))
        await pilot.pause()
        assert not main.query_one(LintLine).display

    await drive(tmp_path, run, text=text)


def test_at_a_key_the_order_stays() -> None:
    topic = Topic(description="Tax, not dates", examples=("a", "b"))
    (told,) = lint_text(topic)
    measured_one = Advice("near-duplicates", "examples.2", "b", "m", "a")
    longer = lint_text(
        topic.model_copy(update={"description": "Tax, never dates" + " and tax" * 20})
    )
    shown = carried_on((measured_one, told), longer)
    assert [item.code for item in shown] == ["near-duplicates", "exclusion", "long"]
    assert "never" in shown[1].brief
    assert carried_on(shown, ()) == (measured_one,)


@pytest.mark.parametrize("cells", range(0, 90, 7))
def test_a_line_is_never_wider_than_its_room(cells: int) -> None:
    for item in lint_text(Topic(description="税金 " * 60 + "except 税金")):
        assert len(lint_line([item], "^Space a d", cells).plain) <= max(cells, 0)

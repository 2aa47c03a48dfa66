"""Help of the focused pane: everything that can have the focus has help with its keys."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Static

import guardtui.tui
from guardtui.domain.row_filter import FIELDS, WORDS, parse_filter
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.help.panes import (
    _BY_CLASS,
    OVERVIEW,
    actions_named,
    introduction,
    pane_of,
    panes,
    table_rows,
    words,
)
from guardtui.tui.help.screen import HelpScreen, add_markdown, context_text, help_text
from guardtui.tui.kit.dialogs import AnswersDialog, ConfirmDialog, TextPage
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.modal import Modal
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import (
    ACTIONS,
    DETAIL,
    RESULTS,
    SCOPE_TITLES,
    in_scope,
    key_names,
)
from tests.tui.stages import first_row_is_fast
from tests.tui.tax_app import drive, frame, topic_path, until

__all__ = ["topic_path"]


def body(app: GuardtuiApp) -> str:
    assert isinstance(app.screen, HelpScreen)
    return str(app.screen.query_one(Static).render())


async def helped(pilot: Pilot[int], app: GuardtuiApp) -> None:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen) and bool(body(app)))


@pytest.mark.parametrize(
    ("selector", "pane"),
    first_row_is_fast(
        ("#field-description", "definition"),
        ("#intent", "intent"),
        ("#metrics", "metrics"),
        ("#table", "results"),
        ("#detail", "detail"),
    ),
)
async def test_f1_explains_the_pane_that_has_the_focus(
    topic_path: Path, selector: str, pane: str
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.query_one(selector).focus()
        await pilot.pause()
        await helped(pilot, app)
        assert body(app).startswith(panes()[pane].title)
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is main)
        assert main.focused is main.query_one(selector)

    await drive(topic_path, run)


async def test_the_filter_line_is_explained_with_its_terms(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("slash")
        await helped(pilot, app)
        assert "score>0.4" in body(app)

    await drive(topic_path, run)


async def test_every_place_of_the_main_screen_has_help(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        positions = [widget for widget in main.query("*") if widget.can_focus]
        assert len(positions) > 10
        assert {pane_of(widget) for widget in positions} >= set(OVERVIEW)
        assert not [widget for widget in positions if pane_of(widget) is None]

    await drive(topic_path, run)


@pytest.mark.parametrize(
    ("key", "pane"),
    first_row_is_fast(
        ("f4", "history"),
        ("f6", "check"),
        ("f8", "export"),
        ("f9", "scanner"),
        ("ctrl+p", "palette"),
    ),
)
async def test_every_place_of_a_dialog_has_help(topic_path: Path, key: str, pane: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press(key)
        await until(pilot, lambda: app.screen is not main and app.screen.focused is not None)
        dialog = app.screen
        positions = [widget for widget in dialog.query("*") if widget.can_focus]
        assert positions
        assert {pane_of(widget) for widget in positions} == {pane}
        await helped(pilot, app)
        assert body(app).startswith(panes()[pane].title)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is dialog)

    await drive(topic_path, run)


async def test_a_question_is_explained_and_still_open(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        answers: list[bool | None] = []
        app.push_screen(ConfirmDialog("Write over it?", "Write", "Leave"), answers.append)
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await helped(pilot, app)
        assert body(app).startswith("A question")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert answers == []

    await drive(topic_path, run)


def dialogs_of_ours() -> set[type[ModalScreen[Any]]]:
    kinds = set()
    for module in pkgutil.walk_packages(guardtui.tui.__path__, "guardtui.tui."):
        loaded = importlib.import_module(module.name)
        kinds |= {
            kind
            for kind in vars(loaded).values()
            if isinstance(kind, type) and issubclass(kind, ModalScreen)
        }
    return kinds - {ModalScreen, Modal, FormDialog, EditList, HelpScreen}


def test_every_dialog_of_ours_has_prose_of_its_own() -> None:
    dialogs = dialogs_of_ours()
    assert {ConfirmDialog, TextPage} <= dialogs
    without = [
        kind.__name__
        for kind in dialogs
        if not hasattr(kind, "help_pane")
        and not any(base.__name__ in _BY_CLASS for base in kind.__mro__ if base is not ModalScreen)
    ]
    assert not without


def test_every_letter_that_the_help_of_a_dialog_names_is_bound_in_it() -> None:
    bound: dict[str, set[str]] = {}
    for kind in dialogs_of_ours() - {ConfirmDialog, AnswersDialog, TextPage}:
        names = [getattr(kind, "help_pane", ""), _BY_CLASS.get(kind.__name__, "")]
        keys = {
            key.strip()
            for base in kind.__mro__
            for binding in vars(base).get("BINDINGS", ())
            for key in (binding.key if isinstance(binding, Binding) else binding[0]).split(",")
        }
        for name in filter(None, names):
            bound.setdefault(name, set()).update(keys)
    missing = {}
    for name, keys in bound.items():
        told = " ".join(told for told, _ in panes()[name].keys)
        letters = re.findall(r"(?<![\w^+])(\^?)([a-z])(?!\w)", told)
        wanted = {f"ctrl+{letter}" if control else letter for control, letter in letters}
        if wanted - keys:
            missing[name] = wanted - keys
    assert missing == {}


def test_references_of_the_help_exist() -> None:
    names = {action.name for action in ACTIONS}
    for name, pane in panes().items():
        assert set(pane.words) <= set(words()), name
        assert set(pane.scopes) <= set(SCOPE_TITLES), name
        assert actions_named(pane) <= names, name
        assert pane.prose, name
        assert "\n" not in pane.title, name
    assert introduction()
    assert set(_BY_CLASS.values()) | set(OVERVIEW) <= set(panes())


def test_no_help_names_a_key_of_an_action_by_hand() -> None:
    function_key = re.compile(r"(?<![\w^+])(?:(?:Shift|Ctrl|alt)[+-])*F\d\d?\b")
    wrong = {
        name: found
        for name, pane in panes().items()
        if (found := set(function_key.findall(f"{pane.prose}\n{pane.more}")) - {"F1"})
    }
    assert wrong == {}  # write {name of the action}


def test_the_terms_of_the_filter_are_those_of_its_language() -> None:
    rows = table_rows(panes()["filter"].more)
    terms = [term for names, _ in rows for term in re.findall("`([^`]+)`", names)]
    for term in terms:
        parse_filter(term, ("category",))  # raises FilterError
    named = {re.split("[:<>=]", term)[0] for term in terms if '"' not in term}
    assert set(WORDS) | set(FIELDS) <= named


def test_no_sign_of_markdown_is_shown() -> None:
    for name in panes():
        text = context_text(name).plain
        for sign in ("`", "**", "](", "|--", "\n#", "\n\n\n", "---"):
            assert sign not in text, (name, sign)


def test_markdown_is_laid_out_as_lines() -> None:
    text = Text()
    blocks = (
        "One paragraph\nof [two](keys.md) lines.",
        "## A `title`",
        "- an item that is long\n- **b**",
        "| a | b |\n|---|---|\n| `x \\| y` | what it is, at length |",
        "```\n a\n\n b\n```",
    )
    add_markdown(text, "\n\n".join(blocks), 20)
    assert text.plain.split("\n\n", 4) == [
        "One paragraph of two lines.",
        "A title",
        "- an item that is\n  long\n- b",
        f"  {'x | y':<20} what it is, at\n{'':23}length",
        "   a\n\n   b\n",
    ]


def test_keys_of_the_pane_stand_before_those_that_work_everywhere() -> None:
    text = context_text("results").plain
    own = [text.index(one.title) for one in in_scope(RESULTS)]
    assert max(own) < text.index("Everywhere")
    assert all(one.title in context_text("detail").plain for one in in_scope(DETAIL))


def test_the_authors_keys_are_shown() -> None:
    keep = next(action for action in ACTIONS if action.name == "keep")
    keymap = {keep.binding.id or "": "ctrl+k"}
    assert "^k saves the definition" in context_text("definition", keymap).plain
    for text in (help_text(keymap).plain, context_text("detail", keymap).plain):
        line = next(line for line in text.splitlines() if f" {keep.title}: " in line)
        assert line.split()[0] == "^k"
        assert key_names(keep) not in text


async def test_the_full_list_is_a_key_away(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await helped(pilot, app)
        assert "Use as example" not in body(app)
        await pilot.press("a")
        await pilot.pause()
        assert all(action.title in body(app) for action in ACTIONS)
        assert all(word in body(app) for word in words())
        await pilot.press("a")
        await pilot.pause()
        assert body(app).startswith("The definition")
        assert await pilot.click("#close")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


async def test_a_list_is_wrapped_under_itself_on_a_small_screen(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await helped(pilot, app)
        width = app.screen.query_one("#help-body").scrollable_content_region.width
        rows = body(app).split("Keys here")[1].split("\nIdeas\n")[0].splitlines()
        assert max(map(len, rows)) <= width
        shown = frame(app)
        await pilot.press("pagedown")
        await until(pilot, lambda: frame(app) != shown)

    await drive(topic_path, run, (60, 20))

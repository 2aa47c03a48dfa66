"""Every action of the registry does what it says, by each of its keys and from the palette.

All cases are played in one app, which is brought back to its start before each; a case that is
missing for a new action fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.screen import Screen

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.tui.advice.effects import EffectList
from guardtui.tui.advice.ideas import IdeasPage
from guardtui.tui.advice.lint_page import LintPage
from guardtui.tui.advice.mistake import MistakePage
from guardtui.tui.export.dialog import ExportDialog
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.history.dialog import HistoryDialog
from guardtui.tui.kit.dialogs import (
    ConfirmDialog,
    TextPage,
)
from guardtui.tui.labels.feature import AddLogDialog
from guardtui.tui.prompts.check_page import CheckPage
from guardtui.tui.prompts.dialog import PromptDialog
from guardtui.tui.registry.actions import (
    ACTIONS,
    DETAIL,
    EDITOR,
    LISTS,
    METRICS,
    NEXT,
    RESULTS,
    SCREEN,
    TABLE,
    Action,
)
from guardtui.tui.registry.menu import MenuScreen
from guardtui.tui.settings.scanner import ScannerDialog
from guardtui.tui.settings.screen import SettingsScreen
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.threshold.sweep import ThresholdDialog
from guardtui.tui.topics.companions import CompanionsDialog
from guardtui.tui.topics.new_topic import NewTopicDialog
from guardtui.tui.topics.open_topic import OpenTopicDialog
from tests.tui.stage import BROKEN, Stage, folders, on_stage
from tests.tui.tax_app import until

PALETTE = "the palette"


Prepare = Callable[[Stage], Awaitable[None]]
Look = Callable[[Stage], object]

FOCUS = {
    SCREEN: "#field-description",
    RESULTS: "#table",
    EDITOR: "#field-example-1",
    DETAIL: "#detail",
    METRICS: "#metrics",
    NEXT: "#next",
    TABLE: "#table",
    LISTS: "#table",
}


async def nothing(stage: Stage) -> None:
    """No more than the focus that the scope asks for."""


@dataclass(frozen=True)
class Case:
    """What comes before, and what an author then sees: `look` gives another value than before.

    With `wanted` it gives that value.
    """

    look: Look
    wanted: object = field(default=None)
    prepare: Prepare = nothing
    focus: str = ""


def opens(screen: type[Screen[object]], prepare: Prepare = nothing) -> Case:
    return Case(lambda stage: isinstance(stage.app.screen, screen), True, prepare)


def tells(text: str, prepare: Prepare = nothing) -> Case:
    return Case(lambda stage: any(text in told for told in stage.told), True, prepare)


def view(name: str, wanted: object = None, prepare: Prepare = nothing) -> Case:
    """A change of what the table shows, which the table shows by then."""

    def look(stage: Stage) -> object:
        shown = stage.main.rows.results
        return None if shown is None else getattr(shown.view, name)

    return Case(look, wanted, prepare)


async def edited(stage: Stage) -> None:
    await stage.describe("Personal tax advice on money")


def in_results(stage: Stage) -> bool:
    return stage.app.focused is stage.pane.table


async def broken(stage: Stage) -> None:
    await stage.describe(BROKEN)
    await stage.focus("#table")


async def broken_from_afar(stage: Stage) -> None:
    await broken(stage)
    await stage.focus("#field-name")


async def never_saved(stage: Stage) -> None:
    stage.saved += 1
    await stage.describe(f"Personal tax advice, version {stage.saved}")


async def undone(stage: Stage) -> None:
    await edited(stage)
    stage.main.perform("undo")
    await stage.rest()


async def mistakes(stage: Stage) -> None:
    stage.pane.action_filter("mistakes")
    await stage.rest()


async def on_a_mistake(stage: Stage) -> None:
    await mistakes(stage)
    await stage.pilot.press("home")


async def below_the_first(stage: Stage) -> None:
    first = cursor(stage)
    await stage.pilot.press("down")
    assert await stage.comes(lambda: cursor(stage) != first)


async def marked(stage: Stage) -> None:
    await stage.pilot.press("space", "space")
    await until(stage.pilot, lambda: marks(stage) == 2)


async def by_score(stage: Stage) -> None:
    stage.pane._request_view(sort="score")
    await stage.rest()


async def duplicated(stage: Stage) -> None:
    workspace = stage.main.services.workspace
    before = len(workspace.prompts)
    stage.main.perform("duplicate_prompts")
    await until(stage.pilot, lambda: len(workspace.prompts) > before)
    await stage.rest()


async def connected(stage: Stage) -> None:
    """To an AIRS that is not there: at a port where nobody listens."""
    nowhere = "http://127.0.0.1:9"
    options = RemoteOptions(
        environment={
            "PANW_AI_SEC_API_KEY": "key",
            "PANW_AI_SEC_API_ENDPOINT": nowhere,
            "PANW_MGMT_ENDPOINT": nowhere,
            "PANW_MGMT_TOKEN_ENDPOINT": nowhere,
            "PANW_MGMT_CLIENT_ID": "id",
            "PANW_MGMT_CLIENT_SECRET": "secret",
            "PANW_MGMT_TSG_ID": "1",
        },
        config=Path("/nonexistent/config.json"),
    )
    stage.main.services.connections.use(options.connect(options.settings(), "sandbox"))


def examples(stage: Stage) -> object:
    return stage.main.services.session.topic.examples


def cursor(stage: Stage) -> object:
    return stage.pane.table.cursor_row_id


def prompts(stage: Stage) -> object:
    return len(stage.main.state.prompts)


def marks(stage: Stage) -> object:
    return stage.pane.table.mark_count


CASES: dict[str, Case] = {
    "show_help": opens(HelpScreen),
    "open_menu": opens(MenuScreen),
    "recent_messages": opens(TextPage),
    "take_idea": tells("i in the results adds a prompt"),
    "open_ideas": opens(IdeasPage),
    "preview_idea": tells("Enter shows what it does"),
    "explain_mistake": opens(MistakePage, on_a_mistake),
    "ideas": opens(IdeasPage),
    "keep": opens(ConfirmDialog, broken_from_afar),
    "discard": Case(lambda stage: len(stage.main.services.session.iterations), prepare=edited),
    "show_history": opens(HistoryDialog),
    "next_pane": Case(lambda stage: stage.main.focused),
    "show_check": opens(CheckPage),
    "pin_baseline": tells("Baseline: #"),
    "export": opens(ExportDialog),
    "screenshot": tells("Picture: /"),
    "scanner_settings": opens(ScannerDialog),
    "show_difference": Case(lambda stage: stage.main.panes.editor.shows_difference, True, edited),
    "open_editor": tells("does not support suspending"),  # a terminal of a test is none
    "to_regression(1)": Case(in_results, True, broken_from_afar),
    "to_regression(-1)": Case(in_results, True, broken_from_afar),
    "tour": Case(lambda stage: stage.main.tour.box is not None, True),
    "settings": opens(SettingsScreen),
    "open_topic": opens(OpenTopicDialog),
    "label": tells("No prompt waits for a label"),
    "add_log": opens(AddLogDialog),
    "new_topic": opens(NewTopicDialog),
    "remote_topics": tells("no access token", connected),
    "apply_remote": tells("no access token", connected),
    "revert_remote": tells("no apply to this profile to revert", connected),
    "scan": opens(GuardrailDialog),
    "scan_options": opens(GuardrailDialog),
    "choose_guardrail": opens(GuardrailDialog),
    "scan_missing": tells("has not been scanned yet"),
    "check_flips": opens(GuardrailDialog),
    "experiment": opens(GuardrailDialog),
    "pause_scan": tells("No scan is under way"),
    "stop_scan": tells("No scan is under way"),
    "swap_preview": tells("has not been scanned: the engine's figures are shown"),
    "draft_near_misses": tells("in no figure until labelled"),
    "companions": opens(CompanionsDialog),
    "show_effects": opens(EffectList),
    "show_sweep": opens(ThresholdDialog),
    "show_lint": opens(LintPage),
    "show_trust": tells("No guardrail has judged anything here yet"),
    "undo": Case(lambda stage: stage.main.services.session.topic, prepare=edited),
    "redo": Case(lambda stage: stage.main.services.session.topic, prepare=undone),
    "save": tells("Saved to tax.yaml", never_saved),
    "quit": Case(lambda stage: stage.left, 1),
    "search": Case(lambda stage: getattr(stage.main.focused, "id", ""), "search"),
    "filter('mistakes')": view("filter", "mistakes"),
    "filter('fp')": view("filter", "fp"),
    "filter('fn')": view("filter", "fn"),
    "filter('regressions')": view("filter", "regressions"),
    "filter('fixes')": view("filter", "fixes"),
    "filter('errors')": view("filter", "errors"),
    "filter('all')": view("filter", "all", mistakes),
    "filter('flaky')": view("filter", "flaky"),
    "filter('open')": view("filter", "open"),
    "next_filter": view("filter"),
    "next_category": view("category"),
    "next_sort": view("sort"),
    "reverse_sort": view("descending", True),
    "use_as_example": Case(examples),
    "copy_prompt": tells("Copied"),
    "copy_rows": tells("Copied 1 row as a table"),
    "copy_list": tells("Copied the list: 14 rows"),
    "mark_all": Case(marks, 14),
    "toggle_mark": Case(marks, 1),
    "extend_up": Case(marks, prepare=below_the_first),
    "extend_down": Case(marks, 2),
    "move_in_list('down')": Case(cursor),
    "move_in_list('up')": Case(cursor, prepare=below_the_first),
    "move_in_list('first')": Case(cursor, prepare=below_the_first),
    "move_in_list('last')": Case(cursor),
    "move_in_list('half_down')": Case(cursor),
    "move_in_list('half_up')": Case(cursor, prepare=below_the_first),
    "leave_detail": Case(lambda stage: stage.main.panes.results.table.has_focus, True),
    "relabel": Case(lambda stage: stage.main.state.prompts.expected.sum()),
    "confirm_labels": Case(lambda stage: stage.main.services.workspace.store.confirmed_labels()),
    "add_prompt": opens(PromptDialog),
    "add_like_this": opens(PromptDialog),
    "edit_prompt": opens(PromptDialog),
    "duplicate_prompts": Case(prompts, 15),
    "remove_prompts": Case(prompts, 13),
    "undo_prompts": Case(prompts, 14, duplicated),
    "resize_column(-2)": Case(lambda stage: dict(stage.pane.widths), prepare=by_score),
    "resize_column(2)": Case(lambda stage: dict(stage.pane.widths), prepare=by_score),
    "step_back": Case(marks, 0, marked),
    "zoom_pane": Case(lambda stage: bool(stage.main.panes.zoomed), True),
    "move_example(-1)": Case(examples, focus="#field-example-2"),
    "move_example(1)": Case(examples),
    "remove_example": Case(examples),
    "show_figures": opens(TextPage),
    "copy_shown": tells("Copied"),
}

LETTER = "letter "
"""Before a key that works outside of text fields only."""


def keys_of(action: Action) -> list[str]:
    """The keys of an action; none for one of the menu only."""
    return [key for key in action.keys.split(",") if key]


WAYS = [
    (action, way)
    for action in ACTIONS
    for way in (
        *keys_of(action),
        *(f"{LETTER}{key}" for key in action.letters.split(",") if key),
        PALETTE,
    )
]


def way_of(action: Action) -> str:
    """The first key of an action; the palette stands for the menu."""
    return action.keys.partition(",")[0] or PALETTE


# Leaving ends what evaluates, and so comes last.
WAYS.sort(key=lambda one: one[0].name == "quit")


async def play(stage: Stage, action: Action, way: str) -> str:
    """What is wrong with one action, done one way; "" when it does what it says."""
    case = CASES.get(action.name)
    if case is None:
        return "no case here says what it does"
    await stage.reset()
    await stage.focus(case.focus or FOCUS[action.scope])
    await case.prepare(stage)
    before = case.look(stage)
    if before == case.wanted and case.wanted is not None:
        return f"it is so before: {before!r}"
    if way == PALETTE:
        screen = stage.app.screen
        commands = stage.app.get_system_commands(screen)
        command = next(one for one in commands if one.title == action.title)
        screen.call_later(command.callback)
    else:
        if way.startswith(LETTER) and action.scope != NEXT:
            stage.app.screen.query_one(FrameTable).focus()
            await stage.pilot.pause()
        await stage.pilot.press(way.removeprefix(LETTER))

    def done() -> bool:
        now = case.look(stage)
        return now == case.wanted if case.wanted is not None else now != before

    if await stage.comes(done):
        return ""
    return f"{before!r} is {case.look(stage)!r} then; told: {stage.told}"


def failures(folder: Path, ways: list[tuple[Action, str]]) -> dict[str, str]:
    """Play actions in one app; what is wrong with them, by name and way."""
    found: dict[str, str] = {}

    async def all_of_them(stage: Stage) -> None:
        for action, way in ways:
            try:
                mistake = await play(stage, action, way)
            except (AssertionError, TimeoutError) as error:
                mistake = f"not even begun: {error!r}"
            if mistake:
                found[f"{action.name} by {way}"] = mistake

    with folders(folder) as topic_path:
        asyncio.run(on_stage(topic_path, all_of_them))
    return found


@pytest.mark.exhaustive
def test_every_action_does_what_it_says_by_its_first_key(tmp_path: Path) -> None:
    assert failures(tmp_path, [one for one in WAYS if one[1] == way_of(one[0])]) == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("half", [0, 1])
def test_every_action_does_what_it_says_by_its_other_keys_and_the_palette(
    tmp_path: Path, half: int
) -> None:
    others = [one for one in WAYS if one[1] != way_of(one[0])]
    assert failures(tmp_path, others[half::2]) == {}


def test_no_case_is_left_over() -> None:
    assert set(CASES) == {action.name for action in ACTIONS}
    assert len({action.title for action in ACTIONS}) == len(ACTIONS)

"""Every action of the registry does what it says, by each of its keys and from the palette.

All cases are played in one app, which is brought back to its start before each; a case that is
missing for a new action fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.text import Text
from textual.screen import Screen
from textual.widgets._footer import FooterKey

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import Proposal
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.app.advice.wording_trials import TypeWordings, WordingPlan
from guardtui.app.airs.remote_topics import ShowTopic
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.scan.agreement import EngineAgreement
from guardtui.app.scan.plan import FlipGoal, FlipPlan, ScanCost, ScanPlan
from guardtui.domain.agreement import agreement
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.metrics import Metrics
from guardtui.scanners.airs.models import CustomTopic
from guardtui.tui.advice.effects import EffectList
from guardtui.tui.advice.ideas import IdeasPage
from guardtui.tui.advice.running import RunningDialog
from guardtui.tui.advice.wording_dialogs import WordingPlanDialog, WordingsDialog
from guardtui.tui.airs.dialogs import TopicTextDialog
from guardtui.tui.editor.pane import TopicField
from guardtui.tui.export.dialog import ExportDialog
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.guardrail.trust import TrustPage
from guardtui.tui.help.panes import OVERVIEW, panes
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.history.dialog import HistoryDialog
from guardtui.tui.kit.dialogs import (
    ChoiceDialog,
    ConfirmDialog,
    TextPage,
)
from guardtui.tui.prompts.check_page import CheckPage
from guardtui.tui.prompts.dialog import PromptDialog
from guardtui.tui.registry.actions import (
    ACTIONS,
    DETAIL,
    EDITOR,
    LISTS,
    RESULTS,
    SCREEN,
    TABLE,
    Action,
)
from guardtui.tui.registry.menu import MenuScreen
from guardtui.tui.scan.dialogs import ScanDialog
from guardtui.tui.scan.flip_dialog import FlipDialog
from guardtui.tui.settings.scanner import ScannerDialog
from guardtui.tui.settings.screen import SettingsScreen
from guardtui.tui.settings.themes import ThemeScreen
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.threshold.sweep import ThresholdDialog
from guardtui.tui.topics.companions import CompanionsDialog
from guardtui.tui.topics.new_topic import NewTopicDialog
from guardtui.tui.topics.open_topic import OpenTopicDialog
from tests.tui.frames_app import drawn
from tests.tui.stage import BROKEN, Stage, folders, on_stage
from tests.tui.tax_app import until

PALETTE = "the palette"

ATTEMPTS = 3
"""How often a key may do nothing before it is called deaf: what the key before it began may come
late, on a busy machine, and take the press."""

Prepare = Callable[[Stage], Awaitable[None]]
Look = Callable[[Stage], object]

FOCUS = {
    SCREEN: "#field-description",
    RESULTS: "#table",
    EDITOR: "#field-example-1",
    DETAIL: "#detail",
    TABLE: "#table",
    LISTS: "#table",
}


async def nothing(stage: Stage) -> None:
    """No more than the focus that the scope asks for."""


def field_of(stage: Stage) -> TopicField:
    """The field that the keys of the editor go to."""
    return stage.main.query_one(FOCUS[EDITOR], TopicField)


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


async def hits(stage: Stage) -> None:
    await stage.line("tax")


async def mistakes(stage: Stage) -> None:
    stage.pane.action_filter("mistakes")
    await stage.rest()


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
    stage.pane.action_duplicate_prompts()
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
    "new_topic": opens(NewTopicDialog),
    "remote_topics": tells("no access token", connected),
    "revert_remote": tells("no apply to this profile to revert", connected),
    "scan": opens(GuardrailDialog),
    "scan_options": opens(GuardrailDialog),
    "choose_guardrail": opens(GuardrailDialog),
    "scan_missing": tells("has not been scanned yet"),
    "check_flips": opens(GuardrailDialog),
    "pause_scan": tells("No scan is under way"),
    "stop_scan": tells("No scan is under way"),
    "swap_preview": tells("has not been scanned: the screen shows the preview"),
    "companions": opens(CompanionsDialog),
    "show_effects": opens(EffectList),
    "show_sweep": opens(ThresholdDialog),
    "show_lint": opens(TextPage),
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
    "toggle_marks": tells("Signs after the words: o"),
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


async def in_menu(stage: Stage) -> None:
    """Open the menu at Advice."""
    await stage.pilot.press("ctrl+@")
    assert await stage.comes(
        lambda: isinstance(stage.app.screen, MenuScreen) and stage.app.screen.is_mounted
    )
    await stage.pilot.press("a")
    await stage.pilot.pause()


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
        if way.startswith(LETTER):
            stage.app.screen.query_one(FrameTable).focus()
            await stage.pilot.pause()
        await stage.pilot.press(way.removeprefix(LETTER))

    def done() -> bool:
        now = case.look(stage)
        return now == case.wanted if case.wanted is not None else now != before

    if await stage.comes(done):
        return ""
    return f"{before!r} is {case.look(stage)!r} then; told: {stage.told}"


def mistakes(folder: Path, ways: list[tuple[Action, str]]) -> dict[str, str]:
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
    assert mistakes(tmp_path, [one for one in WAYS if one[1] == way_of(one[0])]) == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("half", [0, 1])
def test_every_action_does_what_it_says_by_its_other_keys_and_the_palette(
    tmp_path: Path, half: int
) -> None:
    others = [one for one in WAYS if one[1] != way_of(one[0])]
    assert mistakes(tmp_path, others[half::2]) == {}


def test_no_case_is_left_over() -> None:
    assert set(CASES) == {action.name for action in ACTIONS}
    assert len({action.title for action in ACTIONS}) == len(ACTIONS)


# --- the footer and the help ---------------------------------------------------------------

PLACES = {
    "definition": "#field-description",
    "intent": "#intent",
    "metrics": "#metrics",
    "results": "#table",
    "filter": "#search",
    "detail": "#detail",
}
"""What has the focus in each pane of the main screen, by the name its help has."""

TYPED = ("#field-description", "#search")
"""Those that are text fields, in which letters are letters."""


def by_key(*keys: str) -> Prepare:
    async def press(stage: Stage) -> None:
        await stage.focus("#table")
        *menu, last = keys
        await stage.pilot.press(*menu)
        before = stage.app.screen
        await stage.pilot.press(last)
        assert await stage.comes(
            lambda: stage.app.screen is not before and stage.app.screen.is_mounted
        )
        await stage.pilot.pause()

    return press


async def confirm(stage: Stage) -> None:
    await stage.focus("#table")
    await marked(stage)
    await by_key("x")(stage)


async def pushed(stage: Stage, screen: Screen[Any]) -> None:
    stage.app.push_screen(screen)
    assert await stage.comes(lambda: screen.is_current and screen.is_mounted)
    await stage.pilot.pause()


async def choice(stage: Stage) -> None:
    await pushed(stage, ChoiceDialog("Security profile", [("a", Text("a")), ("b", Text("b"))]))


async def remote_text(stage: Stage) -> None:
    here = stage.main.services.session.topic
    topic = CustomTopic(topic_name=here.name, description=here.description, examples=here.examples)
    await pushed(stage, TopicTextDialog(ShowTopic(topic, None, here)))


async def scan_dialog(stage: Stage) -> None:
    cost = ScanCost(prompts=14, known=0, likely=3, likely_known=0, rate=None)
    await pushed(stage, ScanDialog(ScanPlan("Profile sandbox", ("a change",), (), cost, False)))


async def flip_dialog(stage: Stage) -> None:
    cost = ScanCost(prompts=14, known=0, likely=3, likely_known=0, rate=None)
    scan = ScanPlan("Profile sandbox", ("a change",), (), cost, False)
    await pushed(
        stage, FlipDialog(FlipPlan(scan, RateEstimate(0.8, 0.7, 0.9), 1, 9, 0, FlipGoal(0.02, 14)))
    )


async def trust_page(stage: Stage) -> None:
    answers = np.array([0, 1, 1], np.int8)
    held = agreement(answers, answers)
    compared = EngineAgreement(held, 0.5, "too few", None, "AIRS")
    await pushed(stage, TrustPage(compared, Text("none")))


async def tour(stage: Stage) -> None:
    await stage.focus("#table")
    await stage.pilot.press("ctrl+@", "v", "i")
    assert await stage.comes(lambda: stage.main.tour.box is not None)
    await stage.pilot.pause()
    before = drawn(stage.app)
    await stage.pilot.press("alt+n")
    assert await stage.comes(lambda: drawn(stage.app) != before)


async def theme(stage: Stage) -> None:
    await stage.app.run_action("change_theme")
    assert await stage.comes(lambda: isinstance(stage.app.screen, ThemeScreen))
    await stage.pilot.pause()


def at(selector: str) -> Prepare:
    async def go(stage: Stage) -> None:
        await stage.focus(selector)

    return go


def by_letter(letter: str) -> Prepare:
    """From the menu of advice."""
    return by_key("ctrl+@", "a", letter)


async def running(stage: Stage) -> None:
    async def waits(report: Callable[[str], None]) -> None:
        report("begins")
        await asyncio.Event().wait()

    await pushed(stage, RunningDialog("Searching", "Esc ends it", waits, Text))


async def wording_plan(stage: Stage) -> None:
    here = stage.main.services.session.topic
    wordings = (
        Candidate(here, CandidateKind.COMPLETE, "", origin="the definition"),
        Candidate(here, CandidateKind.DROP_EXAMPLE, "Drop example 2", origin="search"),
    )
    await pushed(stage, WordingPlanDialog(WordingPlan(here, wordings, "2 wordings", ("a note",))))


async def own_wordings(stage: Stage) -> None:
    await pushed(stage, WordingsDialog(TypeWordings(59)))


async def ideas_page(stage: Stage) -> None:
    here, prompts = stage.main.services.session.topic, stage.main.services.workspace.prompts
    none, metrics = np.zeros(0, np.intp), Metrics(5, 5, 1, 1)
    gain, edits = Gain(0.1, 0.05, 0.15), ((CandidateKind.DROP_EXAMPLE,), ("Drop example 2",))
    one = Proposal(here, *edits, gain, metrics, metrics, none, none, none)
    idea = Idea(IdeaKind.EDIT, "Drop example 2", gain, one)
    await pushed(stage, IdeasPage(Ideas(here, (idea,)), prompts.prompts))


async def submenu(stage: Stage) -> None:
    """A menu that has one before it."""
    await by_key("ctrl+@")(stage)
    before = drawn(stage.app)
    await stage.pilot.press("s")
    assert await stage.comes(lambda: drawn(stage.app) != before)


async def beside(stage: Stage) -> None:
    """A pane that only a broad screen has."""
    await stage.pilot.resize_terminal(200, 60)
    await stage.pilot.pause()
    await stage.focus("#categories OptionList")


def text_page(pane: str) -> Prepare:
    """A page to read whose help is this."""

    async def push(stage: Stage) -> None:
        await pushed(stage, TextPage("A page", Text("text"), pane))

    return push


OPENED: dict[str, Prepare] = {
    "beside": beside,
    "ideas": ideas_page,
    "own_wordings": own_wordings,
    "wording_plan": wording_plan,
    "running": running,
    "effects": by_letter("e"),
    "sweep": by_key("ctrl+@", "t", "s"),
    "lint": by_letter("d"),
    **{pane: at(selector) for pane, selector in PLACES.items()},
    "history": by_key("f4"),
    "export": by_key("f8"),
    "choice": choice,
    "scanner": by_key("f9"),
    "scan": scan_dialog,
    "flips": flip_dialog,
    "trust": trust_page,
    "companions": by_key("ctrl+@", "r", "c"),
    "remote_text": remote_text,
    "confirm": confirm,
    "settings": by_key("ctrl+@", "v", "s"),
    "prompt": by_key("i"),
    "theme": theme,
    "palette": by_key("ctrl+p"),
    "tour": tour,
    "check": by_key("f6"),
    **{
        pane: text_page(pane)
        for pane in (
            "page",
            "messages",
            "changed_prompts",
            "comparison",
        )
    },
    "menu": submenu,
    "dialog": by_key("f9"),
    "open_topic": by_key("ctrl+@", "f", "t"),
    "new_topic": by_key("ctrl+@", "f", "n"),
    "guardrail": by_key("ctrl+@", "s", "g"),
}
"""How each pane that has help comes to have the focus."""

_NAMED = {
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
    "PgUp": "pageup",
    "PgDn": "pagedown",
    "Esc": "escape",
    "Del": "delete",
    "+": "plus",
    "-": "minus",
    "^": "ctrl+",
}


def keys_told(pane: str) -> list[str]:
    """The keys that the help of a pane tells besides those of the registry, as Textual's names."""
    keys: list[str] = []
    for told, _ in panes()[pane].keys:
        for word in told.replace(" or ", " ").replace(",", " ").split():
            *modifiers, name = word.split("+") if word != "+" else [word]
            name = _NAMED.get(name, name)
            if name.startswith("^"):
                modifiers, name = ["ctrl"], name[1:]
            if len(name) > 1:
                name = name.lower()
            keys.append("+".join([*(modifier.lower() for modifier in modifiers), name]))
    return keys


def bound(stage: Stage) -> set[str]:
    """Keys that are bound where the focus is."""
    return set(stage.app.screen.active_bindings)


@pytest.mark.exhaustive
def test_every_key_of_the_footer_does_something(tmp_path: Path) -> None:
    deaf: dict[str, list[str]] = {}

    def footer(stage: Stage) -> set[str]:
        return {widget.key for widget in stage.main.query(FooterKey)}

    async def footers(stage: Stage) -> None:
        for pane, selector in PLACES.items():
            await stage.reset()
            await stage.focus(selector)
            # It is drawn anew a moment after the focus moved, and is empty in between.
            help_key = "f1" if selector in TYPED else "question_mark"
            assert await stage.comes(lambda key=help_key: {key} <= footer(stage) <= bound(stage))
            keys = footer(stage)
            for key in sorted(keys, key=lambda widget: widget == "ctrl+q"):
                for _ in range(ATTEMPTS):
                    await stage.reset()
                    await stage.focus(selector)
                    if await stage.does(key):
                        break
                else:
                    deaf.setdefault(pane, []).append(key)

    with folders(tmp_path) as topic_path:
        asyncio.run(on_stage(topic_path, footers))
    assert deaf == {}


@pytest.mark.exhaustive
def test_every_key_of_the_help_exists(tmp_path: Path) -> None:
    missing_of: dict[str, list[str]] = {}

    async def helps(stage: Stage) -> None:
        for pane in panes():
            wanted = keys_told(pane)
            for scope in panes()[pane].scopes:
                wanted += [
                    key for one in ACTIONS if one.scope == scope for key in one.keys.split(",")
                ]
            if pane in OVERVIEW:
                wanted += [
                    key for one in ACTIONS if one.scope == SCREEN for key in one.keys.split(",")
                ]
            await stage.reset()
            await OPENED[pane](stage)
            if pane == "results":
                await marked(stage)  # else there is no step back
            keys = bound(stage)
            if pane == "prompt":
                stage.app.screen.query_one("#label").focus()  # what Space turns
                await stage.pilot.pause()
                keys |= bound(stage)
            missing = [key for key in wanted if key not in keys]
            # A field takes some keys itself, without a binding.
            for key in missing.copy():
                await stage.reset()
                await OPENED[pane](stage)
                if await stage.does(key):
                    missing.remove(key)
            if missing:
                missing_of[pane] = missing

    with folders(tmp_path) as topic_path:
        asyncio.run(on_stage(topic_path, helps))
    assert missing_of == {}

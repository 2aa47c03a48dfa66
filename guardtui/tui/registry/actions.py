"""The registry of actions: bindings, footer, palette, menu and help are made from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from textual.binding import Binding, BindingType

SCREEN = "screen"
RESULTS = "results"
EDITOR = "editor"
DETAIL = "detail"
TABLE = "table"
LISTS = "lists"
"""Every table, list and scrolling page; actions of the pane take precedence."""
LETTERS = "letters"
"""Not a scope: the first part of the ids of keys that work outside of text fields."""
SCOPE_TITLES = {
    SCREEN: "Everywhere",
    LISTS: "In every list, table and page",
    RESULTS: "In the results",
    TABLE: "In the table of results",
    EDITOR: "In the definition",
    DETAIL: "In the detail",
}
"""Titles of the scopes in the help and the documentation, in their order."""

MENU_GROUPS: Mapping[str, str] = {
    "s": "Scan",
    "r": "AIRS",
    "t": "Threshold",
    "a": "Advice",
    "f": "File",
    "v": "View",
}
"""Submenus of the menu by their letters."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the author.

    `name` is the method `action_<name>` of the widget in whose `scope` it works; `keys` are
    Textual key names: one, a second for terminals that swallow the first, or none. `letters` are
    keys that do not work in text fields. `shown` puts it into the footer, with the text `footer`;
    a lower `rank` is more useful. `menu` is its path in the menu: the letters that lead there
    ("s m").
    """

    name: str
    keys: str
    title: str
    tooltip: str
    scope: str = SCREEN
    shown: bool = False
    footer: str = ""
    letters: str = ""
    rank: int = 50
    menu: str = ""

    @property
    def letter_binding(self) -> Binding | None:
        """The keys that work only outside of text fields, or None."""
        if not self.letters:
            return None
        text, tooltip = self.footer or self.title, self.tooltip
        return Binding(
            self.letters,
            self.name,
            text,
            show=self.shown,
            tooltip=tooltip,
            id=f"{LETTERS}.{self.name}",
        )

    @property
    def binding(self) -> Binding:
        return Binding(
            # No terminal sends this key: the author may set another one by the id.
            self.keys or f"no_key_{self.scope}_{self.name.strip(')').replace('(', '_')}",
            self.name,
            self.footer or self.title,
            show=self.shown,
            tooltip=self.tooltip,
            id=f"{self.scope}.{self.name}",
            # The editor's fields have undo and redo of their own, for one field only, and type the
            # letter of an Alt combination.
            priority=self.scope in (SCREEN, EDITOR),
        )


ACTIONS: tuple[Action, ...] = (
    Action(
        "show_help",
        "f1",
        "Help",
        "What this pane shows, its keys and terms; a shows all keys",
        shown=True,
        letters="question_mark",
        rank=2,
        menu="question_mark",
    ),
    Action(
        "open_menu",
        "ctrl+space,ctrl+@",
        "Menu",
        "Keys and their actions; in text fields only ^Space opens it",
        shown=True,
        letters="comma",
        rank=1,
    ),
    Action(
        "keep",
        "f2",
        "Keep",
        "Record this definition as kept, and save it to the topic file",
        shown=True,
        rank=10,
        menu="k",
    ),
    Action(
        "discard",
        "f3,ctrl+b",
        "Discard",
        "Record this definition as discarded, and go back to the best one",
        shown=True,
        rank=11,
        menu="d",
    ),
    Action(
        "show_history",
        "f4",
        "History",
        "All iterations as list and chart: compare two, restore one, pin one",
        shown=True,
        rank=30,
        menu="h",
    ),
    Action(
        "next_pane",
        "f5,ctrl+n",
        "Next pane",
        "Go to the next pane; on a small screen, show it",
        shown=True,
        footer="Pane",
        rank=12,
        menu="p",
    ),
    Action(
        "zoom_pane",
        "",
        "Zoom",
        "Show only this pane, or all panes again; Esc goes back too",
        letters="z",
        shown=True,
        rank=40,
        menu="z",
    ),
    Action(
        "show_check",
        "f6,ctrl+l",
        "Check the data",
        "Limits, duplicates, contradictory labels, leakage, where to label; rates by category",
        footer="Check",
        shown=True,
        rank=36,
        menu="c",
    ),
    Action(
        "pin_baseline",
        "f7",
        "Pin or unpin the baseline",
        "Compare with the last iteration from now on, or with the last kept one again",
        footer="Pin",
        rank=60,
        menu="b",
    ),
    Action(
        "export",
        "f8,ctrl+o",
        "Export",
        "Write a report: HTML, Markdown, JSON, CSV and more; shows its path, and opens it",
        shown=True,
        rank=34,
        menu="f e",
    ),
    Action(
        "screenshot",
        "alt+s",
        "Screenshot",
        "Write what is on the screen as a picture (SVG), beside the topic file",
        menu="f p",
    ),
    Action(
        "scanner_settings",
        "f9",
        "Scanner",
        "Threshold (shipped, by hand, fitted) and encoder",
        menu="t t",
    ),
    Action(
        "show_difference",
        "f12",
        "Difference",
        "What the edit changes against the baseline, word by word",
        shown=True,
        footer="Diff",
        rank=22,
        menu="v d",
    ),
    Action(
        "open_editor",
        "f11,alt+o",
        "Your editor",
        "Edit the definition in the program of $VISUAL or $EDITOR",
        menu="f o",
    ),
    Action(
        "to_regression(1)",
        "f10,alt+r",
        "To the next regression",
        "Works in every pane",
        menu="n",
        letters="r",
        footer="Regression",
    ),
    Action(
        "to_regression(-1)",
        "",
        "To the previous regression",
        "Works in every pane",
        menu="N",
        letters="R",
    ),
    Action(
        "tour",
        "",
        "Tour",
        "Start the tour of six short steps, or end it",
        menu="v i",
    ),
    Action(
        "settings",
        "",
        "Settings",
        "Theme, keys, pause before the preview, and all other settings",
        menu="v s",
    ),
    Action(
        "scan",
        "ctrl+r",
        "Scan",
        "Scan all prompts with the guardrail; AIRS gets the definition first",
        shown=True,
        rank=20,
        menu="s s",
    ),
    Action(
        "scan_options",
        "",
        "Scan, but ask first",
        "Show changes and cost first; scan all prompts, or only the likely changes",
        menu="s a",
    ),
    Action(
        "scan_missing",
        "alt+m",
        "Scan what is missing",
        "Scan only the prompts without a verdict",
        footer="Resume",
        menu="s m",
    ),
    Action(
        "pause_scan",
        "alt+p",
        "Pause the scan",
        "Stop sending requests, or continue",
        footer="Pause",
        menu="s p",
    ),
    Action(
        "stop_scan",
        "alt+z",
        "Stop the scan",
        "Verdicts received so far are kept",
        footer="Stop",
        menu="s x",
    ),
    Action(
        "choose_guardrail",
        "",
        "Guardrail",
        "What scans use: AIRS, a judge, a decision model or none; profile, model, key",
        menu="s g",
    ),
    Action(
        "check_flips",
        "",
        "Check the likely flips",
        "Scan only prompts in doubt, the most informative first, until coverage is precise",
        footer="Check flips",
        menu="s f",
    ),
    Action(
        "swap_preview",
        "alt+v",
        "Preview or scan",
        "Switch between the scan or forecast and the embedded engine's preview",
        menu="s v",
    ),
    Action(
        "take_idea",
        "",
        "Take the idea",
        "Apply the idea below the definition; Undo reverts an edit",
        menu="y",
    ),
    Action(
        "ideas",
        "",
        "Ideas",
        "Measured edits, best first; search for more, try your own wordings or a model's",
        letters="full_stop",
        shown=True,
        footer="Ideas",
        rank=31,
        menu="w",
    ),
    Action(
        "remote_topics",
        "",
        "Topics in AIRS",
        "Topics of the tenant: view, copy to the editor; create, apply, revert yours",
        menu="r t",
    ),
    Action(
        "revert_remote",
        "",
        "Revert in AIRS",
        "Revert the last apply of this session",
        menu="r r",
    ),
    Action(
        "companions",
        "",
        "Topics measured together",
        "Other topics of the profile: every verdict is then that of the whole profile",
        menu="r c",
    ),
    Action(
        "recent_messages",
        "",
        "Recent messages",
        "Messages of the line at the top, newest first",
        menu="m",
    ),
    Action(
        "undo",
        "ctrl+z",
        "Undo",
        "Take back the last edit of the definition",
        shown=True,
        rank=21,
        menu="u",
    ),
    Action("redo", "ctrl+y", "Redo", "Redo what was undone", menu="U"),
    Action(
        "save",
        "ctrl+s",
        "Save",
        "Write the definition to the topic file",
        shown=True,
        rank=24,
        menu="f s",
    ),
    Action(
        "open_topic",
        "",
        "Open topic",
        "Open another topic file with its prompts instead of this one; edits are kept",
        menu="f t",
    ),
    Action(
        "new_topic",
        "",
        "New topic",
        "Write a topic file for prompts that exist, or with a few to start",
        menu="f n",
    ),
    Action(
        "recent_topics",
        "",
        "Recent topics",
        "Topics opened before, with their coverage, and those in this folder",
        menu="f r",
    ),
    Action(
        "quit",
        "ctrl+q,alt+q",
        "Quit",
        "Quit the app; unsaved edits are restored next time",
        shown=True,
        rank=33,
        menu="q",
    ),
    Action(
        "search",
        "slash",
        "Filter",
        "Find prompts by words, outcome, category, score and more",
        RESULTS,
        shown=True,
        rank=1,
        menu="slash",
    ),
    Action("filter('mistakes')", "1", "Mistakes", "Show false positives and negatives", RESULTS),
    Action("filter('fp')", "2", "False positives", "Show false positives", RESULTS),
    Action("filter('fn')", "3", "False negatives", "Show false negatives", RESULTS),
    Action("filter('regressions')", "4", "Regressions", "Show what the edit broke", RESULTS),
    Action("filter('fixes')", "5", "Fixes", "Show what the edit fixed", RESULTS),
    Action("filter('errors')", "6", "Errors", "Show prompts without a verdict", RESULTS),
    Action("filter('all')", "7", "All prompts", "Show every prompt", RESULTS),
    Action("filter('flaky')", "8", "Flaky prompts", "Show prompts whose epochs disagree", RESULTS),
    Action("filter('open')", "9", "Open prompts", "Show prompts not scanned yet", RESULTS),
    Action(
        "next_filter",
        "f",
        "Next filter",
        "Show the next group: mistakes, FP, FN, regressions, fixes, errors, all",
        RESULTS,
        shown=True,
        rank=6,
        footer="Group",
    ),
    Action(
        "next_category",
        "c",
        "Next category",
        "Show one category only, then the next",
        RESULTS,
        shown=True,
        rank=8,
        footer="Category",
    ),
    Action(
        "next_sort",
        "s",
        "Sort",
        "Sort by the next visible column",
        RESULTS,
        shown=True,
        rank=7,
    ),
    Action("reverse_sort", "S", "Reverse the order", "Sort the other way round", RESULTS),
    Action(
        "use_as_example",
        "e",
        "Use as example",
        "Add the marked prompts to the examples",
        RESULTS,
        shown=True,
        rank=2,
        footer="Example",
    ),
    Action(
        "copy_prompt",
        "y",
        "Copy",
        "Copy the marked prompts to the clipboard",
        RESULTS,
        shown=True,
        rank=9,
    ),
    Action("copy_rows", "Y", "Copy as a table", "Copy the marked rows with all columns", RESULTS),
    Action("copy_list", "A", "Copy the list", "Copy all rows shown, as a table", RESULTS),
    Action("mark_all", "m", "Mark all", "Mark every row shown", RESULTS),
    Action(
        "relabel",
        "t",
        "Flip the label",
        "Flip the label of the marked prompts, or of this one",
        RESULTS,
        shown=True,
        rank=3,
        footer="Label",
    ),
    Action(
        "confirm_labels",
        "L",
        "The label is right",
        "Confirm a label in doubt, of the marked prompts or of this one; again: undo that",
        RESULTS,
    ),
    Action(
        "add_prompt",
        "i",
        "Add a prompt",
        "Add a prompt to the set",
        RESULTS,
        shown=True,
        rank=4,
        footer="Add",
    ),
    Action(
        "add_like_this", "I", "Add one like this", "Start with the text of this prompt", RESULTS
    ),
    Action(
        "edit_prompt",
        "E",
        "Edit the prompt",
        "Its text, its label and every further column, in the file",
        RESULTS,
        shown=True,
        rank=8,
        footer="Edit",
        menu="e",
    ),
    Action("duplicate_prompts", "d", "Duplicate", "Copy the marked rows in the file", RESULTS),
    Action(
        "remove_prompts",
        "x",
        "Remove",
        "Remove the marked rows from the file",
        RESULTS,
        shown=True,
        rank=13,
    ),
    Action(
        "undo_prompts", "u", "Undo in the prompts", "Undo the last edit of the prompts", RESULTS
    ),
    Action(
        "resize_column(-2)",
        "less_than_sign",
        "Narrower",
        "Make the sorted column narrower",
        RESULTS,
    ),
    Action(
        "resize_column(2)", "greater_than_sign", "Wider", "Make the sorted column wider", RESULTS
    ),
    Action(
        "step_back",
        "escape",
        "One step back",
        "Leave the filter line; clear the marks, the filter, the category",
        RESULTS,
    ),
    Action(
        "move_example(-1)",
        "alt+up",
        "Move the example up",
        "Swap it with the one above",
        EDITOR,
        shown=True,
        rank=23,
        footer="Move up",
    ),
    Action(
        "move_example(1)",
        "alt+down",
        "Move the example down",
        "Swap it with the one below",
        EDITOR,
    ),
    Action(
        "remove_example",
        "alt+x",
        "Remove the example",
        "Undo brings it back",
        EDITOR,
        shown=True,
        rank=25,
        footer="Remove",
    ),
    Action(
        "toggle_marks",
        "m",
        "Signs after the words",
        "Show or hide the signs in the prompt",
        DETAIL,
        shown=True,
        rank=2,
        footer="Signs",
    ),
    Action(
        "copy_shown",
        "y",
        "Copy the prompt shown",
        "Copy the whole prompt, without the signs",
        DETAIL,
        shown=True,
        rank=1,
        footer="Copy",
    ),
    Action(
        "leave_detail",
        "escape",
        "Back to the results",
        "Go back to the table",
        DETAIL,
        shown=True,
        rank=0,
        footer="Results",
    ),
    Action(
        "toggle_mark",
        "space",
        "Mark",
        "Mark or unmark the row, then go down",
        TABLE,
        shown=True,
        rank=5,
    ),
    Action("extend_up", "shift+up", "Mark upwards", "Mark the row and the one above", TABLE),
    Action("extend_down", "shift+down", "Mark downwards", "Mark the row and the one below", TABLE),
    Action("move_in_list('down')", "j", "Down", "To the next row, entry or line", LISTS),
    Action("move_in_list('up')", "k", "Up", "To the row, entry or line before", LISTS),
    Action("move_in_list('first')", "g", "First", "To the first row, entry or line", LISTS),
    Action("move_in_list('last')", "G", "Last", "To the last row, entry or line", LISTS),
    Action("move_in_list('half_down')", "ctrl+d", "Half a page down", "In the same list", LISTS),
    Action("move_in_list('half_up')", "ctrl+u", "Half a page up", "In the same list", LISTS),
    Action(
        "show_effects",
        "",
        "What each part does",
        "Effect of each example and phrase: coverage without it",
        menu="a e",
    ),
    Action(
        "show_lint",
        "",
        "Advice on the definition",
        "Known weaknesses of the definition, each with the coverage without it",
        menu="a d",
    ),
    Action(
        "show_sweep",
        "",
        "Threshold",
        "TPR, TNR and curves by threshold; move it with keys while the table follows",
        menu="t s",
    ),
    Action(
        "show_trust",
        "",
        "How well scans were predicted",
        "Scans against the engine and the forecasts; a threshold fitted to the last one",
        menu="a a",
    ),
)


def _bindings(scope: str) -> Iterable[Binding]:
    for action in in_scope(scope):
        yield action.binding
        if action.letter_binding is not None:
            yield action.letter_binding


def bindings(scope: str) -> list[BindingType]:
    """Return the bindings of a scope, in the order of the registry."""
    return list(_bindings(scope))


def call_of(name: str) -> str:
    """Return the call that runs an action on the main screen, such as `perform('keep')`."""
    method, _, arguments = name.partition("(")
    return f"perform({', '.join(filter(None, (repr(method), arguments.removesuffix(')'))))})"


def performed(scope: str) -> list[BindingType]:
    """Return the bindings of a scope whose actions are run by features of the main screen."""
    return [replace(binding, action=call_of(binding.action)) for binding in _bindings(scope)]


def binding_ids(action: Action) -> tuple[str, ...]:
    """Return the ids of an action in the setting `keys`."""
    both = (action.binding, action.letter_binding)
    return tuple(binding.id or "" for binding in both if binding is not None)


def key_names(action: Action, keymap: Mapping[str, str] | None = None) -> str:
    """Return the keys of an action for display; `keymap` has other keys by the binding's id."""
    shipped = zip(binding_ids(action), (action.keys, action.letters), strict=False)
    keys = [key for id_, keys in shipped for key in (keymap or {}).get(id_, keys).split(",")]
    return " or ".join(dict.fromkeys(map(key_name, filter(None, keys))))


def first_key(name: str, keymap: Mapping[str, str] | None = None) -> str:
    """Return the first key of an action, by its name, for display; else its path in the menu."""
    action = action_named(name)
    return key_names(action, keymap).partition(" or ")[0] or menu_name(action, keymap)


def menu_name(action: Action, keymap: Mapping[str, str] | None = None) -> str:
    """Return the keys that run an action from the menu, for display: "^Space s m"."""
    return " ".join([first_key("open_menu", keymap), *map(key_name, menu_path(action))])


def action_named(name: str) -> Action:
    """Return the action of this name."""
    return next(action for action in ACTIONS if action.name == name)


def menu_path(action: Action) -> tuple[str, ...]:
    """Return the letters that lead to an action in the menu; () if it is not in the menu."""
    return tuple(action.menu.split())


def key_name(key: str) -> str:
    """Return a key of Textual for display: "^r" for "ctrl+r"."""
    if key == "ctrl+@":  # what most terminals send for Ctrl+Space
        return key_name("ctrl+space")
    return "".join(_part_name(part) for part in re.split(r"(?<=\+)(?=.)", key))


_NAMES = {
    "slash": "/",
    "backslash": "\\",
    "right_square_bracket": "]",
    "circumflex_accent": "^",
    "underscore": "_",
    "comma": ",",
    "full_stop": ".",
    "question_mark": "?",
    "escape": "Esc",
    "delete": "Del",
    "insert": "Ins",
    "space": "Space",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "ctrl+": "^",
    "super+": "⌘",
}


def _part_name(part: str) -> str:
    """Return a modifier with its plus sign, or a key, for display."""
    known = _NAMES.get(part)
    if known is not None:
        return known
    return part.upper() if re.fullmatch(r"f\d+", part) else part


def in_scope(scope: str) -> Iterable[Action]:
    """Return all actions of a scope."""
    return (action for action in ACTIONS if action.scope == scope)

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
ADVICE = "advice"
"""Entries of the menu under Advice: they have a letter there, and are in the palette."""
LETTERS = "letters"
"""Not a scope: the first part of the ids of keys that work outside of text fields."""
SCOPE_TITLES = {
    SCREEN: "Everywhere",
    LISTS: "In every list, table and page",
    ADVICE: "In the menu, under Advice",
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
"""Submenus of the menu by their letters. The entries of Advice have letters of their own."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the author.

    `name` is the method `action_<name>` of the widget in whose `scope` it works; `keys` are
    Textual key names, the second for terminals that swallow the first. `letters` are more keys,
    which work on every screen but not in text fields. `shown` puts it into the footer, with the
    text `footer`; a lower `rank` is more useful. `menu` is its path in the menu: the letters that
    lead there ("s m"), or several paths separated by commas.
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
            self.keys,
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
        "f1,alt+h",
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
        "f2,ctrl+g",
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
        "f4,ctrl+t",
        "History",
        "All iterations as list and chart: compare two, restore one, pin one",
        shown=True,
        rank=30,
        menu="h,f h",
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
        "alt+shift+z,ctrl+f3",
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
        "f7,alt+p",
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
        "ctrl+f8,ctrl+f6",
        "Screenshot",
        "Write what is on the screen as a picture (SVG), beside the topic file",
        menu="f p",
    ),
    Action(
        "scanner_settings",
        "f9,alt+e",
        "Scanner",
        "Threshold (shipped, by hand, fitted) and encoder",
        menu="t t",
    ),
    Action(
        "show_difference",
        "f12,alt+d",
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
        "to_regression(1)", "f10,alt+r", "To the next regression", "Works in every pane", menu="n"
    ),
    Action(
        "to_regression(-1)",
        "shift+f10,alt+t",
        "To the previous regression",
        "Works in every pane",
        menu="N",
    ),
    Action(
        "tour",
        "alt+i,ctrl+backslash",
        "Tour",
        "Start the tour of six short steps, or end it",
        menu="v i",
    ),
    Action(
        "settings",
        "shift+f9,alt+u",
        "Settings",
        "Theme, keys, pause before the preview, and all other settings",
        menu="v s",
    ),
    Action(
        "choose_theme",
        "shift+f8,alt+c",
        "Theme",
        "Choose the colours; the screen previews each theme",
        menu="v t",
    ),
    Action(
        "scan",
        "ctrl+r,alt+l",
        "Scan",
        "Scan all prompts with the guardrail; AIRS gets the definition first",
        shown=True,
        rank=20,
        menu="s s",
    ),
    Action(
        "scan_options",
        "shift+f2,ctrl+f2",
        "Scan, but ask first",
        "Show changes and cost first; scan all prompts, or only the likely changes",
        menu="s a",
    ),
    Action(
        "scan_missing",
        "alt+m,shift+f3",
        "Scan what is missing",
        "Scan only the prompts without a verdict",
        footer="Resume",
        menu="s m",
    ),
    Action(
        "pause_scan",
        "shift+f5,ctrl+f5",
        "Pause the scan",
        "Stop sending requests, or continue",
        footer="Pause",
        menu="s p",
    ),
    Action(
        "stop_scan",
        "shift+f6,alt+z",
        "Stop the scan",
        "Verdicts received so far are kept",
        footer="Stop",
        menu="s x",
    ),
    Action(
        "choose_guardrail",
        "alt+shift+g,super+g",
        "Guardrail",
        "What scans use: AIRS, a judge, a decision model or none; profile, model, key",
        menu="s g,r g",
    ),
    Action(
        "check_flips",
        "ctrl+f11,ctrl+f12",
        "Check the likely flips",
        "Scan only prompts in doubt, the most informative first, until coverage is precise",
        footer="Check flips",
        menu="s f",
    ),
    Action(
        "swap_preview",
        "shift+f4,alt+v",
        "Preview or scan",
        "Switch between the scan or forecast and the embedded engine's preview",
        menu="s v",
    ),
    Action(
        "take_idea",
        "alt+shift+n,super+n",
        "Take the idea",
        "Apply the idea below the definition; Undo reverts an edit",
        menu="y",
    ),
    Action(
        "ideas",
        "alt+shift+w,super+w",
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
        "shift+f11,ctrl+right_square_bracket",
        "Topics in AIRS",
        "Topics of the tenant: view, copy to the editor; create, apply, revert yours",
        menu="r t",
    ),
    Action(
        "revert_remote",
        "shift+f12,ctrl+circumflex_accent",
        "Revert in AIRS",
        "Revert the last apply of this session",
        menu="r r",
    ),
    Action(
        "companions",
        "ctrl+f9,ctrl+f7",
        "Topics measured together",
        "Other topics of the profile: every verdict is then that of the whole profile",
        menu="r c",
    ),
    Action(
        "recent_messages",
        "ctrl+f1,alt+shift+m",
        "Recent messages",
        "Messages of the line at the top, newest first",
        menu="m",
    ),
    Action(
        "undo",
        "ctrl+z,super+z",
        "Undo",
        "Take back the last edit of the definition",
        shown=True,
        rank=21,
        menu="u",
    ),
    Action("redo", "ctrl+y,super+y", "Redo", "Redo what was undone", menu="U"),
    Action(
        "save",
        "ctrl+s,alt+s",
        "Save",
        "Write the definition to the topic file",
        shown=True,
        rank=24,
        menu="f s",
    ),
    Action(
        "open_topic",
        "alt+shift+o,super+o",
        "Open topic",
        "Open another topic file with its prompts instead of this one; edits are kept",
        menu="f t",
    ),
    Action(
        "new_topic",
        "alt+shift+e,super+e",
        "New topic",
        "Write a topic file for prompts that exist, or with a few to start",
        menu="f n",
    ),
    Action(
        "recent_topics",
        "alt+shift+r,super+r",
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
        "slash,ctrl+f",
        "Filter",
        "Find prompts by words, outcome, category, score and more",
        RESULTS,
        shown=True,
        rank=1,
        menu="slash",
    ),
    Action("next_hit", "n", "Next hit", "Go to the next prompt that passes the filter", RESULTS),
    Action("previous_hit", "N", "Previous hit", "Go to the previous hit", RESULTS),
    Action("filter('mistakes')", "1", "Mistakes", "Show false positives and negatives", RESULTS),
    Action("filter('fp')", "2", "False positives", "Show false positives", RESULTS),
    Action("filter('fn')", "3", "False negatives", "Show false negatives", RESULTS),
    Action("filter('regressions')", "4", "Regressions", "Show what the edit broke", RESULTS),
    Action("filter('fixes')", "5", "Fixes", "Show what the edit fixed", RESULTS),
    Action("filter('errors')", "6", "Errors", "Show prompts without a verdict", RESULTS),
    Action("filter('all')", "7,a", "All prompts", "Show every prompt", RESULTS),
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
        "next_regression",
        "r",
        "Next regression",
        "Go to the next prompt that broke",
        RESULTS,
        shown=True,
        rank=14,
        footer="Regression",
    ),
    Action(
        "previous_regression",
        "R",
        "Previous regression",
        "Go to the previous prompt that broke",
        RESULTS,
    ),
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
    Action("mark_all", "m,ctrl+a", "Mark all", "Mark every row shown", RESULTS),
    Action("clear_marks", "U", "Clear the marks", "Remove all marks", RESULTS),
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
        "i,insert",
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
        "x,delete",
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
        "clear_field",
        "alt+shift+x,ctrl+delete",
        "Clear the field",
        "Undo brings the text back",
        EDITOR,
    ),
    Action(
        "move_example(-1)",
        "alt+up,alt+k",
        "Move the example up",
        "Swap it with the one above",
        EDITOR,
        shown=True,
        rank=23,
        footer="Move up",
    ),
    Action(
        "move_example(1)",
        "alt+down,alt+j",
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
        "e",
        "What each part does",
        "Effect of each example and phrase: coverage without it",
        ADVICE,
    ),
    Action(
        "show_lint",
        "d",
        "Advice on the definition",
        "Known weaknesses of the definition, each with the coverage without it",
        ADVICE,
    ),
    Action(
        "show_sweep",
        "t",
        "Threshold",
        "TPR, TNR and curves by threshold; move it with keys while the table follows",
        ADVICE,
        menu="t s",
    ),
    Action(
        "show_trust",
        "a",
        "How well scans were predicted",
        "Scans against the engine and the forecasts; a threshold fitted to the last one",
        ADVICE,
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
    return " or ".join(dict.fromkeys(map(key_name, keys)))


def first_key(name: str, keymap: Mapping[str, str] | None = None) -> str:
    """Return the first key of an action, by the action's name, for display."""
    return key_names(action_named(name), keymap).partition(" or ")[0]


def action_named(name: str) -> Action:
    """Return the action of this name."""
    return next(action for action in ACTIONS if action.name == name)


def menu_paths(
    action: Action, keymap: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the paths of letters that lead to an action in the menu."""
    paths = [tuple(path.split()) for path in action.menu.split(",") if path]
    if action.scope == ADVICE:
        keys = (keymap or {}).get(action.binding.id or "", action.keys).split(",")
        paths += [("a", key) for key in keys if len(key) == 1]
    return tuple(paths)


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

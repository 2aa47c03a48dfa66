"""The registry of actions: bindings, footer, palette, menu and help are made from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from textual.binding import Binding, BindingType

SCREEN = "screen"
RESULTS = "results"
EDITOR = "editor"
DETAIL = "detail"
METRICS = "metrics"
NEXT = "next"
TABLE = "table"
LISTS = "lists"
"""Every table, list and scrolling page; actions of the pane take precedence."""
LETTERS = "letters"
"""Not a scope: the first part of the ids of keys that work outside of text fields."""
NO_KEY = "no_key_"
"""Start of a key that no terminal sends: the author may set another one by the binding's id."""
SCOPE_TITLES = {
    SCREEN: "Everywhere",
    LISTS: "In every list, table and page",
    RESULTS: "In the results",
    TABLE: "In the table of results",
    EDITOR: "In the definition",
    METRICS: "In the metrics",
    NEXT: "In the line Next",
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
    """An action of the author, a line of `actions.txt`.

    `name` is the method `action_<name>` of the widget in whose `scope` it works; `keys` are
    Textual key names: one, a second for terminals that swallow the first, or none. `letters` are
    keys that do not work in text fields. `menu` is its path in the menu: the letters that lead
    there ("s m"). `rank` puts it into the footer, where a lower one is more useful, with the text
    `footer`, else its title.
    """

    name: str
    keys: str
    letters: str
    menu: str
    rank: int | None
    footer: str
    title: str
    tooltip: str
    scope: str

    @property
    def shown(self) -> bool:
        """Return whether it is in the footer."""
        return self.rank is not None

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
            self.keys or f"{NO_KEY}{self.scope}_{self.name.strip(')').replace('(', '_')}",
            self.name,
            self.footer or self.title,
            show=self.shown,
            tooltip=self.tooltip,
            id=f"{self.scope}.{self.name}",
            # The editor's fields have undo and redo of their own, for one field only, and type the
            # letter of an Alt combination.
            priority=self.scope in (SCREEN, EDITOR),
        )


def _read_table(lines: Iterable[str]) -> Iterator[Action]:
    """Read the actions: a scope in brackets, then a line for each; "-" is an empty column."""
    scope = ""
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("["):
            scope = line.strip("[]")
        elif not line.startswith("#"):
            columns = ("" if column == "-" else column for column in re.split(" {2,}", line))
            name, keys, letters, menu, rank, footer, title, tooltip = columns
            place = int(rank) if rank else None
            yield Action(name, keys, letters, menu, place, footer, title, tooltip, scope)


_TABLE = Path(__file__).with_name("actions.txt")

ACTIONS = tuple(_read_table(_TABLE.read_text(encoding="utf-8").splitlines()))

TABLE_MOVES = tuple(
    Binding(key, action, description, show=False, tooltip=tooltip, id=f"{TABLE}.{action}")
    for key, action, description, tooltip in (
        ("up", "cursor_up", "Row up", "Select the row above"),
        ("down", "cursor_down", "Row down", "Select the row below"),
        ("pageup", "page_up", "Page up", "Select the row one screen above"),
        ("pagedown", "page_down", "Page down", "Select the row one screen below"),
        ("home", "first", "First row", "Select the first row"),
        ("end", "last", "Last row", "Select the last row"),
        ("enter", "activate_row", "Open row", "Open the selected row"),
    )
)
"""Keys of the table that are no actions of the registry: no menu and no palette has them."""


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
    "enter": "Enter",
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

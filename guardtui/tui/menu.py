"""The tree of the menu, made from the registry of actions: which letter leads where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from guardtui.tui.actions import ACTIONS, MENU_GROUPS, Action, key_name, menu_paths

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One line of a menu: a letter (a key of Textual's) and its action, None for a submenu.

    `refusal` says why the action cannot be done now; "" where it can.
    """

    letter: str
    title: str
    action: Action | None = None
    refusal: str = ""

    @property
    def display(self) -> str:
        """The letter as an author reads it."""
        return key_name(self.letter)


@dataclass(frozen=True, slots=True)
class Command:
    """An action that can be run from the menu, and why it cannot be now ("" where it can)."""

    action: Action
    run: Callable[[], object]
    refusal: str = ""


def menu_items(
    path: Path, commands: Iterable[Command], keymap: Mapping[str, str] | None = None
) -> list[MenuItem]:
    """Return the lines of the menu at a path, submenus first; () is the menu itself."""
    groups = [] if path else [MenuItem(letter, title) for letter, title in MENU_GROUPS.items()]
    return groups + [
        MenuItem(way[-1], command.action.title, command.action, command.refusal)
        for command in commands
        for way in menu_paths(command.action, keymap)
        if way[:-1] == path and (path or way[0] not in MENU_GROUPS)
    ]


def title_of(path: Path) -> str:
    """Return the title of the menu at a path."""
    return " › ".join(["Menu", *(MENU_GROUPS[letter] for letter in path)])


def commands_of(
    targets: Mapping[str, object],
    run: Callable[[Action, object], object],
    refusal: Callable[[Action], str],
    actions: Sequence[Action] = ACTIONS,
) -> list[Command]:
    """Return the actions of the menu for which there is a widget that does them."""
    return [
        Command(action, partial(run, action, targets[action.scope]), refusal(action))
        for action in actions
        if action.scope in targets and menu_paths(action)
    ]

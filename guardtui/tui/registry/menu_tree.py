"""The tree of the menu, made from the registry of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from guardtui.tui.registry.actions import ACTIONS, MENU_GROUPS, Action, key_name, menu_path

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A line of a menu: a letter (a key of Textual) and its action, None for a submenu.

    `refusal` is why the action cannot run now; "" if it can.
    """

    letter: str
    title: str
    action: Action | None = None
    refusal: str = ""

    @property
    def display(self) -> str:
        """The letter for display."""
        return key_name(self.letter)


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the menu; `refusal` is why it cannot run now, or ""."""

    action: Action
    run: Callable[[], object]
    refusal: str = ""


def menu_items(path: Path, commands: Iterable[Command]) -> list[MenuItem]:
    """Return the lines of the menu at a path, submenus first; () is the top menu."""
    paths = [(menu_path(command.action), command) for command in commands if command.action.menu]
    used = {letters[0] for letters, _ in paths}
    groups = [MenuItem(letter, title) for letter, title in MENU_GROUPS.items() if letter in used]
    return ([] if path else groups) + [
        MenuItem(letters[-1], command.action.title, command.action, command.refusal)
        for letters, command in paths
        if letters[:-1] == path and (path or letters[0] not in MENU_GROUPS)
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
    """Return the actions of the menu that some widget handles.

    `targets` has the widgets by scope, or by the full id of one action.
    """
    pairs = [
        (action, targets.get(f"{action.scope}.{action.name}", targets.get(action.scope)))
        for action in actions
        if menu_path(action)
    ]
    return [
        Command(action, partial(run, action, target), refusal(action))
        for action, target in pairs
        if target is not None
    ]

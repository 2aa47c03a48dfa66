"""Checks of the settings for keys and theme, which need the registry and Textual."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from textual.keys import KEY_TO_UNICODE_NAME, REPLACED_KEYS, Keys

from guardtui.config import Config
from guardtui.domain.text import nearest
from guardtui.files.problems import FileError
from guardtui.tui.registry.actions import (
    ACTIONS,
    EDITOR,
    LETTERS,
    RESULTS,
    SCREEN,
    TABLE,
    TABLE_MOVES,
    binding_ids,
)
from guardtui.tui.textual_compat import key_of_character
from guardtui.tui.theme import near_theme, theme_names

_TAKEN = {"tab", "shift+tab", "ctrl+i", "ctrl+c", "ctrl+p"}
_ARROWS = ("left", "right", "up", "down", "home", "end", "pageup", "pagedown")
_TAKEN_IN_TEXT = {
    *("enter", "ctrl+m", "ctrl+j", "escape", "ctrl+left_square_bracket", "ctrl+h", "backspace"),
    *("ctrl+v", "ctrl+x", "ctrl+a", "ctrl+e", "ctrl+w", "ctrl+u", "ctrl+d", "ctrl+k", "delete"),
    *(
        f"{modifiers}{key}"
        for modifiers in ("", "shift+", "ctrl+", "ctrl+shift+")
        for key in _ARROWS
    ),
}
"""Includes keys that terminals send for others: Ctrl+M for Enter, Ctrl+H for Backspace."""

_MODIFIERS = {"alt", "ctrl", "hyper", "meta", "shift", "super"}
_MEANT = {"esc": "escape", "return": "enter", "del": "delete", "ins": "insert", "pgup": "pageup"}
_MEANT |= {"pgdn": "pagedown", "control": "ctrl", "option": "alt", "cmd": "super"}
_NAMED = {key.value for key in Keys if not key.value.startswith("<")} | {"comma"}
_NAMED |= {*REPLACED_KEYS, *KEY_TO_UNICODE_NAME, *(f"f{number}" for number in range(1, 25))}


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Why an entry of the key map is ignored, and its remedy."""

    binding: str
    problem: str
    remedy: str = "choose another key; the help page lists those in use"

    def __str__(self) -> str:
        return f"keys: {self.binding}: {self.problem}; {self.remedy}"


def check_config(config: Config) -> list[FileError]:
    """Return an error for an unknown theme and for every unusable key."""
    problems = []
    if config.theme not in theme_names():
        problem = f"there is no theme '{config.theme}'"
        problems.append(config.problem("theme", problem, near_theme(config.theme)))
    return problems + [
        config.problem("keys", wrong.problem, wrong.remedy, wrong.binding)
        for wrong in usable_keymap(config.keys)[1]
    ]


def default_keys() -> dict[str, str]:
    """Return the shipped keys, separated by commas, by the id of the binding; "" for none."""
    keys = {
        name: text
        for action in ACTIONS
        for name, text in zip(binding_ids(action), (action.keys, action.letters), strict=False)
    }
    return keys | {move.id: move.key for move in TABLE_MOVES if move.id is not None}


def usable_keymap(keys: Mapping[str, str]) -> tuple[dict[str, str], list[KeyProblem]]:
    """Return the usable entries, with keys as Textual names them, and the problems of others.

    Of two entries with the same key, the first is used.
    """
    defaults = default_keys()
    usable: dict[str, str] = {}
    problems: list[KeyProblem] = []
    for binding, text in keys.items():
        names = [key_of_character(key) if len(key) == 1 else key for key in _split(text)]
        wrong = (_problem(binding, key) for key in names)
        if binding not in defaults:
            near = nearest(binding, defaults)
            remedy = f"did you mean '{near}'?" if near else "ids are such as 'screen.keep'"
            problems.append(KeyProblem(binding, "no action has this id", remedy))
        elif problem := next(filter(None, wrong), None):
            problems.append(problem)
        else:
            usable[binding] = ",".join(dict.fromkeys(names))
    # An ignored entry gives its action the shipped keys back, which may clash again.
    while clash := _last_clash(usable, defaults):
        del usable[clash.binding]
        problems.append(clash)
    return usable, problems


def _split(text: str) -> list[str]:
    return [key.strip() for key in text.split(",")]


def _problem(binding: str, key: str) -> KeyProblem | None:
    """Return why an action cannot have a key, regardless of other actions."""
    name = _right_name(key)
    if not name or name != key:
        remedy = f"did you mean '{name}'?" if name else "names are such as f4, ctrl+g, alt+m, slash"
        return KeyProblem(binding, f"there is no key '{key}'", remedy)
    if key in _TAKEN:
        return KeyProblem(binding, f"'{key}' is needed everywhere")
    if binding.startswith((f"{SCREEN}.", f"{EDITOR}.")) and (key in _TAKEN_IN_TEXT or _types(key)):
        return KeyProblem(binding, f"'{key}' is needed in text fields")
    return None


def _right_name(key: str) -> str:
    """Return Textual's name of the key that is probably meant, or ""."""
    if key == "ctrl+@":  # Textual's own name of what terminals send for Ctrl and Space
        return key
    *parts, name = key.split("+") if key != "+" else [key]
    modifiers = sorted({_MEANT.get(part.lower(), part.lower()) for part in parts})
    if not (name in _NAMED or _types(name)):
        name = _MEANT.get(name.lower(), name.lower())
    if modifiers == ["shift"] and len(name) == 1 and name.isalpha():
        return name.upper()
    if modifiers and len(name) == 1:  # with a modifier, terminals send the small letter
        name = key_of_character(name.lower())
    if not (name in _NAMED or _types(name)):
        name = nearest(name, sorted(_NAMED))
    return "+".join([*modifiers, name]) if name and _MODIFIERS.issuperset(modifiers) else ""


def _types(key: str) -> bool:
    """Return whether a key types a character, as x and question_mark do."""
    if len(key) == 1:
        return key.isprintable()
    name = KEY_TO_UNICODE_NAME.get(REPLACED_KEYS.get(key, key), key.replace("_", " ").upper())
    try:
        return unicodedata.lookup(name).isprintable()
    except KeyError:
        return False


def _last_clash(usable: Mapping[str, str], defaults: Mapping[str, str]) -> KeyProblem | None:
    """Return the problem of the last entry that uses a key of another action, or None."""
    order = list(usable)
    problems: dict[str, KeyProblem] = {}
    for key, *both in clashes({**defaults, **usable}):
        chosen = [name for name in both if name in usable]
        if not chosen:  # shipped keys that clash are not the author's problem
            continue
        binding = max(chosen, key=order.index)
        other = both[both[0] == binding]
        remedy = "choose another key, or move that too"
        problem = KeyProblem(binding, f"'{key}' is taken by {other}", remedy)
        problems.setdefault(binding, problem)
    return max(problems.values(), key=lambda clash: order.index(clash.binding), default=None)


def clashes(keys: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each key that two bindings use at the same time, with the ids of both."""
    wanted: dict[str, list[str]] = {}
    for binding, text in keys.items():
        for key in dict.fromkeys(filter(None, _split(text))):
            for other in wanted.setdefault(key, []):
                if _at_once(other, binding):
                    yield key, other, binding
            wanted[key].append(binding)


def _at_once(first_id: str, second_id: str) -> bool:
    """Return whether two bindings can be active at the same time."""
    first, second = first_id.partition(".")[0], second_id.partition(".")[0]
    if {LETTERS, SCREEN} & {first, second}:
        return True
    return first == second or {first, second} == {RESULTS, TABLE}

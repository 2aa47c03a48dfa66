"""Keys the author chose instead of the shipped ones: what of them can be used, and what not."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from textual.binding import Binding
from textual.keys import KEY_TO_UNICODE_NAME, REPLACED_KEYS, Keys, _character_to_key

from guardtui.tui.actions import ACTIONS, EDITOR, RESULTS, SCORES, SCREEN, TABLE
from guardtui.tui.widgets.frame_table import FrameTable

"""Scope of what the results table does by itself; it stands inside of the results."""

_ALWAYS_TAKEN = {
    "tab": "goes to the next field",
    "shift+tab": "goes to the field before",
    "ctrl+i": "is Tab to most terminals",
    "ctrl+c": "copies",
    "ctrl+p": "opens the palette",
}
_TAKEN_IN_TEXT = {
    "enter": "goes to the next field",
    "ctrl+m": "is Enter to most terminals",
    "ctrl+j": "is Enter to some terminals",
    "escape": "leaves",
    "ctrl+left_square_bracket": "is Escape to most terminals",
    "ctrl+h": "is Backspace to some terminals",
    "ctrl+v": "pastes",
    "ctrl+x": "cuts",
    "ctrl+a": "moves the cursor in a text field",
    "ctrl+e": "moves the cursor in a text field",
    **dict.fromkeys(("space", "backspace", "delete"), "edits text"),
    **dict.fromkeys(("ctrl+w", "ctrl+u", "ctrl+d", "ctrl+k"), "edits text"),
    **dict.fromkeys(
        f"{modifiers}{key}"
        for modifiers in ("", "shift+", "ctrl+", "ctrl+shift+")
        for key in ("left", "right", "up", "down", "home", "end", "pageup", "pagedown")
    ),
}
_TAKEN_IN_TEXT.update(
    {key: "moves the cursor in a text field" for key, why in _TAKEN_IN_TEXT.items() if not why}
)

_MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")
_MEANT = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "control": "ctrl",
    "option": "alt",
    "cmd": "super",
    "command": "super",
}
_NAMED = {key.value for key in Keys if not key.value.startswith("<")} | set(REPLACED_KEYS)
_NAMED |= set(KEY_TO_UNICODE_NAME) | {f"f{number}" for number in range(1, 25)} | {"comma"}


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Why the entry of a binding is not used, and what to do instead."""

    binding: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"keys: {self.binding}: {self.problem}; {self.remedy}"


def default_keys() -> dict[str, str]:
    """Shipped keys, separated by commas, by the id of the binding."""
    keys = {action.binding.id or "": action.keys for action in ACTIONS}
    for binding in FrameTable.BINDINGS:
        if isinstance(binding, Binding) and binding.id is not None:
            keys.setdefault(binding.id, binding.key)
    return keys


def check_keymap(keys: Mapping[str, str]) -> list[KeyProblem]:
    """All that is wrong with the author's keys."""
    return usable_keymap(keys)[1]


def usable_keymap(keys: Mapping[str, str]) -> tuple[dict[str, str], list[KeyProblem]]:
    """The entries that can be used, with keys as Textual names them, and why others cannot.

    Of two entries that want the same key, the first is used.
    """
    defaults = default_keys()
    usable: dict[str, str] = {}
    problems: list[KeyProblem] = []
    for binding, text in keys.items():
        names = [_character_to_key(key) if len(key) == 1 else key for key in _split(text)]
        problem = _wrong(binding, names, defaults)
        if problem is None:
            usable[binding] = ",".join(dict.fromkeys(names))
        else:
            problems.append(problem)
    # An entry that is left out gives its action the shipped keys back, which may clash anew.
    while clash := _last_clash(usable, defaults):
        del usable[clash.binding]
        problems.append(clash)
    return usable, problems


def _split(text: str) -> list[str]:
    return [key.strip() for key in text.split(",")]


def _wrong(binding: str, names: Iterable[str], defaults: Mapping[str, str]) -> KeyProblem | None:
    """What is wrong with one entry by itself."""
    if binding not in defaults:
        near = get_close_matches(binding, list(defaults), n=1)
        remedy = (
            f"did you mean '{near[0]}'?" if near else f"ids are such as '{ACTIONS[1].binding.id}'"
        )
        return KeyProblem(binding, "no action has this id", remedy)
    scope = binding.partition(".")[0]
    for key in names:
        if suggestion := _unknown(key):
            return KeyProblem(binding, f"there is no key '{key}'", suggestion)
        why = _ALWAYS_TAKEN.get(key)
        if why is None and scope in (SCREEN, EDITOR):
            why = _TAKEN_IN_TEXT.get(key)
            if why is None and (len(key) == 1 or _is_character(key)):
                why = "is a character of a text"
        if why is not None:
            remedy = "choose another key; the help page lists those in use"
            return KeyProblem(binding, f"'{key}' {why}", remedy)
    return None


def _unknown(key: str) -> str:
    """What to write instead of a key that does not exist; nothing when it does."""
    *modifiers, name = key.split("+") if key != "+" else [key]
    meant = [_MEANT.get(part.lower(), part.lower()) for part in modifiers]
    fallback = "names are such as f4, ctrl+g, alt+m, slash"
    if unknown := [part for part in meant if part not in _MODIFIERS]:
        near = get_close_matches(unknown[0], _MODIFIERS, n=1)
        return f"did you mean '{key.replace(unknown[0], near[0])}'?" if near else fallback
    base = name
    if not (len(name) == 1 and name.isprintable()) and not _is_named(name):
        base = _MEANT.get(name.lower(), name.lower())
        if not _is_named(base):
            near = get_close_matches(base, sorted(_NAMED), n=1)
            return f"did you mean '{'+'.join([*meant, near[0]])}'?" if near else fallback
    if len(base) == 1 and meant:
        # With a modifier, terminals tell of the small letter; Shift alone makes the large one.
        if meant == ["shift"] and base.isalpha():
            meant, base = [], base.upper()
        else:
            base = _character_to_key(base.lower())
    right = "+".join([*sorted(dict.fromkeys(meant)), base])
    return "" if right == key else f"did you mean '{right}'?"


def _is_named(name: str) -> bool:
    return name in _NAMED or _is_character(name)


def _is_character(name: str) -> bool:
    """Whether this is the name of a character that a key writes, such as `question_mark`."""
    official = KEY_TO_UNICODE_NAME.get(
        REPLACED_KEYS.get(name, name), name.replace("_", " ").upper()
    )
    try:
        return unicodedata.lookup(official).isprintable()
    except KeyError:
        return False


def _last_clash(usable: Mapping[str, str], defaults: Mapping[str, str]) -> KeyProblem | None:
    """The last of the author's entries that takes a key of another action, if any does."""
    order = list(usable)
    found: dict[str, KeyProblem] = {}
    for key, one, other in clashes({**defaults, **usable}):
        mine = max((name for name in (one, other) if name in usable), key=order.index, default="")
        if not mine:
            continue  # two shipped ones, which a test forbids
        theirs = other if mine == one else one
        found.setdefault(
            mine,
            KeyProblem(
                mine, f"'{key}' is taken by {theirs}", "choose another key, or move that too"
            ),
        )
    return max(found.values(), key=lambda clash: order.index(clash.binding), default=None)


def clashes(keys: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each key that two bindings want at the same moment, with the ids of both."""
    wanted: dict[str, list[str]] = {}
    for binding, text in keys.items():
        for key in dict.fromkeys(_split(text)):
            wanted.setdefault(key, []).append(binding)
    for key, bindings in wanted.items():
        for place, one in enumerate(bindings):
            for other in bindings[place + 1 :]:
                if _at_once(one, other):
                    yield key, one, other


SHARED = ("quit", "settings", "choose_theme", "show_help", "jump")
"""Actions of the main screen that the scores have too."""


def _at_once(one: str, other: str) -> bool:
    """Whether two bindings answer keys at the same moment, as those of no two panes do."""
    (first, name), (second, other_name) = one.split(".", 1), other.split(".", 1)
    if SCORES in (first, second):
        shared = (other_name if first == SCORES else name) in SHARED
        return first == second or TABLE in (first, second) or (shared and SCREEN in (first, second))
    return first == second or SCREEN in (first, second) or {first, second} == {RESULTS, TABLE}

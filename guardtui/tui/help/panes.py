"""Help of each pane and dialog, from the Markdown file of its name beside this module."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from textual.dom import DOMNode
from textual.screen import ModalScreen

from guardtui.tui.registry.actions import first_key

OVERVIEW = ("definition", "intent", "metrics", "results", "filter", "detail")
"""Panes of the main screen, in the order of the full list."""

_BY_ID = {
    "intent": "intent",
    "editor": "definition",
    "metrics": "metrics",
    "search": "filter",
    "filters": "filter",
    "results": "results",
    "detail": "detail",
    "tour": "tour",
}

_BY_CLASS = {
    "ConfirmDialog": "confirm",
    "ScannerDialog": "scanner",
    "CommandPalette": "palette",
    "PromptDialog": "prompt",
    "SettingsScreen": "settings",
    "ThemeScreen": "theme",
    "ChoiceDialog": "choice",
    "TextPage": "page",
    "ModalScreen": "dialog",
}

_FOLDER = Path(__file__).parent
_NOT_PANES = ("introduction", "words")
_HEAD = re.compile(r"(?:---\n(?P<front>.*?)---\n+)?# (?P<title>[^\n]+)\n\n", re.DOTALL)
_KEYS = re.compile(r"^\| key \| .*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
_ACTION = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class PaneHelp:
    """Help of a pane: Markdown in which `{keep}` stands for the key of the action `keep`.

    `prose` is what the pane shows, `more` are further sections. `keys` are keys of its own, beside
    those of the `scopes` of the registry that work in it; `words` are terms to explain.
    """

    title: str
    prose: str
    more: str = ""
    words: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


@cache
def panes() -> Mapping[str, PaneHelp]:
    """Return the help of all panes by their names; `pane_of` returns the pane of a widget."""
    paths = sorted(_FOLDER.glob("*.md"))
    return {path.stem: _pane(path) for path in paths if path.stem not in _NOT_PANES}


def introduction() -> str:
    """Return the paragraphs with which the full help begins, in Markdown."""
    return _text("introduction").partition("\n\n")[2]


@cache
def words() -> Mapping[str, str]:
    """Return the meaning of each term on the screen and in the documentation."""
    return dict(table_rows(_text("words")))


def with_keys(text: str, keymap: Mapping[str, str] | None = None) -> str:
    """Return a text with the first key of each action named as `{action}`."""
    return _ACTION.sub(lambda match: first_key(match[1], keymap), text)


def actions_named(pane: PaneHelp) -> set[str]:
    """Return the names of the actions whose keys the texts of a pane name."""
    return set(_ACTION.findall(f"{pane.prose}\n{pane.more}"))


def table_rows(markdown: str) -> list[tuple[str, str]]:
    """Return the rows of a table of two columns, without its header."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")][2:]
    cells = (
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("| "))]
        for line in lines
    )
    return [(name, meaning) for name, meaning in cells]


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def _pane(path: Path) -> PaneHelp:
    text = path.read_text("utf-8")
    head = _HEAD.match(text)
    assert head is not None, path.name  # noqa: S101 - a file of ours
    front = dict(line.split(": ", 1) for line in (head["front"] or "").splitlines())
    prose, mark, more = text[head.end() :].partition("\n## ")
    keys = _KEYS.search(prose)

    def listed(name: str) -> tuple[str, ...]:
        return tuple(front[name].split("; ")) if name in front else ()

    return PaneHelp(
        title=head["title"],
        prose=_KEYS.sub("", prose).strip(),
        more=f"## {more}".strip() if mark else "",
        words=listed("words"),
        scopes=listed("scopes"),
        keys=tuple(table_rows(keys[0])) if keys else (),
    )


def pane_of(node: DOMNode | None) -> str | None:
    """Return the pane of a widget or screen; None if it has no help.

    A class or an instance can name it with an attribute `help_pane`.
    """
    if node is None:
        return None
    nodes = node.ancestors_with_self
    on_main = not any(isinstance(ancestor, ModalScreen) for ancestor in nodes)
    for ancestor in nodes:
        named = getattr(ancestor, "help_pane", None)
        if isinstance(named, str) and named in panes():
            return named
        if on_main and ancestor.id in _BY_ID:
            return _BY_ID[ancestor.id]
        for kind in type(ancestor).__mro__:
            if kind.__name__ in _BY_CLASS:
                return _BY_CLASS[kind.__name__]
    return None

"""The help screen: the focused pane first, then every pane, key and term."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button

from guardtui.tui.help.panes import (
    OVERVIEW,
    introduction,
    pane_of,
    panes,
    table_rows,
    with_keys,
    words,
)
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.actions import SCOPE_TITLES, SCREEN, in_scope, key_names, menu_name
from guardtui.tui.textual_compat import keymap_of

_USUAL_WIDTH = 110
_KEY_CELLS = 20
_NARROWEST = 20
_BLOCKS = re.compile(r"```\w*\n(?P<verbatim>.*?)\n```|(?P<block>\S.*?)(?=\n\n|\n*\Z)", re.DOTALL)

Keymap = Mapping[str, str] | None
"""Keys that the author set, by the id of the binding."""


def context_text(pane: str, keymap: Keymap = None, width: int = _USUAL_WIDTH) -> Text:
    """Return the help of a pane: what it shows, its keys, its terms, more, and global keys.

    `width` in cells is what the lists are wrapped to; paragraphs are left to the screen.
    """
    known = panes()[pane]
    text = Text()
    text.append(f"{known.title}\n\n", "bold")
    add_markdown(text, with_keys(known.prose, keymap), width)
    text.append("\nKeys here\n", "bold")
    add_rows(text, width, known.keys)
    for scope in known.scopes:
        _actions(text, scope, keymap, width)
    if known.words:
        text.append("\nWords\n", "bold")
        add_rows(text, width, ((word, words()[word]) for word in known.words))
    if known.more:
        text.append("\n")
        add_markdown(text, with_keys(known.more, keymap), width)
    if pane in OVERVIEW:
        text.append(f"\n{SCOPE_TITLES[SCREEN]}\n", "bold")
        _actions(text, SCREEN, keymap, width)
    return text


def help_text(keymap: Keymap = None, width: int = _USUAL_WIDTH) -> Text:
    """Return the full help: introduction, every key, the filter, every term, every pane."""
    text = Text()
    add_markdown(text, introduction(), width)
    for scope, title in SCOPE_TITLES.items():
        text.append(f"\n{title}\n", "bold")
        _actions(text, scope, keymap, width)
    add_rows(text, width, (("Tab, Enter", "Go to the next field"), ("^p", "The command palette")))
    text.append("\nThe filter\n", "bold")
    add_rows(text, width, table_rows(panes()["filter"].more))
    text.append("\nWords\n", "bold")
    add_rows(text, width, words().items())
    for pane in OVERVIEW:
        text.append(f"\n{panes()[pane].title}\n", "bold")
        add_markdown(text, with_keys(panes()[pane].prose, keymap), width)
    return text


def _actions(text: Text, scope: str, keymap: Keymap, width: int) -> None:
    rows = (
        (
            key_names(action, keymap) or menu_name(action, keymap),
            f"{action.title}: {action.tooltip}",
        )
        for action in in_scope(scope)
    )
    add_rows(text, width, rows)


class HelpScreen(TextPage):
    """Help of a pane; a key shows the full help."""

    BINDINGS = [
        ("a", "toggle_all", "Every key and word"),
        ("escape,q,enter,f1", "close", "Close"),
    ]

    def __init__(self, pane: str | None, keymap: Keymap = None) -> None:
        super().__init__("Help", Text())
        self._pane, self._keymap = pane, keymap
        self._all = pane is None
        self._text = Static("")
        # Stored, not queried: a resize may be handled after the screen has closed.
        self._scrolled = VerticalScroll(id="help-body")
        self._other = Button("", id="all", compact=True)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes"
            with self._scrolled:
                yield self._text
            with Horizontal(classes="buttons"):
                yield self._other
                yield Button("Close (Esc)", id="close", compact=True)

    def on_mount(self) -> None:
        self._show()
        self._scrolled.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        pane = None if self._all else self._pane
        width = self._scrolled.scrollable_content_region.width or _USUAL_WIDTH
        self._text.update(
            themed(
                help_text(self._keymap, width)
                if pane is None
                else context_text(pane, self._keymap, width)
            )
        )
        back = self._pane is not None
        self._other.display = back
        self._other.label = "Only this pane (a)" if self._all else "Every key and word (a)"

    def action_toggle_all(self) -> None:
        if self._pane is not None:
            self._all = not self._all
            self._show()
            self._scrolled.scroll_home(animate=False)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "all":
            self.action_toggle_all()
        else:
            self.action_close()


def show_help(app: App[Any]) -> None:
    """Open the help of the focused widget, or close it."""
    screen = app.screen
    if isinstance(screen, HelpScreen):
        screen.action_close()
    else:
        app.push_screen(HelpScreen(pane_of(screen.focused or screen), keymap_of(app)))


# --- layout of the Markdown: paragraphs, lists, titles, tables of two columns ------------------


def add_markdown(text: Text, markdown: str, width: int) -> None:
    """Append blocks, each followed by a line break; `width` in cells is what lists are wrapped to.

    Paragraphs are one line each: the screen wraps them.
    """
    for number, match in enumerate(_BLOCKS.finditer(markdown)):
        text.append("\n" if number else "")
        block = match["block"]
        if block is None:
            text.append(f"{textwrap.indent(match['verbatim'], '  ')}\n")
        elif block.startswith("## "):
            text.append(f"{plain(block[3:])}\n", "bold")
        elif block.startswith("|"):
            add_rows(text, width, table_rows(block))
        elif block.startswith("- "):
            for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]:
                words = plain(" ".join(item.split()))
                text.append(
                    f"{textwrap.fill(words, width, initial_indent='- ', subsequent_indent='  ')}\n"
                )
        else:
            text.append(f"{plain(block.replace(chr(10), ' '))}\n")


def add_rows(text: Text, width: int, rows: Iterable[tuple[str, str]]) -> None:
    """Append two columns; a name that is too long for the first gets its own line."""
    indent = _KEY_CELLS + 3
    for name, meaning in rows:
        name = plain(name)
        text.append(f"  {name:<{_KEY_CELLS}} ", "bold")
        if len(name) > _KEY_CELLS:
            text.append("\n" + " " * indent)
        lines = textwrap.wrap(plain(meaning), max(_NARROWEST, width - indent)) or [""]
        text.append(f"\n{' ' * indent}".join(lines) + "\n")


def plain(markdown: str) -> str:
    """Return a line without the signs of Markdown: code, bold type and links are their text."""
    linked = re.sub(r"\[([^\]]*)\]\([^)\s]+\)", r"\1", markdown)
    return re.sub(r"`([^`]*)`|\*\*([^*]+)\*\*", lambda match: match[1] or match[2] or "", linked)

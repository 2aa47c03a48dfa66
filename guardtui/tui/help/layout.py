"""Lay out the Markdown of the help as text: paragraphs, lists, titles, tables of two columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rich.text import Text

from guardtui.tui.help.panes import table_rows

_KEY_CELLS = 20
_NARROWEST = 20
_BLOCKS = re.compile(r"```\w*\n(?P<verbatim>.*?)\n```|(?P<block>\S.*?)(?=\n\n|\n*\Z)", re.DOTALL)


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

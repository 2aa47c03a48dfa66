"""The page of every HTML report, and builders of elements that make foreign text inert."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from guardtui import __version__
from guardtui.domain.document import Cell, GridColumn, PromptView
from guardtui.domain.text import display_text

PRINTED = 200
"""Rows of each view in its plain table, which is shown in print and without JavaScript."""

_PRINTED_CHARACTERS = 1000  # of a cell in print
_SHORT = 16  # characters in a line of a narrow column
_VOID = frozenset({"br", "hr", "meta"})
# Characters that could end the data block or a line of a script, as JSON escapes.
_ACTIVE = {sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


class Markup(str):
    """HTML from the builders of this module; they escape every other text.

    Concatenation with a plain text gives a plain text, which is escaped again: a mistake is visible
    but harmless.
    """

    __slots__ = ()


Content: TypeAlias = "Markup | str | int | float | None"
"""Argument of a builder: markup is unchanged, text is made inert, None is empty."""


def text(value: object) -> Markup:
    """Return any text, inert: `display_text`, then escaped for HTML."""
    return Markup(html.escape(display_text(str(value))))


def join(*parts: Content) -> Markup:
    """Return the parts joined."""
    return Markup("".join(_content(part) for part in parts))


def quoted(value: str) -> Markup:
    """Return a foreign text in quotes, isolated from the writing direction of its sentence."""
    shown = text(value) if value else Markup("(empty)")
    size = " long" if len(shown) > _SHORT else ""
    return Markup(f'<bdi class="quoted{size}">{shown}</bdi>')


def tag(name: str, /, *children: Content, **attributes: str | int | bool | None) -> Markup:
    """Return an element. `class_` becomes `class`, `aria_sort` `aria-sort`.

    An attribute with the value True is written without a value, one with None is omitted.
    """
    words = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(attribute)
        elif value is not None and value is not False:
            words.append(f'{attribute}="{text(value)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def paragraph(*children: Content, class_: str | None = None) -> Markup:
    """Return a paragraph."""
    return tag("p", *children, class_=class_)


def bullets(items: Iterable[Content]) -> Markup:
    """Return a list; nothing without items."""
    points = [tag("li", item) for item in items]
    return tag("ul", *points) if points else Markup()


def facts(pairs: Iterable[tuple[Content, Content]]) -> Markup:
    """Return a list of names with their values; nothing without any."""
    made = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", *made, class_="facts") if made else Markup()


def figure(drawing: Markup, caption: Content) -> Markup:
    """Return a chart with its caption."""
    return tag("figure", drawing, tag("figcaption", caption))


def table(
    headers: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    named: str = "",
    text_columns: Sequence[int] = (0,),
    row_headers: bool = True,
) -> Markup:
    """Return a small table. Columns not in `text_columns` are figures, aligned to the right.

    With `row_headers` the first cell of each row is its heading. `named` is the name of the table
    for screen readers, by default the title of its first column.
    """
    sides = ["text" if index in text_columns else "figure" for index in range(len(headers))]
    head = [
        # Screen readers ignore a heading without text.
        tag("th", header, scope="col", class_=side) if header else tag("td", class_=side)
        for header, side in zip(headers, sides, strict=True)
    ]
    body = []
    for row in rows:
        cells = []
        for index, (cell, side) in enumerate(zip(row, sides, strict=True)):
            if row_headers and not index:
                cells.append(tag("th", cell, scope="row", class_=side))
            else:
                cells.append(tag("td", cell, class_=side))
        body.append(tag("tr", *cells))
    made = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    # A wide table scrolls by itself; it can be focused, so that the keyboard scrolls it too.
    name = named or (headers[0] if type(headers[0]) is str else "")
    label = f"Table: {name}" if name else "Table"
    return tag("div", made, class_="wide", tabindex=0, role="group", aria_label=label)


# --- the table of many rows ---------------------------------------------------------------


def data_block(fields: Mapping[str, object], rows: Iterable[object] = ()) -> Markup:
    """Return JSON for the page's script, escaped so that it cannot end its element.

    The object has these fields, and `rows`. They are encoded one by one: the encoder does not let
    other threads run.
    """
    head = _escaped({**fields, "rows": []}).removesuffix("]}")
    return Markup(
        f'<script type="application/json">{head}{",".join(map(_escaped, rows))}]}}</script>'
    )


def _escaped(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, code in _ACTIVE.items():
        written = written.replace(sign, code)
    return written


def rows_table(
    columns: Sequence[GridColumn],
    rows: Sequence[Sequence[Cell]],
    views: Sequence[PromptView],
    *,
    label: str,
) -> Markup:
    """Return a table of any number of rows, which can be searched, sorted and scrolled.

    The rows are data, and a script draws those in view. `views` are buttons that select rows; the
    first view with rows is selected. The first `PRINTED` rows of each printed view are also plain
    tables, for print and for browsers without JavaScript. `label` describes the rows.
    """
    # Most texts need no change, and this check is several times faster.
    shown: list[list[Cell]] = [
        [
            cell
            if not isinstance(cell, str) or (cell.isascii() and cell.isprintable())
            else display_text(cell, newlines=True)
            for cell in row
        ]
        for row in rows
    ]
    data = {
        "label": display_text(label),
        "columns": [
            {
                "title": display_text(column.title),
                "width": column.width,
                "priority": column.priority,
                "decimals": column.decimals,
                "grid": column.grid,
            }
            for column in columns
        ],
        "views": [
            {
                "title": display_text(view.title),
                "rows": None if view.rows is None else list(view.rows),
            }
            for view in views
        ],
    }
    paper = [_printed_view(columns, shown, view) for view in views if view.listed]
    return tag(
        "div",
        data_block(data, shown),
        tag("div", class_="rows-live", hidden=True),
        tag("div", *paper, class_="rows-printed"),
        class_="rows",
    )


def _printed_view(
    columns: Sequence[GridColumn], rows: Sequence[Sequence[Cell]], view: PromptView
) -> Markup:
    numbers: Sequence[int] = range(len(rows)) if view.rows is None else view.rows
    title = tag("h3", f"{view.title} ({len(numbers)})")
    if not len(numbers):
        return join(title, paragraph("None."))
    grid = [index for index, column in enumerate(columns) if column.grid]
    below = [index for index, column in enumerate(columns) if not column.grid and column.printed]
    main = next((index for index in grid if columns[index].width is None), grid[-1])

    def cells(row: Sequence[Cell]) -> list[Content]:
        made: list[Content] = [_printed_cell(columns[index], row[index]) for index in grid]
        details = [
            tag("small", f"{columns[index].title}: ", _printed_cell(columns[index], row[index]))
            for index in below
            if row[index] not in (None, "")
        ]
        made[grid.index(main)] = join(made[grid.index(main)], *details)
        return made

    figures = [k for k, index in enumerate(grid) if columns[index].decimals is not None]
    made = table(
        [columns[index].title for index in grid],
        [cells(rows[index]) for index in numbers[:PRINTED]],
        text_columns=[k for k in range(len(grid)) if k not in figures],
        row_headers=False,
    )
    rest = Markup()
    if len(numbers) > PRINTED:
        rest = paragraph(f"… and {len(numbers) - PRINTED} more, on the screen.")
    return join(title, made, rest)


def _printed_cell(column: GridColumn, value: Cell) -> Content:
    if isinstance(value, float) and column.decimals is not None:
        return f"{value:.{column.decimals}f}"
    if isinstance(value, str) and len(value) > _PRINTED_CHARACTERS:
        value = value[:_PRINTED_CHARACTERS] + "…"
    return quoted(value) if isinstance(value, str) and value else value


# --- the shell ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page, with a heading; `anchor` is the target of links (a-z, 0-9, -)."""

    title: str
    anchor: str
    body: Markup


def page(title: str, sections: Sequence[PageSection], *, lead: Markup | None = None) -> str:
    """Return the whole page as one file that loads nothing.

    `lead` is shown below the title. The page's policy allows only its own script.
    """
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"guardtui {__version__}"),
        tag("title", title),
        Markup(f"<style>{style}</style>"),
    )
    links = [tag("li", tag("a", section.title, href=f"#{section.anchor}")) for section in sections]
    body = (
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("header", tag("h1", title), lead),
        tag("main", *map(_section, sections), id="report", tabindex=-1),
        tag("footer", paragraph(f"Written by guardtui {__version__}.")),
        Markup(f"<script>{script}</script>"),
    )
    lines = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", *body]
    return "\n".join([*lines, "</body>", "</html>", ""])


def _section(section: PageSection) -> Markup:
    heading = f"{section.anchor}-heading"
    return tag(
        "section",
        tag("h2", section.title, id=heading),
        section.body,
        id=section.anchor,
        aria_labelledby=heading,
    )


@cache
def _resource(name: str) -> str:
    return files("guardtui.reports.html").joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """Return the source expression that allows an inline text (CSP level 2)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _content(part: Content) -> str:
    if part is None:
        return ""
    return part if isinstance(part, Markup) else text(part)

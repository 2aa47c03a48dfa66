"""Reading a page back by a parser that is not ours."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}

ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "script", "header", "nav", "main", "footer",
    "section", "h1", "h2", "h3", "p", "ul", "li", "a", "div", "dl", "dt", "dd", "bdi", "ins",
    "del", "code", "small", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure",
    "figcaption", "strong", "details", "summary", "span", "svg", "path", "text", "tspan",
    "rect", "desc",
}  # fmt: skip
"""All that a page of ours is made of."""

ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "href", "class", "id", "tabindex", "role",
    "aria-label", "aria-labelledby", "scope", "type", "hidden",
}  # fmt: skip
DRAWING = {
    "width", "height", "viewbox", "fill", "stroke", "stroke-width", "stroke-dasharray", "transform",
    "d", "x", "y", "opacity", "text-anchor", "font-size", "font-weight", "aria-hidden",
    "aria-label", "role",
}  # fmt: skip


@dataclass
class Element:
    """An element, its attributes, and its text with that of its children."""

    name: str
    attributes: dict[str, str | None]
    inside: tuple[str, ...]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        """All elements of a name in it, in their order."""
        result = [self] if self.name == name else []
        return result + [one for child in self.children for one in child.all(name)]

    def at(self, anchor: str) -> Element:
        """The element of an id."""
        result = self.find(anchor)
        assert result is not None, anchor
        return result

    def find(self, anchor: str) -> Element | None:
        if self.attributes.get("id") == anchor:
            return self
        return next((one for child in self.children if (one := child.find(anchor))), None)

    def cells(self) -> list[list[str]]:
        """Texts of a table's rows, the headings first."""
        return [
            [cell.text for cell in row.children if cell.name in ("th", "td")]
            for row in self.all("tr")
        ]


class Reader(HTMLParser):
    """Makes a tree; raises AssertionError where elements do not close as they opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {}, ())
        self.open = [self.root]
        self.other: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        made = Element(tag, dict(attrs), tuple(one.name for one in self.open))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in [one.name for one in self.open], tag
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, (self.open[-1].name, tag)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one.text += data

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def handle_decl(self, decl: str) -> None:
        if decl != "DOCTYPE html":
            self.other.append(decl)

    def unknown_decl(self, data: str) -> None:
        self.other.append(data)

    def handle_pi(self, data: str) -> None:
        self.other.append(data)


def read(page: str) -> Element:
    """The tree of a page, which is checked to be inert."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1
    assert reader.other == []
    assert_inert(reader.root)
    return reader.root


def every(element: Element) -> list[Element]:
    return [element, *(one for child in element.children for one in every(child))]


def assert_inert(root: Element) -> None:
    """Only our elements and attributes, only our script and style, nothing that is loaded."""
    for one in every(root)[1:]:
        assert one.name in ELEMENTS, one.name
        drawn = one.name == "svg" or "svg" in one.inside
        strange = set(one.attributes) - (DRAWING if drawn else ATTRIBUTES)
        assert not strange, (one.name, strange)
        if "href" in one.attributes:
            assert str(one.attributes["href"]).startswith("#")
    (policy,) = (
        str(one.attributes["content"]) for one in root.all("meta") if "http-equiv" in one.attributes
    )
    scripts = [one for one in root.all("script") if one.attributes.get("type") is None]
    blocks = [one for one in root.all("script") if one.attributes.get("type") is not None]
    (style,), (script,) = root.all("style"), scripts
    assert policy == (
        f"default-src 'none'; script-src '{digest(script.text)}'; "
        f"style-src '{digest(style.text)}'; base-uri 'none'; form-action 'none'"
    )
    for block in blocks:
        assert block.attributes == {"type": "application/json"}
        assert not set("<>&\u2028\u2029") & set(block.text)


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def data(root: Element) -> list[Any]:
    """What the data blocks of a page hold."""
    return [
        json.loads(one.text)
        for one in root.all("script")
        if one.attributes.get("type") == "application/json"
    ]

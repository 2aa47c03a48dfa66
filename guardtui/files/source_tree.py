"""A YAML or JSON text as a tree of values with their places, so that one can be replaced."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)


@dataclass(slots=True)
class Node:
    """A value at `text[start:end]`, without blanks, comments and line breaks around it.

    `style` of a YAML text is ", ', | or >, or "" if it is plain. `anchor` is the name that a value
    defines, or an alias refers to. `flow` says whether a list or mapping is in brackets. `keys` of
    a mapping are the nodes of its keys, and `items` its values.
    """

    start: int
    end: int
    kind: str = "text"
    style: str = ""
    anchor: str = ""
    flow: bool = True
    items: list[Node] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)
    value: str = ""

    def member(self, name: str) -> tuple[Node, Node] | None:
        """Return key and value of a member of a mapping, or None."""
        for key, value in zip(self.keys, self.items, strict=False):
            if key.kind == "text" and key.value == name:
                return key, value
        return None


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*node.keys, *node.items]


def yaml_tree(text: str) -> Node | None:
    """Return the tree of the first document; None without one. Raises many kinds of errors."""
    root: Node | None = None
    open_nodes: list[Node] = []
    with warnings.catch_warnings(action="ignore"):  # duplicate anchors
        for event in YAML(typ="safe", pure=True).parse(text):
            if isinstance(event, DocumentEndEvent):
                break
            if isinstance(event, SequenceEndEvent | MappingEndEvent):
                node = open_nodes.pop()
                last = node.items[-1].end if node.items else node.start
                node.end = event.end_mark.index if node.flow else last
                continue
            if not isinstance(
                event, ScalarEvent | AliasEvent | SequenceStartEvent | MappingStartEvent
            ):
                continue
            node = _yaml_node(text, event)
            if open_nodes:
                _add(open_nodes[-1], node)
            else:
                root = node
            if isinstance(event, SequenceStartEvent | MappingStartEvent):
                open_nodes.append(node)
    return root


def _yaml_node(
    text: str, event: ScalarEvent | AliasEvent | SequenceStartEvent | MappingStartEvent
) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    anchor = event.anchor or ""
    if isinstance(event, ScalarEvent):
        end = start + len(text[start:end].rstrip())  # a block of lines has empty ones behind it
        return Node(start, end, "text", event.style or "", anchor, value=str(event.value))
    if isinstance(event, AliasEvent):
        return Node(start, end, "alias", anchor=anchor)
    kind = "list" if isinstance(event, SequenceStartEvent) else "mapping"
    return Node(start, end, kind, anchor=anchor, flow=bool(event.flow_style))


def _add(parent: Node, node: Node) -> None:
    if parent.kind == "mapping" and len(parent.keys) == len(parent.items):
        parent.keys.append(node)
    else:
        parent.items.append(node)


_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def json_tree(text: str) -> Node:
    """Return the tree of a valid JSON text. Raises RecursionError for one nested too deeply."""
    return _json_node(text, _after_blanks(text, 0))


def _json_node(text: str, start: int) -> Node:
    sign = text[start]
    if sign not in "[{":
        value, end = _DECODER.raw_decode(text, start)
        is_text = isinstance(value, str)
        return Node(start, end, style='"' if is_text else "", value=value if is_text else "")
    node = Node(start, start, "list" if sign == "[" else "mapping")
    position = _after_blanks(text, start + 1)
    while text[position] not in "]}":
        part = _json_node(text, position)
        _add(node, part)
        position = _after_blanks(text, part.end)
        if text[position] in ",:":
            position = _after_blanks(text, position + 1)
    node.end = position + 1
    return node


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position

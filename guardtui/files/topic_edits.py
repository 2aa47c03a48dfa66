"""Edits of a definition within the text of its file: what does not change keeps its bytes."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ruamel.yaml import YAML

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.topic import Topic
from guardtui.files.source_tree import Node, walk


class CannotEditError(GuardtuiError):
    """The text is laid out in a way in which its definition cannot be replaced."""


def edited(
    text: str,
    root: Node,
    topic: Node,
    keys: Mapping[str, str],
    changes: Mapping[str, str | tuple[str, ...]],
    *,
    is_json: bool,
) -> str:
    """Return the text of a file with some fields of a definition replaced.

    `topic` is the mapping of the definition, a part of `root`; `keys` are its names of the fields.
    Comments stay with their example when examples are moved, edited or removed. Raises
    CannotEditError.
    """
    if topic.kind != "mapping":
        raise CannotEditError
    writer = _Writer(text, root, topic, is_json)
    members = {
        name: topic.member(keys.get(name, name)) for name in Topic.model_fields if name in changes
    }
    for name, member in members.items():
        value = changes[name]
        if member is not None and isinstance(value, str):
            writer.replace_text(*member, value)
        elif member is not None:
            writer.replace_list(*member, tuple(value))
    for name, member in members.items():
        if member is None:  # below all others
            writer.add_member(name, changes[name])
    return writer.written()


def new_text(topic: Topic, *, is_json: bool) -> str:
    """Return the text of a new topic file."""
    if is_json:
        return json.dumps(topic.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    examples = "".join(f"\n  - {yaml_scalar(text)}" for text in topic.examples) or " []"
    return (
        f"name: {yaml_scalar(topic.name)}\n"
        f"description: {yaml_scalar(topic.description)}\n"
        f"examples:{examples}\n"
        f"intent: {topic.intent.value}\n"
    )


_INDICATORS = "-?:,[]{}#&*!|>'\"%@` "
_NOT_PLAIN = re.compile(r": |:$| #| $")


def yaml_scalar(text: str, style: str = "", *, flow: bool = False) -> str:
    """Return a text as a YAML scalar on one line, in the given style if that can hold it."""
    if style == '"' or not text.isprintable():
        quoted = json.dumps(text, ensure_ascii=False)
        return "".join(
            character if character.isprintable() else _escape(character) for character in quoted
        )
    if style != "'" and _is_plain(text) and not (flow and re.search(r"[,\[\]{}]", text)):
        return text
    return "'" + text.replace("'", "''") + "'"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_plain(text: str) -> bool:
    if not text or text[0] in _INDICATORS or _NOT_PLAIN.search(text):
        return False
    try:
        # Not a number, a date, true or null.
        return bool(YAML(typ="safe", pure=True).load(f"- {text}") == [text])
    except Exception:  # noqa: BLE001 - ruamel raises many kinds
        return False


@dataclass
class _Writer:
    """Collects replacements in a text."""

    text: str
    root: Node
    topic: Node
    is_json: bool
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def written(self) -> str:
        text, after = self.text, len(self.text)
        order = sorted(range(len(self.edits)), key=lambda k: (*self.edits[k][:2], k), reverse=True)
        for start, end, new in map(self.edits.__getitem__, order):
            if end > after:  # an alias within an example that is moved
                raise CannotEditError
            text, after = text[:start] + new + text[end:], start
        return text

    # --- values ---------------------------------------------------------------------------

    def scalar(self, text: str, style: str = "", *, flow: bool = False) -> str:
        if self.is_json:
            # A file that escapes all other letters keeps doing so.
            ascii_only = "\\u" in self.text and self.text.isascii()
            return json.dumps(text, ensure_ascii=ascii_only)
        return yaml_scalar(text, style, flow=flow or self.topic.flow)

    def replaced(self, node: Node, text: str, *, flow: bool = False) -> str:
        """Return the source of a text in place of that of a node; a comment within it is kept."""
        self.free_aliases(node)
        source = self.text[node.start : node.end]
        comment = re.match(r"(?:[&!]\S*\s+)*[|>][^\n#]*?([ \t]#[^\r\n]*)", source)
        return self.scalar(text, node.style, flow=flow) + (comment[1] if comment else "")

    def free_aliases(self, node: Node) -> None:
        """Write the text of a node in place of all aliases that refer to it."""
        if not node.anchor or node.kind == "alias":
            return
        for other in walk(self.root):
            if other.kind == "alias" and other.anchor == node.anchor:
                value = yaml_scalar(node.value, flow=True)
                self.edits.append((other.start, other.end, value))

    def replace_text(self, key: Node, node: Node, text: str) -> None:
        if node.kind not in ("text", "alias"):
            raise CannotEditError
        if node.end > node.start:
            self.edits.append((node.start, node.end, self.replaced(node, text)))
        else:  # nothing stands after the colon
            colon = self.colon(key)
            self.edits.append((colon, colon, f" {self.scalar(text)}"))

    def colon(self, key: Node) -> int:
        """Return the position after the colon of a key."""
        match = re.compile(r"\s*:").match(self.text, key.end)
        if match is None:
            raise CannotEditError
        return match.end()

    # --- members --------------------------------------------------------------------------

    def add_member(self, name: str, value: str | tuple[str, ...]) -> None:
        topic = self.topic
        if not topic.items:
            raise CannotEditError
        last = topic.items[-1]
        if topic.flow:
            separator = ", "
            if len(topic.items) > 1:
                separator = self.text[topic.items[-2].end : topic.keys[-1].start]
            key = f'"{name}"' if self.is_json else name
            self.edits.append((last.end, last.end, f"{separator}{key}: {self.inline(value)}"))
            return
        while last.items:
            last = last.items[-1]
        if self.is_open(last) and not any(edit[1] >= last.end for edit in self.edits):
            self.edits.append((last.start, last.end, self.replaced(last, last.value)))
        last = topic.items[-1]
        indent = " " * self.column(topic.keys[0].start)
        end = self.line_end(max(last.end, self.colon(topic.keys[-1])))
        lines = [f"{indent}{name}:" + (f" {self.scalar(value)}" if isinstance(value, str) else "")]
        if not isinstance(value, str):
            lines += [f"{indent}  - {self.scalar(text)}" for text in value]
            lines[0] += "" if value else " []"
        self.insert_lines(end, lines)

    def is_open(self, node: Node) -> bool:
        """Return whether a line break behind a block of lines would become part of its text."""
        return node.style in ("|", ">") and "\n" not in self.text[node.end :]

    def insert_lines(self, position: int, lines: Sequence[str]) -> None:
        """Insert lines at the start of a line, or at the end of the text."""
        new = "".join(line + self.newline for line in lines)
        if position and self.text[position - 1] != "\n":
            new = self.newline + new.removesuffix(self.newline)
        self.edits.append((position, position, new))

    def inline(self, value: str | tuple[str, ...]) -> str:
        if isinstance(value, str):
            return self.scalar(value)
        return f"[{', '.join(self.scalar(text, flow=True) for text in value)}]"

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """Return the start of the next line, or the end of the text."""
        return self.text.find("\n", position) + 1 or len(self.text)

    def column(self, position: int) -> int:
        return position - self.line_start(position)

    # --- examples -------------------------------------------------------------------------

    def replace_list(self, key: Node, node: Node, texts: tuple[str, ...]) -> None:
        if node.kind == "list" and node.items and not node.flow:
            self.replace_rows(key, node, texts)
        elif node.kind == "list" and node.items:
            self.replace_brackets(node, texts)
        elif self.topic.flow:
            self.edits.append((node.start, node.end, self.inline(texts)))
        else:
            colon = self.colon(key)
            if node.end > node.start:
                self.edits.append((colon, node.end, ""))
            end = self.line_end(max(colon, node.end))
            indent = " " * (self.column(key.start) + 2)
            self.insert_lines(end, [f"{indent}- {self.scalar(text)}" for text in texts])

    def replace_brackets(self, node: Node, texts: tuple[str, ...]) -> None:
        """Replace the items of a list in brackets, with the separators that it has."""
        items = node.items
        between = [self.text[item.end : following.start] for item, following in pairwise(items)]
        head = self.text[node.start + 1 : items[0].start]
        usual = between[0] if between else f",{head or ' '}"
        parts = []
        reused = _reused([item.value for item in items], texts)
        for index, text in zip(reused, texts, strict=True):
            if index is None:
                parts += [self.scalar(text, flow=True), usual]
                continue
            item = items[index]
            same = item.kind == "text" and item.value == text
            source = self.text[item.start : item.end]
            parts.append(source if same else self.replaced(item, text, flow=True))
            parts.append(between[index] if index < len(between) else usual)
        for removed in set(range(len(items))) - set(reused):
            self.free_aliases(items[removed])
        if not parts:
            self.edits.append((node.start, node.end, "[]"))
        else:
            self.edits.append((items[0].start, items[-1].end, "".join(parts[:-1])))

    def replace_rows(self, key: Node, node: Node, texts: tuple[str, ...]) -> None:
        """Replace the items of a list with one item a line, each with its comments."""
        rows = self.rows(node)
        reused = _reused([item.value for item in node.items], texts)
        for removed in set(range(len(rows))) - set(reused):
            self.free_aliases(node.items[removed])
        first = rows[0].dash
        start = " " * self.column(first) + (
            self.text[first : node.items[0].start] if rows[0].is_short else "- "
        )
        # Comments apart from the examples stay, before the example that they stood before.
        apart = {place: row.apart for place, row in enumerate(rows) if row.apart.strip()}
        lines: list[str] = []
        for index, text in zip(reused, texts, strict=True):
            if index is None:
                lines.append(f"{start}{self.scalar(text)}{self.newline}")
                continue
            row, item = rows[index], node.items[index]
            kept = [apart.pop(i) for i in sorted(apart) if i < index and i not in reused]
            lines += [*kept, apart.pop(index, row.apart if lines else "")]
            changed = item.value != text or item.kind != "text"
            changed |= self.is_open(item) and reused[-1] != index
            value = self.replaced(item, text) if changed else self.text[item.start : item.end]
            body = self.text[row.start : item.start] + value + self.text[item.end : row.end]
            lines.append(body if body.endswith("\n") else body + self.newline)
        lines += [apart[place] for place in sorted(apart)]
        new = "".join(lines)
        if reused[-1:] == [len(rows) - 1] and not self.text[: rows[-1].end].endswith("\n"):
            new = new.removesuffix("\n").removesuffix("\r")  # the last line stays without an end
        self.edits.append((rows[0].start, rows[-1].end, new))
        if not texts:
            colon = self.colon(key)
            self.edits.append((colon, colon, " []"))

    def rows(self, node: Node) -> list[_Row]:
        """Return the lines of each item. Raises CannotEditError if two items share a line."""
        rows: list[_Row] = []
        for item in node.items:
            before = rows[-1].end if rows else 0
            dash = self.dash(before or node.start, item.start)
            line = start = self.line_start(dash)
            if line < before or self.text[line:dash].strip():
                raise CannotEditError
            while start > before and _is_comment(self.text[self.line_start(start - 1) : start]):
                start = self.line_start(start - 1)
            end = self.line_end(max(item.end, dash + 1))
            apart = self.text[before:start] if rows else ""
            rows.append(_Row(dash, start, end, apart, "\n" not in self.text[dash : item.start]))
        return rows

    def dash(self, position: int, end: int) -> int:
        """Return the position of the dash of an item that starts at `end`."""
        pattern = re.compile(r"(?:[&!]\S*)?(?:\s|#[^\n]*)*-")
        between = pattern.match(self.text, position, end)
        if between is None:
            raise CannotEditError
        return between.end() - 1


@dataclass(frozen=True, slots=True)
class _Row:
    """The lines of an item, from its comments on; `apart` are those between it and the last one.

    `is_short` says whether the item starts on the line of its dash.
    """

    dash: int
    start: int
    end: int
    apart: str
    is_short: bool


def _is_comment(line: str) -> bool:
    return line.lstrip(" \t").startswith("#")


_ALIKE = 0.6
"""Share of equal characters from which on a text counts as an edit of another."""


def _reused(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return for each new text the index of the old one that it is, or that it was edited from."""
    found: list[int | None] = [
        index if index < len(old) and old[index] == text else None for index, text in enumerate(new)
    ]

    def free() -> list[int]:
        return [index for index in range(len(old)) if index not in found]

    for index, text in enumerate(new):
        if found[index] is None:
            found[index] = next((other for other in free() if old[other] == text), None)

    def ratio(other: int, text: str) -> float:
        return difflib.SequenceMatcher(None, old[other], text, autojunk=False).ratio()

    for index, text in enumerate(new):
        if found[index] is None and (others := free()):
            best = max(others, key=lambda other: ratio(other, text))
            found[index] = best if ratio(best, text) >= _ALIKE else None
    if len(old) == len(new):  # others were rewritten in their place
        for index in free():
            if found[index] is None:
                found[index] = index
    return found

"""The topic that an author edits: its byte limits, and what changed between two versions."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

NAME_BYTES = 100
DESCRIPTION_BYTES = 250
EXAMPLE_BYTES = 250
EXAMPLES_AT_LEAST = 2
EXAMPLES_AT_MOST = 5
TOTAL_BYTES = 1000


class Intent(StrEnum):
    """What a profile stops: prompts that match the topic (block), or all others (allow)."""

    BLOCK = "block"
    ALLOW = "allow"


class Topic(BaseModel):
    """A topic definition, which may exceed the limits while it is being edited.

    Texts are kept as typed; `violations` lists the exceeded limits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    intent: Intent = Intent.BLOCK

    @property
    def fingerprint(self) -> str:
        """SHA-256 (64 hex digits) of the whole definition; equal only for equal topics."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def main_field(self) -> str:
        """The field that says what the topic is: `description`, or `name` while that is empty."""
        return "description" if self.description.strip() else "name"


@dataclass(frozen=True, slots=True)
class Violation:
    """A limit that a definition violates.

    `field` is `name`, `description`, `examples`, `examples.1` (counted from 1) or `total`. `used`
    and `limit` are bytes; for the field `examples` they are numbers of examples.
    """

    field: str
    message: str
    used: int
    limit: int


def byte_length(text: str) -> int:
    """Return the length in UTF-8 bytes; a lone surrogate counts as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def total_bytes(topic: Topic) -> int:
    """Return the bytes of name, description and all examples together."""
    return sum(map(byte_length, (topic.name, topic.description, *topic.examples)))


def violations(topic: Topic) -> tuple[Violation, ...]:
    """Return all limits that the definition violates, in the order of its fields."""
    problems: list[Violation] = []

    def check(field: str, label: str, text: str, limit: int) -> None:
        used = byte_length(text)
        if not text.strip():
            problems.append(Violation(field, f"{label} is empty", used, limit))
        elif used > limit:
            message = f"{label} has {_excess(text, limit)}"
            problems.append(Violation(field, message, used, limit))

    check("name", "name", topic.name, NAME_BYTES)
    check("description", "description", topic.description, DESCRIPTION_BYTES)
    count = len(topic.examples)
    if count < EXAMPLES_AT_LEAST:
        message = f"{count} example{'s' * (count != 1)}: at least {EXAMPLES_AT_LEAST} are needed"
        problems.append(Violation("examples", message, count, EXAMPLES_AT_LEAST))
    elif count > EXAMPLES_AT_MOST:
        message = f"{count} examples: at most {EXAMPLES_AT_MOST} are allowed"
        problems.append(Violation("examples", message, count, EXAMPLES_AT_MOST))
    for number, example in enumerate(topic.examples, start=1):
        check(f"examples.{number}", f"example {number}", example, EXAMPLE_BYTES)
    total = total_bytes(topic)
    if total > TOTAL_BYTES:
        text = "".join((topic.name, topic.description, *topic.examples))
        excess = _excess(text, TOTAL_BYTES, " together")
        message = f"name, description and examples have {excess}"
        problems.append(Violation("total", message, total, TOTAL_BYTES))
    return tuple(problems)


def _excess(text: str, limit: int, together: str = "") -> str:
    """Return the length of a text beyond its limit, in characters too if they are fewer."""
    used = byte_length(text)
    if used == len(text):
        return f"{used} bytes{together}, {used - limit} more than the {limit} allowed"
    excess = used - limit
    return (
        f"{len(text)} characters, {used} bytes{together}: {excess} "
        f"byte{'s' * (excess != 1)} more than the {limit} allowed"
    )


_LINE_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def line_breaks(topic: Topic) -> tuple[Violation, ...]:
    """Return fields whose text has a line break, which a single-line editor cannot hold.

    These are not among the violations because they exceed no limit. `used` is the number of line
    breaks, `limit` is 0.
    """
    texts = [("name", "name", topic.name), ("description", "description", topic.description)]
    texts += [(f"examples.{k}", f"example {k}", text) for k, text in enumerate(topic.examples, 1)]
    problems = []
    for field, label, text in texts:
        if breaks := _LINE_BREAKS.findall(text):
            names = (" ".join(f"U+{ord(sign):04X}" for sign in signs) for signs in breaks)
            kinds = ", ".join(dict.fromkeys(names))
            message = f"{label} holds a line break ({kinds}): write it in one line"
            problems.append(Violation(field, message, len(breaks), 0))
    return tuple(problems)


def given_examples(topic: Topic) -> list[tuple[int, str]]:
    """Return the examples that are not blank, with their numbers from 1."""
    return [(number, text) for number, text in enumerate(topic.examples, 1) if text.strip()]


def named_examples(numbers: Sequence[int]) -> str:
    """Return `example 2`, or `examples 1, 2 and 4`."""
    if len(numbers) == 1:
        return f"example {numbers[0]}"
    return f"examples {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def definition_lines(topic: Topic) -> list[str]:
    """Return each field with its name; the texts are not display-safe."""
    examples = (f"example {index}: {text}" for index, text in enumerate(topic.examples, start=1))
    texts = f"name: {topic.name}", f"description: {topic.description}"
    return [*texts, *examples, f"intent: {topic.intent.value}"]


def describe_changes(before: Topic, after: Topic) -> tuple[str, ...]:
    """Return what changed from one definition to another, in the words of an author.

    For example `("example 2 replaced", "description −14 bytes")`; empty if nothing changed.
    """
    changes: list[str] = []
    if before.name != after.name:
        changes.append("name changed")
    if before.description != after.description:
        delta = byte_length(after.description) - byte_length(before.description)
        unit = "byte" if abs(delta) == 1 else "bytes"
        size = f"{'+' if delta > 0 else '−'}{abs(delta)} {unit}" if delta else "reworded"
        changes.append(f"description {size}")
    changes.extend(_example_changes(before.examples, after.examples))
    if before.intent != after.intent:
        changes.append(f"intent {before.intent} → {after.intent}")
    return tuple(changes)


def _example_changes(before: tuple[str, ...], after: tuple[str, ...]) -> list[str]:
    if before == after:
        return []
    if sorted(before) == sorted(after):
        return ["examples reordered"]
    changes: list[str] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, start, stop, new_start, new_stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        replaced = min(stop - start, new_stop - new_start)
        changes += [f"example {start + k + 1} replaced" for k in range(replaced)]
        changes += [f"example {k + 1} removed" for k in range(start + replaced, stop)]
        changes += [f"example {k + 1} added" for k in range(new_start + replaced, new_stop)]
    return changes

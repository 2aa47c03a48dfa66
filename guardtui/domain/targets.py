"""Guardrails that a definition can be put into, and what each of them would refuse."""

from __future__ import annotations

import re
from enum import StrEnum

from guardtui.domain.topic import Intent, Topic, Violation, violations


class Target(StrEnum):
    """What a definition is for: AIRS, a decision model, or a denied topic of Amazon Bedrock."""

    AIRS = "airs"
    DECISION = "decision"
    BEDROCK = "bedrock"


BEDROCK_NAME = 100
BEDROCK_DEFINITION = 200
BEDROCK_EXAMPLES = 5
BEDROCK_EXAMPLE = 100
"""Characters of a denied topic's texts, and how many examples it may have."""

_BEDROCK_NAME = re.compile(r"[0-9a-zA-Z\-_ !?.]+")


def refusals(topic: Topic, target: Target) -> tuple[Violation, ...]:
    """What a target would refuse of a definition, in the order of its fields."""
    if target is Target.AIRS:
        return violations(topic)
    return tuple(_bedrock(topic) if target is Target.BEDROCK else _decision(topic))


def _decision(topic: Topic) -> list[Violation]:
    """A question needs a name and a description; it may be as long as the model reads."""
    return _intent(topic, "LiteLLM's guardrail") + _missing(topic)


def _bedrock(topic: Topic) -> list[Violation]:
    found = _intent(topic, "Bedrock") + _missing(topic)
    if topic.name.strip() and not _BEDROCK_NAME.fullmatch(topic.name):
        odd = "".join(dict.fromkeys(re.sub(_BEDROCK_NAME, "", topic.name)))
        message = f"name has characters other than letters, digits and -_ !?. ({odd[:20]})"
        found.append(Violation("name", message, len(odd), 0))
    found += _long("name", "name", topic.name, BEDROCK_NAME)
    found += _long("description", "description", topic.description, BEDROCK_DEFINITION)
    count = len(topic.examples)
    if count > BEDROCK_EXAMPLES:
        message = f"{count} examples: at most {BEDROCK_EXAMPLES} are allowed"
        found.append(Violation("examples", message, count, BEDROCK_EXAMPLES))
    for number, example in enumerate(topic.examples, start=1):
        field = f"examples.{number}"
        if not example.strip():
            found.append(Violation(field, f"example {number} is empty", 0, BEDROCK_EXAMPLE))
        found += _long(field, f"example {number}", example, BEDROCK_EXAMPLE)
    return found


def _intent(topic: Topic, who: str) -> list[Violation]:
    if topic.intent is Intent.BLOCK:
        return []
    message = f"the intent is allow: {who} stops what matches, and has nothing else"
    return [Violation("intent", message, 0, 0)]


def _missing(topic: Topic) -> list[Violation]:
    texts = {"name": topic.name, "description": topic.description}
    return [
        Violation(field, f"{field} is empty", 0, 0)
        for field, text in texts.items()
        if not text.strip()
    ]


def _long(field: str, label: str, text: str, limit: int) -> list[Violation]:
    used = len(text)
    if used <= limit:
        return []
    message = f"{label} has {used} characters, {used - limit} more than the {limit} allowed"
    return [Violation(field, message, used, limit)]

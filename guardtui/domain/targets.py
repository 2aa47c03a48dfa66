"""Guardrails that a definition can be exported to, and the limits of each."""

from __future__ import annotations

import re
from enum import StrEnum

from guardtui.domain.topic import Intent, Topic, Violation, violations


class ExportTarget(StrEnum):
    """Target of a definition: AIRS, a decision model, or a denied topic of Amazon Bedrock."""

    AIRS = "airs"
    DECISION = "decision"
    BEDROCK = "bedrock"


BEDROCK_NAME = 100
BEDROCK_DEFINITION = 200
BEDROCK_EXAMPLES = 5
BEDROCK_EXAMPLE = 100
"""Limits of a denied topic: characters of its texts, and number of examples."""

_BEDROCK_NAME = re.compile(r"[0-9a-zA-Z\-_ !?.]+")


def refusals(topic: Topic, target: ExportTarget) -> tuple[Violation, ...]:
    """Return what a target would reject in a definition, in the order of its fields."""
    if target is ExportTarget.AIRS:
        return violations(topic)
    if target is ExportTarget.BEDROCK:
        return tuple(_bedrock(topic))
    return (*_intent(topic, "LiteLLM's guardrail"), *_missing(topic))


def _bedrock(topic: Topic) -> list[Violation]:
    problems = _intent(topic, "Bedrock") + _missing(topic)
    if topic.name.strip() and not _BEDROCK_NAME.fullmatch(topic.name):
        odd = "".join(dict.fromkeys(re.sub(_BEDROCK_NAME, "", topic.name)))
        message = f"name has characters other than letters, digits and -_ !?. ({odd[:20]})"
        problems.append(Violation("name", message, len(odd), 0))
    problems += _long("name", "name", topic.name, BEDROCK_NAME)
    problems += _long("description", "description", topic.description, BEDROCK_DEFINITION)
    count = len(topic.examples)
    if count > BEDROCK_EXAMPLES:
        message = f"{count} examples: at most {BEDROCK_EXAMPLES} are allowed"
        problems.append(Violation("examples", message, count, BEDROCK_EXAMPLES))
    for number, example in enumerate(topic.examples, start=1):
        field = f"examples.{number}"
        if not example.strip():
            problems.append(Violation(field, f"example {number} is empty", 0, BEDROCK_EXAMPLE))
        problems += _long(field, f"example {number}", example, BEDROCK_EXAMPLE)
    return problems


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

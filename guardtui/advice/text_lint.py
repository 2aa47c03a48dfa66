"""Lint of a definition's text alone: exclusions, length and mixed languages."""

from __future__ import annotations

from guardtui.advice.lint_advice import (
    SHOWN,
    Advice,
    field_of,
    order,
    part_name,
    quoted,
    without_examples,
)
from guardtui.advice.wording_rules import exclusions, shortened, without_exclusions
from guardtui.domain.languages import LANGUAGES, odd_languages
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, byte_length, named_examples

SHORT = 100
"""Length of a description, in bytes, from which a shorter one is advised."""


def lint_text(topic: Topic) -> tuple[Advice, ...]:
    """Return advice on the text alone, in well under 2 ms; see `lint` for the order."""
    return tuple(sorted([*_exclusion(topic), *_long(topic), *_languages(topic)], key=order))


def _exclusion(topic: Topic) -> list[Advice]:
    advice = []
    for field, text in (("name", topic.name), ("description", topic.description)):
        if not (matches := exclusions(text)):
            continue
        words = ", ".join(
            f"“{display_start(match.text, SHOWN)}” (word {match.word})" for match in matches
        )
        shorter = without_exclusions(text) if field == "description" else None
        remedy = None if shorter is None else topic.model_copy(update={"description": shorter})
        message = f"the {field} excludes with {words}: what is named attracts, say what it is"
        action = f"cut to {quoted(shorter)}" if shorter is not None else ""
        brief = f"{field} excludes: “{display_start(matches[0].text, 16)}”"
        advice.append(Advice("exclusion", field, brief, message, action, remedy=remedy))
    return advice


def _long(topic: Topic) -> list[Advice]:
    used = byte_length(topic.description)
    if used <= SHORT:
        return []
    shorter = shortened(topic.description, SHORT)
    remedy = None if shorter is None else topic.model_copy(update={"description": shorter})
    message = f"the description has {used} bytes: those under {SHORT} do better as a rule"
    action = f"cut to {quoted(shorter)}" if shorter is not None else ""
    brief = f"description has {used} bytes, over {SHORT}"
    return [Advice("long", "description", brief, message, action, remedy=remedy)]


def _languages(topic: Topic) -> list[Advice]:
    odd = odd_languages((topic.description, *topic.examples))
    if odd is None:
        return []
    main, others = odd
    names = {index: LANGUAGES[name] for index, name in others.items()}
    listed = ", ".join(f"{part_name(index)} in {name}" for index, name in names.items())
    message = f"mixed languages: {listed}, most of it in {LANGUAGES[main]}"
    first = next(iter(names))
    brief = f"{part_name(first)} in {names[first]}"
    # The description cannot be removed.
    dropped = [index for index in others if index]
    remedy = without_examples(topic, dropped) if len(dropped) == len(others) else None
    action = f"{named_examples(dropped)} dropped" if remedy is not None else ""
    field = field_of(list(others))
    return [Advice("languages", field, brief, message, action, remedy=remedy)]

"""Lint: known problems of definitions, with the measured effect of removing each cause."""

from __future__ import annotations

from collections.abc import Callable

from guardtui.advice.edit_worth import metrics_of_matches
from guardtui.advice.effects import no_effect
from guardtui.advice.lint_advice import (
    NO_EFFECT,
    SHOWN,
    Advice,
    Removal,
    field_of,
    file_lines,
    order,
    part_name,
    quoted,
    without_examples,
)
from guardtui.advice.lint_engine import LintEngine, open_lint_engine
from guardtui.advice.lint_measured import measured
from guardtui.advice.wording_rules import exclusions, shortened, without_exclusions
from guardtui.domain.example_prompts import EqualTexts, given_examples, named_examples
from guardtui.domain.figures import count_text
from guardtui.domain.languages import LANGUAGES, odd_languages
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, byte_length

__all__ = [
    "SHORT",
    "Advice",
    "LintEngine",
    "Removal",
    "lint",
    "no_effect_advice",
    "open_lint_engine",
]

Stopped = Callable[[], bool]

SHORT = 100
"""Length of a description, in bytes, from which a shorter one is advised."""


def lint(
    topic: Topic,
    prompts: PromptSet | None = None,
    engine: LintEngine | None = None,
    stopped: Stopped = lambda: False,
    metrics: Metrics | None = None,
) -> tuple[Advice, ...]:
    """Return all advice about a definition, most useful first.

    Without `engine`, only the text is checked, in well under 2 ms; with `prompts` also the labels
    of equal prompts (some ms for 10 000). An engine adds checks by vectors and measures the advice;
    its prompts are the default of `prompts`. `metrics`, of any scanner, or else the engine show
    whether the definition separates nothing; this advice comes first. Next comes advice whose
    remedy gains coverage, then unmeasured advice, then remedies that cost coverage. If stopped, the
    advice so far is returned unmeasured. Blank examples are ignored.
    """
    advice = [*_exclusion(topic), *_long(topic), *_languages(topic)]
    equal = None
    if engine is not None:
        prompts = engine.prompts if prompts is None else prompts
        equal = engine.equal_texts if prompts is engine.prompts else None
    leaked: list[int] = []
    if prompts is not None:
        repeated, leaked = _equal_prompts(topic, prompts, equal or EqualTexts(prompts.prompts))
        advice += repeated
    if engine is not None:
        advice = measured(engine, topic, advice, leaked, stopped)
        if metrics is None and (matches := engine.verdicts([topic], stopped)) is not None:
            metrics = metrics_of_matches(engine.prompts.expected, matches[0], topic.intent)
    # An empty definition cannot have an effect.
    if metrics is not None and (topic.description.strip() or given_examples(topic)):
        advice += no_effect_advice(metrics)
    return tuple(sorted(advice, key=order))


def no_effect_advice(metrics: Metrics) -> list[Advice]:
    """Return the advice on a definition that separates nothing, or an empty list."""
    message = no_effect(metrics)
    if message is None:
        return []
    return [Advice(NO_EFFECT, "description", message.partition(":")[0], message)]


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


def _equal_prompts(
    topic: Topic, prompts: PromptSet, equal: EqualTexts
) -> tuple[list[Advice], list[int]]:
    """Return advice on examples that are also test prompts, and the rows of leaked ones.

    Each example labelled as not belonging gets its own advice.
    """
    numbers: list[int] = []
    leaked: list[int] = []
    exactly = False
    advice: list[Advice] = []
    for number, example in given_examples(topic):
        same, alike = equal.rows(example)
        rows = [*same.tolist(), *alike.tolist()]
        wrong = [row for row in rows if not prompts.expected[row]]
        right = [row for row in rows if prompts.expected[row]]
        if wrong and not right:
            message = (
                f"example {number} is also a prompt whose label says that it does not belong to "
                "the topic: correct the label, or drop the example"
            )
            advice.append(
                Advice(
                    "contradiction",
                    f"examples.{number}",
                    f"example {number}: labelled not to belong",
                    message,
                    f"example {number} dropped",
                    remedy=without_examples(topic, [number]),
                    lines=file_lines(prompts, wrong),
                )
            )
        elif rows:
            numbers.append(number)
            leaked += rows
            exactly = exactly or bool(len(same))
    if numbers:
        rows = sorted(set(leaked))
        many = len(numbers) > 1
        how = "" if exactly else ", but for case, blanks and signs"
        are = "are also test prompts" if many else "is also a test prompt"
        message = f"{named_examples(numbers)} {are}{how}: coverage is flattered"
        advice.append(
            Advice(
                "leakage",
                field_of(numbers),
                f"{named_examples(numbers)} {'are test prompts' if many else 'is a test prompt'}",
                message,
                f"{count_text(len(rows), 'prompt', 'prompts')} left out of the rates",
                lines=file_lines(prompts, rows),
            )
        )
        leaked = rows
    return advice, leaked

"""Signatures of registered factories, and checks of the literals passed to them."""

from __future__ import annotations

import difflib
import inspect
import re
import string
import typing
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.grading import text_or_file
from guardtui.scorer.registry import (
    OWN,
    RegistryType,
    full_names,
    load_entry_points,
    load_own,
    names,
    registry_info,
)
from guardtui.scorer.types import Metric

KINDS: Mapping[RegistryType, str] = {
    "scorer": "scorer",
    "metric": "metric",
    "score_reducer": "reducer",
}
"""Names of the registry's types in messages."""

_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


class FactorySignature:
    """Signature of a registered factory; `name` is its name in messages."""

    def __init__(self, name: str, factory: Callable[..., Any]) -> None:
        inner = inspect.unwrap(factory)
        self.name = name
        self.factory = factory
        self.registered = registry_info(factory).name
        self.signature = inspect.signature(inner)
        self._hints = _hints_of(inner)

    def shown(self) -> str:
        """Return the call with parameters and defaults, without those that no literal can be."""
        parts: list[str] = []
        bare_star = False
        for parameter in self.signature.parameters.values():
            if callable(parameter.default) and parameter.default is not parameter.empty:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY and not bare_star:
                parts.append("*")
                bare_star = True
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
            star = "**" if parameter.kind is parameter.VAR_KEYWORD else star
            bare_star = bare_star or star == "*"
            default = (
                "" if parameter.default is parameter.empty else f"={_quoted(parameter.default)}"
            )
            parts.append(f"{star}{parameter.name}{default}")
        return f"{self.name}({', '.join(parts)})"

    def takes_metrics(self, name: str) -> Literal["one", "several"] | None:
        """Return whether a parameter is a metric, or a set of them."""
        hint = self._hints.get(name)
        if hint == Metric:
            return "one"
        return "several" if hint in (MetricSet, MetricSet | None) else None

    def fitted(self, name: str, value: Any) -> Any:
        """Return a tuple as a list if only a list is allowed; other values unchanged."""
        if isinstance(value, tuple) and self.misfit(name, value) is not None:
            return list(value)
        return value

    def misfit(self, name: str, value: Any) -> str | None:
        """Return why a value does not fit a parameter; None if it does, or if that is unknown."""
        if name not in self._hints:
            return None
        try:
            adapter = TypeAdapter(self._hints[name], config=_ANY_CLASS)
        except (PydanticUserError, NameError, TypeError):
            # A third-party type without a schema: errors will show when it is called.
            return None
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:
            messages = dict.fromkeys(
                detail["msg"].removeprefix("Input ") for detail in error.errors()
            )
            return f"it {' or '.join(messages)}"
        return None


def _hints_of(factory: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(factory.__init__ if inspect.isclass(factory) else factory)
    except (AttributeError, NameError, TypeError):
        return {}


def unknown_name(kind: RegistryType, name: str) -> tuple[str, str]:
    """Return the problem of an unknown or ambiguous name, and a suggestion."""
    load_own()
    load_entry_points()
    word = KINDS[kind]
    candidates = full_names(kind, name)
    if len(candidates) > 1:
        return f"several packages have a {word} called {name!r}", f"write {' or '.join(candidates)}"
    others = [KINDS[other] for other in KINDS if other != kind and name in names(other)]
    known_names = names(kind)
    problem = f"no {word} is called {name!r}"
    if others:
        problem += f": it is a {' and a '.join(others)}"
    similar = difflib.get_close_matches(name.lower(), known_names, n=2, cutoff=0.6)
    if similar and not others:
        return problem, f"did you mean {' or '.join(similar)}?"
    return problem, f"the {word}s are {', '.join(known_names)}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)


# --- texts with a form of their own -------------------------------------------------------------

_GROUPS_OF_PATTERNS = {
    (f"{OWN}/pattern", "pattern"): 0,
    (f"{OWN}/model_graded_qa", "grade_pattern"): 1,
    (f"{OWN}/model_graded_fact", "grade_pattern"): 1,
}
"""Parameters that are regular expressions, with the number of groups they need."""

_TEMPLATES = {(f"{OWN}/model_graded_qa", "template"), (f"{OWN}/model_graded_fact", "template")}

_BRACES = "double braces that are meant as themselves"
_NAMELESS = re.compile(r"\d*(?![^.\[])")


def text_problem(factory: str, parameter: str, text: str) -> tuple[str, str] | None:
    """Return problem and remedy of an invalid regular expression or template, else None.

    `factory` is the full name of the factory with this parameter.
    """
    groups = _GROUPS_OF_PATTERNS.get((factory, parameter))
    if groups is not None:
        return _pattern_problem(text, groups)
    if (factory, parameter) not in _TEMPLATES:
        return None
    try:
        return _template_problem(text_or_file(text))
    except ValueError as error:
        return str(error), "name a text file, or write the template itself"


def _pattern_problem(pattern: str, groups: int) -> tuple[str, str] | None:
    if "\b" in pattern:
        problem = r"\b in an ordinary text is the backspace character, not the end of a word"
        return problem, 'put an r before the quotes: r"..."'
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
    except re.error as error:
        position = "" if error.pos is None else f" at its character {error.pos + 1}"
        problem = f"the regular expression is broken{position}: {error.msg}"
        return problem, "fix it; a literal special character needs a backslash before it"
    except (OverflowError, RecursionError) as error:
        return f"the regular expression is too large: {error}", "write a shorter one"
    # An empty pattern stands for the default way to find a grade.
    if pattern and compiled.groups < groups:
        problem = "the regular expression has no group, and its first group is the grade"
        return problem, "put the grade in parentheses, such as ([CPI])"
    return None


def _template_problem(template: str) -> tuple[str, str] | None:
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template)]
    except ValueError as error:
        return f"the template is broken: {error}", _BRACES
    for name in fields:
        if name is not None and _NAMELESS.match(name):
            return (
                f"the template has {{{name}}}, which names nothing",
                "write {question}, {answer}, {criterion}, {instructions} or a name of the "
                f"metadata, and {_BRACES}",
            )
    return None

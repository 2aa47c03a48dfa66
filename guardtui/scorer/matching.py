"""`match` and `includes`: a target at the beginning, at the end or anywhere in the answer."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from guardtui.scorer.decorators import scorer
from guardtui.scorer.metrics import accuracy, stderr
from guardtui.scorer.numerals import clean_numeric, normal_form, read_number
from guardtui.scorer.registry import OWN, is_registered, registry_info, registry_params
from guardtui.scorer.state import TextState
from guardtui.scorer.text import strip_edges, verdict
from guardtui.scorer.types import Score, Scorer

Location: TypeAlias = Literal["begin", "end", "any", "exact"]


@scorer(metrics=[accuracy(), stderr()])
def match(location: Location = "end", *, ignore_case: bool = True, numeric: bool = False) -> Scorer:
    """Return whether a target is at the beginning, the end, anywhere in the answer, or all of it.

    Whitespace and ASCII punctuation at the ends are ignored. With `numeric`, targets that are
    numbers are compared with the numbers of the answer at five significant digits, as numbers: 5 is
    not at the end of 25. The score's answer is the stripped answer, or that number.
    """

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        answer: str | None = None
        stripped = completion.strip()
        compared = stripped.casefold() if ignore_case else stripped
        body: str | None = None
        correct = False
        for text in target:
            wanted, number = _target(text, ignore_case, numeric)
            if number is None:
                if body is None:
                    body = strip_edges(compared)
                correct, answer = _fits(body, wanted, location), stripped
            else:
                correct, found_number = _number_fits(compared, number, location)
                answer = stripped if found_number is None else found_number
            if correct:
                break
        return verdict(correct, completion, answer=answer, explanation=completion)

    return score


@functools.lru_cache(maxsize=1024)
def _target(text: str, ignore_case: bool, numeric: bool) -> tuple[str, str | None]:
    """Return a target as text, and its normal form if it is to be compared as a number."""
    wanted = text.strip()
    if ignore_case:
        wanted = wanted.casefold()
    if numeric:
        wanted = clean_numeric(wanted)
        number = read_number(wanted)
        if number is not None:
            return wanted, normal_form(number)
    return strip_edges(wanted), None


def _fits(body: str, wanted: str, location: Location) -> bool:
    if location == "end":
        return body.endswith(wanted)
    if location == "begin":
        return body.startswith(wanted)
    if location == "exact":
        return body == wanted
    return wanted in body


def _number_fits(compared: str, wanted: str, location: Location) -> tuple[bool, str | None]:
    """Return whether the number is at its location, and the number there (None for "any")."""
    if location == "exact":
        cleaned = clean_numeric(compared)
        number = read_number(cleaned, trim=False)
        number_text = cleaned if number is None else normal_form(number)
        return number_text == wanted, number_text
    words = compared.split()
    if location == "end":
        number_text = _first_number(reversed(words))
        return number_text == wanted, number_text
    if location == "begin":
        number_text = _first_number(words)
        return number_text == wanted, number_text
    if any(_number_of(word) == wanted for word in words):
        return True, wanted
    return False, None


def _first_number(words: Iterable[str]) -> str:
    for word in words:
        number = _number_of(word)
        if number is not None:
            return number
    return ""


def _number_of(word: str) -> str | None:
    """Return a word's number in normal form. Cleaning never joins words: one word suffices."""
    if word.isalpha() and word.isascii():
        return None
    number = read_number(clean_numeric(word))
    return None if number is None else normal_form(number)


@scorer(metrics=[accuracy(), stderr()])
def includes(ignore_case: bool = True) -> Scorer:
    """Return whether a target occurs in the answer, blanks included.

    The score's answer is the compared answer: casefolded if case is ignored.
    """

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        compared = completion.casefold() if ignore_case else completion
        answer: str | None = None
        correct = False
        for text in target:
            answer = compared
            if (text.casefold() if ignore_case else text) in compared:
                correct = True
                break
        return verdict(correct, completion, answer=answer, explanation=completion)

    return score


def finds_empty_target(scorer: Scorer) -> bool:
    """Return whether a scorer, or a member of it, finds an empty target in every output."""
    if not is_registered(scorer):
        return False
    return _finds_empty(registry_info(scorer).name, registry_params(scorer))


def _finds_empty(name: str, params: Mapping[str, Any]) -> bool:
    plain = name.removeprefix(f"{OWN}/")
    members = params.get("scorers", []) if plain == "multi_scorer" else []
    return (
        plain == "includes"
        or (plain == "match" and params.get("location") != "exact")
        or any(_finds_empty(member["name"], member["params"]) for member in members)
    )

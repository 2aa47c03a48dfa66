"""`choice`: whether the choices that were selected are those of the target."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence

from guardtui.scorer.decorators import scorer
from guardtui.scorer.metrics import accuracy, stderr
from guardtui.scorer.state import ChoiceLike, ChoiceState
from guardtui.scorer.text import is_blank
from guardtui.scorer.types import (
    CORRECT,
    INCORRECT,
    INVALID_RESPONSE_FORMAT,
    NO_RESPONSE,
    NOANSWER,
    Score,
    Scorer,
    ScoreReason,
)

_LETTERS = string.ascii_uppercase


@scorer(metrics=[accuracy(), stderr()])
def choice() -> Scorer:
    """Whether exactly the choices of the target were selected, wherever they were shown.

    A target names choices by letters, after Z by numbers from 1: "A", "A,C", "AC", "12". Raises
    ValueError while scoring when there are no choices, and for a target that names none of them.
    """

    async def score(state: ChoiceState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        choices: Sequence[ChoiceLike] = list(state.choices)
        if not choices:
            raise ValueError("the sample has no choices to score; give it some")
        wanted = _wanted(target, len(choices))
        explanation = completion
        if _shuffled(choices):
            explanation = _shuffled_text(choices, completion)
            choices = sorted(choices, key=lambda one: one.original_position)
        selected = _selected(choices)
        value, reason = _judged(selected, wanted, completion)
        return Score(
            value=value,
            answer=", ".join(map(letter, selected)),
            explanation=explanation,
            reason=reason,
        )

    return score


def _judged(
    selected: list[int], wanted: list[int], completion: str
) -> tuple[str, ScoreReason | None]:
    # What was selected counts, so only without a selection does an empty output matter.
    if selected == wanted:
        return CORRECT, None
    if selected:
        return INCORRECT, None
    return (NOANSWER, NO_RESPONSE) if is_blank(completion) else (INCORRECT, INVALID_RESPONSE_FORMAT)


def _selected(choices: Sequence[ChoiceLike]) -> list[int]:
    # Not what is merely true: 1 and "yes" are no selections.
    return [place for place, one in enumerate(choices) if one.correct is True]


def letter(place: int) -> str:
    """What a choice is called: A to Z for 0 to 25, then 1, 2, ..."""
    return _LETTERS[place] if place < len(_LETTERS) else str(place - len(_LETTERS) + 1)


def _shuffled(choices: Sequence[ChoiceLike]) -> bool:
    for place, one in enumerate(choices):  # noqa: SIM110 - faster than any() for so few
        if one.original_position != place:
            return True
    return False


def _wanted(target: Sequence[str], count: int) -> list[int]:
    """The sorted indices that a target names; raises ValueError for what names no choice."""
    places: list[int] = []
    for text in target:
        named = _positions(text)
        if named and not (named[0] >= 0 and named[-1] < count):
            raise ValueError(
                f"the target {text!r} names what is none of the choices "
                f"{letter(0)} to {letter(count - 1)}"
            )
        places += named
    return sorted(places)


@functools.lru_cache(maxsize=1024)
def _positions(text: str) -> tuple[int, ...]:
    """The sorted indices that a text names, -1 for what can be none."""
    places = []
    for token in text.replace(",", " ").split():
        names = (token,) if token.isnumeric() else token
        places += [_position(name) for name in names]
    return tuple(sorted(places))


def _position(name: str) -> int:
    upper = name.upper()
    if len(upper) == 1 and upper in _LETTERS:
        return _LETTERS.index(upper)
    try:
        number = int(name)
    except ValueError:
        return -1
    return len(_LETTERS) + number - 1 if number > 0 else -1


def _shuffled_text(shown: Sequence[ChoiceLike], completion: str) -> str:
    lines = [f"{letter(place)}) {one.value}" for place, one in enumerate(shown)]
    selected = ", ".join(map(letter, _selected(shown))) or "none"
    return "\n".join(
        (
            "The choices were shown in another order than they are scored in:",
            *lines,
            f"Selected as shown: {selected}",
            "",
            completion,
        )
    )

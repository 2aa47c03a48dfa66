"""`choice`: whether the selected choices are those of the target."""

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
    """Return whether exactly the choices of the target were selected, in any display order.

    A target names choices by letters, after Z by numbers from 1: "A", "A,C", "AC", "12". While
    scoring, raises ValueError if there are no choices, or if a target names none of them.
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
            choices = sorted(choices, key=lambda option: option.original_position)
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
    # A selection counts even with an empty output.
    if selected == wanted:
        return CORRECT, None
    if selected:
        return INCORRECT, None
    return (NOANSWER, NO_RESPONSE) if is_blank(completion) else (INCORRECT, INVALID_RESPONSE_FORMAT)


def _selected(choices: Sequence[ChoiceLike]) -> list[int]:
    # `is True`: truthy values such as 1 and "yes" are not selections.
    return [index for index, option in enumerate(choices) if option.correct is True]


def letter(index: int) -> str:
    """Return the name of a choice: A to Z for 0 to 25, then 1, 2, ..."""
    return _LETTERS[index] if index < len(_LETTERS) else str(index - len(_LETTERS) + 1)


def _shuffled(choices: Sequence[ChoiceLike]) -> bool:
    for index, option in enumerate(choices):  # noqa: SIM110 - faster than any() for so few
        if option.original_position != index:
            return True
    return False


def _wanted(target: Sequence[str], count: int) -> list[int]:
    """Return the sorted indices that a target names. Raises ValueError for invalid names."""
    indices: list[int] = []
    for text in target:
        named = _positions(text)
        if named and not (named[0] >= 0 and named[-1] < count):
            raise ValueError(
                f"the target {text!r} is not among the choices {letter(0)} to {letter(count - 1)}"
            )
        indices += named
    return sorted(indices)


@functools.lru_cache(maxsize=1024)
def _positions(text: str) -> tuple[int, ...]:
    """Return the sorted indices that a text names, -1 for invalid names."""
    indices = []
    for token in text.replace(",", " ").split():
        names = (token,) if token.isnumeric() else token
        indices += [_position(name) for name in names]
    return tuple(sorted(indices))


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
    lines = [f"{letter(index)}) {option.value}" for index, option in enumerate(shown)]
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

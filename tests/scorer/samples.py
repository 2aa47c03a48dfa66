"""States, outcomes and generated answers that the tests of the scorers share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from guardtui.scorer import Target, TaskState

CASES = int(os.environ.get("GUARDTUI_ORACLE_CASES", "60"))
"""How many cases are generated for each test against an oracle."""

generated = settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a scorer gives that waits for nothing; no event loop is needed."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a text scorer waited for something")


def score_of(scorer: Any, completion: str, *targets: str) -> Any:
    return run(scorer(TaskState(completion), Target(targets)))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, with its type, or the type of what it raises; NaN equals itself."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - the type is what is compared
        return type(error).__name__
    return plain(result)


def plain(value: Any) -> Any:
    """A value in a form that is equal only to one of the same types."""
    if isinstance(value, float) and math.isnan(value):
        return "not a number"
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(one) for one in value)
    return type(value).__name__, value


def told(score: Any) -> Any:
    """All that a score says."""
    if score is None:
        return None
    return {
        "value": plain(score.value),
        "answer": score.answer,
        "explanation": score.explanation,
        "reason": score.reason,
        "metadata": score.metadata,
        "history": score.history,
    }


ANSWERS: Sequence[str] = (
    "",
    "   ",
    "\n\t",
    "Paris",
    "paris.",
    " The capital of France is **Paris**. ",
    "The answer is 42.",
    "ANSWER: B",
    "Let me think.\n\nANSWER: C\n",
    "ANSWER: A\nANSWER: not sure",
    "ANSWER: A ANSWER: B",
    "**ANSWER: Yes**",
    "answer:\n\n  forty two",
    "ANSWER: New York  ",
    "ANSWER: Yes...",
    "ANSWER:",
    "ANSWER: ",
    "MYANSWER : x",
    "ANSWERS: x",
    "ANSWER\uff1a x",
    "$1,234.50 in total",
    "It costs \\$5 million, i.e. 5,000,000 dollars",
    "60%",
    "about 7,800,000,000 people",
    "-0",
    "(42)",
    "x = 3.14159!",
    "2\u00bd cups",
    "\u0664\u0662",
    "The U.S. has 50 states; Fran\u00e7ois said \u201cno\u201d.",
    "Stra\u00dfe",
    "STRASSE",
    "\ufb01sh and chips",
    "1e400 nan inf",
    "a well-known fact: the cat sat on the mat",
    "3.0\n4.0",
    "I'm sorry, but I cannot help with that request.\n\nIs there anything else?",
    "```python\nprint(42)\n```",
    "<think>\nANSWER: A\n</think>\nANSWER: B",
    "line one\r\nANSWER: two \r\n",
)

_FRAGMENTS = (
    *ANSWERS,
    "ANSWER:", "answer :", "An\u017fwer:", "ANSWER:\n", "ANSWER\n:", ":", "A", "b", "C)", "D.",
    "\u212a", "\u0130", "\u0131", "\u017f", "Yes", "no", "the", "a", "an", "Paris", "42", "25", "5",
    "007", "-5", "+5", "--5", "3.14", "3.1416", "1,000", "1_000", "1e3", "1E-3", "12%", "$5", "5$",
    "\u20ac5,-", "\u00a35", "*5*", "**5**", "(5)", "[5]", "'5'", "5.", ".5", "5.5.", "5!", "~5",
    ">=5", "=5", "1/2", "\u00bd", "\u215f", "2\u00bd", "\u2167", "\u4e09", "\u5341\u4e8c",
    "\u4e8c\u3007\u4e8c\u4e94", "12\u4e07", "3\u00b2", "10\u207b\u00b3", "\u2212", "\uff0d",
    "\u2460", "nan", "inf", "-inf", "infinity", "\\$", "\\*", ".", ",", "-", "_", "!", "?", ";",
    "\u2026", "\u3002", "\u201c", "\u201d", "\u200b", "\u00a0", "\u2009", "\x0b", "\x1c", "\u2028",
    "e\u0301", "\u00e9", "\u00df", "SS", "\ufb01", "fi", "\u0149", "\u1e9e", "don't", "don\u2019t",
    "U.S.", "$3.50", "50%", "1.2.3", "the\ncat",
)  # fmt: skip

pieces = st.one_of(st.sampled_from(_FRAGMENTS), st.text(max_size=4))
gaps = st.sampled_from(["", " ", "  ", "\n", "\t", "\r\n", "-", ". ", ", "])


@st.composite
def texts(draw: st.DrawFn, most: int = 5) -> str:
    """An answer put together of fragments that scorers stumble over."""
    parts: list[str] = []
    for piece in draw(st.lists(pieces, max_size=most)):
        parts += [piece, draw(gaps)]
    return "".join(parts)


@st.composite
def answers_and_targets(draw: st.DrawFn) -> tuple[str, list[str]]:
    """An answer and targets, of which some stand in it."""
    completion = draw(st.one_of(texts(), st.sampled_from(ANSWERS)))
    part = st.builds(
        lambda start, length: completion[start : start + length],
        st.integers(0, len(completion)),
        st.integers(0, 12),
    )
    words = st.sampled_from([*completion.split(), ""])
    one = st.one_of(
        words, words.map(str.upper), part, pieces, texts(2), st.just(completion),
        st.just(completion.strip().lower()),
    )  # fmt: skip
    return completion, draw(st.lists(one, max_size=3))

"""The text scorers give what inspect_ai's give: value, answer, explanation and reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import guardtui.scorer as ours
from tests.scorer.samples import (
    ANSWERS,
    answers_and_targets,
    generated,
    outcome,
    pieces,
    run,
    texts,
    told,
)

pytest.importorskip("inspect_ai", minversion="0.3.285")

import inspect_ai.scorer as theirs
from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState as TheirState

pytestmark = pytest.mark.exhaustive


def their_state(completion: str, choices: Sequence[str] | None = None) -> Any:
    return TheirState(
        model="none/none",  # type: ignore[arg-type]
        sample_id=1,
        epoch=1,
        input="question",
        messages=[],
        choices=list(choices) if choices is not None else None,
        output=ModelOutput.from_content("none/none", completion),
    )


def agree(
    name: str, completion: str, targets: Sequence[str], *args: Any, own: bool = False, **kwargs: Any
) -> None:
    """Both say the same: of a state of theirs, or each of its own."""
    state = their_state(completion)
    mine = getattr(ours, name)(*args, **kwargs)
    oracle = getattr(theirs, name)(*args, **kwargs)
    mine_of = ours.TaskState(completion) if own else state
    got = outcome(lambda: told(run(mine(mine_of, ours.Target(targets)))))
    expected = outcome(lambda: told(run(oracle(state, theirs.Target(targets)))))
    if isinstance(expected, dict) and expected["reason"][1] == "invalid_response_format":
        # How a missing answer is worded is each one's own; that the output follows is not.
        assert got["explanation"][1].endswith(completion)
        assert expected["explanation"][1].endswith(completion)
        del got["explanation"], expected["explanation"]
    elif isinstance(expected, dict) and name in ("pattern", "answer"):
        _unify_not_found(got, completion)
        _unify_not_found(expected, completion)
    assert got == expected


def _unify_not_found(score: dict[str, Any], completion: str) -> None:
    if score["explanation"][1] != completion:
        assert score["explanation"][1].endswith(completion)
        score["explanation"] = "not found"


LOCATIONS = ("begin", "end", "any", "exact", "elsewhere")


@generated
@given(
    answers_and_targets(), st.sampled_from(LOCATIONS), st.booleans(), st.booleans(), st.booleans()
)
def test_match(
    case: tuple[str, list[str]], location: str, ignore_case: bool, numeric: bool, own: bool
) -> None:
    agree(
        "match", *case, location, ignore_case=ignore_case, numeric=numeric, own=own
    )  # fmt: skip


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("numeric", [False, True])
def test_match_of_common_answers(location: str, numeric: bool) -> None:
    targets = [
        "Paris", "B", "42", "5", "60%", "$5 million", "1234.5", "7.8e9", "0", "3.1416", "2.5",
        "", "!?", "C++", "-5", "U.S.", "x*y", "1/2", "(42)",
    ]  # fmt: skip
    for completion in ANSWERS:
        for target in targets:
            agree("match", completion, [target], location, numeric=numeric)
        agree("match", completion, [], location, numeric=numeric)
        agree("match", completion, targets, location, numeric=numeric)


SIGNS = (
    "0123456789.,eE+-\u2212\ufe63\uff0d\u2013\u8ca0\u8d1f\uff0b\ufe62\u6b63 \u00a0\u2009\u2007"
    "\u202f'\u2019\u02bc\u066c\u060c\u3001\uff0c\u066b\uff0e\u70b9\u9ede\u00bd\u00bc\u2153\u215f"
    "\u2189\u2070\u00b9\u00b2\u00b3\u2074\u2079\u207a\u207b\u3007\u96f6\u4e00\u4e8c\u4e09\u56db"
    "\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u4e07\u4ebf\u5146\u842c\u5104\u5eff\u5345"
    "\u534c\u5344\u4e24\u5169\u58f9\u8d30\u53c1\u8086\u4f0d\u9646\u67d2\u634c\u7396\u62fe\u4f70"
    "\u4edf\u2167\u2160\u216b\u2460\u2464\u2480\u24f5\u0664\u0662\u0660\u096b\u0e53\uff11\uff12"
    "()\u0f33\u09f4\u25cb\u767d"
)


@generated
@given(st.text(st.sampled_from(SIGNS), max_size=7), st.booleans())
@example("--5", False)
@example("-2\u00b2", False)
@example("2\u00bd", False)
@example("12\u4e07", False)
@example("1E310\u2070", False)
def test_numbers(text: str, as_target: bool) -> None:
    """`exact` answers with the number that was read, so every reading shows."""
    agree("match", text, ["0"], "exact", numeric=True)
    if as_target:
        agree("match", f"x {text} y", [text], "any", numeric=True)
        agree("match", text, [text], "end", numeric=True)


@generated
@given(st.characters())
def test_every_sign_that_may_be_a_number(sign: str) -> None:
    for text in (sign, f"1{sign}", f"{sign}1", f"1{sign}2", f"-{sign}", f"{sign}{sign}"):
        agree("match", text, ["0"], "exact", numeric=True)


@generated
@given(answers_and_targets(), st.booleans(), st.booleans())
def test_includes(case: tuple[str, list[str]], ignore_case: bool, own: bool) -> None:
    agree("includes", *case, ignore_case, own=own)


EXPRESSIONS = (
    r"ANSWER\s*:\s*(\w+)", r"(\d+)", r"(.*)", r"(a)|(b)", r"(?:x)?(y)?", r"(\w+) (\w+)", r"\d+",
    r"", r"(", r"(?i)paris", r"^(.)(.)?", r"(\S+)\s*$", r"(?P<name>\w+)", r"(\w)(?=\1)", r"[",
    r"(\d+)%|(\d+)\$", r"(?s)(.+)", r"(straße|STRASSE)",
)  # fmt: skip


@generated
@given(answers_and_targets(), st.sampled_from(EXPRESSIONS), st.booleans(), st.booleans())
@example(("", [""]), "(.*)", True, True)
@example(("A B", ["a", "b"]), r"(\w+) (\w+)", True, True)
@example(("STRASSE", ["straße"]), r"(\w+)", True, False)
def test_pattern(
    case: tuple[str, list[str]], expression: str, ignore_case: bool, match_all: bool
) -> None:
    agree("pattern", *case, expression, ignore_case=ignore_case, match_all=match_all)


def test_a_compiled_pattern_is_taken_as_theirs_takes_it() -> None:
    for ignore_case in (False, True):
        agree("pattern", "a 1", ["1"], re.compile(r"(\d)"), ignore_case)


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Answers with markers here and there, and targets that may stand after them."""
    marker = st.sampled_from(
        ["ANSWER:", "ANSWER: ", "answer : ", "An\u017fwer: ", "ANSWER:\n\n", "ANSWER\n:", "ANSWER"]
    )
    words = st.one_of(
        st.sampled_from(["A", "b", "Yes", "not sure", "New York", "Yes.", "Yes...", "3.14", "*B*"]),
        pieces,
    )
    parts = draw(st.lists(st.one_of(st.tuples(marker, words), st.tuples(words, gaps_)), max_size=5))
    completion = "".join("".join(part) + draw(gaps_) for part in parts)
    return completion, draw(st.lists(words, min_size=1, max_size=2))


gaps_ = st.sampled_from(["", " ", "\n", "\n\n", " \n", "\r\n", "\t", ".", ".\n", "\x0b", "\u2028"])


@generated
@given(st.one_of(marked(), answers_and_targets()), st.sampled_from(["letter", "word", "line"]))
@example(("ANSWER:  \n ", [""]), "line")
@example(("ANSWER: A\nANSWER:ANSWER:", ["a"]), "letter")
@example(("ANSWER:xANSWER:y", ["y"]), "word")
@example(("ANSWER:xANSWER\n:", ["y"]), "word")
@example(("ANSWER:ANSWER:\nANSWER:", ["y"]), "word")
def test_answer(case: tuple[str, list[str]], kind: str) -> None:
    agree("answer", *case, kind)


@pytest.mark.parametrize("kind", ["letter", "word", "line"])
def test_answer_of_common_answers(kind: str) -> None:
    for completion in ANSWERS:
        agree("answer", completion, ["B", "Yes", "New York  ", "forty two", "two \r"], kind)


def test_answer_without_a_known_kind() -> None:
    for args in ((), ("paragraph",), ("LETTER",)):
        assert outcome(lambda args=args: ours.answer(*args)) == "TypeError"
        assert outcome(lambda args=args: theirs.answer(*args)) == "TypeError"


ADDED = st.sampled_from([None, str.upper, lambda text: text.split()[-1], lambda text: ""])


@generated
@given(
    answers_and_targets(),
    ADDED,
    st.one_of(st.none(), st.lists(st.sampled_from(["cat", "The", "42", "is", "", "a b", "don't"]))),
)
def test_f1(case: tuple[str, list[str]], answer_fn: Any, stop_words: list[str] | None) -> None:
    agree("f1", *case, answer_fn=answer_fn, stop_words=stop_words)


@generated
@given(
    st.lists(st.sampled_from(["a", "b", "the", "cat", "1", "1.0", "x"])).map(" ".join),
    st.lists(st.lists(st.sampled_from(["a", "b", "the", "cat", "1", "1.0", "x"])).map(" ".join)),
)
def test_f1_and_exact_of_few_words(completion: str, targets: list[str]) -> None:
    agree("f1", completion, targets)
    agree("exact", completion, targets)


@generated
@given(answers_and_targets())
@example(("", [""]))
@example(("the", ["a"]))
def test_exact(case: tuple[str, list[str]]) -> None:
    agree("exact", *case)


@generated
@given(texts(3))
def test_a_normal_form_is_that_of_theirs(text: str) -> None:
    """An answer against every spelling of itself."""
    for other in (text.upper(), text.replace(" ", "-"), text.replace(",", ""), text.strip(".!?,")):
        agree("exact", text, [other])
        agree("f1", text, [other])


MARKS = st.sampled_from([None, False, True, True, 1, "yes"])
NAMES = st.one_of(
    st.sampled_from(
        ["A", "b", "C", "AB", "A,C", "a, b", "B C", "AA", "1", "12", "A1", "0", "", " ", "é", "Z",
         "½", "²", "٣", "ſ", "ı", "A-B", "-1", "①", "Ⅻ", "三", "1a", "2,A", "01"]
    ),
    st.text("ABCabc12,; ", max_size=3),
)  # fmt: skip


@generated
@given(st.data(), st.integers(0, 30), st.booleans())
def test_choice(data: st.DataObject, count: int, shuffled: bool) -> None:
    completion = data.draw(st.sampled_from(["ANSWER: A", "", "  "]))
    targets = data.draw(st.lists(NAMES, max_size=3))
    order = data.draw(st.permutations(range(count))) if shuffled else list(range(count))
    texts_ = [f"choice {place}" for place in order]
    state = their_state(completion, texts_)
    mine = ours.TaskState(completion, choices=texts_)
    few = data.draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=3))
    for place, original in enumerate(order):
        marked_as = data.draw(MARKS) if place in few else None
        state.choices[place].correct = mine.choices[place].correct = marked_as
        state.choices[place].original_position = original
        mine.choices[place].original_position = original
    got = outcome(lambda: told(run(ours.choice()(mine, ours.Target(targets)))))
    on_theirs = outcome(lambda: told(run(ours.choice()(state, ours.Target(targets)))))
    assert on_theirs == got
    expected = outcome(lambda: told(run(theirs.choice()(state, theirs.Target(targets)))))
    if isinstance(expected, dict) and order != sorted(order):
        for score in (got, expected):
            explanation = score.pop("explanation")[1]
            for place, text in enumerate(texts_):
                name = chr(ord("A") + place) if place < 26 else str(place - 25)
                assert f"{name}) {text}\n" in explanation
    assert got == expected

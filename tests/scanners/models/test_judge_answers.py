"""What answers say: in words, decorated, structured, cut off, refused, empty, or quoting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.http.openai import ChatCompletion
from guardtui.scanners.models import judge_answers as reading
from guardtui.scanners.models.judge_answers import AnswerForm, FormError, ReadAnswer

ANSWER = AnswerForm.parse("answer")


async def read(text: str, form: AnswerForm = ANSWER, **more: str) -> ReadAnswer:
    return await form.read(ChatCompletion(text, **more))


@pytest.mark.parametrize(
    ("text", "belongs", "reason"),
    [
        ("It is about tax.\nANSWER: yes", True, "It is about tax."),
        ("It is not.\nANSWER: no", False, "It is not."),
        ("ANSWER: yes", True, ""),
        ("Because.\n\nAnswer: No.\n\n", False, "Because."),
        ("Because.\n**ANSWER: yes**", True, "Because."),
        ("Because.\n**Answer:** *No*", False, "Because."),
        ("Because.\n> `ANSWER: yes`", True, "Because."),
        ("### ANSWER: no ###", False, ""),
        ("```\nBecause.\nANSWER: yes\n```", True, "```\nBecause."),
        ("Because.\nANSWER: 'no'", False, "Because."),
        ("Because.\nANSWER: true", True, "Because."),
        ('{"reason": "It is.", "answer": "yes"}', True, "It is."),
        ('{"reason": "It is not.", "answer": "no"}', False, "It is not."),
        ('{"answer": "No."}', False, ""),
        ('{"reason": null, "answer": true}', True, ""),
        ('```json\n{"reason": "a\\nb", "answer": "no"}\n```', False, "a\nb"),
        ("Yes.", True, ""),
        (" no\n", False, ""),
        ("<think>Tax? ANSWER: no</think>\n\nIt is.\nANSWER: yes", True, "It is."),
        ('<think>Tax!</think>{"answer": "yes"}', True, "Tax!"),
    ],
)
async def test_readable_answers_give_a_decision(text: str, belongs: bool, reason: str) -> None:
    assert await read(text) == ReadAnswer(belongs, reason)


@pytest.mark.parametrize(
    ("text", "belongs"),
    [
        ("The prompt says\nANSWER: yes\nwhich is a trick.\nANSWER: no", False),
        ('It holds "ANSWER: no", but it is.\nANSWER: yes', True),
        ('{"reason": "It says\\nANSWER: no", "answer": "yes"}', True),
        ('{"reason": "{\\"answer\\": \\"yes\\"}", "answer": "no"}', False),
    ],
)
async def test_quoted_answer_is_ignored(text: str, belongs: bool) -> None:
    assert (await read(text)).belongs is belongs


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("It belongs, yes.", "the answer does not end with a verdict"),
        ("The prompt says\nANSWER: yes\nso I would not trust it.", "does not end with a verdict"),
        ("ANSWER: maybe", "the answer is not yes or no"),
        ("ANSWER: yes or no", "the answer has no verdict"),
        ("ANSWER:", "the answer has no verdict"),
        ("yes and no", "does not end with a verdict"),
        ('{"reason": "x", "answer": null}', "is not yes or no"),
        ('{"reason": "x"}', "does not end with a verdict"),
        ('{"reason": "x", "answer": "ye', "does not end with a verdict"),
        ("[" * 100_000, "does not end with a verdict"),
        ("<think>I wonder", "only thoughts"),
    ],
)
async def test_unreadable_answers_keep_their_text(text: str, problem: str) -> None:
    reading = await read(text)
    assert reading.belongs is None
    assert problem in reading.problem
    assert reading.reason
    assert len(reading.reason) <= 2_000


async def test_empty_answers_have_a_problem() -> None:
    assert (await read(" \n")).problem == "no answer: the model returned no text"
    cut = await read("", finish="length")
    assert cut.problem == "no answer: truncated at its token limit"
    filtered = await read("", finish="content_filter")
    assert filtered.problem == "no answer: a filter of the service stopped it"
    refusal = await read("", refusal="I cannot help with that.")
    assert refusal == ReadAnswer(None, "I cannot help with that.", "the model refused to judge")


async def test_truncated_answer_has_a_problem() -> None:
    for text in ("It is about", '{"reason": "It is', "<think>Well"):
        reading = await read(text, finish="length")
        assert reading.problem == "the answer was truncated at its token limit"
    # What came says it all.
    assert (await read("It is.\nANSWER: yes", finish="length")).belongs is True


@given(text=st.text(), finish=st.sampled_from(["stop", "length", ""]))
async def test_any_text_is_read_or_has_a_problem(text: str, finish: str) -> None:
    reading = await read(text, finish=finish)
    assert (reading.belongs is None) == bool(reading.problem)


@given(quoted=st.text(), word=st.sampled_from(["yes", "no"]))
async def test_only_the_last_line_decides(quoted: str, word: str) -> None:
    reading = await read(f"I saw {quoted!r}.\nANSWER: {word}")
    assert reading.belongs is (word == "yes")


async def test_pattern_form_captures_the_answer() -> None:
    form = AnswerForm.parse(r"pattern:VERDICT=(\w+)")
    assert not form.structured
    assert (await read("so: verdict=YES", form)).belongs is True
    assert (await read("so: VERDICT=false", form)).belongs is False
    assert (await read("VERDICT=2", form)).problem == "the answer is not yes or no"
    assert (await read("nothing", form)).problem == "the answer has no verdict"
    assert (await read('{"answer": "yes"}', form)).belongs is None
    assert (await read("I say no", AnswerForm.parse(r"pattern:\b(?:yes|no)\b"))).belongs is False


async def test_an_expression_without_end_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_READING_SECONDS", 0.1)
    answer = await read("a" * 40 + "!", AnswerForm.parse("pattern:(a+)+$"))
    assert answer.belongs is None
    assert answer.problem == "the answer cannot be read: it takes longer than 0.1 s"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("word", "write answer, graded, or pattern:EXPRESSION"),
        ("answer:x", "unknown form of answer"),
        ("pattern:", "unknown form of answer"),
        ("pattern:(", "is not an expression"),
        ("pattern:(yes)|(no)", "has 2 groups"),
        ("", "unknown form"),
    ],
)
def test_invalid_forms_are_rejected(spec: str, told: str) -> None:
    with pytest.raises(FormError, match=told.replace("(", r"\(")):
        AnswerForm.parse(spec)


async def test_graded_form_cannot_read_a_completion() -> None:
    form = AnswerForm.parse("graded")
    assert not form.structured
    with pytest.raises(TypeError):
        await read("GRADE: C", form)

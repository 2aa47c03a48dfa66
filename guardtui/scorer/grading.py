"""Prompts of grading models, and extraction of the grades."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guardtui.scorer.types import CORRECT, INCORRECT, PARTIAL

QA_TEMPLATE = """\
You are grading an answer that was given to a task, by a criterion. This is the data:

[BEGIN DATA]
************
[Task]: {question}
************
[Submission]: {answer}
************
[Criterion]: {criterion}
************
[END DATA]

Does the submission meet the criterion?

{instructions}
"""

FACT_TEMPLATE = """\
You are comparing a submitted answer with an answer by an expert to the same question. This is the \
data:

[BEGIN DATA]
************
[Question]: {question}
************
[Expert]: {criterion}
************
[Submission]: {answer}
************
[END DATA]

Compare the facts of the submission with those of the expert's answer. Differences of style,
grammar and punctuation do not matter. Does the submission contain the content of the expert's
answer?

{instructions}
"""

_FIELDS = ("question", "answer", "criterion", "instructions")

_MARKERS = re.compile(r"\[(BEGIN|END) (DATA)\]", re.IGNORECASE)

# Includes zero-width characters, which models sometimes put around a colon.
_BLANKS = r"[\s\u200b-\u200f\u2060\u2063\ufeff]*"
_MARKER = re.compile(rf"(?<!\w)GRADE{_BLANKS}:{_BLANKS}", re.IGNORECASE)
_VERDICT = re.compile(r"\w*")
_LETTER = re.compile("[CPI]", re.IGNORECASE)
_VERDICTS = {
    **dict.fromkeys(("c", "correct"), CORRECT),
    **dict.fromkeys(("i", "incorrect"), INCORRECT),
    **dict.fromkeys(("p", "partial"), PARTIAL),
}


def text_or_file(text: str) -> str:
    """Return the text of a file if this is the path of one that exists, else the text itself.

    Raises ValueError for a file that cannot be read, or is not UTF-8.
    """
    try:
        path = Path(text)
        if not path.is_file():
            return text
    except (OSError, ValueError):  # too long for a name, or with a null character
        return text
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"the file {text} is not UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"the file {text} cannot be read: {error.strerror}") from error


def template_fields(template: str) -> set[str]:
    """Return the variables of a template; none for a broken one."""
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template)]
    except ValueError:
        return set()
    return {re.split(r"[.\[]", name, maxsplit=1)[0] for name in fields if name is not None}


def default_instructions(*, partial_credit: bool) -> str:
    """Return the instructions of a grader if the author gives none."""
    partial = f', "{PARTIAL}" when it is partly so' if partial_credit else ""
    letters = f'"{CORRECT}" when the answer to the question above is yes{partial}, else'
    return (
        "First reason step by step about the submission, in your own words, and do not begin with "
        f'the verdict. Then end with one line "GRADE: $LETTER" and nothing after it, where $LETTER '
        f'is {letters} "{INCORRECT}".'
    )


def grading_prompt(
    template: str,
    *,
    question: str,
    answer: str,
    criterion: str,
    instructions: str,
    metadata: Mapping[str, Any],
) -> str:
    """Return the filled-in template. Raises KeyError for an unknown variable.

    Texts of the sample cannot end the data section, because markers in them are altered.
    """
    values = {key: _unmarked(value) for key, value in metadata.items() if key not in _FIELDS}
    return template.format(
        question=_unmarked(question),
        answer=_unmarked(answer),
        criterion=_unmarked(criterion),
        instructions=instructions,
        **values,
    )


def _unmarked(value: Any) -> Any:
    if isinstance(value, str):
        return _MARKERS.sub(r"[\1-\2]", value)
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_unmarked(item) for item in value)
    return value


def read_grade(completion: str, *, offered: Sequence[str] | None) -> str | None:
    """Return the last grade of a completion, or None.

    With `offered` grades, the whole word after the last marker must be one of them. With None, as
    for the author's own instructions, the last marker followed by C, P or I counts.
    """
    if offered is None:
        letter = _last_letter(completion)
        return None if letter is None else letter.upper()
    ends = [marker.end() for marker in _MARKER.finditer(completion)]
    if not ends:
        return None
    word = _VERDICT.match(completion, ends[-1])
    verdict = "" if word is None else word[0]
    grade = _VERDICTS.get(verdict.lower(), verdict.upper() if len(verdict) == 1 else None)
    return grade if grade in offered else None


def _last_letter(completion: str) -> str | None:
    """Return the letter after the last marker that is followed by C, P or I, in its case."""
    letters = [_LETTER.match(completion, marker.end()) for marker in _MARKER.finditer(completion)]
    found_letters = [letter[0] for letter in letters if letter is not None]
    return found_letters[-1] if found_letters else None


def read_by_pattern(completion: str, pattern: str) -> str | None:
    """Return what the first group of an author's pattern captures, unchanged, or None.

    An empty pattern takes the last marked letter. Raises re.error for an invalid pattern, and
    IndexError for one without a group.
    """
    if not pattern:
        return _last_letter(completion)
    pattern_match = re.search(pattern, completion)
    if pattern_match is None:
        return None
    grade: str | None = pattern_match.group(1)
    return grade

"""`pattern` and `answer`: what an expression captures, or what follows the word ANSWER."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from guardtui.scorer.decorators import scorer
from guardtui.scorer.metrics import accuracy, stderr
from guardtui.scorer.state import TextState
from guardtui.scorer.text import verdict
from guardtui.scorer.types import INVALID_RESPONSE_FORMAT, Score, Scorer


@scorer(metrics=[accuracy(), stderr()])
def pattern(pattern: str, ignore_case: bool = True, match_all: bool = False) -> Scorer:
    """Whether what the groups of a regular expression capture in the answer is a target.

    One group has to equal a target; with `match_all` every group that took part. An expression
    without groups captures all that it matches. Raises re.error while scoring for an expression
    that is none.
    """

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        # re keeps compiled expressions; one that is broken must not fail before it is used.
        found = re.search(pattern, completion, re.IGNORECASE if ignore_case else 0)
        if found is None:
            return _not_found(completion)
        groups = found.groups() or (found[0],)
        if match_all:
            answer = _all_of(groups, target, ignore_case)
            correct = bool(answer)
        else:
            correct, answer = _one_of(groups, target, ignore_case)
        return verdict(correct, completion, answer=answer, explanation=completion)

    return score


def _one_of(
    groups: Sequence[str | None], target: Sequence[str], ignore_case: bool
) -> tuple[bool, str | None]:
    """Whether a group is a target and which; a single group is told although it is none."""
    wanted = [text.lower() for text in target] if ignore_case else target
    for group in groups:
        if group is not None and (group.lower() if ignore_case else group) in wanted:
            return bool(group), group
    return False, groups[0] if len(groups) == 1 else None


def _all_of(groups: Sequence[str | None], target: Sequence[str], ignore_case: bool) -> str | None:
    """All targets in a row when each group that took part is one of them, else None."""
    took_part = [group for group in groups if group is not None]
    wanted = [text.lower() for text in target] if ignore_case else target
    if not took_part:
        return None
    for group in took_part:
        if (group.lower() if ignore_case else group) not in wanted:
            return None
    return "".join(target)


def _not_found(completion: str) -> Score:
    return verdict(
        False,
        completion,
        answer=None,
        explanation=f"Nothing in the output fits the pattern:\n{completion}",
        reason=INVALID_RESPONSE_FORMAT,
    )


@scorer(metrics=[accuracy(), stderr()])
def answer(pattern: Literal["letter", "word", "line"]) -> Scorer:
    """Whether the letter, the word or the line after "ANSWER:" is a target, in any case.

    letter and word are read after the last marker, and a word has to end its line; a line is read
    after the first marker that has it as the last one of the output. Raises TypeError for another
    type.
    """
    if pattern not in _READERS:
        raise TypeError(f"answer reads a letter, a word or a line, not {pattern!r}")
    read = _READERS[pattern]

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        found = read(completion)
        if found is None:
            return _not_found(completion)
        correct, told = _one_of((found,), target, True)
        return verdict(correct, completion, answer=told, explanation=completion)

    return score


_MARKER = "answer"
_LETTER = re.compile(r"\s*([A-Z])(?!\w)", re.IGNORECASE)
_WORD = re.compile(r"\s*(\S+?)[.,;:!?]?\s*(?:\n|\Z)")


def _markers_from_behind(completion: str) -> Iterator[tuple[int, int]]:
    """Where markers begin and end, the last one first.

    Colons are few and found fast from behind, unlike a word in any case.
    """
    colon = completion.rfind(":")
    while colon >= 0:
        end = colon
        while end and completion[end - 1].isspace():
            end -= 1
        begin = max(end - len(_MARKER), 0)
        # A long s is an s in any case, too.
        if completion[begin:end].casefold() == _MARKER:
            yield begin, colon + 1
        colon = completion.rfind(":", 0, colon)


def _letter(completion: str) -> str | None:
    for _, end in _markers_from_behind(completion):
        found = _LETTER.match(completion, end)
        return found[1] if found else None
    return None


def _word(completion: str) -> str | None:
    """The word of the last marker, or of an earlier one whose word has the later ones in it."""
    last, word = -1, None
    for begin, end in _markers_from_behind(completion):
        found = _WORD.match(completion, end)
        if last < 0:
            last = begin
        elif found is None or found.end() <= last:
            break
        word = found[1] if found else None
    return word


def _line(completion: str) -> str | None:
    """The line of the first marker after which no other line follows."""
    text_end = len(completion.rstrip())
    line = None
    for _, end in _markers_from_behind(completion):
        found = _last_line(completion, end, text_end)
        if found is not None:
            line = found
        elif end < text_end:
            break
    return line


def _last_line(completion: str, start: int, text_end: int) -> str | None:
    """The line after `start`, with the blanks behind it, when the text has no further one.

    Of nothing but whitespace the last sign that is no newline is the line.
    """
    if start >= text_end:
        return completion[start:].rstrip("\n")[-1:] or None
    while completion[start].isspace():
        start += 1
    end = completion.find("\n", start)
    if end < 0:
        return completion[start:]
    return completion[start:end] if end >= text_end else None


_READERS: dict[str, Callable[[str], str | None]] = {
    "letter": _letter,
    "word": _word,
    "line": _line,
}

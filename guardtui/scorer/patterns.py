"""`pattern` and `answer`: what a regular expression captures, or what follows ANSWER."""

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
    """Return whether the text captured by a regular expression in the answer is a target.

    One group has to equal a target; with `match_all` every group that took part. An expression
    without groups captures its whole match. While scoring, raises re.error for an invalid
    expression.
    """

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        # re caches compiled expressions; an invalid one must not fail before it is used.
        matched = re.search(pattern, completion, re.IGNORECASE if ignore_case else 0)
        if matched is None:
            return _not_found(completion)
        groups = matched.groups() or (matched[0],)
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
    """Return whether a group is a target, and the group; a single group in any case."""
    wanted = [text.lower() for text in target] if ignore_case else target
    for group in groups:
        if group is not None and (group.lower() if ignore_case else group) in wanted:
            return bool(group), group
    return False, groups[0] if len(groups) == 1 else None


def _all_of(groups: Sequence[str | None], target: Sequence[str], ignore_case: bool) -> str | None:
    """Return all targets joined if each group that took part is one of them, else None."""
    used = [group for group in groups if group is not None]
    wanted = [text.lower() for text in target] if ignore_case else target
    if not used:
        return None
    for group in used:
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
    """Return whether the letter, word or line after "ANSWER:" is a target, ignoring case.

    A letter or word is read after the last marker, and a word has to end its line. A line is read
    after the first marker for which it is the last line of the output. Raises TypeError for another
    type.
    """
    if pattern not in _READERS:
        raise TypeError(f"answer reads a letter, a word or a line, not {pattern!r}")
    read = _READERS[pattern]

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        captured = read(completion)
        if captured is None:
            return _not_found(completion)
        correct, shown = _one_of((captured,), target, True)
        return verdict(correct, completion, answer=shown, explanation=completion)

    return score


_MARKER = "answer"
_LETTER = re.compile(r"\s*([A-Z])(?!\w)", re.IGNORECASE)
_WORD = re.compile(r"\s*(\S+?)[.,;:!?]?\s*(?:\n|\Z)")


def _markers_from_behind(completion: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each marker, the last one first.

    Searching backwards for colons is fast because they are rare, unlike case-insensitive words.
    """
    colon = completion.rfind(":")
    while colon >= 0:
        end = colon
        while end and completion[end - 1].isspace():
            end -= 1
        begin = max(end - len(_MARKER), 0)
        # casefold also maps a long s to s.
        if completion[begin:end].casefold() == _MARKER:
            yield begin, colon + 1
        colon = completion.rfind(":", 0, colon)


def _letter(completion: str) -> str | None:
    for _, end in _markers_from_behind(completion):
        letter = _LETTER.match(completion, end)
        return letter[1] if letter else None
    return None


def _word(completion: str) -> str | None:
    """Return the last marker's word, or of an earlier marker whose word includes later ones."""
    last, word = -1, None
    for begin, end in _markers_from_behind(completion):
        matched = _WORD.match(completion, end)
        if last < 0:
            last = begin
        elif matched is None or matched.end() <= last:
            break
        word = matched[1] if matched else None
    return word


def _line(completion: str) -> str | None:
    """Return the line of the first marker that no further line follows."""
    text_end = len(completion.rstrip())
    line = None
    for _, end in _markers_from_behind(completion):
        last_line = _last_line(completion, end, text_end)
        if last_line is not None:
            line = last_line
        elif end < text_end:
            break
    return line


def _last_line(completion: str, start: int, text_end: int) -> str | None:
    """Return the line after `start`, with trailing blanks, if the text has no further line.

    If only whitespace follows, the line is its last character that is not a newline.
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

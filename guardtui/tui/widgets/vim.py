"""Vim's keys as an option for the fields: what each key makes of a text and a place in it.

There are h j k l w b e W B E 0 ^ $ gg G f F t T ; , with counts; d c y with them and with iw aw
iW aW i" a" (also ' and `); dd cc yy Y D C S s x X r J p P; i I a A; v with y d x c s o; u and ^r.

Text objects end with their line. A field is a paragraph. So o and O are A and I; j and k go by
lines as they are wrapped, and from the outermost on to another field; whole lines that were yanked
are put with a blank beside the text instead of on a line of their own. i I a A v take no count.
Left out: marks, macros, named registers, searches with / and ?, repetition with ., changes of case,
indents, objects for sentences and brackets, and what begins with a colon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from guardtui.tui.widgets.vim_motions import (
    BLANK,
    a_word,
    find,
    first_of_line,
    inner_word,
    kind,
    last_on_line,
    line_end,
    line_start,
    next_word,
    on_character,
    quoted,
    word_before,
    word_end,
)

_MOTION = r"[hljkwbeWBE0^$G;,]|gg|[fFtT]."
_OBJECT = r"[ia][wW\"'`]"
_COUNT = r"[1-9]\d*(?!\d)"
_NORMAL = re.compile(
    rf"(?P<count>{_COUNT})?(?:(?P<operator>[dcy])(?P<more>{_COUNT})?"
    rf"(?:(?P<lines>(?P=operator))|(?P<object>{_OBJECT})|(?P<target>{_MOTION}))"
    rf"|(?P<motion>{_MOTION})|(?P<command>[xXDCSsJiIaAoOuvpPY])|r(?P<replace>.))",
    re.DOTALL,
)
_NORMAL_BEGUN = re.compile(rf"(?:{_COUNT})?(?:[dcy](?:{_COUNT})?[iagfFtT]?|[gfFtTr])?")
_VISUAL = re.compile(
    rf"(?P<count>{_COUNT})?(?:(?P<object>{_OBJECT})|(?P<motion>{_MOTION})|(?P<command>[ydcxsvo]))",
    re.DOTALL,
)
_VISUAL_BEGUN = re.compile(rf"(?:{_COUNT})?[iagfFtT]?")
_SHORT = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
_LIKE = {
    "left": "h", "right": "l", "up": "k", "down": "j", "home": "0", "end": "$",
    "backspace": "h", "delete": "x", "space": "l", " ": "l",
}  # fmt: skip
_MOST = 9999
"""A count above means this one: nobody holds a key that long on purpose."""


class Mode(StrEnum):
    """What keys mean."""

    NORMAL = "NORMAL"
    INSERT = "INSERT"
    VISUAL = "VISUAL"


@dataclass(slots=True)
class Memory:
    """What all fields share: the yanked text, and what `;` repeats."""

    text: str = ""
    lines: bool = False
    found: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a key makes: `text[start:stop]` becomes `insert`, then the cursor stands at `place`.

    `request` is for the field to do: undo, redo, up, down, next or "" (`count` times).
    """

    place: int
    start: int = 0
    stop: int = 0
    insert: str = ""
    request: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    stop: int
    lines: bool = False
    place: int | None = None
    """Where the cursor stands after lines were yanked, if not where it was."""


@dataclass(slots=True)
class Vim:
    """The keys of one field, one after the other."""

    memory: Memory = field(default_factory=Memory)
    mode: Mode = Mode.NORMAL
    anchor: int = 0
    """Where the selection of visual mode began."""
    pending: str = ""
    """Keys of a command that is not complete."""

    def press(self, key: str, text: str, place: int) -> Outcome | None:
        """What a key makes of the text; None: it is none of Vim's, and typed in insert mode.

        `key` is the character, or a name of Textual's such as "escape".
        """
        if key == "escape":
            return self._escape(text, place)
        if self.mode is Mode.INSERT:
            return None
        place = on_character(text, place)
        if self.pending[-1:] not in ("f", "F", "t", "T", "r") or len(key) > 1:
            key = _LIKE.get(key, key)
        if key == "ctrl+r":
            return self._done(Outcome(place, request="redo"))
        if key == "enter":
            self.mode = Mode.NORMAL
            return self._done(Outcome(place, request="next"))
        if len(key) != 1:
            return None
        self.pending += key
        visual = self.mode is Mode.VISUAL
        found = (_VISUAL if visual else _NORMAL).fullmatch(self.pending)
        if found is not None:
            self.pending = ""
            parts = found.groupdict()
            return self._visual(parts, text, place) if visual else self._normal(parts, text, place)
        if (_VISUAL_BEGUN if visual else _NORMAL_BEGUN).fullmatch(self.pending) is None:
            self.pending = ""
        return Outcome(place)

    def leave(self) -> None:
        """The field was left: the next time it begins in normal mode."""
        self.mode, self.pending = Mode.NORMAL, ""

    def selected(self, place: int) -> tuple[int, int]:
        """What visual mode has selected, with the cursor at `place`: start and end."""
        return min(self.anchor, place), max(self.anchor, place) + 1

    def _done(self, outcome: Outcome) -> Outcome:
        self.pending = ""
        return outcome

    def _escape(self, text: str, place: int) -> Outcome | None:
        if self.mode is Mode.NORMAL and not self.pending:
            return None
        if self.mode is Mode.INSERT:
            place = max(line_start(text, place), place - 1)
        self.leave()
        return Outcome(on_character(text, place))

    # --- normal mode ----------------------------------------------------------------------

    def _normal(self, parts: dict[str, str | None], text: str, place: int) -> Outcome:
        given = parts["count"] or parts["more"]
        count = min(int(parts["count"] or 1) * int(parts["more"] or 1), _MOST)
        if parts["motion"]:
            return self._move(parts["motion"], text, place, count if given else None)
        if parts["replace"]:
            stop = place + count
            if stop > line_end(text, place):
                return Outcome(place)
            return Outcome(stop - 1, place, stop, parts["replace"] * count)
        if parts["command"]:
            short = _SHORT.get(parts["command"])
            if short is None:
                return self._command(parts["command"], text, place, count)
            parts = _parts(short)
        operator = parts["operator"] or ""
        if parts["lines"]:
            span = self._lines(text, place, count - 1)
        elif parts["object"]:
            span = _object(parts["object"], text, place, count)
        else:
            target = parts["target"] or ""
            if operator == "c" and target in ("w", "W") and _inside(text, place):
                span = _Span(place, _change_word(text, place, count, target == "W"))
            else:
                span = self._span(target, text, place, count if given else None)
        return Outcome(place) if span is None else self._operate(operator, span, text, place)

    def _command(self, command: str, text: str, place: int, count: int) -> Outcome:
        if command == "u":
            return Outcome(place, request="undo", count=count)
        if command == "v":
            self.mode, self.anchor = Mode.VISUAL, place
            return Outcome(place)
        if command in "pP":
            return self._put(text, place, count, before=command == "P")
        if command == "J":
            return _join(text, place, max(count - 1, 1))
        self.mode = Mode.INSERT
        end = line_end(text, place)
        start = line_start(text, place)
        indent = len(text[start:end]) - len(text[start:end].lstrip())
        places = {"i": place, "a": min(place + 1, end), "A": end, "o": end}
        return Outcome(places.get(command, start + indent))

    def _move(self, motion: str, text: str, place: int, count: int | None) -> Outcome:
        if motion in "jk":
            return Outcome(place, request="down" if motion == "j" else "up", count=count or 1)
        target = self._target(motion, text, place, count)
        return Outcome(place if target is None else on_character(text, target))

    def _target(self, motion: str, text: str, place: int, count: int | None) -> int | None:
        times = count or 1
        name = motion[0]
        if name in "hl":
            here = place - times if name == "h" else place + times
            return max(line_start(text, place), min(here, line_end(text, place)))
        if name in "wWeEbB":
            step = {"w": next_word, "e": word_end, "b": word_before}[name.lower()]
            if name in "bB" and place == 0:
                return None
            for _ in range(times):
                before, place = place, step(text, place, name.isupper())
                if before == place:
                    break
            return place
        if name in "fFtT;,":
            return self._find(motion, text, place, times)
        if name == "0":
            return line_start(text, place)
        if name == "^":
            return first_of_line(text, place)
        if name == "$":
            below = _below(text, place, min(times - 1, text.count("\n", place)))
            return last_on_line(text, place if below is None else below)
        lines = text.split("\n")
        number = min(count or (1 if name == "g" else len(lines)), len(lines))
        return first_of_line(text, sum(len(line) + 1 for line in lines[: number - 1]))

    def _find(self, motion: str, text: str, place: int, times: int) -> int | None:
        if motion not in (";", ","):
            self.memory.found = motion[0], motion[1]
            return find(text, place, motion[0], motion[1], times)
        if self.memory.found is None:
            return None
        how, character = self.memory.found
        how = how.swapcase() if motion == "," else how
        return find(text, place, how, character, times, again=True)

    # --- operators ------------------------------------------------------------------------

    def _span(self, motion: str, text: str, place: int, count: int | None) -> _Span | None:
        """What an operator with this motion works on."""
        name = motion[0]
        if name in "jk":
            return self._lines(text, place, (count or 1) * (1 if name == "j" else -1))
        target = self._target(motion, text, place, count)
        if target is None:
            return None
        if name in "gG":
            first, last = sorted((place, target))
            return _Span(line_start(text, first), line_end(text, last), True, first)
        if name in "wW":
            # The end of the last word's line ends it: the line below is not joined.
            last = place
            for _ in range((count or 1) - 1):
                last = next_word(text, last, name == "W")
            target = max(last, min(target, line_end(text, last)))
        how = name
        if name in ";,":
            found = self.memory.found[0] if self.memory.found else "f"
            how = found.swapcase() if name == "," else found
        start, stop = sorted((place, target))
        if how in "eE$ft":
            return _Span(start, stop + (stop < len(text) and text[stop] != "\n"))
        if start < stop and text[stop - 1] == "\n":
            # A motion to the start of a line leaves the break before it; from an indent, it is
            # lines that are meant.
            stop -= 1
            if not text[line_start(text, start) : start].strip():
                return _Span(line_start(text, start), stop, True, start)
        return _Span(start, stop)

    @staticmethod
    def _lines(text: str, place: int, more: int) -> _Span | None:
        """The line of a place and `more` of them below, or above when less than 0."""
        other = _below(text, place, more)
        if other is None:
            return None
        first, last = sorted((place, other))
        return _Span(line_start(text, first), line_end(text, last), True, min(place, other))

    def _operate(self, operator: str, span: _Span, text: str, place: int) -> Outcome:
        start, stop = span.start, span.stop
        if span.lines or stop > start:
            self.memory.text, self.memory.lines = text[start:stop], span.lines
        if operator == "y":
            return Outcome(on_character(text, start if span.place is None else span.place))
        if operator == "c":
            self.mode = Mode.INSERT
            return Outcome(start, start, stop)
        if span.lines:
            if stop < len(text):
                stop += 1
            elif start > 0:
                start -= 1
        rest = text[:start] + text[stop:]
        if span.lines:
            return Outcome(first_of_line(rest, min(span.start, len(rest))), start, stop)
        return Outcome(on_character(rest, start), start, stop)

    def _put(self, text: str, place: int, count: int, *, before: bool) -> Outcome:
        put = self.memory.text * count
        if not put:
            return Outcome(place)
        start, end = line_start(text, place), line_end(text, place)
        if self.memory.lines:
            put = " ".join([self.memory.text.strip("\n")] * count)
            at = start if before else end
            if start == end:
                return Outcome(at, at, at, put)
            if before:
                return Outcome(at, at, at, f"{put} ")
            return Outcome(at + 1, at, at, f" {put}")
        at = place if before else min(place + 1, end)
        return Outcome(at if "\n" in put else at + len(put) - 1, at, at, put)

    # --- visual mode ----------------------------------------------------------------------

    def _visual(self, parts: dict[str, str | None], text: str, place: int) -> Outcome:
        count = min(int(parts["count"] or 1), _MOST)
        if parts["motion"]:
            return self._move(parts["motion"], text, place, count if parts["count"] else None)
        if parts["object"]:
            span = _object(parts["object"], text, place, count)
            if span is None or span.start == span.stop:
                return Outcome(place)
            self.anchor = span.start
            return Outcome(span.stop - 1)
        command = parts["command"] or ""
        if command == "o":
            self.anchor, place = place, self.anchor
            return Outcome(place)
        start, stop = self.selected(place)
        self.mode = Mode.NORMAL
        if command == "v":
            return Outcome(place)
        operator = {"x": "d", "s": "c"}.get(command, command)
        return self._operate(operator, _Span(start, min(stop, len(text))), text, place)


def _parts(keys: str) -> dict[str, str | None]:
    found = _NORMAL.fullmatch(keys)
    assert found is not None  # noqa: S101 - only for `_SHORT`
    return found.groupdict()


def _inside(text: str, place: int) -> bool:
    return place < len(text) and kind(text[place]) != BLANK


def _change_word(text: str, place: int, count: int, big: bool) -> int:
    """Where `cw` on a word ends: with the word, not with the blanks after it."""
    same = kind(text[place], big)
    here = place
    while here + 1 < len(text) and kind(text[here + 1], big) == same:
        here += 1
    for _ in range(count - 1):
        here = word_end(text, here, big)
    return here + 1


def _object(name: str, text: str, place: int, count: int) -> _Span | None:
    if name[1] in "wW":
        choose = inner_word if name[0] == "i" else a_word
        found = choose(text, place, count, name[1] == "W")
    else:
        found = quoted(text, place, name[1], around=name[0] == "a")
    return None if found is None else _Span(*found)


def _below(text: str, place: int, lines: int) -> int | None:
    """A place on the line that many lines below (above when less than 0), if there is one."""
    here = place
    for _ in range(abs(lines)):
        here = line_end(text, here) + 1 if lines > 0 else line_start(text, here) - 1
        if not 0 <= here <= len(text):
            return None
    return here


def _join(text: str, place: int, times: int) -> Outcome:
    """The next lines joined with a blank between (`J`)."""
    end = stop = line_end(text, place)
    if end == len(text):
        return Outcome(place)
    line, at = text[line_start(text, place) : end], 0
    for _ in range(times):
        if stop == len(text):
            break
        following = text[stop + 1 : line_end(text, stop + 1)].lstrip(" \t")
        stop = line_end(text, stop + 1)
        glue = "" if not following or following[0] == ")" or line[-1:] in ("", " ", "\t") else " "
        at = len(line)
        line += glue + following
    start = line_start(text, place)
    joined = text[:start] + line + text[stop:]
    return Outcome(on_character(joined, start + at), start, stop, line)

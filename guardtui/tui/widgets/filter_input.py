"""The line of the filter language: history, completion, and which terms have a meaning."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

from rich.highlighter import Highlighter
from rich.text import Text
from textual.binding import Binding
from textual.suggester import Suggester

from guardtui.domain.prompts import PromptSet
from guardtui.domain.row_filter import FIELDS, OUTCOMES, WORDS, FilterError, parse_filter
from guardtui.domain.text import display_text
from guardtui.tui.widgets.line_input import LineInput

HINT = '→ completes: words, "exact words", fn, -regression, category:…, score>0.4, was:fp, line<50'
REMEMBERED = 50
LOOKED_THROUGH = 2000
"""Values of a column that are offered; a column of free text has as many as there are rows."""

_TERM = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_PARTS = re.compile(r'-?(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?(?P<value>.*)', re.DOTALL)
_UNQUOTED = re.compile(r'[^\s",]+')
_SIGNS = {"score": ">", "line": "<"}
_VALUES: dict[str, tuple[str, ...]] = {
    "was": tuple(OUTCOMES),
    "expected": ("true", "false"),
    "match": ("desc",),
}


class FilterInput(LineInput):
    """A line of the filter language; up and down bring back the lines used before.

    What may follow stands behind the cursor, dimmed; the right arrow takes it, Tab leaves.
    """

    BINDINGS = [
        Binding("up", "earlier", "Earlier filter", show=False),
        Binding("down", "later", "Later filter", show=False),
    ]

    def __init__(self) -> None:
        self._completion = _Completion()
        self._meaning = _Meaning()
        super().__init__(
            placeholder=HINT,
            id="search",
            compact=True,
            suggester=self._completion,
            highlighter=self._meaning,
        )
        self.lines: tuple[str, ...] = ()
        self._place = 0

    def use_prompts(self, prompts: PromptSet) -> None:
        """Complete the columns of this prompt set, and their values."""
        self._completion.prompts = prompts
        self._meaning.columns = prompts.extra_columns

    def use_lines(self, lines: Sequence[str]) -> None:
        """Take these lines, oldest first, for the ones used before."""
        self.lines = tuple(lines)[-REMEMBERED:]
        self._place = len(self.lines)

    def remember(self) -> bool:
        """Put the line into the history, once; whether that changed it."""
        before, line = self.lines, self.value.strip()
        if line:
            self.use_lines([*(one for one in before if one != line), line])
        self._place = len(self.lines)
        return self.lines != before

    def action_earlier(self) -> None:
        self._go(-1)

    def action_later(self) -> None:
        self._go(1)

    def _go(self, step: int) -> None:
        self._place = max(0, min(len(self.lines), self._place + step))
        self.value = self.lines[self._place] if self._place < len(self.lines) else ""
        self.cursor_position = len(self.value)


class _Meaning(Highlighter):
    """Terms with a meaning of their own in bold, words that are searched for as they are."""

    columns: tuple[str, ...] = ()

    def highlight(self, text: Text) -> None:
        for term in _TERM.finditer(text.plain):
            try:
                known = parse_filter(term[0].lstrip("-"), self.columns)
            except FilterError:
                continue
            if known.tests and not known.texts:
                text.stylize("bold", term.start(), term.end())


class _Completion(Suggester):
    """The rest of the last term of a line."""

    prompts: PromptSet | None = None

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        # The values of a column are found by a look through all rows, the first time.
        return await asyncio.to_thread(completed, value, self.prompts)


def completed(line: str, prompts: PromptSet | None) -> str | None:
    """The line with its last term completed; None when nothing known begins like it.

    Names and values that hold invisible or control characters are not offered: what is drawn
    behind the cursor must be what is typed.
    """
    last = None
    for term in _TERM.finditer(line):
        last = term
    if last is None or last.end() != len(line):
        return None
    parts = _PARTS.match(last[0])
    if parts is None:
        return None
    if parts["field"] is None:
        begun = parts["value"]
        if not begun:
            return None
        rest = _rest(begun, _names(prompts))
    else:
        rest = _rest_of_value(parts["field"], parts["value"], prompts)
    return line + rest if rest else None


def _rest(begun: str, known: Iterable[str]) -> str | None:
    wanted = begun.lower()
    for name in known:
        if len(name) > len(begun) and name.lower().startswith(wanted):
            if display_text(name) == name:
                return name[len(begun) :]
        elif name.lower() == wanted:
            return None  # it is complete, and need not be the start of a longer one
    return None


def _names(prompts: PromptSet | None) -> list[str]:
    columns = () if prompts is None else prompts.extra_columns
    fields = [f"{name}{_SIGNS.get(name, ':')}" for name in FIELDS]
    return [*WORDS, *fields, *(f"{name}:" for name in columns if _is_name(name))]


def _is_name(column: str) -> bool:
    return re.fullmatch(r'[^\s":<>=-][^\s":<>=]*', column) is not None


def _rest_of_value(field: str, value: str, prompts: PromptSet | None) -> str | None:
    columns = () if prompts is None else prompts.extra_columns
    own = next((column for column in columns if column.lower() == field.lower()), None)
    if own is None or prompts is None:
        return _rest(value, _VALUES.get(field.lower(), ()))
    names = prompts.groups(own)[1][:LOOKED_THROUGH]
    if value.startswith('"'):
        if value.count('"') > 1:
            return None
        begun = value[1:].rpartition(",")[2].lstrip()
        rest = _rest(begun, (name for name in names if not {'"', ","} & set(name)))
        return f'{rest}"' if rest else None
    begun = value.rpartition(",")[2]
    if not value and names and not _UNQUOTED.fullmatch(names[0]) and '"' not in names[0]:
        return f'"{names[0]}"' if display_text(names[0]) == names[0] else None
    return _rest(begun, (name for name in names if _UNQUOTED.fullmatch(name)))

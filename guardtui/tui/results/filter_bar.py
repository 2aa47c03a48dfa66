"""The groups of prompts with their sizes, in one line; the chosen one is always visible."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from guardtui.tui.kit.styled_text import themed
from guardtui.tui.results.model import FILTERS, RARE

_SHORT = {**FILTERS, "regressions": "regr.", "fixes": "fix", "errors": "err."}


class FilterBar(Widget):
    """`[1 mistakes 12]  2 FP 3  …  3 marked`: brackets stand around the chosen group."""

    DEFAULT_CSS = "FilterBar { height: 1; }"

    class Chosen(Message):
        """The group was clicked."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="filters")
        self._counts: Mapping[str, int] = {}
        self._chosen = ""
        self._notes: tuple[str, ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def show(self, counts: Mapping[str, int], chosen: str, notes: tuple[str, ...]) -> None:
        """Show the sizes of the groups, the chosen one, and notes, which must be inert."""
        self._counts, self._chosen, self._notes = counts, chosen, notes
        self.refresh()

    def render(self) -> Content:
        """Return the line, fitted to the width."""
        self._places = []
        if not self._counts:
            return Content("")
        width = self.size.width
        notes = "".join(f"  {note}" for note in self._notes)
        room = width - cell_len(notes)
        for titles in (FILTERS, _SHORT):
            chips = self._chips(titles)
            if sum(len(text) for _, text in chips) <= room:
                return self._drawn(chips, notes, "", "")
        return self._window(chips, notes, room)

    def _chips(self, titles: Mapping[str, str]) -> list[tuple[str, str]]:
        result = []
        for index, (name, title) in enumerate(titles.items(), start=1):
            if name in RARE and not self._counts[name] and name != self._chosen:
                continue
            text = f"{index} {title} {self._counts[name]}"
            result.append((name, f"[{text}]" if name == self._chosen else f" {text} "))
        return result

    def _window(self, chips: list[tuple[str, str]], notes: str, room: int) -> Content:
        """Return the chosen group and its neighbours that fit; "‹" and "›" stand for others."""
        first = last = [name for name, _ in chips].index(self._chosen)
        used = len(chips[first][1]) + 2
        grew = True
        while grew:
            grew = False
            if last + 1 < len(chips) and used + len(chips[last + 1][1]) <= room:
                last += 1
                used += len(chips[last][1])
                grew = True
            if first and used + len(chips[first - 1][1]) <= room:
                first -= 1
                used += len(chips[first][1])
                grew = True
        before = chips[first - 1][0] if first else ""
        after = chips[last + 1][0] if last + 1 < len(chips) else ""
        return self._drawn(chips[first : last + 1], notes, before, after)

    def _drawn(self, chips: list[tuple[str, str]], notes: str, before: str, after: str) -> Content:
        text = Text()
        shown = [*([(before, "‹")] if before else []), *chips, *([(after, "›")] if after else [])]
        for name, chip in shown:
            start = len(text)
            text.append(chip, "bold reverse" if name == self._chosen else "")
            self._places.append((start, len(text), name))
        text.append(notes, "bold")
        text.truncate(self.size.width, overflow="ellipsis")
        return themed(text)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        event.stop()
        for start, stop, name in self._places:
            if start <= offset.x < stop:
                self.post_message(self.Chosen(name))

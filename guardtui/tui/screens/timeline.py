"""The timeline: every iteration with its coverage, what it changed, and any two held together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.session.history import Entry, history
from guardtui.session.imported import add_imported, read_imported
from guardtui.session.session import PLATEAU_ADVICE
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.screens.decisions import DecisionsScreen
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.importing import ImportDialog
from guardtui.tui.screens.timeline_text import (
    HEAD,
    chart_text,
    comparison_text,
    definition_text,
    entry_line,
    entry_told,
)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What the author wants of an entry: its definition back, or it as the baseline.

    Without an entry it is a log to be imported.
    """

    entry: Entry | None
    pin: bool = False


class DefinitionPage(Modal[bool]):
    """One definition word by word; gives whether it is to be restored."""

    BINDINGS = [("escape,q,enter", "answer(False)", "Leave"), ("r", "answer(True)", "Restore")]

    help_pane = "timeline"

    def __init__(self, entry: Entry, here: Topic) -> None:
        super().__init__()
        self._entry, self._here = entry, here

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = Text(f"Definition of {self._entry.name}").plain
            page.border_subtitle = "r restores it, Esc leaves"
            with VerticalScroll():
                yield Static(themed(definition_text(self._entry, self._here)), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(
                    Text("Restore (r)"),
                    id="restore",
                    compact=True,
                    disabled=self._here == self._entry.topic,
                )
                yield Button(Text("Leave (Esc)"), id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "restore")

    def action_answer(self, answer: bool) -> None:
        """Leave; an answer to restore what is here already is none."""
        self.dismiss(answer and self._here != self._entry.topic)


class Timeline(Modal[Wanted | None]):
    """Gives what the author wants of an entry, or None."""

    BINDINGS = [
        ("escape,q", "close", "Leave"),
        ("m,space", "mark", "Mark"),
        ("c", "compare", "Compare"),
        ("p", "pin", "Pin as baseline"),
        ("i", "import_log", "Import results.tsv"),
    ]

    help_pane = "timeline"

    def __init__(
        self,
        entries: Sequence[Entry],
        here: Topic,
        prompts: PromptSet,
        marks: Mapping[str, Sequence[str]],
        plateau: bool = False,
    ) -> None:
        """`entries` oldest first; `marks` are words such as "best" by the name of an entry."""
        super().__init__()
        self._entries, self._here, self._prompts = list(entries), here, prompts
        self._marks, self._plateau = marks, plateau
        self._chosen: list[int] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Timeline"
            page.border_subtitle = "Enter · m mark · c compare · p pin · i import · Esc"
            if self._plateau:
                yield Static(themed(Text(f"⚠ plateau: {PLATEAU_ADVICE}", "$text-warning")))
            yield Static("", id="timeline-chart", markup=False)
            yield Static(themed(Text(HEAD, "$text-muted")), id="timeline-head", markup=False)
            yield OptionList(
                *(
                    Option(themed(entry_line(entry, marked=False)))
                    for entry in reversed(self._entries)
                ),
                markup=False,
                compact=True,
            )
            yield Static("", id="timeline-told", markup=False)

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _place(self) -> int:
        """Place of the entry looked at, among the entries; the list has the newest first."""
        return len(self._entries) - 1 - (self._list.highlighted or 0)

    def on_mount(self) -> None:
        self._list.focus()
        self._list.highlighted = 0

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    @on(OptionList.OptionHighlighted)
    def highlighted(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self._entries or not self.is_mounted:
            return
        if not self.query("#timeline-chart"):
            return  # the page is being left
        chart = self.query_one("#timeline-chart", Static)
        height = 6 if self.size.height >= 30 else 3
        width = chart.size.width or self.size.width - 6
        place = self._place()
        chart.update(themed(chart_text(self._entries, height, width, place)))
        entry = self._entries[place]
        told = entry_told(entry, self._marks.get(entry.name, ()))
        self.query_one("#timeline-told", Static).update(themed(told))

    @on(OptionList.OptionSelected)
    @work(exclusive=True, group="timeline")
    async def show_definition(self) -> None:
        entry = self._entries[self._place()]
        if await self.app.push_screen_wait(DefinitionPage(entry, self._here)):
            self.dismiss(Wanted(entry))

    def action_mark(self) -> None:
        """Mark the entry, or take the mark away; of three the oldest mark goes."""
        place = self._place()
        if place in self._chosen:
            self._chosen.remove(place)
        else:
            self._chosen = [*self._chosen[-1:], place]
        for row, entry in enumerate(reversed(self._entries)):
            marked = len(self._entries) - 1 - row in self._chosen
            self._list.replace_option_prompt_at_index(row, themed(entry_line(entry, marked=marked)))

    @work(exclusive=True, group="timeline")
    async def action_compare(self) -> None:
        """Hold the two marked entries together, or the one marked and the one looked at."""
        chosen = {*self._chosen} if len(self._chosen) == 2 else {*self._chosen, self._place()}
        if len(chosen) != 2:
            self.notify("Mark two iterations with m, or mark one and go to the other.")
            return
        before, after = (self._entries[place] for place in sorted(chosen))

        def work_out() -> Text:
            return comparison_text(before, after, _compared(before, after), self._prompts)

        text = await asyncio.to_thread(work_out)
        await self.app.push_screen_wait(TextPage(f"{before.name} and {after.name}", text))

    def action_pin(self) -> None:
        """Make the entry the baseline."""
        entry = self._entries[self._place()]
        if entry.iteration is None:
            self.notify(f"{entry.name} is imported: without verdicts it cannot be the baseline.")
        else:
            self.dismiss(Wanted(entry, pin=True))

    def action_import_log(self) -> None:
        """Leave for the dialog that imports a log; the timeline comes back."""
        self.dismiss(Wanted(None))

    def action_close(self) -> None:
        self.dismiss(None)


def _compared(before: Entry, after: Entry) -> Comparison | None:
    if before.iteration is None or after.iteration is None:
        return None
    return compare(before.iteration.evaluation, after.iteration.evaluation)


class TimelineScreen(DecisionsScreen):
    """The action that shows the timeline."""

    @work(exclusive=True, group="dialog")
    async def action_show_timeline(self) -> None:
        await self._take_typed()
        await self._learn()
        session, store = self.session, self.workspace.store
        entries: list[Entry] = []
        with self._told_problems():
            imported = await asyncio.to_thread(read_imported, store)
            entries = await asyncio.to_thread(
                history, list(session.iterations), imported, session.topic
            )
        if not entries:
            self.notify("No iteration is recorded yet.")
            return
        marks: dict[str, list[str]] = {}
        for word, one in (("best", session.best), ("baseline", session.baseline)):
            if one is not None:
                marks.setdefault(f"#{one.number}", []).append(word)
        wanted = await self.app.push_screen_wait(
            Timeline(entries, session.topic, self.prompts, marks, session.plateau)
        )
        if wanted is None:
            return
        entry = wanted.entry
        if entry is None:
            await self._import_log()
            self.action_show_timeline()
        elif wanted.pin and entry.iteration is not None:
            self._pin(entry.iteration.number)
        elif session.edit(entry.topic):
            session.end_group()
            self.notify(f"Restored {entry.name}; Undo brings your edit back.")
            self._topic_replaced()

    async def _import_log(self) -> None:
        """Put a results.tsv into the history, where the author names one."""
        store = self.workspace.store
        rows = await self.app.push_screen_wait(ImportDialog(self.workspace.topic_file.path.parent))
        if rows is None:
            return
        with self._told_problems():
            await asyncio.to_thread(add_imported, store, rows)
            self.notify(f"{len(rows)} iteration{'s' * (len(rows) != 1)} imported.")

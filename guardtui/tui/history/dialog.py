"""The history: every iteration with its coverage and edit; compare, restore, pin."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets.option_list import Option

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.prompts import PromptSet
from guardtui.domain.series import BestOfSeries
from guardtui.domain.topic import Topic
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.history import HistoryEntry, history
from guardtui.session.series import series_of
from guardtui.session.session import PLATEAU_ADVICE, Decision
from guardtui.tui.history.text import (
    LEGEND,
    chart_text,
    comparison_text,
    definition_text,
    entry_details,
    entry_line,
    head_line,
    history_marks,
)
from guardtui.tui.kit.dialogs import AnswersDialog, TextPage
from guardtui.tui.kit.inert import OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_NOTHING = "No iterations yet. Keep and Discard record one each, and so does every scan."
_KEYS = "Enter definition · r restore · m mark · c compare · p pin · f filter · Esc"
_SHORT_KEYS = "r restore · m mark · c compare · p pin · f filter"


@dataclass(frozen=True, eq=False)
class HistoryContent:
    """What the history shows: entries oldest first, and experiments.

    `marks` are "best" and "baseline" by the name of an entry; `series` is what the best entry was
    chosen from.
    """

    entries: Sequence[HistoryEntry] = ()
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plateau: bool = False
    series: BestOfSeries | None = None
    experiments: Sequence[ExperimentRecord] = ()


RESTORE, PIN = "restore", "pin"
"""What to do with an entry after the dialog."""


class HistoryDialog(Modal[tuple[str, HistoryEntry] | None]):
    """List and chart of all iterations; returns what to do and with which one, or None."""

    BINDINGS = [
        ("escape,q,f4", "close", "Close"),
        ("r", "restore", "Restore"),
        ("m,space", "mark", "Mark"),
        ("c", "compare", "Compare"),
        ("p", "pin", "Pin as baseline"),
        ("f", "next_filter", "Next filter"),
    ]

    help_pane = "history"

    def __init__(self, content: HistoryContent, current: Topic, prompts: PromptSet) -> None:
        """Show the history beside the current definition and prompts."""
        super().__init__()
        self._content, self._current, self._prompts = content, current, prompts
        self._entries = content.entries
        """Those that the filter shows."""
        self._filter: Decision | None = None
        self._marked: list[HistoryEntry] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"History · {LEGEND}"
            if not self._entries:
                page.border_subtitle = "Esc"
                yield Static(_NOTHING)
                return
            plateau = Text(f"⚠ plateau: {PLATEAU_ADVICE}", "$text-warning")
            yield Static(themed(plateau), id="history-plateau")
            yield Static("", id="history-chart")
            yield Static("", id="history-head")
            yield OptionList(*(Option("") for _ in self._entries), compact=True)
            yield Static("", id="history-details")

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _index(self) -> int:
        """Index of the highlighted entry among the entries; the list has the newest first."""
        return len(self._entries) - 1 - (self._list.highlighted or 0)

    def on_mount(self) -> None:
        for entries in self.query(OptionList):  # there is none without an iteration
            entries.focus()
            entries.highlighted = 0

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    async def update(self, content: HistoryContent) -> None:
        """Show what was recorded meanwhile; the highlighted and the marked entries stay."""
        if self._ended:
            return
        is_listed = bool(self.query(OptionList))
        highlighted = self._entries[self._index()].name if is_listed else ""
        self._content = content
        known = {entry.name: entry for entry in content.entries}
        self._marked = [known[entry.name] for entry in self._marked if entry.name in known]
        if not is_listed:
            self._entries = content.entries
            if not self.is_mounted:
                return
            await self.recompose()
            self.on_mount()
        if self.query(OptionList):
            self._list_entries(highlighted)

    def _list_entries(self, highlighted: str = "") -> None:
        """List the entries that the filter shows; all if there are none."""
        every = self._content.entries
        shown = [entry for entry in every if self._filter in (None, entry.decision)]
        if not shown:
            shown, self._filter = list(every), None
        self._entries = shown
        only = "" if self._filter is None else f": {self._filter} only"
        self.query_one(".page").border_title = f"History{only} · {LEGEND}"
        self._list.clear_options()
        self._list.add_options(Option("") for _ in shown)
        names = [entry.name for entry in reversed(shown)]
        self._list.highlighted = names.index(highlighted) if highlighted in names else 0
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#history-head"):
            return  # it is empty, or is being closed
        self.query_one("#history-plateau").display = self._content.plateau
        width = self._list.scrollable_content_region.width
        keys = _KEYS if width > len(_KEYS) else _SHORT_KEYS
        self.query_one(".page").border_subtitle = keys
        self.query_one("#history-head", Static).update(themed(head_line(width)))
        for row, entry in enumerate(reversed(self._entries)):
            marks = self._content.marks.get(entry.name, ())
            line = entry_line(entry, width, marked=entry in self._marked, marks=marks)
            self._list.replace_option_prompt_at_index(row, themed(line))
        self._draw_highlighted()

    @on(OptionList.OptionHighlighted)
    def _draw_highlighted(self) -> None:
        if not self.is_mounted or not self.query("#history-chart"):
            return
        chart = self.query_one("#history-chart", Static)
        height = 6 if self.size.height >= 30 else 3
        width = chart.size.width or self.size.width - 6
        index = self._index()
        chart.update(themed(chart_text(self._entries, height, width, index)))
        entry = self._entries[index]
        content = self._content
        marks = content.marks.get(entry.name, ())
        details = entry_details(entry, marks, content.series, content.experiments)
        self.query_one("#history-details", Static).update(themed(details))

    @on(OptionList.OptionSelected)
    @work(exclusive=True, group="history")
    async def show_definition(self) -> None:
        entry = self._entries[self._index()]
        page = AnswersDialog(
            definition_text(entry, self._current),
            [] if self._current == entry.topic else [("r", "restore", "Restore")],
            "Close",
            title=f"Definition of {entry.title}",
            frame="page",
            help_pane="history",
        )
        if await self.app.push_screen_wait(page):
            self.dismiss((RESTORE, entry))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without iterations there is nothing to mark, compare, restore, pin or filter."""
        if action in ("restore", "mark", "compare", "pin", "next_filter"):
            return bool(self._entries)
        return super().check_action(action, parameters)

    def action_restore(self) -> None:
        """Restore the highlighted definition."""
        self.dismiss((RESTORE, self._entries[self._index()]))

    def action_mark(self) -> None:
        """Mark the highlighted entry or remove its mark; a third mark removes the oldest."""
        entry = self._entries[self._index()]
        if entry in self._marked:
            self._marked.remove(entry)
        else:
            self._marked = [*self._marked[-1:], entry]
        self._draw()

    def action_next_filter(self) -> None:
        """Show the entries of one decision only, then of the next one, then all."""
        decided = {entry.decision for entry in self._content.entries}
        filters = [None, *(decision for decision in Decision if decision in decided)]
        self._filter = filters[(filters.index(self._filter) + 1) % len(filters)]
        self._list_entries()

    @work(exclusive=True, group="history")
    async def action_compare(self) -> None:
        """Compare the two marked entries, or the marked and the highlighted one."""
        highlighted = self._entries[self._index()]
        chosen = self._marked if len(self._marked) == 2 else {*self._marked, highlighted}
        if len(chosen) != 2:
            self.notify("Mark two iterations with m, or mark one and go to the other.")
            return
        before, after = sorted(chosen, key=self._content.entries.index)

        def work_out() -> Text:
            return comparison_text(before, after, _compared(before, after), self._prompts)

        text = await asyncio.to_thread(work_out)
        await self.app.push_screen_wait(
            TextPage(f"{before.title} and {after.title}", text, "comparison")
        )

    def action_pin(self) -> None:
        """Make the highlighted iteration the baseline."""
        entry = self._entries[self._index()]
        if entry.iteration is None:
            self.notify(f"{entry.title} has no verdicts, so it cannot be the baseline.")
        else:
            self.dismiss((PIN, entry))


def _compared(before: HistoryEntry, after: HistoryEntry) -> Comparison | None:
    if before.iteration is None or after.iteration is None:
        return None
    return compare(before.iteration.evaluation, after.iteration.evaluation)


class HistoryFeature:
    """Shows the history, and does what the author wants with one of its entries."""

    follows = "iterations", "pinned"

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._dialog: HistoryDialog | None = None
        self._updating = asyncio.Lock()
        self.actions: Mapping[str, ActionMethod] = {
            "show_history": window.action(self.show_history)
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show in the open history what another program recorded."""
        if self._dialog is not None and (old.iterations, old.pinned) != (
            new.iterations,
            new.pinned,
        ):
            self._window.start(self._update(self._dialog), group="open history")

    async def _update(self, dialog: HistoryDialog) -> None:
        async with self._updating:  # one after the other, the newest state last
            content = await self._content()
            if dialog is self._dialog:
                await dialog.update(content)

    async def _content(self) -> HistoryContent:
        services, session = self._services, self._services.session
        # The definition in the editor is on the main screen, with its figures.
        measured = [entry for entry in services.measured.listed() if entry.topic != session.topic]
        iterations = list(session.iterations)
        entries = await asyncio.to_thread(history, iterations, measured)
        series = await asyncio.to_thread(series_of, iterations, session.best)
        experiments: Sequence[ExperimentRecord] = ()
        with problems_shown(self._window):
            log = ExperimentLog(services.workspace.store)
            experiments = await asyncio.to_thread(log.experiments)
        marks = history_marks(session)
        return HistoryContent(entries, marks, session.plateau, series, experiments)

    async def show_history(self) -> None:
        """Show the history; restore or pin the entry that the author chose."""
        services = self._services
        await services.editing.finish_typing()
        await services.decisions.learn()
        content = await self._content()
        prompts = services.state.evaluated or services.state.prompts
        self._dialog = HistoryDialog(content, services.session.topic, prompts)
        try:
            request = await self._window.show(self._dialog)
        finally:
            self._dialog = None
        if request is None:
            return
        wanted, entry = request
        before = services.session.topic
        if wanted == PIN and entry.iteration is not None:
            services.decisions.pin(entry.iteration.number)
        elif services.editing.replace(entry.topic):
            self._window.notify(f"Restored {entry.title}; Undo restores your version.")
            await services.sync.follow(before)
        else:
            self._window.notify(f"The definition is already that of {entry.title}.")

"""The history: every iteration with its coverage and edit; compare, restore, pin, import."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.session.history import HistoryEntry, history
from guardtui.session.imported import add_imported, read_imported
from guardtui.session.session import PLATEAU_ADVICE
from guardtui.tui.history.import_dialog import ImportDialog
from guardtui.tui.history.text import (
    chart_text,
    comparison_text,
    definition_text,
    entry_details,
    entry_line,
    head_line,
    history_marks,
)
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_NOTHING = (
    "No iterations yet. Keep and Discard record one each, and so does every scan. "
    "i imports those of a results.tsv."
)
_KEYS = "Enter definition · r restore · m mark · c compare · p pin · i import · Esc"
_SHORT_KEYS = "r restore · m mark · c compare · p pin · i import"


class HistoryAction(Enum):
    """The main screen's task after the dialog."""

    RESTORE = auto()
    PIN = auto()
    IMPORT = auto()


@dataclass(frozen=True, eq=False)
class HistoryRequest:
    """A request and the entry that it is about; an import is about none."""

    request: HistoryAction
    entry: HistoryEntry | None = None


class DefinitionPage(Modal[bool]):
    """One definition word by word; returns whether to restore it."""

    BINDINGS = [("escape,q,enter", "answer(False)", "Close"), ("r", "answer(True)", "Restore")]

    help_pane = "history"

    def __init__(self, entry: HistoryEntry, current: Topic) -> None:
        super().__init__()
        self._entry, self._current = entry, current

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = Text(f"Definition of {self._entry.name}").plain
            page.border_subtitle = "r restores it, Esc closes"
            with VerticalScroll():
                yield Static(themed(definition_text(self._entry, self._current)), markup=False)
            with Horizontal(classes="buttons"):
                yield Button(
                    Text("Restore (r)"),
                    id="restore",
                    compact=True,
                    disabled=self._current == self._entry.topic,
                )
                yield Button(Text("Close (Esc)"), id="close", compact=True)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "restore")

    def action_answer(self, answer: bool) -> None:
        """Close the page; restoring the current definition counts as "no"."""
        self.dismiss(answer and self._current != self._entry.topic)


class HistoryDialog(Modal[HistoryRequest | None]):
    """List and chart of all iterations; returns what to do with one, or None."""

    BINDINGS = [
        ("escape,q,f4", "close", "Close"),
        ("r", "restore", "Restore"),
        ("m,space", "mark", "Mark"),
        ("c", "compare", "Compare"),
        ("p", "pin", "Pin as baseline"),
        ("i", "import_log", "Import results.tsv"),
    ]

    help_pane = "history"

    def __init__(
        self,
        entries: Sequence[HistoryEntry],
        current: Topic,
        prompts: PromptSet,
        marks: Mapping[str, Sequence[str]],
        plateau: bool = False,
    ) -> None:
        """`entries` oldest first; `marks` are "best" and "baseline" by the name of an entry."""
        super().__init__()
        self._entries, self._current, self._prompts = list(entries), current, prompts
        self._marks, self._plateau = marks, plateau
        self._marked: list[int] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "History"
            if not self._entries:
                page.border_subtitle = "i import · Esc"
                yield Static(_NOTHING, markup=False)
                return
            if self._plateau:
                yield Static(themed(Text(f"⚠ plateau: {PLATEAU_ADVICE}", "$text-warning")))
            yield Static("", id="history-chart", markup=False)
            yield Static("", id="history-head", markup=False)
            yield OptionList(*(Option("") for _ in self._entries), markup=False, compact=True)
            yield Static("", id="history-details", markup=False)

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _index(self) -> int:
        """Index of the highlighted entry among the entries; the list has the newest first."""
        return len(self._entries) - 1 - (self._list.highlighted or 0)

    def on_mount(self) -> None:
        if self._entries:
            self._list.focus()
            self._list.highlighted = 0

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#history-head"):
            return  # it is empty, or is being closed
        width = self._list.scrollable_content_region.width
        keys = _KEYS if width > len(_KEYS) else _SHORT_KEYS
        self.query_one(".page").border_subtitle = keys
        self.query_one("#history-head", Static).update(themed(head_line(width)))
        for row, entry in enumerate(reversed(self._entries)):
            marked = len(self._entries) - 1 - row in self._marked
            marks = self._marks.get(entry.name, ())
            line = entry_line(entry, width, marked=marked, marks=marks)
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
        details = entry_details(entry, self._marks.get(entry.name, ()))
        self.query_one("#history-details", Static).update(themed(details))

    @on(OptionList.OptionSelected)
    @work(exclusive=True, group="history")
    async def show_definition(self) -> None:
        entry = self._entries[self._index()]
        if await self.app.push_screen_wait(DefinitionPage(entry, self._current)):
            self.dismiss(HistoryRequest(HistoryAction.RESTORE, entry))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without iterations there is nothing to mark, compare, restore or pin."""
        if action in ("restore", "mark", "compare", "pin"):
            return bool(self._entries)
        return super().check_action(action, parameters)

    def action_restore(self) -> None:
        """Restore the highlighted definition."""
        self.dismiss(HistoryRequest(HistoryAction.RESTORE, self._entries[self._index()]))

    def action_mark(self) -> None:
        """Mark the highlighted entry or remove its mark; a third mark removes the oldest."""
        index = self._index()
        if index in self._marked:
            self._marked.remove(index)
        else:
            self._marked = [*self._marked[-1:], index]
        self._draw()

    @work(exclusive=True, group="history")
    async def action_compare(self) -> None:
        """Compare the two marked entries, or the marked and the highlighted one."""
        chosen = {*self._marked} if len(self._marked) == 2 else {*self._marked, self._index()}
        if len(chosen) != 2:
            self.notify("Mark two iterations with m, or mark one and go to the other.")
            return
        before, after = (self._entries[index] for index in sorted(chosen))

        def work_out() -> Text:
            return comparison_text(before, after, _compared(before, after), self._prompts)

        text = await asyncio.to_thread(work_out)
        await self.app.push_screen_wait(
            TextPage(f"{before.name} and {after.name}", text, "comparison")
        )

    def action_pin(self) -> None:
        """Make the highlighted iteration the baseline."""
        entry = self._entries[self._index()]
        if entry.iteration is None:
            self.notify(f"{entry.name} is imported: without verdicts it cannot be the baseline.")
        else:
            self.dismiss(HistoryRequest(HistoryAction.PIN, entry))

    def action_import_log(self) -> None:
        """Close for the dialog that imports a log, after which the history is shown again."""
        self.dismiss(HistoryRequest(HistoryAction.IMPORT))


def _compared(before: HistoryEntry, after: HistoryEntry) -> Comparison | None:
    if before.iteration is None or after.iteration is None:
        return None
    return compare(before.iteration.evaluation, after.iteration.evaluation)


class HistoryFeature:
    """Shows the history, and does what the author wants with one of its entries."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_history": window.action(self.show_history)
        }

    async def show_history(self) -> None:
        """Show the history until the author asks for something else than an import."""
        services = self._services
        await services.editing.finish_typing()
        while True:
            await services.decisions.learn()
            request = await self._window.show(await self._dialog())
            if request is None:
                return
            if request.entry is not None:
                self._answer(request, request.entry)
                return
            await self._import_log()

    async def _dialog(self) -> HistoryDialog:
        session, store = self._services.session, self._services.workspace.store
        entries: list[HistoryEntry] = []
        with problems_shown(self._window):
            imported = await asyncio.to_thread(read_imported, store)
            entries = await asyncio.to_thread(
                history, list(session.iterations), imported, session.topic
            )
        state = self._services.state
        prompts = state.evaluated or state.prompts
        marks = history_marks(session)
        return HistoryDialog(entries, session.topic, prompts, marks, session.plateau)

    def _answer(self, request: HistoryRequest, entry: HistoryEntry) -> None:
        if request.request is HistoryAction.PIN and entry.iteration is not None:
            self._services.decisions.pin(entry.iteration.number)
        elif self._services.editing.replace(entry.topic):
            self._window.notify(f"Restored {entry.name}; Undo restores your version.")
        else:
            self._window.notify(f"The definition is already that of {entry.name}.")

    async def _import_log(self) -> None:
        """Add a results.tsv to the history, where the author names one."""
        workspace = self._services.workspace
        rows = await self._window.show(ImportDialog(workspace.topic_file.path.parent))
        if rows is None:
            return
        with problems_shown(self._window):
            await asyncio.to_thread(add_imported, workspace.store, rows)
            self._window.notify(f"{count_text(len(rows), 'iteration')} imported.")

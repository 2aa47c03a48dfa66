"""Scanners side by side: where they differ, how well they agree, and labels the majority doubts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from guardtui.app.scanner_comparison import ScannerComparison
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.figures import count_text
from guardtui.domain.prompt_edit import PromptEdit, Relabel
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.explanation import Explanation
from guardtui.session.panel import Sight
from guardtui.tui.content import themed
from guardtui.tui.listing import Listing, RowsView
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.panel_rows import (
    GROUPS,
    SIGNS,
    PromptRows,
    build_panel_rows,
    panel_columns,
)
from guardtui.tui.panel_text import empty_rows, figures, groups_line, reasons_text
from guardtui.tui.screens.dialogs import Confirm, TextPage
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.line_input import LineInput

_LISTED = 3
_SHOWN = 60
_PAGE_CELLS = 10
"""Of a page's width, what its frame takes."""

SUSPECTS = "show_suspects"
"""The action that lists the labels in doubt."""


@dataclass(frozen=True, slots=True)
class SightAccess:
    """What a list of prompts may do in the app.

    `edit_prompts` starts an edit, or undoes the last one (None); `explain` blocks, and raises
    ScannerError; `scan_keys` are the keys that start a scan, as an author reads them.
    """

    edit_prompts: Callable[[PromptEdit | None], None]
    explain: Callable[[Topic, str], Explanation]
    scan_keys: str


class SightDialog(Modal[str | None]):
    """A list of prompts over the whole screen; gives an action to go on with, or None."""

    sight: Sight
    help_pane = "panel"

    def __init__(self, sight: Sight, access: SightAccess) -> None:
        super().__init__()
        self.sight, self.access = sight, access
        self.table = FrameTable(search_column="prompt", id="panel-table")

    def renew(self, sight: Sight) -> None:
        """Show the prompts and the verdicts after they changed."""
        self.sight = sight

    def wanted_rows(self) -> NDArray[np.intp]:
        """Rows of the prompt set that are marked, else the one of the cursor, intp [n]."""
        if self.table.mark_count:
            return np.flatnonzero(np.isin(self.sight.prompts.keys, self.table.marked_ids))
        key = self.table.cursor_row_id
        row = None if key is None else self.sight.prompts.row_of(key)
        return np.array([] if row is None else [row], np.intp)

    def listed(self, rows: NDArray[np.intp]) -> str:
        """The first of these prompts, a line each, for a question."""
        lines = [
            f"  {display_start(prompt, _SHOWN)}{'…' * (len(prompt) > _SHOWN)}"
            for prompt in self.sight.prompts.prompts[rows[:_LISTED]].to_list()
        ]
        if len(rows) > _LISTED:
            lines.append(f"  … and {len(rows) - _LISTED} more")
        return "\n".join(lines)

    def relabel(self, rows: NDArray[np.intp], labels: NDArray[np.bool_]) -> None:
        """Have these rows (intp [n]) relabelled (bool [n]): one edit for each label."""
        keys = self.sight.prompts.keys[rows]
        for label in (True, False):
            chosen = frozenset(keys[labels == label].tolist())
            if chosen:
                self.access.edit_prompts(Relabel(chosen, label))
        self.table.drop_marks(keys.tolist())

    def action_undo(self) -> None:
        """Undo the last edit of the prompts."""
        self.access.edit_prompts(None)

    @on(FrameTable.RowActivated)
    def row_activated(self, event: FrameTable.RowActivated) -> None:
        self._read(event.row_id)

    @work(exclusive=True, group="dialog")
    async def _read(self, key: int) -> None:
        """Show the prompt whole, with what each scanner said and why."""
        sight, row = self.sight, self.sight.prompts.row_of(key)
        if row is None:
            return
        explanation: Explanation | None = None
        try:
            prompt = str(sight.prompts.prompts[row])
            explanation = await asyncio.to_thread(self.access.explain, sight.topic, prompt)
        except ScannerError:
            pass  # what the scanners said is there all the same
        room = self.app.size.width - _PAGE_CELLS
        body = await asyncio.to_thread(reasons_text, sight, key, explanation, room)
        if self.is_current:
            self.app.push_screen(TextPage("What each scanner says", body, "one_prompt"))


class PanelDialog(SightDialog, Listing):
    """A column for each scanner; may give `SUSPECTS`."""

    BINDINGS = [
        ("f", "next_group", "Next filter"),
        ("slash", "find", "Find words"),
        ("s", "next_sort", "Sort"),
        ("S", "reverse_sort", "Turn the order"),
        ("l", "label", "Label by the majority"),
        ("u", "undo", "Undo in the prompts"),
        ("w", "suspects", "Labels in doubt"),
        ("escape,q", "close", "Close"),
    ]
    groups = tuple(GROUPS)

    def __init__(self, sight: Sight, access: SightAccess) -> None:
        super().__init__(sight, access)
        self.view = RowsView(group="differ" if len(sight.voices) > 1 else "all")
        self._figures = Static("", id="panel-figures", markup=False)
        self._groups = Static("", id="panel-groups", markup=False)
        self._words = LineInput(placeholder="words of the prompt", id="panel-words", compact=True)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Scanners side by side"
            page.border_subtitle = "f next · / find · Enter read · l label · w doubt · Esc"
            with VerticalScroll(id="panel-told", can_focus=False):
                yield self._figures
            yield self._groups
            yield self._words
            yield self.table

    def on_mount(self) -> None:
        self._words.display = False
        self.table.focus()
        self.renew(self.sight)

    def renew(self, sight: Sight) -> None:
        super().renew(sight)
        self._figures.update(themed(figures(sight, self.access.scan_keys)))
        self._ask(self.view)

    def _ask(self, view: RowsView) -> None:
        self.view = view
        self._groups.update(themed(groups_line(self.sight, view)))
        self._build(self.sight, view)

    @work(exclusive=True, group="rows")
    async def _build(self, sight: Sight, view: RowsView) -> None:
        rows = await asyncio.to_thread(build_panel_rows, sight, view)
        same = isinstance(self.table.source, PromptRows) and self.table.source.sight is sight
        if not same or len(self.table.columns) != len(panel_columns(sight)):
            self.table.set_columns(panel_columns(sight))
        self.table.empty_text = empty_rows(sight, view)
        self.table.search = view.words
        self.table.sort = None if view.sort == "line" else (view.sort, view.descending)
        self.table.set_source(rows)

    # --- what is shown --------------------------------------------------------------------

    def action_suspects(self) -> None:
        """Go on to the labels that everything contradicts."""
        self.dismiss(SUSPECTS)

    # --- labels ---------------------------------------------------------------------------

    def action_label(self) -> None:
        """Offer to relabel the marked prompts, or this one, as the majority says."""
        rows, panel = self.wanted_rows(), self.sight.panel
        if not len(rows):
            self.notify("Select a prompt first.")
            return
        doubted = rows[panel.against[rows]]
        if not len(doubted):
            undecided = bool((panel.majority[rows] == Triggered.NO_VERDICT).all())
            told = "No majority here: more than half of at least two verdicts would be one."
            self.notify(told if undecided else "The majority says what the label says.")
            return
        labels = ~self.sight.prompts.expected[doubted]

        def answered(answer: bool | None) -> None:
            if answer:
                self.relabel(doubted, labels)

        self.app.push_screen(Confirm(self._question(rows, doubted), "Relabel", "Cancel"), answered)

    def _question(self, rows: NDArray[np.intp], doubted: NDArray[np.intp]) -> str:
        prompts, panel = self.sight.prompts, self.sight.panel
        if len(doubted) == 1:
            row = int(doubted[0])
            label = bool(prompts.expected[row])
            said = "  ".join(
                f"{display_start(name, _SHOWN)} {SIGNS[Triggered(answer)]}"
                for name, answer in zip(panel.names, panel.answers[:, row].tolist(), strict=True)
            )
            what = "Relabel this prompt as the majority says?"
            told = f"label {str(label).lower()} → {str(not label).lower()}\n{said}"
        else:
            to_false = int(np.count_nonzero(prompts.expected[doubted]))
            what = f"Relabel {count_text(len(doubted), 'prompt')} as the majority says?"
            told = f"{len(doubted) - to_false} to true, {to_false} to false"
        question = f"{what}\n{self.listed(doubted)}\n{told}"
        if left := len(rows) - len(doubted):
            question += f"\n{left} more marked: as the majority says already, or there is none."
        return question


class PanelFeature:
    """Shows all scanners side by side, and keeps the open list of prompts up to date."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._comparison = ScannerComparison(services.workspace, services.engine, window)
        self._dialog: SightDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_panel": window.action(self.show_panel)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Compare again after an edit of the prompts, also after one that failed."""
        if self._dialog is not None and new.files != old.files:
            self._window.start(self._renew(self._dialog), group="sight", exclusive=True)

    async def show_panel(self) -> None:
        """Show a column for each scanner."""
        sight = await self.compare()
        self.open(PanelDialog(sight, self.access))

    async def compare(self) -> Sight:
        """Return what all scanners say of the definition as it is."""
        await self._services.editing.finish_typing()
        return await self._comparison.compare()

    @property
    def access(self) -> SightAccess:
        """What a list of prompts may do."""
        return SightAccess(
            edit_prompts=self._edit_prompts,
            explain=self._services.engine.scanner.explain,
            scan_keys=self._window.keys_of("scan"),
        )

    def open(self, dialog: SightDialog) -> None:
        """Show a list of prompts, which may give an action to go on with."""
        self._dialog = dialog
        self._window.open(dialog, self._closed)

    def _closed(self, following: str | None) -> None:
        self._dialog = None
        self._window.perform(following)

    def _edit_prompts(self, edit: PromptEdit | None) -> None:
        self._window.start(self._services.sync.edit_prompts(edit), group="prompts")

    async def _renew(self, dialog: SightDialog) -> None:
        sight = await self._comparison.compare()
        if dialog is self._dialog:
            dialog.renew(sight)

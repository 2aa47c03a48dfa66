"""Scanners side by side: their verdicts, their agreement, and labels against the majority."""

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
from guardtui.session.scanner_comparison import ScannerVerdicts
from guardtui.tui.kit.dialogs import ConfirmDialog, TextPage
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.prompt_lines import prompt_lines
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.kit.table_dialog import (
    TABLE_BINDINGS,
    PromptTable,
    PromptTableView,
    groups_text,
)
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.scanner_comparison.rows import (
    GROUPS,
    SIGNS,
    PromptRows,
    build_scanner_rows,
    group_sizes,
    scanner_columns,
)
from guardtui.tui.scanner_comparison.text import empty_rows, figures, reasons_text
from guardtui.tui.table.frame_table import FrameTable

_SHOWN = 60
_PAGE_CELLS = 10
"""Cells of the frame of a page."""

SUSPECTS = "show_suspects"
"""Name of the action that lists the labels in doubt."""


@dataclass(frozen=True, slots=True)
class PromptListAccess:
    """Access of a list of prompts to the app.

    `edit_prompts` starts an edit, or undoes the last one (None); `explain` blocks, and raises
    ScannerError; `scan_keys` are the keys that start a scan, for display.
    """

    edit_prompts: Callable[[PromptEdit | None], None]
    explain: Callable[[Topic, str], Explanation]
    scan_keys: str


class PromptListDialog(Modal[str | None]):
    """A list of prompts over the whole screen; returns an action to run next, or None."""

    sight: ScannerVerdicts
    help_pane = "panel"

    def __init__(
        self, sight: ScannerVerdicts, access: PromptListAccess, table: FrameTable | None = None
    ) -> None:
        """`table` is one that the dialog has already."""
        super().__init__()
        self.sight, self.access = sight, access
        self.table = table or FrameTable(search_column="prompt", id="panel-table")

    def renew(self, sight: ScannerVerdicts) -> None:
        """Show changed prompts and verdicts."""
        self.sight = sight

    def chosen_rows(self) -> NDArray[np.intp]:
        """Return the marked rows of the prompt set, else that of the cursor, intp [n]."""
        if self.table.mark_count:
            return np.flatnonzero(np.isin(self.sight.prompts.keys, self.table.marked_ids))
        key = self.table.cursor_row_id
        row = None if key is None else self.sight.prompts.row_of(key)
        return np.array([] if row is None else [row], np.intp)

    def listed(self, rows: NDArray[np.intp]) -> str:
        """Return the first of these prompts, a line each, for a question."""
        return "\n".join(prompt_lines(self.sight.prompts.prompts, rows))

    def relabel(self, rows: NDArray[np.intp], labels: NDArray[np.bool_]) -> None:
        """Relabel these rows (intp [n]) with labels (bool [n]), in one edit for each label."""
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
        """Show the prompt in full, with each scanner's verdict and reason."""
        sight, row = self.sight, self.sight.prompts.row_of(key)
        if row is None:
            return
        explanation: Explanation | None = None
        try:
            prompt = str(sight.prompts.prompts[row])
            explanation = await asyncio.to_thread(self.access.explain, sight.topic, prompt)
        except ScannerError:
            pass  # the verdicts can be shown without it
        room = self.app.size.width - _PAGE_CELLS
        body = await asyncio.to_thread(reasons_text, sight, key, explanation, room)
        if self.is_current:
            self.app.push_screen(TextPage("What each scanner says", body, "one_prompt"))


class ScannerComparisonDialog(PromptListDialog):
    """A column for each scanner; may return `SUSPECTS`."""

    BINDINGS = [
        *TABLE_BINDINGS,
        ("l", "label", "Label by the majority"),
        ("u", "undo", "Undo in the prompts"),
        ("w", "suspects", "Labels in doubt"),
    ]

    def __init__(self, sight: ScannerVerdicts, access: PromptListAccess) -> None:
        view = PromptTableView(group="differ" if len(sight.scanners) > 1 else "all")
        self.prompt_table = PromptTable(tuple(GROUPS), view, "panel-table")
        super().__init__(sight, access, self.prompt_table.table)
        self._figures = Static("", id="panel-figures", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Scanners side by side"
            page.border_subtitle = "f next · / find · Enter read · l label · w doubt · Esc"
            with VerticalScroll(id="panel-summary", can_focus=False):
                yield self._figures
            yield self.prompt_table

    def on_mount(self) -> None:
        self.table.focus()
        self.renew(self.sight)

    def renew(self, sight: ScannerVerdicts) -> None:
        super().renew(sight)
        self._figures.update(themed(figures(sight, self.access.scan_keys)))
        self._show_view()

    @on(PromptTable.ViewChanged)
    def _show_view(self) -> None:
        view = self.prompt_table.view
        self.prompt_table.show_groups(groups_text(group_sizes(self.sight), GROUPS, view))
        self._build(self.sight, view)

    @work(exclusive=True, group="rows")
    async def _build(self, sight: ScannerVerdicts, view: PromptTableView) -> None:
        rows = await asyncio.to_thread(build_scanner_rows, sight, view)
        same = isinstance(self.table.source, PromptRows) and self.table.source.sight is sight
        if not same or len(self.table.columns) != len(scanner_columns(sight)):
            self.table.set_columns(scanner_columns(sight))
        self.prompt_table.show_rows(rows, empty_rows(sight, view))

    def action_table(self, key: str) -> None:
        """Handle a key of the table."""
        self.prompt_table.press(key)

    def action_close(self) -> None:
        """Remove the words that are searched, else close."""
        if not self.prompt_table.clear_words():
            self.dismiss(None)

    def action_suspects(self) -> None:
        """Go to the labels in doubt."""
        self.dismiss(SUSPECTS)

    # --- labels ---------------------------------------------------------------------------

    def action_label(self) -> None:
        """Offer to relabel the marked prompts, or the selected one, by the majority."""
        rows, panel = self.chosen_rows(), self.sight.panel
        if not len(rows):
            self.notify("Select a prompt first.")
            return
        doubted = rows[panel.against[rows]]
        if not len(doubted):
            undecided = bool((panel.majority[rows] == Triggered.NO_VERDICT).all())
            summary = "No majority here: more than half of at least two verdicts would be one."
            self.notify(summary if undecided else "The majority says what the label says.")
            return
        labels = ~self.sight.prompts.expected[doubted]

        def answered(answer: bool | None) -> None:
            if answer:
                self.relabel(doubted, labels)

        self.app.push_screen(
            ConfirmDialog(self._question(rows, doubted), "Relabel", "Cancel"), answered
        )

    def _question(self, rows: NDArray[np.intp], doubted: NDArray[np.intp]) -> str:
        prompts, panel = self.sight.prompts, self.sight.panel
        if len(doubted) == 1:
            row = int(doubted[0])
            label = bool(prompts.expected[row])
            answers = "  ".join(
                f"{display_start(name, _SHOWN)} {SIGNS[Triggered(answer)]}"
                for name, answer in zip(panel.names, panel.answers[:, row].tolist(), strict=True)
            )
            question = "Relabel this prompt as the majority says?"
            summary = f"label {str(label).lower()} → {str(not label).lower()}\n{answers}"
        else:
            to_false = int(np.count_nonzero(prompts.expected[doubted]))
            question = f"Relabel {count_text(len(doubted), 'prompt')} as the majority says?"
            summary = f"{len(doubted) - to_false} to true, {to_false} to false"
        question = f"{question}\n{self.listed(doubted)}\n{summary}"
        if left := len(rows) - len(doubted):
            question += f"\n{left} more marked: as the majority says already, or there is none."
        return question


class ScannerComparisonFeature:
    """Shows all scanners side by side, and updates the open list of prompts."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._comparison = ScannerComparison(services.workspace, services.engine, window)
        self._dialog: PromptListDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {"show_panel": window.action(self.show_panel)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Compare again after an edit of the prompts, even a failed one."""
        if self._dialog is not None and new.files != old.files:
            self._window.start(self._renew(self._dialog), group="sight", exclusive=True)

    async def show_panel(self) -> None:
        """Show a column for each scanner."""
        sight = await self.compare()
        self.open(ScannerComparisonDialog(sight, self.access))

    async def compare(self) -> ScannerVerdicts:
        """Return the verdicts of all scanners on the current definition."""
        await self._services.editing.finish_typing()
        return await self._comparison.compare()

    @property
    def access(self) -> PromptListAccess:
        """The access of a list of prompts."""
        return PromptListAccess(
            edit_prompts=self._edit_prompts,
            explain=self._services.engine.scanner.explain,
            scan_keys=self._window.keys_of("scan"),
        )

    def open(self, dialog: PromptListDialog) -> None:
        """Show a list of prompts, and run the action that it returns."""
        self._dialog = dialog
        self._window.open(dialog, self._closed)

    def _closed(self, following: str | None) -> None:
        self._dialog = None
        self._window.perform(following)

    def _edit_prompts(self, edit: PromptEdit | None) -> None:
        self._window.start(self._services.sync.edit_prompts(edit), group="prompts")

    async def _renew(self, dialog: PromptListDialog) -> None:
        sight = await self._comparison.compare()
        if dialog is self._dialog:
            dialog.renew(sight)

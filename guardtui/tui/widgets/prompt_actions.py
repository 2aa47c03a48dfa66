"""What the keys of the results do to the marked prompts, or to the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import work
from textual.containers import Vertical

from guardtui.domain.late import late
from guardtui.domain.prompt_edit import Add, Duplicate, PromptEdit, Relabel, Remove
from guardtui.domain.text import display_start, display_text, hidden_characters
from guardtui.domain.topic import EXAMPLES_AT_MOST
from guardtui.tui.clipboard import copy_to_system
from guardtui.tui.messages import ExampleWanted, PromptEditWanted, PromptUndoWanted
from guardtui.tui.results import Results
from guardtui.tui.rows_text import prompts_as_lines, rows_as_tsv
from guardtui.tui.screens.add_prompt import AddPrompt
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.widgets.frame_table import FrameTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

TERMINAL_CHARACTERS = 500_000
"""Longer copies are given to the system's clipboard only: terminals drop or choke on them."""

_LISTED = 3
_CHARACTERS = 60


class PromptActions(Vertical):
    """Marks, copies, examples and edits of prompts; the pane of the results inherits them."""

    table: FrameTable
    _results: Results | None
    refusal = ""
    """Why the prompts are not edited; "" where they are."""

    # --- which prompts --------------------------------------------------------------------

    def _wanted_rows(self) -> NDArray[np.intp] | None:
        """Rows of the prompt set that are marked, else the selected one; None, told, without."""
        if self._results is not None and self.table.mark_count:
            return self._results.rows_of(self.table.marked_ids)
        row = self._selected_row()
        return None if row is None else np.array([row], np.intp)

    def _selected_row(self) -> int | None:
        row_id = self.table.cursor_row_id
        row = None if row_id is None or self._results is None else self._results.row_of(row_id)
        if row is None:
            self.notify("Select a prompt first.")
        return row

    def _drop_lost_marks(self, results: Results) -> None:
        """Take the marks off prompts that the prompt set no longer has."""
        marked = self.table.marked_ids
        if len(marked):
            self.table.drop_marks(np.setdiff1d(marked, results.evaluation.keys).tolist())

    def action_mark_all(self) -> None:
        self.table.mark_all()

    def action_clear_marks(self) -> None:
        self.table.clear_marks()

    # --- examples and copies --------------------------------------------------------------

    def action_use_as_example(self) -> None:
        rows, results = self._wanted_rows(), self._results
        if rows is None or results is None:
            return
        if len(rows) > EXAMPLES_AT_MOST:
            self.notify(
                f"{len(rows)} prompts are marked, and a topic has at most {EXAMPLES_AT_MOST} "
                "examples: mark fewer.",
                severity="warning",
            )
            return
        for prompt in results.prompts.prompts[rows].to_list():
            self.post_message(ExampleWanted(prompt))

    def action_copy_prompt(self) -> None:
        rows, results = self._wanted_rows(), self._results
        if rows is None or results is None:
            return
        texts = results.prompts.prompts[rows[:1]].to_list()
        hidden = hidden_characters(texts[0]) if len(rows) == 1 else 0
        note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
        what = "" if len(rows) == 1 else f" {len(rows)} prompts"
        self._copy(lambda: prompts_as_lines(results, rows), f"Copied{what}{note}.")

    def action_copy_rows(self) -> None:
        rows, results = self._wanted_rows(), self._results
        if rows is None or results is None:
            return
        told = f"Copied {len(rows):,} row{'s' * (len(rows) != 1)} as a table, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), told)

    def action_copy_list(self) -> None:
        results = self._results
        if results is None or not len(results):
            self.notify("No rows are shown.")
            return
        rows = results.order
        told = f"Copied the list: {len(rows):,} row{'s' * (len(rows) != 1)}, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), told)

    @work(exclusive=True, group="copy")
    async def _copy(self, make: Callable[[], str], told: str) -> None:
        """Copy by both ways; never in the way of the screen."""
        text = await asyncio.to_thread(make)
        short = len(text) <= TERMINAL_CHARACTERS
        if short:
            self.app.copy_to_clipboard(text)
            self.notify(told)
        # A run without a terminal is a test or a picture: whose clipboard would that be?
        # Nor is that of a server the one of whoever sits at a browser.
        here = not self.app.is_headless and not self.app.is_web
        copied = here and await asyncio.to_thread(copy_to_system, text)
        if copied and not short:
            self.notify(told)
        elif not short:
            self.notify(
                f"Nothing was copied: {len(text):,} characters are too many for a terminal's "
                f"clipboard (it takes {TERMINAL_CHARACTERS:,}), and no other was found. Mark "
                "fewer rows, or export (F8): csv has them all.",
                severity="warning",
            )

    # --- edits of the prompt set ----------------------------------------------------------

    def _refused(self) -> bool:
        """Whether the prompts are not edited, which is told; before anything is asked."""
        if self.refusal:
            self.notify(self.refusal, severity="error", markup=False, timeout=8)
        return bool(self.refusal)

    def action_relabel(self) -> None:
        self._edit("Turn the label", "Turn", Relabel)

    def action_remove_prompts(self) -> None:
        self._edit("Remove", "Remove", Remove)

    def action_duplicate_prompts(self) -> None:
        rows = None if self._refused() else self._wanted_rows()
        if rows is not None and self._results is not None:
            self.post_message(PromptEditWanted(Duplicate(self._keys(rows))))

    def action_undo_prompts(self) -> None:
        if self._refused():
            return
        self.post_message(PromptUndoWanted())

    def _keys(self, rows: NDArray[np.intp]) -> frozenset[int]:
        assert self._results is not None  # noqa: S101 - the rows are its own
        return frozenset(self._results.evaluation.keys[rows].tolist())

    def _edit(self, what: str, yes: str, edit: Callable[[frozenset[int]], PromptEdit]) -> None:
        rows = None if self._refused() else self._wanted_rows()
        if rows is None or not len(rows):
            return
        keys = self._keys(rows)

        def answered(answer: bool | None) -> None:
            if answer:
                self.post_message(PromptEditWanted(edit(keys)))

        if len(keys) == 1:
            answered(True)
        else:
            self.app.push_screen(Confirm(self._question(what, rows), yes, "Leave"), answered)

    def _question(self, what: str, rows: NDArray[np.intp]) -> str:
        results = self._results
        assert results is not None  # noqa: S101 - the rows are its own
        of = " of" if what.startswith("Turn") else ""
        lines = [f"{what}{of} {len(rows)} prompts?"]
        for text in results.prompts.prompts[rows[:_LISTED]].to_list():
            more = "…" if len(text) > _CHARACTERS else ""
            lines.append(f"  {display_start(text, _CHARACTERS)}{more}")
        if len(rows) > _LISTED:
            lines.append(f"  … and {len(rows) - _LISTED} more")
        hidden = len(rows) - results.shown_count(rows)
        if hidden:
            lines.append(f"{hidden} of them {'is' if hidden == 1 else 'are'} not shown now.")
        return "\n".join(lines)

    def action_add_prompt(self) -> None:
        self._ask_for_prompt(Add("", True))

    def action_add_like_this(self) -> None:
        row, results = self._selected_row(), self._results
        if row is None or results is None:
            return
        prompts = results.prompts
        others = {name: str(prompts.frame[name][row] or "") for name in prompts.extra_columns}
        self._ask_for_prompt(
            Add(str(prompts.prompts[row]), bool(results.evaluation.expected[row]), others)
        )

    def _ask_for_prompt(self, start: Add) -> None:
        if self._refused():
            return
        results = self._results
        if results is None:
            self.notify("The prompts are not evaluated yet.")
            return
        column = results.prompts.category_column
        names = [] if column is None else results.prompts.groups(column)[1]
        categories = [name for name in names if name != "(none)" and display_text(name) == name]

        def answered(edit: Add | None) -> None:
            if edit is not None:
                self.post_message(PromptEditWanted(edit))

        self.app.push_screen(AddPrompt(start, column, categories), answered)

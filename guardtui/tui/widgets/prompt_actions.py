"""Copies, examples and edits of the marked prompts of the results, or of the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompt_edit import (
    Add,
    Duplicate,
    PromptEdit,
    Relabel,
    Remove,
    Rewrite,
    prompt_problem,
    text_problem,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import EXAMPLES_AT_MOST
from guardtui.tui.clipboard import copy_to_system
from guardtui.tui.messages import ExampleWanted, PromptEditWanted, PromptUndoWanted
from guardtui.tui.rows_text import prompts_as_lines, rows_as_tsv
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.prompt_dialog import ColumnField, PromptDialog, PromptText

if TYPE_CHECKING:
    from guardtui.tui.widgets.results_pane import ResultsPane

TERMINAL_CHARACTERS = 500_000
"""Longer copies are given to the system's clipboard only: terminals drop or choke on them."""

_LISTED = 3
_CHARACTERS = 60
_NAME_SHOWN = 40  # characters of a column's name in a message
_SUGGESTED = 200  # values of a column that are suggested, at most


class PromptActions:
    """What can be done to prompts that the results show; edits are posted as messages."""

    def __init__(self, pane: ResultsPane) -> None:
        self._pane = pane

    # --- which prompts --------------------------------------------------------------------

    def _wanted_rows(self) -> NDArray[np.intp] | None:
        """Return the marked rows of the prompt set, else the selected one; None, with a message."""
        if self._pane.results is not None and self._pane.table.mark_count:
            return self._pane.results.rows_of(self._pane.table.marked_ids)
        row = self._selected_row()
        return None if row is None else np.array([row], np.intp)

    def _selected_row(self) -> int | None:
        row_id = self._pane.table.cursor_row_id
        row = (
            None
            if row_id is None or self._pane.results is None
            else self._pane.results.row_of(row_id)
        )
        if row is None:
            self._pane.notify("Select a prompt first.")
        return row

    # --- examples and copies --------------------------------------------------------------

    def use_as_example(self) -> None:
        rows, results = self._wanted_rows(), self._pane.results
        if rows is None or results is None:
            return
        if len(rows) > EXAMPLES_AT_MOST:
            self._pane.notify(
                f"{len(rows)} prompts are marked, and a topic has at most {EXAMPLES_AT_MOST} "
                "examples: mark fewer.",
                severity="warning",
            )
            return
        prompts = results.prompts.prompts[rows].to_list()

        def answered(answer: bool | None) -> None:
            if answer:
                for prompt in prompts:
                    self._pane.post_message(ExampleWanted(prompt))

        against = int((~results.prompts.expected[rows]).sum())
        if not against:
            answered(True)
            return
        which = "This prompt is" if len(rows) == 1 else f"{against} of {len(rows)} prompts are"
        question = (
            f"{which} labelled “does not belong to the topic”:\n\n"
            f"  {display_start(prompts[0], _CHARACTERS)}\n\n"
            "As an example it would teach the guardrail to match prompts like it. Use it anyway?"
            if len(rows) == 1
            else f"{which} labelled “does not belong to the topic”. As examples they would teach "
            "the guardrail to match prompts like them. Use all anyway?"
        )
        self._pane.app.push_screen(Confirm(question, "Use", "Cancel"), answered)

    def copy_prompt(self) -> None:
        rows, results = self._wanted_rows(), self._pane.results
        if rows is None or results is None:
            return
        texts = results.prompts.prompts[rows[:1]].to_list()
        hidden = hidden_characters(texts[0]) if len(rows) == 1 else 0
        note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
        what = "" if len(rows) == 1 else f" {len(rows)} prompts"
        self._copy(lambda: prompts_as_lines(results, rows), f"Copied{what}{note}.")

    def copy_rows(self) -> None:
        rows, results = self._wanted_rows(), self._pane.results
        if rows is None or results is None:
            return
        message = f"Copied {len(rows):,} row{'s' * (len(rows) != 1)} as a table, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), message)

    def copy_list(self) -> None:
        results = self._pane.results
        if results is None or not len(results):
            self._pane.notify("No rows are shown.")
            return
        rows = results.order
        message = f"Copied the list: {len(rows):,} row{'s' * (len(rows) != 1)}, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), message)

    def _copy(self, make: Callable[[], str], message: str) -> None:
        """Copy a text that is made beside the screen; a newer copy cancels this."""
        self._pane.run_worker(self._copy_now(make, message), exclusive=True, group="copy")

    async def _copy_now(self, make: Callable[[], str], message: str) -> None:
        text = await asyncio.to_thread(make)
        short = len(text) <= TERMINAL_CHARACTERS
        if short:
            self._pane.app.copy_to_clipboard(text)
            self._pane.notify(message)
        # A run without a terminal is a test or a picture: whose clipboard would that be?
        # Nor is that of a server the one of whoever sits at a browser.
        here = not self._pane.app.is_headless and not self._pane.app.is_web
        copied = here and await asyncio.to_thread(copy_to_system, text)
        if copied and not short:
            self._pane.notify(message)
        elif not short:
            self._pane.notify(
                f"Nothing was copied: {len(text):,} characters are too many for a terminal's "
                f"clipboard (it takes {TERMINAL_CHARACTERS:,}), and no other was found. Mark "
                "fewer rows, or export (F8): csv has them all.",
                severity="warning",
            )

    # --- edits of the prompt set ----------------------------------------------------------

    def _refused(self) -> bool:
        """Return whether the prompts cannot be edited, with a message; before anything is asked."""
        if self._pane.refusal:
            self._pane.notify(self._pane.refusal, severity="error", markup=False, timeout=8)
        return bool(self._pane.refusal)

    def relabel(self) -> None:
        self._edit("Turn the label", "Turn", Relabel)

    def remove_prompts(self) -> None:
        self._edit("Remove", "Remove", Remove)

    def duplicate_prompts(self) -> None:
        rows = None if self._refused() else self._wanted_rows()
        if rows is not None and self._pane.results is not None:
            self._pane.post_message(PromptEditWanted(Duplicate(self._keys(rows))))

    def undo_prompts(self) -> None:
        if self._refused():
            return
        self._pane.post_message(PromptUndoWanted())

    def _keys(self, rows: NDArray[np.intp]) -> frozenset[int]:
        assert self._pane.results is not None  # noqa: S101 - the rows are its own
        return frozenset(self._pane.results.evaluation.keys[rows].tolist())

    def _edit(self, what: str, yes: str, edit: Callable[[frozenset[int]], PromptEdit]) -> None:
        rows = None if self._refused() else self._wanted_rows()
        if rows is None or not len(rows):
            return
        keys = self._keys(rows)

        def answered(answer: bool | None) -> None:
            if answer:
                self._pane.post_message(PromptEditWanted(edit(keys)))

        if len(keys) == 1:
            answered(True)
        else:
            self._pane.app.push_screen(Confirm(self._question(what, rows), yes, "Cancel"), answered)

    def _question(self, what: str, rows: NDArray[np.intp]) -> str:
        results = self._pane.results
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

    def add_prompt(self) -> None:
        self._add(PromptText("", True))

    def add_like_this(self) -> None:
        row = self._selected_row()
        if row is not None:
            self._add(self._text_of(row))

    def edit_prompt(self) -> None:
        """Edit the selected prompt, with all its columns; marks are of no account."""
        row = None if self._refused() else self._selected_row()
        if row is not None:
            self._rewrite(row, self._text_of(row))

    def write_again(self, edit: Add | Rewrite) -> None:
        """Open what was written once more, since it could not be saved."""
        written = PromptText(edit.prompt, edit.expected, dict(edit.others))
        results = self._pane.results
        row = None
        if isinstance(edit, Rewrite) and results is not None:
            row = results.row_of(edit.key)
        if row is None:  # the prompt itself is gone: its new text is not
            self._add(written)
        else:
            before = self._text_of(row)
            self._rewrite(row, replace(written, others={**before.others, **written.others}))

    def _rewrite(self, row: int, shown: PromptText) -> None:
        """Edit the prompt of a row, beginning with what is `shown`."""
        results = self._pane.results
        assert results is not None  # noqa: S101 - the row is its own
        prompts, start = results.prompts, self._text_of(row)
        key = int(prompts.keys[row])

        def problem(written: PromptText) -> str:
            return prompt_problem(written.prompt, prompts, key) or _columns_problem(written)

        def answered(written: PromptText | None) -> None:
            if written is not None and written != start:
                changed = {
                    name: text
                    for name, text in written.others.items()
                    if text != start.others.get(name)
                }
                edit = Rewrite(key, written.prompt, written.expected, changed)
                self._pane.post_message(PromptEditWanted(edit))

        line = int(prompts.frame["line"][row])
        columns = [_column(prompts, name) for name in prompts.extra_columns]
        dialog = PromptDialog(f"Edit the prompt of line {line}", "Save", shown, columns, problem)
        self._pane.app.push_screen(dialog, answered)

    def _text_of(self, row: int) -> PromptText:
        assert self._pane.results is not None  # noqa: S101 - the row is its own
        prompts = self._pane.results.prompts
        others = {name: str(prompts.frame[name][row] or "") for name in prompts.extra_columns}
        return PromptText(str(prompts.prompts[row]), bool(prompts.expected[row]), others)

    def _add(self, start: PromptText) -> None:
        if self._refused():
            return
        results = self._pane.results
        if results is None:
            self._pane.notify("The prompts are not evaluated yet.")
            return
        prompts = results.prompts
        category = prompts.category_column
        columns = [] if category is None else [_column(prompts, category)]

        def problem(written: PromptText) -> str:
            return prompt_problem(written.prompt, prompts) or _columns_problem(written)

        def answered(written: PromptText | None) -> None:
            if written is not None:
                edit = Add(written.prompt, written.expected, written.others)
                self._pane.post_message(PromptEditWanted(edit))

        dialog = PromptDialog("Add a prompt", "Add", start, columns, problem)
        self._pane.app.push_screen(dialog, answered)


def _column(prompts: PromptSet, name: str) -> ColumnField:
    """A column with its values, where they are few enough to be suggested."""
    if prompts.frame[name].n_unique() > _SUGGESTED:
        return ColumnField(name)
    names = prompts.groups(name)[1]
    return ColumnField(name, [value for value in names if value != "(none)"])


def _columns_problem(written: PromptText) -> str:
    problems = (
        text_problem(text, f"column {display_start(name, _NAME_SHOWN)}")
        for name, text in written.others.items()
    )
    return next(filter(None, problems), "")

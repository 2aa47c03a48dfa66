"""Copies, examples and edits of the marked prompts, or of the selected one."""

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
from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import EXAMPLES_AT_MOST
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.kit.prompt_lines import CHARACTERS, prompt_lines
from guardtui.tui.messages import AddExamples, ConfirmLabels, EditPrompts, UndoPromptEdit
from guardtui.tui.prompts.clipboard_rows import prompts_as_lines, rows_as_tsv
from guardtui.tui.prompts.dialog import ColumnField, PromptDialog, PromptText
from guardtui.tui.system.clipboard import copy_to_system

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet
    from guardtui.tui.results.pane import ResultsPane

TERMINAL_CHARACTERS = 500_000
"""Longer copies go only to the system's clipboard: terminals drop them or hang."""

_NAME_SHOWN = 40  # characters of a column's name in a message
_SUGGESTED = 200  # values of a column that are suggested, at most


class PromptActions:
    """Actions on the prompts of the results; edits are posted as messages."""

    def __init__(self, pane: ResultsPane) -> None:
        self._pane = pane

    # --- which prompts --------------------------------------------------------------------

    def _chosen_rows(self) -> NDArray[np.intp] | None:
        """Return the marked rows of the prompt set, else the selected one; None after a message."""
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
        rows, results = self._chosen_rows(), self._pane.results
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
                self._pane.post_message(AddExamples(prompts))

        contradicted = int((~results.prompts.expected[rows]).sum())
        if not contradicted:
            answered(True)
            return
        which = "This prompt is" if len(rows) == 1 else f"{contradicted} of {len(rows)} prompts are"
        question = (
            f"{which} labelled “does not belong to the topic”:\n\n"
            f"  {display_start(prompts[0], CHARACTERS)}\n\n"
            "As an example it would teach the guardrail to match prompts like it. Use it anyway?"
            if len(rows) == 1
            else f"{which} labelled “does not belong to the topic”. As examples they would teach "
            "the guardrail to match prompts like them. Use all anyway?"
        )
        self._pane.app.push_screen(ConfirmDialog(question, "Use", "Cancel"), answered)

    def copy_prompt(self) -> None:
        rows, results = self._chosen_rows(), self._pane.results
        if rows is None or results is None:
            return
        texts = results.prompts.prompts[rows[:1]].to_list()
        hidden = hidden_characters(texts[0]) if len(rows) == 1 else 0
        note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
        subject = "" if len(rows) == 1 else f" {len(rows)} prompts"
        self._copy(lambda: prompts_as_lines(results, rows), f"Copied{subject}{note}.")

    def copy_rows(self) -> None:
        rows, results = self._chosen_rows(), self._pane.results
        if rows is None or results is None:
            return
        message = f"Copied {_row_count(len(rows))} as a table, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), message)

    def copy_list(self) -> None:
        results = self._pane.results
        if results is None or not len(results):
            self._pane.notify("No rows are shown.")
            return
        rows = results.order
        message = f"Copied the list: {_row_count(len(rows))}, with a header."
        self._copy(lambda: rows_as_tsv(results, rows), message)

    def _copy(self, make: Callable[[], str], message: str) -> None:
        """Copy a text that is made in a thread; a newer copy cancels this."""
        self._pane.run_worker(self._copy_now(make, message), exclusive=True, group="copy")

    async def _copy_now(self, make: Callable[[], str], message: str) -> None:
        text = await asyncio.to_thread(make)
        short = len(text) <= TERMINAL_CHARACTERS
        if short:
            self._pane.app.copy_to_clipboard(text)
            self._pane.notify(message)
        # Not without a terminal, in tests and pictures; nor on a server, whose clipboard is not
        # that of the browser.
        has_desktop = not self._pane.app.is_headless and not self._pane.app.is_web
        copied = has_desktop and await asyncio.to_thread(copy_to_system, text)
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
        """Return whether the prompts cannot be edited, after a message."""
        if self._pane.refusal:
            self._pane.notify(self._pane.refusal, severity="error", timeout=8)
        return bool(self._pane.refusal)

    def relabel(self) -> None:
        self._edit("Flip the label", "Flip", Relabel)

    def confirm_labels(self) -> None:
        rows = self._chosen_rows()
        if rows is not None and len(rows):
            self._pane.post_message(ConfirmLabels(self._keys(rows)))

    def remove_prompts(self) -> None:
        self._edit("Remove", "Remove", Remove)

    def duplicate_prompts(self) -> None:
        rows = None if self._refused() else self._chosen_rows()
        if rows is not None and self._pane.results is not None:
            self._pane.post_message(EditPrompts(Duplicate(self._keys(rows))))

    def undo_prompts(self) -> None:
        if self._refused():
            return
        self._pane.post_message(UndoPromptEdit())

    def _keys(self, rows: NDArray[np.intp]) -> frozenset[int]:
        assert self._pane.results is not None  # noqa: S101 - the rows are its own
        return frozenset(self._pane.results.evaluation.keys[rows].tolist())

    def _edit(self, action: str, yes: str, edit: Callable[[frozenset[int]], PromptEdit]) -> None:
        rows = None if self._refused() else self._chosen_rows()
        if rows is None or not len(rows):
            return
        keys = self._keys(rows)

        def answered(answer: bool | None) -> None:
            if answer:
                self._pane.post_message(EditPrompts(edit(keys)))

        if len(keys) == 1:
            answered(True)
        else:
            self._pane.app.push_screen(
                ConfirmDialog(self._question(action, rows), yes, "Cancel"), answered
            )

    def _question(self, action: str, rows: NDArray[np.intp]) -> str:
        results = self._pane.results
        assert results is not None  # noqa: S101 - the rows are its own
        preposition = " of" if action.startswith("Flip") else ""
        lines = [f"{action}{preposition} {len(rows)} prompts?"]
        lines += prompt_lines(results.prompts.prompts, rows)
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
        """Edit the selected prompt with all its columns; marks are ignored."""
        row = None if self._refused() else self._selected_row()
        if row is not None:
            self._rewrite(row, self._text_of(row))

    def write_again(self, edit: Add | Rewrite) -> None:
        """Open the dialog again for a prompt that could not be saved."""
        written = PromptText(edit.prompt, edit.expected, dict(edit.others))
        results = self._pane.results
        row = None
        if isinstance(edit, Rewrite) and results is not None:
            row = results.row_of(edit.key)
        if row is None:  # the prompt is gone, but not its new text
            self._add(written)
        else:
            before = self._text_of(row)
            self._rewrite(row, replace(written, others={**before.others, **written.others}))

    def _rewrite(self, row: int, shown: PromptText) -> None:
        """Edit the prompt of a row, starting with the values `shown`."""
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
                self._pane.post_message(EditPrompts(edit))

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
                self._pane.post_message(EditPrompts(edit))

        dialog = PromptDialog("Add a prompt", "Add", start, columns, problem)
        self._pane.app.push_screen(dialog, answered)


def _row_count(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _column(prompts: PromptSet, name: str) -> ColumnField:
    """Return a column, with its values if they are few enough to suggest."""
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

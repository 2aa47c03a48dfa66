"""Copies, examples and edits of the marked prompts, or of the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.app.services import Services
from guardtui.domain.figures import count_text
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
from guardtui.tui.editor.feature import DefinitionFeature
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.prompts.clipboard_rows import prompts_as_lines, rows_as_tsv
from guardtui.tui.prompts.dialog import ColumnField, PromptDialog, PromptText
from guardtui.tui.results.feature import ResultsFeature
from guardtui.tui.results.model import Results
from guardtui.tui.system.clipboard import copy_to_system

TERMINAL_CHARACTERS = 500_000
"""Longer copies go only to the system's clipboard: terminals drop them or hang."""

_NAME_SHOWN = 40  # characters of a column's name in a message
_SUGGESTED = 200  # values of a column that are suggested, at most


_CHARACTERS = 60  # of a prompt in a question
_LISTED = 3  # prompts in a question


class PromptFeature:
    """Copies and edits the prompts of the results, and makes examples of them."""

    def __init__(
        self,
        services: Services,
        window: Window,
        definition: DefinitionFeature,
        rows: ResultsFeature,
    ) -> None:
        self._services, self._window = services, window
        self._definition, self._rows = definition, rows
        self._pane = window.panes.results
        self.actions: Mapping[str, ActionMethod] = {
            "use_as_example": self.use_as_example,
            "copy_prompt": self.copy_prompt,
            "copy_rows": self.copy_rows,
            "copy_list": self.copy_list,
            "relabel": lambda: self._edit("Change the label of", "Change", Relabel),
            "confirm_labels": self.confirm_labels,
            "remove_prompts": lambda: self._edit("Remove", "Remove", Remove),
            "duplicate_prompts": self.duplicate_prompts,
            "undo_prompts": lambda: None if self._refused() else self.edit(None),
            "add_prompt": lambda: self._add(PromptText("", True)),
            "add_like_this": self.add_like_this,
            "edit_prompt": self.edit_prompt,
        }
        self._pane.use_actions(self.actions)

    # --- which prompts --------------------------------------------------------------------

    def _chosen(self) -> tuple[Results, NDArray[np.intp]] | None:
        """Return the marked rows of the prompt set, else the selected one; None after a message."""
        results, table = self._pane.results, self._pane.table
        if results is not None and table.mark_count:
            return results, results.rows_of(table.marked)
        selected = self._selected()
        return None if selected is None else (selected[0], np.array([selected[1]], np.intp))

    def _selected(self) -> tuple[Results, int] | None:
        results, row_id = self._pane.results, self._pane.table.cursor_row_id
        row = None if row_id is None or results is None else results.row_of(row_id)
        if row is None or results is None:
            self._window.notify("Select a prompt first.")
            return None
        return results, row

    # --- examples and copies --------------------------------------------------------------

    def use_as_example(self) -> None:
        chosen = self._chosen()
        if chosen is None:
            return
        results, rows = chosen
        if len(rows) > EXAMPLES_AT_MOST:
            self._window.notify(
                f"{len(rows)} prompts are marked, and a topic has at most {EXAMPLES_AT_MOST} "
                "examples: mark fewer.",
                severity="warning",
            )
            return
        prompts = results.prompts.prompts[rows].to_list()

        def answered(answer: str | None) -> None:
            if answer:
                self._definition.add_examples(prompts)

        contradicted = int((~results.prompts.expected[rows]).sum())
        if not contradicted:
            answered("yes")
            return
        which = "This prompt is" if len(rows) == 1 else f"{contradicted} of {len(rows)} prompts are"
        question = (
            f"{which} labelled “does not belong to the topic”:\n\n"
            f"  {display_start(prompts[0], _CHARACTERS)}\n\n"
            "As an example it would teach the guardrail to match prompts like it. Use it anyway?"
            if len(rows) == 1
            else f"{which} labelled “does not belong to the topic”. As examples they would teach "
            "the guardrail to match prompts like them. Use all anyway?"
        )
        self._window.open(ConfirmDialog(question, "Use", "Cancel"), answered)

    def copy_prompt(self) -> None:
        if chosen := self._chosen():
            results, rows = chosen
            texts = results.prompts.prompts[rows[:1]].to_list()
            hidden = hidden_characters(texts[0]) if len(rows) == 1 else 0
            note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
            subject = "" if len(rows) == 1 else f" {len(rows)} prompts"
            self._copy(lambda: prompts_as_lines(results, rows), f"Copied{subject}{note}.")

    def copy_rows(self) -> None:
        if chosen := self._chosen():
            message = f"Copied {count_text(len(chosen[1]), 'row')} as a table, with a header."
            self._copy(lambda: rows_as_tsv(*chosen), message)

    def copy_list(self) -> None:
        results = self._pane.results
        if results is None or not len(results):
            self._window.notify("No rows are shown.")
            return
        message = f"Copied the list: {count_text(len(results), 'row')}, with a header."
        self._copy(lambda: rows_as_tsv(results, results.order), message)

    def _copy(self, make: Callable[[], str], message: str) -> None:
        """Copy a text that is made in a thread; a newer copy cancels this."""
        self._window.start(self._copy_now(make, message), exclusive=True, group="copy")

    async def _copy_now(self, make: Callable[[], str], message: str) -> None:
        text = await asyncio.to_thread(make)
        short = len(text) <= TERMINAL_CHARACTERS
        if short:
            self._window.app.copy_to_clipboard(text)
            self._window.notify(message)
        # Not without a terminal, in tests and pictures; nor on a server, whose clipboard is not
        # that of the browser.
        has_desktop = not self._window.app.is_headless and not self._window.app.is_web
        copied = has_desktop and await asyncio.to_thread(copy_to_system, text)
        if copied and not short:
            self._window.notify(message)
        elif not short:
            self._window.notify(
                f"Nothing was copied: {len(text):,} characters are too many for a terminal's "
                f"clipboard (it takes {TERMINAL_CHARACTERS:,}), and no other was found. Mark "
                "fewer rows, or export (F8): csv has them all.",
                severity="warning",
            )

    # --- edits of the prompt set ----------------------------------------------------------

    def _refused(self) -> bool:
        """Return whether the prompts cannot be edited, after a message."""
        if self._pane.refusal:
            self._window.notify(self._pane.refusal, severity="error", seconds=8)
        return bool(self._pane.refusal)

    def confirm_labels(self) -> None:
        if chosen := self._chosen():
            self._rows.confirm(_keys(*chosen))

    def duplicate_prompts(self) -> None:
        if not self._refused() and (chosen := self._chosen()):
            self.edit(Duplicate(_keys(*chosen)))

    def edit(self, edit: PromptEdit | None) -> None:
        """Edit the prompts, or undo the last edit (None)."""
        self._window.start(self._edit_now(edit), group="prompts")

    async def _edit_now(self, edit: PromptEdit | None) -> None:
        """Edit the prompts; select one that was added, rewritten or restored."""
        workspace = self._services.workspace
        before = workspace.prompts
        await self._services.sync.edit_prompts(edit)
        now = workspace.prompts
        if now is before and isinstance(edit, Add | Rewrite):  # saving failed
            self._write_again(edit)
        if now is before or not (edit is None or isinstance(edit, Add | Rewrite)):
            return
        new = now.keys[~np.isin(now.keys, before.keys)]
        if len(new):
            self._pane.select_when_shown(int(new[0]), now)
        elif isinstance(edit, Rewrite):  # with an unchanged text
            self._pane.select_when_shown(edit.key, now)

    def _edit(self, action: str, yes: str, edit: Callable[[frozenset[int]], PromptEdit]) -> None:
        chosen = None if self._refused() else self._chosen()
        if chosen is None or not len(chosen[1]):
            return
        keys = _keys(*chosen)

        def answered(answer: str | None) -> None:
            if answer:
                self.edit(edit(keys))

        if len(keys) == 1:
            answered("yes")
        else:
            question = _question(f"{action} {len(keys)} prompts?", *chosen)
            self._window.open(ConfirmDialog(question, yes, "Cancel"), answered)

    def add_like_this(self) -> None:
        if selected := self._selected():
            self._add(_text_of(*selected))

    def edit_prompt(self) -> None:
        """Edit the selected prompt with all its columns; marks are ignored."""
        if not self._refused() and (selected := self._selected()):
            self._rewrite(*selected, _text_of(*selected))

    def _write_again(self, edit: Add | Rewrite) -> None:
        """Open the dialog again for a prompt that could not be saved."""
        written = PromptText(edit.prompt, edit.expected, dict(edit.others))
        results = self._pane.results
        row = None
        if isinstance(edit, Rewrite) and results is not None:
            row = results.row_of(edit.key)
        if row is None or results is None:  # the prompt is gone, but not its new text
            self._add(written)
        else:
            before = _text_of(results, row)
            others = {**before.others, **written.others}
            self._rewrite(results, row, replace(written, others=others))

    def _rewrite(self, results: Results, row: int, shown: PromptText) -> None:
        """Edit the prompt of a row, starting with the values `shown`."""
        prompts, start = results.prompts, _text_of(results, row)
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
                self.edit(Rewrite(key, written.prompt, written.expected, changed))

        line = int(prompts.frame["line"][row])
        columns = [_column(prompts, name) for name in prompts.extra_columns]
        dialog = PromptDialog(f"Edit the prompt of line {line}", "Save", shown, columns, problem)
        self._window.open(dialog, answered)

    def _add(self, start: PromptText) -> None:
        if self._refused():
            return
        results = self._pane.results
        if results is None:
            self._window.notify("The prompts are not evaluated yet.")
            return
        prompts = results.prompts
        category = prompts.category_column
        columns = [] if category is None else [_column(prompts, category)]

        def problem(written: PromptText) -> str:
            return prompt_problem(written.prompt, prompts) or _columns_problem(written)

        def answered(written: PromptText | None) -> None:
            if written is not None:
                self.edit(Add(written.prompt, written.expected, written.others))

        dialog = PromptDialog("Add a prompt", "Add", start, columns, problem)
        self._window.open(dialog, answered)


def _keys(results: Results, rows: NDArray[np.intp]) -> frozenset[int]:
    return frozenset(results.evaluation.keys[rows].tolist())


def _text_of(results: Results, row: int) -> PromptText:
    prompts = results.prompts
    others = {name: str(prompts.frame[name][row] or "") for name in prompts.extra_columns}
    return PromptText(str(prompts.prompts[row]), bool(prompts.expected[row]), others)


def _question(title: str, results: Results, rows: NDArray[np.intp]) -> str:
    """Return a question with the first of the prompts, inert, and how many are left or hidden."""
    first: pl.Series = results.prompts.prompts[rows[:_LISTED]]
    lines = [title, *(f"  {display_start(prompt, _CHARACTERS)}" for prompt in first)]
    if len(rows) > _LISTED:
        lines.append(f"  … and {len(rows) - _LISTED} more")
    hidden = int(np.count_nonzero(results.positions[rows] < 0))
    if hidden:
        lines.append(f"{hidden} of them {'is' if hidden == 1 else 'are'} not shown now.")
    return "\n".join(lines)


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

"""The dialog that imports a results.tsv into the history."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Label

from guardtui.files.problems import FileError
from guardtui.session.history import ImportedRow
from guardtui.session.results_log import read_results
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.inputs.path_suggester import PathSuggester
from guardtui.tui.inputs.typed_path import typed_path
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.problem_line import ProblemLine

LOG = "results.tsv"
"""Usual name of a log."""
_LINES = 6
"""Most lines of a problem, for a short screen."""
_ABOUT = (
    "A log of iterations that another tool wrote, or another session exported. Its rows have rates "
    "and a definition, but no verdicts. A file of the same name that was imported before is "
    "replaced."
)


class ImportDialog(Modal[tuple[ImportedRow, ...] | None]):
    """Returns the iterations of a log, or None."""

    help_pane = "history"

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the topic file, for paths that do not exist in the working folder."""
        super().__init__()
        self._folder = folder
        log_file = folder / LOG
        self._path = LineInput(
            str(log_file) if log_file.is_file() else "",
            placeholder=f"path of a {LOG}",
            suggester=PathSuggester(),
            compact=True,
        )
        self._problem = ProblemLine()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Import a {LOG}"
            dialog.border_subtitle = "Enter imports · Esc closes"
            yield Label(_ABOUT, markup=False)
            yield self._path
            yield self._problem
            with Horizontal(classes="buttons"):
                yield Button(Text("Import (Enter)"), id="import", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="leave", compact=True)

    def on_mount(self) -> None:
        self._path.focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "import":
            self.submitted()
        else:
            self.action_close()

    @on(Input.Changed)
    def changed(self) -> None:
        self._problem.clear()

    @on(Input.Submitted)
    def submitted(self) -> None:
        typed = self._path.value.strip()
        if typed:
            self._read(typed)
        else:
            self._show_problem(f"write the path of a {LOG}")

    @work(exclusive=True, group="import")
    async def _read(self, typed: str) -> None:
        try:
            rows = await asyncio.to_thread(self._rows, typed)
        except FileError as problem:
            self._show_problem(str(problem))
        else:
            self.dismiss(rows)

    def _rows(self, typed: str) -> tuple[ImportedRow, ...]:
        return read_results(typed_path(typed, self._folder))

    def _show_problem(self, problem: str) -> None:
        lines = problem.splitlines()
        if len(lines) > _LINES:  # the last line has the remedy
            more = f"  and {len(lines) - _LINES + 1} more lines"
            lines = [*lines[: _LINES - 2], more, lines[-1]]
        self._problem.show("\n".join(lines))

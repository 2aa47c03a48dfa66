"""A results.tsv put into the history from the screen: a line for its path, and what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Label, Static

from guardtui.domain.text import display_text
from guardtui.files.problems import FileError
from guardtui.session.history import ImportedRow
from guardtui.session.results_log import read_results
from guardtui.tui.modal import Modal
from guardtui.tui.widgets.line_input import LineInput
from guardtui.tui.widgets.path_suggester import PathSuggester

LOG = "results.tsv"
"""The name that such a log has, as a rule."""
_LINES = 6
"""Of what is wrong with a file, as much as a short screen has room for."""
_ABOUT = (
    "A log of iterations that another tool kept, or another session exported. Its rows have rates "
    "and a definition, but no verdicts. A file of the same name that was imported before is "
    "replaced."
)


class ImportDialog(Modal[tuple[ImportedRow, ...] | None]):
    """Gives the iterations of a log, or None."""

    BINDINGS = [("escape", "close", "Close")]
    help_pane = "history"

    def __init__(self, folder: Path) -> None:
        """`folder` is the topic file's, where paths that do not exist from here are looked for."""
        super().__init__()
        self._folder = folder
        near = folder / LOG
        self._path = LineInput(
            str(near) if near.is_file() else "",
            placeholder=f"path of a {LOG}",
            suggester=PathSuggester(),
            compact=True,
        )
        self._problem = Static("", id="problem", markup=False)

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
        self._problem.update("")

    @on(Input.Submitted)
    def submitted(self) -> None:
        typed = self._path.value.strip()
        if typed:
            self._read(typed)
        else:
            self._tell(f"write the path of a {LOG}")

    @work(exclusive=True, group="import")
    async def _read(self, typed: str) -> None:
        try:
            rows = await asyncio.to_thread(self._rows, typed)
        except FileError as problem:
            self._tell(str(problem))
        except (OSError, RuntimeError, ValueError) as error:
            # A name may hold a null character, or a home that nobody has.
            self._tell(f"{typed}: this is no file name ({error})")
        else:
            self.dismiss(rows)

    def _rows(self, typed: str) -> tuple[ImportedRow, ...]:
        path = Path(typed).expanduser()
        beside = self._folder / path
        return read_results(beside if not path.exists() and beside.exists() else path)

    def _tell(self, problem: str) -> None:
        lines = problem.splitlines()
        if len(lines) > _LINES:  # the last one says what to do
            more = f"  and {len(lines) - _LINES + 1} more lines"
            lines = [*lines[: _LINES - 2], more, lines[-1]]
        self._problem.update(Text(f"! {display_text(chr(10).join(lines), newlines=True)}"))

    def action_close(self) -> None:
        self.dismiss(None)

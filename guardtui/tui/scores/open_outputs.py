"""The dialog that opens a file of outputs, or shows its problems."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Label

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.files.output_files import OutputSet, load_outputs
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.inputs.path_suggester import PathSuggester
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.problem_line import ProblemLine

_ABOUT = (
    "A file with what a model answered: CSV, JSONL or Parquet with the columns input, target and "
    "output. Others are kept: id, epoch and choices have a meaning, all else is metadata."
)


class OpenOutputsDialog(Modal[OutputSet | None]):
    """Asks for the path of a file and returns its outputs; Escape returns None."""

    help_pane = "open_outputs"

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self._path = path
        self._problem = ProblemLine()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Score outputs"
            dialog.border_subtitle = "Enter opens, → completes, Esc closes"
            yield Label(_ABOUT, markup=False)
            yield LineInput(
                self._path, placeholder="path of the file", id="path", suggester=PathSuggester()
            )
            yield self._problem

    @on(Input.Changed)
    def changed(self) -> None:
        self._problem.clear()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self._open(event.value.strip())
        else:
            self._problem.update(Text("write the path of a file"))

    @work(exclusive=True)
    async def _open(self, path: str) -> None:
        self._problem.show_note("reading…")
        try:
            outputs = await asyncio.to_thread(lambda: load_outputs(Path(path).expanduser()))
        except (GuardtuiError, RuntimeError, ValueError) as error:
            # A name may contain a null character, or the home folder of an unknown user.
            self._problem.update(Text(display_text(str(error), newlines=True)))
            return
        self.dismiss(outputs)

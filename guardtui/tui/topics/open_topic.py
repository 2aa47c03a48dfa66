"""The dialog that opens a topic file, or shows its problems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Label

from guardtui.domain.errors import GuardtuiError
from guardtui.session.workspace import UnknownPromptsError, Workspace
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.inputs.path_suggester import PathSuggester
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.problem_line import ProblemLine

TOPIC_ENDINGS = (".yaml", ".yml", ".json")
Opens = Callable[[Path, Path | None], Workspace]

_ABOUT = (
    "The path of a topic file. Its prompts are those used with it last, else NAME.csv (or .jsonl, "
    ".parquet) beside it."
)
_PROMPTS = "Prompts: no set is known for this topic. Name a CSV, JSON, Parquet or Excel file."


class OpenTopicDialog(Modal[Workspace | None]):
    """Asks for the path of a topic file, and for its prompts if they are unknown."""

    help_pane = "open_topic"

    def __init__(self, opens: Opens, start: str = "") -> None:
        """`opens` opens a topic in a thread, and raises errors; `start` is the first text."""
        super().__init__()
        self._opens = opens
        self._path = LineInput(
            start,
            placeholder="path of the topic file",
            id="path",
            suggester=PathSuggester(TOPIC_ENDINGS),
            select_on_focus=False,
            compact=True,
        )
        self._about_prompts = Label(_PROMPTS, markup=False)
        self._prompts = LineInput(
            placeholder="path of the file of prompts",
            id="prompts",
            suggester=PathSuggester(),
            select_on_focus=False,
            compact=True,
        )
        self._problem = ProblemLine()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Open topic"
            dialog.border_subtitle = "Enter opens, → completes, Esc closes"
            yield Label(_ABOUT, markup=False)
            yield self._path
            yield self._about_prompts
            yield self._prompts
            yield self._problem
            with Horizontal(classes="buttons"):
                yield Button(Text("Open (Enter)"), id="yes", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        self._show_prompts_field(False)
        self._path.focus()

    def _show_prompts_field(self, wanted: bool) -> None:
        self._about_prompts.display = self._prompts.display = wanted

    @on(Input.Changed, "#path")
    def other_path(self) -> None:
        self._show_prompts_field(False)
        self._problem.clear()

    @on(Input.Changed, "#prompts")
    def other_prompts(self) -> None:
        self._problem.clear()

    @on(Input.Submitted)
    def submitted(self) -> None:
        path = self._path.value.strip()
        prompts = self._prompts.value.strip() if self._prompts.display else ""
        if not path:
            self._problem.show("write the path of a topic file")
        elif self._prompts.display and not prompts:
            self._problem.show("write the path of a file of prompts")
            self._prompts.focus()
        else:
            self._open(path, prompts)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.submitted()
        else:
            self.action_close()

    @work(exclusive=True)
    async def _open(self, path: str, prompts: str) -> None:
        self._problem.show_note("reading…")

        def opened() -> Workspace:
            return self._opens(Path(path), Path(prompts).expanduser() if prompts else None)

        try:
            workspace = await asyncio.to_thread(opened)
        except UnknownPromptsError:
            self._show_prompts_field(True)
            self._problem.clear()
            self._prompts.focus()
        except (GuardtuiError, RuntimeError, ValueError) as error:
            self._problem.show(str(error))
        else:
            self.dismiss(workspace)

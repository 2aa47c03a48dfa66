"""The dialog of the companions: which other topics of the profile are measured with this one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.session.companions import Companion, Companions, kept_path, load_companions
from guardtui.tui.content import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.widgets.line_input import LineInput
from guardtui.tui.widgets.path_suggester import PathSuggester

_ABOUT = (
    "Other topics of the same profile. With them, every verdict is that of the whole profile: each "
    "prompt says which topic stopped it."
)
_NONE = "None so far: the topic is measured alone."
_LONGEST = 60


class CompanionsDialog(Modal[list[str] | None]):
    """Adds and removes companions; Escape leaves, with the new paths if there was any change."""

    BINDINGS = [("escape", "close", "Close"), ("delete,d,x", "remove", "Remove")]
    help_pane = "companions"

    def __init__(self, companions: Companions, own: Topic) -> None:
        """`own` is the topic under test, whose name no companion may have."""
        super().__init__()
        self._companions, self._own = companions, own
        self._before = companions.paths
        # One change after the other, and leaving after the last of them.
        self._changing = asyncio.Lock()
        self._list = OptionList(markup=False, compact=True)
        self._none = Label(_NONE, markup=False)
        self._path = LineInput(
            placeholder="path of a topic file", suggester=PathSuggester(), compact=True
        )
        self._problem = Static("", id="problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Topics measured together"
            dialog.border_subtitle = "Enter adds · Del removes · Esc closes"
            yield Label(_ABOUT, markup=False)
            yield self._none
            yield self._list
            yield self._path
            yield self._problem
            with Horizontal(classes="buttons"):
                yield Button(Text("Add (Enter)"), id="add", variant="primary", compact=True)
                yield Button(Text("Remove (Del)"), id="remove", compact=True)
                yield Button(Text("Done (Esc)"), id="done", compact=True)

    def on_mount(self) -> None:
        self._show(self._companions, 0)
        self._path.focus()

    def _show(self, companions: Companions, highlighted: int) -> None:
        self._companions = companions
        files = companions.files
        self._list.clear_options()
        self._list.add_options([Option(themed(_line(one))) for one in files])
        self._list.highlighted = min(highlighted, len(files) - 1) if files else None
        self._list.display = bool(files)
        self._none.display = not files
        self.query_one("#remove", Button).disabled = not files

    @on(Input.Changed)
    def changed(self) -> None:
        self._problem.update("")

    @on(Input.Submitted)
    def submitted(self) -> None:
        typed = self._path.value.strip()
        if typed:
            self._add(typed)
        else:
            self._problem.update("! write the path of a topic file")

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "add":
            self.submitted()
        elif event.button.id == "remove":
            self.action_remove()
        else:
            self.action_close()

    @work
    async def _add(self, typed: str) -> None:
        async with self._changing:
            before = self._companions
            try:
                kept = await asyncio.to_thread(_resolved, before.topic_path, typed)
            except (OSError, RuntimeError, ValueError) as error:
                # A name may hold a null character, or a home that nobody has.
                self._tell(f"{typed}: this is no file name ({error})")
                return
            if kept in before.paths:
                self._tell(f"{typed}: this topic is measured already")
                return
            found = await asyncio.to_thread(
                load_companions, before.topic_path, [*before.paths, kept], self._own
            )
            added = found.files[-1]
            if added.problem is not None:
                self._tell(str(added.problem))
                return
            self._show(found, len(found.files) - 1)
            if self._path.value.strip() == typed:
                self._path.value = ""

    def _tell(self, problem: str) -> None:
        self._problem.update(Text(f"! {display_text(problem, newlines=True)}"))

    @work
    async def action_remove(self) -> None:
        async with self._changing:
            place, before = self._list.highlighted, self._companions
            if place is None:
                return
            paths = [path for at, path in enumerate(before.paths) if at != place]
            # All anew: one may have been in the way of another.
            found = await asyncio.to_thread(load_companions, before.topic_path, paths, self._own)
            self._show(found, place)
            self._problem.update("")
            if not paths:
                self._path.focus()

    @work
    async def action_close(self) -> None:
        async with self._changing:
            paths = self._companions.paths
            self.dismiss(None if paths == self._before else list(paths))


def _resolved(topic_path: Path, typed: str) -> str:
    """The path to keep. What is typed counts from where the app runs, else from the topic file."""
    path = Path(typed).expanduser()
    beside = topic_path.parent / path
    return kept_path(topic_path, beside if not path.exists() and beside.exists() else path)


def _line(companion: Companion) -> Text:
    """A companion in the list, inert; what is wrong with it stands below."""
    path = display_start(companion.path, _LONGEST)
    if companion.topic is None:
        problem = companion.problem
        line = Text()
        line.append(f"! {path}", "bold $text-error")
        if problem is not None:
            line.append(f"\n  {display_text(problem.problem)}", "$text-error")
        return line
    line = Text()
    line.append(display_start(companion.topic.name, _LONGEST) or "(no name)", "bold")
    line.append(f"  {companion.topic.intent.value}  {path}", "$text-muted")
    return line


class CompanionsFeature:
    """The topics of the profile that are measured together with this one."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "companions": window.action(self.choose_companions)
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def choose_companions(self) -> None:
        """Ask for the files of the topics, and measure with them."""
        known, topic = self._services.companions.known, self._services.session.topic
        paths = await self._window.show(CompanionsDialog(known, topic))
        if paths is not None:
            await self._services.companions.use(paths)

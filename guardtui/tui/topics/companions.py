"""Companion topics: other topics of the profile that are measured with this one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widgets import Button
from textual.widgets.option_list import Option

from guardtui.app.services import Services
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.session.companions import Companion, Companions, kept_path, load_companions
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.inputs.paths import PathSuggester, typed_path
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label, OptionList
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_ABOUT = (
    "Other topics of the same profile. With them, every verdict is that of the whole profile: each "
    "prompt says which topic stopped it."
)
_NONE = "None so far: the topic is measured alone."
_LONGEST = 60


class CompanionsDialog(FormDialog[list[str] | None]):
    """Adds and removes companions; returns the new paths, or None without changes."""

    BINDINGS = [("escape", "close", "Close"), ("delete,d,x", "remove", "Remove")]
    help_pane = "companions"

    def __init__(self, companions: Companions, own: Topic) -> None:
        """`own` is the topic under test, whose name no companion may have."""
        keys = "Enter adds · Del removes · Esc closes"
        super().__init__("Topics measured together", keys, yes="Add (Enter)", no="Done (Esc)")
        self._companions, self._own = companions, own
        self._before = companions.paths
        # One change after the other; closing waits for the last one.
        self._changing = asyncio.Lock()
        self._list = OptionList(compact=True)
        self._none = Label(_NONE)
        self._path = LineInput(
            placeholder="path of a topic or profile file", suggester=PathSuggester(), compact=True
        )

    def fields(self) -> ComposeResult:
        yield Label(_ABOUT)
        yield self._none
        yield self._list
        yield self._path

    def more_buttons(self) -> Iterator[Button]:
        yield Button(Text("Remove (Del)"), id="remove", compact=True)

    def on_mount(self) -> None:
        self._show(self._companions, 0)
        self._path.focus()

    def _show(self, companions: Companions, highlighted: int) -> None:
        self._companions = companions
        files = companions.files
        self._list.clear_options()
        self._list.add_options([Option(themed(_line(file))) for file in files])
        self._list.highlighted = min(highlighted, len(files) - 1) if files else None
        self._list.display = bool(files)
        self._none.display = not files
        self.query_one("#remove", Button).disabled = not files

    def accept(self) -> None:
        typed = self._path.value.strip()
        if typed:
            self._add(typed)
        else:
            self.problem.show("write the path of a topic or profile file")

    def chose(self, button: Button) -> None:
        self.action_remove()

    @work
    async def _add(self, typed: str) -> None:
        async with self._changing:
            before = self._companions
            try:
                kept = await asyncio.to_thread(_stored, before.topic_path, typed)
            except FileError as error:
                self.problem.show(str(error))
                return
            if kept in before.paths:
                self.problem.show(f"{typed}: this topic is measured already")
                return
            loaded = await asyncio.to_thread(
                load_companions, before.topic_path, [*before.paths, kept], self._own
            )
            added = loaded.files[len(before.files) :]
            problem = next((file.problem for file in added if file.problem is not None), None)
            if problem is not None:
                self.problem.show(str(problem))
                return
            if not added:
                self.problem.show(f"{typed}: this profile file lists no other topic")
                return
            self._show(loaded, len(loaded.files) - 1)
            if self._path.value.strip() == typed:
                self._path.value = ""

    @work
    async def action_remove(self) -> None:
        async with self._changing:
            index, before = self._list.highlighted, self._companions
            if index is None:
                return
            # A topic of a profile file is removed with its profile.
            removed = before.files[index]
            paths = [path for path in before.paths if path != (removed.profile or removed.path)]
            # Load all again: the removed one may have been in conflict with another.
            loaded = await asyncio.to_thread(load_companions, before.topic_path, paths, self._own)
            self._show(loaded, index)
            self.problem.clear()
            if not paths:
                self._path.focus()

    def action_close(self) -> None:
        """Close, after the last change is made."""
        self._close()

    @work
    async def _close(self) -> None:
        async with self._changing:
            paths = self._companions.paths
            self.dismiss(None if paths == self._before else list(paths))


def _stored(topic_path: Path, typed: str) -> str:
    """Return the path to store. Raises FileError for an invalid name."""
    return kept_path(topic_path, typed_path(typed, topic_path.parent))


def _line(companion: Companion) -> Text:
    """Return a companion for the list, inert, with its problem below."""
    path = display_start(companion.path, _LONGEST)
    if companion.profile and companion.profile != companion.path:
        path += f" in {display_start(companion.profile, _LONGEST)}"
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
    """Chooses the companion topics."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "companions": window.action(self.choose_companions)
        }

    async def choose_companions(self) -> None:
        """Show the dialog, and evaluate with the chosen topics."""
        known, topic = self._services.companions.known, self._services.session.topic
        paths = await self._window.show(CompanionsDialog(known, topic))
        if paths is not None:
            await self._services.companions.use(paths)

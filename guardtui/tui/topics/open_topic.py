"""Switching to another topic: a dialog of known topics, one by its path, or a new one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Button, Input
from textual.widgets.option_list import Option

from guardtui.app.editing.new_topic import paths_of, write_new_topic
from guardtui.app.editing.topic_from_prompts import start_topic
from guardtui.app.editing.topic_opening import KnownTopic, known_topics, open_topic
from guardtui.app.services import Services
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.session.recent_topics import forget_opened
from guardtui.session.topic_places import UnknownPromptsError
from guardtui.session.workspace import Workspace
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.inputs.paths import PathSuggester
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label, OptionList
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.messages import SwitchTopic
from guardtui.tui.topics.new_topic import NewTopicDialog

TOPIC_ENDINGS = (".yaml", ".yml", ".json")
Opens = Callable[[Path, Path | None], Workspace]

NEW = "new_topic"
_NONE = "No other topic was opened yet, and this folder has none."
_ABOUT = (
    "The path of a topic file. Its prompts are those used with it last, else NAME.csv (or .jsonl, "
    ".parquet) beside it."
)
_PROMPTS = "Prompts: no set is known for this topic. Name a CSV, JSON, Parquet or Excel file."


class OpenTopicDialog(FormDialog[Workspace | str | None]):
    """A list of topics and the path of another one; asks for its prompts if they are unknown.

    Returns the opened topic, or the name of the action that makes a new one.
    """

    BINDINGS = [("delete,d,x", "drop", "Drop from the list"), ("n", "new", "New topic")]
    help_pane = "open_topic"

    def __init__(
        self,
        topics: Sequence[KnownTopic],
        opens: Opens,
        dropped: Callable[[Path], None],
        start: str = "",
    ) -> None:
        """`opens` opens a topic in a thread, and raises errors; `dropped` gets removed paths.

        `start` is the first text of the path.
        """
        keys = "Enter opens · Del drops from the list · n new · Esc closes"
        super().__init__("Open topic", keys, yes="Open (Enter)")
        self._topics, self._opens, self._dropped, self._start = list(topics), opens, dropped, start
        self._list = OptionList(*map(_option, self._topics), compact=True)
        self._none = Label(_NONE)
        self._path = LineInput(
            start,
            placeholder="path of the topic file",
            id="path",
            suggester=PathSuggester(TOPIC_ENDINGS),
            select_on_focus=False,
            compact=True,
        )
        self._about_prompts = Label(_PROMPTS)
        self._prompts = LineInput(
            placeholder="path of the file of prompts",
            id="prompts",
            suggester=PathSuggester(),
            select_on_focus=False,
            compact=True,
        )

    def fields(self) -> ComposeResult:
        yield self._none
        yield self._list
        yield Label(_ABOUT)
        yield self._path
        yield self._about_prompts
        yield self._prompts

    def more_buttons(self) -> Iterator[Button]:
        yield Button(Text("New topic (n)"), id="new", compact=True)

    def on_mount(self) -> None:
        self._ask_for_prompts(False)
        self._list.highlighted = 0 if self._topics else None
        (self._list if self._topics else self._path).focus()

    def _ask_for_prompts(self, wanted: bool) -> None:
        """Show the field of the prompts in place of the list, or the list."""
        self._about_prompts.display = self._prompts.display = wanted
        self._list.display = bool(self._topics) and not wanted
        self._none.display = not (self._topics or wanted)

    def changed(self, field: Input) -> None:
        if field is self._path:
            self._ask_for_prompts(False)
        self.problem.clear()

    def submitted(self, field: Input) -> None:
        path, prompts = self._path.value.strip(), self._prompts.value.strip()
        if not path:
            self.problem.show("write the path of a topic file")
        elif self._prompts.display and not prompts:
            self.problem.show("write the path of a file of prompts")
            self._prompts.focus()
        else:
            self._open(path, prompts if self._prompts.display else "")

    def accept(self) -> None:
        """Open the path if one was typed, else the topic of the list."""
        if self._list.highlighted is None or self._path.value != self._start:
            self.submitted(self._path)
        else:
            self._list.action_select()

    @on(OptionList.OptionHighlighted)
    def highlighted(self) -> None:
        self.problem.clear()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        topic = self._topics[event.option_index]
        if topic.problem:
            self.problem.show(f"{topic.path}: {topic.problem}\n  Del drops it from the list")
        else:
            there = topic.prompts is not None and topic.prompts.exists()
            self._open(str(topic.path), str(topic.prompts) if there else "")

    @work(exclusive=True)
    async def _open(self, path: str, prompts: str) -> None:
        self.problem.show_note("reading…")

        def opened() -> Workspace | UnknownPromptsError:
            try:
                return self._opens(Path(path), Path(prompts).expanduser() if prompts else None)
            except UnknownPromptsError as unknown:
                return unknown

        found = await self.value_of(opened)
        if isinstance(found, Workspace):
            self.dismiss(found)
        elif found is not None:
            with self.prevent(Input.Changed):
                self._path.value = path
            self._ask_for_prompts(True)
            self.problem.clear()
            self._prompts.focus()

    def action_drop(self) -> None:
        """Remove the topic from the list; topics that are only in this folder stay."""
        index = self._list.highlighted
        if index is None or not self._list.display:
            return
        topic = self._topics[index]
        if not topic.opened:
            self.problem.show(f"{topic.path.name} is listed because it is in this folder")
            return
        self._dropped(topic.path)
        self._topics.pop(index)
        self._list.remove_option_at_index(index)
        self._ask_for_prompts(False)
        if not self._topics:
            self._path.focus()

    def chose(self, button: Button) -> None:
        self.action_new()

    def action_new(self) -> None:
        """Make a new topic instead."""
        self.dismiss(NEW)


def _option(topic: KnownTopic) -> Option:
    line = Text(display_text(topic.path.name), "bold")
    if topic.problem:
        line.append(f"  {topic.problem}", "bold $text-error")
    elif topic.coverage is not None:
        line.append(f"  coverage {topic.coverage:.3f}", "not bold")
        line.append(f" {topic.guardrail}", "not bold $text-muted")
    details = [display_text(str(topic.path.parent))]
    if topic.prompts is not None and topic.prompts != topic.path.with_suffix(".csv"):
        details.append(f"prompts {display_text(topic.prompts.name)}")
    details.append(f"opened {topic.opened[:10]}" if topic.opened else "in this folder")
    line.append(f"\n  {' · '.join(details)}", "not bold $text-muted")
    return Option(themed(line))


class TopicsFeature:
    """Asks for a topic to open; the app then switches to it."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "open_topic": window.action(self.open),
            "new_topic": window.action(self.new),
        }

    async def open(self) -> None:
        """Ask for a topic: a recent one, one of this folder, or another one by its path."""
        topics = await asyncio.to_thread(known_topics, Path.cwd(), self._path)
        start = f"{Path.cwd()}{os.sep}"
        dialog = OpenTopicDialog(topics, self._opened, forget_opened, start)
        result = await self._window.show(dialog)
        if isinstance(result, str):
            self._window.perform(result)
        else:
            await self._go_to(result)

    async def new(self) -> None:
        """Ask for a new topic, write its files, and open it."""
        await self._go_to(await self._window.show(NewTopicDialog(self._made, str(Path.cwd()))))

    @property
    def _path(self) -> Path:
        return self._services.workspace.topic_file.path

    def _opened(self, path: Path, prompts: Path | None) -> Workspace:
        return open_topic(path, prompts, self._services.workspace)

    def _made(self, folder: Path, topic: Topic, prompts: Path | None) -> Workspace:
        folder = folder.expanduser()
        if not folder.is_dir():
            raise FileError(folder, "no such folder", "create it, or name another one")
        if prompts is not None:
            path = paths_of(folder, topic.name)[0]
            return start_topic(prompts.expanduser(), path, topic, None)
        topic_path, prompts_path = write_new_topic(folder, topic)
        return open_topic(topic_path, prompts_path, self._services.workspace)

    async def _go_to(self, workspace: Workspace | None) -> None:
        if workspace is None:
            return
        if await self._services.let_go(workspace.topic_file.path.name):
            self._window.app.post_message(SwitchTopic(workspace))

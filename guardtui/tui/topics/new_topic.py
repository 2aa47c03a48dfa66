"""The dialog for a new topic, which writes its two files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Button, Input

from guardtui.app.editing.new_topic import paths_of, problems_of, prompts_beside
from guardtui.app.editing.topic_from_prompts import name_for
from guardtui.domain.topic import EXAMPLES_AT_LEAST, Intent, Topic
from guardtui.session.workspace import Workspace
from guardtui.tui.inputs.fields import LineInput, ToggleButton
from guardtui.tui.inputs.paths import PathSuggester
from guardtui.tui.kit.dialogs import close_after_question
from guardtui.tui.kit.form import FormDialog, row
from guardtui.tui.kit.inert import Static

Makes = Callable[[Path, Topic, Path | None], Workspace]

_INTENTS = {
    Intent.BLOCK: "block: stop prompts on the topic",
    Intent.ALLOW: "allow: stop all other prompts",
}


class NewTopicDialog(FormDialog[Workspace | None]):
    """Asks for name, intent, description, two examples, the prompts and the folder.

    With a file of prompts only that is needed: the name is that of the file, and central prompts
    are the examples. One in the folder that has the name is filled in.
    """

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "accept", "Create", priority=True),
    ]
    help_pane = "new_topic"

    def __init__(self, makes: Makes, folder: str) -> None:
        """`makes` writes and opens a topic; it runs in a thread, and raises errors."""
        super().__init__("New topic", "Tab moves on, ^s creates, Esc closes", yes="Create (^s)")
        self._makes = makes
        self._intent = Intent.BLOCK
        self._making = False
        self._found = ""  # the prompts that were filled in
        self._named = LineInput(placeholder="such as Tax advice", id="name", compact=True)
        self._button = ToggleButton(Content(_INTENTS[self._intent]), id="new-intent", compact=True)
        self._description = LineInput(
            placeholder="what the topic is about, in a sentence", id="description", compact=True
        )
        self._examples = [
            LineInput(placeholder="a request that is of the topic", compact=True)
            for _ in range(EXAMPLES_AT_LEAST)
        ]
        self._prompts = LineInput(
            placeholder="a file of labelled prompts; without one a few are written",
            id="prompts",
            suggester=PathSuggester(),
            select_on_focus=False,
            compact=True,
        )
        self._folder = LineInput(
            folder, id="folder", suggester=PathSuggester(()), select_on_focus=False, compact=True
        )
        self._where = Static("", id="where")

    def fields(self) -> ComposeResult:
        for caption, widget in self._rows():
            yield row(caption, widget)
        yield self._where

    def _rows(self) -> list[tuple[str, Input | Button]]:
        examples = enumerate(self._examples, start=1)
        return [
            ("Name", self._named),
            ("Intent", self._button),
            ("Description", self._description),
            *((f"Example {number}", widget) for number, widget in examples),
            ("Prompts", self._prompts),
            ("Folder", self._folder),
        ]

    def on_mount(self) -> None:
        self._named.focus()

    @property
    def _topic(self) -> Topic:
        prompts = self._prompts.value.strip()
        return Topic(
            name=self._named.value.strip() or (name_for(Path(prompts)) if prompts else ""),
            description=self._description.value.strip(),
            examples=tuple(filter(None, (field.value.strip() for field in self._examples))),
            intent=self._intent,
        )

    def changed(self, field: Input) -> None:
        self.problem.clear()
        if field in (self._named, self._folder):
            self._fill_in_prompts()
        name = self._topic.name
        if not name:
            self._where.update("")
        elif self._prompts.value.strip():
            self._where.update(
                f"Writes {paths_of(Path(), name)[0].name}, with central prompts as examples if you "
                "write none; prompts that are examples leave the file, which is backed up."
            )
        else:
            files = " and ".join(path.name for path in paths_of(Path(), name))
            self._where.update(f"Writes {files}.")

    @work(exclusive=True, group="prompts")
    async def _fill_in_prompts(self) -> None:
        """Fill in the prompts that the name means, unless the author wrote others."""
        name, folder = self._named.value.strip(), self._folder.value.strip()
        found = None
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # no such folder or user
            path = Path(folder or ".").expanduser()
            found = await asyncio.to_thread(prompts_beside, path, name) if name else None
        if self._prompts.value == self._found:
            self._found = self._prompts.value = "" if found is None else str(found)

    def chose(self, button: Button) -> None:
        """Turn the intent."""
        self._intent = Intent.ALLOW if self._intent is Intent.BLOCK else Intent.BLOCK
        button.label = Content(_INTENTS[self._intent])

    def submitted(self, field: Input) -> None:
        """Go to the next field; from the last one, create the topic."""
        if field is self._folder:
            self.accept()
        else:
            self.focus_next()

    def accept(self) -> None:
        """Write and open the topic, unless it is invalid."""
        topic, prompts = self._topic, self._prompts.value.strip()
        problems = problems_of(topic, absent=_absent(topic) if prompts else ())
        if problems:
            self.problem.show("\n! ".join(problems))
        elif not self._making:
            folder = Path(self._folder.value.strip() or ".")
            self._make(folder, topic, Path(prompts) if prompts else None)

    @work
    async def _make(self, folder: Path, topic: Topic, prompts: Path | None) -> None:
        self._making = True
        workspace = await self.value_of(lambda: self._makes(folder, topic, prompts))
        self._making = False
        if workspace is not None:
            self.dismiss(workspace)

    def action_close(self) -> None:
        """Close, after a question if anything was written."""
        typed = self._topic
        if not (typed.name or typed.description or typed.examples):
            self.dismiss(None)
            return
        close_after_question(self, "Discard this new topic?")


def _absent(topic: Topic) -> list[str]:
    """Return the fields that are still empty, which is no problem for prompts that exist."""
    values = {"description": topic.description, "examples": topic.examples}
    return [field for field, value in values.items() if not value]

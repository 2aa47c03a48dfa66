"""The queue and the inbox on the main screen: label prompts, add a log, draft near misses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from textual import work
from textual.app import ComposeResult

from guardtui.app.advice.ideas import IdeaKind
from guardtui.app.labels.drafts import DRAFTS, NO_DRAFT, DraftMaterial
from guardtui.app.labels.inbox import Inbox
from guardtui.app.labels.labelling import NOTHING_WAITS, Labelling, Wanted
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.topic import Topic
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.inputs.paths import PathSuggester, typed_path
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label
from guardtui.tui.labels.screen import LabelScreen
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_ABOUT = (
    "What users wrote: chats, logs of LiteLLM, OpenTelemetry or airs-cli, CSV, JSON Lines, text. "
    "Its prompts wait in the inbox beside the prompt set, which only you can read, until you label "
    "them. Nothing is sent anywhere."
)


class AddLogDialog(FormDialog[str | None]):
    """The path of a log, which is added to the inbox; returns what was added."""

    help_pane = "add_log"

    def __init__(self, labels: Labelling, folder: Path) -> None:
        """Paths are relative to the working folder, or else to `folder`."""
        super().__init__("Add a log", "Esc closes", yes="Add (Enter)")
        self._labels, self._folder = labels, folder
        self._path = LineInput(
            placeholder="path of the log",
            id="path",
            suggester=PathSuggester(),
            select_on_focus=False,
            compact=True,
        )
        self._column = LineInput(
            placeholder="column or path of the prompts, in a log of another shape",
            id="column",
            compact=True,
        )
        self._guardrail = LineInput(
            placeholder="guardrail whose verdicts it has, by the definition in the topic file",
            id="guardrail",
            compact=True,
        )

    def fields(self) -> ComposeResult:
        yield Label(_ABOUT)
        yield self._path
        yield self._column
        yield self._guardrail

    def on_mount(self) -> None:
        self._path.focus()

    def accept(self) -> None:
        if self._path.value.strip():
            fields = (self._path, self._column, self._guardrail)
            self._add(*(field.value.strip() for field in fields))
        else:
            self.problem.show("write the path of a log")

    @work(exclusive=True)
    async def _add(self, path: str, column: str, guardrail: str) -> None:
        self.problem.show_note("reading…")
        try:
            log = typed_path(path, self._folder)
            told = await self._labels.add(log, column, guardrail)
        except GuardtuiError as problem:
            self.problem.show(str(problem))
        else:
            self.dismiss_when_active(told)


class LabelFeature:
    """Shows the queue, takes its labels into the figures, and fills the inbox."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "label": window.action(self._label),
            "add_log": window.action(self._add_log),
            "draft_near_misses": window.action(self._draft),
        }

    async def _label(self, like_idea: bool = False) -> None:
        """Show the queue; with `like_idea` prompts that would decide the step are first."""
        labels, topic = self._services.labels, await self._services.editing.finish_typing()
        wanted = self._wanted if like_idea else None
        screen = LabelScreen(topic, lambda report: labels.begin(report, wanted))
        await self._window.show(screen)
        if screen.sitting is None:
            key = self._window.first_key("add_log")
            self._window.notify(f"{NOTHING_WAITS} ({key}).", seconds=READING_TIME)
            return
        with problems_shown(self._window):
            await labels.finish(screen.sitting)

    @property
    def _wanted(self) -> Wanted | None:
        ideas = self._services.state.ideas
        for idea in () if ideas is None else ideas.ranked:
            if idea.kind is IdeaKind.LABEL:
                return Wanted(idea.keys, idea.labels)
        return None

    async def _add_log(self) -> None:
        folder = self._services.workspace.topic_file.path.absolute().parent
        told = await self._window.show(AddLogDialog(self._services.labels, folder))
        if told is not None:
            key = self._window.first_key("label")
            self._window.notify(f"{told}. {key} labels them.", seconds=READING_TIME)

    async def _draft(self) -> None:
        topic = await self._services.editing.finish_typing()
        with problems_shown(self._window):
            told = await asyncio.to_thread(self._drafted, topic)
            self._window.notify(told, seconds=READING_TIME)
        await self._services.sync.take_labels()

    def _drafted(self, topic: Topic) -> str:
        workspace = self._services.workspace
        inbox = Inbox.of_workspace(workspace)
        material = DraftMaterial.of(topic, workspace.topic_file.path, inbox)
        drafts = material.by_rules(DRAFTS)
        return f"{material.told(material.add(drafts))}." if drafts else f"N{NO_DRAFT[1:]}."

"""What stands on disk beside the screen: saving, drafts, and files that other programs change."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from textual import on, work

from guardtui.domain.figures import count_text
from guardtui.domain.prompt_edit import PromptEdit
from guardtui.domain.text import display_text
from guardtui.domain.topic import describe_changes
from guardtui.domain.topic_merge import merge_topics
from guardtui.files.problems import FileProblem
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.confirmed_labels import confirm_labels
from guardtui.session.store import StoreError
from guardtui.session.views import VIEWS, with_view, without_view
from guardtui.session.workspace import Workspace
from guardtui.tui.messages import (
    LabelsConfirmed,
    PromptEditWanted,
    PromptUndoWanted,
    SettingsWanted,
    ViewRemoved,
    ViewSaved,
)
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.loop import LoopScreen
from guardtui.tui.widgets.editor import Field

DRAFT_EVERY = 2.0
WATCH_EVERY = 2.0
CALM = 1.0
"""Seconds without a key after which a question may come up by itself."""

_SHOWN_CHARACTERS = 250


class FilesScreen(LoopScreen):
    """Keeps what is typed, and takes over what other programs wrote."""

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(workspace, scanner)
        self._draft_problem = ""
        self._looking = False
        self._editing_prompts = asyncio.Lock()

    def on_mount(self) -> None:
        # super() has its own handler, which Textual calls as well.
        with self._told_problems():
            self._results.restore(self.workspace.store.settings())
        self.set_interval(DRAFT_EVERY, self._save_draft)
        self.set_interval(WATCH_EVERY, self._watch)

    async def _take_typed(self) -> None:
        """Let keys that are still on their way to a field reach it, and the session.

        A key bound to an action overtakes the letters typed before it, which wait in the field.
        """
        focused = self.focused
        if isinstance(focused, Field):
            arrived = asyncio.Event()
            focused.call_later(arrived.set)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await arrived.wait()
            self.session.edit(self._editor.typed, focused.field)

    @work(exclusive=True, group="decide")
    async def action_save(self) -> None:
        workspace = self.workspace
        await self._take_typed()
        if not workspace.unsaved:
            self.notify("The topic file holds this definition already.")
            return
        topic = self.session.topic
        with self._told_problems():
            try:
                await asyncio.to_thread(workspace.save, topic)
            except FileProblem as problem:
                if not problem.can_force:
                    raise
                question = f"{problem}\n\nWrite it all the same? What is there is kept as a backup."
                answer = Confirm(question, "Write", "Leave the file")
                if not await self.app.push_screen_wait(answer):
                    return
                await asyncio.to_thread(workspace.save, topic, force=True)
        if not workspace.unsaved:
            file = display_text(workspace.topic_file.path.name)
            self.notify(f"Saved to {file}", markup=False)
        self._save_draft()
        self._show_header()

    # --- the prompt set -------------------------------------------------------------------

    @on(PromptEditWanted)
    def prompt_edit_wanted(self, event: PromptEditWanted) -> None:
        self._edit_prompts(event.edit)

    @on(PromptUndoWanted)
    def prompt_undo_wanted(self) -> None:
        self._edit_prompts(None)

    @work(group="prompts")
    async def _edit_prompts(self, edit: PromptEdit | None) -> None:
        """Write an edit of the prompts to their file, or take the last one back; one by one."""
        async with self._editing_prompts:
            with self._told_problems():
                if edit is None:
                    said = await asyncio.to_thread(self.workspace.undo_prompts)
                else:
                    said = await asyncio.to_thread(self.workspace.edit_prompts, edit)
                self.notify(said or "No edit of the prompts to take back.", markup=False)
            self._prompts_replaced()

    async def _take_over_prompts(self) -> None:
        async with self._editing_prompts:
            with self._told_problems():
                theirs = await asyncio.to_thread(self.workspace.changed_prompts)
                if theirs is None:
                    return
                self.workspace.adopt_prompts(theirs)
                file = display_text(self.workspace.prompts_path.name)
                now = count_text(len(theirs), "prompt")
                note = f"{file} was changed by another program: {now} now."
                self.notify(note, markup=False, timeout=8)
                self._prompts_replaced()

    def _prompts_replaced(self) -> None:
        self._changed()

    @on(SettingsWanted)
    def settings_wanted(self, event: SettingsWanted) -> None:
        self._remember(event.settings)

    @on(ViewSaved)
    def view_saved(self, event: ViewSaved) -> None:
        # Added to what stands there: another window may have saved a view meanwhile.
        with self._told_problems():
            self.workspace.store.change_setting(VIEWS, lambda saved: with_view(saved, event.view))

    @on(ViewRemoved)
    def view_removed(self, event: ViewRemoved) -> None:
        with self._told_problems():
            self.workspace.store.change_setting(
                VIEWS, lambda saved: without_view(saved, event.view_name)
            )

    @on(LabelsConfirmed)
    def labels_confirmed(self, event: LabelsConfirmed) -> None:
        with self._told_problems():
            confirm_labels(self.workspace.store, event.keys, right=event.right)

    def _remember(self, settings: dict[str, Any]) -> None:
        with self._told_problems():
            self.workspace.store.update_settings(settings)

    # --- drafts ---------------------------------------------------------------------------

    def _save_draft(self) -> None:
        try:
            self.workspace.save_draft()
        except StoreError as problem:
            # Told once, not every two seconds: it may last.
            if str(problem) != self._draft_problem:
                self._draft_problem = str(problem)
                self.notify(
                    f"Your edits are not kept on disk: {problem}", severity="error", markup=False
                )
            return
        if self._draft_problem:
            self._draft_problem = ""
            self.notify("Your edits are kept on disk again.")

    # --- other programs -------------------------------------------------------------------

    def _watch(self) -> None:
        # Not while a question is open, nor while the last look is under way: cancelled, it would
        # have seen the change and told nobody.
        if self.app.screen is self and not self._looking:
            self._looking = True
            self._look()

    @work(group="watch")
    async def _look(self) -> None:
        """Take over what another program wrote to the topic file and to the prompts."""
        try:
            await self._take_over()
            await self._take_over_prompts()
        finally:
            self._looking = False

    async def _take_over(self) -> None:
        """Another program's definition, together with what is typed."""
        workspace = self.workspace
        theirs = await asyncio.to_thread(workspace.changed_file)
        if theirs is None:
            return
        base = workspace.topic_file.topic
        workspace.adopt(theirs)
        merge = merge_topics(base, self.session.topic, theirs.topic)
        topic = merge.topic
        if merge.conflicts:
            # Not in the middle of a word: the next letter would be the answer.
            while (left := self._edited + CALM - time.monotonic()) > 0:
                await asyncio.sleep(left)
            merge = merge_topics(base, self.session.topic, theirs.topic)
            topic = merge.topic
        if merge.conflicts:
            names = " and ".join(merge.conflicts)
            question = f"Another program changed {names} in the topic file, and so did you."
            for name in merge.conflicts:
                for whose, one in (("theirs", theirs.topic), ("yours", self.session.topic)):
                    question += f"\n\n{name}, {whose}:\n{_shown(getattr(one, name))}"
            answer = Confirm(question, "Take theirs", "Keep mine", calm=CALM / 2)
            if await self.app.push_screen_wait(answer):
                chosen = {name: getattr(theirs.topic, name) for name in merge.conflicts}
                topic = topic.model_copy(update=chosen)
        changes = ", ".join(describe_changes(self.session.topic, topic))
        self._edit(topic)
        if changes:
            note = f"The topic file was changed by another program: {changes}. Undo is yours."
            self.notify(note, markup=False, timeout=8)
        self._show_header()


def _shown(value: object) -> str:
    """A field of a definition in a question."""
    if isinstance(value, tuple):
        value = "\n".join(f"- {one}" for one in value)
    text = str(getattr(value, "value", value))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"

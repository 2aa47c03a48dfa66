"""The workspace on disk: saving, drafts, prompts, companions, changes by other programs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from guardtui.app.context import Context
from guardtui.app.labels.inbox import keep_relabelled
from guardtui.app.ports import Confirm
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.state import EditKind, with_session
from guardtui.domain.definition_changes import Merge, merge_topics
from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.figures import count_text
from guardtui.domain.operating_point import LABELS_AT_LEAST, has_enough_labels, is_fitted
from guardtui.domain.prompt_edit import PromptEdit, Remove, Restore
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import shortened
from guardtui.domain.topic import Topic, describe_changes
from guardtui.files.inbox_file import inbox_path
from guardtui.files.problems import FileError
from guardtui.files.topic_files import GoneFromDiskError, TopicFile
from guardtui.session.companions import Companions, load_companions, read_paths, write_paths
from guardtui.session.store import StoreError
from guardtui.session.taken_out import (
    NAME,
    TakenPrompts,
    following,
    from_json,
    to_json,
    with_removed,
    with_restored,
    without,
)

PROBLEM_TIME = 10.0
"""Seconds for which a problem of a companion's file is shown."""


class CompanionTopics:
    """Loads companion topics, and reloads them when their files change."""

    def __init__(self, context: Context) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._engine, self._author = context.engine, context.author

    @property
    def known(self) -> Companions:
        """The companions as last read."""
        return self._store.state.companions or Companions(self._workspace.topic_file.path)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the companion topics."""
        return tuple(topic.name for topic in self.known.topics)

    def restore(self) -> None:
        """Load the companions stored in the session."""
        with problems_shown(self._author):
            paths = read_paths(self._workspace.store.settings())
            if paths:
                self._take(self._load(paths))

    async def use(self, paths: Sequence[str]) -> None:
        """Measure with the topics of these files, and store the paths in the session."""
        with problems_shown(self._author):
            self._workspace.store.update_settings(write_paths(paths))
        self._take(await asyncio.to_thread(self._load, paths))

    async def reload_changed(self) -> bool:
        """Reload the files if one changed; return whether one did."""
        known = self._store.state.companions
        if known is None or not await asyncio.to_thread(lambda: known.changed):
            return False
        self._take(await asyncio.to_thread(self._load, known.paths))
        return True

    def _load(self, paths: Sequence[str]) -> Companions:
        workspace = self._workspace
        return load_companions(workspace.topic_file.path, paths, workspace.session.topic)

    def _take(self, companions: Companions) -> None:
        self._engine.measuring.use(companions.topics, companions.closed)
        self._store.publish(replace(self._store.state, companions=companions))
        for problem in companions.problems:
            self._author.notify(str(problem), severity="warning", seconds=PROBLEM_TIME)


CALM = 1.0
"""Seconds without a key before a question may appear unexpectedly."""

NOTHING_TO_SAVE = "The topic file holds this definition already."
NOTE_TIME = 8.0
"""Seconds for which a note on another program's change is shown."""

_NO_FIT = (
    f"\nBut fewer than {LABELS_AT_LEAST} prompts of a label are left then: no threshold can be "
    "fitted to them, and the built-in one is used."
)

_DRAFT = "draft"
_SETTINGS = "settings"
_SHOWN_CHARACTERS = 250


class WorkspaceSync:
    """Synchronizes the session with the files of a workspace."""

    def __init__(self, context: Context, companions: CompanionTopics) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._editing, self._author, self._jobs = context.editing, context.author, context.jobs
        self._companions = companions
        self._draft_problem = ""
        self._editing_prompts = asyncio.Lock()
        self._unwritten: dict[str, Any] = {}
        self._writing_settings = asyncio.Lock()
        workspace, offer = self._workspace, self._workspace.draft_offer
        self._taken: TakenPrompts = from_json(
            workspace.store.setting(NAME),
            workspace.prompts_path,
            offer.topic if offer is not None else workspace.session.topic,
        )

    def _publish(self, edit: EditKind = EditKind.REPLACED) -> None:
        self._store.publish(replace(with_session(self._store.state, self._workspace), edit=edit))

    # --- the topic file -------------------------------------------------------------------

    async def save(self) -> None:
        """Write the definition to the topic file; ask before overwriting others' changes."""
        workspace = self._workspace
        topic = await self._editing.finish_typing()
        path = workspace.topic_file.path
        if not workspace.unsaved and await asyncio.to_thread(workspace.topic_file.is_unchanged):
            self._author.notify(NOTHING_TO_SAVE)
            return
        with problems_shown(self._author):
            try:
                await asyncio.to_thread(workspace.save, topic)
            except FileError as problem:
                if not problem.can_force:
                    raise
                gone = isinstance(problem, GoneFromDiskError)
                question = "Create it again?" if gone else "Overwrite it? A backup is kept."
                text = f"{problem}\n\n{question}"
                if not await self._author.ask(Confirm(text, "Write", "Cancel")):
                    return
                await asyncio.to_thread(workspace.save, topic, force=True)
            self._author.notify(f"Saved to {path.name}")
        self.save_draft_soon()
        self._publish(EditKind.TYPED)

    def save_draft_soon(self) -> None:
        """Write the draft to disk in the background, which no other action cancels."""
        self._jobs.start(self.save_draft(), group=_DRAFT)

    async def save_draft(self) -> None:
        """Write the draft to disk if it changed."""
        try:
            # A slow disk, or another process that writes, must not block the screen.
            await asyncio.to_thread(self._workspace.save_draft)
        except StoreError as problem:
            # Shown once, not every two seconds.
            if str(problem) != self._draft_problem:
                self._draft_problem = str(problem)
                self._author.notify(
                    f"Your edits are not saved to disk: {problem}", severity="error"
                )
            return
        if self._draft_problem:
            self._draft_problem = ""
            self._author.notify("Your edits are saved to disk again.")

    # --- prompts and settings -------------------------------------------------------------

    async def edit_prompts(self, edit: PromptEdit | None) -> None:
        """Write an edit of the prompts to their file, or undo the last one (None)."""
        async with self._editing_prompts:
            with problems_shown(self._author):
                workspace = self._workspace
                before = workspace.prompts
                if edit is None:
                    done = await asyncio.to_thread(workspace.undo_prompts)
                    keys = np.setdiff1d(workspace.prompts.keys, before.keys)
                    self._remember_taken(without(self._taken, keys.tolist()))
                else:
                    done = await asyncio.to_thread(workspace.edit_prompts, edit)
                    self._remember_taken(with_removed(self._taken, workspace.removed))
                self._author.notify(done or "No edit of the prompts to undo.")
                path, after = workspace.prompts_path, workspace.prompts
                await asyncio.to_thread(keep_relabelled, path, before, after)
            self._publish()

    async def take_labels(self) -> None:
        """Continue with the prompts as labels of the inbox changed them."""
        async with self._editing_prompts:
            with problems_shown(self._author):
                await asyncio.to_thread(self._workspace.reread_prompts)
            self._publish()

    async def replace(self, topic: Topic, taken_out: frozenset[int]) -> bool:
        """Replace the definition and remove prompts from their file; both are shown at once.

        Returns False, with a message and without any change, if the file cannot be written.
        """
        async with self._editing_prompts:
            if taken_out:
                done = ""
                with problems_shown(self._author):
                    edit = Remove(taken_out, restorable=True)
                    done = await asyncio.to_thread(self._workspace.edit_prompts, edit)
                if not done:
                    return False
                self._remember_taken(with_removed(self._taken, self._workspace.removed))
            self._workspace.session.edit(topic)
            self._workspace.session.end_group()
            self._publish()
        return True

    async def offer_to_take_out(self, before: Topic, after: Topic) -> None:
        """Offer to remove prompts that an edit made examples: they would always match."""
        keys = taken_prompts(before, after, self._store.state.prompts)
        if not keys:
            return
        single = len(keys) == 1
        told = (
            f"{len(keys)} {'prompt of the set is' if single else 'prompts of the set are'} now "
            f"{'an example' if single else 'examples'} and would always match."
        )
        if refusal := self._workspace.prompts_refusal:
            self._author.notify(f"{told} {refusal}", severity="warning", seconds=NOTE_TIME)
            return
        evaluation = self._store.state.evaluation
        fitted = evaluation is not None and is_fitted(evaluation.settings)
        cost = _NO_FIT if fitted and ends_the_fit(self._store.state.prompts, keys) else ""
        question = Confirm(
            f"{told}\nTake {'it' if single else 'them'} out of the prompt file? It is backed up "
            f"first, in .guardtui/backups.{cost}",
            "Take out",
            "Leave in",
        )
        if await self._author.ask(question):
            await self.edit_prompts(Remove(keys, restorable=True))
        else:
            self._remember_taken(without(self._taken, keys))

    def _remember_taken(self, taken: TakenPrompts) -> None:
        if taken != self._taken:
            self._taken = taken
            self.remember(to_json(taken, self._workspace.prompts_path))

    async def follow(self, before: Topic) -> None:
        """Let the prompts follow a step to an earlier or later definition, from this one.

        Prompts that left their file as examples come back, and leave it again if that is redone.
        What cannot be done is said.
        """
        workspace, after = self._workspace, self._workspace.session.topic
        async with self._editing_prompts:
            edit = following(self._taken, before, after, workspace.prompts)
            if edit is None:
                return
            try:
                done = await asyncio.to_thread(workspace.edit_prompts, edit)
            except FileError as problem:
                name = workspace.prompts_path.name
                if isinstance(edit, Restore):
                    what = f"{count_text(len(edit.rows), 'prompt')} not put back into {name}"
                else:
                    what = f"{count_text(len(edit.keys), 'prompt')} not removed from {name}"
                self._author.notify(f"{what}: {problem}", severity="warning", seconds=READING_TIME)
                return
            if isinstance(edit, Restore):
                self._remember_taken(with_restored(self._taken, edit))
            else:
                self._remember_taken(with_removed(self._taken, workspace.removed))
            self._author.notify(done)
            self._publish()

    def remember(self, settings: dict[str, Any]) -> None:
        """Store these settings in the session soon; the others are unchanged."""
        self._unwritten |= settings
        self._jobs.start(self.finish(), group=_SETTINGS)

    async def finish(self) -> None:
        """Write the settings that are not stored yet."""
        async with self._writing_settings:
            settings, self._unwritten = self._unwritten, {}
            if settings:
                with problems_shown(self._author):
                    await asyncio.to_thread(self._workspace.store.update_settings, settings)

    # --- other programs -------------------------------------------------------------------

    async def look(self) -> None:
        """Load changes of other programs to the topic files and the prompts."""
        await self._look_at_topic()
        if await self._companions.reload_changed():
            self._author.notify("A topic that is measured with this one was changed.")
        await self._look_at_prompts()

    async def _look_at_topic(self) -> None:
        workspace = self._workspace
        theirs, problem = None, workspace.file_problem
        with problems_shown(self._author):
            theirs = await asyncio.to_thread(workspace.changed_file)
        if workspace.file_problem != problem:
            self._withdraw(problem)
            self._publish(EditKind.TYPED)  # saved, or not
        if theirs is None:
            return
        base = workspace.topic_file.topic
        workspace.topic_file = theirs
        topic = await self._merged(base, theirs)
        session = workspace.session
        changes = ", ".join(describe_changes(session.topic, topic))
        session.edit(topic)
        self._publish()
        if changes:
            self._author.notify(
                f"The topic file was changed by another program: {changes}. Undo restores yours.",
                seconds=NOTE_TIME,
            )

    def _withdraw(self, problem: str) -> None:
        """Remove the message of a problem that is over."""
        if problem:
            self._author.withdraw(problem)

    async def _merged(self, base: Topic, theirs: TopicFile) -> Topic:
        """Return their definition merged with the edited one; ask about conflicts."""
        session = self._workspace.session
        merge = merge_topics(base, session.topic, theirs.topic)
        if merge.conflicts:
            # Not while the author types: the next letter would be the answer.
            while (remaining := self._editing.last_typed + CALM - time.monotonic()) > 0:
                await asyncio.sleep(remaining)
            merge = merge_topics(base, session.topic, theirs.topic)
        if not merge.conflicts:
            return merge.topic
        question = Confirm(
            _conflict_text(merge, theirs.topic, session.topic),
            "Take theirs",
            "Keep mine",
            calm=CALM / 2,
        )
        if not await self._author.ask(question):
            return merge.topic
        chosen = {name: getattr(theirs.topic, name) for name in merge.conflicts}
        return merge.topic.model_copy(update=chosen)

    async def _look_at_prompts(self) -> None:
        workspace = self._workspace
        async with self._editing_prompts:
            with problems_shown(self._author):
                before, problem = workspace.prompts, workspace.prompts_problem
                theirs = await asyncio.to_thread(workspace.changed_prompts)
                if workspace.prompts_problem != problem:
                    self._withdraw(problem)
                if theirs is None:
                    return
                workspace.adopt_prompts(theirs)
                path, count = workspace.prompts_path, count_text(len(theirs), "prompt")
                if theirs.frame.equals(before.frame) and theirs.waiting != before.waiting:
                    path = inbox_path(path)
                    count = f"{count_text(len(theirs.waiting), 'prompt')} without a label"
                self._author.notify(
                    f"{path.name} was changed by another program: {count} now.", seconds=NOTE_TIME
                )
                self._publish()


def taken_prompts(before: Topic, after: Topic, prompts: PromptSet) -> frozenset[int]:
    """Return the keys of prompts that are examples of the second definition only.

    Case, blanks and signs do not count.
    """
    new = [text for text in after.examples if text not in before.examples]
    if not new:
        return frozenset()
    equal = EqualTexts(prompts.prompts)
    rows = [row for text in new for part in equal.rows(text) for row in part.tolist()]
    return frozenset(prompts.keys[rows].tolist())


def ends_the_fit(prompts: PromptSet, keys: frozenset[int]) -> bool:
    """Return whether a threshold can be fitted to the labels, but not without these prompts."""
    labels = prompts.expected
    left = labels[~np.isin(prompts.keys, np.array([*keys], prompts.keys.dtype))]
    return has_enough_labels(labels) and not has_enough_labels(left)


def _conflict_text(merge: Merge, theirs: Topic, yours: Topic) -> str:
    names = " and ".join(merge.conflicts)
    text = f"Another program changed {names} in the topic file, and so did you."
    for name in merge.conflicts:
        for whose, topic in (("theirs", theirs), ("yours", yours)):
            text += f"\n\n{name}, {whose}:\n{_shown(getattr(topic, name))}"
    return text


def _shown(value: object) -> str:
    """Return a field of a definition, shortened for a question."""
    if isinstance(value, tuple):
        value = "\n".join(f"- {example}" for example in value)
    return shortened(str(getattr(value, "value", value)), _SHOWN_CHARACTERS)

"""A topic file, its prompts and its session, opened together, for the app and commands."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.domain.definition_changes import edit_names
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.text import display_text
from guardtui.files.change_signature import Signature, change_signature
from guardtui.files.command_lines import command_line
from guardtui.files.problems import FileError
from guardtui.files.topic_files import GoneFromDiskError, TopicFile, load_topic, save_topic
from guardtui.session.experiments import ExperimentLog
from guardtui.session.prompt_file import (
    PromptFile,
    remember_reading,
    usual_reading,
)
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.store import Draft, SessionStore, StoreError
from guardtui.session.topic_places import prompts_named_alike, usual_prompts

if TYPE_CHECKING:
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.forecast_record import ForecastBefore
    from guardtui.domain.prompt_edit import PromptEdit, RemovedRow
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.large_sets.sample import Sample


def now() -> str:
    """Return the time as ISO 8601 UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Workspace:
    """One opened topic; owns the session and everything of it on disk.

    `opening_note` is what the author is told first.

    `draft_offer` is a definition that was being edited when the app last ended, if it differs from
    the file. It stays on disk until `take_draft` or `refuse_draft`.
    """

    def __init__(self, topic_file: TopicFile, prompt_file: PromptFile) -> None:
        self.topic_file = topic_file
        self.opening_note = ""
        self._prompt_file = prompt_file
        self.store = SessionStore(topic_file.path)
        self.session = Session(
            topic_file.topic, self.store.iterations(), self.store.pinned(), self.prompts
        )
        self.read_experiments()
        self.draft_offer: Draft | None = None
        for draft in self.store.abandoned_drafts():
            if draft.topic == topic_file.topic:
                self.store.drop_draft(draft)
            elif self.draft_offer is None:
                self.draft_offer = draft
        self.by = Recorder.APP
        """Who records iterations."""
        self._written: set[tuple[int, str, int]] = set()
        self._writing = threading.Lock()
        """Held from before an iteration is on disk until it is noted as written here."""
        self._saved_draft: Topic | None = None
        self._saving_draft = threading.Lock()
        # Of no file: the topic file may have changed since it was read.
        self._signature: Signature = (0, 0, 0)
        self._seen: Signature = self._signature
        self.file_problem = ""
        """Why the topic file cannot be read, as `changed_file` last saw it, or ""."""
        if str(self.prompts_path) != "-":  # standard input is there only once
            self.store.use_prompt_file(str(self.prompts_path.resolve()))
            remember_reading(self.store, prompt_file.reading)

    @classmethod
    def open(
        cls,
        topic_path: Path,
        prompts_path: Path | None = None,
        reading: Reading | None = None,
    ) -> Workspace:
        """Open a topic and prompts: those given, else those used last, else NAME.csv beside it.

        Without `reading`, prompts that were used last are read as they were then. Raises FileError,
        PromptSetError or StoreError.
        """
        topic_file = load_topic(topic_path)
        chosen = prompts_path or usual_prompts(topic_path)
        reading = reading or usual_reading(topic_path, chosen)
        prompt_file = PromptFile(chosen, topic_file.topic.intent, reading)
        workspace = cls(_with_intent(topic_file, prompt_file.prompts), prompt_file)
        notes = []
        if workspace.sample is not None:
            notes.append(f"{workspace.sample.text}; all: {workspace.whole_command}")
        beside = prompts_named_alike(topic_path)
        if prompts_path is None and beside is not None and not beside.samefile(chosen):
            used, other = display_text(chosen.name), display_text(beside.name)
            notes.append(f"With {used}, used last; {other} is beside the topic (--prompts)")
        workspace.opening_note = ". ".join(notes)
        return workspace

    @property
    def prompts(self) -> PromptSet:
        """The current prompt set of the file; a new object after each change."""
        return self._prompt_file.prompts

    @property
    def prompts_path(self) -> Path:
        return self._prompt_file.path

    @property
    def sample(self) -> Sample | None:
        """The sample that the prompts are, of a large prompt set; None if they are all."""
        return self._prompt_file.sample

    @property
    def whole_command(self) -> str:
        """The command that evaluates all prompts of the file."""
        topic, prompts = self.topic_file.path, self.prompts_path
        return command_line("guardtui", "eval", topic, "--prompts", prompts)

    @property
    def prompts_refusal(self) -> str:
        """Why the prompts cannot be edited, or ""."""
        return self._prompt_file.refusal

    def changed_file(self) -> TopicFile | None:
        """Return the topic file if another program changed it, else None.

        Cheap while nothing changed. A change counts only after it stayed the same between two
        calls, so that no half-written file is read. Raises FileError if the file is missing or
        cannot be used, once for each change.
        """
        path = self.topic_file.path
        signature = change_signature(path)
        if signature == self._signature:
            return None
        if signature != self._seen:
            self._seen = signature
            return None
        self._signature = signature
        try:
            if signature is None:
                raise GoneFromDiskError(path)
            changed = load_topic(path)
        except FileError as problem:
            self.file_problem = str(problem)
            raise
        self.file_problem = ""
        return (
            None if changed.stamp == self.topic_file.stamp else _with_intent(changed, self.prompts)
        )

    def edit_prompts(self, edit: PromptEdit) -> str:
        """Edit the prompts and their file; returns a sentence on what was done.

        May run in a worker. Raises FileError; nothing has changed then.
        """
        done = self._prompt_file.edit(edit, self.backups)
        self._use_prompts()
        return done

    @property
    def removed(self) -> tuple[RemovedRow, ...]:
        """Rows of the last edit of the prompts, if it was a restorable removal."""
        return self._prompt_file.removed

    def undo_prompts(self) -> str:
        """Restore the prompt file before the last edit made here; returns "" if there is none.

        May run in a worker. Raises FileError, also if another program changed the file since;
        nothing has changed then.
        """
        done = self._prompt_file.undo(self.backups)
        self._use_prompts()
        return done

    def reread_prompts(self) -> None:
        """Continue with the prompts as labels of the inbox changed them; may run in a worker.

        Raises FileError or PromptSetError; nothing has changed then.
        """
        self._prompt_file.reread()
        self._use_prompts()

    def changed_prompts(self) -> PromptSet | None:
        """Return the prompts if another program changed their file, else None.

        As cheap and careful as `changed_file`; may run in a worker. Raises PromptSetError or
        FileError if the file cannot be used, once for each change.
        """
        return self._prompt_file.changed()

    @property
    def prompts_problem(self) -> str:
        """Why the prompts cannot be read, as `changed_prompts` last saw it, or ""."""
        return self._prompt_file.problem

    def adopt_prompts(self, prompts: PromptSet) -> None:
        """Continue with the prompts as changed by another program.

        If the topic file has no intent, and the author has not set another one, the definition
        takes the intent of the prompts; this is an undoable edit.
        """
        topic, given = self.session.topic, self.topic_file.intent_given
        follows = not given and topic.intent is self.topic_file.topic.intent
        self._prompt_file.adopt(prompts)
        self._use_prompts()
        self.topic_file = _with_intent(self.topic_file, prompts)
        if follows:
            self.session.edit(topic.model_copy(update={"intent": prompts.intent}))

    def _use_prompts(self) -> None:
        self.session.use_prompts(self.prompts)
        _ = self.session.best  # slow with many prompts: compute it here, not on the screen

    @property
    def backups(self) -> Path:
        """The folder of old contents of files."""
        return self.store.folder / "backups"

    @property
    def unsaved(self) -> bool:
        """Return whether the definition is not in the topic file, or that cannot be read."""
        return self.session.topic != self.topic_file.topic or bool(self.file_problem)

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes of the definition against the baseline, as changed words, made inert."""
        baseline = self.session.baseline
        origin = baseline.evaluation.topic if baseline else self.topic_file.topic
        return edit_names(origin, self.session.topic)

    def write(
        self,
        evaluation: Evaluation,
        decision: Decision,
        forecast: ForecastBefore | None = None,
        by: Recorder | None = None,
        *,
        first: bool = False,
    ) -> Iteration:
        """Write an iteration to the session's file, durably, without changing the session.

        `forecast` is the forecast made before the scan, `by` who recorded it if that is another
        than of this session; `first` as in `add_iteration`. May run in a worker. Raises StoreError.
        """
        planned = self.session.next_iteration(evaluation, decision, now())
        planned = replace(planned, forecast=forecast, by=by or self.by)
        with self._writing:
            return self._noted(self.store.add_iteration(planned, first=first))

    def write_completed(self, iteration: Iteration, *, first: bool) -> Iteration:
        """Write further verdicts of an iteration; returns it as stored. As `write`."""
        with self._writing:
            return self._noted(self.store.complete_iteration(iteration, first=first))

    def write_decision(self, iteration: Iteration, decision: Decision) -> Iteration:
        """Write the decision on an iteration. As `write`.

        Raises `DecidedElsewhereError`, for another kept iteration too.
        """
        # What is the best, and so what is progress, depends on them.
        kept = [
            iteration.number
            for iteration in self.session.iterations
            if iteration.decision is Decision.KEEP
        ]
        with self._writing:
            self.store.decide(iteration.number, decision, iteration.decision, kept)
            return self._noted(replace(iteration, decision=decision))

    def write_discarded(self, evaluation: Evaluation, recorded: Iteration | None) -> Iteration:
        """Write an iteration as discarded; of one `recorded` and not kept, only the decision."""
        if recorded is None or recorded.decision is Decision.KEEP:
            return self.write(evaluation, Decision.DISCARD)
        return self.write_decision(recorded, Decision.DISCARD)

    def _noted(self, iteration: Iteration) -> Iteration:
        self._written.add((iteration.number, iteration.decision.value, iteration.completions))
        return iteration

    def learn(self, iterations: Sequence[Iteration]) -> None:
        """Continue with iterations that this process wrote beside the session."""
        for iteration in iterations:
            self._noted(iteration)
        self.session.learn(iterations)

    def changed_iterations(self, known: Mapping[int, tuple[str, int]]) -> list[Iteration]:
        """Return those on disk that differ from the `known` ones, as the method of the store.

        `is_own` is right about them. May run in a worker. Raises StoreError.
        """
        with self._writing:
            return self.store.changed_iterations(known)

    def is_own(self, iteration: Iteration) -> bool:
        """Return whether this process wrote an iteration as it is now."""
        mark = iteration.number, iteration.decision.value, iteration.completions
        return mark in self._written

    def write_kept(
        self, evaluation: Evaluation, recorded: Iteration | None = None
    ) -> tuple[Iteration, str]:
        """Write an iteration as kept, then its definition to the topic file.

        If it is `recorded` already, only the decision is written. The iteration is safe before the
        file is changed. A file that cannot be written, or was changed by another program, is left
        unchanged, and the reason is returned beside the iteration, else "". May run in a worker.
        Raises StoreError.
        """
        if recorded is None:
            iteration = self.write(evaluation, Decision.KEEP)
        else:
            iteration = self.write_decision(recorded, Decision.KEEP)
        try:
            self.save(evaluation.topic)
        except FileError as problem:
            return iteration, str(problem)
        return iteration, ""

    def save(self, topic: Topic, *, force: bool = False) -> None:
        """Write a definition to the topic file; `force` overwrites changes of other programs.

        With `force`, a missing file is created again. Raises FileError.
        """
        if topic == self.topic_file.topic and not force and self.topic_file.is_unchanged():
            return
        with contextlib.ExitStack() as alone:
            # No other guardtui writes between the look at the file and its replacement. A session
            # that cannot be written is no reason not to save.
            with contextlib.suppress(StoreError):
                alone.enter_context(self.store.transaction())
            self.topic_file = save_topic(
                self.topic_file, topic, force=force, backup_folder=self.backups
            )
        self.file_problem = ""

    def read_experiments(self) -> None:
        """Read what experiments measured, for forecasts. Raises StoreError."""
        topics = [iteration.evaluation.topic for iteration in self.session.iterations]
        self.session.experiments = tuple(ExperimentLog(self.store).evaluations(topics))

    def pin(self, number: int | None) -> None:
        """Compare with this iteration from now on (None: with the latest kept one).

        Raises KeyError and StoreError; nothing is changed then.
        """
        if number is not None:
            self.session.iteration(number)
        self.store.pin(number)
        self.session.pin(number)

    def take_draft(self) -> None:
        """Continue with the offered draft, as an undoable edit. Raises StoreError."""
        offer = self.draft_offer
        if offer is not None:
            self.session.edit(offer.topic)
            self.session.end_group()
            self.save_draft()
            self.refuse_draft()

    def resume_draft(self) -> bool:
        """Continue with the offered draft if it was edited from the current topic file.

        Returns whether it was.
        """
        offer = self.draft_offer
        if offer is None or offer.base != self.topic_file.topic.fingerprint:
            return False
        with contextlib.suppress(StoreError):
            self.take_draft()
        return True

    def refuse_draft(self) -> None:
        """Delete the offered draft. Raises StoreError."""
        offer, self.draft_offer = self.draft_offer, None
        if offer is not None:
            self.store.drop_draft(offer)

    @property
    def draft_is_safe(self) -> bool:
        """Return whether the edited definition is stored in the topic or session file."""
        return not self.unsaved or self.session.topic == self._saved_draft

    def save_draft(self, *, always: bool = False) -> None:
        """Store the edited definition if it changed since the last call; cheap if it did not.

        With `always`, it is written anyway, in case another program removed it. May be called from
        any thread: the last call to end has written the newest definition. Raises StoreError.
        """
        with self._saving_draft:
            topic = self.session.topic if self.unsaved else None
            if topic != self._saved_draft or (always and topic is not None):
                draft = Draft(topic, self.topic_file.topic.fingerprint) if topic else None
                self.store.save_draft(draft)
                self._saved_draft = topic


def _with_intent(file: TopicFile, prompts: PromptSet) -> TopicFile:
    """Return the file with the intent of the prompts, if it has none of its own."""
    if file.intent_given:
        return file
    return file.with_topic(file.topic.model_copy(update={"intent": prompts.intent}))

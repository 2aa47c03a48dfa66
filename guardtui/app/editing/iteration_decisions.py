"""Decisions on recorded iterations, without a screen: keep, discard, restore and pin."""

from __future__ import annotations

from pathlib import Path

from guardtui.app.editing.deciding import (
    against_discarding,
    missing_text,
    not_shown,
    other_measure,
    over_limits,
)
from guardtui.domain.comparison import Comparison
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.files.command_lines import command_line
from guardtui.files.problems import FileError
from guardtui.session.report_reader import has_iterations, recorded_topics
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.workspace import Workspace

_SAME_MEASURE = "a scan of both definitions by the same one decides"
_UNDECIDED = "leave it undecided, and try another edit"


class HistoryError(GuardtuiError):
    """A decision that cannot be made; the message names the remedy."""

    exit_code = 2


class IncompleteError(HistoryError):
    """An iteration lacks verdicts."""

    exit_code = 3


class NotShownError(HistoryError):
    """An iteration is no demonstrable progress."""

    exit_code = 4


class IterationDecisions:
    """Decides on the recorded iterations of a topic file; raises HistoryError and StoreError."""

    def __init__(
        self, topic: Path, prompts: Path | None = None, by: Recorder = Recorder.COMMAND
    ) -> None:
        """Open the session, judged with these prompts, by default those used last."""
        if not has_iterations(topic):
            raise no_session(topic)
        self._workspace = Workspace.open(topic, prompts)
        self._workspace.by = by
        self.session = self._workspace.session

    @property
    def prompts(self) -> PromptSet:
        """The prompts that decide which iteration is the best."""
        return self._workspace.prompts

    @property
    def overwrites(self) -> bool:
        """Return whether the topic file has a definition that no iteration has."""
        known = {iteration.evaluation.topic for iteration in self.session.iterations}
        return self.definition not in known

    @property
    def definition(self) -> Topic:
        """The topic file's definition."""
        return self._workspace.topic_file.topic

    def chosen(self, number: int | None) -> Iteration:
        """Return an iteration, by default the newest of the topic file's definition."""
        path = self._workspace.topic_file.path
        if number is not None:
            try:
                chosen = self.session.iteration(number)
            except KeyError:
                raise unknown_number(path, number, self.session.iterations) from None
        else:
            own = self._of_prompts(self.definition)
            if not own:
                raise HistoryError(
                    f"{path}: its definition is in no iteration on {self._workspace.prompts_path}\n"
                    f"  record it: guardtui eval {path} --prompts {self._workspace.prompts_path} "
                    "--record; or name one with --iteration"
                )
            chosen = own[-1]
        self.session.shown = chosen.evaluation.settings
        return chosen

    def _of_prompts(self, topic: Topic) -> list[Iteration]:
        fingerprint = self.prompts.fingerprint
        return [
            iteration
            for iteration in self.session.iterations
            if iteration.evaluation.key.same_subject(topic, fingerprint)
        ]

    def require_progress(self, iteration: Iteration) -> None:
        """Raise IncompleteError or NotShownError unless an iteration may be kept without asking."""
        if iteration.decision is Decision.KEEP:
            return
        path, evaluate = self._workspace.topic_file.path, "the same 'guardtui eval'"
        anyway = "--anyway keeps it as it is"
        if self._by_agent:
            evaluate, anyway = "the same evaluation", "an agent cannot keep it as it is"
        if text := over_limits(iteration.evaluation.topic):
            raise HistoryError(
                f"{path}: #{iteration.number} is not kept: {text}\n"
                f"  bring the definition within the limits; {anyway}"
            )
        if text := missing_text(iteration.evaluation):
            raise IncompleteError(
                f"{path}: #{iteration.number} is not kept: {text}\n"
                f"  {evaluate} asks only the missing ones again; {anyway}"
            )
        if text := other_measure(self.session, iteration.evaluation):
            raise NotShownError(
                f"{path}: #{iteration.number} is not kept: {text}\n  {_SAME_MEASURE}; {anyway}"
            )
        comparison = not_shown(self.session, iteration.evaluation)
        if comparison is not None:
            best = self.session.best
            than = f"#{best.number}" if best is not None else ""
            raise NotShownError(
                f"{path}: #{iteration.number} is not kept: {comparison.describe(than)}\n"
                f"  {_deciding(comparison)}\n"
                f"  {self._way_back(iteration)}; {anyway}"
            )

    def require_no_gain(self, iteration: Iteration) -> None:
        """Raise NotShownError unless an iteration may be discarded without asking."""
        objection = self.against_discarding(iteration)
        if not objection:
            return
        comparison = not_shown(self.session, iteration.evaluation)
        if other_measure(self.session, iteration.evaluation):
            remedy = _SAME_MEASURE
        elif comparison is None:
            remedy = "keep it"
        else:
            remedy = f"{_UNDECIDED}; {_deciding(comparison)}"
        path = self._workspace.topic_file.path
        raise NotShownError(
            f"{path}: #{iteration.number} is not discarded: {objection}\n  {remedy}"
        )

    @property
    def _by_agent(self) -> bool:
        return self._workspace.by is Recorder.AGENT

    def _way_back(self, iteration: Iteration) -> str:
        """Return what to do with an iteration that is not kept."""
        gains = bool(self.against_discarding(iteration))
        if self._by_agent:
            return _UNDECIDED if gains else "discard it"
        more = ["--yes"] if gains else []
        line = f"'{decision_line('discard', self._workspace.topic_file.path, iteration, *more)}'"
        best = self.session.best
        back = line if best is None else f"{line} goes back to #{best.number}"
        return f"{_UNDECIDED}; {back}" if gains else back

    def keep(self, iteration: Iteration) -> Iteration:
        """Keep an iteration, and write its definition to the topic file."""
        if iteration.decision is Decision.KEEP:
            self._save(iteration.evaluation.topic)
            return iteration
        kept, problem = self._workspace.write_kept(iteration.evaluation, iteration)
        self.session.record(kept)
        if problem:
            raise HistoryError(f"#{kept.number} is kept, but not saved: {problem}")
        return kept

    def restored_by_discarding(self, iteration: Iteration) -> Iteration:
        """Return the best iteration, whose definition comes back."""
        best, path = self.session.best, self._workspace.topic_file.path
        if best is None:
            keep = f"'{decision_line('keep', path, iteration)}' keeps this one"
            if self._by_agent:
                keep = "evaluate the topic file's own definition first: it is the baseline then"
            raise HistoryError(
                f"{path}: no iteration is kept, so there is nothing to go back to\n  {keep}"
            )
        if best.evaluation.topic == iteration.evaluation.topic:
            raise HistoryError(
                f"{path}: nothing to discard: #{best.number} is the best definition\n"
                "  edit it, and evaluate it again"
            )
        return best

    def against_discarding(self, iteration: Iteration) -> str:
        """Return what speaks against discarding an iteration, or ""."""
        return against_discarding(self.session, iteration.evaluation)

    def discard(self, iteration: Iteration) -> tuple[Iteration, bool]:
        """Discard an iteration; if the topic file has its definition, restore the best one.

        Returns the discarded iteration, and whether the file was restored.
        """
        best, current = self.restored_by_discarding(iteration), self.definition
        discarded = self._workspace.write_discarded(iteration.evaluation, iteration)
        self.session.record(discarded)
        restores = current == iteration.evaluation.topic
        if restores:
            try:
                self._workspace.save(best.evaluation.topic)
            except FileError as problem:
                raise HistoryError(
                    f"#{discarded.number} is discarded, but #{best.number} is not restored: "
                    f"{problem}"
                ) from problem
        return discarded, restores

    def restore(self, iteration: Iteration) -> None:
        """Write the definition of an iteration to the topic file."""
        self._save(iteration.evaluation.topic)

    def pin(self, number: int | None) -> None:
        """Make an iteration the baseline; None: the last kept one again."""
        self._workspace.pin(number)

    def _save(self, topic: Topic) -> None:
        try:
            self._workspace.save(topic)
        except FileError as problem:
            raise HistoryError(str(problem)) from problem


def open_decision(session: Session | None, topic: Path, iteration: Iteration) -> str:
    """Return in a clause how an undecided iteration of a topic file is decided on."""
    keep = f"'{decision_line('keep', topic, iteration)}'"
    best = None if session is None else session.best
    if best is None:
        return f"{keep} makes it the one that others are compared with"
    if best.evaluation.topic == iteration.evaluation.topic:
        return f"it is the best definition, that of #{best.number}: an edit comes next"
    return f"{keep}, or discard, decides"


def decision_line(name: str, topic: Path, iteration: Iteration, *options: str) -> str:
    """Return the command `guardtui history NAME` for an iteration of a topic file."""
    number = str(iteration.number)
    return command_line("guardtui", "history", name, topic, "--iteration", number, *options)


def no_session(topic: Path) -> HistoryError:
    """Return the error that nothing is recorded of a topic file."""
    problem = "nothing is recorded" if topic.exists() else "no such file"
    remedy = f"'guardtui eval {topic} --prompts FILE --record' records an iteration"
    gone = [name for name in recorded_topics(topic.parent) if not (topic.parent / name).exists()]
    if gone and topic.exists():
        names = ", ".join(map(display_text, gone))
        remedy += f"; if this file was renamed, give it its name back: recorded here is {names}"
    return HistoryError(f"{topic}: {problem}\n  {remedy}")


def unknown_number(path: Path, number: int, iterations: list[Iteration]) -> HistoryError:
    """Return the error for an iteration that does not exist."""
    numbers = ", ".join(str(iteration.number) for iteration in iterations[-20:])
    return HistoryError(f"{path}: no iteration {number}\n  existing: {numbers}")


def _deciding(comparison: Comparison) -> str:
    """Return what would decide a comparison."""
    significance = comparison.significance
    more = significance.more_prompts
    if not more or significance.fixes <= significance.regressions:
        return "only another definition would be demonstrably better on these prompts"
    return f"about {more:,} more labelled prompts would decide, if the difference stays"

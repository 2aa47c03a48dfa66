"""Labels of an opened topic: a sitting at its inbox, logs that are added, and the audit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from guardtui.advice.label_queue import FIRST
from guardtui.app.context import Context
from guardtui.app.editing.workspace_sync import WorkspaceSync
from guardtui.app.labels.audit import Audit, audit_queue, rates_of
from guardtui.app.labels.inbox import Inbox, InboxError
from guardtui.app.labels.judged_log import Before, JudgedLog, judged_log
from guardtui.app.labels.logged_verdicts import (
    UNKNOWN,
    VerdictSources,
    add_logged,
    record_logged,
)
from guardtui.app.labels.sitting import Purpose, Sitting
from guardtui.app.problems import problems_shown
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.inbox import Production, State, WhyAsked
from guardtui.domain.operating_point import FITTED
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Topic
from guardtui.files.inbox_file import inbox_path
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.prompt_logs import PromptLog
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner

ADD = "'guardtui inbox add TOPIC LOG' takes in what users wrote"
NOTHING_WAITS = f"No prompt waits for a label: {ADD}, and so does the menu"

Stopped: TypeAlias = Callable[[], bool]

_SIMILAR = 3  # prompts of the inbox for each prompt that more like it are wanted of


@dataclass(frozen=True, slots=True)
class Wanted:
    """Labels that would decide about an edit: about so many `more`, like the prompts of `keys`."""

    keys: tuple[int, ...] = ()
    more: int = 0


class Labelling:
    """Opens the inbox of a workspace, and brings its labels into the figures."""

    def __init__(self, context: Context, sync: WorkspaceSync) -> None:
        self._workspace, self._store = context.workspace, context.store
        self._engine, self._author, self._sync = context.engine, context.author, sync

    async def begin(self, report: Report, wanted: Wanted | None = None) -> Sitting | None:
        """Return a sitting at the inbox, or None, with a message, if no prompt waits.

        With `wanted`, chosen prompts like these come first, else those of the audit. `report` hears
        how far the inbox is read. Raises GuardtuiError.
        """
        topic = self._store.state.topic
        inbox = await asyncio.to_thread(Inbox.of_workspace, self._workspace)
        if not inbox.counts[State.UNLABELLED]:
            return None
        threshold, before = self._threshold, self._before
        like = () if wanted is None else self._texts(wanted.keys)
        with self._store.step("reads the inbox …"):
            return await run_stoppable(
                lambda stopped: sitting_at(
                    inbox,
                    topic,
                    self._engine.scanner,
                    report,
                    threshold,
                    stopped,
                    like=like,
                    wanted=0 if wanted is None else wanted.more,
                    purpose=Purpose.AUDIT if wanted is None else Purpose.CHOSEN,
                    before=before,
                    sources=VerdictSources(self._topic_path, inbox, topic),
                )
            )

    @property
    def _topic_path(self) -> Path:
        return self._workspace.topic_file.path

    @property
    def _threshold(self) -> float | None:
        """The threshold of the engine as it is shown, or None for the built-in one."""
        return _engine_threshold(self._store.state.evaluation)

    @property
    def _before(self) -> Before | None:
        """The baseline, with the threshold of the engine if that judged it."""
        baseline = self._workspace.session.baseline
        if baseline is None:
            return None
        return baseline.evaluation.topic, _engine_threshold(baseline.evaluation)

    def _texts(self, keys: Iterable[int]) -> tuple[str, ...]:
        prompts = self._workspace.prompts
        rows = [prompts.row_of(key) for key in keys]
        return tuple(str(prompts.prompts[row]) for row in rows if row is not None)

    async def finish(self, sitting: Sitting) -> None:
        """Take the labels of a sitting into the figures, with the verdicts that a log has."""
        self._show(await asyncio.to_thread(sitting.audit))
        await self._record_logged(sitting.inbox)

    async def _record_logged(self, inbox: Inbox) -> None:
        with problems_shown(self._author):
            workspace = self._workspace
            recorded = await asyncio.to_thread(record_logged, inbox, self._topic_path)
            workspace.learn(recorded)
        await self._sync.take_labels()

    async def show_audit(self) -> None:
        """Show the audit of earlier sittings, if there was one."""
        if not await asyncio.to_thread(inbox_path(self._workspace.prompts_path).exists):
            return
        topic, threshold = self._store.state.topic, self._threshold

        def estimate(stopped: Stopped) -> Audit | None:
            inbox = Inbox.of_workspace(self._workspace)
            if sum(prompt.why_asked is WhyAsked.AUDIT for prompt in inbox.own) < FIRST:
                return None
            log = judged_log(inbox.own, topic, self._engine.scanner, threshold, stopped)
            return None if log is None else rates_of(audit_queue(inbox.prompts, log), log)

        with problems_shown(self._author):
            self._show(await run_stoppable(estimate))

    def _show(self, audit: Audit | None) -> None:
        self._store.publish(replace(self._store.state, audit=audit))

    async def add(self, path: Path, column: str = "", guardrail: str = "") -> str:
        """Add the prompts of a log; return what was added. Raises GuardtuiError.

        A `guardrail` is the one whose verdicts the log has, on the definition of the topic file.
        """
        inbox = await asyncio.to_thread(Inbox.of_workspace, self._workspace)

        def add() -> str:
            log = PromptLog(path, column)
            added, lines = add_logged(inbox, self._topic_path, log, guardrail)
            return "\n".join((added.text(Path(inbox.path.name), log.without_text), *lines))

        told = await asyncio.to_thread(add)
        await self._record_logged(inbox)  # what waits is counted beside the figures, too
        return told


def sitting_at(
    inbox: Inbox,
    topic: Topic,
    engine: LocalScanner,
    report: Report,
    threshold: float | None = None,
    stopped: Stopped = lambda: False,
    *,
    like: Sequence[str] = (),
    wanted: int = 0,
    purpose: Purpose = Purpose.AUDIT,
    before: Before | None = None,
    sources: VerdictSources | None = None,
) -> Sitting | None:
    """Judge the prompts of an inbox, and return a sitting at it; None when stopped.

    Chosen prompts are first those most similar to the texts `like`; `before` is the definition that
    an edit is compared with. `sources` knows the definitions of production. Raises ScannerError.
    """
    prompts, pairs, by_guardrail = inbox.own, None, ""
    if sources is not None and before is not None and before[0] != topic:
        pairs = sources.pairs(prompts, before[0], topic)
        by_guardrail = sources.compared(inbox.prompts.values(), before[0], topic)
    log = judged_log(prompts, topic, engine, threshold, stopped, before, report, pairs)
    if log is None:
        return None
    first = _similar(inbox, log, engine, like)

    def definition_of(production: Production) -> str:
        return UNKNOWN if sources is None else sources.words(production, topic)

    return Sitting(inbox, log, topic.intent, purpose, first, wanted, definition_of, by_guardrail)


def _engine_threshold(evaluation: Evaluation | None) -> float | None:
    if evaluation is None or evaluation.settings.kind != ENGINE:
        return None
    return evaluation.settings.threshold


def require_waiting(inbox: Inbox) -> None:
    """Raise InboxError if no prompt waits for a label."""
    if not inbox.counts[State.UNLABELLED]:
        raise InboxError(f"{inbox.path}: no prompt waits for a label\n  {ADD}")


def sitting_of_topic(
    inbox: Inbox, topic: Topic, encoder: str, report: Report, sources: VerdictSources
) -> Sitting:
    """Return a sitting at the inbox of a topic that is not open, with the usual threshold.

    Raises ScannerError.
    """
    engine = LocalScanner(encoder)
    threshold = _fitted(inbox.set_path, topic, engine)
    sitting = sitting_at(inbox, topic, engine, report, threshold, sources=sources)
    assert sitting is not None  # noqa: S101 - nobody stops it
    return sitting


def _fitted(path: Path, topic: Topic, engine: LocalScanner) -> float | None:
    """Return the threshold fitted to the labels there are, as in the app; None if too few."""
    scanner = engine.beside()
    scanner.use_threshold(FITTED)
    try:
        evaluation = scanner.evaluate_now(topic, load_prompts(path, topic.intent))
    except (FileError, PromptSetError):  # no prompt set yet, or of one class
        return None
    return None if evaluation is None else evaluation.settings.threshold


def _similar(inbox: Inbox, log: JudgedLog, engine: LocalScanner, texts: Sequence[str]) -> list[str]:
    """Return the ids of unlabelled prompts nearest to some texts, in turn one for each text."""
    rows = [
        row for row, name in enumerate(log.ids) if inbox.prompts[name].state is State.UNLABELLED
    ]
    vectors = engine.embed(texts) if texts and rows else None
    if vectors is None:
        return []
    nearest = np.argsort(-(vectors @ log.vectors[rows].T), axis=1, kind="stable")[:, :_SIMILAR]
    return list(dict.fromkeys(log.ids[rows[place]] for place in nearest.T.reshape(-1).tolist()))

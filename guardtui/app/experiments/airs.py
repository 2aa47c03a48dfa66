"""Experiments on AIRS: candidates one after the other, as revisions of the topic on a profile.

The topic keeps its name: it may be part of what is judged, and a topic of another name could not be
deleted afterwards, because old revisions of the profile would name it. Profiles pin a revision of
the topic, and none follows the newest: others judge as before.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.experiment import KEPT, KEPT_AT_LEAST
from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.airs.revert_steps import RevertStep, revert_line
from guardtui.app.airs.tenant_topics import holders
from guardtui.app.experiments.answering import Arrived, DefinitionRows
from guardtui.app.guardrails.connections import NEEDS_ACCOUNT
from guardtui.app.guardrails.remote import RemoteOptions, profile_names
from guardtui.app.ports import Author, Choose
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict
from guardtui.http.errors import inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.scanner import OTHER_REVISION, AirsScanner
from guardtui.scanners.airs.undo_journal import ExperimentMark, UndoRecord
from guardtui.scanners.base import Progress, Report, VerdictCache
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.applied import ChangeJournal
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.draft_lock import DraftLock
from guardtui.session.store import SessionStore, StoreError

WAIT = 120.0
"""Maximum seconds until scans use a candidate; the service needs about ten."""
ASSUMED_WAIT = 12.0
"""Seconds of an apply until scans use it, unless they were measured."""
ASSUMED_RATE = 5.0
"""Scans a second, unless they were measured."""

_ATTEMPTS = 3
"""Maximum number of times that prompts judged by an older revision are sent."""

Tell = Callable[[str], None]
"""Shows a warning to the author."""

Rows = NDArray[np.intp]


async def choose_profile(author: Author, options: RemoteOptions, production: str) -> str:
    """Ask on which profile candidates are tried; return "" if none was chosen.

    The one in production is the last, and says so. Raises AirsError and ServiceError.
    """
    names = await profile_names(options.configured())
    others = {name: name for name in names if name != production}
    if production in names:
        others[f"{production} · in production: each candidate judges real traffic"] = production
    title = "Profile for tests: it has each candidate in turn, and is as before afterwards"
    return others.get(await author.ask(Choose(title, tuple(others))) or "", "")


def most_applies(candidates: int) -> int:
    """Return the maximum number of applies of an experiment with so many candidates.

    Each is applied at each look that it takes part in, and the definition of before at the
    beginning and at the end.
    """
    stay = zip(KEPT, KEPT_AT_LEAST, strict=True)
    later = (min(candidates, max(least, ceil(candidates * part))) for part, least in stay)
    return candidates + sum(later) + 2


class AirsAnswering:
    """A profile of AIRS during one experiment; it implements `Answering`.

    `connection` is to the profile for tests, `production` the one that judges real traffic ("" if
    unknown). `topic` is the current definition, of the topic file `path`. Verdicts are cached as
    soon as they arrive, in `cache`, by default that of the usual folder. Warnings go to `tell`.
    """

    def __init__(
        self,
        connection: AirsConnection,
        production: str,
        topic: Topic,
        path: Path,
        store: SessionStore,
        changes: ProfileChanges,
        cache: VerdictCache | None = None,
        *,
        tell: Tell,
        wait: float = WAIT,
    ) -> None:
        self.connection, self._production = connection, production
        self._topic, self._path, self._store = topic, path, store
        self._changes, self._cache, self._tell, self._wait = changes, cache, tell, wait
        self._opened = contextlib.ExitStack()
        self._plan: Plan | None = None
        self._applied: Applied | None = None
        self._in_effect: Topic | None = None
        self._live = ""
        self._journal: ExperimentJournal | None = None
        self._limit = connection.limit()
        self._free = asyncio.Event()
        self._free.set()
        self._told: set[str] = set()
        self._done = self._total = 0
        self.calls = 0
        """Number of prompts sent so far, without the `probes`."""
        self.probes = 0
        """Number of scans sent so far to see each apply arrive."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the profile, of whatever revision."""
        return ScannerSettings(self.connection.guardrail)

    @property
    def stored_template(self) -> None:
        """A profile has no template."""

    def hold(self, held: bool) -> None:
        """Pause or resume sending and applying; what was begun is completed."""
        self._limit.hold(held)
        if held:
            self._free.clear()
        else:
            self._free.set()

    # --- before the experiment --------------------------------------------------------------

    async def look(self) -> tuple[str, ...]:
        """Return in sentences what the experiment does to the profile; nothing is changed.

        Raises AirsError for a profile that is missing or cannot have the topic, and ServiceError.
        """
        plan = await self._look()
        name = inert(self._topic.name, characters=60)
        profile = inert(self.connection.profile, characters=60)
        lines = [
            f"Profile {profile} has each candidate in turn, as a revision of the topic {name}; "
            "afterwards it is as before."
        ]
        if self.connection.profile == self._production:
            lines.append(
                f"Profile {profile} is the one in production: each candidate judges real traffic "
                "meanwhile."
            )
        if plan.topic is None:
            lines.append("The topic is created, and stays in the tenant, in no profile.")
        else:
            async with self.connection.management() as client:
                others = [
                    inert(holder.profile, characters=60)
                    for holder in await holders(client, plan.topic)
                    if holder.in_effect and holder.profile != self.connection.profile
                ]
            if others:
                named = ", ".join(others[:5])
                lines.append(f"They keep the revision of the topic that they pin: {named}.")
        return (*lines, *(f"Note: {warning}." for warning in plan.warnings))

    async def _look(self) -> Plan:
        self._plan = plan = await self._changes.plan(self.connection, self._topic)
        if plan is None:
            raise AirsError(NEEDS_ACCOUNT)
        return plan

    def cached(self, definitions: Sequence[Topic], prompts: PromptSet) -> NDArray[np.bool_]:
        """Return which verdicts are cached for the profile as `look` saw it, bool [k, N]. Blocks.

        A topic that has no revision yet has none.
        """
        if self._plan is None or self._plan.topic is None:
            return np.zeros((len(definitions), len(prompts)), bool)
        with contextlib.ExitStack() as opened:
            cache = self._cache
            if cache is None:
                cache = opened.enter_context(contextlib.closing(SqliteVerdicts(cache_folder())))
            states = [self.connection.planned(topic, self._plan) for topic in definitions]
            scanners = [self.connection.scanner(state, cache=cache) for state in states]
            both = zip(scanners, definitions, strict=True)
            return np.stack([scanner.known(topic, prompts) for scanner, topic in both])

    def duration(self, applies: int, calls: int) -> str:
        """Return in words how long so many applies and calls take. Raises StoreError."""
        wait = self._changes.open_log(self.connection).wait()
        each = ASSUMED_WAIT if wait is None else wait
        rate = self.connection.rate or ASSUMED_RATE
        minutes = max(1, round((applies * each + calls / rate) / 60))
        basis = "assumed" if wait is None else "measured"
        return (
            f"at most {minutes} min: {count_text(applies, 'apply', 'applies')} of {each:.0f} s "
            f"({basis}), {rate:g} calls a second ({'set' if self.connection.rate else 'assumed'})"
        )

    # --- the experiment ---------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._plan = plan = await self._look()
        try:
            lock = DraftLock(self._store.folder)
        except OSError as error:
            raise StoreError(f"{self._store.folder}: {error.strerror}") from error
        self._opened.callback(lock.release)
        if self._cache is None:
            self._cache = self._opened.enter_context(
                contextlib.closing(SqliteVerdicts(cache_folder()))
            )
        log = self._changes.open_log(self.connection)
        self._journal = ExperimentJournal(ChangeJournal(log, passing=True), plan, lock.name)
        if not plan.changes:
            self._in_effect = self._topic
        self._warn(plan.warnings)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._changes.finish(self._go_back)
        except GuardtuiError as problem:
            text = self._leftover(f"is not reverted: {problem}")
            if isinstance(error, Exception):
                raise AirsError(f"{error}\n{text}") from error
            if error is None:
                raise AirsError(text) from problem
            self._tell(text)
        except asyncio.CancelledError:  # a second time: the revert goes on, if it may
            self._tell(self._leftover("may not be reverted yet"))
            raise
        finally:
            self._opened.close()

    async def ask(
        self, wanted: Sequence[DefinitionRows], prompts: PromptSet, arrived: Arrived, report: Report
    ) -> None:
        """Ask for all wanted verdicts, one definition after the other.

        Raises AirsError if a definition does not come into effect, or if somebody else changes the
        profile or the topic, and ServiceError.
        """
        self._done, self._total = 0, sum(len(definition.rows) for definition in wanted)
        # The definition in effect needs no apply.
        for definition in sorted(wanted, key=lambda known: known.topic != self._in_effect):
            missing = await self._answer(definition, prompts, arrived, report)
            if missing:
                return

    async def _answer(
        self, wanted: DefinitionRows, prompts: PromptSet, arrived: Arrived, report: Report
    ) -> bool:
        """Ask about one definition; return whether the service gave too many errors to go on."""
        rows, settled = wanted.rows, set[int]()
        again: list[int] = []
        sends = last = False

        def settle(row: int, verdict: Verdict) -> None:
            self.calls += sends
            if verdict.problem == OTHER_REVISION and not last:
                again.append(row)
                return
            settled.add(row)
            self._done += 1
            arrived(wanted.number, row, verdict)

        def progress(now: Progress) -> None:
            report(replace(now, phase=_title(wanted), done=self._done, total=self._total))

        async def scan(scanner: AirsScanner, rows: Rows) -> None:
            if len(rows):
                await scanner.scan(wanted.topic, prompts, progress, rows=rows, settled=settle)

        scanner = self._scanner(wanted.topic)
        known = scanner.known(wanted.topic, prompts)[rows]
        await scan(scanner, rows[known])
        rows, sends = rows[~known], True
        for attempt in range(_ATTEMPTS):
            if not len(rows):
                return False
            last = attempt + 1 == _ATTEMPTS
            await self._put_in_effect(wanted, report, again=attempt > 0)
            again.clear()
            await scan(self._scanner(wanted.topic), rows)
            rows = np.array([row for row in rows.tolist() if row not in settled], np.intp)
            if len(rows) and not again:
                return True
        return False

    def _scanner(self, topic: Topic) -> AirsScanner:
        """Return a scanner of the profile as it is once it has a definition."""
        assert self._plan is not None  # noqa: S101 - entered
        state = self.connection.in_effect(topic, self._applied)
        state = state or self.connection.planned(topic, self._plan)
        return self.connection.scanner(state, cache=self._cache, limit=self._limit)

    async def _put_in_effect(self, wanted: DefinitionRows, report: Report, *, again: bool) -> None:
        """Let the profile have a definition, and wait until scans use it.

        Raises AirsError and ServiceError.
        """
        await self._free.wait()
        assert self._journal is not None  # noqa: S101 - entered
        title, begun = _title(wanted), time.monotonic()
        self._say(report, f"applies {title}")
        if wanted.topic != self._in_effect:
            self._journal.number = wanted.number
            self._in_effect = None
            applied = await self._changes.apply(
                self.connection, wanted.topic, None, journal=self._journal, reuse=True
            )
            self._warn(applied.warnings)
            self._journal.finish(applied)
            self._applied, self._in_effect = applied, wanted.topic
        assert self._plan is not None  # noqa: S101 - entered
        profile = (self._applied or self._plan).profile
        if self._live == profile.profile_id and not again:
            return
        self._say(report, f"waits until scans use {title}")
        if again:
            await self._require_own(profile)
        before = self.probes

        def probed(probes: int, seconds: float, reason: str) -> None:
            self.probes = before + probes

        live = await self.connection.wait(
            wanted.topic, profile, limit=self._wait, as_expected=False, report=probed
        )
        self.probes = before + live.probes
        if not live.live:
            await self._require_own(profile)
            raise AirsError(f"{title} is not in effect after {live.seconds:.0f} s: {live.reason}")
        if self._live != profile.profile_id and self._applied is not None:
            self._changes.open_log(self.connection).keep_wait(time.monotonic() - begun)
        self._live = profile.profile_id

    async def _require_own(self, profile: SecurityProfile) -> None:
        """Raise AirsError if a revision is not the newest of the profile."""
        now = await self.connection.active()
        if now is not None and now.profile.revision != profile.revision:
            raise _foreign("profile", profile.profile_name, profile.revision, now.profile.revision)

    def _say(self, report: Report, step: str) -> None:
        report(Progress(step, self._done, self._total))

    def _warn(self, warnings: Sequence[str]) -> None:
        """Tell each warning once."""
        for warning in warnings:
            if warning not in self._told:
                self._told.add(warning)
                self._tell(warning)

    # --- after the experiment ---------------------------------------------------------------

    async def _go_back(self) -> None:
        """Restore the state before. Raises AirsError, ServiceError and StoreError."""
        step = None if self._journal is None else self._journal.step
        if step is not None:
            done = await self.connection.revert(step.way)
            await asyncio.to_thread(step.forget, self._changes.open_log(self.connection), done)
            self._warn(done.warnings)

    def _leftover(self, state: str) -> str:
        command = revert_line(self._path, self.connection)
        return f"profile {self.connection.title} {state}\n  '{command}' reverts it"


class ExperimentJournal:
    """The journal entry of an experiment: all its changes as one. Refuses changes by others.

    It is a `Journal` of `scanners.airs`; `number` is the definition that is applied next.
    """

    def __init__(self, entry: ChangeJournal, plan: Plan, owner: str) -> None:
        """`plan` has the state before the experiment, `owner` names the lock of this process."""
        self._entry, self._owner = entry, owner
        self._profile = plan.profile.revision
        self._topic = 0 if plan.topic is None else plan.topic.revision
        self._finished: UndoRecord | None = None
        self._written: UndoRecord | None = None
        self.number = 0

    @property
    def step(self) -> RevertStep | None:
        """The revert of all changes; None if nothing can have been changed."""
        entry_id, written = self._entry.entry_id, self._written
        return None if entry_id is None or written is None else RevertStep((entry_id,), (written,))

    def __call__(self, way: UndoRecord | None) -> None:
        """Record a change before it is sent; None: it was not sent.

        Raises AirsError if somebody else changed profile or topic since the last change.
        """
        if way is None:
            self._write(self._finished)
            return
        topic = 0 if way.topic is None else int(way.topic["revision"])
        if way.revision_before != self._profile:
            raise _foreign("profile", way.profile_name, self._profile, way.revision_before)
        if topic != self._topic:
            raise _foreign("topic", way.topic_name, self._topic, topic)
        self._write(self._with(way))

    def finish(self, applied: Applied) -> None:
        """Record that a change was made. Raises AirsError for a change by others at its moment."""
        before, topic = self._profile, self._topic
        self._profile, self._topic = applied.profile.revision, applied.topic.revision
        if applied.changes:
            self._finished = self._with(applied.before)
        if self._profile != before + bool(applied.changes):
            raise _foreign("profile", applied.profile.profile_name, before, self._profile)
        if self._topic not in (topic, topic + 1):
            raise _foreign("topic", applied.topic.topic_name, topic, self._topic)

    def _with(self, way: UndoRecord) -> UndoRecord:
        mark = ExperimentMark(number=self.number, owner=self._owner)
        way = way.model_copy(update={"experiment": mark})
        return way if self._finished is None else self._finished.then(way)

    def _write(self, way: UndoRecord | None) -> None:
        self._entry(way)
        self._written = way


def _foreign(what: str, name: str, before: int, now: int) -> AirsError:
    return AirsError(
        f"somebody else changed the {what} {inert(name, characters=60)} during the experiment: it "
        f"was at revision {before}, and is at {now} now; their changes stay"
    )


def _title(wanted: DefinitionRows) -> str:
    return f"candidate {wanted.number}" if wanted.number else "the current definition"

"""Changes of security profiles and their topics: one at a time, each recorded for a revert."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from guardtui.app.airs.revert_steps import RevertStep, former_topic
from guardtui.app.ports import Question
from guardtui.domain.topic import Topic
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.policy_paths import PolicyPath
from guardtui.scanners.airs.propagation import PropagationResult
from guardtui.scanners.airs.undo_journal import Journal, Reverted
from guardtui.session.applied import AppliedLog, ChangeJournal
from guardtui.session.store import SessionStore

Result = TypeVar("Result")

LEAVING = 5.0
"""Seconds for a running change to finish when the app ends."""


@dataclass(frozen=True, slots=True)
class ShowChanges(Question[bool]):
    """Question whether to make these changes; with `reverts` they undo the last apply.

    `title` names the profile, `revision` is its newest revision.
    """

    title: str
    revision: int
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    reverts: bool = False

    @classmethod
    def of(
        cls, connection: AirsConnection, shown: Plan | Reverted, *, reverts: bool = False
    ) -> ShowChanges:
        """Return the question about planned changes."""
        revision = shown.profile.revision
        return cls(connection.title, revision, shown.changes, shown.warnings, reverts)


@dataclass(frozen=True, slots=True)
class Placement:
    """Position of a topic in a profile, and whether to set the default action too."""

    place: PolicyPath | None = None
    set_default: bool = False


_USUAL = Placement()


class ProfileChanges:
    """Reads and changes profiles, one caller at a time; a started change is always finished.

    All methods raise AirsError, ServiceError and StoreError.
    """

    def __init__(self, path: Path) -> None:
        """Change profiles for the topic file at `path`, whose session has the undo journal."""
        self._path = path
        self._lock = asyncio.Lock()
        self._begun: set[asyncio.Task[Any]] = set()

    def open_log(self, connection: AirsConnection) -> AppliedLog:
        """Open the undo journal of a profile."""
        return AppliedLog(SessionStore(self._path), connection.key)

    @property
    def is_busy(self) -> bool:
        """Return whether a profile is being read or changed."""
        return self._lock.locked()

    async def plan(
        self, connection: AirsConnection, topic: Topic, placement: Placement = _USUAL
    ) -> Plan | None:
        """Return the changes of applying a definition; None without a service account.

        A topic that a rename in the file has left in the profile is among the warnings.
        """
        async with self._lock:
            plan = await connection.look(
                topic, path=placement.place, set_default=placement.set_default
            )
        if plan is None:
            return None
        former = former_topic(self._path, connection, topic, plan.profile)
        return plan if former is None else replace(plan, warnings=(*plan.warnings, former.text))

    def _told(self, connection: AirsConnection, topic: Topic, applied: Applied) -> Applied:
        former = former_topic(self._path, connection, topic, applied.profile)
        if former is None:
            return applied
        return replace(applied, warnings=(*applied.warnings, former.text))

    def journal(self, connection: AirsConnection) -> ChangeJournal:
        """Return the journal entry of a change about to be made."""
        return ChangeJournal(self.open_log(connection))

    async def apply(
        self,
        connection: AirsConnection,
        topic: Topic,
        plan: Plan | None,
        placement: Placement = _USUAL,
        journal: Journal | None = None,
        *,
        reuse: bool = False,
    ) -> Applied:
        """Apply a definition to the profile; each step is in the undo journal before it is made.

        `reuse` as in `lifecycle.apply`.
        """
        entry = self.journal(connection) if journal is None else journal
        applied = await self.finish(
            lambda: connection.apply(
                topic,
                plan,
                path=placement.place,
                set_default=placement.set_default,
                journal=entry,
                reuse=reuse,
            )
        )
        return self._told(connection, topic, applied)

    async def apply_missing(self, connection: AirsConnection, topic: Topic) -> Applied | None:
        """Apply a definition to the profile unless it has it; None if nothing was changed."""

        async def look_and_apply() -> Applied | None:
            plan = await connection.look(topic)
            if plan is None or not plan.changes:
                return None
            return await connection.apply(topic, plan, journal=self.journal(connection))

        applied = await self.finish(look_and_apply)
        return None if applied is None else self._told(connection, topic, applied)

    async def revert(self, connection: AirsConnection, step: RevertStep) -> Reverted:
        """Revert changes, and remove them from the journal."""

        async def go_back() -> Reverted:
            done = await connection.revert(step.way)
            log = self.open_log(connection)
            await asyncio.to_thread(step.forget, log, done)
            return done

        return await self.finish(go_back)

    async def finish(self, change: Callable[[], Awaitable[Result]]) -> Result:
        """Make a change exclusively; once started it finishes, even if the caller is cancelled."""
        await self._lock.acquire()

        async def alone() -> Result:
            try:
                return await change()
            finally:
                self._lock.release()

        task = asyncio.ensure_future(alone())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait a few seconds for a running change."""
        if self._begun:
            await asyncio.wait(self._begun, timeout=LEAVING)


async def wait_until_live(
    connection: AirsConnection,
    topic: Topic,
    profile: SecurityProfile,
    *,
    show: Callable[[str], None],
    wait_on: Callable[[PropagationResult], Awaitable[bool]],
    as_expected: bool = True,
) -> PropagationResult:
    """Wait until scans use a revision of the profile, while `wait_on` returns True.

    Raises ServiceError.
    """
    while True:
        show(f"waits until scans use revision {profile.revision} …")
        live = await connection.wait(topic, profile, as_expected=as_expected)
        if live.live or not await wait_on(live):
            return live

"""Changes of security profiles and their topics: one at a time, each with its way back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from guardtui.app.ports import Question
from guardtui.app.way_back import StepBack
from guardtui.domain.topic import Topic
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.lifecycle import Applied, Plan, Reverted
from guardtui.scanners.airs.live import Live
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.places import Place
from guardtui.session.applied import AppliedLog, ChangeJournal

Result = TypeVar("Result")

LEAVING = 5.0
"""Seconds that a change under way gets to finish when the app ends."""


@dataclass(frozen=True, slots=True)
class ShowChanges(Question[bool]):
    """Whether to make these changes. `reverts`: they lead back to before the last apply.

    `place` names the profile, `revision` is its newest one.
    """

    place: str
    revision: int
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    reverts: bool = False

    @classmethod
    def of(
        cls, connection: AirsConnection, shown: Plan | Reverted, *, reverts: bool = False
    ) -> ShowChanges:
        """The question about what was looked up."""
        revision = shown.profile.revision
        return cls(connection.place, revision, shown.changes, shown.warnings, reverts)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where in a profile a topic goes, and whether to set what happens to all else."""

    place: Place | None = None
    set_default: bool = False


_USUAL = Placement()


class ProfileChanges:
    """Reads and changes profiles, one caller at a time; a change that was begun is finished.

    All methods raise AirsError, ServiceError and StoreError.
    """

    def __init__(self, open_log: Callable[[AirsConnection], AppliedLog]) -> None:
        """`open_log` opens the undo journal of a profile, before the first change of it."""
        self.open_log = open_log
        self._lock = asyncio.Lock()
        self._begun: set[asyncio.Task[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a profile is being read or changed."""
        return self._lock.locked()

    async def plan(
        self, connection: AirsConnection, topic: Topic, placement: Placement = _USUAL
    ) -> Plan | None:
        """Return what applying a definition would change; None without a service account."""
        async with self._lock:
            return await connection.look(
                topic, place=placement.place, set_default=placement.set_default
            )

    def journal(self, connection: AirsConnection) -> ChangeJournal:
        """Return the journal entry of one change that is about to be made."""
        return ChangeJournal(self.open_log(connection))

    async def apply(
        self,
        connection: AirsConnection,
        topic: Topic,
        plan: Plan | None,
        placement: Placement = _USUAL,
        journal: ChangeJournal | None = None,
    ) -> Applied:
        """Put a definition into the profile; its way back is in the journal before each step."""
        kept = self.journal(connection) if journal is None else journal
        return await self.finish(
            lambda: connection.apply(
                topic,
                plan,
                place=placement.place,
                set_default=placement.set_default,
                journal=kept,
            )
        )

    async def apply_missing(self, connection: AirsConnection, topic: Topic) -> Applied | None:
        """Put a definition into the profile unless it has it; None where nothing was changed."""

        async def look_and_apply() -> Applied | None:
            plan = await connection.look(topic)
            if plan is None or not plan.changes:
                return None
            return await connection.apply(topic, plan, journal=self.journal(connection))

        return await self.finish(look_and_apply)

    async def revert(self, connection: AirsConnection, step: StepBack) -> Reverted:
        """Take changes back, and drop them from the journal."""

        async def go_back() -> Reverted:
            done = await connection.revert(step.way)
            log = self.open_log(connection)
            await asyncio.to_thread(step.forget, log, done)
            return done

        return await self.finish(go_back)

    async def finish(self, change: Callable[[], Awaitable[Result]]) -> Result:
        """Make a change alone; once begun it is finished, even if the caller is cancelled."""
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
        """Give a change under way a few seconds to finish."""
        if self._begun:
            await asyncio.wait(self._begun, timeout=LEAVING)


async def wait_until_live(
    connection: AirsConnection,
    topic: Topic,
    profile: SecurityProfile,
    *,
    show: Callable[[str], None],
    wait_on: Callable[[Live], Awaitable[bool]],
    as_expected: bool = True,
) -> Live:
    """Wait until scans use a revision of the profile, as long as `wait_on` is true each time.

    Raises ServiceError.
    """
    while True:
        show(f"waits until revision {profile.revision} judges …")
        live = await connection.wait(topic, profile, as_expected=as_expected)
        if live.live or not await wait_on(live):
            return live

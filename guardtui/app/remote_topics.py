"""The topics of the tenant: taken over, created, applied, reverted and deleted by the author."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from guardtui.app.connections import NEEDS_ACCOUNT, Connections
from guardtui.app.ports import Author, Confirm, Question
from guardtui.app.profile_changes import ProfileChanges, ShowChanges, wait_until_live
from guardtui.app.tenant_topics import Listing, holder_lines, holders, read_listing
from guardtui.app.way_back import steps_back
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent, Topic, describe_changes, line_breaks, violations
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.live import Live
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.session.session import Session

_HOLDERS = 6
_REVISIONS = 4


@dataclass(frozen=True, slots=True)
class ShowTopic(Question[bool]):
    """Whether to take over a topic of the service, shown against the definition `here`.

    `intent` is what the profile does with it, None where the profile does not have it.
    """

    topic: CustomTopic
    intent: Intent | None
    here: Topic


@dataclass(frozen=True, slots=True)
class DeleteHeld(Question[str]):
    """Who deletes a topic that profiles hold, as an e-mail address; dismissed: nobody.

    `holders` are lines, inert; `name` is not.
    """

    name: str
    holders: tuple[str, ...]


class Definition(Protocol):
    """The definition that is being edited."""

    async def finish_typing(self) -> Topic:
        """Return it once keys that are still on their way have arrived."""

    def replace(self, topic: Topic) -> bool:
        """Make this the definition, as one step; False when it is already."""


class Show(Protocol):
    """Shows a step, or why something was refused, where the author looks."""

    def __call__(self, text: str, *, problem: bool = False) -> None: ...


class RemoteTopics:
    """What an author does with the topics of the connected tenant, one change at a time.

    The changes return what was done as a sentence, "" where the author dismissed the question.
    They raise ScannerError, ServiceError and StoreError.
    """

    def __init__(
        self,
        session: Session,
        definition: Definition,
        connections: Connections,
        changes: ProfileChanges,
        author: Author,
        is_scanning: Callable[[], bool],
    ) -> None:
        self._session, self._definition = session, definition
        self._connections, self._changes = connections, changes
        self._author, self._scanning = author, is_scanning
        self._is_changing = False

    @property
    def here(self) -> Topic:
        """The definition that is being edited."""
        return self._session.topic

    @property
    def is_scanning(self) -> bool:
        """Whether a scan is under way, which shows its own progress."""
        return self._scanning()

    @property
    def refusal(self) -> str:
        """Why no change may begin now; "" where one may."""
        if self.is_scanning:
            return "Stop the scan first: it judges by what the profile has now."
        if self._is_changing or self._changes.is_busy:
            return "Another change in AIRS is under way."
        return ""

    async def managing(self) -> AirsConnection | None:
        """Return the connection, where it can change topics; else the author is notified.

        Raises ScannerError, ServiceError and StoreError.
        """
        await self._definition.finish_typing()
        return await self._connections.managing()

    async def read(self, connection: AirsConnection) -> Listing:
        """Read what the tenant has now. Raises AirsError and ServiceError."""
        async with connection.management() as client:
            return await read_listing(client, connection.profile)

    async def take_over(self, remote: CustomTopic, intent: Intent | None, show: Show) -> bool:
        """Make a topic of the service the definition, if the author wants it after a look.

        `intent` is what the profile does with it; None keeps that of the definition.
        """
        here = self.here
        if not await self._author.ask(ShowTopic(remote, intent, here)):
            return False
        topic = Topic(
            name=remote.topic_name,
            description=remote.description,
            examples=remote.examples,
            intent=intent or here.intent,
        )
        if broken := line_breaks(topic):
            show(f"Not taken over: {broken[0].message}", problem=True)
            return False
        changes = ", ".join(describe_changes(here, topic))
        if not changes:
            show("The definition here is the same already.")
            return False
        self._definition.replace(topic)
        self._author.notify(f"Taken over: {changes}. Undo brings yours back.", seconds=8)
        return True

    # --- changes ----------------------------------------------------------------------------

    async def apply(self, connection: AirsConnection, show: Show) -> str:
        """Put the definition into effect in the profile."""
        async with self._changing():
            topic = self._sendable()
            show("looks at the profile …")
            plan = await self._changes.plan(connection, topic)
            if plan is None:
                raise AirsError(NEEDS_ACCOUNT)
            if not plan.changes:
                self._connections.use_effect(connection.in_effect(topic, plan))
                self._connections.settle()
                return "The profile has this definition in effect already."
            show("")
            if not await self._author.ask(ShowChanges.of(connection, plan)):
                return ""
            show("puts the definition into the profile …")
            applied = await self._changes.apply(connection, topic, plan)
            self._warn_of(applied.warnings)
            self._connections.use_effect(connection.in_effect(topic, applied))
            self._connections.settle()
            live = await self._until_live(connection, topic, applied.profile, show)
            return f"Applied: revision {applied.profile.revision} of the profile{live}."

    async def create(self, connection: AirsConnection, listing: Listing | None, show: Show) -> str:
        """Create the topic of the definition, which no profile uses then."""
        async with self._changing():
            topic = self._sendable()
            known = () if listing is None else listing.topics
            name = display_start(topic.name, 60)
            if any(topic.name == other.topic_name for other in known):
                return f"There is a topic {name} already: p gives it your text."
            text = f"Make the topic {name} of your definition? No profile uses it then."
            if not await self._author.ask(Confirm(text, "Create", "Cancel")):
                return ""
            show("makes the topic …")

            async def create() -> CustomTopic:
                async with connection.management() as client:
                    return await lifecycle.create(client, topic)

            made = await self._changes.finish(create)
            return f"Made {name}, at revision {made.revision}; no profile uses it yet."

    async def delete(self, connection: AirsConnection, topic: CustomTopic, show: Show) -> str:
        """Delete a topic, also where profiles hold it if the author says who does it."""
        async with self._changing():
            name = display_start(topic.topic_name, 60)
            show("looks at which profiles have it …")
            async with connection.management() as client:
                held = await holders(client, topic)
            show("")
            address = ""
            if held:
                lines = tuple(holder_lines(held, _HOLDERS, _REVISIONS))
                address = await self._author.ask(DeleteHeld(topic.topic_name, lines)) or ""
                if not address:
                    return ""
            else:
                text = f"Delete topic {name} (revision {topic.revision})? This cannot be undone."
                if not await self._author.ask(Confirm(text, "Delete", "Cancel")):
                    return ""
            show("deletes the topic …")

            async def delete() -> None:
                async with connection.management() as client:
                    if address:
                        await client.force_delete_topic(topic.topic_id, address)
                    else:
                        await client.delete_topic(topic.topic_id)

            await self._changes.finish(delete)
            await self._renew(connection)
            return f"Deleted {name}" + (", out of all profiles." if held else ".")

    async def revert(self, connection: AirsConnection, show: Show) -> str:
        """Take back the newest apply of this session to the profile."""
        async with self._changing():
            entries = await asyncio.to_thread(self._changes.open_log(connection).entries)
            if not entries:
                return "Nothing that this session applied to the profile is left to take back."
            (step,) = steps_back(entries[-1:])
            show("looks at the profile …")
            shown = await connection.look_back(step.way)
            show("")
            if shown.changes or shown.warnings:
                question = ShowChanges.of(connection, shown, reverts=True)
                if not await self._author.ask(question):
                    return ""
            show("takes the last apply back …")
            done = await self._changes.revert(connection, step)
            self._warn_of([text for text in done.warnings if text not in shown.warnings])
            await self._renew(connection)
            if not shown.changes:
                return "The profile was as before the last apply already."
            live = await self._until_live(connection, step.probe, done.profile, show, back=True)
            return f"Taken back: revision {done.profile.revision} of the profile{live}."

    # --- parts of a change ------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Refuse other changes meanwhile: the questions of a change are part of it."""
        if refusal := self.refusal:
            raise AirsError(refusal)
        self._is_changing = True
        try:
            yield
        finally:
            self._is_changing = False

    def _sendable(self) -> Topic:
        """Return the definition. Raises AirsError for one that the service does not accept."""
        if broken := violations(self.here):
            raise AirsError(f"Not sent: {broken[0].message}")
        return self.here

    async def _until_live(
        self,
        connection: AirsConnection,
        topic: Topic,
        profile: SecurityProfile,
        show: Show,
        *,
        back: bool = False,
    ) -> str:
        """Wait until scans use a revision; return what to add to a sentence about it."""

        async def wait_on(live: Live) -> bool:
            text = f"After {live.seconds:.0f} s scans are not judged by it: {live.reason}."
            answer = await self._author.ask(Confirm(text, "Keep waiting", "Stop waiting"))
            return answer is True

        try:
            live = await wait_until_live(
                connection, topic, profile, show=show, wait_on=wait_on, as_expected=not back
            )
        except ServiceError as error:
            return f"; whether scans know it could not be told: {error}"
        if live.live:
            return ", and scans are judged by it"
        return f"; scans are not judged by it yet: {live.reason}"

    async def _renew(self, connection: AirsConnection) -> None:
        """Read what is in effect after a change."""
        topic, now = self.here, None
        try:
            try:
                now = connection.in_effect(topic, await connection.look(topic))
            except AirsError:  # the definition here is not valid: what the profile has counts
                now = await connection.seen()
        except (AirsError, ServiceError) as error:
            self._connections.warn(f"What is in effect now could not be read: {error}")
        self._connections.use_effect(now)
        self._connections.settle()

    def _warn_of(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._connections.warn(warning)

"""Actions on the topics of the tenant: view, copy, create, apply, revert."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from guardtui.app.airs.profile_changes import ProfileChanges, ShowChanges, wait_until_live
from guardtui.app.airs.revert_steps import steps_back
from guardtui.app.airs.tenant_topics import TenantTopics, read_listing, same_text
from guardtui.app.context import Context
from guardtui.app.guardrails.connections import NEEDS_ACCOUNT, Connections
from guardtui.app.ports import Choose, Confirm, Question
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent, Topic, describe_changes, line_breaks, violations
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.propagation import PropagationResult

APPLY = "Apply your definition to the profile"
CREATE = "Create a topic from your definition, in no profile"
REVERT = "Revert the last apply of this session"
"""Entries above the topics of the tenant."""

_NAME_CHARACTERS = 60

Show: TypeAlias = Callable[[str], None]
"""Shows a step to the author; "" ends it."""

Change: TypeAlias = Callable[[Show], Awaitable[str]]
"""A change in AIRS; returns its result as a sentence."""


@dataclass(frozen=True, slots=True)
class ShowTopic(Question[bool]):
    """Question whether to load a topic of the service, shown against the definition `here`.

    `intent` is that in the profile, None if the profile does not have the topic.
    """

    topic: CustomTopic
    intent: Intent | None
    here: Topic


class RemoteTopics:
    """Actions of the author on the topics of the connected tenant, one change at a time.

    Actions return the result as a sentence, or "" if the author dismissed the question. They raise
    ScannerError, ServiceError and StoreError.
    """

    def __init__(
        self,
        context: Context,
        connections: Connections,
        changes: ProfileChanges,
        is_scanning: Callable[[], bool],
    ) -> None:
        self._session, self._editing, self._author = (
            context.session,
            context.editing,
            context.author,
        )
        self._connections, self._changes, self._scanning = connections, changes, is_scanning
        self._is_changing = False

    @property
    def here(self) -> Topic:
        """The definition that is being edited."""
        return self._session.topic

    @property
    def is_scanning(self) -> bool:
        """Return whether a scan is running, which shows its own progress."""
        return self._scanning()

    @property
    def refusal(self) -> str:
        """Why no change can start now, or ""."""
        if self.is_scanning:
            return "Stop the scan first: it uses the profile as it is now."
        if self._is_changing or self._changes.is_busy:
            return "Another change in AIRS is under way."
        return ""

    async def managing(self) -> AirsConnection | None:
        """Return the connection if it can change topics; otherwise notify the author.

        Raises ScannerError, ServiceError and StoreError.
        """
        await self._editing.finish_typing()
        return await self._connections.managing()

    async def read(self, connection: AirsConnection) -> TenantTopics:
        """Read the topics of the tenant. Raises AirsError and ServiceError."""
        async with connection.management() as client:
            return await read_listing(client, connection.profile)

    async def choose(self, connection: AirsConnection, show: Show) -> Change | None:
        """Let the author view and copy topics; return the change that was chosen instead, if any.

        Raises AirsError and ServiceError.
        """
        show("reads the topics …")
        listing = await self.read(connection)
        show("")
        revision = "no such profile"
        if listing.profile is not None:
            revision = f"revision {listing.profile.revision}"
        changes: dict[str, Change] = {
            APPLY: partial(self.apply, connection),
            CREATE: partial(self.create, connection, listing),
            REVERT: partial(self.revert, connection),
        }
        topics = {self._line(listing, topic): topic for topic in listing.topics}
        question = Choose(
            f"Topics in AIRS, profile {connection.profile}, {revision}", (*changes, *topics)
        )
        while (chosen := await self._author.ask(question)) is not None:
            if chosen in changes:
                return changes[chosen]
            topic = topics[chosen]
            intent = listing.intent(topic)
            if await self._author.ask(ShowTopic(topic, intent, self.here)):
                self._copy(topic, intent)
                break
        return None

    def _line(self, listing: TenantTopics, topic: CustomTopic) -> str:
        """Return a topic in a line: name, revision, pins, and whether its text is local."""
        line = f"{display_start(topic.topic_name, _NAME_CHARACTERS)} r{topic.revision}"
        pins = [
            f"{display_start(action, 10)} r{revision}"
            + " older" * listing.is_older(topic, revision)
            for _, action, revision in listing.pins(topic)[:3]
        ]
        line += f" · {', '.join(pins) or 'not pinned'}"
        if topic.topic_name == self.here.name:
            line += " · text as here" if same_text(topic, self.here) else " · another text here"
        return line if topic.active else f"{line} · not active"

    def _copy(self, remote: CustomTopic, intent: Intent | None) -> None:
        """Make a topic of the service the definition; an intent of None keeps the current one.

        Raises AirsError if it contains line breaks.
        """
        current = self.here
        topic = Topic(
            name=remote.topic_name,
            description=remote.description,
            examples=remote.examples,
            intent=intent or current.intent,
        )
        if broken := line_breaks(topic):
            raise AirsError(f"Not copied: {broken[0].message}")
        changes = ", ".join(describe_changes(current, topic))
        if not changes:
            self._author.notify("The definition is the same already.")
            return
        self._editing.replace(topic)
        self._author.notify(f"Copied: {changes}. Undo restores yours.", seconds=8)

    # --- changes ----------------------------------------------------------------------------

    async def apply(self, connection: AirsConnection, show: Show) -> str:
        """Apply the definition to the profile."""
        async with self._changing():
            topic = self._sendable()
            show("looks at the profile …")
            plan = await self._changes.plan(connection, topic)
            if plan is None:
                raise AirsError(NEEDS_ACCOUNT)
            if not plan.changes:
                self._connections.use_effect(connection.in_effect(topic, plan), topic)
                self._connections.settle()
                return "The profile has this definition in effect already."
            show("")
            if not await self._author.ask(ShowChanges.of(connection, plan)):
                return ""
            show("applies the definition to the profile …")
            applied = await self._changes.apply(connection, topic, plan)
            self._warn_of(applied.warnings)
            self._connections.use_effect(connection.in_effect(topic, applied), topic)
            self._connections.settle()
            live = await self._until_live(connection, topic, applied.profile, show)
            return f"Applied: revision {applied.profile.revision} of the profile{live}."

    async def create(self, connection: AirsConnection, listing: TenantTopics, show: Show) -> str:
        """Create a topic from the definition; no profile uses it yet."""
        async with self._changing():
            topic = self._sendable()
            name = display_start(topic.name, _NAME_CHARACTERS)
            if any(topic.name == other.topic_name for other in listing.topics):
                return f"The topic {name} exists already: apply gives it your text."
            text = f"Create the topic {name} from your definition? No profile uses it yet."
            if not await self._author.ask(Confirm(text, "Create", "Cancel")):
                return ""
            show("creates the topic …")

            async def create() -> CustomTopic:
                async with connection.management() as client:
                    return await lifecycle.create(client, topic)

            made = await self._changes.finish(create)
            return f"Created {name}, revision {made.revision}; no profile uses it yet."

    async def revert(self, connection: AirsConnection, show: Show) -> str:
        """Revert the newest apply of this session to the profile."""
        async with self._changing():
            entries = await asyncio.to_thread(self._changes.open_log(connection).entries)
            if not entries:
                return "This session has no apply to this profile to revert."
            (step,) = steps_back(entries[-1:])
            show("looks at the profile …")
            shown = await connection.revert(step.way, send=False)
            show("")
            if shown.changes or shown.warnings:
                question = ShowChanges.of(connection, shown, reverts=True)
                if not await self._author.ask(question):
                    return ""
            show("reverts the last apply …")
            done = await self._changes.revert(connection, step)
            self._warn_of([text for text in done.warnings if text not in shown.warnings])
            await self._renew(connection)
            if not shown.changes:
                return "The profile is as before the last apply already."
            live = await self._until_live(connection, step.probe, done.profile, show, back=True)
            return f"Reverted: revision {done.profile.revision} of the profile{live}."

    # --- parts of a change ------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Refuse other changes during a change, including its questions."""
        if refusal := self.refusal:
            raise AirsError(refusal)
        self._is_changing = True
        try:
            yield
        finally:
            self._is_changing = False

    def _sendable(self) -> Topic:
        """Return the definition. Raises AirsError if it is outside the limits of the service."""
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
        """Wait until scans use a revision; return the end of a sentence about it."""

        async def wait_on(live: PropagationResult) -> bool:
            text = f"After {live.seconds:.0f} s scans do not use it: {live.reason}."
            answer = await self._author.ask(Confirm(text, "Keep waiting", "Stop waiting"))
            return answer is True

        try:
            live = await wait_until_live(
                connection, topic, profile, show=show, wait_on=wait_on, as_expected=not back
            )
        except ServiceError as error:
            return f"; whether scans use it is unknown: {error}"
        if live.live:
            return ", and scans use it"
        return f"; scans do not use it yet: {live.reason}"

    async def _renew(self, connection: AirsConnection) -> None:
        """Read the definition in effect after a change."""
        topic, now, has_it = self.here, None, False
        try:
            try:
                plan = await connection.look(topic)
                now = connection.in_effect(topic, plan)
                has_it = plan is not None and not plan.changes
            except AirsError:  # the definition is invalid: the profile's topic is in effect
                now = await connection.active()
        except (AirsError, ServiceError) as error:
            self._connections.warn(f"The definition in effect could not be read: {error}")
        self._connections.use_effect(now, topic if has_it else None)
        self._connections.settle()

    def _warn_of(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._connections.warn(warning)

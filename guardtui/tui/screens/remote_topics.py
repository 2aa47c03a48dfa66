"""The topics in AIRS from the screen: listed, taken over, made, applied, taken back, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from pydantic import ValidationError
from textual import work

from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, describe_changes, line_breaks, violations
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection, InEffect
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Before, Reverted
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.applied import AppliedLog
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace
from guardtui.tui.remote_listing import create, delete, holders, read_listing
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.remote_dialogs import Changes, DeleteHeld, RemoteTopics, TopicText
from guardtui.tui.screens.scanning import ScanningScreen
from guardtui.tui.widgets.scan_pane import ScanState

Result = TypeVar("Result")

_NEEDS = (
    "Topics need a service account: set PANW_MGMT_CLIENT_ID, PANW_MGMT_CLIENT_SECRET and "
    "PANW_MGMT_TSG_ID."
)
_LEAVING = 5.0
"""Seconds that a change under way gets to come to its end when the app is left."""
_SCANS = "Stop the scan first: it judges by what the profile has now."
_NOTHING = "Nothing that this session applied to the profile is left to take back."


class RemoteTopicsScreen(ScanningScreen):
    """Actions on the tenant's topics. One change at a time, and none while a scan goes on."""

    _busy = False
    """Whether a change was asked for that has not ended: its questions are part of it."""

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(workspace, scanner)
        self._changes_begun: set[asyncio.Task[Any]] = set()

    # --- the actions ----------------------------------------------------------------------

    @work(exclusive=True, group="dialog")
    async def action_remote_topics(self) -> None:
        connection = await self._managing()
        if connection is None:
            return
        dialog = RemoteTopics(
            connection.place,
            lambda: self.session.topic,
            lambda: read_listing(connection),
            lambda name, topic: self._act(connection, dialog, name, topic),
        )
        self.app.push_screen(dialog)

    @work(exclusive=True, group="dialog")
    async def action_revert_remote(self) -> None:
        connection = await self._managing()
        if connection is not None:
            self._change(None, lambda: self._revert(connection, None))

    async def _managing(self) -> AirsConnection | None:
        """The connection, where it can change topics; else the author is told."""
        await self._take_typed()
        try:
            connection = await self._connected()
        except (ScannerError, ServiceError, StoreError) as error:
            self._tell_pane("")
            self._warn(str(error), error=True)
            return None
        if connection is not None and not connection.manages:
            self._warn(_NEEDS, error=True)
            return None
        return connection

    def _act(
        self,
        connection: AirsConnection,
        dialog: RemoteTopics,
        name: str,
        topic: CustomTopic | None,
    ) -> None:
        """What a key in the list asks for."""
        if name == "apply":
            self._change(dialog, lambda: self._apply_here(connection, dialog))
        elif name == "create":
            self._change(dialog, lambda: self._create(connection, dialog))
        elif name == "revert":
            self._change(dialog, lambda: self._revert(connection, dialog))
        elif topic is None:
            dialog.tell("There is no topic to choose.")
        elif name == "delete":
            self._change(dialog, lambda: self._delete(connection, dialog, topic))
        else:
            self._look_at(dialog, topic)

    @work(group="remote")
    async def _look_at(self, dialog: RemoteTopics, remote: CustomTopic) -> None:
        """Show a topic's text, and take it over when the author wants it."""
        listing, here = dialog.listing, self.session.topic
        intent = None if listing is None else listing.intent(remote)
        if not await self.app.push_screen_wait(TopicText(remote, intent, here)):
            return
        topic = Topic(
            name=remote.topic_name,
            description=remote.description,
            examples=remote.examples,
            intent=intent or here.intent,
        )
        if broken := line_breaks(topic):
            dialog.tell(f"Not taken over: {broken[0].message}", problem=True)
            return
        changes = ", ".join(describe_changes(here, topic))
        if not changes:
            dialog.tell("The definition here is the same already.")
            return
        dialog.action_close()
        self._edit(topic)
        self.notify(f"Taken over: {changes}. Undo brings yours back.", timeout=8, markup=False)

    # --- changes --------------------------------------------------------------------------

    @work(group="remote")
    async def _change(
        self, dialog: RemoteTopics | None, change: Callable[[], Awaitable[str]]
    ) -> None:
        """Do one change, tell what came of it, and read the list anew.

        `change` returns what was done, or "" when it was left.
        """
        if self._under_way:
            self._tell_end(dialog, _SCANS, problem=True)
            return
        if self._busy or self._profile_lock.locked():
            self._tell_end(dialog, "Another change in AIRS is under way.", problem=True)
            return
        done, problem = "", False
        self._busy = True
        try:
            done = await change()
        except (ScannerError, ServiceError, StoreError) as error:
            done, problem = str(error), True
        finally:
            self._busy = False
        if done and dialog is not None and not dialog.is_left:
            # Read anew also after a failure: what was done of it is seen.
            dialog.load(done, problem=problem)
            self._tell_pane("")
        else:
            self._tell_end(dialog, done, problem=problem)

    def _tell_end(self, dialog: RemoteTopics | None, text: str, *, problem: bool = False) -> None:
        if dialog is not None and not dialog.is_left:
            dialog.tell(text, problem=problem)
        elif text:
            if problem:
                self._warn(text, error=True)
            else:
                self.notify(text, title="AIRS", timeout=10, markup=False)
        self._tell_pane("")

    def _tell_now(self, dialog: RemoteTopics | None, text: str) -> None:
        """Say what is being done; the dialog may have been left meanwhile."""
        if dialog is not None and not dialog.is_left:
            dialog.tell(text)
        else:
            self._tell_pane(text)

    def _tell_pane(self, text: str) -> None:
        if not self._under_way:
            self._show_scan(ScanState(text) if text else None)

    async def _apply_here(self, connection: AirsConnection, dialog: RemoteTopics) -> str:
        topic = self._sendable()
        self._tell_now(dialog, "looks at the profile …")
        plan = await self._planned(connection, topic)
        if plan is None:
            raise AirsError(_NEEDS)
        if not plan.changes:
            self._take_effect(connection.in_effect(topic, plan))
            return "The profile has this definition in effect already."
        place = f"Profile {connection.place}, revision {plan.profile.revision}"
        title = "Put your definition into effect"
        self._tell_now(dialog, "")
        shown = Changes(title, place, plan.changes, plan.warnings, "Apply")
        if not await self.app.push_screen_wait(shown):
            return ""
        self._tell_now(dialog, "puts the definition into the profile …")
        await self._profile_lock.acquire()
        applied = await self._applied(connection, topic, plan, lock=self._profile_lock)
        self._take_effect(connection.in_effect(topic, applied))
        live = await self._until_live(connection, dialog, topic, applied.profile)
        return f"Applied: revision {applied.profile.revision} of the profile{live}."

    async def _create(self, connection: AirsConnection, dialog: RemoteTopics) -> str:
        topic = self._sendable()
        known = [] if dialog.listing is None else [one.topic_name for one in dialog.listing.topics]
        name = display_start(topic.name, 60)
        if topic.name in known:
            return f"There is a topic {name} already: p gives it your text."
        question = f"Make the topic {name} of your definition? No profile uses it then."
        if not await self.app.push_screen_wait(Confirm(question, "Create", "Leave")):
            return ""
        self._tell_now(dialog, "makes the topic …")
        made = await self._to_the_end(create(connection, topic))
        return f"Made {name}, at revision {made.revision}; no profile uses it yet."

    async def _delete(
        self, connection: AirsConnection, dialog: RemoteTopics, topic: CustomTopic
    ) -> str:
        name = display_start(topic.topic_name, 60)
        self._tell_now(dialog, "looks at which profiles have it …")
        held = await holders(connection, topic)
        self._tell_now(dialog, "")
        address = ""
        if held:
            given = await self.app.push_screen_wait(DeleteHeld(topic.topic_name, held))
            if given is None:
                return ""
            address = given
        else:
            question = f"Delete topic {name}, revision {topic.revision}? No way leads back."
            if not await self.app.push_screen_wait(Confirm(question, "Delete", "Leave")):
                return ""
        self._tell_now(dialog, "deletes the topic …")
        await self._to_the_end(delete(connection, topic, address))
        await self._renew(connection)
        return f"Deleted {name}" + (", out of all profiles." if held else ".")

    async def _revert(self, connection: AirsConnection, dialog: RemoteTopics | None) -> str:
        log = AppliedLog(self.workspace.store, connection.key)
        entries = await asyncio.to_thread(log.entries)
        if not entries:
            return _NOTHING
        newest = entries[-1]
        try:
            way = Before.model_validate(newest.way)
        except ValidationError as error:
            raise AirsError(
                "what was remembered of the last apply cannot be read, so nothing was changed"
            ) from error
        self._tell_now(dialog, "looks at the profile …")
        shown = await connection.look_back(way)
        place = f"Profile {connection.place}, revision {shown.profile.revision}"
        self._tell_now(dialog, "")
        if shown.changes or shown.warnings:
            changes = shown.changes or ("nothing: it is as it was before",)
            title = "Go back to before the last apply"
            asked = Changes(title, place, changes, shown.warnings, "Take back")
            if not await self.app.push_screen_wait(asked):
                return ""
        self._tell_now(dialog, "takes the last apply back …")

        async def go_back() -> Reverted:
            done = await connection.revert(way)
            await asyncio.to_thread(_forget, log, newest.id, way, done)
            return done

        done = await self._to_the_end(go_back())
        for warning in done.warnings:
            if warning not in shown.warnings:
                self._warn(warning)
        await self._renew(connection)
        if not shown.changes:
            return "The profile was as before the last apply already."
        live = await self._until_live(connection, dialog, _probe(way), done.profile, back=True)
        return f"Taken back: revision {done.profile.revision} of the profile{live}."

    async def on_unmount(self) -> None:
        # Others of this name are called by Textual as well.
        if self._changes_begun:
            await asyncio.wait(self._changes_begun, timeout=_LEAVING)

    # --- parts of a change ----------------------------------------------------------------

    def _sendable(self) -> Topic:
        """The definition here. Raises AirsError for one that the service does not take."""
        topic = self.session.topic
        if broken := violations(topic):
            raise AirsError(f"Not sent: {broken[0].message}")
        return topic

    async def _until_live(
        self,
        connection: AirsConnection,
        dialog: RemoteTopics | None,
        topic: Topic,
        profile: SecurityProfile,
        *,
        back: bool = False,
    ) -> str:
        """Wait until scans are judged by a revision; what to add to a sentence about it."""
        while True:
            self._tell_now(dialog, f"waits until revision {profile.revision} judges …")
            try:
                live = await connection.wait(topic, profile, as_expected=not back)
            except ServiceError as error:
                return f"; whether scans know it could not be told: {error}"
            if live.live:
                return ", and scans are judged by it"
            question = f"After {live.seconds:.0f} s scans are not judged by it: {live.reason}."
            if not await self.app.push_screen_wait(Confirm(question, "Wait on", "Leave it")):
                return f"; scans are not judged by it yet: {live.reason}"

    async def _renew(self, connection: AirsConnection) -> None:
        """Learn what is in effect after a change, for the header."""
        topic = self.session.topic
        try:
            try:
                self._take_effect(connection.in_effect(topic, await connection.look(topic)))
            except AirsError:  # the definition here will not do: what the profile has counts
                self._take_effect(await connection.seen())
        except (AirsError, ServiceError) as error:
            self._take_effect(None)
            self._warn(f"What is in effect now could not be read: {error}")

    def _take_effect(self, now: InEffect | None) -> None:
        self._in_effect = now
        self._only_chosen = False  # something was done with the profile
        if self.is_mounted:
            self._show_header()

    async def _to_the_end(self, change: Coroutine[Any, Any, Result]) -> Result:
        """A change that was begun is finished, whatever comes."""

        async def alone() -> Result:
            async with self._profile_lock:
                return await change

        task = asyncio.ensure_future(alone())
        self._changes_begun.add(task)
        task.add_done_callback(self._changes_begun.discard)
        return await asyncio.shield(task)


def _forget(log: AppliedLog, entry_id: int, way: Before, done: Reverted) -> None:
    """Drop the way that was gone; the one before it learns that this was no change of others."""

    def amend(earlier: dict[str, Any]) -> dict[str, Any]:
        try:
            return Before.model_validate(earlier).after(way, done).model_dump(mode="json")
        except ValidationError:
            return earlier

    log.drop([entry_id], amend)


def _probe(way: Before) -> Topic:
    """A topic to probe with: the one that is back, or its name where there was none."""
    examples = (way.topic or {}).get("examples") or ()
    name = way.topic_name
    return Topic(name=name, description=name, examples=tuple(map(str, examples)))

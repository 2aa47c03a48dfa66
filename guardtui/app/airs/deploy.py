"""Deploying the definition for a scan, and restoring the best one after a discard."""

from __future__ import annotations

import time

from guardtui.app.airs.profile_changes import ProfileChanges, wait_until_live
from guardtui.app.context import Context
from guardtui.app.guardrails.connections import Connections
from guardtui.app.ports import ChooseAnswer
from guardtui.app.state import ScanStatus
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.topic import Topic
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.propagation import PropagationResult


class Deployment:
    """Deploys the definition of a session to the connected profile."""

    def __init__(self, context: Context, connections: Connections, changes: ProfileChanges) -> None:
        self._store, self._session = context.store, context.session
        self._author, self._jobs = context.author, context.jobs
        self._connections, self.changes = connections, changes

    async def deploy(
        self, connection: AirsConnection, topic: Topic, plan: Plan | None
    ) -> Applied | None:
        """Deploy a definition and wait until scans use it; None if the author cancelled.

        Raises AirsError, ServiceError and StoreError.
        """
        self._show(f"applies the definition to profile {connection.title} …")
        begun = time.monotonic()
        applied = await self.changes.apply(connection, topic, plan)
        self._warn_of(applied)
        answer: str | None = None

        async def wait_on(live: PropagationResult) -> bool:
            nonlocal answer
            answer = await self._author.ask(_not_live(live))
            return answer == "wait"

        live = await wait_until_live(
            connection, topic, applied.profile, show=self._show, wait_on=wait_on
        )
        if live.live and answer is None:
            self.changes.open_log(connection).keep_wait(time.monotonic() - begun)
        if live.live or answer == "scan":
            return applied
        who = self._connections.who
        self._store.show_scan(ScanStatus(f"not scanned: {live.reason}", problem=True, who=who))
        return None

    def restore(self) -> None:
        """Deploy the current definition (after a discard), if the author agreed to that."""
        # A separate job, which the author's next action does not cancel.
        self._jobs.start(self._restore(self._session.topic), group="restore")

    async def _restore(self, topic: Topic) -> None:
        try:
            connection = self._connections.agreed_connection()
            if connection is None:
                return
            applied = await self.changes.apply_missing(connection, topic)
        except GuardtuiError as error:
            message = f"The best definition was not deployed again: {error}"
            self._connections.warn(message, error=True)
            return
        if applied is not None:
            self._warn_of(applied)
            self._connections.use_effect(connection.in_effect(topic, applied), topic)
            self._author.notify("The profile has the best definition again.", title="AIRS")

    def _show(self, step: str) -> None:
        self._store.show_scan(ScanStatus(step, who=self._connections.who))

    def _warn_of(self, applied: Applied) -> None:
        for warning in applied.warnings:
            self._connections.warn(warning)


def _not_live(live: PropagationResult) -> ChooseAnswer:
    """Return the question about a change that scans do not use yet: wait or scan now."""
    text = f"After {live.seconds:.0f} s the change is not in effect: {live.reason}."
    wait = ("w", "wait", "Wait on")
    if live.revision_seen:
        text += "\nThe probe was an example of the topic itself. Verdicts would count."
        return ChooseAnswer(text, (wait, ("s", "scan", "Scan anyway")))
    text += "\nVerdicts of an older revision would not be counted."
    return ChooseAnswer(text, (wait,))

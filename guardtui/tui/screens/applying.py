"""A definition put into effect in a security profile from the screen, and taken back again."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from rich.text import Text
from textual import work
from textual.css.query import NoMatches

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection, InEffect
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.live import Live
from guardtui.scanners.base import ScannerError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.applied import AppliedLog, ChangeJournal
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace
from guardtui.tui.remote import RemoteOptions, profile_names
from guardtui.tui.screens.dialogs import Choice
from guardtui.tui.screens.scan_dialogs import Answers
from guardtui.tui.screens.together import TogetherScreen
from guardtui.tui.widgets.scan_pane import ScanPane, ScanState

AIRS = "airs"
JUDGE = "judge"
REMOTE = frozenset({AIRS, JUDGE})
"""Names of the scanners that are asked, and never run by themselves."""
_SETTING = "airs"
_LEAVING = 5.0
"""Seconds that a change under way gets to come to its end when the app is left."""


class ApplyingScreen(TogetherScreen):
    """Which profile is connected, and what is changed in it."""

    remote_options = RemoteOptions()
    connection: AirsConnection | None = None
    _in_effect: InEffect | None = None
    _asks_airs = False
    """Whether AIRS is asked though there is a judge."""
    _only_chosen = False
    """Whether the profile was chosen from a list, and nothing was done with it yet."""
    _step = ""
    """What is done at the moment, as long as it is no scan yet."""

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(workspace, scanner)
        self._profile_lock = asyncio.Lock()  # one looks at the profile or changes it, not two
        self._begun: set[asyncio.Task[Applied]] = set()

    # --- what is told -----------------------------------------------------------------------

    @property
    def judge(self) -> JudgeOptions | None:
        """The judge that is asked; None where AIRS is."""
        return None if self._asks_airs else self.remote_options.judge

    @property
    def asked_name(self) -> str:
        """Name of the scanner that scans ask."""
        return AIRS if self.judge is None else JUDGE

    @property
    def who(self) -> str:
        """What that is called on the screen."""
        return "AIRS" if self.judge is None else "Judge"

    def header_note(self) -> Text:
        """Which guardrail is connected."""
        if self.judge is not None:
            text = Text("  Judge ", "bold $text-success")
            return text.append(display_text(self.judge.place))
        if self.connection is None:
            return super().header_note()
        text = Text("  AIRS ", "bold $text-success")
        text.append(display_text(self.connection.place))
        if self._in_effect is not None:
            text.append(f" r{self._in_effect.profile.revision}")
        return text

    def _tell_scan(self, step: str, *, problem: bool = False, who: str | None = None) -> None:
        """Say what is done now, and by `who`: the remote scanner where nobody else is named."""
        self._step = "" if problem else step
        state = ScanState(step, problem=problem, who=who or self.who) if step else None
        self._show_scan(state)

    @property
    def _pane(self) -> ScanPane:
        return self.query_one(ScanPane)

    def _show_scan(self, state: ScanState | None) -> None:
        with contextlib.suppress(NoMatches):  # the screen is being left
            self._pane.show(state)

    def _warn(self, message: str, *, error: bool = False) -> None:
        """Tell what a service, or a name from it, has a part in: nothing in it is markup."""
        self.notify(
            message,
            title=self.who,
            severity="error" if error else "warning",
            timeout=15,
            markup=False,
        )

    # --- the connection ---------------------------------------------------------------------

    async def _connected(self) -> AirsConnection | None:
        """The connection of this session, made when it is first needed; None when left."""
        if self.connection is not None:
            return self.connection
        settings = self.remote_options.settings()
        name = settings.profile or str(self._remembered().get("profile", ""))
        if not name:
            if not settings.client_id:
                self._warn(
                    "No security profile is named: start with --profile NAME, or set "
                    "PANW_AI_SEC_PROFILE_NAME.",
                    error=True,
                )
                return None
            self._tell_scan("looks for profiles …")
            names = await profile_names(settings)
            self._tell_scan("")
            if not names:
                self._warn("This tenant has no security profile.", error=True)
                return None
            options = [(str(place), Text(display_text(one))) for place, one in enumerate(names)]
            chosen = await self.app.push_screen_wait(Choice("Security profile", options))
            if chosen is None:
                return None
            name = names[int(chosen)]
            self._only_chosen = True
        self.connection = self.remote_options.connect(settings, name)
        self._show_header()
        return self.connection

    def _left(self) -> None:
        """A first scan was left: a profile that was only chosen for it may be chosen anew."""
        if self._only_chosen:
            self.connection = None
            self._show_header()

    def _remembered(self, name: str = _SETTING) -> dict[str, Any]:
        """What the session knows of a guardrail: its profile, and whether to apply unasked."""
        known = self.workspace.store.setting(name)
        return known if isinstance(known, dict) else {}

    def _remember_choice(self, connection: AirsConnection, *, agreed: bool) -> None:
        known = {
            "profile": connection.profile,
            "told": connection.key,
            "agreed": connection.key if agreed else "",
        }
        self._remember({_SETTING: known})
        self._only_chosen = False

    @property
    def agreed(self) -> bool:
        """Whether the author wants definitions put into effect here without being asked."""
        return (
            self.connection is not None and self._remembered().get("agreed") == self.connection.key
        )

    # --- changes ----------------------------------------------------------------------------

    async def _planned(self, connection: AirsConnection, topic: Topic) -> Plan | None:
        async with self._profile_lock:
            return await connection.look(topic)

    async def _apply(
        self, connection: AirsConnection, topic: Topic, plan: Plan | None
    ) -> Applied | None:
        """Put the definition into effect and wait until scans know it; None when left."""
        self._tell_scan(f"puts the definition into profile {connection.place} …")
        await self._profile_lock.acquire()
        applied = await self._applied(connection, topic, plan, lock=self._profile_lock)
        while True:
            self._tell_scan(f"waits until revision {applied.profile.revision} judges …")
            live = await connection.wait(topic, applied.profile)
            if live.live:
                return applied
            answer = await self.app.push_screen_wait(_not_live(live))
            if answer == "scan":
                return applied
            if answer != "wait":
                self._tell_scan(f"not scanned: {live.reason}", problem=True)
                return None

    async def _applied(
        self,
        connection: AirsConnection,
        topic: Topic,
        plan: Plan | None,
        lock: asyncio.Lock | None = None,
    ) -> Applied:
        """Put the definition into effect and tell what is doubtful; the lock is released then.

        A change that was begun is finished, whatever comes, and its way back is known before.
        """

        async def apply() -> Applied:
            try:
                journal = ChangeJournal(AppliedLog(self.workspace.store, connection.key))
                return await connection.apply(topic, plan, journal=journal)
            finally:
                if lock is not None:
                    lock.release()

        task = asyncio.ensure_future(apply())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        applied = await asyncio.shield(task)
        for warning in applied.warnings:
            self._warn(warning)
        return applied

    def restore_remotely(self, topic: Topic) -> None:
        """Put a definition back into effect, as after a discard, when the author agreed to that."""
        self._restore(topic)

    @work(group="restore")
    async def _restore(self, topic: Topic) -> None:
        # In a worker of its own: what an author does next must not break it off.
        try:
            connection = self._agreed_connection()
            if connection is None:
                return
            async with self._profile_lock:
                plan = await connection.look(topic)
                if plan is None or not plan.changes:
                    return
                applied = await self._applied(connection, topic, plan)
        except (ScannerError, ServiceError, StoreError) as error:
            self._warn(f"The best definition was not put into effect again: {error}", error=True)
            return
        self._in_effect = connection.in_effect(topic, applied)
        self._show_header()
        self.notify("The profile has the best definition again.", title="AIRS")

    def _agreed_connection(self) -> AirsConnection | None:
        """The connection, when the author agreed to changes by it; also after a restart."""
        known = self._remembered()
        if self.connection is None and known.get("agreed"):
            settings = self.remote_options.settings()
            name = settings.profile or str(known.get("profile", ""))
            if name:
                self.connection = self.remote_options.connect(settings, name)
        connection = self.connection
        return connection if connection is not None and connection.manages and self.agreed else None

    async def on_unmount(self) -> None:
        if self._begun:
            await asyncio.wait(self._begun, timeout=_LEAVING)


def _not_live(live: Live) -> Answers:
    """What to do about a change that scans do not know yet."""
    question = f"After {live.seconds:.0f} s the change is not in effect: {live.reason}."
    answers = [("w", "wait", "Wait on")]
    if live.revision_seen:
        question += "\nThe probe was an example of the topic's own. Verdicts would count."
        answers.append(("s", "scan", "Scan all the same"))
    else:
        question += "\nVerdicts of an older revision would not be counted."
    return Answers(question, answers)
